"""Token buckets: refill, cost, settlement, the operator's configuration (section 6.5, P-03)."""

from __future__ import annotations

from typing import Any

import pytest

from workspec.jobs.vocabulary import Blocker, LeaseRef, Outcome

from .jobs_driver import T0, Driver, OpenJobs, envelope, invalid, lease_rejected, ref


@pytest.fixture
def jobs(open_jobs: OpenJobs) -> Driver:
    return open_jobs(crash_limit=1)


def bucket(jobs: Driver, burst: int, *, limit: int = 0, window_ms: int = 60_000, name: str = "c") -> None:
    jobs.store.set_rate_limit(name=name, limit=limit, window_ms=window_ms, burst=burst)


def costing(jobs: Driver, **costs: int) -> None:
    jobs.put_all(*(envelope(job_id, rate_class="c", weight=cost) for job_id, cost in costs.items()))


# --- refill


def test_the_fraction_of_a_token_is_kept_while_nothing_is_gained(jobs: Driver) -> None:
    jobs.at(10_000)
    bucket(jobs, 1, limit=1, window_ms=1_000)
    costing(jobs, j0=1, j1=1, j2=1)
    answers = [jobs.at(at_ms).admitted() for at_ms in (10_000, 10_500, 10_999, 11_000, 11_999, 12_000)]
    assert answers == [["j0"], [], [], ["j1"], [], ["j2"]]


def test_the_fraction_is_dropped_with_a_gain(jobs: Driver) -> None:
    bucket(jobs, 9, limit=1, window_ms=1_000)
    costing(jobs, a=9, b=2)
    assert jobs.admitted() == ["a"]
    assert jobs.later(1_900).admitted() == []
    # One token was credited and nine tenths dropped.
    assert jobs.later(999).admitted() == []
    assert jobs.later(1).admitted() == ["b"]


def test_tokens_do_not_pass_the_burst(jobs: Driver) -> None:
    bucket(jobs, 2, limit=1, window_ms=1)
    costing(jobs, a=1, b=1, c=1)
    assert jobs.later(10**9).admitted() == ["a", "b"]
    assert jobs.tokens() == 0


@pytest.mark.parametrize(("limit", "window_ms"), [(0, 1), (-1, 1), (1, 0), (1, -1)])
def test_without_limit_or_window_nothing_is_gained(jobs: Driver, limit: int, window_ms: int) -> None:
    bucket(jobs, 1, limit=limit, window_ms=window_ms)
    costing(jobs, a=1, b=1)
    assert jobs.admitted() == ["a"]
    assert jobs.later(10**9).admitted() == []


def test_a_clock_that_went_back_gains_nothing(jobs: Driver) -> None:
    bucket(jobs, 1, limit=1, window_ms=1)
    jobs.put("a", rate_class="c", scheduled_at_ms=1)
    jobs.put("b", rate_class="c", scheduled_at_ms=1)
    assert jobs.admitted() == ["a"]
    assert jobs.at(T0 - 10).admitted() == []


# --- cost


def test_weighted_cost_and_settlement(jobs: Driver) -> None:
    bucket(jobs, 5)
    costing(jobs, a=3, b=2, c=1)
    a, b = jobs.admit()
    assert [a.envelope.id, b.envelope.id, jobs.tokens()] == ["a", "b", 0]
    jobs.ack(a, Outcome.SUCCESS, actual=1)
    assert jobs.tokens() == 2
    assert (jobs.admitted(), jobs.tokens()) == (["c"], 1)
    jobs.ack(b, Outcome.SUCCESS, actual=4)
    assert jobs.tokens() == -1
    costing(jobs, d=1)
    assert jobs.admitted() == []


def test_a_full_refund(jobs: Driver) -> None:
    bucket(jobs, 3)
    costing(jobs, a=3, b=3)
    [a] = jobs.admit()
    jobs.ack(a, Outcome.SUCCESS, actual=0)
    assert jobs.tokens() == 3
    assert jobs.admitted() == ["b"]


def test_an_omitted_weight_costs_one_and_too_much_never_passes(jobs: Driver) -> None:
    bucket(jobs, 2, limit=1, window_ms=1)
    costing(jobs, huge=3)
    jobs.put("plain", rate_class="c")
    assert jobs.later(10**6).admitted() == ["plain"]
    assert jobs.tokens() == 1


def test_a_class_without_bucket_is_unlimited_and_gets_none(jobs: Driver) -> None:
    costing(jobs, a=10**6)
    jobs.put("b", weight=7)
    assert jobs.admitted() == ["a", "b"]
    assert jobs.store.get_rate_class(name="c") is None
    assert jobs.store.get_rate_class(name="") is None


def test_no_class_is_no_limit_even_if_somebody_configures_it(jobs: Driver) -> None:
    bucket(jobs, 0, name="")
    jobs.put()
    assert jobs.admitted() == ["x"]


def test_a_class_is_shared_by_partitions_and_queues(jobs: Driver) -> None:
    bucket(jobs, 3)
    for job_id, partition, cost, rate_class in [("a1", "A", 2, "c"), ("a2", "A", 1, "c"), ("b1", "B", 2, "c")]:
        jobs.put(job_id, partition_key=partition, weight=cost, rate_class=rate_class)
    jobs.put("b2", partition_key="B")
    assert (jobs.admitted(), jobs.tokens()) == (["a1", "b2", "a2"], 0)
    bucket(jobs, 5)
    for number in range(5):
        jobs.put_all(*(envelope(f"{queue}{number}", queue=queue, rate_class="c") for queue in ("r", "s")))
    assert jobs.admitted(3, queues=("r",)) == ["r0", "r1", "r2"]
    assert jobs.admitted(queues=("s", "r"), worker="second") == ["s0", "s1"]


def test_a_blocked_row_is_neither_charged_nor_touched(jobs: Driver) -> None:
    bucket(jobs, 1)
    costing(jobs, a=2)
    before = jobs.job("a")
    assert jobs.admitted() == []
    assert (jobs.job("a"), jobs.tokens()) == (before, 1)


def test_quarantine_comes_before_the_rate_class(jobs: Driver) -> None:
    jobs.put("crasher", fingerprint="F")
    jobs.put("sibling", fingerprint="F", rate_class="c")
    bucket(jobs, 5, limit=1, window_ms=1_000)
    jobs.lose("crasher")
    before = jobs.store.snapshot()["bucket/c"]
    assert jobs.later(5_000).admitted() == []
    # Not even refilled: the candidate never came to it.
    assert jobs.store.snapshot()["bucket/c"] == before


# --- settlement


@pytest.mark.parametrize("outcome", [outcome for outcome in Outcome if outcome != Outcome.LEASE_LOST])
def test_every_outcome_settles(jobs: Driver, outcome: Outcome) -> None:
    bucket(jobs, 5)
    costing(jobs, a=3)
    [a] = jobs.admit()
    jobs.ack(a, outcome, delay_ms=1, actual=1)
    assert jobs.tokens() == 4


@pytest.mark.parametrize("outcome", [Outcome.SUCCESS, Outcome.RATE_LIMITED, Outcome.RETRY])
def test_without_an_actual_weight_the_estimate_was_right(jobs: Driver, outcome: Outcome) -> None:
    bucket(jobs, 5, limit=1, window_ms=1_000)
    costing(jobs, a=3)
    [a] = jobs.admit()
    before = jobs.store.snapshot()["bucket/c"]
    jobs.later(500).ack(a, outcome)
    assert jobs.store.snapshot()["bucket/c"] == before


def test_settlement_always_restamps(jobs: Driver) -> None:
    bucket(jobs, 2, limit=1, window_ms=1_000)
    costing(jobs, a=1, b=1, c=1)
    a, _ = jobs.admit()
    jobs.later(999).ack(a, Outcome.SUCCESS, actual=1)
    assert jobs.later(999).admitted() == []
    assert jobs.later(1).admitted() == ["c"]


def test_settlement_credits_the_gain_and_stays_within_the_burst(jobs: Driver) -> None:
    bucket(jobs, 4, limit=1, window_ms=1_000)
    costing(jobs, a=3, b=1)
    a, b = jobs.admit()
    jobs.later(2_500).ack(a, Outcome.SUCCESS, actual=3)
    assert jobs.tokens() == 2
    # Refilled to the burst first, then charged: 4 + 1 - 2.
    jobs.later(10_000).ack(b, Outcome.SUCCESS, actual=2)
    assert jobs.tokens() == 3


def test_a_refused_ack_settles_nothing(jobs: Driver) -> None:
    bucket(jobs, 3)
    costing(jobs, a=3)
    [a] = jobs.admit()
    stale = LeaseRef("a", a.lease_id, a.fence + 1)
    assert jobs.unchanged_by(jobs.ack, stale, Outcome.SUCCESS, actual=0) == lease_rejected("a")
    assert jobs.unchanged_by(jobs.ack, a, Outcome.SNOOZE, actual=0) == invalid("snooze_needs_delay")
    assert jobs.unchanged_by(jobs.ack, a, Outcome.LEASE_LOST, actual=0) == invalid("lease_lost_not_ackable")
    jobs.ack(a, Outcome.SUCCESS, actual=0)
    assert jobs.tokens() == 3


def test_a_bucket_that_came_later_is_left_alone(jobs: Driver) -> None:
    costing(jobs, b=3)
    [b] = jobs.admit()
    bucket(jobs, 5)
    jobs.ack(b, Outcome.SUCCESS, actual=10)
    assert jobs.tokens() == 5


def test_settlement_goes_to_the_bucket_as_it_is_configured_now(jobs: Driver) -> None:
    bucket(jobs, 9)
    costing(jobs, a=4)
    [a] = jobs.admit()
    bucket(jobs, 2)
    jobs.ack(a, Outcome.SUCCESS, actual=5)
    assert jobs.tokens() == 1


def test_crash_and_cancel_refund_nothing(jobs: Driver) -> None:
    bucket(jobs, 3)
    costing(jobs, a=1, b=1)
    jobs.admit(lease_ms=1)
    jobs.store.operator_cancel(job_id="a")
    jobs.later(1).reclaim()
    assert jobs.tokens() == 1


# --- configuration


def test_the_helper_resets_and_the_operator_does_not_give_tokens_away(jobs: Driver) -> None:
    def configure(burst: int, paused: bool = False) -> None:
        jobs.store.upsert_rate_class(name="c", limit=1, window_ms=1_000, burst=burst, paused=paused)

    configure(5)
    costing(jobs, a=3)
    jobs.admit()
    assert jobs.tokens() == 2
    configure(9)
    assert jobs.tokens() == 2
    configure(1)
    assert jobs.tokens() == 1
    bucket(jobs, 5)
    assert jobs.tokens() == 5


def test_reading_tokens_writes_nothing(jobs: Driver) -> None:
    bucket(jobs, 5, limit=1, window_ms=1_000)
    costing(jobs, a=5)
    jobs.admit()
    before = jobs.store.snapshot()
    shown = jobs.later(2_999).store.get_rate_class(name="c")
    assert (shown.name, shown.limit, shown.window_ms, shown.burst, shown.paused) == ("c", 1, 1_000, 5, False)
    assert shown.available_tokens == 2
    assert jobs.store.snapshot() == before


def test_a_paused_class(jobs: Driver) -> None:
    def configure(paused: bool) -> None:
        jobs.store.upsert_rate_class(name="c", limit=1, window_ms=1_000, burst=5, paused=paused)

    configure(paused=True)
    assert jobs.tokens() == 0
    configure(paused=False)
    costing(jobs, a=2, b=1)
    assert jobs.later(2_000).admitted() == ["a"]
    configure(paused=True)
    assert jobs.later(60_000).admitted() == []
    assert jobs.tokens() == 0
    assert jobs.store.explain_admission(job_id="b").blocker == Blocker("rate_class", None)
    configure(paused=False)
    # No jump: what would have been gained in the pause is not credited.
    assert jobs.admitted() == []
    assert jobs.later(1_000).admitted() == ["b"]


def test_a_paused_class_admits_nothing_even_with_tokens(jobs: Driver) -> None:
    jobs.store.upsert_rate_class(name="c", limit=0, window_ms=1, burst=5, paused=False)
    costing(jobs, a=3, b=1)
    [a, _] = jobs.admit()
    jobs.store.upsert_rate_class(name="c", limit=0, window_ms=1, burst=5, paused=True)
    jobs.ack(a, Outcome.SUCCESS, actual=0)
    costing(jobs, d=1)
    assert jobs.tokens() == 3
    assert jobs.admitted() == []


def test_a_pause_keeps_a_debt(jobs: Driver) -> None:
    bucket(jobs, 1)
    costing(jobs, a=1)
    [a] = jobs.admit()
    jobs.ack(a, Outcome.SUCCESS, actual=4)
    for paused in (True, False):
        jobs.store.upsert_rate_class(name="c", limit=0, window_ms=1, burst=9, paused=paused)
        assert jobs.tokens() == -3


@pytest.mark.parametrize(
    "changes",
    [{"limit": -1}, {"window_ms": 0}, {"burst": 0}, {"limit": 2**63}, {"window_ms": 2**63}, {"burst": 2**63}],
)
def test_a_configuration_that_is_none(jobs: Driver, changes: dict[str, Any]) -> None:
    asked = {"name": "c", "limit": 0, "window_ms": 1, "burst": 1, "paused": False}
    assert jobs.unchanged_by(jobs.store.upsert_rate_class, **{**asked, **changes}) == invalid("bad_rate_class")
    jobs.store.upsert_rate_class(**asked)


def test_a_settled_charge_does_not_settle_again(jobs: Driver) -> None:
    bucket(jobs, 3)
    costing(jobs, a=2)
    [a] = jobs.admit()
    jobs.ack(a, Outcome.RATE_LIMITED, actual=2)
    before = jobs.store.snapshot()
    assert jobs.unchanged_by(jobs.ack, ref(a), Outcome.SUCCESS, actual=0) == lease_rejected("a")
    assert jobs.store.snapshot() == before
