"""The search against the plain interpreter: what is remembered, what folds, what is exchanged, what a path shows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path as FilePath
from typing import Any

import pytest
from attrs import evolve

from workcert import tables
from workcert.binding import bindings
from workcert.cases import parse, write
from workcert.search import FoldError, Reached, Target, case_of, reach, search, stored
from workcert.search.breadth import Breadth
from workcert.search.needs import Needs
from workcert.search.path import path_to
from workcert.search.watched import UndeclaredKey
from workspec.core.contract import Contract, digest
from workspec.core.interpreter import apply
from workspec.core.record import Record
from workspec.jobs import configurations as jobs
from workspec.jobs.configurations.asking import ack, admit, each_alone, envelope, sweep, with_result
from workspec.jobs.configurations.world import Ask, Jobs
from workspec.jobs.contract import CONTRACT as JOBS
from workspec.jobs.folding import fold
from workspec.jobs.vocabulary import JobResult
from workspec.workload import configurations as workload
from workspec.workload.contract import CONTRACT as WORKLOAD

ROOT = FilePath(__file__).parents[2]
TWO_ALIKE = evolve(
    jobs.WIDE,
    name="two alike",
    ids=("a", "b"),
    batches=jobs.WIDE.batches[:2],
    asks=tuple(ask for ask in jobs.WIDE.asks if ask.call == "ack" and ask.of != "c"),
    others=("fingerprint/of a", "fingerprint/of b"),
)


def run_through(contract: Contract, configuration: Any, limit: int | None = None, symmetric: bool = True) -> Breadth:
    breadth = Breadth(contract, configuration, limit, symmetric=symmetric)
    breadth.run()
    return breadth


# What is remembered ------------------------------------------------------------------------------


def steps_by_hand(breadth: Breadth, one_in: int) -> Iterator[tuple[Any, tuple[int, ...], tuple[int, ...]]]:
    """For some of the states every call with the state that the search leads to, and that the interpreter leads to."""
    keys, start = breadth.configuration.keys, breadth.configuration.start
    for state in breadth.states[::one_in]:
        records = {key: breadth.records.found[number][1] for key, number in zip(keys, state, strict=True) if number}
        for place, number in enumerate((0, *state)):
            for offered in breadth.calls_in(place, number):
                after = list(state)
                for part in offered.parts:
                    leaf = breadth.memo.follow(part.root, state)
                    assert leaf is not None
                    for changed, became in leaf.changes or ():
                        after[changed] = became
                now = breadth.contract.instant(offered.call, start)
                done = apply(breadth.contract, records, offered.call, now).state
                plain = (breadth.records.number(key, done[key]) if key in done else 0 for key in keys)
                yield offered.call, tuple(after), tuple(plain)


@pytest.mark.parametrize(
    ("contract", "configuration", "one_in"),
    [
        (WORKLOAD, workload.WAITING, 4),
        (JOBS, jobs.WINDOWS, 4),
        (JOBS, jobs.PRESSURE, 2),
        (
            JOBS,
            evolve(jobs.RATES, asks=jobs.RATES.asks[:3], general=jobs.RATES.general[:2] + jobs.RATES.general[-3:]),
            40,
        ),
        (WORKLOAD, workload.VALUES, 1),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_what_is_remembered_is_what_the_interpreter_does(contract: Contract, configuration: Any, one_in: int) -> None:
    compared = 0
    for call, remembered, plain in steps_by_hand(run_through(contract, configuration), one_in):
        assert remembered == plain, call
        compared += 1
    assert compared > 200


def test_a_search_interprets_far_less_than_it_decides() -> None:
    breadth = run_through(WORKLOAD, workload.WIDE, 4000)
    assert len(breadth.records.found) < len(breadth.states) / 3


# What folds --------------------------------------------------------------------------------------


@pytest.mark.parametrize("configuration", [workload.WAITING, workload.VALUES], ids=lambda each: each.name)
def test_each_path_leads_to_the_records_of_its_state(configuration: Any) -> None:
    """Not only the last call: the whole store on the way is the one that the search took it for."""
    breadth = run_through(WORKLOAD, configuration)
    ways = [way for number, way in enumerate(breadth.targets.values()) if number % 5 == 0]
    for way in ways:
        path = path_to(breadth, way)
        state: Any = {}
        for step in path.steps[:-1]:
            state = apply(WORKLOAD, state, step.call, step.at).state
        last = path.steps[-1]
        folds = {(key, configuration.fold(record, last.at)) for key, record in state.items()}
        number = way[0]
        found = (breadth.records.found[each] for each in breadth.states[number] if each)
        assert folds == {(key, configuration.fold(record, configuration.start)) for key, record in found}


class Forgetful(Jobs):
    """Takes rows that have spent attempts for rows that have not."""

    def fold(self, record: Record, now_ms: int) -> Any:
        facts = record.facts
        if hasattr(facts, "attempt"):
            record = Record(record.version, evolve(facts, attempt=0, crash_attempt=0), record.log)
        return fold(record, now_ms, self.fineness)


def test_a_fold_that_forgets_a_fact_is_noticed() -> None:
    world = Forgetful(
        "forgetful",
        "one row that may be retried once",
        ids=("a",),
        batches=each_alone(envelope("a", max_attempts=2, retention_ms=1000)),
        asks=(ack("retry"), ack("success")),
        general=(admit("q"), jobs.WIDE.general[3]),
        waits=(1000,),
    )
    honest = Jobs(world.name, world.text, world.ids, world.batches, world.asks, world.general, waits=world.waits)
    wanted = Target("row", ("running -[retry]-> archived",))
    assert wanted in reach(JOBS, [honest]).paths
    try:
        missed = wanted not in reach(JOBS, [world]).paths
    except FoldError:
        missed = True
    assert missed


def test_a_path_that_does_not_show_its_target_is_refused() -> None:
    breadth = run_through(WORKLOAD, workload.VALUES)
    with pytest.raises(FoldError, match="leaves out what matters"):
        path_to(breadth, next(iter(breadth.targets.values())), ("check", ("never",)))


def test_a_key_that_is_not_declared_is_named() -> None:
    with pytest.raises(UndeclaredKey, match="'queue/q' is not among the keys"):
        search(JOBS, evolve(jobs.PRESSURE, others=()))


# What is exchanged -------------------------------------------------------------------------------


def test_exchanging_names_loses_nothing() -> None:
    """With and without: the same cells, and each state of the one is a renaming of a state of the other."""
    alike, apart = run_through(JOBS, TWO_ALIKE), run_through(JOBS, TWO_ALIKE, symmetric=False)
    assert len(alike.states) < 0.6 * len(apart.states)
    assert alike.targets.keys() == apart.targets.keys()
    assert alike.violations.keys() == apart.violations.keys() == set()

    def folds(breadth: Breadth, state: tuple[int, ...]) -> frozenset[Any]:
        found = (breadth.records.found[number] for number in state if number)
        return frozenset((key, breadth.configuration.fold(record, 10_000)) for key, record in found)

    orbits = {folds(alike, alike.renamed(state, naming)) for state in alike.states for naming in (0, 1)}
    assert {folds(apart, state) for state in apart.states} == orbits


def test_paths_through_exchanged_names_are_real() -> None:
    reached = reach(JOBS, [TWO_ALIKE])
    assert len(reached.paths) > 80


# What a store must claim -------------------------------------------------------------------------


def one_retained_row(*asks: Ask) -> Jobs:
    batches = each_alone(envelope("a", retention_ms=2000))
    general = (admit("q"), sweep("evict_retained"))
    return Jobs("retained", "one row that is kept when it has ended", ("a",), batches, asks, general, waits=(1000,))


def ways_to(reached: Reached, target: Target) -> list[tuple[set[str], list[str]]]:
    return [(set(path.needs), [step.call.name for step in path.steps]) for path in reached.ways[target]]


def test_a_longer_path_that_needs_less_is_taken() -> None:
    """An operator ends a row in one call and a worker in two, but not every store has operators."""
    reached = reach(JOBS, [one_retained_row(Ask("operator_cancel"), ack("success"))])
    target = Target("check", ("evict_retained: skip JOB-EVT-01",))
    assert ways_to(reached, target) == [(set(), ["enqueue", "admit", "ack", "evict_retained"])]


def test_paths_of_different_needs_are_kept_until_one_needs_less() -> None:
    target = Target("check", ("evict_retained: skip JOB-EVT-01",))
    inspected = ({"INSPECT"}, ["enqueue", "operator_cancel", "evict_retained"])
    with_a_result = ({"RESULT"}, ["enqueue", "admit", "ack_success_with_result", "evict_retained"])
    plain = (set[str](), ["enqueue", "admit", "ack", "evict_retained"])
    several = one_retained_row(Ask("operator_cancel"), with_result(JobResult(1, b"")))
    assert ways_to(reach(JOBS, [several]), target) == [inspected, with_a_result]
    later = evolve(one_retained_row(ack("success")), name="later")
    assert ways_to(reach(JOBS, [several, later]), target) == [plain]
    aside = evolve(later, aside=True)
    assert ways_to(reach(JOBS, [several, aside]), target) == [inspected, with_a_result, plain]


def test_what_is_needed_changes_nothing_of_what_is_reached() -> None:
    for contract, configuration in ((JOBS, jobs.PRESSURE), (JOBS, TWO_ALIKE), (WORKLOAD, workload.VALUES)):
        counted = Breadth(contract, configuration, needs=Needs(bindings()[contract.name]))
        counted.run()
        plain = run_through(contract, configuration)
        assert counted.distinct == plain.distinct == len(plain.states)
        assert counted.transitions == plain.transitions
        assert counted.found.keys() == plain.found.keys()


# What is told ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("contract", "configurations"),
    [(WORKLOAD, (workload.VALUES,)), (JOBS, (jobs.SETTINGS, jobs.PRESSURE, jobs.WINDOWS))],
    ids=["workload", "jobs"],
)
def test_every_path_is_a_case(contract: Contract, configurations: Any) -> None:
    reached = reach(contract, configurations)
    assert reached.closed
    assert not set(reached.unreached) & reached.paths.keys()
    for target, path in reached.paths.items():
        case = case_of(contract, path, (), target.text)
        assert parse(write(case)) == case
    names = ", ".join(each.name for each in configurations)
    assert reached.unreached_text == f"unreachable within configuration {names} (frontier empty)"


@pytest.mark.parametrize("contract", [WORKLOAD, JOBS], ids=lambda each: each.name)
def test_the_search_that_is_kept_is_of_these_rules(contract: Contract) -> None:
    found = stored.read(ROOT / "reports" / contract.name)
    assert found is not None
    assert found.digest == digest(contract), f"run: workcert search {contract.name} --all --write; workcert tables"
    assert max(world.states for world in found.worlds) >= 250_000
    assert all(world.frontier == 0 for world in found.worlds)


def test_a_kept_search_of_older_rules_fails_the_check(tmp_path: FilePath) -> None:
    reached = reach(JOBS, [jobs.SETTINGS])
    stored.write(evolve(reached, digest="0" * 16), tmp_path)
    tables.write_tables(JOBS, tmp_path)
    assert "of an older text" in (tmp_path / "cells.md").read_text(encoding="utf-8")
    (difference,) = tables.check_tables(JOBS, tmp_path)
    assert "workcert search jobs --all --write" in difference.text


def test_a_damaged_search_is_named(tmp_path: FilePath) -> None:
    (tmp_path / stored.NAME).write_text("{}", encoding="utf-8")
    with pytest.raises(stored.DamagedSearch, match="search"):
        stored.read(tmp_path)
