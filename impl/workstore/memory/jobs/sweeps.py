"""The three sweeps and the duties (8.3 to 8.7). A limit of zero or less takes nothing (A-39)."""

from __future__ import annotations

from workspec.jobs.vocabulary import Checkpoint, HistoryEntry, Outcome, QuarantineEntry, Reclaimed, State
from workstore.memory.carriers import changed
from workstore.memory.jobs.numbers import U32_MAX, plus
from workstore.memory.jobs.outcomes import Backoff
from workstore.memory.jobs.rows import Duty, Row, due_at, finalized, with_entry
from workstore.memory.jobs.tables import View


def promote_due(view: View, limit: int, now_ms: int) -> int:
    """JOB-PRM-01..04, by due time, then id."""
    due = _until(view.index.due(), now_ms, limit)
    for job_id in due:
        view.put(changed(view.present(job_id), state=State.AVAILABLE))
    return len(due)


def reclaim_expired(view: View, limit: int, crash_limit: int, backoff: Backoff, now_ms: int) -> list[Reclaimed]:
    """JOB-RCL-01..08, by end of the lease, then id. A lease that ends now has ended (A-01)."""
    victims = _until(view.index.leased(), now_ms, limit)
    return [_reclaim(view, view.present(job_id), crash_limit, backoff, now_ms) for job_id in victims]


def evict_retained(view: View, limit: int, now_ms: int) -> int:
    """JOB-EVT-01..05, by instant of the end, then id. Its cost grows with the rows that are retained."""
    evicted: list[Row] = []
    for finalized_at_ms, job_id in view.index.retained():
        if len(evicted) >= limit:
            break
        row = view.present(job_id)
        if plus(finalized_at_ms, row.envelope.retention_ms) <= now_ms:
            evicted.append(row)
    for row in evicted:
        view.remove(row)
    return len(evicted)


def _until(instants: list[tuple[int, str]], now_ms: int, limit: int) -> list[str]:
    """The ids of those that are due, at most ``limit``."""
    taken: list[str] = []
    for at_ms, job_id in instants:
        if len(taken) >= limit or at_ms > now_ms:
            break
        taken.append(job_id)
    return taken


def _reclaim(view: View, row: Row, crash_limit: int, backoff: Backoff, now_ms: int) -> Reclaimed:
    crashes = row.envelope.crash_attempt + 1
    lost = changed(
        row,
        envelope=changed(row.envelope, crash_attempt=crashes),
        checkpoint=_with_crash(row.checkpoint),
    )
    noted = with_entry(lost, HistoryEntry(now_ms, Outcome.LEASE_LOST, crashes, None, ()))
    at_limit = crashes >= crash_limit
    if at_limit:
        view.put(finalized(noted, State.QUARANTINED, now_ms))
        _register(view, noted, now_ms)
    else:
        view.put(due_at(noted, State.RETRYABLE, plus(now_ms, backoff.after(crashes))))
    return Reclaimed(row.id, row.envelope.fingerprint, crashes, at_limit)


def _with_crash(checkpoint: Checkpoint) -> Checkpoint:
    """One crash more of the step in progress (JOB-RCL-04). What the worker stored beside it stays as it was."""
    step = checkpoint.in_progress_step
    if step is None:
        return checkpoint
    crashes = list(checkpoint.crashes_by_step)
    place = next((index for index, (name, _) in enumerate(crashes) if name == step), None)
    if place is None:
        crashes.append((step, 1))
    else:
        crashes[place] = (step, min(crashes[place][1] + 1, U32_MAX))
    return changed(checkpoint, crashes_by_step=tuple(crashes))


def _register(view: View, row: Row, now_ms: int) -> None:
    """JOB-RCL-03; the empty fingerprint is never registered (A-23). The first quarantine gives the instant, the
    most crashes count (JOB-QUA-07)."""
    fingerprint, crashes = row.envelope.fingerprint, row.envelope.crash_attempt
    if not fingerprint:
        return
    entry = view.registry.get(fingerprint)
    if entry is None:
        reason = f"job {row.id} lost its lease {crashes} times"
        entry = QuarantineEntry(fingerprint, row.envelope.kind, crashes, now_ms, reason)
    view.registry.put(fingerprint, changed(entry, crash_attempt=max(entry.crash_attempt, crashes)))


def claim_duty(view: View, name: str, holder: str, lease_ms: int, now_ms: int) -> bool:
    """JOB-DTY-01, JOB-DTY-02. At its very end a duty is free (A-02)."""
    duty = view.duties.get(name)
    if duty is not None and duty.holder != holder and duty.expires_at_ms > now_ms:
        return False
    view.duties.put(name, Duty(holder, plus(now_ms, lease_ms)))
    return True


def release_duty(view: View, name: str, holder: str) -> None:
    """JOB-DTY-03."""
    duty = view.duties.get(name)
    if duty is not None and duty.holder == holder:
        view.duties.remove(name)
