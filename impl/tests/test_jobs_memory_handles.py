"""Handles, threads, argument types, and what the store offers to tests (JOB-GEN, JOB-AST-06, invariants)."""

from __future__ import annotations

import random
import threading
from collections import Counter
from contextlib import suppress
from typing import Any

import pytest
from attrs import evolve

from workspec.jobs import ports
from workspec.jobs.vocabulary import (
    Envelope,
    JobError,
    JobResult,
    LeaseRef,
    Outcome,
    ProgressUpdate,
    State,
    StoreUnavailable,
)
from workstore.memory.jobs import JobStore

from .jobs_calls import ARGUMENTS
from .jobs_driver import DAY_MS, EVERYTHING, NOTHING_DONE, T0, Driver, envelope, invalid, race, refusal

PORTS = (
    ports.JobStore,
    ports.PauseStore,
    ports.RateStore,
    ports.ResultStore,
    ports.OutputStore,
    ports.ProgressStore,
    ports.ClockStore,
    ports.BackpressureStore,
    ports.InspectStore,
    ports.TransactionalStore,
)


@pytest.fixture
def jobs() -> Driver:
    return Driver(JobStore()).at(T0)


# --- handles


@pytest.mark.parametrize("port", PORTS, ids=lambda port: port.__name__)
def test_every_port_is_there(jobs: Driver, port: type) -> None:
    assert isinstance(jobs.store, port)
    verbs = {name for name in vars(port) if not name.startswith("_")}
    assert verbs <= ARGUMENTS.keys() | {"enqueue_tx", "complete_tx", "checkpoint_tx", "claim_effect"}


def test_handles_share_rows_and_clock(jobs: Driver) -> None:
    other = jobs.on(jobs.store.handle())
    jobs.put()
    other.later(5)
    assert other.run(lease_ms=9).expires_at_ms == T0 + 14
    assert jobs.state() == State.RUNNING
    other.store.close()
    other.store.close()
    assert jobs.state() == State.RUNNING


def test_handles_share_the_configuration() -> None:
    jobs = Driver(JobStore(crash_limit=1, retry_base_ms=7).handle()).at(T0)
    jobs.put_all(envelope("a"), envelope("b"))
    jobs.finish("b", Outcome.RETRY)
    assert jobs.job("b").scheduled_at_ms == T0 + 7
    jobs.later(30_000).reclaim()
    assert jobs.state("a") == State.QUARANTINED


@pytest.mark.parametrize("verb", ARGUMENTS)
def test_a_closed_handle(jobs: Driver, verb: str) -> None:
    closed: list[str] = []
    with jobs.store.handle(on_close=lambda: closed.append("once")) as other:
        pass
    other.close()
    assert closed == ["once"]
    before = jobs.store.snapshot()
    with pytest.raises(StoreUnavailable) as caught:
        getattr(other, verb)(**ARGUMENTS[verb])
    assert caught.value.definite is True
    assert jobs.store.snapshot() == before


def test_malformed_input_is_refused_even_by_a_closed_handle(jobs: Driver) -> None:
    jobs.store.close()
    assert refusal(jobs.put, "") == invalid("empty_id")
    assert refusal(jobs.put_all, envelope(), envelope()) == ("IdConflict", {"job_id": "x"})
    assert refusal(jobs.admit, lease_ms=0) == invalid("bad_lease")


@pytest.mark.parametrize(
    "options", [{"crash_limit": 0}, {"crash_limit": -1}, {"retry_base_ms": 0}, {"retry_cap_ms": 0}]
)
def test_a_configuration_that_is_none(options: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="must"):
        JobStore(**options)


@pytest.mark.parametrize("name", ["crash_limit", "retry_base_ms", "retry_cap_ms"])
def test_a_configuration_of_a_wrong_type(name: str) -> None:
    with pytest.raises(TypeError):
        JobStore(**{name: 1.5})


# --- types


WRONG: list[tuple[str, str, Any]] = [
    (verb, name, wrong)
    for verb, arguments in ARGUMENTS.items()
    for name, right in arguments.items()
    for wrong in (1.0, True, "text", b"bytes", ["item"], [1], object())
    if not (isinstance(right, bool) and isinstance(wrong, bool))
    and not (isinstance(right, str) and isinstance(wrong, str))
    and not (isinstance(right, bytes) and isinstance(wrong, bytes))
    and not (name in ("queues", "logs") and wrong == ["item"])
    and not (right is None and name in ("error", "queue", "cursor") and isinstance(wrong, str))
]


@pytest.mark.parametrize(("verb", "name", "wrong"), WRONG)
def test_a_wrong_type_is_a_type_error_before_anything_is_read(jobs: Driver, verb: str, name: str, wrong: Any) -> None:
    jobs.store.close()
    with pytest.raises(TypeError):
        getattr(jobs.store, verb)(**{**ARGUMENTS[verb], name: wrong})


@pytest.mark.parametrize(
    ("verb", "name", "wrong"),
    [
        ("ack", "lease", LeaseRef("x", "l", True)),
        ("ack", "lease", LeaseRef(1, "l", 1)),
        ("renew", "leases", [LeaseRef("x", None, 1)]),
        ("checkpoint", "checkpoint", evolve(NOTHING_DONE, completed_steps="abc")),
        ("checkpoint", "checkpoint", evolve(NOTHING_DONE, cursor="text")),
        ("checkpoint", "checkpoint", evolve(NOTHING_DONE, in_progress_step=1)),
        ("checkpoint", "checkpoint", evolve(NOTHING_DONE, schema_version=1.0)),
        ("checkpoint", "checkpoint", evolve(NOTHING_DONE, crashes_by_step=(("s", True),))),
        ("checkpoint", "checkpoint", evolve(NOTHING_DONE, crashes_by_step=(("s", 1, 2),))),
        ("checkpoint", "checkpoint", evolve(NOTHING_DONE, crashes_by_step=("s1",))),
        ("write_job_output", "output", JobResult(1, "text")),
        ("write_job_output", "output", JobResult(1.0, b"")),
        ("write_job_progress", "progress", ProgressUpdate(1.0, 1, None)),
        ("write_job_progress", "progress", ProgressUpdate(1, 1, b"m")),
        ("list_jobs", "where", evolve(EVERYTHING, state="available")),
        ("list_jobs", "where", evolve(EVERYTHING, tags_any="t")),
        ("list_jobs", "where", evolve(EVERYTHING, kind=1)),
        ("list_jobs", "where", evolve(EVERYTHING, priority=1.0)),
    ],
)
def test_a_wrong_type_within(jobs: Driver, verb: str, name: str, wrong: Any) -> None:
    with pytest.raises(TypeError):
        getattr(jobs.store, verb)(**{**ARGUMENTS[verb], name: wrong})


@pytest.mark.parametrize(
    ("verb", "name"),
    [
        ("promote_due", "limit"),
        ("admit", "capacity"),
        ("admit", "lease_ms"),
        ("ack", "delay_ms"),
        ("renew", "lease_ms"),
    ],
)
def test_integers_have_sixty_four_bits(jobs: Driver, verb: str, name: str) -> None:
    call = getattr(jobs.store, verb)
    assert jobs.unchanged_by(call, **{**ARGUMENTS[verb], name: 2**63}) == invalid("out_of_range")


def test_the_longest_lease_saturates(jobs: Driver) -> None:
    jobs.put()
    assert jobs.run(lease_ms=2**63 - 1).expires_at_ms == 2**63 - 1


# --- what tests are offered


def test_what_is_handed_out_is_the_callers(jobs: Driver) -> None:
    jobs.put(headers={"a": "1"})
    jobs.put("a", pending=True)
    envelopes = jobs.store.envelopes()
    assert [found.id for found in envelopes] == ["a", "x"]
    found = jobs.store.job_state("x")
    claim = jobs.run()
    for handed_out in (envelopes[1], found[0], claim.envelope):
        handed_out.headers["a"] = "edited"
    envelope_now, state = jobs.store.job_state("x")
    assert (envelope_now.headers, state, found[1]) == ({"a": "1"}, State.RUNNING, State.AVAILABLE)
    assert jobs.store.job_state("unknown") is None
    assert jobs.store.errors("unknown") == []
    jobs.ack(claim, Outcome.RETRY, error="boom")
    assert [entry.error for entry in jobs.store.errors("x")] == ["boom"]
    assert isinstance(envelope_now, Envelope)


def test_reset_empties_everything_but_the_clock() -> None:
    jobs = Driver(JobStore(crash_limit=1)).at(T0)
    jobs.put("crasher", fingerprint="F", unique_key=b"K")
    jobs.put("t", unique_key=b"T", unique_window_ms=DAY_MS, rate_class="c")
    jobs.store.set_rate_limit(name="c", limit=1, window_ms=1, burst=1)
    jobs.store.set_enqueue_limit(queue="q", limit=0)
    jobs.store.pause_queue(queue="p")
    jobs.store.claim_duty(name="d", holder="h", lease_ms=DAY_MS)
    jobs.lose("crasher")
    transaction = jobs.store.begin()
    jobs.store.claim_effect(transaction=transaction, key="e")
    transaction.commit()
    prefixes = {key.split("/")[0] for key in jobs.store.snapshot()}
    assert prefixes == {"job", "hold", "bucket", "queue", "duty", "fingerprint", "effect"}
    jobs.store.handle().reset()
    assert jobs.store.snapshot() == {}
    assert (jobs.counts(), list(jobs.store.queue_stats()), jobs.store.envelopes()) == ({}, [], [])
    jobs.put("new", fingerprint="F", unique_key=b"K", partition_key="p")
    assert jobs.job("new").enqueued_at_ms == T0 + 1_000
    assert jobs.admitted() == ["new"]


def test_a_snapshot_is_plain_and_shows_every_change(jobs: Driver) -> None:
    seen = [jobs.store.snapshot()]

    def changed() -> None:
        seen.append(jobs.store.snapshot())
        assert seen[-1] != seen[-2]
        assert hash(tuple(seen[-1].items())) is not None

    jobs.put(headers={"a": "1"}, unique_key=b"K")
    changed()
    jobs.store.set_rate_limit(name="c", limit=1, window_ms=1, burst=1)
    changed()
    claim = jobs.run()
    changed()
    jobs.renew(claim, lease_ms=1)
    changed()
    lease = LeaseRef("x", claim.lease_id, claim.fence)
    jobs.store.checkpoint(lease=lease, checkpoint=evolve(NOTHING_DONE, cursor=b"c"))
    changed()
    jobs.store.write_job_output(lease=lease, output=JobResult(1, b""))
    changed()
    jobs.store.write_job_progress(lease=lease, progress=ProgressUpdate(1, 1, None))
    changed()
    jobs.store.pause_queue(queue="q")
    changed()
    jobs.store.set_enqueue_limit(queue="q", limit=1)
    changed()
    jobs.store.ack_success_with_result(lease=lease, result=JobResult(1, b""), logs=["l"], actual_weight=None)
    changed()
    jobs.store.claim_duty(name="d", holder="h", lease_ms=1)
    changed()


# --- threads


def test_one_of_many_producers_gets_the_key(jobs: Driver) -> None:
    answers = race(*(lambda number=number: jobs.put(f"j{number}", unique_key=b"K") for number in range(16)))
    [winner] = [found.id for found in jobs.store.envelopes()]
    assert answers.count(None) == 1
    assert all(error.details == {"existing_id": winner, "replaced": False} for error in answers if error is not None)


def test_no_job_is_claimed_twice(jobs: Driver) -> None:
    jobs.put_all(*(envelope(f"j{number:03}", partition_key=f"p{number % 7}") for number in range(500)))

    def worker(name: str) -> list[Any]:
        handle, claims = jobs.on(jobs.store.handle()), []
        for call in range(500):
            drawn = handle.admit(80, lease_id=f"{name}-{call}")
            if not drawn:
                return claims
            claims += drawn
        raise AssertionError("the queue never ran empty")

    drawn = race(*(lambda name=name: worker(name) for name in "abcdefgh"))
    claims = [claim for claims in drawn for claim in claims]
    assert len(claims) == 500
    assert {claim.envelope.id for claim in claims} == {f"j{number:03}" for number in range(500)}
    assert {claim.fence for claim in claims} == {1}
    assert jobs.counts() == {"running": 500}


def test_a_crowd_keeps_the_invariants(jobs: Driver) -> None:
    jobs.put_all(*(envelope(f"j{number:02}", max_attempts=1_000, unique_key=bytes([number])) for number in range(40)))
    claimed: Counter[str] = Counter()
    crashed: Counter[str] = Counter()
    lock = threading.Lock()

    def work(seed: int) -> None:
        chosen = random.Random(seed)
        for call in range(60):
            claims = jobs.admit(5, lease_id=f"{seed}-{call}", lease_ms=3)
            with lock:
                claimed.update(claim.envelope.id for claim in claims)
            for claim in claims:
                outcome = chosen.choice([Outcome.RETRY, Outcome.RATE_LIMITED, Outcome.SNOOZE, None])
                # Whoever was too slow finds the lease gone.
                with suppress(JobError):
                    if outcome is not None:
                        jobs.ack(claim, outcome, delay_ms=1)
            jobs.later(1)

    def sweep() -> None:
        for _ in range(150):
            lost = jobs.reclaim(3)
            with lock:
                crashed.update(victim.job_id for victim in lost)
            jobs.promote(7)

    assert race(*(lambda seed=seed: work(seed) for seed in range(4)), sweep, sweep) == [None] * 6
    rows = {key.removeprefix("job/"): dict(row) for key, row in jobs.store.snapshot().items() if key.startswith("job/")}
    for job_id, row in rows.items():
        job = jobs.job(job_id)
        assert row["fence"] == claimed[job_id]
        assert job.crash_attempt == crashed[job_id]
        assert (row["lease"] is not None) == (job.state == State.RUNNING)
        assert (job.finalized_at_ms is not None) == (job.state == State.QUARANTINED)
    unfinished = sum(number for state, number in jobs.counts().items() if state != "quarantined")
    assert sum(jobs.counts().values()) == 40
    assert jobs.stats().unfinished_jobs == unfinished
    assert len([key for key in jobs.store.snapshot() if key.startswith("hold/")]) == unfinished


def test_a_queue_without_rows_and_settings_is_not_listed(jobs: Driver) -> None:
    """JOB-BPR-12 leaves it open; the test double lists what there is."""
    jobs.put()
    jobs.store.pause_queue(queue="paused")
    jobs.store.set_enqueue_limit(queue="limited", limit=3)
    jobs.store.unpause_queue(queue="paused")
    jobs.store.set_enqueue_limit(queue="limited", limit=None)
    assert [entry.queue for entry in jobs.store.queue_stats()] == ["q"]
