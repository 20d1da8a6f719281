"""The closed list of what the workload contract lets stores do differently. Ids follow the gaps of section 8.

Declared choices are held for a whole run and stand in the certificate; ``other`` is allowed for each and keeps the
kit away from what depends on it. Free choices are observed call by call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from workspec.core.choice import UNSEEN, Choice, ChoiceKind, Observer, Seen
from workspec.core.scope import Scope
from workspec.workload.rules import canonical_hash, workload_id_of
from workspec.workload.vocabulary import AttemptStatus, ErrorCode, Event

DECLARED, FREE = ChoiceKind.DECLARED, ChoiceKind.FREE

FENCE_CODES: Final = (ErrorCode.CLAIM_INVALID, ErrorCode.STALE_FENCE)
ENDED: Final = frozenset(
    {
        AttemptStatus.FAILED,
        AttemptStatus.SUCCEEDED,
        AttemptStatus.TIMED_OUT,
        AttemptStatus.WORKER_LOST,
        AttemptStatus.CANCELLED,
    }
)
RESERVED_EVIDENCE: Final = frozenset(
    {"not_before", "decision", "reason", "retry", "operator_retry", "deadline", "effect", "failure_kind"}
)


def _shown(value: Any, name: str) -> Any:
    """A member of what was seen; a list that is not shown counts as empty."""
    return getattr(value, name, UNSEEN)


def _next_event(seen: Seen, scope: Scope) -> Event | None:
    """The event that this decision is about to append, found by its place in the history."""
    history = _shown(seen.record, "execution_history")
    if not isinstance(history, (list, tuple, Sequence)) or len(history) <= scope.facts.event_count:
        return None
    event: Event = history[scope.facts.event_count]
    return event


def _next_actor(seen: Seen, scope: Scope) -> Any:
    event = _next_event(seen, scope)
    return UNSEEN if event is None else event.actor


def _next_evidence(seen: Seen, scope: Scope) -> Any:
    """What the event shows beside the keys that the contract uses: those are compared, not chosen."""
    event = _next_event(seen, scope)
    if event is None or not isinstance(event.evidence, (dict, Mapping)):
        return UNSEEN
    return {key: value for key, value in event.evidence.items() if key not in RESERVED_EVIDENCE}


def _last_attempt(name: str) -> Observer:
    def observe(seen: Seen, _scope: Scope) -> Any:
        attempts = _shown(seen.record, "attempts")
        return _shown(attempts[-1], name) if isinstance(attempts, (list, tuple, Sequence)) and attempts else UNSEEN

    return observe


def _of_answer(name: str) -> Observer:
    return lambda seen, _scope: _shown(seen.answer, name)


def _of_record(name: str) -> Observer:
    return lambda seen, _scope: _shown(seen.record, name)


def _unused(kind: str) -> Callable[[Any, Scope], bool]:
    """A text that is no earlier id of this kind; attempts and claims may be named alike."""
    return lambda value, scope: isinstance(value, str) and value != "" and (kind, value) not in scope.facts.used_ids


def _code(seen: Seen, _scope: Scope) -> Any:
    return UNSEEN if seen.code is None else seen.code


# Declared --------------------------------------------------------------------------------------------------------

GRANT_APPLICATION: Final = Choice(
    "G-06.grant-application",
    DECLARED,
    "Whether the grant must name the application of the request.",
    ("WRK-ADM-06",),
    default="bound",
    options=("bound", "free"),
)
WORKLOAD_ID: Final = Choice(
    "G-06b.workload-id",
    FREE,
    "The id of a new workload. The reference derives it from the scope; a store may choose another derivation.",
    ("WRK-ADM-08",),
    default=lambda scope: workload_id_of(scope.call["request"]),
    legal=lambda value, scope: isinstance(value, str) and value != "" and value not in scope.state,
    legal_text="a text that no other workload has",
    observe=lambda seen, _scope: _shown(_shown(seen.answer, "workload"), "workload_id"),
)
LEASE_ROUNDING: Final = Choice(
    "G-11.lease-rounding",
    DECLARED,
    "How a lease or an extension that is no whole number of seconds becomes an instant.",
    ("WRK-CLM-09", "WRK-HBT-02"),
    default="up",
    options=("up", "down"),
)
SHORTER_LEASE: Final = Choice(
    "G-11.shorter-lease",
    DECLARED,
    "Whether a heartbeat may bring the end of the lease nearer.",
    ("WRK-HBT-02",),
    default="allowed",
    options=("allowed", "kept"),
)
REPEATED_CANCEL: Final = Choice(
    "G-12.repeated-cancel",
    DECLARED,
    "What a cancel of work that is cancelled, or asked to be, does.",
    ("WRK-PRT-11",),
    default="no change",
    options=("no change", "refused"),
)
REPORTS_WHILE_REQUESTED: Final = Choice(
    "G-12.reports-while-requested",
    DECLARED,
    "What completion, failure report and checkpoint do while a cancellation is requested.",
    ("WRK-CAN-06",),
    default="refused",
    options=("refused",),
)
FIRST_DELAY: Final = Choice(
    "G-22.first-delay",
    DECLARED,
    "The first delay of exponential back-off: the initial delay, or twice that.",
    ("WRK-ART-02",),
    default="initial",
    options=("initial", "double"),
)
NUMBER_FORM: Final = Choice(
    "G-08.number-form",
    DECLARED,
    "What becomes of a whole number that is written with a fraction, such as 1.0, in an input, a checkpoint or an "
    "output: it is kept so. Where a store declares otherwise, it is given none.",
    ("WRK-ADM-14", "WRK-CKP-02", "WRK-CMP-07"),
    default="kept",
    options=("kept",),
)
COMPLETION_REFERENCES: Final = Choice(
    "G-17.completion-references",
    DECLARED,
    "What becomes of the references and the schema version (1 or more) that a completion passes: both are stored with "
    "its result. Where a store declares otherwise, it is given completions without references, of version 1.",
    ("WRK-CMP-07", "WRK-CMP-05", "WRK-PRT-02"),
    default="stored",
    options=("stored",),
)
CHECKPOINT_HEARTBEAT: Final = Choice(
    "G-24.checkpoint-heartbeat",
    DECLARED,
    "Whether a checkpoint counts as a sign of life.",
    ("WRK-CKP-03",),
    default="no",
    options=("no", "yes"),
)

# Free ------------------------------------------------------------------------------------------------------------

FENCE_CODE: Final = Choice(
    "G-13.fence-code",
    FREE,
    "Which fence code answers a lapsed lease, an older token without a claim, the present token with another claim "
    "or worker, and a token that was never given out.",
    ("WRK-FNC-03", "WRK-FNC-04"),
    default=ErrorCode.CLAIM_INVALID,
    options=FENCE_CODES,
    observe=_code,
)
FENCE_CODE_OTHER_TOKEN: Final = Choice(
    "G-13.other-token",
    FREE,
    "Which fence code answers a token that differs from the present one without being an earlier claim's.",
    ("WRK-FNC-02",),
    default=ErrorCode.STALE_FENCE,
    options=FENCE_CODES,
    observe=_code,
)
CREATION_ACTOR: Final = Choice(
    "G-07.creation-actor",
    FREE,
    "Who is named in the creation event.",
    ("WRK-ADM-12",),
    default=lambda scope: scope.call["request"].requested_by.id,
    observe=_next_actor,
)
FOLLOW_UP_ACTOR: Final = Choice(
    "G-07.follow-up-actor",
    FREE,
    "Who is named in the event that follows an actor's timeout.",
    ("WRK-TMO-05",),
    default=lambda scope: scope.call["actor"],
    observe=_next_actor,
)
EVENT_ACTOR: Final = Choice(
    "G-07.event-actor",
    FREE,
    "Who is named in the events of claim, checkpoint, completion and cancellation.",
    ("WRK-GEN-06",),
    default=lambda scope: scope.call["worker_id"] if "worker_id" in scope.call else scope.call["actor"],
    observe=_next_actor,
)
OPEN_EVIDENCE: Final = Choice(
    "G-07.open-evidence",
    FREE,
    "Further evidence of events for which the contract names no keys.",
    ("WRK-GEN-06",),
    default=lambda _scope: {},
    legal_text="any further keys",
    observe=_next_evidence,
)
CLAIM_STATUS: Final = Choice(
    "G-15.claimed-status",
    FREE,
    "The status of an attempt that is claimed and not started.",
    ("WRK-CLM-09",),
    default=AttemptStatus.CLAIMED,
    legal=lambda value, _scope: value not in ENDED,
    legal_text="none of the ended ones",
    observe=_last_attempt("status"),
)
RUNNING_STATUS: Final = Choice(
    "G-15.running-status",
    FREE,
    "The status of a started attempt.",
    ("WRK-STR-02",),
    default=AttemptStatus.RUNNING,
    legal=lambda value, _scope: value not in ENDED,
    legal_text="none of the ended ones",
    observe=_last_attempt("status"),
)
CANCELLED_STATUS: Final = Choice(
    "G-15.cancelled-status",
    FREE,
    "The status of an attempt whose worker acknowledged the cancellation.",
    ("WRK-CAN-07",),
    default=AttemptStatus.CANCELLED,
    legal=lambda value, _scope: value not in {"FAILED", "SUCCEEDED", "TIMED_OUT", "WORKER_LOST"},
    legal_text="none that means another end",
    observe=_last_attempt("status"),
)
ATTEMPT_ID: Final = Choice(
    "opaque.attempt-id",
    FREE,
    "The id of a new attempt.",
    ("WRK-CLM-09",),
    default=lambda scope: f"{scope.key}/attempt-{scope.facts.last_token + 1}",
    legal=_unused("attempt"),
    legal_text="a text that this workload has not used",
    observe=_last_attempt("attempt_id"),
)
CLAIM_ID: Final = Choice(
    "opaque.claim-id",
    FREE,
    "The id of a new claim.",
    ("WRK-CLM-10",),
    default=lambda scope: f"{scope.key}/claim-{scope.facts.last_token + 1}",
    legal=_unused("claim"),
    legal_text="a text that this workload has not used",
    observe=_of_answer("claim_id"),
)
FENCING_TOKEN: Final = Choice(
    "G-26.fencing-token",
    FREE,
    "The fencing token of a new claim.",
    ("WRK-CLM-10",),
    default=lambda scope: scope.facts.last_token + 1,
    legal=lambda value, scope: isinstance(value, int) and value > scope.facts.last_token,
    legal_text="greater than every earlier token of the workload",
    observe=_of_answer("fencing_token"),
)
NEXT_ATTEMPT_AT: Final = Choice(
    "G-25.next-attempt-at",
    FREE,
    "Whether a claim clears the due time.",
    ("WRK-CLM-09",),
    default=lambda scope: scope.facts.next_attempt_at,
    legal=lambda value, scope: value in (None, scope.facts.next_attempt_at),
    legal_text="as it was, or absent",
    observe=_of_record("next_attempt_at"),
)
INPUT_HASH: Final = Choice(
    "G-08.input-hash",
    FREE,
    "The hash of the input.",
    ("WRK-REP-03",),
    default=lambda scope: canonical_hash(scope.call["request"].input),
    legal=lambda value, _scope: isinstance(value, str) and value != "",
    legal_text="a text that is not empty",
    observe=_of_record("input_hash"),
)
OUTPUT_HASH: Final = Choice(
    "G-08.output-hash",
    FREE,
    "The hash of an output.",
    ("WRK-CMP-07",),
    default=lambda scope: canonical_hash(scope.call["output"]),
    legal=lambda value, _scope: isinstance(value, str) and value != "",
    legal_text="a text that is not empty",
    observe=_of_answer("output_hash"),
)
EXPIRY_TEXT: Final = Choice(
    "text.expiry",
    FREE,
    "The error text of an attempt that a deadline ended.",
    ("WRK-EDL-05",),
    default=lambda scope: f"timeout: {scope.settled['passed deadline']}",
    legal=lambda value, scope: (
        isinstance(value, str) and value.startswith("timeout: ") and scope.settled["passed deadline"] in value
    ),
    legal_text="begins with 'timeout: ' and names the kind",
    observe=_last_attempt("error"),
)
LOSS_TEXT: Final = Choice(
    "text.loss",
    FREE,
    "The error text of an attempt whose lease lapsed.",
    ("WRK-REC-02",),
    default="worker_lost: lease expired",
    legal=lambda value, _scope: isinstance(value, str) and value.startswith("worker_lost: "),
    legal_text="begins with 'worker_lost: '",
    observe=_last_attempt("error"),
)

CHOICES: Final = (
    GRANT_APPLICATION,
    WORKLOAD_ID,
    CREATION_ACTOR,
    FOLLOW_UP_ACTOR,
    EVENT_ACTOR,
    OPEN_EVIDENCE,
    INPUT_HASH,
    OUTPUT_HASH,
    NUMBER_FORM,
    LEASE_ROUNDING,
    SHORTER_LEASE,
    REPEATED_CANCEL,
    REPORTS_WHILE_REQUESTED,
    FENCE_CODE,
    FENCE_CODE_OTHER_TOKEN,
    CLAIM_STATUS,
    RUNNING_STATUS,
    CANCELLED_STATUS,
    COMPLETION_REFERENCES,
    FIRST_DELAY,
    CHECKPOINT_HEARTBEAT,
    NEXT_ATTEMPT_AT,
    FENCING_TOKEN,
    ATTEMPT_ID,
    CLAIM_ID,
    EXPIRY_TEXT,
    LOSS_TEXT,
)
