"""Arguments as they arrive: wrong Python types, and values that no operation can take (P-02).

Types are checked before anything else and raise TypeError. Values are checked after the look for secret
material and raise `WorkloadError` INVALID. Neither reads the store.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from typing import Any, Final

from workspec.workload.vocabulary import (
    AdmissionRequest,
    Dependency,
    ErrorCode,
    Grant,
    RetryPolicy,
    Subject,
    Timeouts,
)

from .arithmetic import GREATEST_COUNT
from .decision import invalid, refusal
from .json_values import Examination, examine, is_storable_integer, is_unicode

_BACKOFFS: Final = ("fixed", "exponential")
_EFFECTS: Final = (None, "none", "unknown")
_TIMEOUT_NAMES: Final = ("queue_ms", "claim_ms", "execution_ms", "heartbeat_ms", "overall_ms")


def _wrong_type(name: str, wanted: str, value: object) -> TypeError:
    return TypeError(f"{name} must be {wanted}, not {type(value).__name__}")


def require_texts(**values: object) -> None:
    for name, value in values.items():
        if not isinstance(value, str):
            raise _wrong_type(name, "str", value)


def require_optional_texts(**values: object) -> None:
    for name, value in values.items():
        if value is not None and not isinstance(value, str):
            raise _wrong_type(name, "str or None", value)


def _is_integer(value: object) -> bool:
    """A bool is no integer here, though it is one to Python."""
    return isinstance(value, int) and not isinstance(value, bool)


def require_integers(**values: object) -> None:
    for name, value in values.items():
        if not _is_integer(value):
            raise _wrong_type(name, "int", value)


def require_optional_integers(**values: object) -> None:
    for name, value in values.items():
        if value is not None and not _is_integer(value):
            raise _wrong_type(name, "int or None", value)


def require_within(name: str, value: int, least: int, greatest: int, greatest_is: str) -> None:
    """For an option of opening, which comes from the program and not from a caller of the store.

    Raises:
        ValueError: the text names the one bound that is broken, and the value.
    """
    # Python refuses to write a number of some thousand digits.
    shown = str(value) if value.bit_length() <= 128 else f"an integer of {value.bit_length()} bits"
    if value < least:
        raise ValueError(f"{name} must be at least {least}, not {shown}")
    if value > greatest:
        raise ValueError(f"{name} must be at most {greatest}, {greatest_is}, not {shown}")


def require_bool(**values: object) -> None:
    for name, value in values.items():
        if not isinstance(value, bool):
            raise _wrong_type(name, "bool", value)


def require_several_texts(name: str, values: object) -> None:
    """A sequence of str. One str alone is a likely mistake, not a sequence of characters; a set has no order."""
    if isinstance(values, str):
        raise TypeError(f"{name} must be a sequence of str, not one str: put it into a list")
    if isinstance(values, (bytes, bytearray)) or not isinstance(values, Sequence):
        raise _wrong_type(name, "a sequence of str", values)
    _require_members(name, values)


def _require_members(name: str, values: Iterable[object]) -> None:
    for value in values:
        if not isinstance(value, str):
            raise _wrong_type(f"a member of {name}", "str", value)


def require_instance(name: str, value: object, kind: type) -> None:
    if not isinstance(value, kind):
        raise _wrong_type(name, kind.__name__, value)


def _fault(value: object) -> str | None:
    if isinstance(value, str):
        return None if is_unicode(value) else "holds a lone surrogate, which UTF-8 cannot write"
    if isinstance(value, int):
        return None if is_storable_integer(value) else "is beyond signed 64 bits"
    if isinstance(value, (Sequence, Set)):
        return next((fault for member in value if (fault := _fault(member))), None)
    return None


def refuse_unstorable(**values: Any) -> None:
    """Refuse text that is not Unicode and integers beyond signed 64 bits, alone or in a sequence.

    Raises:
        WorkloadError: INVALID.
    """
    for name, value in values.items():
        fault = _fault(value)
        if fault is not None:
            raise invalid(f"{name} {fault}. Correct it and call again.")


def refuse_below(least: int, **values: int | None) -> None:
    """Refuse numbers below ``least``; None is absent. The text leaves the number out: it may have more digits than
    Python writes.

    Raises:
        WorkloadError: INVALID.
    """
    for name, value in values.items():
        if value is not None and value < least:
            raise invalid(f"{name} is below {least}, the least value.")


def refuse_secret(found: bool, place: str) -> None:
    """Raises:
    WorkloadError: SECRET_MATERIAL (WRK-GEN-09).
    """
    if found:
        raise refusal(
            ErrorCode.SECRET_MATERIAL,
            f"{place} holds secret material. Keep the secret elsewhere and pass its name.",
        )


def refuse_faulty_document(examination: Examination, place: str) -> None:
    """Raises:
    WorkloadError: INVALID.
    """
    if examination.fault is not None:
        raise invalid(f"{place} {examination.fault}. Correct it and call again.")


def require_fence(workload_id: object, claim_id: object, worker_id: object, token: object, now_s: object) -> None:
    require_texts(workload_id=workload_id, claim_id=claim_id, worker_id=worker_id)
    require_integers(fencing_token=token, now_s=now_s)


def refuse_unknown_effect(effect: str | None) -> None:
    """Raises:
    WorkloadError: INVALID (WRK-FAL-03).
    """
    if effect not in _EFFECTS:
        raise invalid(f"effect is {effect!r}; it must be absent, 'none' or 'unknown'.")


def _require_subject(name: str, subject: object) -> None:
    require_instance(name, subject, Subject)
    assert isinstance(subject, Subject)
    require_texts(**{f"{name}.kind": subject.kind, f"{name}.id": subject.id})


def _require_policy(policy: RetryPolicy) -> None:
    require_instance("retry_policy", policy, RetryPolicy)
    require_texts(backoff=policy.backoff)
    require_integers(
        max_attempts=policy.max_attempts,
        initial_delay_ms=policy.initial_delay_ms,
        max_delay_ms=policy.max_delay_ms,
    )
    if not isinstance(policy.retry_on, Set):
        raise _wrong_type("retry_on", "a set of str", policy.retry_on)
    _require_members("retry_on", policy.retry_on)


def _require_dependencies(dependencies: object) -> None:
    if isinstance(dependencies, (str, bytes)) or not isinstance(dependencies, Sequence):
        raise _wrong_type("dependencies", "a sequence of Dependency", dependencies)
    for wanted in dependencies:
        require_instance("a member of dependencies", wanted, Dependency)
        named = ("workload_id", "required_state")
        require_texts(**{f"{name} of a member of dependencies": getattr(wanted, name) for name in named})


def _require_parts(request: AdmissionRequest) -> None:
    _require_subject("requested_by", request.requested_by)
    grant = request.authorization_snapshot
    require_instance("authorization_snapshot", grant, Grant)
    _require_subject("authorization_snapshot.subject", grant.subject)
    # The request has members of the same names, which may be right.
    own = ("tenant_id", "application_id", "signature")
    require_texts(**{f"authorization_snapshot.{name}": getattr(grant, name) for name in own})
    if request.retry_policy is not None:
        _require_policy(request.retry_policy)
    if request.timeouts is not None:
        require_instance("timeouts", request.timeouts, Timeouts)
        require_optional_integers(**{name: getattr(request.timeouts, name) for name in _TIMEOUT_NAMES})
    if request.dependencies is not None:
        _require_dependencies(request.dependencies)


def require_request(request: AdmissionRequest) -> Examination:
    """Check every type in the request; what its input holds.

    Raises:
        TypeError: a member has the wrong type.
    """
    require_instance("request", request, AdmissionRequest)
    require_texts(
        tenant_id=request.tenant_id,
        application_id=request.application_id,
        idempotency_key=request.idempotency_key,
        definition_id=request.definition_id,
        definition_revision=request.definition_revision,
        environment=request.environment,
    )
    require_optional_texts(trigger=request.trigger, session_id=request.session_id)
    require_integers(created_at=request.created_at)
    require_optional_integers(priority=request.priority, not_before=request.not_before)
    require_several_texts("capability_snapshot", request.capability_snapshot)
    if request.connection_scopes is not None:
        require_several_texts("connection_scopes", request.connection_scopes)
    _require_parts(request)
    return examine(request.input, "input")


def _refuse_faulty_policy(policy: RetryPolicy) -> None:
    if policy.backoff not in _BACKOFFS:
        raise invalid(f"backoff is {policy.backoff!r}; it must be 'fixed' or 'exponential'.")
    refuse_below(
        0,
        max_attempts=policy.max_attempts,
        initial_delay_ms=policy.initial_delay_ms,
        max_delay_ms=policy.max_delay_ms,
    )
    if policy.max_attempts > GREATEST_COUNT:
        raise invalid(f"max_attempts is beyond {GREATEST_COUNT}, the greatest count.")
    refuse_unstorable(
        initial_delay_ms=policy.initial_delay_ms,
        max_delay_ms=policy.max_delay_ms,
        retry_on=policy.retry_on,
    )


def _refuse_unstorable_members(request: AdmissionRequest) -> None:
    grant, requester = request.authorization_snapshot, request.requested_by
    refuse_unstorable(
        tenant_id=request.tenant_id,
        application_id=request.application_id,
        requested_by=(requester.kind, requester.id),
        idempotency_key=request.idempotency_key,
        definition_id=request.definition_id,
        definition_revision=request.definition_revision,
        environment=request.environment,
        capability_snapshot=request.capability_snapshot,
        connection_scopes=request.connection_scopes,
        priority=request.priority,
        dependencies=[
            part for wanted in request.dependencies or () for part in (wanted.workload_id, wanted.required_state)
        ],
        not_before=request.not_before,
        trigger=request.trigger,
        session_id=request.session_id,
        created_at=request.created_at,
        authorization_snapshot=(
            grant.subject.kind,
            grant.subject.id,
            grant.tenant_id,
            grant.application_id,
            grant.signature,
        ),
    )


def refuse_faulty_request(request: AdmissionRequest, examination: Examination) -> None:
    """Refuse in the order of WRK-ADM-02: secret material, blank key, zero timeout, the rest.

    Raises:
        WorkloadError: SECRET_MATERIAL, INVALID.
    """
    refuse_secret(examination.has_secret, "input")
    if not request.idempotency_key.strip():
        raise invalid("idempotency_key is blank. Give each piece of work a key that a repeat can name.")
    if request.timeouts is not None:
        timeouts = {name: getattr(request.timeouts, name) for name in _TIMEOUT_NAMES}
        refuse_below(1, **timeouts)
        refuse_unstorable(**timeouts)
    if request.retry_policy is not None:
        _refuse_faulty_policy(request.retry_policy)
    _refuse_unstorable_members(request)
    refuse_faulty_document(examination, "input")
