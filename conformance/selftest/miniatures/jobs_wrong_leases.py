"""Job stores that are wrong in leases and acks, and in what becomes of a lost lease: the in-memory one with a line that
reads otherwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workstore.memory.jobs import channels, outcomes, sweeps
from workstore.memory.jobs.rows import with_entry
from workstore.memory.jobs.tables import View
from workstore.memory.jobs.workers import Workers

from .jobs_model import Edit, JobMiniature, edited
from .model import STATEFUL


def by_lease_id(name: str, right: str, function: Callable[..., Any]) -> JobMiniature:
    """This write takes whatever fence was once given with the lease id."""
    row = "row if (row := view.jobs.get(ref.job_id)) and row.lease and row.lease.lease_id == ref.lease_id"
    return edited(name, right, Edit(function, "held_row(view, ref)", f"({row} else held_row(view, ref))"))


IDENTITY = (
    edited("the fence is not compared", "ACK-01", Edit(outcomes.is_held, " and row.fence == ref.fence", "")),
    edited(
        "the lease id is not compared", "ACK-01", Edit(outcomes.is_held, " and row.lease.lease_id == ref.lease_id", "")
    ),
    edited("the fence is compared loosely", "ACK-01", Edit(outcomes.is_held, "row.fence ==", "row.fence >=")),
    by_lease_id("an ack does not compare the fence", "ACK-01", outcomes.ack),
    by_lease_id("a checkpoint does not compare the fence", "ACK-01 CKP-01", channels.write_checkpoint),
    by_lease_id("an output does not compare the fence", "ACK-01 OUT-01", channels.write_output),
    by_lease_id("a progress does not compare the fence", "ACK-01 PRG-01", channels.write_progress),
    edited(
        "a lapsed lease is refused before any sweep",
        "ACK-02",
        Edit(
            outcomes.ack,
            "    row = _settled(",
            "    if (r := view.jobs.get(ref.job_id)) and r.lease and r.lease.expires_at_ms <= now_ms:\n"
            "        raise lease_rejected(ref.job_id)\n"
            "    row = _settled(",
        ),
    ),
    edited(
        "an ack of one claim settles its siblings",
        "ACK-01 ADM-07 ACK-05",
        Edit(
            outcomes.ack,
            "    if after is None:",
            "    for _, other in list(view.index.leased()):\n"
            "        sibling = view.present(other)\n"
            "        if other != ref.job_id and sibling.lease and sibling.lease.lease_id == ref.lease_id:\n"
            "            view.put(due_at(sibling, State.AVAILABLE, now_ms))\n"
            "    if after is None:",
        ),
    ),
    edited(
        "a job that is unknown to an ack is not found",
        "TYP-05 ACK-01",
        Edit(
            outcomes.held_row,
            "    if row is None or",
            "    if row is None:\n"
            "        raise type(lease_rejected(''))('NotFound', {'what': 'job', 'id': ref.job_id})\n"
            "    if row is None or",
        ),
    ),
)
RENEWAL = (
    edited(
        "a renewal adds to the lease",
        "RNW-02",
        Edit(outcomes.renew, "plus(now_ms, lease_ms)", "plus(row.lease.expires_at_ms, lease_ms)"),
    ),
    edited(
        "a renewal never shortens",
        "RNW-02",
        Edit(outcomes.renew, "plus(now_ms, lease_ms)", "max(row.lease.expires_at_ms, plus(now_ms, lease_ms))"),
    ),
    edited(
        "a late renewal moves the due time",
        "RNW-05 RNW-02 RNW-04",
        Edit(
            outcomes.renew,
            "            lost.append",
            "            if row is not None and row.state == State.RETRYABLE and row.fence == ref.fence:\n"
            "                view.put(due_at(row, row.state, plus(now_ms, lease_ms)))\n"
            "            lost.append",
        ),
    ),
    edited(
        "a renewal resurrects a lost lease",
        "RNW-05 RNW-02",
        Edit(
            outcomes.renew,
            "        if row is None",
            "        if row and row.state == State.RETRYABLE and row.fence == ref.fence and row.history:\n"
            "            from workstore.memory.jobs.rows import Lease\n"
            "            lease = Lease(ref.lease_id, plus(now_ms, lease_ms), now_ms)\n"
            "            view.put(evolve(row, state=State.RUNNING, lease=lease))\n"
            "            continue\n"
            "        if row is None",
        ),
    ),
    edited(
        "a lost lease ends the renewal of the others",
        "RNW-03 RNW-02",
        Edit(outcomes.renew, "            continue", "            break"),
    ),
)
ACKS = (
    edited(
        "one attempt more than the budget", "ACK-06 TRN-12", Edit(outcomes._retried, "attempt >= row", "attempt > row")
    ),
    edited(
        "one attempt less than the budget",
        "ACK-06 TRN-11",
        Edit(outcomes._retried, "attempt >= row", "attempt + 1 >= row"),
    ),
    edited("back-off doubles once too often", "ACK-08", Edit(outcomes.Backoff.after, "count - 1", "count")),
    edited(
        "back-off has no cap",
        "ACK-08",
        Edit(
            outcomes.Backoff.after,
            "min(self.base_ms << min(count - 1, BACKOFF_DOUBLINGS_MAX), self.cap_ms)",
            "self.base_ms << min(count - 1, BACKOFF_DOUBLINGS_MAX)",
        ),
    ),
    edited(
        "back-off overflows 32 bits",
        "ACK-08",
        Edit(
            outcomes.Backoff.after,
            "min(self.base_ms << min(count - 1, BACKOFF_DOUBLINGS_MAX), self.cap_ms)",
            "min((self.base_ms << (count - 1)) & 0xFFFFFFFF, self.cap_ms)",
        ),
        shrunk=False,
    ),
    edited(
        "the cap binds a given delay",
        "ACK-07",
        Edit(outcomes._retried, "plus(now_ms, delay_ms)", "plus(now_ms, min(delay_ms, backoff.cap_ms))"),
    ),
    edited("a rate-limited job is due anew", "ACK-13", Edit(outcomes._after, "min(row.due_ms, now_ms)", "now_ms")),
    edited(
        "a snooze counts an attempt",
        "ACK-12 GEN-08",
        Edit(
            outcomes._after,
            "return due_at(row, State.SCHEDULED",
            "row = evolve(row, envelope=evolve(row.envelope, attempt=row.envelope.attempt + 1))\n"
            "            return due_at(row, State.SCHEDULED",
        ),
        suite=STATEFUL,
    ),
    edited(
        "a snooze without delay is accepted",
        "ACK-12",
        Edit(outcomes.check_report, "delay_ms is None or delay_ms <= 0", "False"),
    ),
    edited(
        "a lost lease can be acked",
        "ACK-03",
        Edit(outcomes.check_report, "    if outcome == Outcome.LEASE_LOST:", "    if False:"),
        Edit(
            outcomes._after,
            'raise AssertionError("check_report has refused this")',
            "return _retried(row, report, backoff, now_ms)",
        ),
    ),
    edited("history has no bound", "ACK-17", Edit(with_entry, "[-HISTORY_MAX:]", ""), shrunk=False),
    edited("history keeps the oldest", "ACK-17", Edit(with_entry, "[-HISTORY_MAX:]", "[:HISTORY_MAX]"), shrunk=False),
    edited(
        "a skip without a text leaves an entry",
        "ACK-09 ACK-10",
        Edit(outcomes._given_up, "report.error is None and not report.logs", "False"),
    ),
    edited(
        "success forgets the checkpoint",
        "ACK-15",
        Edit(
            outcomes._succeeded,
            "    if report.result",
            "    from workstore.memory.jobs.rows import EMPTY_CHECKPOINT\n"
            "    completed = evolve(completed, checkpoint=EMPTY_CHECKPOINT)\n"
            "    if report.result",
        ),
    ),
    edited(
        "a revoked job is archived where it is retained",
        "ACK-11",
        Edit(
            outcomes._after,
            "            return None",
            "            return finalized(row, State.ARCHIVED, now_ms) if row.envelope.retention_ms else None",
        ),
    ),
    edited(
        "a key is freed on success only",
        "UNQ-03",
        Edit(
            View.put,
            "        self._finish(before)",
            "        hold = row.lifecycle_key and self.lifecycle_holds.get(row.lifecycle_key)\n"
            "        self._finish(before)\n"
            "        if hold and row.state.value != 'completed':\n"
            "            self.lifecycle_holds.put(row.lifecycle_key, hold)",
        ),
    ),
)
RECLAIM = (
    edited(
        "reclaim spares a lease at its end",
        "RCL-01",
        Edit(sweeps.reclaim_expired, "now_ms, limit)", "now_ms - 1, limit)"),
    ),
    edited(
        "reclaim takes a lease a millisecond early",
        "RCL-01",
        Edit(sweeps.reclaim_expired, "now_ms, limit)", "now_ms + 1, limit)"),
        suite=STATEFUL,
    ),
    edited(
        "reclaim counts an attempt",
        "RCL-02 GEN-08",
        Edit(sweeps._reclaim, "crash_attempt=crashes)", "crash_attempt=crashes, attempt=row.envelope.attempt + 1)"),
        suite=STATEFUL,
    ),
    edited("one crash more than the limit", "RCL-03 TRN-19", Edit(sweeps._reclaim, "crashes >= ", "crashes > ")),
    edited(
        "reclaimed work is due at once",
        "RCL-03",
        Edit(sweeps._reclaim, "plus(now_ms, backoff.after(crashes))", "now_ms"),
    ),
    edited(
        "reclaim loses the checkpoint",
        "ACK-15 CKP-02 RCL-04",
        Edit(
            sweeps._reclaim,
            "checkpoint=_with_crash(row.checkpoint)",
            "checkpoint=evolve(row.checkpoint, completed_steps=(), in_progress_step=None, cursor=None)",
        ),
    ),
    edited(
        "a crash of a step is not counted",
        "RCL-04",
        Edit(sweeps._reclaim, "checkpoint=_with_crash(row.checkpoint)", "checkpoint=row.checkpoint"),
    ),
    edited(
        "quarantine forgets the register",
        "RCL-03 QUA-01 QUA-03 ENQ-09 ADM-05",
        Edit(sweeps._reclaim, "_register(view, noted, now_ms)", "pass"),
    ),
    edited(
        "the empty fingerprint is registered", "QUA-02 ENQ-09", Edit(sweeps._register, "if not fingerprint", "if False")
    ),
    edited(
        "reclaim gives the tokens back",
        "RCL-07 RATE-13",
        Edit(
            sweeps._reclaim,
            "    crashes = row",
            "    from workstore.memory.jobs.outcomes import _settled\n"
            "    row = _settled(view, row, 0, now_ms)\n"
            "    crashes = row",
        ),
    ),
)
REFUSALS = (
    edited(
        "an ack that is Invalid settles the bucket",
        "RATE-12",
        Edit(
            Workers.ack,
            "    outcomes.check_report",
            "    if known == 'snooze' and actual_weight is not None:\n"
            "        held, settled = outcomes.held_row, outcomes._settled\n"
            "        self._change(lambda view, now: view.put(settled(view, held(view, lease), actual_weight, now)))\n"
            "    outcomes.check_report",
        ),
    ),
)

WRONG_LEASES = (*IDENTITY, *RENEWAL, *ACKS, *RECLAIM, *REFUSALS)
