"""Search: every state that the specification reaches within a small configuration, breadth first."""

from workcert.search.command import run, run_all
from workcert.search.memo import RULES
from workcert.search.path import FoldError, Path, Step, case_of
from workcert.search.progress import Progress
from workcert.search.reach import reach, search
from workcert.search.result import Reached, SearchResult, Violation
from workcert.search.targets import Target

__all__ = [
    "RULES",
    "FoldError",
    "Path",
    "Progress",
    "Reached",
    "SearchResult",
    "Step",
    "Target",
    "Violation",
    "case_of",
    "reach",
    "run",
    "run_all",
    "search",
]
