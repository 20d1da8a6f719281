"""Who draws the programs of each contract."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from workcert.adversity.parallel.jobs import JobsAuthor
from workcert.adversity.parallel.programs import Author
from workcert.adversity.parallel.workload import WorkloadAuthor

AUTHORS: Final[Mapping[str, Callable[[], Author]]] = {"workload": WorkloadAuthor, "jobs": JobsAuthor}


def author_of(contract: str) -> Author:
    """A new author for one program of this contract."""
    return AUTHORS[contract]()
