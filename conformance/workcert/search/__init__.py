"""Search: every state that the specification reaches within a small configuration, breadth first."""

from workcert.search.breadth import RULES, search
from workcert.search.command import run
from workcert.search.result import Progress, SearchResult, Violation

__all__ = ["RULES", "Progress", "SearchResult", "Violation", "run", "search"]
