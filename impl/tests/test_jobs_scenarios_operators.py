"""Sweeps, operators and inspection: S-39 and what is named after it, on either store."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from attrs import evolve

from workspec.jobs.vocabulary import Outcome, State

from .jobs_driver import (
    EVERYTHING,
    T0,
    Driver,
    OpenJobs,
    envelope,
    ids,
    invalid,
    no_job,
    refusal,
    wrong_state,
)

KEY = b"K"


@pytest.fixture
def jobs(open_jobs: OpenJobs) -> Driver:
    return open_jobs()


def test_s39_pause_promotion_and_duties(jobs: Driver) -> None:
    jobs.store.pause_queue(queue="q")
    jobs.put("x", scheduled_at_ms=T0 + 5)
    jobs.put("y", queue="p")
    jobs.put("z")
    assert jobs.admitted(queues=["q", "p"]) == ["y"]
    assert jobs.at(T0 + 4).promote() == 0
    assert jobs.at(T0 + 5).promote(0) == 0
    assert jobs.promote() == 1
    jobs.store.unpause_queue(queue="unknown")
    jobs.store.unpause_queue(queue="q")
    assert jobs.admitted(queues=["q", "p"]) == ["z", "x"]

    duty = partial(jobs.store.claim_duty, name="sweep", lease_ms=1_000)
    jobs.at(0)
    assert duty(holder="A")
    assert not duty(holder="B")
    assert not jobs.at(999).store.claim_duty(name="sweep", holder="B", lease_ms=1)
    jobs.at(1_000)
    assert [duty(holder=holder) for holder in "BAB"] == [True, False, True]
    jobs.store.release_duty(name="sweep", holder="A")
    assert not duty(holder="A")
    jobs.store.release_duty(name="sweep", holder="B")
    assert duty(holder="A")
    assert refusal(jobs.store.claim_duty, name="sweep", holder="A", lease_ms=0) == invalid("bad_lease")


def test_promotion_takes_the_earliest_first_and_keeps_due_times(jobs: Driver) -> None:
    for name, due in (("c", 30), ("a", 20), ("b", 20), ("d", 40)):
        jobs.put(name, scheduled_at_ms=T0 + due)
    jobs.later(100)
    assert jobs.promote(2) == 2
    assert {name for name in "abcd" if jobs.state(name) == State.AVAILABLE} == {"a", "b"}
    assert jobs.promote(2) == 2
    assert jobs.job("c").scheduled_at_ms == T0 + 30
    assert jobs.counts() == {"available": 4}


def test_reclamation_takes_the_leases_that_ended_first(jobs: Driver) -> None:
    for name, lease_ms in (("c", 10), ("a", 20), ("b", 20)):
        jobs.put(name)
        jobs.admit(lease_ms=lease_ms)
    jobs.later(100)
    assert [lost.job_id for lost in jobs.reclaim(2)] == ["c", "a"]
    assert jobs.reclaim(0) == jobs.reclaim(-1) == []
    assert [lost.job_id for lost in jobs.reclaim(2)] == ["b"]


def test_operator_verbs_know_their_states(jobs: Driver) -> None:
    store = jobs.store
    verbs: dict[str, tuple[Callable[..., Any], set[str]]] = {
        "cancel": (store.operator_cancel, {"pending", "scheduled", "available", "running", "retryable"}),
        "retry": (store.operator_retry, {"archived", "cancelled", "undecodable"}),
        "promote": (store.promote_job, {"pending"}),
        "schedule": (partial(store.schedule_pending_job, at_ms=T0 - 1), {"pending"}),
        "reschedule": (partial(store.reschedule_job, at_ms=T0 - 1), {"scheduled", "retryable"}),
        "edit": (
            partial(store.edit_payload, payload=b"e", schema_version=7, fingerprint="E"),
            set(State) - {"running"},
        ),
        "delete": (store.delete_job, set(State) - {"running"}),
    }
    for verb, (call, allowed) in verbs.items():
        assert refusal(call, job_id="absent") == no_job("absent")
        for state in State:
            store.reset()
            _reach(jobs, state)
            assert jobs.state() == state
            if state not in allowed:
                assert jobs.unchanged_by(call, job_id="x") == wrong_state(state), (verb, state)
                continue
            call(job_id="x")
            after = "cancelled" if verb == "cancel" else "available" if verb in ("retry", "promote") else state
            after = "scheduled" if verb == "schedule" else after
            assert jobs.counts() == ({} if verb == "delete" else {after: 1}), (verb, state)
            if verb == "edit":
                job = jobs.job()
                assert (job.payload, job.schema_version, job.fingerprint) == (b"e", 7, "E")
            if verb in ("schedule", "reschedule"):
                assert jobs.job().scheduled_at_ms == T0 - 1
                assert jobs.promote() == 1
    for version in (0, 2**31):
        answer = refusal(verbs["edit"][0], job_id="absent", schema_version=version)
        assert answer == invalid("bad_schema_version")


def _reach(jobs: Driver, state: State) -> None:
    jobs.at(T0).put(
        pending=state == State.PENDING, scheduled_at_ms=T0 + 1 if state == State.SCHEDULED else 0, unique_key=KEY
    )
    outcomes = {
        State.RETRYABLE: Outcome.RETRY,
        State.COMPLETED: Outcome.SUCCESS,
        State.ARCHIVED: Outcome.SKIP,
        State.UNDECODABLE: Outcome.UNDECODABLE,
    }
    if state in outcomes:
        jobs.finish("x", outcomes[state])
    if state == State.RUNNING:
        jobs.admit()
    if state == State.CANCELLED:
        jobs.store.operator_cancel(job_id="x")
    if state == State.QUARANTINED:
        for _ in range(3):
            jobs.lose("x")
            jobs.later(10_000).promote()
        jobs.at(T0)


def test_listing(jobs: Driver) -> None:
    for number in range(7):
        jobs.put(
            f"j{number}",
            kind=("mail:a", "mail:b", "index")[number % 3],
            queue=("q", "r")[number % 2],
            tags=("even",) if number % 2 == 0 else ("odd", "last") if number > 4 else ("odd",),
            priority=number,
            partition_key="P" if number < 3 else "",
            rate_class="c" if number > 3 else "",
        )

    def listed(**parts: Any) -> list[str]:
        found, cursor = [], None
        while True:
            page = jobs.store.list_jobs(where=evolve(EVERYTHING, **parts), cursor=cursor, limit=2)
            assert len(page.jobs) <= 2
            assert all(job.payload is None and job.headers is None for job in page.jobs)
            found += [job.id for job in page.jobs]
            cursor = page.cursor
            if cursor is None:
                return found

    assert listed() == [f"j{number}" for number in range(7)]
    assert listed(queue="r") == ["j1", "j3", "j5"]
    assert listed(kind_prefix="mail:") == ["j0", "j1", "j3", "j4", "j6"]
    assert listed(kind="index", queue="q") == ["j2"]
    assert listed(tags_all=("odd", "last")) == ["j5"]
    assert listed(tags_any=("last", "even")) == ["j0", "j2", "j4", "j5", "j6"]
    assert listed(priority=3) == listed(id="j3") == listed(fingerprint="fp-j3") == ["j3"]
    assert listed(partition_key="P", state=State.AVAILABLE) == ["j0", "j1", "j2"]
    assert listed(rate_class="c") == ["j4", "j5", "j6"]
    assert listed(state=State.RUNNING) == listed(id="absent") == []
    for limit in (0, 201):
        answer = refusal(jobs.store.list_jobs, where=EVERYTHING, cursor=None, limit=limit)
        assert answer == invalid("bad_page_limit")


def test_counts_and_statistics(jobs: Driver) -> None:
    jobs.at(600_000)
    jobs.put_all(*[envelope(f"j{number}", priority=number % 3, partition_key="AB"[number % 2]) for number in range(6)])
    jobs.put("other", queue="r", pending=True, kind="v")
    jobs.store.set_enqueue_limit(queue="limited", limit=3)
    jobs.store.pause_queue(queue="paused")
    jobs.at(630_000).finish("j0")
    jobs.at(660_500)
    stats = jobs.stats()
    assert stats.by_state == {"running": 5, "completed": 1}
    assert (stats.unfinished_jobs, stats.oldest_available_ms) == (5, None)
    assert (stats.arrived_last_minute, stats.completed_last_minute) == (6, 1)
    assert [stats.queue for stats in jobs.store.queue_stats()] == ["limited", "paused", "q", "r"]
    assert jobs.counts() == {"running": 5, "completed": 1, "pending": 1}
    assert jobs.counts("r") == {"pending": 1}
    assert jobs.counts("unknown") == {}
    jobs.put("older", scheduled_at_ms=660_000, partition_key="A", priority=-1)
    jobs.put("newer", scheduled_at_ms=660_400, partition_key="B", priority=7)
    assert jobs.stats().oldest_available_ms == 500
    assert jobs.store.distinct_kinds(limit=9) == ["v", "w"]
    assert jobs.store.distinct_kinds(limit=1) == ["v"]
    jobs.at(780_000)
    assert jobs.stats().arrived_last_minute == 0


def test_what_stands_against_an_admission(jobs: Driver) -> None:
    explain = jobs.store.explain_admission
    jobs.put("x", scheduled_at_ms=T0 + 7)
    assert explain(job_id="x").blocker.eta_ms == 7
    jobs.later(9)
    assert (explain(job_id="x").blocker.policy, explain(job_id="x").blocker.eta_ms) == ("schedule", 0)
    jobs.promote()
    assert (explain(job_id="x").admissible, explain(job_id="x").blocker) == (True, None)
    jobs.store.pause_queue(queue="q")
    assert explain(job_id="x").blocker.policy == "queue_paused"
    jobs.store.unpause_queue(queue="q")
    claim = jobs.run()
    assert explain(job_id="x").admissible
    jobs.ack(claim, Outcome.SUCCESS)
    assert (explain(job_id="x").admissible, explain(job_id="x").blocker) == (False, None)
    assert refusal(explain, job_id="absent") == no_job("absent")


def test_every_envelope_is_listed_in_id_order(jobs: Driver) -> None:
    jobs.put("b", tags=("z", "a"), headers={"h": "v"}, queue="")
    jobs.put("a")
    jobs.finish("a")
    found = jobs.store.envelopes()
    assert [one.id for one in found] == ["a", "b"]
    assert (found[1].tags, found[1].headers, found[1].queue) == (("a", "z"), {"h": "v"}, "default")


def test_looks_of_tests_at_one_job(jobs: Driver) -> None:
    jobs.put(payload=b"p", tags=("t",))
    jobs.finish("x", Outcome.RETRY, error="e")
    found, state = jobs.store.job_state("x")
    assert (found, state) == (jobs.store.envelopes()[0], State.RETRYABLE)
    assert [(entry.error, entry.attempt) for entry in jobs.store.errors("x")] == [("e", 1)]
    assert (jobs.store.job_state("absent"), jobs.store.errors("absent")) == (None, [])


def test_a_claim_gives_back_what_was_stored(jobs: Driver) -> None:
    asked = envelope(
        schema_version=3, payload=b"\0\xff", partition_key="p\0", rate_class="c", weight=4, priority=-5,
        max_attempts=6, scheduled_at_ms=T0 - 7, timeout_ms=8, deadline_ms=9, periodic_schedule_id="s",
        periodic_tick_ms=11, headers={"traceparent": "", "é\0": "\0"}, tags=("b", "a\0"), sticky_worker="w",
    )  # fmt: skip
    blank = {"unique_key": KEY, "unique_window_ms": 5, "unique_states": 3, "attempt": 3, "crash_attempt": 2}
    jobs.put_all(evolve(asked, **blank))
    assert jobs.run().envelope == evolve(asked, tags=("a\0", "b"))
    assert ids(jobs.admit()) == []
