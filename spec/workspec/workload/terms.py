"""The terms and conditions of the workload contract: what its rules ask."""

from __future__ import annotations

from typing import Any, Final

from workspec.core.choice import Choice
from workspec.core.condition import NOW, Member, Term, argument, flag, term
from workspec.core.scope import Scope
from workspec.workload.choices import GRANT_APPLICATION
from workspec.workload.rules import (
    BACKOFFS,
    DEADLINE_CONTRACT_VERSION,
    EFFECTS,
    MAX_I64,
    MAX_U32,
    MIN_I64,
    canonical_json,
    conflicting_fields,
    deadline_instant,
    holds_secret,
    holds_sound_leaves,
    is_secret,
    is_sound_json,
    recorded_reason,
    scope_of,
    scope_of_terms,
)
from workspec.workload.vocabulary import RetryPolicy, State


def chosen(choice: Choice) -> Term:
    """The value of a choice as a term."""
    return Term(choice.id, "choice", "constant", lambda scope: scope.choose(choice, scope))


def now_text(name: str) -> Term:
    """A fixed text, for evidence and actors."""
    return Term(name, "text", "constant", lambda _scope: name)


# The record ------------------------------------------------------------------------------------------------------

unknown: Final = Term(
    "the id is unknown", "flag", "store", lambda scope: scope.facts is None, "the id is known"
).holds()
exists: Final = ~unknown


def state_is(*states: State) -> Member:
    return state.is_(*states)


state: Final = Term("state", "state", "facts", lambda scope: scope.facts.state)
contract_version: Final = Term("contract version", "version", "facts", lambda scope: scope.facts.contract_version)
has_deadlines: Final = contract_version >= DEADLINE_CONTRACT_VERSION
attempt_count: Final = Term("attempt_count", "attempts", "facts", lambda scope: scope.facts.attempt_count)
operator_retries: Final = Term("operator_retries", "re-arms", "facts", lambda scope: scope.facts.operator_retries)
max_attempts: Final = Term(
    "max_attempts", "re-arms", "facts", lambda scope: scope.facts.terms.retry_policy.max_attempts
)
next_attempt_at: Final = Term("next_attempt_at", "s", "facts", lambda scope: scope.facts.next_attempt_at)
no_claim: Final = Term(
    "no claim is held", "flag", "facts", lambda scope: scope.facts.claim is None, "a claim is held"
).holds()


@term("attempt_budget", unit="attempts")
def attempt_budget(scope: Scope) -> int:
    """Section 6: the policy's attempts and one for each re-arm, at most 2^32 - 1."""
    facts = scope.facts
    return min(int(facts.terms.retry_policy.max_attempts) + int(facts.operator_retries), MAX_U32)


@term("lease end", unit="s")
def lease_end_at(scope: Scope) -> int | None:
    claim = scope.facts.claim
    return None if claim is None else claim.expires_at


lease_lapsed: Final = NOW >= lease_end_at


def retries_on(kind: str) -> Member:
    """The policy retries this kind of failure."""
    return Term(
        f"{kind} is in retry_on",
        "flag",
        "facts",
        lambda s: kind in s.facts.terms.retry_policy.retry_on,
        f"{kind} is not in retry_on",
    ).holds()


@flag("the reported kind is in retry_on", opposite="the reported kind is not in retry_on")
def retries_on_reported_kind(scope: Scope) -> bool:
    return scope.call["kind"] in scope.facts.terms.retry_policy.retry_on


# Deadlines: the instants of table 5.4 ----------------------------------------------------------------------------


@term("overall deadline", unit="s")
def overall_at(scope: Scope) -> int | None:
    facts = scope.facts
    return deadline_instant(facts.created_at, facts.terms.timeouts.overall_ms)


@term("queue deadline", unit="s")
def queue_at(scope: Scope) -> int | None:
    """From the later of the latest event to READY and the due time (WRK-DLN-06)."""
    facts = scope.facts
    if facts.state != State.READY:
        return None
    since = facts.created_at if facts.ready_at is None else facts.ready_at
    due = facts.next_attempt_at
    return deadline_instant(since if due is None else max(since, due), facts.terms.timeouts.queue_ms)


@term("claim deadline", unit="s")
def claim_at(scope: Scope) -> int | None:
    facts = scope.facts
    if facts.state != State.CLAIMED or facts.claim is None:
        return None
    return deadline_instant(facts.claim.claimed_at, facts.terms.timeouts.claim_ms)


@term("execution deadline", unit="s")
def execution_at(scope: Scope) -> int | None:
    facts = scope.facts
    started_at = None if facts.attempt is None else facts.attempt.started_at
    return deadline_instant(started_at, facts.terms.timeouts.execution_ms)


@term("heartbeat deadline", unit="s")
def heartbeat_at(scope: Scope) -> int | None:
    facts = scope.facts
    last = None if facts.claim is None else facts.claim.last_heartbeat
    return deadline_instant(last, facts.terms.timeouts.heartbeat_ms)


# The fence -------------------------------------------------------------------------------------------------------

fencing_token: Final = argument("fencing_token", "token")
latest_token: Final = Term("latest token", "token", "facts", lambda scope: scope.facts.last_token)


@term("token of the present claim", unit="token")
def present_token(scope: Scope) -> int | None:
    claim = scope.facts.claim
    return None if claim is None else claim.fencing_token


token_is_latest: Final = fencing_token.equals(latest_token)


@flag("the claim id is the present claim's", opposite="the claim id is another")
def same_claim_id(scope: Scope) -> bool:
    claim = scope.facts.claim
    return claim is not None and bool(claim.claim_id == scope.call["claim_id"])


@flag("the worker is the present claim's", opposite="the worker is another")
def same_worker(scope: Scope) -> bool:
    claim = scope.facts.claim
    return claim is not None and bool(claim.worker_id == scope.call["worker_id"])


# Claim -----------------------------------------------------------------------------------------------------------


@flag("the worker lacks a capability")
def lacks_capability(scope: Scope) -> bool:
    return not scope.facts.terms.capability_snapshot <= set(scope.call["capabilities"])


@flag("a dependency is missing or not in its required state", source="facts")
def dependency_pending(scope: Scope) -> bool:
    """Looked up in committed state, in the same tenant and application (G-10)."""
    terms = scope.facts.terms
    for dependency in terms.dependencies:
        record = scope.state.get(dependency.workload_id)
        if record is None or record.facts.state != dependency.required_state:
            return True
        home = (record.facts.terms.tenant_id, record.facts.terms.application_id)
        if home != (terms.tenant_id, terms.application_id):
            return True
    return False


# Completion and failure ------------------------------------------------------------------------------------------


@flag("the result id is recorded on this workload", source="store")
def result_here(scope: Scope) -> bool:
    facts = scope.facts
    return facts is not None and facts.result is not None and bool(facts.result.result_id == scope.call["result_id"])


@flag("the result id is recorded on another workload", source="store")
def result_elsewhere(scope: Scope) -> bool:
    wanted = scope.call["result_id"]
    return any(
        record.facts.result is not None and record.facts.result.result_id == wanted
        for key, record in scope.state.items()
        if key != scope.key
    )


@flag("worker, claim, token and output are those recorded", source="store")
def same_completion(scope: Scope) -> bool:
    result, call = scope.facts.result, scope.call
    return bool(
        result.produced_by == call["worker_id"]
        and result.provenance.get("claim_id") == call["claim_id"]
        and result.provenance.get("fencing_token") == str(call["fencing_token"])
        and canonical_json(result.output) == canonical_json(call["output"])
    )


@flag("this very report is recorded")
def same_report(scope: Scope) -> bool:
    """WRK-FAL-11: an absent effect matches any recorded one."""
    call = scope.call
    return any(
        report.claim_id == call["claim_id"]
        and report.worker_id == call["worker_id"]
        and report.fencing_token == call["fencing_token"]
        and report.kind == call["kind"]
        and report.error == call["error"]
        and call["effect"] in (None, report.effect)
        for report in scope.facts.reports
    )


# Admission -------------------------------------------------------------------------------------------------------


@flag("the key is blank", source="call")
def blank_key(scope: Scope) -> bool:
    return not scope.call["request"].idempotency_key.strip()


@flag("a timeout is zero", source="call")
def zero_timeout(scope: Scope) -> bool:
    timeouts = scope.call["request"].timeouts
    return timeouts is not None and 0 in _durations(timeouts)


def _durations(timeouts: Any) -> tuple[int | None, ...]:
    return (
        timeouts.queue_ms,
        timeouts.claim_ms,
        timeouts.execution_ms,
        timeouts.heartbeat_ms,
        timeouts.overall_ms,
    )


@flag("the grant names another subject, tenant or application", source="call")
def grant_differs(scope: Scope) -> bool:
    request = scope.call["request"]
    grant = request.authorization_snapshot
    if grant.subject != request.requested_by or grant.tenant_id != request.tenant_id:
        return True
    bound = scope.choose(GRANT_APPLICATION, scope) == "bound"
    return bound and bool(grant.application_id != request.application_id)


@flag("an execution field differs from the admitted one")
def request_differs(scope: Scope) -> bool:
    return bool(conflicting_fields(scope.call["request"], scope.facts.terms))


def key_of_scope(scope: Scope) -> str | None:
    """The key of the record that holds the idempotency scope of this request, under whatever id (WRK-REP-07)."""
    wanted = scope_of(scope.call["request"])
    return next((key for key, record in scope.state.items() if scope_of_terms(record.facts.terms) == wanted), None)


# Arguments -------------------------------------------------------------------------------------------------------


def secret_in(name: str) -> Member:
    """Secret material in an argument (WRK-GEN-08)."""
    return Term(f"{name} holds secret material", "flag", "call", lambda scope: holds_secret(scope.call[name])).holds()


@flag("input holds secret material", source="call")
def secret_in_input(scope: Scope) -> bool:
    return holds_secret(scope.call["request"].input)


lease_ms: Final = argument("lease_ms", "ms")
extension_ms: Final = argument("extension_ms", "ms")
schema_version: Final = argument("schema_version", "version")


@flag("the result id is blank", source="call")
def blank_result_id(scope: Scope) -> bool:
    return not scope.call["result_id"].strip()


@flag("references or a schema version other than 1 are passed", source="call")
def passes_references(scope: Scope) -> bool:
    return bool(scope.call["references"]) or scope.call["schema_version"] != 1


@flag("the effect is not absent, none or unknown", source="call")
def unknown_effect(scope: Scope) -> bool:
    return scope.call["effect"] not in EFFECTS


@flag("a secret reference is empty", source="call")
def empty_reference(scope: Scope) -> bool:
    return "" in scope.call["secret_references"]


@flag("a secret reference is secret material", source="call")
def secret_reference(scope: Scope) -> bool:
    return any(is_secret(reference) for reference in scope.call["secret_references"])


@flag("an argument is beyond its range, or no JSON", source="call")
def unsound_argument(scope: Scope) -> bool:
    """Instants and numbers beyond signed 64 bits, NaN, text that UTF-8 cannot carry."""
    if not MIN_I64 <= scope.now <= MAX_I64:
        return True
    for value in scope.call.values():
        # Most are short texts of ASCII, which are asked at the least cost.
        if type(value) is str and value.isascii():
            continue
        if not is_sound_json(list(value) if isinstance(value, tuple | frozenset) else value):
            return True
    return False


@flag("a member of the request is beyond its range, or no JSON", source="call")
def unsound_request(scope: Scope) -> bool:
    request = scope.call["request"]
    policy = request.retry_policy
    if not is_sound_json(request.input):
        return True
    if policy is not None and (policy.backoff not in BACKOFFS or not _fits_policy(policy)):
        return True
    durations = () if request.timeouts is None else _durations(request.timeouts)
    return not holds_sound_leaves(request) or any(duration is not None and duration < 0 for duration in durations)


def _fits_policy(policy: RetryPolicy) -> bool:
    return 0 <= policy.max_attempts <= MAX_U32 and policy.initial_delay_ms >= 0 and policy.max_delay_ms >= 0


# Evidence and actors ---------------------------------------------------------------------------------------------

worker: Final = argument("worker_id", "text")
actor: Final = argument("actor", "text")
rearm_ordinal: Final = Term("re-arm ordinal", "re-arms", "facts", lambda scope: scope.facts.operator_retries)
reason: Final = Term("reason", "text", "call", lambda scope: recorded_reason(scope.call["reason"]))
failure_kind: Final = argument("kind", "text")
not_before: Final = Term("not_before", "s", "call", lambda scope: scope.call["request"].not_before)


def of_lost_claim(name: str) -> Term:
    """A member of the claim that was held when the decision began."""
    return Term(
        f"{name} of the lost claim",
        "text",
        "facts",
        lambda scope: None if scope.before.claim is None else getattr(scope.before.claim, name),
    )


attempt_id: Final = Term(
    "id of the last attempt",
    "text",
    "facts",
    lambda scope: None if scope.before.attempt is None else scope.before.attempt.attempt_id,
)
