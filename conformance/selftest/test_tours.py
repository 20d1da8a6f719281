"""Tours: they are of the present rules, together they show all that search has reached, and few runs do."""

from __future__ import annotations

from collections import Counter

import pytest

from workcert.backends.registry import describe
from workcert.backends.specification import of
from workcert.binding import bindings
from workcert.cases import calls_of, parse, write
from workcert.cases.library import load_case
from workcert.cases.model import Call, Transaction
from workcert.codec import resolve
from workcert.run.case import run_case
from workcert.run.events import Verdict
from workcert.run.store import StoreUnderTest
from workcert.search import reach
from workcert.search.command import CONFIGURATIONS
from workcert.search.targets import Target
from workcert.tour import tours
from workcert.tour.build import built
from workcert.tour.library import index_of
from workspec.core.contract import digest

CONTRACTS = ("workload", "jobs")
SMALL = {"workload": ("waiting", "values"), "jobs": ("settings", "validation", "pressure")}


@pytest.mark.parametrize("contract", CONTRACTS)
def test_they_are_of_the_present_rules(contract: str) -> None:
    now = digest(bindings()[contract].contract)
    assert index_of(contract)["digest"] == now, f"run: workcert search {contract} --all --write"
    assert {tour.case.header.digest for tour in tours(contract)} == {now}


@pytest.mark.parametrize("contract", CONTRACTS)
def test_a_target_is_shown_by_one_tour_and_each_tour_shows_some(contract: str) -> None:
    counts = Counter(target for tour in tours(contract) for target in tour.targets)
    assert set(counts.values()) == {1}
    assert all(tour.targets for tour in tours(contract))
    unreached = {Target(kind, tuple(name)) for kind, *name in index_of(contract)["unreached"]}
    assert not unreached & set(counts)
    assert len(counts) > 800


@pytest.mark.parametrize("contract", CONTRACTS)
def test_the_specification_passes_them_all(contract: str) -> None:
    with StoreUnderTest.of(describe("the specification", of(bindings()[contract]))) as store:
        runs = {tour.case.header.name: run_case(store, tour.case) for tour in tours(contract)}
    assert {name: run.failure for name, run in runs.items() if run.verdict is not Verdict.PASSED} == {}


@pytest.mark.parametrize("contract", CONTRACTS)
def test_what_a_tour_shows_is_in_the_traces_of_its_run(contract: str) -> None:
    """Of checks, rows, effects and sides; a read shows its own only in what it answers."""
    with StoreUnderTest.of(describe("the specification", of(bindings()[contract]))) as store:
        for tour in tours(contract)[::5]:
            traces = [trace for step in run_case(store, tour.case).steps for trace in _traces(step)]
            fired = {key for trace in traces for key in trace.fired}
            sides = {side for trace in traces for side in trace.sides}
            missing = [target.text for target in tour.targets if not _is_in(target, fired, sides)]
            assert missing == [], tour.case.header.name


def _traces(step: object) -> list[object]:
    return [*step.traces, *(trace for inner in step.during for trace in _traces(inner))]  # type: ignore[attr-defined]


def _is_in(target: Target, fired: set[str], sides: set[tuple[str, str]]) -> bool:
    if target.kind in ("check", "row", "table row", "effect"):
        return target.name[0] in fired
    return target.kind != "side" or target.name in sides


@pytest.mark.parametrize("contract", CONTRACTS)
def test_the_generator_gives_them_again(contract: str) -> None:
    binding = bindings()[contract]
    small = [each for each in CONFIGURATIONS[contract] if each.name in SMALL[contract]]
    first, second = (built(binding, reach(binding.contract, small)) for _ in range(2))
    assert [write(tour.case) for tour in first] == [write(tour.case) for tour in second]
    assert [tour.targets for tour in first] == [tour.targets for tour in second]
    for tour in first:
        assert parse(write(tour.case)) == tour.case


def test_a_visit_is_made_on_the_way_and_time_never_goes_back() -> None:
    for contract in CONTRACTS:
        for tour in tours(contract):
            instants = [s.at for s in tour.case.steps if isinstance(s, Call | Transaction) and s.at is not None]
            assert instants == sorted(instants), tour.case.header.name
        calls = sum(1 for tour in tours(contract) for _call in calls_of(tour.case))
        targets = sum(len(tour.targets) for tour in tours(contract))
        assert calls < 1.5 * targets
        assert len(tours(contract)) < targets / 4


def test_large_values_are_written_in_few_words() -> None:
    longest = max(len(write(tour.case)) for contract in CONTRACTS for tour in tours(contract))
    assert longest < 100_000
    enqueued = [call for tour in tours("jobs") for call in calls_of(tour.case) if call.call == "enqueue"]
    batches = [resolve(call.args["envelopes"], {}) for call in enqueued]
    assert max(len(batch) for batch in batches) == 1001


def test_a_tour_is_replayed_by_its_name() -> None:
    tour = tours("workload")[0]
    assert load_case(tour.case.header.name) == tour.case
