"""What an ordinary call holds: the request from which cases and machines start, and beside which others are shown."""

from __future__ import annotations

from typing import Any, Final

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
