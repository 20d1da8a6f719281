"""Forced interleavings: of two operations that touch one record, one is held at each of its points while the other
runs wholly. Some serial order must explain what both answered and what is left.
"""

from workcert.adversity.interleavings.suite import PART

__all__ = ["PART"]
