"""Tours: they are of the present rules, together they show all that search has reached, and few runs do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from attrs import evolve, frozen

from workcert.backends.registry import describe
from workcert.backends.specification import of
from workcert.binding import Binding, bindings
from workcert.cases import calls_of, contracts, parse, write
from workcert.cases.library import load_case
from workcert.cases.model import Call, Case, Transaction
from workcert.codec import resolve, structure, to_json
from workcert.run.case import run_case
from workcert.run.events import Verdict
from workcert.run.store import StoreUnderTest
from workcert.search import reach
from workcert.search.breadth import Breadth
from workcert.search.command import CONFIGURATIONS
from workcert.search.needs import profiles_needed
from workcert.search.path import path_to
from workcert.search.targets import Target, kinds_of_keys, shown_by
from workcert.tour import tours
from workcert.tour.build import built
from workcert.tour.library import index_of
from workspec.core.configuration import Configuration, Taken
from workspec.core.contract import digest
from workspec.core.interpreter import Accepted, apply
from workspec.core.record import Record, State
from workspec.core.scope import Call as Made

CONTRACTS = ("workload", "jobs")
SMALL = {"workload": ("waiting", "values"), "jobs": ("settings", "validation", "pressure")}


@pytest.mark.parametrize("contract", CONTRACTS)
def test_they_are_of_the_present_rules(contract: str) -> None:
    now = digest(bindings()[contract].contract)
    assert index_of(contract)["digest"] == now, f"run: workcert search {contract} --all --write"
    assert {tour.case.header.digest for tour in tours(contract)} == {now}


@pytest.mark.parametrize("contract", CONTRACTS)
def test_a_target_is_shown_once_to_stores_of_one_need_and_each_tour_shows_some(contract: str) -> None:
    needs: dict[Target, list[set[str]]] = {}
    for tour in tours(contract):
        assert tour.targets
        for target in tour.targets:
            needs.setdefault(target, []).append(set(tour.case.header.profiles))
    assert [target for target, own in needs.items() for each in own if sum(other <= each for other in own) > 1] == []
    unreached = {Target(kind, tuple(name)) for kind, *name in index_of(contract)["unreached"]}
    assert not unreached & set(needs)
    assert len(needs) > 800


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


# What a store must claim -------------------------------------------------------------------------


def made_by(binding: Binding, case: Case) -> Iterator[Taken]:
    """What the specification does at each call of a tour."""
    contract, signatures = binding.contract, contracts()[binding.name].calls
    state: State = {}
    answers: dict[str, Any] = {}
    for step in case.steps:
        assert isinstance(step, Call | Transaction)
        call = step if isinstance(step, Call) else next(calls_of(evolve(case, steps=(step,))))
        given = resolve(call.args, answers)
        arguments = {name: structure(signatures[call.call].arguments[name], value) for name, value in given.items()}
        made = Made(call.call, arguments)
        now = contract.instant(made, step.at)
        taken = Taken(contract, state, made, now, apply(contract, state, made, now))
        yield taken
        state, outcome = taken.done.state, taken.done.outcome
        if isinstance(outcome, Accepted):
            answers[call.id] = to_json(outcome.value)


def needed(binding: Binding, taken: Iterable[Taken]) -> set[str]:
    each = (profiles_needed(binding, one.call, one.before, one.done, one.changed) for one in taken)
    return set().union(*each)


@pytest.mark.parametrize("contract", CONTRACTS)
def test_a_tour_asks_for_what_its_calls_need_and_for_no_more(contract: str) -> None:
    binding, kinds = bindings()[contract], kinds_of_keys(bindings()[contract].contract)
    for tour in tours(contract):
        taken = list(made_by(binding, tour.case))
        assert needed(binding, taken) == set(tour.case.header.profiles), tour.case.header.name
        shown = {Target(*raw) for one in taken for raw in shown_by(kinds, one.before, one.done)}
        assert set(tour.targets) <= shown, tour.case.header.name


@frozen
class Narrowed:
    """A configuration without the calls that a store of these profiles has not."""

    whole: Any
    binding: Binding
    claimed: frozenset[str]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.whole, name)

    def calls(self, key: str | None, record: Record | None, now: int) -> list[Made]:
        return [call for call in self.whole.calls(key, record, now) if self._has(call)]

    def _has(self, call: Made) -> bool:
        owners = {profile for profile, names in self.binding.profile_methods.items() if call.name in names}
        return owners | self.binding.asked_by(call) <= self.claimed


def reached_by(binding: Binding, configuration: Configuration, claimed: frozenset[str]) -> set[Target]:
    """What a search of nothing but the calls that such a store has comes to, by rules of its profiles."""
    narrowed: Any = Narrowed(configuration, binding, claimed)
    breadth = Breadth(binding.contract, narrowed)
    breadth.run()
    found = set()
    for raw, way in breadth.targets.items():
        state: State = {}
        taken = []
        for step in path_to(breadth, way, raw).steps:
            done = apply(binding.contract, state, step.call, step.at)
            taken.append(Taken(binding.contract, state, step.call, step.at, done))
            state = done.state
        if needed(binding, taken) <= claimed:
            found.add(Target(*raw))
    return found


def shown_to(contract: str, claimed: frozenset[str]) -> set[Target]:
    own = (tour for tour in tours(contract) if claimed.issuperset(tour.case.header.profiles))
    return {target for tour in own for target in tour.targets}


WORLDS = {
    "workload": {
        "CORE": ("waiting", "fences"),
        "SECRETS": ("values",),
        "DEPENDENCIES": ("values",),
        "MIGRATION": ("legacy",),
    },
    "jobs": {
        "CORE": ("runs", "operators", "windows", "shares"),
        "INSPECT": ("operators", "settings", "windows"),
        "RATE": ("rates",),
        "RESULT": ("runs",),
        "OUTPUT": ("runs",),
        "PROGRESS": ("runs",),
        "LIMITS": ("validation",),
        "PAUSE": ("settings", "pressure"),
        "BACKPRESSURE": ("pressure",),
        "TXN": ("settings",),
    },
}
"""By profile some of the configurations that have calls of it, or come to rules of it."""
ASKED = [(contract, profile) for contract, worlds in WORLDS.items() for profile in worlds]


@pytest.mark.parametrize(("contract", "profile"), ASKED)
def test_a_store_is_shown_all_that_a_search_of_what_it_claims_reaches(contract: str, profile: str) -> None:
    """With CORE alone, and with each other profile by itself."""
    claimed = frozenset({profile}) - {"CORE"}
    shown = shown_to(contract, claimed)
    for configuration in CONFIGURATIONS[contract]:
        if configuration.name in WORLDS[contract][profile]:
            missing = reached_by(bindings()[contract], configuration, claimed) - shown
            assert sorted(target.text for target in missing) == [], configuration.name


def test_every_profile_that_a_tour_needs_is_asked_for_by_itself() -> None:
    for contract, worlds in WORLDS.items():
        assert {profile for tour in tours(contract) for profile in tour.case.header.profiles} == worlds.keys() - {
            "CORE"
        }


def test_most_of_what_core_can_do_is_shown_to_a_store_of_core() -> None:
    for contract, least in (("workload", 700), ("jobs", 450)):
        assert len(shown_to(contract, frozenset())) > least
    rows = {target.name[0] for target in shown_to("jobs", frozenset()) if target.kind == "row"}
    assert {"available -[admit]-> running", "running -[success]-> completed"} <= rows


@frozen(eq=False)
class Deaf:
    """A handle whose ``admit`` does nothing."""

    inner: Any

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def admit(self, **_arguments: Any) -> None:
        return None


@frozen(eq=False)
class DeafBackend:
    inner: Any

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def open(self, place: Any, config: Any) -> Deaf:
        return Deaf(self.inner.open(place, config))


@pytest.mark.parametrize("contract", CONTRACTS)
def test_a_store_of_core_that_admits_nothing_fails(contract: str) -> None:
    honest = evolve(of(bindings()[contract]), profiles=frozenset({"CORE"}))
    verdicts = []
    for backend in (honest, DeafBackend(honest)):
        with StoreUnderTest.of(describe("the specification", backend)) as store:
            verdicts.append(Counter(run_case(store, tour.case).verdict for tour in tours(contract)))
    assert verdicts[0][Verdict.FAILED] == 0
    assert verdicts[1][Verdict.FAILED] > 10
