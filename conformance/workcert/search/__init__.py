"""Search: every state that the specification reaches within a small configuration, breadth first."""

from workcert.search.breadth import Breadth

from workcert.search.result import Progress, SearchResult, Violation

__all__ = ["Progress", "SearchResult", "Violation", ]
