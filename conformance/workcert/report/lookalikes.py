"""Faults that are known, beside a store that fails: which of them break the same requirements, and what is usually
wrong then."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any, Final, Protocol

from attrs import frozen

from workcert.report.model import LookAlike

MOST: Final = 3
LEAST: Final = 0.3
"""Likeness below which two stores have too little in common; 1 is the same requirements."""
OF_THE_BEST: Final = 0.5
"""Who is less than half as like as the best is not named beside it."""
CAUGHT: Final = ("caught", "flaky", "refused")

USUAL: Final = {
    "a check is dropped": "the store does not ask this before it acts",
    "two neighbouring checks are swapped": "both are asked, in the wrong order: the caller is told the wrong reason",
    "a bound is moved by one unit": "a comparison is off by one, or takes < for <=",
    "an effect is dropped": "the call succeeds and forgets to write a part of what it must",
    "a guard is negated": "a condition is the wrong way round",
    "the wrong row is taken": "the state after the call, or the entry of a table, is that of a neighbouring case",
    "a refusal commits an effect": "what was written before the refusal is not rolled back",
    "a fact is forgotten at a restart": "a value is held in memory only, or not read back when the store is opened",
    "a call works on a stale view": "the guard is read outside of the transaction that writes, or from a cache",
}
"""By the kind of a fault that was derived from a rule, the usual cause."""


class KnownFault(Protocol):
    """``signature``: the requirements that the tours break on it; ``cause`` may be empty."""

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def cause(self) -> str: ...
    @property
    def signature(self) -> tuple[str, ...]: ...


@frozen
class Known:
    """A known fault as plain values."""

    name: str
    kind: str
    cause: str
    signature: tuple[str, ...]


def look_alikes(
    broken: Iterable[str], known: Sequence[KnownFault], asked: Iterable[str] | None = None
) -> tuple[LookAlike, ...]:
    """The known faults that are nearest to a store, nearest first, at most `MOST`.

    Likeness is the share of requirements that both break in those that either does, each weighing the more the fewer
    faults break it. Of faults with one usual cause the nearest is named; of equals the first by name.

    Args:
        broken: requirements that the tours broke on the store.
        asked: those that were asked of it; a fault is compared by these alone. None: all.
    """
    own = frozenset(broken)
    within = None if asked is None else frozenset(asked) | own
    signatures = [frozenset(fault.signature) if within is None else within & set(fault.signature) for fault in known]
    times = Counter(identifier for signature in signatures for identifier in signature)
    weight = {identifier: math.log(1 + len(known) / (times[identifier] or 1)) for identifier in {*times, *own}}

    def likeness(signature: frozenset[str]) -> float:
        either = _sum(signature | own, weight)
        return _sum(signature & own, weight) / either if either else 0.0

    scored = [(likeness(signature), fault, signature) for fault, signature in zip(known, signatures, strict=True)]
    best = max((score for score, _, _ in scored), default=0.0)
    near = [each for each in scored if each[0] >= max(LEAST, OF_THE_BEST * best)]
    near.sort(key=lambda each: (-each[0], each[1].name))
    named: dict[str, LookAlike] = {}
    for _score, fault, signature in near:
        cause = usual_cause(fault)
        named.setdefault(cause or fault.name, LookAlike(fault.name, len(signature & own), len(signature | own), cause))
    return tuple(named.values())[:MOST]


def usual_cause(fault: KnownFault) -> str:
    """Its own, as faults seen in the field have one, or that of its kind; empty where neither is known."""
    return fault.cause or USUAL.get(fault.kind, "")


def known_faults(contract: str) -> tuple[KnownFault, ...]:
    """The faults that were graded for a contract and that tours catch; none where no grades came with the kit."""
    try:
        grades: Any = import_module("workcert.faults.grades")
    except ModuleNotFoundError as missing:
        if missing.name in ("workcert.faults", "workcert.faults.grades"):
            return ()
        raise
    kept = grades.kept(contract)
    return () if kept is None else tuple(_known(grade) for grade in kept.faults if _shows(grade))


def _known(grade: Any) -> Known:
    return Known(grade.name, grade.kind, getattr(grade, "cause", ""), tuple(grade.signature))


def _shows(grade: Any) -> bool:
    return grade.fate in CAUGHT and bool(grade.signature)


def _sum(identifiers: Iterable[str], weight: dict[str, float]) -> float:
    # In a fixed order, so that equal likeness is equal to the last bit.
    return sum(weight[identifier] for identifier in sorted(identifiers))
