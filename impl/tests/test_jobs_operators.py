"""Operators: verbs on jobs, what they read, limits of queues (sections 5.4, 10)."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from workspec.jobs.vocabulary import Blocker, JobResult, Outcome, ProgressUpdate, State

from .jobs_driver import (
    DAY_MS,
    EVERYTHING,
    NOTHING_DONE,
    T0,
    Driver,
    OpenJobs,
    duplicate,
    envelope,
    invalid,
    lease_rejected,
    no_job,
    race,
    ref,
    refusal,
    wrong_state,
)


@pytest.fixture
def jobs(open_jobs: OpenJobs) -> Driver:
    return open_jobs(crash_limit=1)


def bring(jobs: Driver, state: State) -> None:
    """A job x in this state."""
    jobs.put(pending=state == State.PENDING, scheduled_at_ms=T0 + 10 if state == State.SCHEDULED else 0)
    endings = {
        State.RETRYABLE: Outcome.RETRY,
        State.COMPLETED: Outcome.SUCCESS,
        State.ARCHIVED: Outcome.SKIP,
        State.UNDECODABLE: Outcome.UNDECODABLE,
    }
    if state in endings:
        jobs.finish(outcome=endings[state])
    elif state == State.RUNNING:
        jobs.run()
    elif state == State.CANCELLED:
        jobs.store.operator_cancel(job_id="x")
    elif state == State.QUARANTINED:
        jobs.lose("x")
    assert jobs.state() == state


UNFINISHED = {State.PENDING, State.SCHEDULED, State.AVAILABLE, State.RUNNING, State.RETRYABLE}
VERBS: dict[str, tuple[dict[str, Any], set[State]]] = {
    "operator_cancel": ({}, UNFINISHED),
    "operator_retry": ({}, {State.ARCHIVED, State.CANCELLED, State.UNDECODABLE}),
    "promote_job": ({}, {State.PENDING}),
    "schedule_pending_job": ({"at_ms": T0 - 5}, {State.PENDING}),
    "reschedule_job": ({"at_ms": T0 - 5}, {State.SCHEDULED, State.RETRYABLE}),
    "edit_payload": ({"payload": b"e", "schema_version": 2, "fingerprint": "E"}, set(State) - {State.RUNNING}),
    "delete_job": ({}, set(State) - {State.RUNNING}),
}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("state", State)
def test_where_a_verb_applies(jobs: Driver, verb: str, state: State) -> None:
    bring(jobs, state)
    now_ms = T0 + DAY_MS
    jobs.at(now_ms)
    arguments, states = VERBS[verb]
    call = getattr(jobs.store, verb)
    if state not in states:
        assert jobs.unchanged_by(call, job_id="x", **arguments) == wrong_state(state.value)
        return
    before, unfinished = jobs.job(), unfinished_of(jobs)
    call(job_id="x", **arguments)
    expected: dict[str, Any] = {
        "operator_cancel": {"state": State.CANCELLED, "finalized_at_ms": now_ms},
        "operator_retry": {"state": State.AVAILABLE, "scheduled_at_ms": now_ms, "finalized_at_ms": None},
        "promote_job": {"state": State.AVAILABLE, "scheduled_at_ms": now_ms},
        "schedule_pending_job": {"state": State.SCHEDULED, "scheduled_at_ms": T0 - 5},
        "reschedule_job": {"scheduled_at_ms": T0 - 5},
        "edit_payload": arguments,
        "delete_job": None,
    }[verb]
    if expected is None:
        assert jobs.state() is None
    else:
        assert jobs.job() == evolve(before, claimed_at_ms=None, lease_expires_at_ms=None, **expected)
    now_unfinished = verb != "delete_job" and jobs.state() in UNFINISHED
    assert unfinished_of(jobs) - unfinished == now_unfinished - (state in UNFINISHED)


def unfinished_of(jobs: Driver) -> int:
    return sum(stats.unfinished_jobs for stats in jobs.store.queue_stats())


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_on_nothing(jobs: Driver, verb: str) -> None:
    assert jobs.unchanged_by(getattr(jobs.store, verb), job_id="x", **VERBS[verb][0]) == no_job("x")


def test_a_cancelled_runner_is_told_so(jobs: Driver) -> None:
    jobs.store.set_rate_limit(name="c", limit=0, window_ms=1, burst=3)
    jobs.put(unique_key=b"K", rate_class="c")
    claim = jobs.run()
    left = evolve(NOTHING_DONE, completed_steps=("a",))
    jobs.store.checkpoint(lease=ref(claim), checkpoint=left)
    jobs.store.operator_cancel(job_id="x")
    assert jobs.renew(claim) == ["x"]
    assert refusal(jobs.ack, claim, Outcome.SUCCESS, actual=0) == lease_rejected("x")
    assert refusal(jobs.store.checkpoint, lease=ref(claim), checkpoint=left) == lease_rejected("x")
    written = {"lease": ref(claim), "output": JobResult(1, b"")}
    assert refusal(jobs.store.write_job_output, **written) == lease_rejected("x")
    progress = {"lease": ref(claim), "progress": ProgressUpdate(1, 2, None)}
    assert refusal(jobs.store.write_job_progress, **progress) == lease_rejected("x")
    assert (jobs.tokens(), jobs.stats().unfinished_jobs) == (2, 0)
    jobs.store.operator_retry(job_id="x")
    again = jobs.run()
    assert (again.fence, again.checkpoint) == (2, left)


def test_retry_keeps_what_runs_left(jobs: Driver) -> None:
    jobs.put(max_attempts=1)
    claim = jobs.run()
    jobs.store.write_job_output(lease=ref(claim), output=JobResult(1, b"o"))
    jobs.ack(claim, Outcome.RETRY, error="boom")
    before = jobs.job()
    jobs.later(5).store.operator_retry(job_id="x")
    assert jobs.job() == evolve(before, state=State.AVAILABLE, scheduled_at_ms=T0 + 5, finalized_at_ms=None)
    assert jobs.job().history[0].error == "boom"
    assert jobs.store.get_job_output(job_id="x").content == b"o"


def test_retry_takes_its_key_again(jobs: Driver) -> None:
    jobs.put(unique_key=b"K")
    jobs.finish(outcome=Outcome.SKIP)
    jobs.put("holder", unique_key=b"K")
    assert jobs.unchanged_by(jobs.store.operator_retry, job_id="x") == duplicate("holder")
    jobs.store.operator_cancel(job_id="holder")
    jobs.store.operator_retry(job_id="x")
    assert refusal(jobs.put, "new", unique_key=b"K") == duplicate("x")
    assert refusal(jobs.store.operator_retry, job_id="holder") == duplicate("x")


def test_retry_takes_no_throttle_key(jobs: Driver) -> None:
    jobs.put(unique_key=b"K", unique_window_ms=10)
    jobs.finish(outcome=Outcome.SKIP)
    jobs.later(10).put("next", unique_key=b"K", unique_window_ms=10)
    jobs.store.operator_retry(job_id="x")
    assert refusal(jobs.put, "new", unique_key=b"K", unique_window_ms=1) == duplicate("next")


def test_a_pending_job_given_a_past_time_waits_for_promotion(jobs: Driver) -> None:
    jobs.put(pending=True)
    jobs.store.schedule_pending_job(job_id="x", at_ms=T0 - 1)
    assert (jobs.admitted(), jobs.promote(), jobs.admitted()) == ([], 1, ["x"])


def test_a_rescheduled_job_waits_for_its_new_time(jobs: Driver) -> None:
    jobs.put(scheduled_at_ms=T0 + 10)
    jobs.store.reschedule_job(job_id="x", at_ms=T0 + 20)
    assert (jobs.at(T0 + 19).promote(), jobs.at(T0 + 20).promote()) == (0, 1)


def test_an_edited_payload(jobs: Driver) -> None:
    jobs.put()
    jobs.store.edit_payload(job_id="x", payload=b"e", schema_version=2**31 - 1, fingerprint="E")
    assert refusal(jobs.put) == ("IdConflict", {"job_id": "x"})
    jobs.put(fingerprint="E")
    claim = jobs.run()
    assert (claim.envelope.payload, claim.envelope.schema_version) == (b"e", 2**31 - 1)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"schema_version": 0}, "bad_schema_version"),
        ({"schema_version": 2**31}, "bad_schema_version"),
        ({"payload": b"p" * 1_048_577}, "payload_too_large"),
    ],
)
def test_an_edit_is_looked_at_before_its_job(jobs: Driver, changes: dict[str, Any], reason: str) -> None:
    jobs.put()
    edit = {"payload": b"p" * 1_048_576, "schema_version": 1, "fingerprint": "", **changes}
    assert jobs.unchanged_by(jobs.store.edit_payload, job_id="x", **edit) == invalid(reason)
    assert refusal(jobs.store.edit_payload, job_id="unknown", **edit) == invalid(reason)


# --- reading


def test_a_job_without_and_with_its_payload(jobs: Driver) -> None:
    jobs.put(payload=b"p", headers={"h": "v"})
    short = jobs.store.get_job(job_id="x", include_payload=False)
    assert (short.payload, short.headers) == (None, None)
    assert jobs.job() == evolve(short, payload=b"p", headers={"h": "v"})
    jobs.job().headers["h"] = "edited"
    assert jobs.job().headers == {"h": "v"}
    assert jobs.store.get_job(job_id="unknown", include_payload=True) is None


def test_every_field_of_a_job(jobs: Driver) -> None:
    asked = {
        "kind": "k",
        "queue": "q",
        "schema_version": 2,
        "priority": 3,
        "max_attempts": 4,
        "partition_key": "p",
        "rate_class": "c",
        "sticky_worker": "w",
        "weight": 5,
        "fingerprint": "f",
        "retention_ms": 6,
        "timeout_ms": 7,
        "deadline_ms": 8,
        "periodic_schedule_id": "s",
        "periodic_tick_ms": 9,
        "scheduled_at_ms": 10,
        "payload": b"11",
        "headers": {"h": "12"},
        "tags": ("t",),
    }
    jobs.put(**asked)
    job = jobs.job()
    assert {name: getattr(job, name) for name in asked} == asked


def test_an_orphan_stays_one(open_jobs: OpenJobs) -> None:
    jobs = open_jobs()
    jobs.put()
    assert not jobs.job().orphaned
    jobs.lose("x")
    jobs.later(10_000).promote()
    jobs.finish()
    assert jobs.job().orphaned


def walk(jobs: Driver, limit: int = 200, **asked: Any) -> list[str]:
    found: list[str] = []
    cursor = None
    while True:
        page = jobs.store.list_jobs(where=evolve(EVERYTHING, **asked), cursor=cursor, limit=limit)
        assert len(page.jobs) <= limit
        found += [job.id for job in page.jobs]
        cursor = page.cursor
        if cursor is None:
            return found
        assert page.jobs


def test_pages_show_every_row_once(jobs: Driver) -> None:
    names = [f"j{number:03}" for number in range(250)]
    jobs.put_all(*(envelope(name, payload=b"p") for name in reversed(names)))
    for limit in (1, 7, 125, 200):
        assert walk(jobs, limit) == names
    assert jobs.store.list_jobs(where=EVERYTHING, cursor=None, limit=1).jobs[0].payload is None


@pytest.mark.parametrize("limit", [0, -1, 201])
def test_a_page_has_a_size(jobs: Driver, limit: int) -> None:
    assert refusal(jobs.store.list_jobs, where=EVERYTHING, cursor=None, limit=limit) == invalid("bad_page_limit")


def test_filters_combine(jobs: Driver) -> None:
    jobs.put("a", kind="mail:in", priority=1, tags=("t", "u"), partition_key="p", fingerprint="F")
    jobs.put("b", kind="mail:out", priority=2, tags=("t",), rate_class="c", fingerprint="G")
    jobs.put("c", kind="index", queue="r", pending=True, fingerprint="F")
    assert walk(jobs) == ["a", "b", "c"]
    cases: list[tuple[dict[str, Any], list[str]]] = [
        ({"queue": "q"}, ["a", "b"]),
        ({"state": State.PENDING}, ["c"]),
        ({"kind": "index"}, ["c"]),
        ({"kind": "mail"}, []),
        ({"kind_prefix": "mail:"}, ["a", "b"]),
        ({"partition_key": "p"}, ["a"]),
        ({"partition_key": ""}, ["b", "c"]),
        ({"id": "b"}, ["b"]),
        ({"fingerprint": "F"}, ["a", "c"]),
        ({"rate_class": "c"}, ["b"]),
        ({"priority": 0}, ["c"]),
        ({"tags_all": ("t", "u")}, ["a"]),
        ({"tags_any": ("u", "other")}, ["a"]),
        ({"tags_any": ("t", "u")}, ["a", "b"]),
        ({"tags_all": ("t",), "tags_any": ("other",)}, []),
        ({"fingerprint": "F", "queue": "r"}, ["c"]),
        ({"fingerprint": "F", "queue": "r", "kind_prefix": "mail"}, []),
    ]
    for asked, expected in cases:
        assert walk(jobs, 1, **asked) == expected, asked


def test_counts(jobs: Driver) -> None:
    assert jobs.counts() == {}
    jobs.put_all(envelope("a"), envelope("b"), envelope("c", queue="r", pending=True))
    jobs.finish("a")
    assert jobs.counts() == {"completed": 1, "running": 1, "pending": 1}
    assert (jobs.counts("r"), jobs.counts("none")) == ({"pending": 1}, {})
    assert jobs.store.counts(queue=None).approximate is False


def test_stats(jobs: Driver) -> None:
    assert list(jobs.store.queue_stats()) == []
    jobs.store.pause_queue(queue="paused")
    jobs.store.set_enqueue_limit(queue="limited", limit=3)
    jobs.put("a", scheduled_at_ms=T0 - 50)
    jobs.put("b", scheduled_at_ms=T0 - 90, pending=False, priority=9)
    jobs.put("c", scheduled_at_ms=T0 + 90)
    jobs.finish("b")
    jobs.put("d", scheduled_at_ms=T0 - 10)
    stats = {entry.queue: entry for entry in jobs.store.queue_stats()}
    assert list(stats) == ["limited", "paused", "q"]
    assert (stats["paused"].paused, stats["limited"].paused) == (True, False)
    assert (stats["limited"].max_unfinished_jobs, stats["limited"].unfinished_jobs) == (3, 0)
    assert (stats["limited"].by_state, stats["limited"].oldest_available_ms) == ({}, None)
    assert stats["q"].by_state == {"available": 1, "completed": 1, "running": 1, "scheduled": 1}
    assert (stats["q"].unfinished_jobs, stats["q"].max_unfinished_jobs) == (3, None)
    assert stats["q"].oldest_available_ms == 10
    assert jobs.at(T0 - 10).stats().oldest_available_ms == 0
    assert jobs.at(T0 - 11).stats().oldest_available_ms is None
    jobs.store.unpause_queue(queue="paused")
    jobs.store.set_enqueue_limit(queue="limited", limit=None)
    idle = [entry for entry in jobs.store.queue_stats() if entry.queue != "q"]
    assert all((entry.paused, entry.max_unfinished_jobs, entry.by_state) == (False, None, {}) for entry in idle)


def test_the_time_to_drain(jobs: Driver) -> None:
    jobs.at(60_000)
    jobs.put_all(*(envelope(f"j{number}") for number in range(6)))
    for claim in jobs.at(120_000).admit(3):
        jobs.ack(claim, Outcome.SUCCESS)
    assert jobs.at(180_000).stats().time_to_drain_ms == 60_000
    assert jobs.at(240_000).stats().time_to_drain_ms is None


@pytest.mark.parametrize(
    ("state", "admissible", "blocker"),
    [
        (State.PENDING, False, None),
        (State.SCHEDULED, False, Blocker("schedule", 3)),
        (State.AVAILABLE, True, None),
        (State.RUNNING, True, None),
        (State.RETRYABLE, False, Blocker("schedule", 993)),
        (State.COMPLETED, False, None),
        (State.ARCHIVED, False, None),
        (State.CANCELLED, False, None),
        (State.UNDECODABLE, False, None),
        (State.QUARANTINED, False, Blocker("quarantine", None)),
    ],
)
def test_what_stands_against_a_state(jobs: Driver, state: State, admissible: bool, blocker: Blocker | None) -> None:
    bring(jobs, state)
    found = jobs.later(7).store.explain_admission(job_id="x")
    assert (found.job_id, found.state, found.admissible, found.blocker) == ("x", state, admissible, blocker)


def test_a_due_time_that_has_passed_is_no_negative_wait(jobs: Driver) -> None:
    bring(jobs, State.SCHEDULED)
    assert jobs.later(50).store.explain_admission(job_id="x").blocker == Blocker("schedule", 0)


def test_what_stands_against_an_available_job_comes_in_order(jobs: Driver) -> None:
    def blocker() -> Blocker | None:
        found = jobs.store.explain_admission(job_id="x")
        assert found.admissible == (found.blocker is None)
        return found.blocker

    jobs.put("crasher", fingerprint="F", queue="p")
    jobs.put(rate_class="c", weight=3, fingerprint="F")
    jobs.store.set_rate_limit(name="c", limit=2, window_ms=1_000, burst=1)
    jobs.store.pause_queue(queue="q")
    jobs.admit(queues=("p",), lease_ms=1)
    jobs.later(1).reclaim()
    jobs.at(T0 - 5)
    assert blocker() == Blocker("queue_paused", None)
    jobs.store.unpause_queue(queue="q")
    assert blocker() == Blocker("schedule", 5)
    jobs.at(T0)
    assert blocker() == Blocker("quarantine", None)
    jobs.store.release_fingerprint(fingerprint="F")
    assert blocker() == Blocker("rate_class", 1_000)
    jobs.store.set_rate_limit(name="c", limit=0, window_ms=1_000, burst=1)
    assert blocker() == Blocker("rate_class", None)
    jobs.store.set_rate_limit(name="c", limit=0, window_ms=1_000, burst=3)
    assert blocker() is None
    assert jobs.unchanged_by(jobs.store.explain_admission, job_id="unknown") == no_job("unknown")


def test_kinds_that_wait(jobs: Driver) -> None:
    for job_id, kind in [("a", "z"), ("b", "y"), ("c", "z"), ("d", "x")]:
        jobs.put(job_id, kind=kind, pending=job_id == "b")
    jobs.store.operator_cancel(job_id="d")
    assert list(jobs.store.distinct_kinds(limit=10)) == ["y", "z"]
    assert list(jobs.store.distinct_kinds(limit=1)) == ["y"]
    assert list(jobs.store.distinct_kinds(limit=-1)) == []


# --- limits


def test_many_producers_at_a_limit(jobs: Driver) -> None:
    jobs.store.set_enqueue_limit(queue="q", limit=25)
    answers = race(*(lambda number=number: jobs.put(f"j{number}") for number in range(64)))
    refused = [error.details for error in answers if error is not None]
    full = {"queue": "q", "limit": 25, "current": 25, "incoming": 1}
    assert (len(refused), refused[0]) == (39, full)
    assert all(details == full for details in refused)
    assert (jobs.stats().unfinished_jobs, jobs.stats().max_unfinished_jobs) == (25, 25)
    accepted = jobs.store.envelopes()[0].id
    jobs.put(accepted)
    assert jobs.unchanged_by(jobs.put_all, envelope("n1"), envelope("n2"), envelope(accepted)) == (
        "Backpressure",
        {**full, "incoming": 2},
    )
    jobs.store.operator_cancel(job_id=accepted)
    jobs.put("replacement")
    jobs.store.set_enqueue_limit(queue="q", limit=10)
    assert jobs.unchanged_by(jobs.put, "n1") == ("Backpressure", {**full, "limit": 10})
    assert len(jobs.admit()) == 25
    jobs.store.set_enqueue_limit(queue="q", limit=None)
    jobs.put("n1")
    assert (jobs.stats().unfinished_jobs, jobs.stats().max_unfinished_jobs) == (26, None)


def test_the_first_full_queue_by_name_is_named(jobs: Driver) -> None:
    for queue in ("b", "a", "c"):
        jobs.store.set_enqueue_limit(queue=queue, limit=1 if queue == "a" else 0)
    batch = [envelope("1", queue="c"), envelope("2", queue="b"), envelope("3", queue="a")]
    expected = {"queue": "b", "limit": 0, "current": 0, "incoming": 1}
    assert jobs.unchanged_by(jobs.put_all, *batch) == ("Backpressure", expected)
    jobs.put_all(batch[2])


def test_the_default_queue_has_a_limit_too(jobs: Driver) -> None:
    jobs.store.set_enqueue_limit(queue="default", limit=0)
    assert refusal(jobs.put, queue="")[1] == {"queue": "default", "limit": 0, "current": 0, "incoming": 1}


@pytest.mark.parametrize("state", State)
def test_only_the_unfinished_take_a_place(jobs: Driver, state: State) -> None:
    bring(jobs, state)
    jobs.store.set_enqueue_limit(queue="q", limit=1)
    if state in UNFINISHED:
        assert refusal(jobs.put, "next")[1]["current"] == 1
        return
    jobs.put("next")
    assert refusal(jobs.put, "another")[1]["current"] == 1


def test_operators_take_places_without_asking(jobs: Driver) -> None:
    jobs.put_all(envelope("a"), envelope("b", fingerprint="F"))
    jobs.lose("b")
    jobs.store.operator_cancel(job_id="a")
    jobs.store.set_enqueue_limit(queue="q", limit=0)
    jobs.store.operator_retry(job_id="a")
    jobs.store.release_fingerprint(fingerprint="F")
    assert jobs.stats().unfinished_jobs == 2
    assert sorted(jobs.admitted()) == ["a", "b"]


def test_removal_frees_a_place(jobs: Driver) -> None:
    jobs.store.set_enqueue_limit(queue="q", limit=1)
    for ending in ("delete", "success", "revoke"):
        jobs.put(retention_ms=0)
        if ending == "delete":
            jobs.store.delete_job(job_id="x")
        else:
            jobs.finish(outcome=Outcome.SUCCESS if ending == "success" else Outcome.REVOKE)
    jobs.put("last")


@pytest.mark.parametrize("limit", [-1, 2**63])
def test_a_limit_that_is_none(jobs: Driver, limit: int) -> None:
    assert jobs.unchanged_by(jobs.store.set_enqueue_limit, queue="q", limit=limit) == invalid("bad_limit")
    jobs.store.set_enqueue_limit(queue="q", limit=2**63 - 1)
