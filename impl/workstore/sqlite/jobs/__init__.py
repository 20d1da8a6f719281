"""The jobs contract on one SQLite file: durable, for the threads and processes of one machine.

A worker takes a job and is never heard of again; its lease is taken back, and another goes on at the checkpoint:

>>> from workspec.jobs.vocabulary import Checkpoint, Envelope, LeaseRef, Outcome
>>> from workstore.sqlite.jobs import JobStore
>>> invoice = Envelope(
...     id="invoice-17", kind="send-invoice", schema_version=0, payload=b"17", queue="mail", partition_key="acme",
...     rate_class="", weight=0, fingerprint="invoice-17", priority=0, attempt=0, crash_attempt=0, max_attempts=0,
...     scheduled_at_ms=0, timeout_ms=0, deadline_ms=0, unique_key=None, unique_states=0, unique_window_ms=0,
...     unique_replace=0, unique_debounce_ms=0, unique_exclude_kind=False, retention_ms=0, periodic_schedule_id="",
...     periodic_tick_ms=0, headers={}, tags=(), pending=False, sticky_worker="")
>>> def admit(store, worker, lease_id):
...     (unit,) = store.admit(
...         worker=worker, lease_id=lease_id, queues=["mail"], capacity=1, lease_ms=30_000, quantum=1)
...     (claim,) = unit.claims
...     return claim, LeaseRef(claim.envelope.id, claim.lease_id, claim.fence)
>>> with JobStore.open("jobs.db") as store:
...     store.freeze_clock(at_ms=0)
...     store.enqueue(envelopes=[invoice])
...     lost, lost_lease = admit(store, "w1", "lease-1")
...     rendered = Checkpoint("render", ("render",), "send", None, None, 1, "", ())
...     store.checkpoint(lease=lost_lease, checkpoint=rendered)
>>> store = JobStore.open("jobs.db")
>>> store.advance_clock(delta_ms=30_000)
>>> [reclaimed.crash_attempt for reclaimed in store.reclaim_expired(limit=100)]
[1]
>>> store.advance_clock(delta_ms=1_000)
>>> store.promote_due(limit=100)
1
>>> claim, lease = admit(store, "w2", "lease-2")
>>> claim.fence, claim.checkpoint.completed_steps, claim.checkpoint.crashes_by_step
(2, ('render',), (('send', 1),))
>>> outcome = {"error": None, "delay_ms": None, "logs": [], "actual_weight": None}
>>> store.ack(lease=lost_lease, outcome=Outcome.SUCCESS, **outcome)
Traceback (most recent call last):
workspec.jobs.vocabulary.JobError: ...
>>> store.ack(lease=lease, outcome=Outcome.SUCCESS, **outcome)
>>> store.close()

To read it, begin with `store`, `operator_calls` and `worker` (the verbs and the checks of their arguments), then the
modules that do the work inside one transaction: `enqueue` and `uniqueness`; `admission`, `draw` and `buckets`;
`outcomes`, `checkpoints` and `channels`; `sweeps` and `quarantine`; `operators` and `inspection`. `rows` and `queues`
hold the statements that all of them share, `schema` the tables.
"""

from .store import JobStore

__all__ = ["JobStore"]
