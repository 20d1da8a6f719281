"""Fewer steps: chunks, single steps, pairs; what depends on them goes too, or turns to other answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import Any

from workcert.cases.model import Call, Case
from workcert.shrink.attempt import Attempt
from workcert.shrink.edits import (
    Leaf,
    base,
    changed,
    kind_of,
    leaves,
    needed,
    producers,
    redirected,
    without_judgement_on,
)
from workcert.shrink.places import Place, places, put
from workcert.shrink.timing import evenly_spaced

PAIRS_AT_MOST = 14
"""Steps up to which every pair is tried: 91 pairs, against a default budget of 500 executions."""

GREATEST_COUNT = 9
"""The greatest number that may be a count of attempts, and not a duration or an instant."""


def delete_chunks(attempt: Attempt) -> None:
    """Half of the steps, a quarter, ... single steps; from the end, since later steps are needed by fewer."""
    size = max(len(leaves(attempt.case.steps)) // 2, 1)
    while True:
        end = len(leaves(attempt.case.steps))
        while end > 0:
            present = leaves(attempt.case.steps)
            end = min(end, len(present))
            chunk = present[max(end - size, 0) : end]
            _delete(attempt, (leaf.id for leaf in chunk))
            end -= size
        if size == 1:
            return
        size //= 2


def delete_pairs(attempt: Attempt) -> None:
    """Two steps that make up for each other, such as a claim and the pass that takes it back."""
    while True:
        ids = [leaf.id for leaf in leaves(attempt.case.steps)]
        if len(ids) > PAIRS_AT_MOST or not any(_delete(attempt, pair) for pair in combinations(ids, 2)):
            return


def delete_with_counts(attempt: Attempt) -> None:
    """One or two steps, and a small number one lower at the same time: one attempt less and its claim and
    failure, say, where neither goes alone."""
    while any(_delete_with(attempt, place) for place in list(places(attempt.case))):
        pass


def _delete_with(attempt: Attempt, place: Place) -> bool:
    ids = [leaf.id for leaf in leaves(attempt.case.steps)]
    if type(place.value) is not int or not 2 <= place.value <= GREATEST_COUNT or len(ids) > PAIRS_AT_MOST:
        return False
    lowered = put(attempt.case, place, place.value - 1)
    groups = (*combinations(ids, 1), *combinations(ids, 2))
    return lowered is not None and any(_delete(attempt, group, lowered) for group in groups)


def _delete(attempt: Attempt, ids: Iterable[str], case: Case | None = None) -> bool:
    gone = frozenset(ids) - {attempt.failing}
    if not gone:
        return False
    case = attempt.case if case is None else case
    return any(attempt.take(each) for each in _deletions(case, gone, attempt.failing))


def delete_pairs_at_once(attempt: Attempt) -> None:
    """Two steps, with everything else at one instant: an earlier claim will do once no time passes meanwhile."""
    ids = [leaf.id for leaf in leaves(attempt.case.steps)]
    if len(ids) <= PAIRS_AT_MOST:
        flat = evenly_spaced(attempt.case, 0)
        any(_delete(attempt, group, flat) for group in combinations(ids, 2))


def _deletions(case: Case, gone: frozenset[str], failing: str) -> Iterator[Case]:
    """First with all that depends on them; then with references turned to earlier steps of the same kind."""
    for redirecting in (False, True):
        removed: set[str] = set(gone)
        replaced = _surviving(case, removed, redirecting)
        if failing not in removed:
            yield _without(case, removed, replaced)


def _without(case: Case, removed: set[str], replaced: dict[str, Leaf]) -> Case:
    def kept(leaf: Leaf) -> Leaf | None:
        if leaf.id in removed:
            return None
        return without_judgement_on(replaced.get(leaf.id, leaf), removed)

    return changed(case, kept)


def _surviving(case: Case, removed: set[str], redirecting: bool) -> dict[str, Leaf]:
    """Adds to ``removed`` what cannot do without it; gives the leaves whose references were turned.

    References only go back, so one walk in the order of writing finds all.
    """
    replaced: dict[str, Leaf] = {}
    before = producers(case) if redirecting else {}
    calls = {leaf.id: leaf for leaf in leaves(case.steps) if isinstance(leaf, Call)}
    for leaf in leaves(case.steps):
        if leaf.id in removed:
            continue
        turned: Any = leaf
        for lost in sorted({base(ref.step) for ref in needed(leaf)} & removed):
            options = [call for call in before.get(leaf.id, ()) if call.id not in removed]
            instead = _stand_in(case, calls[lost], options)
            if instead is None:
                removed.add(leaf.id)
                break
            turned = replaced[leaf.id] = redirected(turned, lost, instead.id)
    return replaced


def _stand_in(case: Case, lost: Call, options: list[Call]) -> Call | None:
    """The most similar call of the same kind; of equals the latest."""
    kind = kind_of(case, lost)
    alike = [call for call in options if kind_of(case, call) == kind]
    if not alike:
        return None
    return max(reversed(alike), key=lambda call: sum(call.args.get(n) == v for n, v in lost.args.items()))
