"""Enqueue: the boundary table, ids and replays, stored defaults, all or nothing (sections 3.1, 3.2, 5.1, 5.2)."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from workspec.jobs.vocabulary import Outcome, State

from .jobs_driver import T0, Driver, OpenJobs, duplicate, envelope, invalid, refusal


@pytest.fixture
def jobs(open_jobs: OpenJobs) -> Driver:
    return open_jobs(crash_limit=1)


def id_conflict(job_id: str) -> tuple[str, dict[str, Any]]:
    return "IdConflict", {"job_id": job_id}


def quarantine(jobs: Driver, fingerprint: str) -> None:
    jobs.put("crasher", queue="crashing", fingerprint=fingerprint)
    jobs.admit(queues=("crashing",), lease_ms=1)
    jobs.later(1).reclaim()
    jobs.at(T0)


# --- the boundary table

BIG_KEY, BIG_TEXT = b"k" * 1_025, "i" * 256
FAULTS: list[tuple[str, dict[str, Any]]] = [
    ("empty_id", {"id": ""}),
    ("bad_kind", {"kind": ""}),
    ("identifier_too_long", {"queue": BIG_TEXT}),
    ("payload_too_large", {"payload": b"p" * 1_048_577}),
    ("unique_key_too_long", {"unique_key": BIG_KEY}),
    ("too_many_headers", {"headers": {str(number): "" for number in range(129)}}),
    ("headers_too_large", {"headers": {"h": "v" * 65_536}}),
    ("negative_timeout", {"timeout_ms": -1}),
    ("negative_deadline", {"deadline_ms": -1}),
    ("negative_retention", {"retention_ms": -1}),
    ("negative_window", {"unique_window_ms": -1}),
    ("negative_debounce", {"unique_debounce_ms": -1}),
    ("debounce_needs_lifecycle_key", {"unique_debounce_ms": 1, "unique_window_ms": 1}),
    ("unknown_replace_bits", {"unique_replace": 16, "unique_key": b"k"}),
    ("replace_needs_key", {"unique_replace": 1}),
    ("too_many_tags", {"tags": tuple(f"t{number}" for number in range(33))}),
    ("bad_tag", {"tags": ("",)}),
    ("repeated_tag", {"tags": ("a", "a")}),
    ("pending_with_schedule", {"pending": True, "scheduled_at_ms": 1}),
    ("bad_sticky_worker", {"sticky_worker": "w" * 256}),
    ("bad_periodic_pair", {"periodic_tick_ms": 1}),
]


@pytest.mark.parametrize(("reason", "changes"), FAULTS)
def test_each_fault_of_the_table_has_its_reason(jobs: Driver, reason: str, changes: dict[str, Any]) -> None:
    assert jobs.unchanged_by(jobs.put_all, evolve(envelope(), **changes)) == invalid(reason)


@pytest.mark.parametrize("first", range(len(FAULTS) - 1))
def test_the_first_fault_of_the_table_decides(jobs: Driver, first: int) -> None:
    # Every later fault is in the envelope too, but for those that another value of the same field would undo.
    changes: dict[str, Any] = {}
    for _, later in reversed(FAULTS[first:]):
        changes |= later
    assert refusal(jobs.put_all, evolve(envelope(), **changes)) == invalid(FAULTS[first][0])


@pytest.mark.parametrize(
    "changes",
    [
        {"id": "i" * 255, "queue": "q" * 255, "partition_key": "é" * 127, "rate_class": "r" * 255},
        {"payload": b"p" * 1_048_576},
        {"unique_key": b"k" * 1_024},
        {"unique_key": b""},
        {"headers": {str(number): "" for number in range(128)}},
        {"headers": {"h": "v" * 65_524, "traceparent": ""}},
        {"tags": tuple(f"t{number}" for number in range(32))},
        {"tags": ("t" * 64,)},
        {"sticky_worker": "w" * 255},
        {"periodic_schedule_id": "s", "periodic_tick_ms": 1},
        {"unique_replace": 15, "unique_key": b"k", "unique_window_ms": 1},
        {"unique_debounce_ms": 1, "unique_key": b"k", "pending": True},
        {"scheduled_at_ms": -5},
        {"weight": 2**32 - 1, "priority": -(2**31), "scheduled_at_ms": 2**63 - 1, "retention_ms": 2**63 - 1},
    ],
)
def test_the_last_value_that_is_allowed(jobs: Driver, changes: dict[str, Any]) -> None:
    jobs.put_all(evolve(envelope(), **changes))
    assert sum(jobs.counts().values()) == 1


@pytest.mark.parametrize(
    ("reason", "changes"),
    [
        ("identifier_too_long", {"id": "é" * 128}),
        ("identifier_too_long", {"partition_key": BIG_TEXT}),
        ("identifier_too_long", {"rate_class": BIG_TEXT}),
        ("identifier_too_long", {"fingerprint": BIG_TEXT}),
        ("identifier_too_long", {"periodic_schedule_id": BIG_TEXT, "periodic_tick_ms": 1}),
        ("headers_too_large", {"headers": {"é": "é" * 32_768}}),
        ("debounce_needs_lifecycle_key", {"unique_debounce_ms": 1}),
        ("debounce_needs_lifecycle_key", {"unique_debounce_ms": 1, "unique_key": b""}),
        ("debounce_needs_lifecycle_key", {"unique_debounce_ms": 1, "unique_key": b"k", "unique_window_ms": 1}),
        ("unknown_replace_bits", {"unique_replace": -1, "unique_key": b"k"}),
        ("replace_needs_key", {"unique_replace": 1, "unique_key": b""}),
        ("bad_tag", {"tags": ("a", "t" * 65)}),
        ("bad_tag", {"tags": ("é",)}),
        ("repeated_tag", {"tags": ("a", "a", "")}),
        ("bad_sticky_worker", {"sticky_worker": "é"}),
        ("bad_periodic_pair", {"periodic_schedule_id": "s"}),
        ("bad_periodic_pair", {"periodic_schedule_id": "s", "periodic_tick_ms": -1}),
        ("out_of_range", {"weight": 2**32}),
        ("out_of_range", {"schema_version": -1}),
        ("out_of_range", {"priority": 2**31}),
        ("out_of_range", {"priority": -(2**31) - 1}),
        ("out_of_range", {"attempt": -1}),
        ("out_of_range", {"scheduled_at_ms": 2**63}),
        ("bad_text", {"queue": "\ud800"}),
        ("bad_text", {"headers": {"h": "\udfff"}}),
    ],
)
def test_other_ways_to_be_malformed(jobs: Driver, reason: str, changes: dict[str, Any]) -> None:
    assert jobs.unchanged_by(jobs.put_all, evolve(envelope(), **changes)) == invalid(reason)


@pytest.mark.parametrize("kind", ["w", "_", "0", "a<b>", "a[b]", "Job_1", "x" * 128, "a-b.c:d+e/f"])
def test_kinds(jobs: Driver, kind: str) -> None:
    jobs.put(kind=kind)
    assert jobs.job().kind == kind


@pytest.mark.parametrize(
    "kind",
    ["", "x" * 129, "-a", ".a", ":a", "+a", "[a", "a b", "a\t", "a\n", "a\0", "é", "a·b"]
    + [f"a{c}" for c in '!#,()*%"'],
)
def test_no_kinds(jobs: Driver, kind: str) -> None:
    assert refusal(jobs.put, kind=kind) == invalid("bad_kind")


def test_the_batch_has_limits_of_its_own(jobs: Driver) -> None:
    many = [envelope(f"j{number}") for number in range(1_001)]
    assert jobs.unchanged_by(jobs.put_all, *many, envelope("")) == invalid("batch_too_large")
    jobs.put_all(*many[:1_000])
    # 16 payloads of 1 MiB alone are the limit; the ids and kinds put it over.
    heavy = [envelope(f"h{number:02}", payload=b"p" * 1_048_576, fingerprint="", queue="") for number in range(16)]
    assert jobs.unchanged_by(jobs.put_all, *heavy) == invalid("batch_bytes")
    heavy[-1] = evolve(heavy[-1], timeout_ms=-1)
    assert refusal(jobs.put_all, *heavy) == invalid("batch_bytes")


def test_tags_count_for_the_bytes_of_a_batch_after_they_are_checked(jobs: Driver) -> None:
    def batch(last_payload: int, **changes: Any) -> list[Any]:
        whole = [envelope(f"{number:02}", payload=b"p" * 1_048_576, fingerprint="", queue="") for number in range(15)]
        counted = 15 * (1_048_576 + 2 + 1) + 2 + 1
        assert counted + last_payload <= 16_777_216
        return [*whole, envelope("zz", payload=b"p" * last_payload, fingerprint="", queue="", **changes)]

    room = 16_777_216 - 15 * (1_048_576 + 3) - 3
    assert refusal(jobs.put_all, *batch(room, tags=("a", "a"))) == invalid("repeated_tag")
    assert refusal(jobs.put_all, *batch(room, tags=("a",), pending=True, scheduled_at_ms=1)) == invalid("batch_bytes")
    jobs.put_all(*batch(room - 1, tags=("a",)))


def test_replacement_and_debounce_need_a_batch_of_one_which_is_looked_at_last(jobs: Driver) -> None:
    replacing, debouncing = (
        envelope("r", unique_key=b"k", unique_replace=1),
        envelope("d", unique_key=b"k", unique_debounce_ms=1),
    )
    assert jobs.unchanged_by(jobs.put_all, replacing, envelope("y")) == invalid("replace_needs_single")
    assert jobs.unchanged_by(jobs.put_all, envelope("y"), debouncing) == invalid("replace_needs_single")
    assert refusal(jobs.put_all, replacing, envelope("y"), envelope("y")) == id_conflict("y")
    assert refusal(jobs.put_all, replacing, envelope("")) == invalid("empty_id")


@pytest.mark.parametrize(
    "changes",
    [
        {"id": 1},
        {"payload": "text"},
        {"payload": bytearray(b"p")},
        {"priority": True},
        {"priority": 1.0},
        {"retention_ms": 1.0},
        {"unique_key": "k"},
        {"pending": 1},
        {"unique_exclude_kind": None},
        {"headers": [("a", "b")]},
        {"headers": {"a": 1}},
        {"headers": {1: "a"}},
        {"tags": "abc"},
        {"tags": (1,)},
    ],
)
def test_a_wrong_type_is_a_type_error(jobs: Driver, changes: dict[str, Any]) -> None:
    # Even where an envelope before it is refused for its value.
    with pytest.raises(TypeError):
        jobs.put_all(envelope(""), evolve(envelope(), **changes))


@pytest.mark.parametrize("batch", [None, "x", envelope(), [None], iter([])])
def test_a_batch_is_a_sequence_of_envelopes(jobs: Driver, batch: Any) -> None:
    with pytest.raises(TypeError):
        jobs.store.enqueue(envelopes=batch)


# --- ids


def test_the_rules_of_ids(jobs: Driver) -> None:
    jobs.put("x", fingerprint="F")
    before = jobs.store.snapshot()
    jobs.put("x", fingerprint="F", payload=b"other", priority=9, tags=("t",), scheduled_at_ms=T0 + 9, unique_key=b"k")
    assert jobs.store.snapshot() == before
    for changes in ({"fingerprint": "G"}, {"queue": "p"}, {"kind": "v"}):
        assert jobs.unchanged_by(jobs.put, "x", **{"fingerprint": "F", **changes}) == id_conflict("x")
    assert jobs.unchanged_by(jobs.put_all, envelope("z"), envelope("x", fingerprint="G")) == id_conflict("x")
    assert jobs.unchanged_by(jobs.put_all, envelope("n"), envelope("n")) == id_conflict("n")
    same = envelope("x", fingerprint="F")
    assert jobs.unchanged_by(jobs.put_all, same, same) == id_conflict("x")
    jobs.finish("x")
    jobs.put("x", fingerprint="F")
    assert jobs.state("x") == State.COMPLETED
    assert refusal(jobs.put, "x", fingerprint="G") == id_conflict("x")


def test_an_omitted_queue_is_the_default_queue(jobs: Driver) -> None:
    jobs.put("y", queue="")
    jobs.put("y", queue="default")
    assert jobs.job("y").queue == "default"


def test_an_id_is_free_again_once_the_row_is_gone(jobs: Driver) -> None:
    jobs.put(retention_ms=0)
    jobs.finish()
    jobs.put(kind="v", fingerprint="other")
    assert jobs.job().kind == "v"


def test_a_replay_outranks_every_policy(jobs: Driver) -> None:
    jobs.put("x", unique_key=b"K")
    jobs.store.set_enqueue_limit(queue="q", limit=1)
    quarantine(jobs, "fp-x")
    jobs.put("x", unique_key=b"K")
    assert jobs.unchanged_by(jobs.put, "new", fingerprint="fp-x", unique_key=b"K") == (
        "Quarantined",
        {"fingerprint": "fp-x"},
    )
    assert jobs.unchanged_by(jobs.put, "new", unique_key=b"K") == duplicate("x")
    assert jobs.unchanged_by(jobs.put, "new") == (
        "Backpressure",
        {"queue": "q", "limit": 1, "current": 1, "incoming": 1},
    )


# --- batches


def test_an_empty_batch_does_nothing(jobs: Driver) -> None:
    before = jobs.store.snapshot()
    jobs.put_all()
    assert jobs.store.snapshot() == before


def test_a_refused_batch_writes_nothing_of_any_member(jobs: Driver) -> None:
    quarantine(jobs, "B")
    jobs.put("holder", unique_key=b"held")
    ok = envelope("ok", unique_key=b"free")
    blocked, clashing = envelope("b", fingerprint="B"), envelope("c", unique_key=b"held")
    assert jobs.unchanged_by(jobs.put_all, ok, blocked, envelope("o")) == ("Quarantined", {"fingerprint": "B"})
    assert jobs.unchanged_by(jobs.put_all, ok, clashing, blocked) == duplicate("holder")
    assert jobs.unchanged_by(jobs.put_all, ok, blocked, clashing) == ("Quarantined", {"fingerprint": "B"})
    jobs.put_all(ok)


def test_the_id_pass_goes_over_the_whole_batch_before_policies(jobs: Driver) -> None:
    quarantine(jobs, "B")
    jobs.put("x")
    batch = envelope("b", fingerprint="B"), envelope("x", fingerprint="other")
    assert jobs.unchanged_by(jobs.put_all, *batch) == id_conflict("x")


def test_members_of_a_batch_that_are_replays_are_left_out(jobs: Driver) -> None:
    jobs.put("x")
    jobs.put_all(envelope("x", priority=9), envelope("y"))
    assert jobs.job("x").priority == 0
    assert jobs.state("y") == State.AVAILABLE
    assert jobs.stats().unfinished_jobs == 2


# --- what is stored


def test_stored_defaults(jobs: Driver) -> None:
    jobs.put(tags=("b", "a"), attempt=7, crash_attempt=7)
    job = jobs.job()
    assert (job.schema_version, job.weight, job.max_attempts, job.scheduled_at_ms) == (1, 1, 25, T0)
    assert (job.attempt, job.crash_attempt, job.orphaned, job.tags) == (0, 0, False, ("a", "b"))
    assert (job.enqueued_at_ms, job.claimed_at_ms, job.lease_expires_at_ms, job.finalized_at_ms) == (
        T0,
        None,
        None,
        None,
    )
    assert job.history == ()


def test_a_claim_gives_the_envelope_back_without_what_belongs_to_the_request(jobs: Driver) -> None:
    asked = envelope(
        schema_version=3,
        payload=b"\x00\xff",
        partition_key="p",
        rate_class="c",
        weight=4,
        priority=-5,
        max_attempts=6,
        scheduled_at_ms=T0 - 7,
        timeout_ms=8,
        deadline_ms=9,
        unique_key=b"k",
        unique_states=3,
        unique_window_ms=10,
        unique_replace=1,
        unique_exclude_kind=True,
        periodic_schedule_id="s",
        periodic_tick_ms=11,
        headers={"traceparent": "not one", "é": ""},
        tags=("b", "a"),
        sticky_worker="w",
    )
    jobs.put_all(asked)
    expected = evolve(
        asked,
        unique_key=None,
        unique_states=0,
        unique_window_ms=0,
        unique_replace=0,
        unique_exclude_kind=False,
        tags=("a", "b"),
    )
    assert jobs.run().envelope == expected


@pytest.mark.parametrize(
    ("changes", "state", "due_ms"),
    [
        ({}, State.AVAILABLE, T0),
        ({"scheduled_at_ms": T0}, State.AVAILABLE, T0),
        ({"scheduled_at_ms": T0 + 1}, State.SCHEDULED, T0 + 1),
        ({"scheduled_at_ms": -1}, State.AVAILABLE, -1),
        ({"pending": True}, State.PENDING, T0),
        ({"unique_key": b"k", "unique_debounce_ms": 5, "scheduled_at_ms": 7}, State.SCHEDULED, T0 + 5),
        ({"unique_key": b"k", "unique_debounce_ms": 5, "pending": True}, State.PENDING, T0 + 5),
        ({"unique_key": b"k", "unique_debounce_ms": 2**63 - 1}, State.SCHEDULED, 2**63 - 1),
    ],
)
def test_initial_state_and_due_time(jobs: Driver, changes: dict[str, Any], state: State, due_ms: int) -> None:
    jobs.put(**changes)
    assert (jobs.state(), jobs.job().scheduled_at_ms) == (state, due_ms)


def test_a_new_row_has_nothing_of_an_earlier_one(jobs: Driver) -> None:
    jobs.put(retention_ms=0)
    jobs.finish()
    jobs.put()
    claim = jobs.run()
    assert claim.fence == 1
    assert claim.checkpoint.crashes_by_step == ()
    assert jobs.store.get_job_result(job_id="x") is None


def test_the_caller_may_edit_what_it_handed_in(jobs: Driver) -> None:
    headers = {"a": "1"}
    jobs.put(headers=headers)
    headers["a"] = "2"
    assert jobs.job().headers == {"a": "1"}


def test_pausing_does_not_keep_producers_out(jobs: Driver) -> None:
    jobs.store.pause_queue(queue="q")
    jobs.put()
    assert jobs.state() == State.AVAILABLE


def test_same_fingerprint_with_another_payload_is_a_replay(jobs: Driver) -> None:
    jobs.put(fingerprint="", payload=b"1")
    jobs.put(fingerprint="", payload=b"2")
    assert jobs.job().payload == b"1"


# --- without uniqueness


def test_without_uniqueness_no_key_is_looked_at_nor_taken(jobs: Driver) -> None:
    jobs.put("holder", unique_key=b"k")
    batch = [
        envelope("a", unique_key=b"k", unique_replace=1),
        envelope("b", unique_key=b"k", unique_debounce_ms=5),
        envelope("c", unique_key=b"k", unique_window_ms=5),
    ]
    jobs.store.enqueue_without_uniqueness(envelopes=batch)
    assert [jobs.state(job_id) for job_id in "abc"] == [State.AVAILABLE] * 3
    assert jobs.job("b").scheduled_at_ms == T0
    jobs.finish("holder")
    # The key is free, and stays the concern of the next call.
    jobs.put("next", unique_key=b"k")
    assert refusal(jobs.put, "again", unique_key=b"k") == duplicate("next")


def test_without_uniqueness_the_other_rules_hold(jobs: Driver) -> None:
    quarantine(jobs, "B")
    jobs.put("x")
    jobs.store.set_enqueue_limit(queue="q", limit=1)

    def put(job_id: str, **changes: Any) -> None:
        jobs.store.enqueue_without_uniqueness(envelopes=[envelope(job_id, unique_key=b"k", **changes)])

    put("x")
    assert jobs.unchanged_by(put, "x", fingerprint="other") == id_conflict("x")
    assert jobs.unchanged_by(put, "b", fingerprint="B") == ("Quarantined", {"fingerprint": "B"})
    assert jobs.unchanged_by(put, "y")[0] == "Backpressure"
    assert jobs.unchanged_by(put, "") == invalid("empty_id")


def test_revoked_rows_are_no_longer_listed(jobs: Driver) -> None:
    jobs.put_all(*(envelope(job_id) for job_id in "abc"))
    jobs.finish("b", Outcome.REVOKE)
    assert [found.id for found in jobs.store.envelopes()] == ["a", "c"]
