"""The jobs contract in memory: a test double for people who write job handlers, and an example to read.

A job is enqueued once, whoever repeats the request, and one worker at a time runs it:

>>> from workspec.jobs.vocabulary import Envelope, LeaseRef, Outcome
>>> from workstore.memory.jobs import JobStore
>>> mail = Envelope(
...     id="mail-1", kind="mail", schema_version=0, payload=b"hello", queue="", partition_key="", rate_class="",
...     weight=0, fingerprint="", priority=0, attempt=0, crash_attempt=0, max_attempts=0, scheduled_at_ms=0,
...     timeout_ms=0, deadline_ms=0, unique_key=None, unique_states=0, unique_window_ms=0, unique_replace=0,
...     unique_debounce_ms=0, unique_exclude_kind=False, retention_ms=60_000, periodic_schedule_id="",
...     periodic_tick_ms=0, headers={}, tags=(), pending=False, sticky_worker="")
>>> store = JobStore()
>>> store.freeze_clock(at_ms=1_000_000)
>>> store.enqueue(envelopes=[mail])
>>> store.enqueue(envelopes=[mail])
>>> [unit] = store.admit(
...     worker="w1", lease_id="l1", queues=["default"], capacity=10, lease_ms=30_000, quantum=1)
>>> [claim] = unit.claims
>>> claim.expires_at_ms
1030000
>>> store.ack(
...     lease=LeaseRef(claim.envelope.id, claim.lease_id, claim.fence), outcome=Outcome.SUCCESS,
...     error=None, delay_ms=None, logs=[], actual_weight=None)
>>> envelope, state = store.job_state("mail-1")
>>> state.value
'completed'
>>> store.advance_clock(delta_ms=60_000)
>>> store.evict_retained(limit=10)
1

A test steps the clock, so it needs no waiting: after ``advance_clock(delta_ms=30_000)`` a worker has lost its lease,
and ``reclaim_expired(limit=10)`` takes the job back. `JobStore.handle` gives a second process.

To read it, begin with `workers`, `operator_verbs` and `transactions` (the verbs), then the modules of decisions that
they call: `validation`, `storable`, `enqueue`, `uniqueness`, `admission`, `buckets`, `outcomes`, `channels`, `sweeps`,
`operators`, `inspection`. `rows` and `tables` hold what is committed, `index` the orders over it, `handle` runs a call.
"""

from workstore.memory.jobs.store import JobStore

__all__ = ["JobStore"]
