"""What holds of every call of the jobs contract across the whole store (14)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from workspec.core.configuration import Law, Taken
from workspec.core.interpreter import Refused
from workspec.core.rule import Operation
from workspec.jobs.facts import UNFINISHED, BucketFacts, JobFacts
from workspec.jobs.rules import later


def _changed(taken: Taken, kind: type) -> Iterator[tuple[Any, Any]]:
    """The facts of this kind that the call changed, before and after it, None where there is no record."""
    for key in sorted(taken.changed):
        records = (taken.before.get(key), taken.done.state.get(key))
        before, after = (None if record is None else record.facts for record in records)
        if isinstance(before if after is None else after, kind):
            yield before, after


def _refusals_write_nothing(taken: Taken, _keys: Iterable[str]) -> bool:
    outcome = taken.done.outcome
    if not taken.changed or not isinstance(outcome, Refused):
        return True
    return outcome.code == "Duplicate" and bool((outcome.details or {})["replaced"])


def _others_stay(taken: Taken, _keys: Iterable[str]) -> bool:
    name = taken.contract.resolved(taken.call).name
    if not isinstance(taken.contract.operation(name), Operation):
        return True
    rows = {key for key in taken.changed if key.startswith("job/")}
    return rows <= {taken.done.decision.scope.key}


def _admitted_was_admissible(taken: Taken, _keys: Iterable[str]) -> bool:
    for before, after in _changed(taken, JobFacts):
        if after is None or after.state != "running" or (before is not None and before.state == "running"):
            continue
        if before is None or before.state != "available" or before.scheduled_at_ms > taken.now:
            return False
        if before.sticky_worker not in ("", taken.call.arguments["worker"]):
            return False
    return True


def _fences_count_admissions(taken: Taken, _keys: Iterable[str]) -> bool:
    for before, after in _changed(taken, JobFacts):
        if after is not None and before is not None:
            admitted = after.state == "running" and before.state != "running"
            if after.fence != before.fence + admitted:
                return False
    return True


def _one_live_row_for_a_key(taken: Taken, _keys: Iterable[str]) -> bool:
    state = taken.done.state
    for _before, after in _changed(taken, JobFacts):
        if after is None or after.unique_key is None or after.state not in UNFINISHED:
            continue
        rows = (record.facts for record in state.values() if isinstance(record.facts, JobFacts))
        if sum(row.unique_key == after.unique_key and row.state in UNFINISHED for row in rows) > 1:
            return False
    return True


def _tokens_are_bounded(taken: Taken, _keys: Iterable[str]) -> bool:
    return all(after is None or after.tokens <= after.burst for _before, after in _changed(taken, BucketFacts))


def _fences_of_writes(taken: Taken, _keys: Iterable[str]) -> bool:
    written = (
        (after.fence, channel.fence)
        for _before, after in _changed(taken, JobFacts)
        if after is not None
        for channel in (after.output, after.progress)
        if channel is not None
    )
    return all(fence <= row for row, fence in written)


def _register_is_moved_by_two(taken: Taken, _keys: Iterable[str]) -> bool:
    for key in taken.changed:
        if key.startswith("fingerprint/"):
            mover = "release_fingerprint" if key not in taken.done.state else "reclaim_expired"
            if taken.call.name != mover:
                return False
    return True


def _sweeps_leave_nothing(taken: Taken, keys: Iterable[str]) -> bool:
    """Where the limit of a sweep did not bind, no row is left that it should have taken."""
    limit = taken.call.arguments["limit"]
    rows = [taken.done.state[key].facts for key in keys if key in taken.done.state and key.startswith("job/")]
    if limit <= len(rows):
        return True
    return not any(_is_left(taken.call.name, row, taken.now) for row in rows)


def _is_left(sweep: str, row: JobFacts, now_ms: int) -> bool:
    match sweep:
        case "promote_due":
            return row.state in ("scheduled", "retryable") and row.scheduled_at_ms <= now_ms
        case "reclaim_expired":
            return row.state == "running" and row.expires_at_ms is not None and row.expires_at_ms <= now_ms
    evicted = row.state in ("completed", "archived", "cancelled", "undecodable") and row.retention_ms > 0
    return evicted and later(row.finalized_at_ms or 0, row.retention_ms) <= now_ms


SWEEPS: Final = ("promote_due", "reclaim_expired", "evict_retained")
LAWS: Final = (
    Law("JOB-INV-11", "a refusal other than a replacing Duplicate writes nothing", _refusals_write_nothing),
    Law("JOB-GEN-05", "a call on one row changes no other row", _others_stay),
    Law("JOB-INV-07", "what is admitted was available, due and routed to the caller", _admitted_was_admissible),
    Law("JOB-INV-02", "the fence of a row counts its admissions", _fences_count_admissions),
    Law("JOB-INV-04", "one live row at most for each lifecycle key", _one_live_row_for_a_key),
    Law("JOB-INV-06", "tokens never exceed the burst", _tokens_are_bounded),
    Law("JOB-INV-12", "output and progress bear no greater fence than their row", _fences_of_writes),
    Law("JOB-INV-14", "the register grows by a reclaim and shrinks by a release alone", _register_is_moved_by_two),
    Law("JOB-PRM-01", "a promotion leaves nothing that is due", _sweeps_leave_nothing, SWEEPS[:1]),
    Law("JOB-RCL-01", "a reclaim leaves no lease that has ended", _sweeps_leave_nothing, SWEEPS[1:2]),
    Law("JOB-EVT-01", "an eviction leaves nothing whose retention has ended", _sweeps_leave_nothing, SWEEPS[2:]),
)
