"""Calls that a busy store turns away, among calls that meet: each has done nothing, and shows nothing either."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from workcert.judge.verdict import TOGETHER, Failure, Kind
from workcert.linear.history import Made
from workcert.run.calling import Observed, Unavailable
from workspec.core.contract import Contract

NO_RACE: Final = (
    "each time all calls but those of one caller were turned away (StoreUnavailable), so that no race was seen; a "
    "store that waits for a lock (busy_timeout_ms) shows one"
)
TURNED_AWAY: Final = "turned away"


def is_turned_away(seen: Observed | None) -> bool:
    """Unavailable, and surely nothing was done."""
    return isinstance(seen, Unavailable) and seen.definite


def was_unavailable(history: Sequence[Made]) -> list[Made]:
    """Those that were not available, whether that is sure or not."""
    return [made for made in history if isinstance(made.seen, Unavailable)]


def for_nothing(contract: Contract, history: Sequence[Made]) -> Failure | None:
    """A call that was not available although no other one ran meanwhile: a store that nobody disturbs must answer."""
    for made in was_unavailable(history):
        if any(_meet(made, other) for other in history if other is not made):
            continue
        text = f"no other call ran beside {made.call.name}, and the store said that it is unavailable: "
        return Failure(contract.conflict_requirements, Kind.CRASH, text + getattr(made.seen, "text", ""))
    return None


def shows_no_race(history: Sequence[Made]) -> bool:
    """Calls were turned away, and no two callers got through."""
    got_through = {made.caller for made in history if not isinstance(made.seen, Unavailable)}
    return bool(was_unavailable(history)) and len(got_through) < 2


def note_of(history: Sequence[Made]) -> str:
    """The note of a block; it says how many of its calls were not available."""
    count = len(was_unavailable(history))
    return f"{TOGETHER}, {count} of {len(history)} {TURNED_AWAY}" if count else TOGETHER


def _meet(one: Made, other: Made) -> bool:
    return one.begin <= other.end and other.begin <= one.end
