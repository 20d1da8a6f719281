"""Each call of a job store with arguments that are sound: a test of malformed ones changes one of them."""

from __future__ import annotations

from typing import Any

from workspec.jobs.vocabulary import JobResult, LeaseRef, Outcome, ProgressUpdate

from .jobs_driver import EVERYTHING, NOTHING_DONE, envelope

LEASE = LeaseRef("x", "l", 1)
ARGUMENTS: dict[str, dict[str, Any]] = {
    "enqueue": {"envelopes": [envelope()]},
    "enqueue_without_uniqueness": {"envelopes": [envelope()]},
    "admit": {"worker": "w", "lease_id": "l", "queues": ["q"], "capacity": 1, "lease_ms": 1, "quantum": 1},
    "ack": {
        "lease": LEASE,
        "outcome": Outcome.SUCCESS,
        "error": None,
        "delay_ms": None,
        "logs": [],
        "actual_weight": None,
    },
    "renew": {"leases": [LEASE], "lease_ms": 1},
    "checkpoint": {"lease": LEASE, "checkpoint": NOTHING_DONE},
    "promote_due": {"limit": 1},
    "reclaim_expired": {"limit": 1},
    "evict_retained": {"limit": 1},
    "claim_duty": {"name": "d", "holder": "h", "lease_ms": 1},
    "release_duty": {"name": "d", "holder": "h"},
    "pause_queue": {"queue": "q"},
    "unpause_queue": {"queue": "q"},
    "set_rate_limit": {"name": "c", "limit": 1, "window_ms": 1, "burst": 1},
    "ack_success_with_result": {"lease": LEASE, "result": JobResult(1, b""), "logs": [], "actual_weight": None},
    "get_job_result": {"job_id": "x"},
    "write_job_output": {"lease": LEASE, "output": JobResult(1, b"")},
    "get_job_output": {"job_id": "x"},
    "write_job_progress": {"lease": LEASE, "progress": ProgressUpdate(1, 1, None)},
    "get_job_progress": {"job_id": "x"},
    "freeze_clock": {"at_ms": 1},
    "advance_clock": {"delta_ms": 1},
    "unfreeze_clock": {},
    "frozen_at_ms": {},
    "set_enqueue_limit": {"queue": "q", "limit": 1},
    "get_job": {"job_id": "x", "include_payload": True},
    "list_jobs": {"where": EVERYTHING, "cursor": None, "limit": 1},
    "counts": {"queue": None},
    "queue_stats": {},
    "explain_admission": {"job_id": "x"},
    "distinct_kinds": {"limit": 1},
    "get_checkpoint": {"job_id": "x"},
    "operator_cancel": {"job_id": "x"},
    "operator_retry": {"job_id": "x"},
    "promote_job": {"job_id": "x"},
    "schedule_pending_job": {"job_id": "x", "at_ms": 1},
    "reschedule_job": {"job_id": "x", "at_ms": 1},
    "edit_payload": {"job_id": "x", "payload": b"", "schema_version": 1, "fingerprint": ""},
    "delete_job": {"job_id": "x"},
    "sweep_quarantined": {"limit": 1},
    "release_fingerprint": {"fingerprint": "F"},
    "list_quarantined": {},
    "upsert_rate_class": {"name": "c", "limit": 1, "window_ms": 1, "burst": 1, "paused": False},
    "get_rate_class": {"name": "c"},
    "reset": {},
    "snapshot": {},
    "envelopes": {},
    "job_state": {"job_id": "x"},
    "errors": {"job_id": "x"},
    "begin": {},
}
