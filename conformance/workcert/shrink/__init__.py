"""The shrinker: from a case that fails to a small one that fails in the same way.

Fewer steps first, then fewer handles, then smaller values. Steps refer to the id of the step whose answer
they use, so what is left after a deletion still means what it meant. Deterministic: one case and one judge
give one result.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from attrs import frozen

from workcert.cases.cost import Budget
from workcert.cases.model import Case
from workcert.shrink.attempt import Attempt, Exhausted, StillFails
from workcert.shrink.deleting import delete_chunks, delete_pairs, delete_pairs_at_once, delete_with_counts
from workcert.shrink.edits import leaves
from workcert.shrink.loosening import drop_judgements, merge_handles, redirect_references, unwrap
from workcert.shrink.ordinary import settle
from workcert.shrink.timing import lower_times
from workcert.shrink.unifying import unify_values
from workcert.shrink.values import configured, lower_configuration, lower_numbers, shorten_texts, simplify_values

__all__ = ["Failure", "Shrunk", "StillFails", "alike", "settled", "shrink", "size"]

DEFAULT_BUDGET = 500
LONG: Final = 8
"""Steps of a case that is worth asking whether a lower limit would do."""

_PASSES: tuple[tuple[Callable[[Attempt], None], ...], ...] = (
    (delete_chunks, unwrap, delete_pairs),
    (redirect_references, merge_handles, drop_judgements),
    (lower_times, delete_pairs_at_once),
    (lower_configuration, lower_numbers, delete_with_counts),
    (simplify_values, shorten_texts),
)
"""In the order of what counts more. A group that found a case with fewer steps sends the search back to the first,
since trying on is cheaper the fewer steps there are."""


@frozen
class Failure:
    """Where a case failed: the id of the step (``id#n`` in a repeat) and the requirement that it broke."""

    step: str
    requirement: str


@frozen
class Shrunk:
    """``case`` was itself run and failed. ``executions`` counts the cases that were run; ``finished`` is
    False when the budget ended the search first."""

    case: Case
    executions: int
    finished: bool = True


def alike(judge: Callable[[Case], Failure | None], first: Failure) -> StillFails:
    """What `shrink` asks for, out of a judge: a candidate counts only if it breaks the same requirement."""

    def still_fails(case: Case) -> str | None:
        found = judge(case)
        return found.step if found is not None and found.requirement == first.requirement else None

    return still_fails


def shrink(case: Case, still_fails: StillFails, budget: int = DEFAULT_BUDGET, limits: Collection[str] = ()) -> Shrunk:
    """Make a failing case small.

    Args:
        case: one that fails.
        still_fails: runs a case and gives the id of the step at which it fails *as the first one did*, or
            None when it does not fail or fails otherwise; `alike` makes one that compares requirements.
        budget: how many cases may be run; fewer of those that are heavy. The result is always a case that was run.
        limits: what a store can be opened with. A case that stays long may be so because a limit is high.

    Returns:
        The smallest case found; the one given, when it did not fail even once more.
    """
    attempt = Attempt(case, still_fails, Budget(budget))
    try:
        if attempt.confirm():
            _to_a_fixed_point(attempt)
            for limit in sorted(set(limits) - attempt.case.header.config.keys()):
                attempt = _with_low_limit(attempt, limit)
    except Exhausted:
        return Shrunk(attempt.case, attempt.executions, finished=False)
    return Shrunk(attempt.case, attempt.executions)


def settled(
    case: Case, fails_alike: StillFails, ordinary: Mapping[str, Mapping[str, Any]], budget: int = DEFAULT_BUDGET
) -> Shrunk:
    """Put ordinary values where they do not matter, so that the rest is what a shrunk case is about.

    Args:
        case: a shrunk case.
        fails_alike: as for `shrink`, but only the very same failure counts.
        ordinary: by the name of a large argument, its ordinary members.
    """
    attempt = Attempt(case, fails_alike, Budget(budget))
    try:
        if attempt.confirm():
            settle(attempt, ordinary)
    except Exhausted:
        return Shrunk(attempt.case, attempt.executions, finished=False)
    return Shrunk(attempt.case, attempt.executions)


def size(case: Case) -> int:
    """The number of steps as they count here: calls, restarts and injections; a repeat's body once."""
    return len(leaves(case.steps))


def _with_low_limit(attempt: Attempt, limit: str) -> Attempt:
    """The attempt with a limit of 1, where that makes a long case shorter."""
    if size(attempt.case) <= LONG:
        return attempt
    low = Attempt(configured(attempt.case, limit, 1), attempt.still_fails, attempt.budget)
    if low.confirm():
        _to_a_fixed_point(low)
    return low if low.accepted and size(low.case) < size(attempt.case) else attempt


def _to_a_fixed_point(attempt: Attempt) -> None:
    drop_judgements(attempt, singly=False)
    unify_values(attempt)
    while True:
        before = attempt.accepted
        _one_round(attempt)
        if attempt.accepted == before:
            return


def _one_round(attempt: Attempt) -> None:
    position = 0
    while position < len(_PASSES):
        before = size(attempt.case)
        for each in _PASSES[position]:
            each(attempt)
        position = 0 if size(attempt.case) < before else position + 1
