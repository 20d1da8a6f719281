"""The calls of a worker: claim, start, heartbeat, context, checkpoint, completion, failure (3.3 to 3.10)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from workspec.core.condition import NOW
from workspec.core.record import Record
from workspec.core.rule import (
    Evidence,
    Move,
    Operation,
    Refuse,
    Reply,
    When,
    ids,
)
from workspec.core.scope import Scope
from workspec.workload import choices, effects, terms
from workspec.workload.operations.shared import (
    BURY,
    FENCE,
    UNKNOWN,
    UNSOUND,
    WHILE_REQUESTED,
    fact,
    illegal,
    locate,
    nothing,
    passed,
    record_of,
    secret,
)
from workspec.workload.tables import (
    EFFECTIVE_EFFECT,
    FAILURE_DECISION,
    READY,
    exhausted,
)
from workspec.workload.terms import chosen, now_text, state_is
from workspec.workload.vocabulary import ErrorCode, ExecutionContext


def _context(scope: Scope, after: Mapping[str, Record]) -> ExecutionContext:
    record = record_of(scope, after)
    facts = record.facts
    return ExecutionContext(
        attempt_id=facts.attempt.attempt_id,
        secret_references=tuple(scope.call["secret_references"]),
        expires_at=facts.claim.expires_at,
        fencing_token=facts.claim.fencing_token,
        input=facts.terms.input,
        checkpoints=record.log.checkpoints,
    )


CLAIM: Final = Operation(
    "claim",
    locate=locate,
    order=ids("WRK-CLM-01"),
    checks=(
        UNSOUND,
        Refuse(ids("WRK-PRT-02"), ErrorCode.INVALID, when=terms.lease_ms < 1, unordered=True),
        UNKNOWN,
        passed("WRK-CLM-02"),
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
    answer=fact("claim"),
    requirements=ids("WRK-GEN-04"),
)
START: Final = Operation(
    "start",
    locate=locate,
    order=ids("WRK-STR-01"),
    checks=(UNSOUND, UNKNOWN, passed(""), *FENCE, illegal("start", "WRK-STR-03 WRK-GEN-06")),
    steps=(
        effects.begin_attempt,
        Move("start", terms.worker, ids("WRK-STR-02 WRK-GEN-06"), open_evidence=choices.OPEN_EVIDENCE),
    ),
    answer=nothing,
)
HEARTBEAT: Final = Operation(
    "heartbeat",
    locate=locate,
    order=ids("WRK-HBT-01"),
    checks=(
        UNSOUND,
        Refuse(ids("WRK-PRT-02"), ErrorCode.INVALID, when=terms.extension_ms < 1, unordered=True),
        UNKNOWN,
        passed(""),
        *FENCE,
    ),
    steps=(effects.renew_lease,),
    answer=fact("claim"),
    requirements=ids("WRK-INV-11"),
)
EXECUTION_CONTEXT: Final = Operation(
    "execution_context",
    locate=locate,
    order=ids("WRK-CTX-01"),
    checks=(
        UNSOUND,
        UNKNOWN,
        passed(""),
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
    locate=locate,
    order=ids("WRK-CKP-01"),
    checks=(
        secret(terms.secret_in("state")),
        UNSOUND,
        UNKNOWN,
        passed(""),
        *FENCE,
        WHILE_REQUESTED,
        illegal("checkpoint", "WRK-CKP-01 WRK-GEN-06"),
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
    answer=lambda scope, after: record_of(scope, after).log.checkpoints[-1],
)
COMPLETE: Final = Operation(
    "complete",
    locate=locate,
    order=ids("WRK-CMP-01"),
    checks=(
        secret(terms.secret_in("output")),
        UNSOUND,
        Refuse(ids("WRK-PRT-02"), ErrorCode.INVALID, when=terms.blank_result_id, unordered=True),
        # Asked of every completion that passes any, replays and refusals included: what they mean is hidden (G-17).
        Refuse(
            ids("WRK-PRT-02"),
            ErrorCode.INVALID,
            when=terms.passes_references
            & chosen(choices.COMPLETION_REFERENCES).is_("stored")
            & (terms.schema_version < 1),
            unordered=True,
        ),
        Reply(
            ids("WRK-CMP-02"),
            when=terms.result_here & terms.same_completion,
            answer=lambda scope: scope.facts.result,
        ),
        Refuse(ids("WRK-CMP-03"), ErrorCode.RESULT_CONFLICT, when=terms.result_here),
        Refuse(ids("WRK-CMP-04"), ErrorCode.RESULT_DUPLICATE, when=terms.result_elsewhere),
        UNKNOWN,
        passed("WRK-CMP-06"),
        *FENCE,
        WHILE_REQUESTED,
        illegal("complete", "WRK-CMP-01 WRK-GEN-06"),
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
    answer=fact("result"),
)
FAIL: Final = Operation(
    "fail",
    locate=locate,
    order=ids("WRK-FAL-02"),
    checks=(
        secret(terms.secret_in("error")),
        Refuse(ids("WRK-FAL-03"), ErrorCode.INVALID, when=terms.unknown_effect),
        UNSOUND,
        UNKNOWN,
        Reply(ids("WRK-FAL-11"), when=terms.same_report, answer=lambda scope: scope.facts.state),
        passed("WRK-FAL-15"),
        *FENCE,
        WHILE_REQUESTED,
        illegal("fail", "WRK-FAL-02 WRK-GEN-06"),
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
    answer=fact("state"),
)
