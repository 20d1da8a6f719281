"""What has to find a place in the order: mostly a call; of a pass that commits record by record, each record of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from functools import cache
from typing import Any, Final

from attrs import define

from workcert.binding import Binding
from workcert.linear.history import NEVER, Made
from workcert.run.calling import Answered, Refusal
from workspec.core.choice import Choice
from workspec.core.rule import Batch, Operation, Refuse, checks_of
from workspec.core.scope import Call

NOWHERE: Final = object()


class Way(Enum):
    """CALL: its answer is the model's. ELEMENT: what a pass did to one record. CONFLICT: it lost a guard, and did
    nothing."""

    CALL = "call"
    ELEMENT = "element"
    CONFLICT = "conflict"


@define(eq=False)
class Act:
    """``must``: it has a place in every order; else it may or may not have happened. ``key``: the record that it is
    about, where one is named. ``taken``: the pass says that it did something to this record. ``idle``: wherever it fits
    it changes nothing. ``silent``: the store says that it committed nothing. ``loses``: it did nothing, perhaps because
    it lost its guard. ``rank``: which act is tried first."""

    index: int
    made: Made
    way: Way
    must: bool
    begin: int
    end: int
    key: str | None
    taken: bool
    idle: bool
    silent: bool
    loses: bool
    rank: int
    name: str
    call: Call
    now: int
    answer: Any
    code: str | None
    alone: bool
    """It depends on the record of its key and on nothing else."""
    comparable: Any
    stuck: Any = NOWHERE
    """The record of its key on which it did not fit, of one that stands alone."""
    position: int = 0
    """Its place among all acts, by their beginnings."""
    before: Act | None = None
    after: Act | None = None
    """Its neighbours among those that have no place yet."""


def acts_of(binding: Binding, history: Sequence[Made], keys: Sequence[str]) -> list[Act]:
    """The acts of a history. ``keys``: every record that a pass may come to."""
    found: list[Act] = []
    told = any(made.ticket is not None for made in history)
    for index, made in enumerate(history):
        if made.never_happened or binding.may_be_stale(made.call):
            # A reading that may be behind shows what it likes.
            continue
        if by_records(binding, made):
            found.extend(_elements(index, made, keys, told))
        else:
            found.append(_whole(binding, index, made, told))
    return found


def by_records(binding: Binding, made: Made) -> bool:
    """The call commits record by record, so that others may come between."""
    if made.call.name not in _passes(binding) or made.call.arguments:
        return False
    seen = made.seen
    # What answers with anything else fits as a whole, or not at all.
    listed = isinstance(seen, Answered) and isinstance(seen.value, list | tuple) and _are_texts(seen.value)
    return listed or not made.answered


@cache
def _passes(binding: Binding) -> frozenset[str]:
    return frozenset(each.name for each in binding.contract.operations if isinstance(each, Batch) and not each.atomic)


def _lost_its_guard(binding: Binding, made: Made) -> bool:
    """Readings have none to lose, and a pass goes on to the next record."""
    code = binding.contract.conflict_code
    if code is None or not isinstance(made.seen, Refusal) or made.seen.code != code:
        return False
    operation = binding.contract.operation(binding.contract.resolved(made.call).name)
    return isinstance(operation, Operation) and made.call.name not in binding.reads


def _are_texts(values: Sequence[Any]) -> bool:
    return all(isinstance(value, str) for value in values) and len(set(values)) == len(values)


def keys_in(binding: Binding, history: Sequence[Made]) -> Iterator[str]:
    """The records that answers tell of."""
    for made in history:
        if not isinstance(made.seen, Answered):
            continue
        if by_records(binding, made):
            yield from made.seen.value
        yield from binding.made_by(made.seen.value)


def _rank(made: Made, told: bool) -> int:
    """By the order of commits, as far as the store tells it; else by the order of returns."""
    if not told:
        return made.end
    return NEVER if made.ticket is None else made.ticket


def _may_commit(binding: Binding, call: Call, code: str) -> bool:
    """A refusal with this code may have been committed all the same: an expiry, or the edit of another record."""
    return code in _codes_that_commit(binding, binding.contract.resolved(call).name)


@cache
def _codes_that_commit(binding: Binding, operation: str) -> frozenset[str]:
    checks = [each for each in checks_of(binding.contract.operation(operation)) if isinstance(each, Refuse)]
    codes = [each.code for each in checks if each.committing]
    return frozenset(str(code) for each in codes for code in (each.options if isinstance(each, Choice) else (each,)))


def _whole(binding: Binding, index: int, made: Made, told: bool) -> Act:
    """A call that happens as one."""
    seen, key = made.seen, made.call.arguments.get("workload_id")
    answer = seen.value if isinstance(seen, Answered) else None
    answered, reads = made.answered, made.call.name in binding.reads
    loses = answered and _lost_its_guard(binding, made)
    refused = isinstance(seen, Refusal) and not loses and not _may_commit(binding, made.call, seen.code)
    idle = answered and (reads or refused)
    return Act(
        index,
        made,
        Way.CONFLICT if loses else Way.CALL,
        answered,
        made.begin,
        made.end if answered else NEVER,
        key,
        False,
        idle,
        told and answered and made.ticket is None and not idle and not loses,
        loses,
        _rank(made, told),
        made.call.name,
        made.call,
        made.now,
        answer,
        seen.code if isinstance(seen, Refusal) else None,
        reads and key is not None and binding.touched(made.call, answer) == frozenset((key,)),
        None if loses else binding.comparable(answer),
    )


def _elements(index: int, made: Made, keys: Sequence[str], told: bool) -> Iterator[Act]:
    """What a pass did to each of these records. There are many: what they have in common is looked up once."""
    seen, answered = made.seen, made.answered
    answer = seen.value if isinstance(seen, Answered) else None
    named = frozenset(answer or ())
    end, rank, name = made.end if answered else NEVER, _rank(made, told), made.call.name
    for key in keys:
        taken = key in named
        passed = answered and not taken
        yield Act(
            index,
            made,
            Way.ELEMENT,
            answered,
            made.begin,
            end,
            key,
            taken,
            passed,
            False,
            passed,
            rank,
            name,
            made.call,
            made.now,
            answer,
            None,
            True,
            None,
        )
