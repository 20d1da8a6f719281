"""Bad input to the store in memory and to the one on SQLite: who tests a handler with the one meets in production what
the test has seen.

The table says what is answered, and why by the names of the reasons: types first, then what the contract has a reason
for, then ranges, then texts. The sweeps after it ask for no more than that both answer alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve, fields, has

from workspec.jobs.vocabulary import JobError, JobResult, Outcome, ProgressUpdate
from workstore.memory.jobs import JobStore as MemoryStore
from workstore.sqlite.jobs import JobStore as SqliteStore

from .jobs_calls import ARGUMENTS, LEASE
from .jobs_driver import EVERYTHING, NOTHING_DONE, T0, Driver, envelope, invalid, lease_rejected

LONE = "\ud800"
"""Half of a surrogate pair."""
BEYOND = 2**63
ENVELOPE = envelope("n")
ACK = {**ARGUMENTS["ack"], "outcome": Outcome.RETRY}
EDIT = ARGUMENTS["edit_payload"]
RATES = {"name": "c", "limit": 1, "window_ms": 1, "burst": 1}


def filled(store: Any) -> Driver:
    """Job ``x`` runs under `LEASE`, job ``y`` waits."""
    jobs = Driver(store).at(T0)
    jobs.put_all(envelope("x"), envelope("y", priority=-1))
    assert jobs.admitted(1, lease_id=LEASE.lease_id) == [LEASE.job_id]
    return jobs


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[tuple[Driver, Driver]]:
    with SqliteStore.open(tmp_path / "jobs.db", synchronous="NORMAL") as sqlite:
        yield filled(MemoryStore()), filled(sqlite)


def answer(call: Callable[..., object], **arguments: Any) -> Any:
    """What is returned, or which refusal; anything else that is raised is a fault of the store."""
    try:
        return call(**arguments)
    except JobError as error:
        return str(error.code), dict(error.details or {})
    except TypeError:
        return TypeError


# --- what is answered


def checkpoint(**changes: Any) -> dict[str, Any]:
    return {"lease": LEASE, "checkpoint": evolve(NOTHING_DONE, **changes)}


def progress(*members: Any) -> dict[str, Any]:
    return {"lease": LEASE, "progress": ProgressUpdate(*members)}


def listed(**changes: Any) -> dict[str, Any]:
    return {"where": evolve(EVERYTHING, **changes), "cursor": None, "limit": 1}


TABLE: list[tuple[str, dict[str, Any], Any]] = [
    # Texts that UTF-8 cannot write.
    *(("admit", {**ARGUMENTS["admit"], name: LONE}, "bad_text") for name in ("worker", "lease_id")),
    ("admit", {**ARGUMENTS["admit"], "queues": ["q", LONE]}, "bad_text"),
    ("admit", {**ARGUMENTS["admit"], "capacity": 0, "worker": LONE}, "bad_text"),
    ("ack", {**ACK, "error": LONE}, "bad_text"),
    ("ack", {**ACK, "logs": ["line", LONE]}, "bad_text"),
    ("ack", {**ACK, "lease": evolve(LEASE, job_id=LONE)}, "bad_text"),
    ("renew", {"leases": [LEASE, evolve(LEASE, lease_id=LONE)], "lease_ms": 1}, "bad_text"),
    *(
        ("checkpoint", checkpoint(**{name: LONE}), "bad_text")
        for name in ("last_completed_step", "in_progress_step", "cursor_step", "step_set_hash")
    ),
    ("checkpoint", checkpoint(completed_steps=("a", LONE)), "bad_text"),
    ("checkpoint", checkpoint(crashes_by_step=((LONE, 1),)), "bad_text"),
    ("claim_duty", {"name": LONE, "holder": "h", "lease_ms": 1}, "bad_text"),
    ("release_duty", {"name": "d", "holder": LONE}, "bad_text"),
    ("write_job_progress", progress(0, 1, LONE), "bad_text"),
    ("edit_payload", {**EDIT, "job_id": "y", "fingerprint": LONE}, "bad_text"),
    *(
        ("list_jobs", listed(**{name: LONE}), "bad_text")
        for name in ("queue", "kind", "kind_prefix", "partition_key", "id", "fingerprint", "rate_class")
    ),
    *(("list_jobs", listed(**{name: (LONE,)}), "bad_text") for name in ("tags_all", "tags_any")),
    ("list_jobs", {**listed(), "cursor": LONE}, "bad_text"),
    ("get_job", {"job_id": LONE, "include_payload": False}, "bad_text"),
    # Integers outside of their range.
    ("admit", {**ARGUMENTS["admit"], "quantum": BEYOND}, "out_of_range"),
    ("admit", {**ARGUMENTS["admit"], "quantum": -BEYOND - 1}, "out_of_range"),
    *(("checkpoint", checkpoint(schema_version=wrong), "out_of_range") for wrong in (-1, 2**32, BEYOND)),
    *(("checkpoint", checkpoint(crashes_by_step=(("a", wrong),)), "out_of_range") for wrong in (-1, 2**32, BEYOND)),
    ("list_jobs", listed(priority=BEYOND), "out_of_range"),
    ("list_jobs", listed(priority=-BEYOND), "out_of_range"),
    ("write_job_progress", progress(-1, 1, None), "out_of_range"),
    # The contract has a reason for these.
    ("write_job_output", {"lease": LEASE, "output": JobResult(-1, b"")}, "schema_zero"),
    ("ack_success_with_result", {**ARGUMENTS["ack_success_with_result"], "result": JobResult(-1, b"")}, "schema_zero"),
    ("write_job_progress", progress(0, -1, None), "progress_zero_total"),
    # Types come first, whatever the values are.
    ("get_job", {"job_id": LONE, "include_payload": 1}, TypeError),
    ("set_rate_limit", {**RATES, "name": LONE, "limit": 1.0}, TypeError),
    ("checkpoint", checkpoint(schema_version=-1, crashes_by_step=(("a", "1"),)), TypeError),
    ("checkpoint", checkpoint(crashes_by_step=(["a", 1],)), TypeError),
    ("ack", {**ACK, "outcome": "none", "actual_weight": 1.0}, TypeError),
    # Then the reasons of the contract, then ranges, then texts.
    ("admit", {**ARGUMENTS["admit"], "lease_ms": 0, "quantum": BEYOND, "worker": LONE}, "bad_lease"),
    ("admit", {**ARGUMENTS["admit"], "quantum": BEYOND, "worker": LONE}, "out_of_range"),
    ("ack", {**ACK, "outcome": "none", "delay_ms": BEYOND, "error": LONE}, "unknown_outcome"),
    ("ack", {**ACK, "outcome": Outcome.SNOOZE, "error": LONE}, "snooze_needs_delay"),
    ("ack", {**ACK, "outcome": Outcome.LEASE_LOST, "actual_weight": BEYOND}, "lease_lost_not_ackable"),
    ("ack", {**ACK, "delay_ms": BEYOND, "error": LONE}, "out_of_range"),
    ("checkpoint", checkpoint(schema_version=-1, step_set_hash=LONE), "out_of_range"),
    ("set_rate_limit", {**RATES, "name": LONE, "limit": BEYOND}, "out_of_range"),
    ("schedule_pending_job", {"job_id": LONE, "at_ms": BEYOND}, "out_of_range"),
    ("set_enqueue_limit", {"queue": LONE, "limit": -1}, "bad_limit"),
    ("list_jobs", {**listed(kind=LONE, priority=BEYOND), "limit": 0}, "bad_page_limit"),
    ("edit_payload", {**EDIT, "schema_version": 0, "fingerprint": LONE}, "bad_schema_version"),
    # A fence of any size is one.
    ("ack", {**ACK, "lease": evolve(LEASE, fence=BEYOND)}, lease_rejected("x")),
]


@pytest.mark.parametrize("row", range(len(TABLE)), ids=lambda row: f"{row}-{TABLE[row][0]}")
def test_both_refuse_it_and_change_nothing(stores: tuple[Driver, Driver], row: int) -> None:
    verb, arguments, expected = TABLE[row]
    expected = invalid(expected) if isinstance(expected, str) else expected
    for jobs in stores:
        before = jobs.store.snapshot()
        assert answer(getattr(jobs.store, verb), **arguments) == expected
        assert jobs.store.snapshot() == before


# --- whatever it is, both answer alike

WRONG: tuple[Any, ...] = (
    *(None, True, 1.0, object(), b"bytes", bytearray(b"bytes"), "", "text", "a\0b", LONE),
    *(-1, 0, 2**31, 2**32, BEYOND - 1, BEYOND, -BEYOND, -BEYOND - 1, 10**30),
    *((), ["text"], ("text", LONE), [1], {"text"}, {"text": "text"}, {"text": LONE}, {"text": 1}),
    *([("text", -1)], (("text", 1), ("text", 2)), (("text", BEYOND),), [["text", 1]], [("text",)]),
)


def variants(sound: Any) -> Iterator[Any]:
    """The argument replaced, or a part of it."""
    yield from WRONG
    if has(type(sound)):
        for field in fields(type(sound)):
            yield from (evolve(sound, **{field.name: wrong}) for wrong in WRONG)
    if isinstance(sound, list):
        for member in sound:
            yield from ([member, wrong] for wrong in variants(member))


@pytest.mark.parametrize("verb", [verb for verb, arguments in ARGUMENTS.items() if arguments])
def test_both_answer_alike(stores: tuple[Driver, Driver], verb: str) -> None:
    for name, sound in ARGUMENTS[verb].items():
        for wrong in variants(sound):
            arguments = {**ARGUMENTS[verb], name: wrong}
            memory, sqlite = (answer(getattr(jobs.store, verb), **arguments) for jobs in stores)
            assert memory == sqlite, (name, wrong)


# --- transactions


class ForeignTransaction:
    def commit(self) -> None: ...

    def rollback(self) -> None: ...


INSIDE: dict[str, dict[str, Any]] = {
    "enqueue_tx": {"envelopes": [ENVELOPE]},
    "complete_tx": {"lease": LEASE, "actual_weight": None},
    "checkpoint_tx": {"lease": LEASE, "checkpoint": NOTHING_DONE},
    "claim_effect": {"key": "k"},
}
MALFORMED: dict[str, tuple[dict[str, Any], str]] = {
    "enqueue_tx": ({"envelopes": [envelope("")]}, "empty_id"),
    "complete_tx": ({"lease": LEASE, "actual_weight": BEYOND}, "out_of_range"),
    "checkpoint_tx": (checkpoint(schema_version=-1), "out_of_range"),
    "claim_effect": ({"key": ""}, "empty_effect_key"),
}


def ended(jobs: Driver, how: str) -> Any:
    transaction = jobs.store.begin()
    getattr(transaction, how)()
    return transaction


@pytest.mark.parametrize("verb", INSIDE)
@pytest.mark.parametrize("nothing", [None, "x", 1, object()])
def test_what_is_no_transaction_is_a_type_error(stores: tuple[Driver, Driver], verb: str, nothing: Any) -> None:
    for jobs in stores:
        for arguments in (INSIDE[verb], MALFORMED[verb][0]):
            with pytest.raises(TypeError, match="transaction must be a Transaction"):
                getattr(jobs.store, verb)(transaction=nothing, **arguments)


@pytest.mark.parametrize("verb", INSIDE)
def test_a_transaction_that_is_of_no_use_is_told_before_what_it_is_asked_for(
    stores: tuple[Driver, Driver], verb: str
) -> None:
    memory, sqlite = stores
    for jobs, other in ((memory, sqlite), (sqlite, memory)):
        theirs = other.store.begin()
        for transaction in (ended(jobs, "commit"), ended(jobs, "rollback"), ForeignTransaction(), theirs):
            for arguments in (INSIDE[verb], MALFORMED[verb][0]):
                assert answer(getattr(jobs.store, verb), transaction=transaction, **arguments) == invalid(
                    "foreign_transaction"
                )
        theirs.rollback()


@pytest.mark.parametrize("verb", INSIDE)
def test_types_come_before_the_transaction(stores: tuple[Driver, Driver], verb: str) -> None:
    for jobs in stores:
        for name in INSIDE[verb]:
            with pytest.raises(TypeError):
                getattr(jobs.store, verb)(transaction=ended(jobs, "rollback"), **{**INSIDE[verb], name: object()})


@pytest.mark.parametrize("verb", INSIDE)
def test_both_answer_alike_inside_a_transaction(stores: tuple[Driver, Driver], verb: str) -> None:
    open_ones = [jobs.store.begin() for jobs in stores]
    arguments, reason = MALFORMED[verb]
    for jobs, transaction in zip(stores, open_ones, strict=True):
        assert answer(getattr(jobs.store, verb), transaction=transaction, **arguments) == invalid(reason)
    for name, sound in INSIDE[verb].items():
        for wrong in variants(sound):
            memory, sqlite = (
                answer(getattr(jobs.store, verb), transaction=transaction, **{**INSIDE[verb], name: wrong})
                for jobs, transaction in zip(stores, open_ones, strict=True)
            )
            assert memory == sqlite, (name, wrong)
    for transaction in open_ones:
        transaction.rollback()


# --- what follows from values at the edge


def test_crashes_of_a_step_stay_within_their_range(stores: tuple[Driver, Driver]) -> None:
    most = 2**32 - 1
    for jobs in stores:
        jobs.store.checkpoint(**checkpoint(in_progress_step="a", crashes_by_step=(("a", most),)))
        jobs.later(30_000).reclaim()
        assert jobs.store.get_checkpoint(job_id="x").crashes_by_step == (("a", most),)


def test_a_clock_is_not_stepped_beyond_the_last_instant(stores: tuple[Driver, Driver]) -> None:
    for jobs in stores:
        jobs.later(BEYOND - 1).put("z")
        assert jobs.job("z").scheduled_at_ms == BEYOND - 1
        assert jobs.store.frozen_at_ms() == BEYOND - 1


@pytest.mark.parametrize("window_ms", [0, -1])
def test_a_class_that_gains_nothing_gives_no_eta(stores: tuple[Driver, Driver], window_ms: int) -> None:
    for jobs in stores:
        jobs.store.set_rate_limit(name="c", limit=1, window_ms=window_ms, burst=0)
        jobs.put("z", rate_class="c")
        blocker = jobs.store.explain_admission(job_id="z").blocker
        assert (blocker.policy, blocker.eta_ms) == ("rate_class", None)
