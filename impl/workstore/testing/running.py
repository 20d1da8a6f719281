"""Handlers of jobs, run in the test itself (JOB-AST-07)."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from itertools import count
from typing import Final, NamedTuple, Protocol, TypeAlias, runtime_checkable

from attrs import frozen

from workspec.jobs.ports import JobStore
from workspec.jobs.vocabulary import Claim, ErrorCode, JobError, LeaseRef, Outcome, QueueStats
from workstore.testing.envelopes import HasEnvelopes
from workstore.transactions import Once, StaleCheckpointError

LEASE_MS: Final = 30_000
"""The lease of `drain` and `perform_job`: after so long, a crashed worker has lost its jobs."""

_PROMOTED_MAX: Final = 10_000
_lease_numbers = count(1)


@frozen
class Report:
    """What a handler says of its run, where an `Outcome` alone does not do.

    Attributes:
        error: kept in the history by a retry, a skip and an undecodable.
        delay_ms: needed by a snooze; a retry without it backs off.
        logs: lines kept in the history.
        actual_weight: what the run really cost; None settles nothing.
    """

    outcome: Outcome
    error: str | None = None
    delay_ms: int | None = None
    logs: Sequence[str] = ()
    actual_weight: int | None = None


Answer: TypeAlias = Outcome | Report | Once
"""What a handler returns. `Once` is the answer of `workstore.transactions.once`; a handler that has ended the run
itself, as with ``ack_success_with_result``, returns ``Once.COMPLETED``."""

Handler: TypeAlias = Callable[[Claim], Answer]


class Crash(BaseException):
    """Raise this where a worker shall die: it leaves `drain` or `perform_job`, nothing is acked, and this job and those
    that were to follow stay leased. Anything else that is no `Exception` does the same."""


class LostErrorWarning(UserWarning):
    """An error of a handler that no store keeps, since its job was not acked: the lease was lost, or the handler had
    ended the job itself."""


class Performed(NamedTuple):
    """A run that has ended. ``outcome`` is LEASE_LOST where the job was taken away meanwhile, or ended by the handler
    before it raised, and nothing was acked."""

    job_id: str
    kind: str
    outcome: Outcome


def drain(
    store: JobStore, run: Handler, n: int, *, worker: str = "tester", queues: Sequence[str] | None = None
) -> list[Performed]:
    """Promote what is due, admit up to ``n`` jobs for 30 seconds, and run and ack one after the other; what they came
    to, in the order of the draw. It is one pass: what they enqueue or leave for later is not run. Implements
    JOB-AST-07.

    What a handler raises is a retry with its text as error, but for three cases: LeaseRejected for its own job (no
    ack: the lease is lost), `StaleCheckpointError` (undecodable), and what is no `Exception` (a `Crash`). So a failed
    assertion in a handler is a retry too: look at the outcome. Where the job can be acked no more, as after
    `workstore.transactions.once`, that is LEASE_LOST: no history has the text then, and a `LostErrorWarning` says it.

    Args:
        worker: the one who asks; a job with another ``sticky_worker`` may be kept from it.
        queues: where to look; all queues of the store by name unless given.

    Raises:
        TypeError: the handler returned something else, or ``queues`` is missing and the store cannot tell its queues.
            The job of that handler stays leased, as after a crash.
        JobError: the store refuses the outcome: Invalid (``snooze_needs_delay``, ``lease_lost_not_ackable``).
    """
    looked_at = _queues_of(store) if queues is None else queues
    store.promote_due(limit=_PROMOTED_MAX)
    units = store.admit(
        worker=worker,
        lease_id=f"{worker}-{next(_lease_numbers)}",
        queues=looked_at,
        capacity=n,
        lease_ms=LEASE_MS,
        quantum=1,
    )
    return [_performed(store, run, claim) for unit in units for claim in unit.claims]


def perform_job(
    store: JobStore, run: Handler, *, worker: str = "tester", queues: Sequence[str] | None = None
) -> Performed | None:
    """`drain` of one job; None if no job may be admitted now. Implements JOB-AST-07.

    Raises:
        TypeError, JobError: as `drain`.
    """
    performed = drain(store, run, 1, worker=worker, queues=queues)
    return performed[0] if performed else None


def _performed(store: JobStore, run: Handler, claim: Claim) -> Performed:
    answer = _answer(run, claim)
    outcome = answer if isinstance(answer, Outcome) else _acked(store, claim, answer)
    if outcome is Outcome.LEASE_LOST and isinstance(answer, Report) and answer.error is not None:
        _warn_of_lost(claim, answer)
    return Performed(claim.envelope.id, claim.envelope.kind, outcome)


def _answer(run: Handler, claim: Claim) -> Report | Outcome:
    """What there is to ack; an `Outcome` where there is nothing to ack any more."""
    try:
        answer = run(claim)
    except StaleCheckpointError as error:
        return Report(Outcome.UNDECODABLE, error=_text(error))
    except Exception as error:
        if _is_lease_lost(error, claim):
            return Outcome.LEASE_LOST
        return Report(Outcome.RETRY, error=_text(error))
    match answer:
        case Report():
            return answer
        case Outcome():
            return Report(answer)
        case Once.COMPLETED:
            return Outcome.SUCCESS
        case Once.ALREADY_DONE:
            return Report(Outcome.SUCCESS)
    raise TypeError(
        f"the handler of job {claim.envelope.id} returned {answer!r}; "
        "it must return an Outcome (Outcome.SUCCESS where all went well) or a Report, and be no coroutine"
    )


def _warn_of_lost(claim: Claim, report: Report) -> None:
    """A worker in production cannot ack such a run either; but who tests a handler must see what went wrong in it."""
    warnings.warn(
        f"the handler of job {claim.envelope.id} ended in {report.outcome.value} ({report.error}), which was not acked "
        "and stands in no history: its lease was lost, or the handler had ended the job itself before (as with once). "
        "What can fail belongs before once, or into its effect",
        LostErrorWarning,
        stacklevel=_frames_out(),
    )


def _frames_out() -> int:
    """How far out the test stands, so that the warning names its line: behind all frames of this module."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__") == __name__:
        frame, level = frame.f_back, level + 1
    return level


def _acked(store: JobStore, claim: Claim, report: Report) -> Outcome:
    try:
        store.ack(
            lease=LeaseRef(job_id=claim.envelope.id, lease_id=claim.lease_id, fence=claim.fence),
            outcome=report.outcome,
            error=report.error,
            delay_ms=report.delay_ms,
            logs=report.logs,
            actual_weight=report.actual_weight,
        )
    except JobError as error:
        if _is_lease_lost(error, claim):
            return Outcome.LEASE_LOST
        raise
    return report.outcome


def _is_lease_lost(error: Exception, claim: Claim) -> bool:
    return (
        isinstance(error, JobError)
        and error.code == ErrorCode.LEASE_REJECTED
        and (error.details or {}).get("job_id") == claim.envelope.id
    )


def _text(error: Exception) -> str:
    return str(error) or type(error).__name__


@runtime_checkable
class _HasQueueStats(Protocol):
    def queue_stats(self) -> Sequence[QueueStats]: ...


def _queues_of(store: object) -> list[str]:
    if isinstance(store, _HasQueueStats):
        return sorted(stats.queue for stats in store.queue_stats())
    if isinstance(store, HasEnvelopes):
        return sorted({stored.queue for stored in store.envelopes()})
    raise TypeError(f"a {type(store).__name__} cannot tell its queues: name them, as queues=['default']")
