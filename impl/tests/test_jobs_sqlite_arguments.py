"""What the SQLite job store refuses before it looks at the file (contract, 3.2, 5.2, P-01, P-02)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from workspec.jobs.vocabulary import LeaseRef, Outcome, StoreUnavailable
from workstore.sqlite.jobs import JobStore

from .jobs_driver import EVERYTHING, NOTHING_DONE, Driver, envelope, invalid, refusal

MIB = 1_048_576
LEASE = LeaseRef("x", "l", 1)


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Driver:
    """A handle that is closed: a call that gets as far as the file raises `StoreUnavailable`."""
    store = JobStore.open(tmp_path_factory.mktemp("closed") / "jobs.db")
    store.close()
    return Driver(store)


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[Driver]:
    with JobStore.open(tmp_path / "jobs.db", synchronous="NORMAL") as store:
        yield Driver(store)


# In the order of the table; each member is malformed in that one way.
TABLE: list[tuple[str, dict[str, Any]]] = [
    ("empty_id", {"id": ""}),
    ("bad_kind", {"kind": "-"}),
    ("identifier_too_long", {"partition_key": "é" * 128}),
    ("payload_too_large", {"payload": bytes(MIB + 1)}),
    ("unique_key_too_long", {"unique_key": bytes(1_025)}),
    ("too_many_headers", {"headers": {str(number): "" for number in range(129)}}),
    ("headers_too_large", {"headers": {"é": "é" * 32_768}}),
    ("negative_timeout", {"timeout_ms": -1}),
    ("negative_deadline", {"deadline_ms": -1}),
    ("negative_retention", {"retention_ms": -1}),
    ("negative_window", {"unique_window_ms": -1}),
    ("negative_debounce", {"unique_debounce_ms": -1}),
    ("debounce_needs_lifecycle_key", {"unique_debounce_ms": 1}),
    ("unknown_replace_bits", {"unique_replace": 16}),
    ("replace_needs_key", {"unique_replace": 1}),
    ("too_many_tags", {"tags": tuple(str(number) for number in range(33))}),
    ("bad_tag", {"tags": ("", "a", "a")}),
    ("repeated_tag", {"tags": ("a", "a", "")}),
    ("pending_with_schedule", {"pending": True, "scheduled_at_ms": 1}),
    ("bad_sticky_worker", {"sticky_worker": "é"}),
    ("bad_periodic_pair", {"periodic_tick_ms": 1}),
    ("out_of_range", {"priority": 2**31}),
]


@pytest.mark.parametrize(("reason", "changes"), TABLE)
def test_each_row_of_the_table(closed: Driver, reason: str, changes: dict[str, Any]) -> None:
    assert refusal(closed.put_all, envelope("first"), evolve(envelope(), **changes)) == invalid(reason)


@pytest.mark.parametrize("position", range(len(TABLE) - 1))
def test_an_earlier_row_decides(closed: Driver, position: int) -> None:
    reason, changes = TABLE[position]
    later: dict[str, Any] = {}
    for _, more in TABLE[position + 1 :]:
        later = {**later, **{name: value for name, value in more.items() if name not in changes and name not in later}}
    assert refusal(closed.put_all, evolve(envelope(), **{**later, **changes})) == invalid(reason)


@pytest.mark.parametrize(
    ("reason", "changes"),
    [
        ("bad_kind", {"kind": "x" * 129}),
        ("bad_kind", {"kind": "a\n"}),
        ("bad_kind", {"kind": "é"}),
        ("identifier_too_long", {"id": "i" * 256}),
        ("identifier_too_long", {"periodic_schedule_id": "s" * 256, "periodic_tick_ms": 1}),
        ("debounce_needs_lifecycle_key", {"unique_debounce_ms": 1, "unique_key": b""}),
        ("debounce_needs_lifecycle_key", {"unique_debounce_ms": 1, "unique_key": b"k", "unique_window_ms": 1}),
        ("unknown_replace_bits", {"unique_replace": -1, "unique_key": b"k"}),
        ("replace_needs_key", {"unique_replace": 1, "unique_key": b""}),
        ("bad_tag", {"tags": ("t" * 65,)}),
        ("bad_sticky_worker", {"sticky_worker": "w" * 256}),
        ("bad_periodic_pair", {"periodic_schedule_id": "s"}),
        ("bad_periodic_pair", {"periodic_schedule_id": "s", "periodic_tick_ms": -1}),
        ("out_of_range", {"weight": 2**32}),
        ("out_of_range", {"max_attempts": -1}),
        ("out_of_range", {"scheduled_at_ms": -(2**63) - 1}),
        ("bad_text", {"id": "\ud800"}),
        ("bad_text", {"headers": {"h": "\udfff"}}),
    ],
)
def test_more_ways_to_be_malformed(closed: Driver, reason: str, changes: dict[str, Any]) -> None:
    assert refusal(closed.put_all, evolve(envelope(), **changes)) == invalid(reason)


def test_the_batch_as_a_whole(closed: Driver) -> None:
    many = [envelope(str(number)) for number in range(1_001)]
    assert refusal(closed.put_all, *many[:-1], envelope(""), envelope("")) == invalid("batch_too_large")
    assert refusal(closed.put_all, many[0], many[0], envelope("")) == ("IdConflict", {"job_id": "0"})
    assert refusal(closed.put_all, envelope(""), many[0], many[0]) == invalid("empty_id")
    replacing = envelope("r", unique_key=b"k", unique_replace=1)
    assert refusal(closed.put_all, replacing, envelope("")) == invalid("empty_id")
    assert refusal(closed.put_all, replacing, many[0]) == invalid("replace_needs_single")
    heavy = [envelope(f"{number:02}", payload=bytes(MIB), fingerprint="", queue="") for number in range(16)]
    assert refusal(closed.put_all, *heavy) == invalid("batch_bytes")


def test_bytes_of_tags_count_after_they_were_checked(jobs: Driver, closed: Driver) -> None:
    whole = [envelope(f"{number:02}", payload=bytes(MIB), fingerprint="", queue="") for number in range(15)]
    room = 16_777_216 - 15 * (MIB + 3) - 3
    last = envelope("zz", payload=bytes(room), fingerprint="", queue="")
    assert refusal(closed.put_all, *whole, evolve(last, tags=("a", "a"))) == invalid("repeated_tag")
    over = evolve(last, tags=("a",), pending=True, scheduled_at_ms=1)
    assert refusal(closed.put_all, *whole, over) == invalid("batch_bytes")
    jobs.put_all(*whole, last)


def test_the_last_values_that_are_allowed(jobs: Driver) -> None:
    jobs.put_all(
        envelope("i" * 255, queue="q" * 255, partition_key="é" * 127, kind="x" * 128, fingerprint="f" * 255),
        envelope("payload", payload=bytes(MIB), unique_key=bytes(1_024)),
        envelope("headers", headers={"h": "v" * 65_535}),
        envelope("names", headers={str(number): "" for number in range(128)}, tags=tuple(map(str, range(32)))),
        envelope("tag", tags=("t" * 64,), sticky_worker="w" * 255, kind="a-b.c:d+e/f<g>[h]_"),
        envelope("numbers", weight=2**32 - 1, priority=-(2**31), scheduled_at_ms=2**63 - 1, retention_ms=2**63 - 1),
        envelope("past", scheduled_at_ms=-(2**63), periodic_schedule_id="s", periodic_tick_ms=2**63 - 1),
    )
    assert sum(jobs.counts().values()) == 7
    far = jobs.job("numbers")
    assert (far.weight, far.priority, far.scheduled_at_ms) == (2**32 - 1, -(2**31), 2**63 - 1)


def test_sums_saturate(jobs: Driver) -> None:
    far = 2**63 - 1
    jobs.at(far).put("x", unique_key=b"k", unique_window_ms=far, retention_ms=far)
    claim = jobs.run(lease_ms=far)
    assert claim.expires_at_ms == far
    jobs.ack(claim, Outcome.RETRY, delay_ms=far)
    assert jobs.job().scheduled_at_ms == far
    assert jobs.later(far).promote() == 1
    jobs.finish()
    assert jobs.evict() == 0
    assert jobs.at(-(2**63)).evict() == 0


@pytest.mark.parametrize(
    "changes",
    [
        {"id": 1},
        {"payload": "text"},
        {"payload": bytearray()},
        {"priority": True},
        {"retention_ms": 1.0},
        {"unique_key": "k"},
        {"pending": 1},
        {"headers": [("a", "b")]},
        {"headers": {"a": 1}},
        {"tags": "abc"},
        {"tags": (1,)},
    ],
)
def test_wrong_types_of_an_envelope(closed: Driver, changes: dict[str, Any]) -> None:
    # Types come before values, wherever in the batch they are wrong.
    with pytest.raises(TypeError):
        closed.put_all(envelope(""), evolve(envelope(), **changes))
    with pytest.raises(TypeError):
        closed.store.enqueue_without_uniqueness(envelopes=[evolve(envelope(), **changes)])


def test_wrong_types_of_other_arguments(closed: Driver) -> None:
    store = closed.store
    admit = partial(store.admit, worker="w", lease_id="l", queues=["q"], capacity=1, lease_ms=1, quantum=1)
    ack = partial(store.ack, lease=LEASE, outcome=Outcome.RETRY, error=None, delay_ms=None, logs=[], actual_weight=None)
    calls = [
        partial(store.enqueue, envelopes="x"),
        partial(store.enqueue, envelopes=[None]),
        partial(admit, worker=1),
        partial(admit, queues="q"),
        partial(admit, capacity=1.0),
        partial(admit, capacity=True),
        partial(admit, lease_ms=0.5),
        partial(ack, lease=("x", "l", 1)),
        partial(ack, lease=LeaseRef("x", "l", True)),
        partial(ack, outcome=1),
        partial(ack, error=1),
        partial(ack, delay_ms=0.5),
        partial(ack, logs="line"),
        partial(ack, actual_weight=1.0),
        partial(store.renew, leases=[None], lease_ms=1),
        partial(store.renew, leases=[], lease_ms=1.0),
        partial(store.checkpoint, lease=LEASE, checkpoint=None),
        partial(store.checkpoint, lease=LEASE, checkpoint=evolve(NOTHING_DONE, crashes_by_step=(("a", "1"),))),
        partial(store.promote_due, limit=True),
        partial(store.reclaim_expired, limit=1.0),
        partial(store.evict_retained, limit=None),
        partial(store.claim_duty, name=1, holder="h", lease_ms=1),
        partial(store.pause_queue, queue=None),
        partial(store.set_rate_limit, name="c", limit=1.0, window_ms=1, burst=1),
        partial(store.set_enqueue_limit, queue="q", limit=1.0),
        partial(store.freeze_clock, at_ms=1.0),
        partial(store.advance_clock, delta_ms="1"),
        partial(store.get_job, job_id="x", include_payload=1),
        partial(store.list_jobs, where=None, cursor=None, limit=1),
        partial(store.list_jobs, where=evolve(EVERYTHING, tags_all="a"), cursor=None, limit=1),
        partial(store.list_jobs, where=evolve(EVERYTHING, state="available"), cursor=None, limit=1),
        partial(store.operator_cancel, job_id=b"x"),
        partial(store.edit_payload, job_id="x", payload="p", schema_version=1, fingerprint=""),
        partial(store.upsert_rate_class, name="c", limit=1, window_ms=1, burst=1, paused=0),
    ]
    for call in calls:
        with pytest.raises(TypeError):
            call()


def test_other_values_that_are_refused(closed: Driver) -> None:
    store = closed.store
    ack = partial(store.ack, lease=LEASE, outcome=Outcome.RETRY, error=None, delay_ms=None, logs=[], actual_weight=None)
    edit = partial(store.edit_payload, job_id="x", payload=b"", schema_version=1, fingerprint="")
    for call, reason in (
        (partial(ack, outcome="lost"), "unknown_outcome"),
        (partial(ack, outcome="lease_lost"), "lease_lost_not_ackable"),
        (partial(ack, outcome="snooze", delay_ms=0), "snooze_needs_delay"),
        (partial(ack, delay_ms=2**63), "out_of_range"),
        (partial(ack, error="\ud800"), "bad_text"),
        (partial(closed.admit, lease_ms=0, capacity=0), "bad_lease"),
        (partial(closed.admit, lease_ms=-1, queues=[]), "bad_lease"),
        (partial(store.claim_duty, name="d", holder="h", lease_ms=0), "bad_lease"),
        (partial(edit, schema_version=0), "bad_schema_version"),
        (partial(edit, payload=bytes(MIB + 1)), "payload_too_large"),
        (partial(store.freeze_clock, at_ms=2**63), "out_of_range"),
        (partial(store.upsert_rate_class, name="c", limit=1, window_ms=0, burst=1, paused=False), "bad_rate_class"),
        (partial(store.upsert_rate_class, name="c", limit=1, window_ms=1, burst=2**63, paused=False), "bad_rate_class"),
    ):
        assert refusal(call) == invalid(reason)
    with pytest.raises(StoreUnavailable):
        ack()
