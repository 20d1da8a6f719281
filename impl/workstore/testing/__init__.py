"""For tests of job handlers and of code that enqueues: no waiting, no worker process, no mocks.

A handler takes a `Claim` and returns an `Outcome`, or a `Report` where it has more to say; what it raises is a retry:

>>> from workspec.jobs.vocabulary import Outcome
>>> class Gateway:
...     fault = None
...     busy_for_ms = 0
...     def send(self, text):
...         if self.fault is not None:
...             raise self.fault
...         print("sent", text)
>>> gateway = Gateway()
>>> def send_mail(claim):
...     if gateway.busy_for_ms:
...         return Report(Outcome.SNOOZE, delay_ms=gateway.busy_for_ms)
...     gateway.send(claim.envelope.payload.decode())
...     return Report(Outcome.SUCCESS, logs=["sent"])

The test asserts what was enqueued, then runs it. Time stands still until the clock is stepped:

>>> store = fresh_store()
>>> clock = SteppedClock(store)
>>> store.enqueue(envelopes=[envelope("mail-1", "mail", b"hello", retention_ms=60_000)])
>>> [found] = assert_enqueued(store, Expected("mail", queue="default", payload=b"hello", count=1))
>>> found.scheduled_at_ms == START_MS
True

A failure, and the retry a second later:

>>> gateway.fault = ConnectionError("no route to the gateway")
>>> perform_job(store, send_mail)
Performed(job_id='mail-1', kind='mail', outcome=<Outcome.RETRY: 'retry'>)
>>> [entry.error for entry in store.errors("mail-1")]
['no route to the gateway']
>>> gateway.fault = None
>>> print(perform_job(store, send_mail))
None
>>> _ = clock.advance(1_000)

A snooze:

>>> gateway.busy_for_ms = 5_000
>>> perform_job(store, send_mail).outcome.value
'snooze'
>>> gateway.busy_for_ms = 0
>>> _ = clock.advance(5_000)

A crash: the worker is gone, and the store finds out when the lease has ended.

>>> gateway.fault = Crash()
>>> try:
...     perform_job(store, send_mail)
... except Crash:
...     print("the worker is gone")
the worker is gone
>>> gateway.fault = None
>>> _ = clock.advance(LEASE_MS)
>>> [lost.crash_attempt for lost in store.reclaim_expired(limit=10)]
[1]
>>> _ = clock.advance(1_000)
>>> [performed.outcome.value for performed in drain(store, send_mail, 10)]
sent hello
['success']
>>> [entry.outcome.value for entry in store.errors("mail-1")]
['retry', 'lease_lost', 'success']

With pytest, import the fixtures that you want in a ``conftest.py``; nothing loads by itself::

    from workstore.testing.fixtures import job_clock, job_store

Stores with coroutine methods are not served.
"""

from workstore.testing.assertions import Expected, Findings, Jobs, assert_enqueued, find_enqueued
from workstore.testing.clock import START_MS, SteppedClock, fresh_store
from workstore.testing.envelopes import Members, envelope
from workstore.testing.running import (
    LEASE_MS,
    Answer,
    Crash,
    Handler,
    LostErrorWarning,
    Performed,
    Report,
    drain,
    perform_job,
)

__all__ = [
    "LEASE_MS",
    "START_MS",
    "Answer",
    "Crash",
    "Expected",
    "Findings",
    "Handler",
    "Jobs",
    "LostErrorWarning",
    "Members",
    "Performed",
    "Report",
    "SteppedClock",
    "assert_enqueued",
    "drain",
    "envelope",
    "find_enqueued",
    "fresh_store",
    "perform_job",
]
