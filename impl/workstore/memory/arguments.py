"""What may be asked for at all, before anything is read.

`Arguments` collects the arguments of one call. A wrong Python type is a TypeError at once; secrets and
faults of value are only noted, and `settle` raises them in the order of the contract: SECRET_MATERIAL, then
INVALID (P-02).
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from workspec.workload.vocabulary import (
    AdmissionRequest,
    Dependency,
    ErrorCode,
    Grant,
    RetryPolicy,
    Subject,
    Timeouts,
)
from workstore.memory.fence import Fence
from workstore.memory.json_values import inspect, is_secret, text_fault
from workstore.memory.numbers import COUNT_MAX, INSTANT_MAX, INSTANT_MIN
from workstore.memory.refusals import refusal

BACKOFFS = ("fixed", "exponential")
EFFECTS = ("none", "unknown")


def wrong_type(name: str, expected: str, value: object) -> TypeError:
    """The TypeError for an argument. `bool` is no integer here, though it is one for Python."""
    return TypeError(f"{name} must be {expected}, not {type(value).__name__}")


class Arguments:
    """The arguments of one call, as far as they have been looked at."""

    def __init__(self) -> None:
        self._secret: str | None = None
        self._fault: str | None = None

    def settle(self) -> None:
        """Refuse the call for what was noted.

        Raises:
            WorkloadError: SECRET_MATERIAL (WRK-GEN-09), else INVALID (P-02).
        """
        if self._secret is not None:
            raise refusal(ErrorCode.SECRET_MATERIAL, f"{self._secret} holds a credential; store its name instead")
        if self._fault is not None:
            raise refusal(ErrorCode.INVALID, self._fault)

    def text(self, **values: object) -> Arguments:
        for name, value in values.items():
            if not isinstance(value, str):
                raise wrong_type(name, "a str", value)
            # Nearly all are: asked here, that costs no call.
            if not value.isascii():
                self._note(name, text_fault(value))
        return self

    def optional_text(self, **values: object) -> Arguments:
        return self.text(**{name: value for name, value in values.items() if value is not None})

    def not_blank(self, **values: str) -> Arguments:
        for name, value in values.items():
            self.text(**{name: value})
            if not value.strip():
                self._note(name, "it is blank")
        return self

    def safe_text(self, **values: str) -> Arguments:
        """Text that must not be a credential."""
        self.text(**values)
        for name, value in values.items():
            if is_secret(value):
                self._secret = name
        return self

    def texts(self, **values: object) -> Arguments:
        """Any sequence of texts, but not a text itself: that would be taken letter by letter."""
        for name, value in values.items():
            if isinstance(value, str | bytes | bytearray) or not isinstance(value, (list, tuple, Sequence)):
                raise wrong_type(name, "a sequence of str", value)
            for item in value:
                self.text(**{f"each of {name}": item})
        return self

    def integer(self, *, least: int = INSTANT_MIN, most: int = INSTANT_MAX, **values: object) -> Arguments:
        for name, value in values.items():
            self._integer(name, value, least, most)
        return self

    def optional_integer(self, *, least: int = INSTANT_MIN, **values: object) -> Arguments:
        for name, value in values.items():
            if value is not None:
                self._integer(name, value, least, INSTANT_MAX)
        return self

    def _integer(self, name: str, value: object, least: int, most: int) -> None:
        if not isinstance(value, int) or isinstance(value, bool):
            raise wrong_type(name, "an int", value)
        if not least <= value <= most:
            self._note(name, f"it must be from {least} to {most}")

    def flag(self, **values: object) -> Arguments:
        for name, value in values.items():
            if not isinstance(value, bool):
                raise wrong_type(name, "a bool", value)
        return self

    def safe_json(self, **values: object) -> Arguments:
        """JSON without credentials (WRK-GEN-09). Tuples are no JSON arrays: a reader would get lists back."""
        for name, value in values.items():
            findings = inspect(value)
            if findings.wrong_type is not None:
                raise TypeError(f"{name} must be JSON; it holds {findings.wrong_type}")
            if findings.secret:
                self._secret = name
            self._note(name, findings.fault)
        return self

    def one_of(self, allowed: tuple[str, ...], **values: str) -> Arguments:
        for name, value in values.items():
            self.text(**{name: value})
            if value not in allowed:
                self._note(name, f"it must be one of {', '.join(allowed)}")
        return self

    def _note(self, name: str, fault: str | None) -> None:
        if fault is not None and self._fault is None:
            self._fault = f"{name}: {fault}"


def fenced_arguments(
    workload_id: str, claim_id: str, worker_id: str, fencing_token: int, now_s: int
) -> tuple[Arguments, Fence]:
    """The arguments that every call of a worker has, looked at but not settled, and its fence.

    Raises:
        TypeError: one of a wrong Python type.
    """
    arguments = Arguments().text(workload_id=workload_id, claim_id=claim_id, worker_id=worker_id)
    arguments.integer(fencing_token=fencing_token, now_s=now_s)
    return arguments, Fence(claim_id, worker_id, fencing_token)


def admission_arguments(request: object) -> None:
    """Look at an admission request: WRK-ADM-03 (secrets), WRK-ADM-04 (blank key), WRK-ADM-05 (zero timeout).

    Raises:
        TypeError: a member of a wrong Python type.
        WorkloadError: SECRET_MATERIAL, INVALID.
    """
    if not isinstance(request, AdmissionRequest):
        raise wrong_type("request", "an AdmissionRequest", request)
    seen = Arguments()
    seen.text(
        tenant_id=request.tenant_id,
        application_id=request.application_id,
        definition_id=request.definition_id,
        definition_revision=request.definition_revision,
        environment=request.environment,
    )
    seen.not_blank(idempotency_key=request.idempotency_key)
    seen.optional_text(trigger=request.trigger, session_id=request.session_id)
    seen.safe_json(input=request.input)
    seen.texts(capability_snapshot=request.capability_snapshot)
    if request.connection_scopes is not None:
        seen.texts(connection_scopes=request.connection_scopes)
    if request.priority is not None:
        seen.integer(priority=request.priority)
    seen.integer(created_at=request.created_at).optional_integer(not_before=request.not_before)
    _subject(seen, "requested_by", request.requested_by)
    _grant(seen, request.authorization_snapshot)
    if request.retry_policy is not None:
        _retry_policy(seen, request.retry_policy)
    if request.timeouts is not None:
        _timeouts(seen, request.timeouts)
    if request.dependencies is not None:
        _dependencies(seen, request.dependencies)
    seen.settle()


def _subject(seen: Arguments, name: str, subject: object) -> None:
    if not isinstance(subject, Subject):
        raise wrong_type(name, "a Subject", subject)
    seen.text(**{f"{name}.kind": subject.kind, f"{name}.id": subject.id})


def _grant(seen: Arguments, grant: object) -> None:
    if not isinstance(grant, Grant):
        raise wrong_type("authorization_snapshot", "a Grant", grant)
    _subject(seen, "authorization_snapshot.subject", grant.subject)
    seen.text(
        grant_tenant_id=grant.tenant_id,
        grant_application_id=grant.application_id,
        grant_signature=grant.signature,
    )


def _retry_policy(seen: Arguments, policy: object) -> None:
    if not isinstance(policy, RetryPolicy):
        raise wrong_type("retry_policy", "a RetryPolicy", policy)
    seen.integer(max_attempts=policy.max_attempts, least=0, most=COUNT_MAX)
    seen.one_of(BACKOFFS, backoff=policy.backoff)
    seen.integer(initial_delay_ms=policy.initial_delay_ms, max_delay_ms=policy.max_delay_ms, least=0)
    if not isinstance(policy.retry_on, AbstractSet):
        raise wrong_type("retry_on", "a set of str", policy.retry_on)
    seen.texts(retry_on=tuple(policy.retry_on))


def _timeouts(seen: Arguments, timeouts: object) -> None:
    if not isinstance(timeouts, Timeouts):
        raise wrong_type("timeouts", "a Timeouts", timeouts)
    seen.optional_integer(
        queue_ms=timeouts.queue_ms,
        claim_ms=timeouts.claim_ms,
        execution_ms=timeouts.execution_ms,
        heartbeat_ms=timeouts.heartbeat_ms,
        overall_ms=timeouts.overall_ms,
        least=1,
    )


def _dependencies(seen: Arguments, dependencies: object) -> None:
    if isinstance(dependencies, str | bytes) or not isinstance(dependencies, (list, tuple, Sequence)):
        raise wrong_type("dependencies", "a sequence of Dependency", dependencies)
    for dependency in dependencies:
        if not isinstance(dependency, Dependency):
            raise wrong_type("each of dependencies", "a Dependency", dependency)
        seen.text(dependency_workload_id=dependency.workload_id, dependency_required_state=dependency.required_state)
