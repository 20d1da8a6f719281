"""What an ordinary call holds: the request from which cases and machines start, and beside which others are shown."""

from __future__ import annotations

from typing import Any, Final

HAPPENS_AT: Final = "created_at"
"""The member of a request that is the instant of its call."""
WORKLOAD_REQUEST: Final[dict[str, Any]] = {
    "tenant_id": "t",
    "application_id": "app",
    "requested_by": {"kind": "agent", "id": "a1"},
    "idempotency_key": "one",
    "definition_id": "send-mail",
    "definition_revision": "r1",
    "environment": "production",
    "input": {"id": 1},
    "capability_snapshot": ["email:send"],
    "retry_policy": {
        "max_attempts": 3,
        "backoff": "fixed",
        "initial_delay_ms": 1000,
        "max_delay_ms": 60000,
        "retry_on": ["worker_failure", "timeout", "transient_connection"],
    },
    "created_at": 10,
    "authorization_snapshot": {
        "subject": {"kind": "agent", "id": "a1"},
        "tenant_id": "t",
        "application_id": "app",
        "signature": "signed",
    },
}
"""The base request of the scenarios; members that it lacks are absent."""

ENVELOPE: Final[dict[str, Any]] = {
    "id": "j1",
    "kind": "mail",
    "schema_version": 0,
    "payload": b"",
    "queue": "q",
    "partition_key": "",
    "rate_class": "",
    "weight": 0,
    "fingerprint": "",
    "priority": 0,
    "attempt": 0,
    "crash_attempt": 0,
    "max_attempts": 0,
    "scheduled_at_ms": 0,
    "timeout_ms": 0,
    "deadline_ms": 0,
    "unique_key": None,
    "unique_states": 0,
    "unique_window_ms": 0,
    "unique_replace": 0,
    "unique_debounce_ms": 0,
    "unique_exclude_kind": False,
    "retention_ms": 86_400_000,
    "periodic_schedule_id": "",
    "periodic_tick_ms": 0,
    "headers": {},
    "tags": [],
    "pending": False,
    "sticky_worker": "",
}
"""The base envelope of the scenarios of the jobs contract."""

OMITTED: Final[dict[str, dict[str, Any]]] = {
    "Envelope": {
        **{name: value for name, value in ENVELOPE.items() if not value},
        "retention_ms": 0,
        "queue": "",
    },
    "JobFilter": {"tags_all": [], "tags_any": []},
    "Checkpoint": {"completed_steps": [], "schema_version": 0, "step_set_hash": "", "crashes_by_step": []},
}
"""By the name of a carrier, the values of the members that a case may leave out: they mean *omitted* there."""
