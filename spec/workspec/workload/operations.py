"""The operations of the workload contract (section 3): checks in their order, then effects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from workspec.core.condition import NOW, Condition, flag
from workspec.core.record import Record
from workspec.core.rule import (
    Batch,
    Evidence,
    Move,
    Operation,
    Phase,
    Procedure,
    Refuse,
    Reply,
    Skip,
    When,
    ids,
)
from workspec.core.scope import Scope
from workspec.workload import choices, effects, legacy, terms
from workspec.workload.facts import present, versioned
from workspec.workload.rules import conflicting_fields
from workspec.workload.tables import (
    ACTOR_TIMEOUT_DECISION,
    CANCELLED,
    DEADLINE_DECISION,
    EFFECTIVE_EFFECT,
    FAILURE_DECISION,
    LOSS_DECISION,
    PASSED_DEADLINE,
    READY,
    RECOVERING,
    REQUESTED,
    TRANSITIONS,
    deadline_passed,
    exhausted,
    passed_deadline_at,
)
from workspec.workload.terms import chosen, now_text, state_is
from workspec.workload.vocabulary import Admitted, ErrorCode, ExecutionContext

# Shared steps ----------------------------------------------------------------------------------------------------

EXPIRE: Final = Procedure(
    "expire",
    (
        Move(
            "deadline",
            now_text("authority.deadline"),
            ids("WRK-EDL-05 WRK-GEN-10"),
            (
                Evidence("deadline", PASSED_DEADLINE.term),
                Evidence("deadline_at", passed_deadline_at),
                Evidence("claim_id", terms.of_lost_claim("claim_id")),
                Evidence("worker_id", terms.of_lost_claim("worker_id")),
            ),
        ),
        effects.end_expired,
        When(DEADLINE_DECISION.term.is_("retry"), (effects.delay_after_deadline,)),
        Move(
            "decide on deadline",
            now_text("authority.deadline"),
            ids("WRK-EDL-06 WRK-GEN-03"),
            (Evidence("decision", DEADLINE_DECISION.term),),
        ),
    ),
)
BURY: Final = Procedure(
    "bury",
    (
        Move(
            "bury",
            now_text("authority.claim"),
            ids("WRK-CLM-03 WRK-GEN-10"),
            (
                Evidence("reason", now_text("attempt_budget_exhausted")),
                Evidence("attempts_used", terms.attempt_count),
                Evidence("attempt_budget", terms.attempt_budget),
            ),
        ),
    ),
)

# Shared checks ---------------------------------------------------------------------------------------------------

UNSOUND: Final = Refuse(ids("WRK-PRT-02"), ErrorCode.INVALID, when=terms.unsound_argument, unordered=True)
UNKNOWN: Final = Refuse(ids("WRK-GEN-07"), ErrorCode.NOT_FOUND, when=terms.unknown)


def _secret(condition: Condition, requirements: str = "") -> Refuse:
    return Refuse(ids(f"{requirements} WRK-GEN-09 WRK-GEN-08"), ErrorCode.SECRET_MATERIAL, when=condition)


def _passed(requirements: str) -> Refuse:
    """The inline deadline check: the expiry is committed, then the call fails (WRK-EDL-03)."""
    return Refuse(
        ids(f"{requirements} WRK-EDL-03 WRK-GEN-11 WRK-GEN-02 WRK-GEN-05"),
        ErrorCode.TIMED_OUT,
        when=deadline_passed,
        committing=(EXPIRE,),
        details=lambda scope: {
            "deadline": PASSED_DEADLINE.settle(scope),
            "deadline_at": passed_deadline_at.read(scope),
        },
    )


FENCE: Final = (
    Refuse(ids("WRK-FNC-01"), ErrorCode.CLAIM_INVALID, when=terms.no_claim & terms.token_is_latest),
    Refuse(ids("WRK-FNC-01"), choices.FENCE_CODE, when=terms.no_claim),
    Refuse(
        ids("WRK-FNC-02"),
        ErrorCode.STALE_FENCE,
        when=(terms.fencing_token < terms.present_token) & ~terms.same_claim_id,
    ),
    Refuse(
        ids("WRK-FNC-02"),
        choices.FENCE_CODE_OTHER_TOKEN,
        when=terms.fencing_token.differs(terms.present_token),
    ),
    Refuse(ids("WRK-FNC-03"), choices.FENCE_CODE, when=~terms.same_claim_id | ~terms.same_worker),
    Refuse(ids("WRK-FNC-04 WRK-ART-06"), choices.FENCE_CODE, when=terms.lease_lapsed),
)


def _illegal(event: str, requirements: str) -> Refuse:
    return Refuse(ids(requirements), ErrorCode.STATE_INVALID, when=TRANSITIONS.illegal(event))


WHILE_REQUESTED: Final = Refuse(
    ids("WRK-CAN-06"),
    ErrorCode.STATE_INVALID,
    when=state_is(REQUESTED) & chosen(choices.REPORTS_WHILE_REQUESTED).is_("refused"),
)

# Answers ---------------------------------------------------------------------------------------------------------


def _locate(scope: Scope) -> str:
    return str(scope.call["workload_id"])


def _record(scope: Scope, after: Mapping[str, Record]) -> Record:
    return after[scope.key or ""]


def _fact(name: str) -> Callable[[Scope, Mapping[str, Record]], Any]:
    return lambda scope, after: getattr(_record(scope, after).facts, name)


def _nothing(_scope: Scope, _after: Mapping[str, Record]) -> None:
    return None


def _context(scope: Scope, after: Mapping[str, Record]) -> ExecutionContext:
    record = _record(scope, after)
    facts = record.facts
    return ExecutionContext(
        attempt_id=facts.attempt.attempt_id,
        secret_references=tuple(scope.call["secret_references"]),
        expires_at=facts.claim.expires_at,
        fencing_token=facts.claim.fencing_token,
        input=facts.terms.input,
        checkpoints=record.log.checkpoints,
    )


# 3.1, 3.2 Admission ----------------------------------------------------------------------------------------------


def _locate_admission(scope: Scope) -> str:
    """The record of this scope under whatever id, else the id that a new one gets."""
    found = terms.key_of_scope(scope)
    return found if found is not None else str(scope.choose(choices.WORKLOAD_ID, scope))


ADMIT: Final = Operation(
    "admit",
    locate=_locate_admission,
    order=ids("WRK-ADM-02"),
    checks=(
        _secret(terms.secret_in_input, "WRK-ADM-03"),
        Refuse(ids("WRK-PRT-02"), ErrorCode.INVALID, when=terms.unsound_request, unordered=True),
        Refuse(ids("WRK-ADM-04"), ErrorCode.INVALID, when=terms.blank_key),
        Refuse(ids("WRK-ADM-05"), ErrorCode.INVALID, when=terms.zero_timeout),
        Refuse(ids("WRK-ADM-06"), ErrorCode.UNAUTHORIZED, when=terms.grant_differs),
        Refuse(
            ids("WRK-REP-01 WRK-REP-02 WRK-REP-03 WRK-GEN-05"),
            ErrorCode.IDEMPOTENCY_KEY_REUSED,
            when=terms.exists & terms.request_differs,
            details=lambda scope: {"fields": list(conflicting_fields(scope.call["request"], scope.facts.terms))},
        ),
        Reply(
            ids("WRK-REP-05 WRK-REP-01 WRK-ADM-14"),
            when=terms.exists,
            answer=lambda scope: Admitted(present(scope.state[scope.key or ""]), created=False),
        ),
    ),
    steps=(
        effects.create_record,
        Move(
            "admit",
            choices.CREATION_ACTOR,
            ids("WRK-ADM-12 WRK-GEN-06"),
            (Evidence("not_before", terms.not_before),),
            choices.OPEN_EVIDENCE,
        ),
    ),
    answer=lambda scope, after: Admitted(present(_record(scope, after)), created=True),
    requirements=ids("WRK-ADM-14 WRK-ADM-07"),
    again=True,
)

# 3.3 Claim -------------------------------------------------------------------------------------------------------

CLAIM: Final = Operation(
    "claim",
    locate=_locate,
    order=ids("WRK-CLM-01"),
    checks=(
        UNSOUND,
        Refuse(ids("WRK-PRT-02"), ErrorCode.INVALID, when=terms.lease_ms < 1, unordered=True),
        UNKNOWN,
        _passed("WRK-CLM-02"),
        Refuse(
            ids("WRK-CLM-03 WRK-GEN-02 WRK-ART-05"),
            ErrorCode.ATTEMPTS_EXHAUSTED,
            when=state_is(READY) & exhausted,
            committing=(BURY,),
            order=ids("WRK-CLM-04"),
        ),
        Refuse(ids("WRK-CLM-05"), ErrorCode.NOT_READY, when=~state_is(READY)),
        Refuse(ids("WRK-CLM-06"), ErrorCode.NOT_READY, when=NOW < terms.next_attempt_at, unordered=True),
        Refuse(ids("WRK-CLM-07"), ErrorCode.CAPABILITY_MISSING, when=terms.lacks_capability, unordered=True),
        Refuse(ids("WRK-CLM-08"), ErrorCode.DEPENDENCY_PENDING, when=terms.dependency_pending, unordered=True),
    ),
    steps=(
        effects.spend_attempt,
        effects.open_claim,
        Move("claim", choices.EVENT_ACTOR, ids("WRK-CLM-09 WRK-GEN-06"), open_evidence=choices.OPEN_EVIDENCE),
    ),
    answer=_fact("claim"),
    requirements=ids("WRK-GEN-04"),
)

# 3.5 to 3.10 Calls of the worker ---------------------------------------------------------------------------------

START: Final = Operation(
    "start",
    locate=_locate,
    order=ids("WRK-STR-01"),
    checks=(UNSOUND, UNKNOWN, _passed(""), *FENCE, _illegal("start", "WRK-STR-03 WRK-GEN-06")),
    steps=(
        effects.begin_attempt,
        Move("start", terms.worker, ids("WRK-STR-02 WRK-GEN-06"), open_evidence=choices.OPEN_EVIDENCE),
    ),
    answer=_nothing,
)
HEARTBEAT: Final = Operation(
    "heartbeat",
    locate=_locate,
    order=ids("WRK-HBT-01"),
    checks=(
        UNSOUND,
        Refuse(ids("WRK-PRT-02"), ErrorCode.INVALID, when=terms.extension_ms < 1, unordered=True),
        UNKNOWN,
        _passed(""),
        *FENCE,
    ),
    steps=(effects.renew_lease,),
    answer=_fact("claim"),
    requirements=ids("WRK-INV-11"),
)
EXECUTION_CONTEXT: Final = Operation(
    "execution_context",
    locate=_locate,
    order=ids("WRK-CTX-01"),
    checks=(
        UNSOUND,
        UNKNOWN,
        _passed(""),
        *FENCE,
        Refuse(ids("WRK-CTX-05 WRK-PRT-03"), ErrorCode.INVALID, when=terms.empty_reference, unordered=True),
        Refuse(ids("WRK-CTX-05 WRK-PRT-03"), ErrorCode.SECRET_MATERIAL, when=terms.secret_reference, unordered=True),
    ),
    steps=(),
    answer=_context,
    requirements=ids("WRK-CTX-02"),
)
CHECKPOINT: Final = Operation(
    "checkpoint",
    locate=_locate,
    order=ids("WRK-CKP-01"),
    checks=(
        _secret(terms.secret_in("state")),
        UNSOUND,
        UNKNOWN,
        _passed(""),
        *FENCE,
        WHILE_REQUESTED,
        _illegal("checkpoint", "WRK-CKP-01 WRK-GEN-06"),
    ),
    steps=(
        effects.keep_checkpoint,
        Move(
            "checkpoint",
            choices.EVENT_ACTOR,
            ids("WRK-CKP-02 WRK-GEN-06"),
            open_evidence=choices.OPEN_EVIDENCE,
        ),
    ),
    answer=lambda scope, after: _record(scope, after).log.checkpoints[-1],
)
COMPLETE: Final = Operation(
    "complete",
    locate=_locate,
    order=ids("WRK-CMP-01"),
    checks=(
        _secret(terms.secret_in("output")),
        UNSOUND,
        Refuse(ids("WRK-PRT-02"), ErrorCode.INVALID, when=terms.blank_result_id, unordered=True),
        Refuse(ids("WRK-PRT-02"), ErrorCode.INVALID, when=terms.schema_version < 1, unordered=True),
        Reply(
            ids("WRK-CMP-02"),
            when=terms.result_here & terms.same_completion,
            answer=lambda scope: scope.facts.result,
        ),
        Refuse(ids("WRK-CMP-03"), ErrorCode.RESULT_CONFLICT, when=terms.result_here),
        Refuse(ids("WRK-CMP-04"), ErrorCode.RESULT_DUPLICATE, when=terms.result_elsewhere),
        UNKNOWN,
        _passed("WRK-CMP-06"),
        *FENCE,
        WHILE_REQUESTED,
        _illegal("complete", "WRK-CMP-01 WRK-GEN-06"),
    ),
    steps=(
        effects.record_result,
        effects.end_succeeded,
        Move(
            "complete",
            choices.EVENT_ACTOR,
            ids("WRK-CMP-07 WRK-GEN-06"),
            open_evidence=choices.OPEN_EVIDENCE,
        ),
    ),
    answer=_fact("result"),
)
FAIL: Final = Operation(
    "fail",
    locate=_locate,
    order=ids("WRK-FAL-02"),
    checks=(
        _secret(terms.secret_in("error")),
        Refuse(ids("WRK-FAL-03"), ErrorCode.INVALID, when=terms.unknown_effect),
        UNSOUND,
        UNKNOWN,
        Reply(ids("WRK-FAL-11"), when=terms.same_report, answer=lambda scope: scope.facts.state),
        _passed("WRK-FAL-15"),
        *FENCE,
        WHILE_REQUESTED,
        _illegal("fail", "WRK-FAL-02 WRK-GEN-06"),
    ),
    steps=(
        effects.record_report,
        Move(
            "fail",
            terms.worker,
            ids("WRK-FAL-06 WRK-GEN-10"),
            (
                Evidence("failure_kind", terms.failure_kind),
                Evidence("attempt_id", terms.attempt_id),
                Evidence("effect", EFFECTIVE_EFFECT.term),
            ),
        ),
        effects.end_failed,
        When(FAILURE_DECISION.term.is_("retry"), (effects.count_retry, effects.back_off)),
        Move(
            "decide on failure",
            now_text("authority.retry"),
            ids("WRK-FAL-07 WRK-GEN-03 WRK-GEN-10"),
            (Evidence("decision", FAILURE_DECISION.term),),
        ),
    ),
    answer=_fact("state"),
)

# 3.11, 3.12, 3.13 Actors and operators ---------------------------------------------------------------------------

TIME_OUT: Final = Operation(
    "time_out",
    locate=_locate,
    checks=(UNSOUND, UNKNOWN, _illegal("actor timeout", "WRK-TMO-01 WRK-GEN-06")),
    steps=(
        Move("actor timeout", terms.actor, ids("WRK-TMO-03 WRK-GEN-10")),
        effects.end_timed_out,
        When(ACTOR_TIMEOUT_DECISION.term.is_("retry"), (effects.delay_after_actor_timeout,)),
        Move("follow actor timeout", choices.FOLLOW_UP_ACTOR, ids("WRK-TMO-05 WRK-TMO-04")),
    ),
    answer=_fact("state"),
)
CANCEL: Final = Operation(
    "cancel",
    locate=_locate,
    checks=(
        UNSOUND,
        UNKNOWN,
        Reply(
            ids("WRK-PRT-11"),
            when=state_is(REQUESTED, CANCELLED) & chosen(choices.REPEATED_CANCEL).is_("no change"),
            answer=lambda scope: scope.facts.state,
        ),
        _illegal("cancel", "WRK-PRT-11 WRK-GEN-06"),
    ),
    steps=(Move("cancel", choices.EVENT_ACTOR, ids("WRK-CAN-01 WRK-GEN-06"), open_evidence=choices.OPEN_EVIDENCE),),
    answer=_fact("state"),
)
ACKNOWLEDGE_CANCEL: Final = Operation(
    "acknowledge_cancel",
    locate=_locate,
    checks=(UNSOUND, UNKNOWN, *FENCE, _illegal("acknowledge cancel", "WRK-CAN-07 WRK-GEN-06")),
    steps=(
        effects.end_cancelled,
        Move(
            "acknowledge cancel",
            choices.EVENT_ACTOR,
            ids("WRK-CAN-07 WRK-CAN-05 WRK-GEN-06"),
            open_evidence=choices.OPEN_EVIDENCE,
        ),
    ),
    answer=_fact("state"),
)
RETRY: Final = Operation(
    "retry",
    locate=_locate,
    order=ids("WRK-RTY-01"),
    checks=(
        UNSOUND,
        UNKNOWN,
        _illegal("operator retry", "WRK-RTY-01 WRK-GEN-06"),
        Refuse(
            ids("WRK-RTY-02"),
            ErrorCode.RETRY_EXHAUSTED,
            when=terms.operator_retries >= terms.max_attempts,
        ),
    ),
    steps=(
        effects.rearm,
        Move(
            "operator retry",
            terms.actor,
            ids("WRK-RTY-03 WRK-RTY-04 WRK-ART-07 WRK-GEN-10"),
            (
                Evidence("retry", now_text("operator")),
                Evidence("operator_retry", terms.rearm_ordinal),
                Evidence("attempt_budget", terms.attempt_budget),
                Evidence("reason", terms.reason),
            ),
        ),
    ),
    answer=_nothing,
    requirements=ids("WRK-RTY-07"),
)

# 3.15, 3.16 Passes -----------------------------------------------------------------------------------------------


def _all_ids(scope: Scope) -> Iterable[str]:
    return sorted(scope.state)


def _element(scope: Scope) -> str:
    return str(scope.element)


ENFORCE_DEADLINES: Final = Batch(
    "enforce_deadlines",
    elements=_all_ids,
    locate=_element,
    checks=(UNSOUND,),
    phases=(Phase((Skip(ids("WRK-EDL-01"), when=~deadline_passed),)),),
    steps=(EXPIRE,),
    answer=lambda _scope, held, _after: list(held),
    atomic=False,
    requirements=ids("WRK-EDL-01 WRK-EDL-02 WRK-INV-13"),
)
RECOVER_EXPIRED: Final = Batch(
    "recover_expired",
    elements=_all_ids,
    locate=_element,
    checks=(UNSOUND,),
    phases=(
        Phase(
            (
                Skip(ids("WRK-REC-01"), when=TRANSITIONS.illegal("lease lapse")),
                Skip(ids("WRK-REC-01 WRK-ART-06"), when=~terms.lease_lapsed),
            )
        ),
    ),
    steps=(
        Move(
            "lease lapse",
            now_text("authority.recovery"),
            ids("WRK-REC-02 WRK-GEN-10"),
            (
                Evidence("recovery_reason", now_text("lease_expired")),
                Evidence("attempts_used", terms.attempt_count),
                Evidence("attempt_budget", terms.attempt_budget),
                Evidence("claim_id", terms.of_lost_claim("claim_id")),
                Evidence("worker_id", terms.of_lost_claim("worker_id")),
                Evidence("lease_expired_at", terms.of_lost_claim("expires_at")),
                Evidence("attempt_id", terms.attempt_id),
            ),
        ),
        effects.end_lost,
        When(
            state_is(RECOVERING),
            (
                Move(
                    "decide on loss",
                    now_text("authority.recovery"),
                    ids("WRK-REC-03 WRK-REC-04 WRK-ART-04 WRK-GEN-03"),
                    (Evidence("decision", LOSS_DECISION.term),),
                ),
            ),
        ),
    ),
    answer=lambda _scope, held, _after: list(held),
    atomic=False,
    requirements=ids("WRK-REC-01"),
)

# 3.19 Migration --------------------------------------------------------------------------------------------------


def _file(scope: Scope) -> legacy.LegacyFile | None:
    if "legacy file" not in scope.settled:
        try:
            scope.settled["legacy file"] = legacy.read(scope.call["source"])
        except legacy.MalformedFile:
            scope.settled["legacy file"] = None
    found: legacy.LegacyFile | None = scope.settled["legacy file"]
    return found


@flag("the file is no legacy file", source="call")
def malformed_file(scope: Scope) -> bool:
    return _file(scope) is None


@flag("a workload of the file differs from the committed one", source="store")
def file_differs(scope: Scope) -> bool:
    file = _file(scope)
    return file is not None and legacy.differs_from_store(file, scope.state)


@flag("the derived parts of the file differ from those of file and store together", source="store")
def derived_parts_differ(scope: Scope) -> bool:
    file = _file(scope)
    return file is not None and not legacy.derived_parts_agree(file, scope.state)


def _records_of_file(scope: Scope) -> Iterable[Record]:
    file = _file(scope)
    return () if file is None else file.records.values()


MIGRATE: Final = Batch(
    "migrate",
    elements=_records_of_file,
    locate=lambda scope: str(scope.element.facts.workload_id),
    checks=(
        Refuse(ids("WRK-PRT-04"), ErrorCode.INVALID, when=malformed_file),
        Refuse(ids("WRK-MIG-02 WRK-PRT-05"), ErrorCode.MIGRATION_CONFLICT, when=file_differs),
        Refuse(ids("WRK-MIG-04 WRK-PRT-05"), ErrorCode.MIGRATION_CONFLICT, when=derived_parts_differ),
    ),
    phases=(Phase((Skip(ids("WRK-MIG-01"), when=terms.exists),)),),
    steps=(effects.take_over,),
    answer=lambda _scope, held, _after: len(held),
    atomic=False,
    requirements=ids("WRK-MIG-01 WRK-PRT-05"),
)

# Reads -----------------------------------------------------------------------------------------------------------


def _get(scope: Scope, after: Mapping[str, Record]) -> Any:
    record = after.get(scope.key or "")
    return None if record is None else versioned(record)


def _list(scope: Scope, after: Mapping[str, Record]) -> Any:
    wanted = (scope.call["tenant_id"], scope.call["application_id"])
    return [
        versioned(record)
        for _key, record in sorted(after.items())
        if (record.facts.terms.tenant_id, record.facts.terms.application_id) == wanted
    ]


GET: Final = Operation("get", locate=_locate, checks=(), steps=(), answer=_get)
LIST: Final = Operation(
    "list_workloads",
    locate=lambda _scope: "",
    checks=(),
    steps=(),
    answer=_list,
)

OPERATIONS: Final = (
    ADMIT,
    CLAIM,
    START,
    HEARTBEAT,
    EXECUTION_CONTEXT,
    CHECKPOINT,
    COMPLETE,
    FAIL,
    TIME_OUT,
    CANCEL,
    ACKNOWLEDGE_CANCEL,
    RETRY,
    ENFORCE_DEADLINES,
    RECOVER_EXPIRED,
    MIGRATE,
    GET,
    LIST,
)
