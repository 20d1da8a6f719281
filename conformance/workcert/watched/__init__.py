"""Stores seen at work: each statement that a call makes on a DB-API connection, and when it commits.

While `installed` is open, connections that a database module gives are watched. `WatchedHandle` stands for a handle
of such a store: its calls come to points at which another call could come between, and have a place among all commits.
What is done `Beside` a held call is seen to wait for it, where the module lets the kit see that.
"""

from workcert.watched.beside import Beside
from workcert.watched.busy import is_seen
from workcert.watched.call import CallWatch, current
from workcert.watched.handle import WatchedHandle
from workcert.watched.modules import installed
from workcert.watched.promises import Promised

__all__ = ["Beside", "CallWatch", "Promised", "WatchedHandle", "current", "installed", "is_seen"]
