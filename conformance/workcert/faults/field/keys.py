"""Identity: replays, conflicts, keys that are held, and batches."""

from __future__ import annotations

from typing import Any, Final

from workcert.backends.specification import Handle
from workcert.faults.changes import both, with_check, with_steps, with_term, without
from workcert.faults.field.handles import put, right_call, stored
from workcert.faults.field.model import Seen, Tier, by_handle, by_rule
from workspec.core.record import Record, replaced
from workspec.core.rule import Effect, ids
from workspec.core.scope import Scope
from workspec.jobs import effects as job_effects
from workspec.jobs import terms as job_terms
from workspec.jobs.facts import UNFINISHED, JobFacts, job_key
from workspec.jobs.vocabulary import ErrorCode, JobError
from workspec.workload.vocabulary import Admitted

# Who holds a key -----------------------------------------------------------------------------------------------------


def _held_by(*states: str) -> Any:
    """A key without a window is held by the rows in these states."""

    def held(scope: Scope) -> bool:
        envelope = job_terms.requested(scope)
        key = job_terms.effective_key_of(envelope)
        if key is None or job_terms.is_throttled(envelope):
            return False
        rows = (record.facts for record in scope.state.values())
        return any(isinstance(row, JobFacts) and row.unique_key == key and row.state in states for row in rows)

    return held


def _end_while_unfinished(scope: Scope) -> int | None:
    """The window, as long as the job that opened it is not finished."""
    holder = job_terms.holder_of(scope, job_terms.requested(scope))
    row = None if holder is None else scope.facts_of(job_key(holder))
    return _window_end(scope) if row is not None and row.state in UNFINISHED else None


_window_end: Final = job_terms.window_end.read


def _row_against_one(scope: Scope) -> bool:
    return len(scope.call["envelopes"]) == 1 and job_terms.is_held_by_row.decide(scope)


def _window_against_one(scope: Scope) -> int | None:
    return _window_end(scope) if len(scope.call["envelopes"]) == 1 else None


_ENDED_OTHERWISE: Final = ("archived", "cancelled", "undecodable", "quarantined")
_LOSES_ITS_KEY: Final = Effect(
    "the key is dropped",
    ids("JOB-UNQ-04 JOB-PRM-02"),
    ("unique_key",),
    "no key",
    lambda _scope: {"unique_key": None},
)

# Replays and batches -------------------------------------------------------------------------------------------------


def _admitting_anew(handle: Handle, name: str, arguments: dict[str, Any]) -> Any:
    """An admission is an upsert that sets the due time."""
    answer = right_call(handle, name, arguments)
    if isinstance(answer, Admitted) and not answer.created:
        key = answer.workload.workload_id
        record = stored(handle)[key]
        due = replaced(record.facts, {"next_attempt_at": arguments["request"].created_at})
        put(handle, {key: Record((record.version or 1) + 1, due, record.log)})
    return answer


_AMONG_OTHERS: Final = (ErrorCode.ID_CONFLICT, ErrorCode.DUPLICATE, ErrorCode.QUARANTINED, ErrorCode.BACKPRESSURE)


def _one_by_one(handle: Handle, name: str, arguments: dict[str, Any]) -> Any:
    """What a batch holds is looked through as a whole, and stored one by one until something is refused."""
    if name != "enqueue":
        return right_call(handle, name, arguments)
    try:
        return right_call(handle, name, dict(arguments))
    except JobError as refused:
        if refused.code in _AMONG_OTHERS and len(arguments["envelopes"]) > 1:
            _stored_until_refused(handle, arguments)
        raise


def _stored_until_refused(handle: Handle, arguments: dict[str, Any]) -> None:
    for envelope in arguments["envelopes"]:
        try:
            right_call(handle, "enqueue", {**arguments, "envelopes": (envelope,)})
        except JobError:
            return


WORKLOAD: Final = (
    Seen(
        "another request under a used key is answered with the old one",
        "WRK-REP-01 WRK-REP-02 WRK-REP-03",
        "admit",
        Tier.ONE_CALLER,
        "The insert does nothing where the key is there already, and what is stored is not compared.",
        by_rule(without("WRK-REP-02", "admit")),
    ),
    Seen(
        "a repeated admission makes the work due anew",
        "WRK-REP-05 WRK-GEN-04",
        "admit",
        Tier.ONE_CALLER,
        "The insert becomes an update where the key is there already, and writes some columns again.",
        by_handle(_admitting_anew),
    ),
)
JOBS: Final = (
    Seen(
        "another job under a used id is taken for a replay",
        "JOB-ENQ-06 JOB-TXN-02",
        "enqueue",
        Tier.ONE_CALLER,
        "The insert does nothing where the id is there already, and what is stored is not compared.",
        by_rule(with_check("JOB-ENQ-05", "enqueue", when=~job_terms.is_unknown)),
    ),
    Seen(
        "a replay writes payload and priority again",
        "JOB-ENQ-05 JOB-INV-13",
        "enqueue",
        Tier.ONE_CALLER,
        "The insert becomes an update where the id is there already.",
        by_rule(
            with_check("JOB-ENQ-05", "enqueue", committing=(job_effects.replace_payload, job_effects.replace_priority))
        ),
    ),
    Seen(
        "success alone frees a key",
        "JOB-UNQ-03 JOB-INV-04",
        "enqueue",
        Tier.ONE_CALLER,
        "The key is deleted by the procedure that completes a job, and no other end of a job calls that.",
        by_rule(with_term(job_terms.is_held_by_row, _held_by(*UNFINISHED, *_ENDED_OTHERWISE))),
    ),
    Seen(
        "a window ends with the job that opened it",
        "JOB-UNQ-06 JOB-UNQ-05 JOB-UNQ-07",
        "enqueue",
        Tier.CLOCK,
        "One lock serves both kinds of uniqueness, and whoever finishes a job releases its lock.",
        by_rule(with_term(job_terms.window_end, _end_while_unfinished)),
    ),
    Seen(
        "an operator's retry does not ask who holds the key",
        "JOB-OPR-05 JOB-INV-04 JOB-UNQ-02",
        "operator_retry",
        Tier.ONE_CALLER,
        "Keys are looked at where jobs are inserted, and a retry is an update of the state.",
        by_rule(without("JOB-OPR-05", "operator_retry")),
    ),
    Seen(
        "a promotion drops the key",
        "JOB-UNQ-04 JOB-UNQ-02 JOB-PRM-02 JOB-INV-04",
        "promote_due",
        Tier.CLOCK,
        "The promotion writes the row anew, and whoever wrote it did not think of the key.",
        by_rule(with_steps("promote_due", lambda steps: (*steps, _LOSES_ITS_KEY))),
    ),
    Seen(
        "what stood before the refused member of a batch stays",
        "JOB-ENQ-02 JOB-GEN-05",
        "enqueue",
        Tier.ONE_CALLER,
        "The members of a batch are inserted one by one, each in a commit of its own.",
        by_handle(_one_by_one),
    ),
    Seen(
        "a running job holds no key",
        "JOB-UNQ-02 JOB-UNQ-09 JOB-UNQ-21 JOB-UNQ-22 JOB-INV-04 JOB-TXN-02",
        "enqueue",
        Tier.ONE_CALLER,
        "The index of keys covers the states in which a job waits, and leaves one of the others out.",
        by_rule(with_term(job_terms.is_held_by_row, _held_by(*(state for state in UNFINISHED if state != "running")))),
    ),
    Seen(
        "a batch is not asked who holds its keys",
        "JOB-UNQ-09 JOB-UNQ-02 JOB-ENQ-01 JOB-UNQ-05",
        "enqueue",
        Tier.ONE_CALLER,
        "The bulk path has an insert of its own, which was written before keys were, or for speed.",
        by_rule(
            both(
                with_term(job_terms.is_held_by_row, _row_against_one),
                with_term(job_terms.window_end, _window_against_one),
            )
        ),
    ),
)
