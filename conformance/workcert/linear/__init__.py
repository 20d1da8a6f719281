"""Whether calls of several callers fit some order, one after the other, by the specification's interpreter.

A *history* says who called what, in which order calls began and returned, and what was answered. `check` says *yes*
with an order, *no* with the first call that fits none, or *unknown* when its budget is used up.
"""

from workcert.linear.check import check
from workcert.linear.history import FitsAnOrder, FitsNone, Made, Unknown

__all__ = ["FitsAnOrder", "FitsNone", "Made", "Unknown", "check"]
