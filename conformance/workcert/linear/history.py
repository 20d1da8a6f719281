"""What several callers did, as values; and what is said of it."""

from __future__ import annotations

from typing import Final, TypeAlias

from attrs import frozen

from workcert.judge.verdict import Failure
from workcert.run.calling import Answered, Observed, Refusal, Unavailable
from workspec.core.record import State
from workspec.core.scope import Call

NEVER: Final = 2**63
"""The place of a return that was not seen: behind all others."""


@frozen(eq=False)
class Made:
    """One call of a history.

    ``seen`` is None for a call that was not answered. ``begin`` and ``end`` are places in one order of events; of two
    that are equal nobody knows which came first. ``ticket`` is the place of what it committed among all commits of the
    store, None where it committed nothing or the store does not tell.
    """

    caller: str
    call: Call
    now: int
    seen: Observed | None
    begin: int
    end: int = NEVER
    ticket: int | None = None

    @property
    def answered(self) -> bool:
        """It came back with an answer or a refusal, so that it surely happened, or was surely refused."""
        return isinstance(self.seen, (Answered, Refusal))

    @property
    def never_happened(self) -> bool:
        return isinstance(self.seen, Unavailable) and self.seen.definite

    @property
    def may_have_happened(self) -> bool:
        """Nobody knows whether it did."""
        return not self.answered and not self.never_happened


@frozen(eq=False)
class FitsAnOrder:
    """``order``: indices of the calls, one after the other; a pass that commits record by record stands where it came
    to the first of them. ``state``: what the calls leave behind. ``visits``: what the search took."""

    order: tuple[int, ...]
    state: State
    visits: int


@frozen(eq=False)
class FitsNone:
    """``call``: the first call that fits no order, by the order of returns; None when every call fits one, and what
    was read afterwards fits none of these. ``cause``: why the specification refuses it, where the others fit best.
    ``placed``: the calls that stand before it there."""

    call: int | None
    cause: Failure
    placed: tuple[int, ...]
    visits: int


@frozen(eq=False)
class Unknown:
    """The search was given up."""

    reason: str
    visits: int


Linear: TypeAlias = "FitsAnOrder | FitsNone | Unknown"
