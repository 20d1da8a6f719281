"""The soak: many processes on one store, killed and started again all the time, and an account of every job at the end.

`run_soak` runs it. What each process was told it has written down itself, before and after each call, so that a kill
leaves no doubt: a success that a worker was told must be in the store, and nothing may be told twice.
"""

from workcert.soak.accounts import Account, Finding
from workcert.soak.plan import Plan
from workcert.soak.supervisor import Soaked, run_soak

__all__ = ["Account", "Finding", "Plan", "Soaked", "run_soak"]
