"""What an older version may have left: records of contract version 1, for injection, and legacy files."""

from __future__ import annotations

from typing import Any, Final

from workcert.machines.requests import BASE, no_timeouts
from workcert.references import JsonBytes

_ADMITTED: Final = {
    "sequence": 1,
    "from_state": "CREATED",
    "to_state": "READY",
    "actor": "a1",
    "at": 1,
    "evidence": {},
}


def _row(name: str, **changes: Any) -> dict[str, Any]:
    """A version-1 record in READY with every timeout long passed: none of them may be enforced (WRK-LEG-01)."""
    return {
        "contract_version": 1,
        "workload_id": f"workload_legacy_{name}",
        "tenant_id": "t",
        "application_id": "app",
        "requested_by": BASE["requested_by"],
        "idempotency_key": f"legacy {name}",
        "definition_id": "d",
        "definition_revision": "r1",
        "environment": "production",
        "input": {"id": 1},
        "input_hash": "h",
        "capability_snapshot": ["email:send"],
        "connection_scopes": [],
        "priority": 0,
        "retry_policy": BASE["retry_policy"],
        "timeouts": no_timeouts() | {"queue_ms": 1000, "overall_ms": 2000, "claim_ms": 1000, "execution_ms": 1000},
        "dependencies": [],
        "created_at": 1,
        "state": "READY",
        "attempt_count": 0,
        "retry_count": 0,
        "attempts": [],
        "current_claim": None,
        "next_attempt_at": None,
        "last_failure": None,
        "checkpoints": [],
        "result": None,
        "execution_history": [_ADMITTED],
        **changes,
    }


def _lost() -> dict[str, Any]:
    """An attempt that was lost: one of the budget's three."""
    return {
        "attempt_id": "legacy-attempt-1",
        "claim_id": "legacy-claim-1",
        "worker_id": "a",
        "fencing_token": 4,
        "status": "WORKER_LOST",
        "started_at": None,
        "ended_at": 5,
        "error": "worker_lost: lease expired",
    }


def _moved(sequence: int, source: str, target: str, at: int) -> dict[str, Any]:
    return {
        "sequence": sequence,
        "from_state": source,
        "to_state": target,
        "actor": "a",
        "at": at,
        "evidence": {},
    }


_CLAIMED: Final = {
    "attempt_id": "legacy-attempt-2",
    "claim_id": "legacy-claim-2",
    "worker_id": "a",
    "fencing_token": 7,
    "status": "CLAIMED",
    "started_at": None,
    "ended_at": None,
    "error": None,
}

ROWS: Final[dict[str, dict[str, Any]]] = {
    "ready": _row("ready"),
    "exhausted": _row("exhausted", attempt_count=3, attempts=[_lost()]),
    "claimed": _row(
        "claimed",
        state="CLAIMED",
        attempt_count=1,
        attempts=[_CLAIMED],
        current_claim={
            "claim_id": "legacy-claim-2",
            "worker_id": "a",
            "fencing_token": 7,
            "claimed_at": 2,
            "expires_at": 12,
            "last_heartbeat": 2,
        },
        execution_history=[_ADMITTED, _moved(2, "READY", "CLAIMED", 2)],
    ),
}


def _file(*names: str, events: int | None = None) -> JsonBytes:
    """A legacy file of some of these rows; its derived parts are right unless ``events`` says otherwise."""
    rows = [ROWS[name] for name in names]
    histories = sum(len(row["execution_history"]) for row in rows)
    return JsonBytes(
        {
            "workloads": {row["workload_id"]: row for row in rows},
            "idempotency": {f"t:app:{row['idempotency_key']}": row["workload_id"] for row in rows},
            "result_ids": {},
            "event_sequence": histories if events is None else events,
        }
    )


FILES: Final[dict[str, JsonBytes | bytes]] = {
    "one": _file("ready"),
    "two": _file("claimed", "ready"),
    "a wrong event sequence": _file("ready", events=7),
    "cut short": b'{"workloads": {',
}
OF_FILE: Final = {"one": ("ready",), "two": ("claimed", "ready")}
"""The rows that a file brings."""
