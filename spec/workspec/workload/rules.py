"""Plain functions that rules use: secrets, ids, hashes, defaults, arithmetic of instants and delays.

A store writes its own; sharing these would share their faults.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from typing import Any, Final

from workspec.core.alike import members_read_by
from workspec.workload.facts import Terms
from workspec.workload.vocabulary import AdmissionRequest, Json, RetryPolicy, Timeouts

MAX_I64: Final = 2**63 - 1
MIN_I64: Final = -(2**63)
MAX_U32: Final = 2**32 - 1
REASON_LIMIT: Final = 256
DEADLINE_CONTRACT_VERSION: Final = 2

DEFAULT_POLICY: Final = RetryPolicy(
    max_attempts=3,
    backoff="exponential",
    initial_delay_ms=1000,
    max_delay_ms=60000,
    retry_on=frozenset({"worker_failure", "timeout", "transient_connection"}),
)
NO_TIMEOUTS: Final = Timeouts(None, None, None, None, None)
BACKOFFS: Final = frozenset({"fixed", "exponential"})
EFFECTS: Final = frozenset({None, "none", "unknown"})

# Made once: `json.dumps` makes an encoder for each call that asks for a form of its own.
_COMPACT: Final = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False)
_CANONICAL: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def saturated(instant: int) -> int:
    """An instant cut to signed 64 bits (G-28)."""
    return max(MIN_I64, min(MAX_I64, instant))


def deadline_instant(base_s: int | None, duration_ms: int | None) -> int | None:
    """Base plus the duration in seconds, rounded up; None when either is absent (WRK-ART-01)."""
    if base_s is None or duration_ms is None:
        return None
    return saturated(base_s - (-duration_ms // 1000))


def lease_end(now_s: int, lease_ms: int, rounding: str) -> int:
    """G-11: rounded up by the reference; a store may declare ``down``."""
    return saturated(now_s + (lease_ms // 1000 if rounding == "down" else -(-lease_ms // 1000)))


def failure_delay_ms(policy: RetryPolicy, retry_count: int, first_exponent: int) -> int:
    """The delay after a failure report, with ``retry_count`` already raised (WRK-ART-02).

    ``first_exponent`` is G-22: 0 when the first delay is the initial one, 1 when it is twice that.
    """
    exponent = retry_count - 1 + first_exponent if policy.backoff == "exponential" else 0
    # Beyond 64 doublings the product has saturated whatever the initial delay is.
    multiplied: int = policy.initial_delay_ms * 2 ** min(exponent, 64)
    return min(multiplied, 2**64 - 1, policy.max_delay_ms)


def delayed_instant(now_s: int, delay_ms: int) -> int:
    """Now plus a delay in whole seconds, rounded down."""
    return saturated(now_s + delay_ms // 1000)


def is_secret(text: str) -> bool:
    """WRK-GEN-08."""
    return "BEGIN PRIVATE KEY" in text or text.startswith(("sk-", "fdb_live_"))


def texts_of(value: Json) -> Iterator[str]:
    """Every text of a JSON value at any depth, member names included (G-03); without recursion."""
    if isinstance(value, str):
        yield value
        return
    pending: list[Json] = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, list):
            pending.extend(item)
        elif isinstance(item, dict):
            yield from item
            pending.extend(item.values())


def holds_secret(value: Json) -> bool:
    return any(is_secret(text) for text in texts_of(value))


def holds_whole_float(value: Json) -> bool:
    """A number with a fraction that is none, such as 1.0, at any depth: many JSON libraries read and write it as 1."""
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, list):
            pending.extend(item)
        elif isinstance(item, dict):
            pending.extend(item.values())
        elif isinstance(item, float) and item.is_integer():
            return True
    return False


def is_text(text: str) -> bool:
    """False for text that UTF-8 cannot carry (a lone surrogate)."""
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)


def is_sound_json(value: Json) -> bool:
    """False for NaN, infinities, integers beyond signed 64 bits and lone surrogates, at any depth."""
    if isinstance(value, str):
        return is_text(value)
    if isinstance(value, int):
        return MIN_I64 <= value <= MAX_I64
    pending: list[Json] = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, list):
            pending.extend(item)
        elif isinstance(item, dict):
            pending.extend(item.values())
        elif isinstance(item, float):
            if not math.isfinite(item):
                return False
        elif isinstance(item, int) and not MIN_I64 <= item <= MAX_I64:
            return False
    return all(is_text(text) for text in texts_of(value))


def canonical_json(value: Json) -> str:
    """Total on purpose: whether a later check competes is asked of unsound arguments too."""
    return _CANONICAL.encode(value)


def canonical_hash(value: Json) -> str:
    """SHA-256 over compact JSON with sorted members; ``1`` and ``1.0`` differ (G-08)."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def scope_of(request: AdmissionRequest) -> tuple[str, str, str, str, str]:
    """The idempotency scope: tenant, application, requester kind and id, key (WRK-ADM-07)."""
    subject = request.requested_by
    return (
        request.tenant_id,
        request.application_id,
        subject.kind,
        subject.id,
        request.idempotency_key,
    )


def scope_of_terms(terms: Terms) -> tuple[str, str, str, str, str]:
    subject = terms.requested_by
    return (terms.tenant_id, terms.application_id, subject.kind, subject.id, terms.idempotency_key)


def workload_id_of(request: AdmissionRequest) -> str:
    """``workload_`` and 24 hexadecimal digits over the scope text (WRK-ADM-08).

    Total on purpose: the record is located before the checks refuse text that UTF-8 cannot carry.
    """
    text = _COMPACT.encode(scope_of(request))
    return f"workload_{hashlib.sha256(text.encode(errors='surrogatepass')).hexdigest()[:24]}"


def terms_of(request: AdmissionRequest, input_hash: str) -> Terms:
    """The request with its defaults filled in (section 6 of the contract)."""
    return Terms(
        tenant_id=request.tenant_id,
        application_id=request.application_id,
        requested_by=request.requested_by,
        idempotency_key=request.idempotency_key,
        definition_id=request.definition_id,
        definition_revision=request.definition_revision,
        environment=request.environment,
        input=request.input,
        input_hash=input_hash,
        capability_snapshot=frozenset(request.capability_snapshot),
        connection_scopes=frozenset(request.connection_scopes or ()),
        priority=request.priority or 0,
        retry_policy=request.retry_policy or DEFAULT_POLICY,
        timeouts=request.timeouts or NO_TIMEOUTS,
        dependencies=request.dependencies or (),
        not_before=request.not_before,
    )


def conflicting_fields(request: AdmissionRequest, terms: Terms) -> tuple[str, ...]:
    """The execution fields in which a repeated admission differs, in the fixed order of WRK-REP-02.

    Compared as WRK-REP-03 says: sets as sets, dependencies as a multiset, input by its canonical text.
    """
    asked = terms_of(request, "")
    differs = {
        "definition_id": asked.definition_id != terms.definition_id,
        "definition_revision": asked.definition_revision != terms.definition_revision,
        "environment": asked.environment != terms.environment,
        "input": canonical_json(asked.input) != canonical_json(terms.input),
        "capability_snapshot": asked.capability_snapshot != terms.capability_snapshot,
        "connection_scopes": asked.connection_scopes != terms.connection_scopes,
        "priority": asked.priority != terms.priority,
        "retry_policy": asked.retry_policy != terms.retry_policy,
        "timeouts": asked.timeouts != terms.timeouts,
        "dependencies": _multiset(asked) != _multiset(terms),
        "not_before": asked.not_before != terms.not_before,
    }
    return tuple(name for name, different in differs.items() if different)


def _multiset(terms: Terms) -> list[tuple[str, str]]:
    return sorted((dependency.workload_id, dependency.required_state) for dependency in terms.dependencies)


def recorded_reason(reason: str | None) -> str | None:
    """What an operator's reason leaves in the evidence: nothing if blank, else the first 256 characters
    (WRK-RTY-04)."""
    return None if reason is None or not reason.strip() else reason[:REASON_LIMIT]


def holds_sound_leaves(carrier: Any) -> bool:
    """False for integers beyond signed 64 bits and lone surrogates in a carrier, at any depth of its members."""
    pending: list[Any] = [carrier]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            if not is_text(item):
                return False
        elif isinstance(item, int):
            if not MIN_I64 <= item <= MAX_I64:
                return False
        elif isinstance(item, dict):
            pending.extend(item)
            pending.extend(item.values())
        elif isinstance(item, list | tuple | frozenset):
            pending.extend(item)
        elif item is not None:
            pending.extend(members_read_by(type(item))(item))  # type: ignore[arg-type]
    return True
