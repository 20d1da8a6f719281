"""What a seeded fault is: a store that is wrong in one thing, on purpose, so that suites can be graded."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any

from attrs import frozen

from workspec.core.contract import Contract


class Kind(StrEnum):
    """How a fault is derived from the rules."""

    DROPPED_CHECK = "a check is dropped"
    SWAPPED_CHECKS = "two neighbouring checks are swapped"
    MOVED_BOUND = "a bound is moved by one unit"
    DROPPED_STEP = "an effect is dropped"
    NEGATED_GUARD = "a guard is negated"
    WRONG_ROW = "the wrong row is taken"
    COMMITTING_REFUSAL = "a refusal commits an effect"
    FORGOTTEN_FACT = "a fact is forgotten at a restart"
    STALE_VIEW = "a call works on a stale view"
    FIELD = "seen in the field"


@frozen(eq=False)
class Fault:
    """``name`` says where it is and what was done; it is unique within a contract and stable while the rule is.

    ``requirements``: the ids of the rule that was changed, one of which a failure should name. ``touched``: the
    operations that decide otherwise for it; empty means any. ``needs``: the ability without which nobody could see
    it, if there is one. ``fires`` and ``asks``: keys of checks; unless both are empty, nobody sees anything before one
    of the first decides, or one of the second is asked, by the right rules. ``specification`` is the changed contract;
    the right one where the fault lies in what keeps or shows the state, and not in a rule. ``make`` gives the faulty
    store as a backend. ``tier``: what a test must have to see a fault of the field, beside one caller; ``cause``: what
    usually makes a real store wrong in this way.
    """

    name: str
    kind: Kind
    requirements: tuple[str, ...]
    touched: frozenset[str]
    make: Callable[[], Any]
    specification: Contract | None = None
    needs: str = ""
    tier: str = ""
    cause: str = ""
    fires: frozenset[str] = frozenset()
    asks: frozenset[str] = frozenset()
