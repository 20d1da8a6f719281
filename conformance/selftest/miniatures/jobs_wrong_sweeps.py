"""Job stores that are wrong in promotion, eviction, duties, channels and clock: the in-memory one with a line that
reads otherwise."""

from __future__ import annotations

from workstore.memory.jobs import channels, outcomes, sweeps
from workstore.memory.jobs.clock import Clock
from workstore.memory.jobs.index import _keys

from .jobs_model import Edit, edited
from .model import STATEFUL

SWEEPS = (
    edited(
        "promotion cuts to seconds",
        "PRM-01",
        Edit(sweeps.promote_due, "now_ms, limit)", "now_ms // 1000 * 1000 + 999, limit)"),
        suite=STATEFUL,
    ),
    edited(
        "promotion sets the due time",
        "PRM-02",
        Edit(
            sweeps.promote_due,
            "view.put(changed(view.present(job_id), state=State.AVAILABLE))",
            "view.put(due_at(view.present(job_id), State.AVAILABLE, now_ms))",
        ),
    ),
    edited(
        "a limit of 0 takes everything",
        "PRM-03 RCL-06",
        Edit(sweeps._until, "len(taken) >= limit", "len(taken) >= (limit or 10**9)"),
    ),
    edited(
        "retention counts from the enqueue",
        "EVT-04 EVT-01",
        Edit(sweeps.evict_retained, "plus(finalized_at_ms,", "plus(row.enqueued_at_ms,"),
    ),
    edited(
        "eviction waits a millisecond more",
        "EVT-01",
        Edit(sweeps.evict_retained, "<= now_ms", "< now_ms"),
        suite=STATEFUL,
    ),
    edited(
        "quarantined rows are evicted",
        "QUA-08 EVT-01",
        Edit(_keys, "row.state in EVICTABLE and", "row.state in EVICTABLE | {State.QUARANTINED} and"),
    ),
    edited(
        "archived rows without retention are evicted",
        "EVT-03 EVT-01",
        Edit(_keys, "row.envelope.retention_ms > 0", "row.envelope.retention_ms >= 0"),
    ),
    edited(
        "completed rows alone are evicted",
        "EVT-01",
        Edit(_keys, "row.state in EVICTABLE and", "row.state == State.COMPLETED and"),
    ),
)
DUTIES = (
    edited(
        "a duty is taken a millisecond early",
        "DTY-01",
        Edit(sweeps.claim_duty, "duty.expires_at_ms > now_ms", "duty.expires_at_ms - 1 > now_ms"),
    ),
    edited(
        "a duty is never taken from its holder",
        "DTY-01",
        Edit(sweeps.claim_duty, " and duty.expires_at_ms > now_ms", ""),
        suite=STATEFUL,
    ),
    edited(
        "the renewal of a duty never shortens it",
        "DTY-02 DTY-01",
        Edit(
            sweeps.claim_duty,
            "    view.duties.put(name, Duty(holder, plus(now_ms, lease_ms)))",
            "    end = plus(now_ms, lease_ms)\n"
            "    view.duties.put(name, Duty(holder, end if duty is None else max(end, duty.expires_at_ms)))",
        ),
    ),
    edited("anybody releases a duty", "DTY-03", Edit(sweeps.release_duty, " and duty.holder == holder", "")),
    edited(
        "a duty is not renewed",
        "DTY-02",
        Edit(
            sweeps.claim_duty,
            "    view.duties.put",
            "    if duty is not None and duty.expires_at_ms > now_ms:\n        return True\n    view.duties.put",
        ),
    ),
)
CHANNELS = (
    edited(
        "an output is stamped with the instant of the claim",
        "OUT-01",
        Edit(channels.write_output, "row.fence, now_ms)", "row.fence, row.lease.claimed_at_ms)"),
    ),
    edited(
        "progress never goes down",
        "PRG-02",
        Edit(
            channels.write_progress,
            "JobProgress(update.current,",
            "JobProgress(max(update.current, row.progress.current if row.progress else 0),",
        ),
    ),
    edited(
        "crash counts of a checkpoint are merged",
        "CKP-04 CKP-01",
        Edit(
            channels.write_checkpoint,
            "checkpoint=checkpoint)",
            "checkpoint=evolve(\n"
            "    checkpoint,\n"
            "    crashes_by_step=checkpoint.crashes_by_step or held_row(view, ref).checkpoint.crashes_by_step))",
        ),
    ),
    edited(
        "a plain success keeps no result apart",
        "RES-02",
        Edit(outcomes._succeeded, "if report.result is not None", "if report.logs"),
    ),
    edited(
        "a frozen clock goes on",
        "CLK-02 CLK-01",
        Edit(
            Clock.now_ms,
            "        return self._frozen_at_ms",
            "        self._frozen_at_ms += 1\n        return self._frozen_at_ms",
        ),
    ),
)
WRONG_SWEEPS = (*SWEEPS, *DUTIES, *CHANNELS)
