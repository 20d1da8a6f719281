"""What a call is not about: every other record must be as it was, and none may come or go."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from workcert.judge.differences import Difference, differences
from workcert.judge.verdict import Failure, Kind
from workcert.run.reading import counted, glanced_otherwise, listed
from workspec.core.interpreter import Committed, Refused

if TYPE_CHECKING:
    from workcert.run.execution import Execution

MOST_GLANCED: Final = 24
"""With more rows than this only their number is compared after each step, and the rows at the end of the case."""


def compare_others(
    execution: Execution, failure: Failure | None, read_only: bool = False, committed: Committed | None = None
) -> Failure | None:
    """What became of the records that a call is not about, beside what is wrong with the call itself.

    Raises:
        Unreadable, AbilityLie: as the others here.
    """
    if (failure is None or read_only) and execution.binding.versioned and execution.store.backend.can("snapshot"):
        return compare_snapshot(execution, read_only) or failure
    if failure is None and not execution.binding.versioned:
        return compare_rows(execution, lambda: _acting(committed))
    return failure


def _acting(committed: Committed | None) -> tuple[str, ...]:
    """What took part in a call that succeeds: if another row changed by it, these say what it should have done."""
    if committed is None or isinstance(committed.outcome, Refused):
        return ()
    return tuple(committed.decision.trace.requirements)


def compare_rows(execution: Execution, own: Callable[[], Iterable[str]] = tuple) -> Failure | None:
    """Where rows have no versions: the few there are, one by one, and how many. ``own``: what the call was about, for
    when it is asked.

    Raises:
        Unreadable: a read raises, or answers with something else.
    """
    judge = execution.judge
    keys = execution.present.legible_keys()
    unread = [key for key in keys if key not in execution.rows] if len(keys) <= MOST_GLANCED else []
    presented = judge.presented_by_rules
    for key, shown in glanced_otherwise(execution.store, unread, presented):
        if shown is None:
            return _changed(execution, own, f"{key}, which this call does not name, is gone")
        found = differences(presented(key), shown)
        if found:
            return _changed(execution, own, f"{key} changed, which this call does not name", found)
    kept = counted(execution.store)
    expected = len(keys) or sum(map(execution.binding.legible, judge.state))
    if kept is not None and kept != expected:
        if listed(execution.store) == expected:
            text = f"the store counts {kept} rows, and lists the {expected} that it should hold"
            return Failure(execution.binding.contract.comparisons["count"], Kind.OTHERS, text)
        return _changed(execution, own, f"the store holds {kept} rows; it should hold {expected}")
    return None


def _changed(
    execution: Execution, own: Callable[[], Iterable[str]], text: str, found: tuple[Difference, ...] = ()
) -> Failure:
    ids = tuple(dict.fromkeys((*own(), *execution.binding.contract.comparisons["others"])))
    return Failure(ids, Kind.OTHERS, text, found)


def compare_snapshot(execution: Execution, read_only: bool) -> Failure | None:
    """Where rows have versions: which of them moved.

    Raises:
        AbilityLie: snapshot and reads contradict each other.
    """
    snapshot = execution.store.snapshot()
    failure = execution.judge.others(snapshot, read_only)
    if failure is not None:
        execution.rows.clear()
        for key in {*snapshot, *execution.judge.state}:
            row = execution.read(key)
            version = None if row is None else row.version
            shown = (snapshot[key] or 1) if key in snapshot else None
            if version != shown:
                execution.store.accuse_snapshot(key, shown, version)
    return failure


def stray_rows(execution: Execution) -> Failure | None:
    """After calls at once: rows that should not be there, or too few, as far as the store tells of them.

    Raises:
        Unreadable, AbilityLie: as the others here.
    """
    if not execution.binding.versioned:
        return compare_rows(execution)
    if not execution.store.backend.can("snapshot"):
        return None
    stray = sorted(execution.store.snapshot().keys() ^ execution.judge.state.keys())
    ids = execution.binding.contract.comparisons["others"]
    return Failure(ids, Kind.OTHERS, f"the store holds other rows than it should: {stray[0]}") if stray else None
