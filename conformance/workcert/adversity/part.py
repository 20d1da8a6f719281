"""What a part of the suite ``adversity`` is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from attrs import frozen

from workcert.run.engine import Options
from workcert.run.events import Emit
from workcert.run.store import StoreUnderTest

SUITE: Final = "adversity"


@frozen
class Part:
    """``needs``: abilities without which nothing of it can be tried. ``run`` emits `CaseEnded` with suite `SUITE` and
    names that begin with the part's, and `Tallied` with the part's name."""

    name: str
    needs: frozenset[str]
    run: Callable[[StoreUnderTest, Options, Emit], None]
