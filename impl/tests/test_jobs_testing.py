"""`workstore.testing`: what people who write handlers test with (contract, 11.1 and 11.2)."""

from __future__ import annotations

import doctest
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve, fields

import workstore.testing
import workstore.testing.fixtures
from workspec.jobs.vocabulary import Claim, Envelope, JobFilter, JobPage, Outcome, State
from workstore.memory.jobs import JobStore
from workstore.sqlite.jobs import JobStore as SqliteStore
from workstore.testing import (
    LEASE_MS,
    START_MS,
    Crash,
    Expected,
    Members,
    Performed,
    Report,
    SteppedClock,
    assert_enqueued,
    drain,
    envelope,
    find_enqueued,
    fresh_store,
    perform_job,
)
from workstore.transactions import Once

from .jobs_driver import DAY_MS, ENVELOPE, Driver, invalid, ref, refusal

job_store = workstore.testing.fixtures.job_store
job_clock = workstore.testing.fixtures.job_clock


@pytest.fixture
def store() -> JobStore:
    return fresh_store()


def put(store: Any, *job_ids: str, kind: str = "mail", **members: Any) -> None:
    store.enqueue(envelopes=[envelope(job_id, kind, **members) for job_id in job_ids])


def succeed(_: Claim) -> Outcome:
    return Outcome.SUCCESS


def raising(error: BaseException) -> Callable[[Claim], Outcome]:
    def handler(_: Claim) -> Outcome:
        raise error

    return handler


def failure(jobs: Any, expected: Expected) -> str:
    """The text, which both forms must give."""
    text = find_enqueued(jobs, expected).failure
    assert text is not None
    with pytest.raises(AssertionError) as caught:
        assert_enqueued(jobs, expected)
    assert str(caught.value) == text
    return text


def ids(found: Any) -> list[str]:
    return [one.id for one in found]


class Live:
    """A store as one knows it in production: nothing but the port."""

    def __init__(self, store: JobStore) -> None:
        self.list_jobs, self.get_job = store.list_jobs, store.get_job
        self.promote_due, self.admit, self.ack = store.promote_due, store.admit, store.ack
        self.queue_stats = store.queue_stats


def test_the_examples_run() -> None:
    ran = doctest.testmod(workstore.testing)
    assert (ran.failed, ran.attempted > 20) == (0, True)


# --- envelopes


def test_an_envelope_has_the_request_defaults() -> None:
    plain = evolve(ENVELOPE, id="x", kind="mail", queue="", retention_ms=0)
    assert envelope("x", "mail") == plain
    given = envelope("x", "mail", b"p", queue="q", tags=("b", "a"), unique_key=b"k", pending=True)
    assert given == evolve(plain, payload=b"p", queue="q", tags=("b", "a"), unique_key=b"k", pending=True)


def test_headers_are_not_shared() -> None:
    assert envelope("x", "mail").headers is not envelope("y", "mail").headers


def test_the_members_are_those_of_envelopes() -> None:
    names = {one.name for one in fields(Envelope)} - {"id", "kind", "payload"}
    assert set(Members.__annotations__) == names


@pytest.mark.parametrize(
    ("members", "text"),
    [
        ({"scheduled_at": 5}, "no member scheduled_at: did you mean scheduled_at_ms"),
        ({"headrs": {}, "tag": ()}, r"headrs: did you mean headers.*; .*tag: did you mean tags"),
        ({"zzzzzz": 1}, "no member zzzzzz: there are schema_version, queue"),
    ],
)
def test_an_unknown_member_is_named_with_those_that_are_near(members: dict[str, Any], text: str) -> None:
    with pytest.raises(TypeError, match=text):
        envelope("x", "mail", **members)


# --- what matches


def test_every_matcher_counts(store: JobStore) -> None:
    put(store, "x", payload=b"p", queue="q", partition_key="a", scheduled_at_ms=START_MS + 5)
    full = Expected("mail", queue="q", payload=b"p", partition_key="a", scheduled_at_ms=START_MS + 5)
    assert ids(assert_enqueued(store, full)) == ["x"]
    others: list[dict[str, Any]] = [
        {"kind": "other"},
        {"queue": "default"},
        {"payload": b"P"},
        {"payload": b""},
        {"partition_key": ""},
        {"scheduled_at_ms": START_MS},
    ]
    for other in others:
        assert f"(differs in {next(iter(other))})" in failure(store, evolve(full, **other))


def test_matchers_are_compared_with_what_is_stored(store: JobStore) -> None:
    put(store, "x", payload=b"old", unique_key=b"k")
    replacing = envelope("y", "mail", b"new", unique_key=b"k", unique_replace=1)
    assert refusal(store.enqueue, envelopes=[replacing])[0] == "Duplicate"
    assert ids(assert_enqueued(store, Expected("mail", queue="default", scheduled_at_ms=START_MS))) == ["x"]
    assert ids(assert_enqueued(store, Expected("mail", payload=b"new"))) == ["x"]
    assert_enqueued(store, Expected("mail", payload=b"old", count=0))
    assert_enqueued(store, Expected("mail", queue="", count=0))


@pytest.mark.parametrize(
    ("stored", "count", "holds"),
    [
        *((0, None, False), (1, None, True), (2, None, True)),
        *((0, 0, True), (1, 0, False), (1, 1, True), (2, 1, False), (1, 2, False), (2, 2, True)),
    ],
)
def test_the_count_is_exact_and_at_least_one_without(
    store: JobStore, stored: int, count: int | None, holds: bool
) -> None:
    put(store, *"ab"[:stored])
    put(store, "z", kind="other")
    expected = Expected("mail", count=count)
    findings = find_enqueued(store, expected)
    assert (bool(findings), findings.failure is None, len(findings.matches)) == (holds, holds, stored)
    if holds:
        assert ids(assert_enqueued(store, expected)) == list("ab"[:stored])
    else:
        failure(store, expected)


def test_rows_in_every_state_count_and_removed_ones_do_not(store: JobStore) -> None:
    put(store, "e", "b", retention_ms=DAY_MS)
    put(store, "d", pending=True)
    put(store, "a", scheduled_at_ms=START_MS + 1)
    put(store, "c", queue="gone")
    perform_job(store, succeed, queues=["default"])
    perform_job(store, raising(ValueError()), queues=["default"])
    assert ids(assert_enqueued(store, Expected("mail", count=5))) == ["a", "b", "c", "d", "e"]
    perform_job(store, succeed, queues=["gone"])
    assert ids(assert_enqueued(store, Expected("mail", count=4))) == ["a", "b", "d", "e"]


@pytest.mark.parametrize("members", [{"count": -1}])
def test_a_negative_count_is_refused(members: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="count"):
        Expected("mail", **members)


@pytest.mark.parametrize("members", [{"payload": "text"}, {"queue": b"q"}, {"scheduled_at_ms": 1.5}, {"kind": None}])
def test_a_matcher_that_could_match_nothing_is_refused(members: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=next(iter(members))):
        Expected(**{"kind": "mail", "count": 0, **members})


# --- where the jobs are


def test_plain_envelopes_do() -> None:
    jobs = [envelope("b", "mail"), envelope("c", "other"), envelope("a", "mail")]
    assert ids(assert_enqueued(jobs, Expected("mail"))) == ["a", "b"]
    assert ids(assert_enqueued(iter(jobs), Expected("mail"))) == ["a", "b"]
    assert_enqueued([], Expected("mail", count=0))


def test_a_live_store_is_read_through_its_listing(store: JobStore) -> None:
    put(store, *(f"x{number:03}" for number in range(450)), payload=b"p", headers={"a": "b"}, tags=("t",))
    put(store, "y", kind="later", pending=True)
    live = Live(store)
    assert assert_enqueued(live, Expected("mail", payload=b"p", count=450)) == assert_enqueued(store, Expected("mail"))
    assert assert_enqueued(live, Expected("later")) == assert_enqueued(store, Expected("later"))


def test_a_file_is_read_too(tmp_path: Any) -> None:
    with SqliteStore.open(tmp_path / "jobs.db") as store:
        SteppedClock(store)
        put(store, "x", payload=b"p")
        [found] = assert_enqueued(store, Expected("mail", payload=b"p", scheduled_at_ms=START_MS))
        assert found == evolve(
            envelope("x", "mail", b"p"),
            queue="default",
            schema_version=1,
            weight=1,
            max_attempts=25,
            scheduled_at_ms=START_MS,
        )


def test_a_row_that_goes_while_it_is_listed_is_left_out(store: JobStore) -> None:
    put(store, "x", "y")

    class Emptied(Live):
        def __init__(self) -> None:
            super().__init__(store)
            self.list_jobs = self.listed_then_deleted

        def listed_then_deleted(self, *, where: JobFilter, cursor: str | None, limit: int) -> JobPage:
            page = store.list_jobs(where=where, cursor=cursor, limit=limit)
            store.delete_job(job_id="x")
            return page

    assert ids(assert_enqueued(Emptied(), Expected("mail"))) == ["y"]


@pytest.mark.parametrize("jobs", [None, 5, "mail", b"mail", {"mail": 1}, object(), ["mail"]])
def test_anything_else_holds_no_jobs(jobs: Any) -> None:
    with pytest.raises(TypeError, match="envelopes"):
        find_enqueued(jobs, Expected("mail", count=0))


# --- the text of a failure


def test_the_text_restates_every_matcher_and_both_numbers(store: JobStore) -> None:
    put(store, "a", "b", "c")
    text = failure(store, Expected("mail", queue="q", payload=b"p", scheduled_at_ms=7, partition_key="k", count=2))
    head = text.splitlines()[0]
    assert head == (
        "expected exactly 2 jobs with kind='mail', queue='q', payload='p', scheduled_at_ms=7, partition_key='k'; "
        "0 of 3 stored jobs match:"
    )
    assert failure(store, Expected("mail", count=1)).startswith("expected exactly 1 job with kind='mail'; 3 of 3 ")
    assert failure(store, Expected("none")).startswith("expected at least 1 job with kind='none'; 0 of 3 ")


def test_the_text_shows_the_jobs(store: JobStore) -> None:
    put(store, "a", payload=b"caf\xc3\xa9\n\xff", partition_key="k")
    assert failure(store, Expected("other")).splitlines()[1:] == [
        "  id='a' kind='mail' queue='default' partition_key='k' scheduled_at_ms=1000000 payload='café\\n\ufffd' "
        "(differs in kind)"
    ]


def test_the_nearest_jobs_come_first(store: JobStore) -> None:
    put(store, "a", kind="other", queue="q")
    put(store, "b")
    put(store, "c", queue="q")
    put(store, "d", kind="other")
    lines = failure(store, Expected("mail", queue="q", count=2)).splitlines()[1:]
    assert [(line.split("'")[1], line[line.index("(") :]) for line in lines] == [
        ("c", "(matches)"),
        ("a", "(differs in kind)"),
        ("b", "(differs in queue)"),
        ("d", "(differs in kind, queue)"),
    ]


@pytest.mark.parametrize(("stored", "more"), [(20, None), (21, "  and 1 more"), (45, "  and 25 more")])
def test_twenty_jobs_are_shown_and_the_rest_is_counted(store: JobStore, stored: int, more: str | None) -> None:
    put(store, *(f"x{number:02}" for number in range(stored)))
    lines = failure(store, Expected("other")).splitlines()
    assert [line[:10] for line in lines[1:21]] == [f"  id='x{number:02}'" for number in range(20)]
    assert lines[21:] == ([more] if more else [])


def test_an_empty_store_is_said_to_be_empty(store: JobStore) -> None:
    text = failure(store, Expected("mail"))
    assert "0 of 0 stored jobs match" in text
    assert "the store is empty" in text


@pytest.mark.parametrize(
    ("payload", "shown"),
    [
        (b"x" * 200, f"payload='{'x' * 200}' ("),
        (b"x" * 201, f"payload='{'x' * 200}'... (201 bytes)"),
        (b"x" * 1_000_000, f"payload='{'x' * 200}'... (1000000 bytes)"),
        (("😀" * 200).encode(), f"payload='{'😀' * 200}' ("),
        (("😀" * 201).encode(), f"payload='{'😀' * 200}'... (804 bytes)"),
    ],
)
def test_a_long_payload_is_cut(store: JobStore, payload: bytes, shown: str) -> None:
    put(store, "x", payload=payload)
    assert shown in failure(store, Expected("other"))


# --- running


def test_drain_promotes_admits_runs_and_acks(store: JobStore) -> None:
    put(store, "b", "a", retention_ms=DAY_MS)
    put(store, "c", queue="q", scheduled_at_ms=START_MS + 5)
    put(store, "d", scheduled_at_ms=START_MS + 6)
    SteppedClock(store).advance(5)
    claims = []

    def handler(claim: Claim) -> Outcome:
        claims.append(claim)
        put(store, f"new-{claim.envelope.id}")
        return Outcome.SUCCESS

    assert drain(store, handler, 10) == [
        ("a", "mail", Outcome.SUCCESS),
        ("b", "mail", Outcome.SUCCESS),
        ("c", "mail", Outcome.SUCCESS),
    ]
    assert {claim.expires_at_ms for claim in claims} == {START_MS + 5 + 30_000}
    assert Driver(store).counts() == {"available": 3, "completed": 2, "scheduled": 1}


def test_drain_takes_no_more_than_asked(store: JobStore) -> None:
    put(store, "a", "b", "c")
    assert ids_of(drain(store, succeed, 2)) == ["a", "b"]
    assert drain(store, succeed, 0) == []
    assert ids_of(drain(store, succeed, 2)) == ["c"]
    assert drain(store, succeed, 2) == []


def ids_of(performed: list[Performed]) -> list[str]:
    return [run.job_id for run in performed]


def test_jobs_are_acked_one_after_the_other(store: JobStore) -> None:
    put(store, "a", "b", retention_ms=DAY_MS)
    seen: list[Any] = []

    def handler(_: Claim) -> Outcome:
        seen.append(Driver(store).state("a"))
        return Outcome.SUCCESS

    drain(store, handler, 2)
    assert seen == [State.RUNNING, State.COMPLETED]


def test_perform_job_runs_one(store: JobStore) -> None:
    put(store, "a", "b")
    assert perform_job(store, succeed) == ("a", "mail", Outcome.SUCCESS)
    assert perform_job(store, lambda _: Outcome.SKIP) == ("b", "mail", Outcome.SKIP)
    assert perform_job(store, succeed) is None


def test_queues_and_the_worker_may_be_named(store: JobStore) -> None:
    put(store, "a", queue="q")
    put(store, "b", queue="r", sticky_worker="w1")
    assert perform_job(store, succeed, queues=["r"]) is None
    assert perform_job(store, succeed, queues=["r"], worker="w1") == ("b", "mail", Outcome.SUCCESS)
    assert perform_job(store, succeed, queues=["s"]) is None


def test_a_store_that_cannot_tell_its_queues_needs_them_named(store: JobStore) -> None:
    put(store, "a")
    live: Any = Live(store)
    assert perform_job(live, lambda _: Outcome.RATE_LIMITED) == ("a", "mail", Outcome.RATE_LIMITED)
    del live.queue_stats
    with pytest.raises(TypeError, match="queues"):
        perform_job(live, succeed)
    assert perform_job(live, succeed, queues=["default"]) == ("a", "mail", Outcome.SUCCESS)


def test_a_report_is_acked_as_it_is(store: JobStore) -> None:
    jobs = Driver(store)
    store.set_rate_limit(name="c", limit=0, window_ms=1_000, burst=10)
    put(store, "x", rate_class="c", weight=4)
    report = Report(Outcome.RETRY, error="no route", delay_ms=77, logs=["one", "two"], actual_weight=1)
    assert perform_job(store, lambda _: report) == ("x", "mail", Outcome.RETRY)
    [entry] = store.errors("x")
    assert (entry.error, entry.logs, jobs.job("x").scheduled_at_ms) == ("no route", ("one", "two"), START_MS + 77)
    assert jobs.tokens() == 9


@pytest.mark.parametrize(
    ("error", "text"),
    [(ValueError("no route"), "no route"), (KeyError("k"), "'k'"), (TimeoutError(), "TimeoutError")],
)
def test_an_error_is_a_retry_with_its_text(store: JobStore, error: Exception, text: str) -> None:
    put(store, "x", "y")
    assert [run.outcome for run in drain(store, raising(error), 2)] == [Outcome.RETRY, Outcome.RETRY]
    assert [(entry.outcome, entry.error) for entry in store.errors("x")] == [(Outcome.RETRY, text)]


@pytest.mark.parametrize("error", [Crash(), KeyboardInterrupt()])
def test_a_crash_leaves_all_leased(store: JobStore, error: BaseException) -> None:
    put(store, "x", "y")
    with pytest.raises(type(error)):
        drain(store, raising(error), 2)
    assert Driver(store).counts() == {"running": 2}
    assert store.errors("x") == []
    SteppedClock(store).advance(LEASE_MS)
    assert [lost.job_id for lost in store.reclaim_expired(limit=10)] == ["x", "y"]


def test_a_lost_lease_is_no_retry(store: JobStore) -> None:
    put(store, "x")

    def cancelled(_: Claim) -> Outcome:
        store.operator_cancel(job_id="x")
        return Outcome.SUCCESS

    assert perform_job(store, cancelled) == ("x", "mail", Outcome.LEASE_LOST)
    assert Driver(store).state("x") == State.CANCELLED


def test_a_handler_that_hears_of_its_lost_lease_is_not_acked(store: JobStore) -> None:
    """Even where an ack would still be taken."""
    put(store, "x", "y")

    def handler(claim: Claim) -> Outcome:
        store.checkpoint(lease=evolve(ref(claim), job_id="x", fence=9), checkpoint=claim.checkpoint)
        return Outcome.SUCCESS

    performed = drain(store, handler, 2)
    assert [run.outcome for run in performed] == [Outcome.LEASE_LOST, Outcome.RETRY]
    assert Driver(store).counts() == {"retryable": 1, "running": 1}


def test_a_run_that_has_ended_is_not_acked_again(store: JobStore) -> None:
    put(store, "x", retention_ms=DAY_MS)

    def handler(claim: Claim) -> Once:
        Driver(store).ack(claim, Outcome.SKIP)
        return Once.COMPLETED

    assert perform_job(store, handler) == ("x", "mail", Outcome.SUCCESS)
    assert Driver(store).state("x") == State.ARCHIVED


@pytest.mark.parametrize("answer", [None, True, "success", {}])
def test_another_answer_is_an_error_of_the_test(store: JobStore, answer: Any) -> None:
    put(store, "x")
    with pytest.raises(TypeError, match=r"handler of job x returned .*Outcome\.SUCCESS"):
        perform_job(store, lambda _: answer)
    assert Driver(store).counts() == {"running": 1}


def test_an_outcome_that_the_store_refuses_is_an_error_of_the_test(store: JobStore) -> None:
    put(store, "x", "y")
    assert refusal(perform_job, store, lambda _: Outcome.SNOOZE) == invalid("snooze_needs_delay")
    assert refusal(perform_job, store, lambda _: Outcome.LEASE_LOST) == invalid("lease_lost_not_ackable")


# --- stores, clocks, fixtures


def test_a_fresh_store_stands_still(store: JobStore) -> None:
    put(store, "x")
    later = fresh_store(5, crash_limit=1, retry_base_ms=7, retry_cap_ms=8)
    put(later, "x")
    assert (store.envelopes()[0].scheduled_at_ms, later.envelopes()[0].scheduled_at_ms) == (START_MS, 5)
    for due_ms in (5 + 7, 5 + 7 + 8):
        perform_job(later, raising(ValueError()))
        assert later.envelopes()[0].scheduled_at_ms == due_ms
        later.freeze_clock(at_ms=due_ms)
    with pytest.raises(Crash):
        perform_job(later, raising(Crash()))
    later.advance_clock(delta_ms=LEASE_MS)
    assert [lost.quarantined for lost in later.reclaim_expired(limit=1)] == [True]


def test_the_clock_moves_by_steps(store: JobStore) -> None:
    with SteppedClock(store, at_ms=50) as clock:
        assert clock.now_ms == 50
        put(store, "a")
        assert clock.advance(7) == clock.now_ms == 57
        put(store, "b")
        assert clock.advance_to(100) == clock.advance(0) == 100
        put(store, "c")
        for back in (lambda: clock.advance(-1), lambda: clock.advance_to(99)):
            with pytest.raises(ValueError, match="back in time"):
                back()
        put(store, "d")
        assert [one.scheduled_at_ms for one in store.envelopes()] == [50, 57, 100, 100]
    put(store, "e")
    assert store.envelopes()[-1].scheduled_at_ms > 10**12


def test_the_fixtures_give_a_store_and_its_clock(job_store: JobStore, job_clock: SteppedClock) -> None:
    put(job_store, "x", scheduled_at_ms=START_MS + 5)
    assert perform_job(job_store, succeed) is None
    job_clock.advance(5)
    assert perform_job(job_store, succeed) == ("x", "mail", Outcome.SUCCESS)


def test_the_helpers_do_without_pytest() -> None:
    program = "import sys; sys.modules['pytest'] = None; from workstore.testing import *; fresh_store().close()"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
