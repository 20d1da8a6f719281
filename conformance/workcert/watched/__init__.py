"""Stores seen at work: each statement that a call makes on a DB-API connection, and when it commits.

While `installed` is open, connections that a database module gives are watched. `WatchedHandle` stands for a handle
of such a store: its calls come to points at which another call could come between, and have a place among all commits.
"""

from workcert.watched.call import CallWatch, current
from workcert.watched.handle import WatchedHandle
from workcert.watched.modules import installed
from workcert.watched.promises import Promised

__all__ = ["CallWatch", "Promised", "WatchedHandle", "current", "installed"]
