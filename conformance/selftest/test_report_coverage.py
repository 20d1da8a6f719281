"""Counts against runs that were counted by hand."""

from __future__ import annotations

import pytest
from attrs import evolve

from workcert.cases import Case, Together, builtin_cases
from workcert.report.coverage import Coverage, summary, tables
from workcert.report.model import CheckCount, SideCount
from workcert.run.events import StepJudged
from workspec.core.choice import OTHER
from workspec.workload.contract import CONTRACT

from .report_samples import admit, case, claim, collected, events_of, fenced, specification

TINY = case(
    admit(),
    claim("c1", 11, lease_ms=1000),
    claim("c2", 11),
    fenced("s1", "start", 12),
    requirements=("WRK-CLM-05", "WRK-FNC-04"),
)
"""An admission, a claim, a claim of claimed work, and a start at the very end of the lease."""


def counts(*cases: Case) -> Coverage:
    return collected(events_of(specification(), cases)).coverage


@pytest.fixture(scope="module")
def everything() -> Coverage:
    """All scenarios of the kit."""
    return counts(*builtin_cases("workload"))


def test_a_tiny_run_is_counted_as_by_hand() -> None:
    coverage = counts(TINY)
    found = tables(CONTRACT, coverage)
    checks = {check.key: check for check in found.checks}
    assert checks["claim: refuse WRK-CLM-05"] == CheckCount("claim: refuse WRK-CLM-05", fired=1, passed=1)
    assert checks["start: refuse WRK-FNC-04 WRK-ART-06"].fired == 1
    assert checks["heartbeat: refuse WRK-FNC-01"] == CheckCount("heartbeat: refuse WRK-FNC-01", 0, 0)
    rows = {row.key: row.count for row in found.transitions}
    assert rows["CREATED -[admit]-> READY"] == 1
    assert rows["READY -[claim]-> CLAIMED"] == 1
    assert rows["CLAIMED -[start]-> RUNNING"] == 0
    effects = {row.key: row.count for row in found.effects}
    assert (effects["create record"], effects["open claim"], effects["begin attempt"]) == (1, 1, 0)
    moves = {row.key: row.count for row in found.moves}
    assert (moves["admit"], moves["claim"], moves["start"]) == (1, 1, 0)
    sides = {row.key: row for row in found.comparisons}
    end = "start: refuse WRK-FNC-04 WRK-ART-06 | now >= lease end"
    assert sides[end] == SideCount(end, below=0, at=1, above=0)


def test_a_requirement_counts_once_per_step_and_once_per_passed_case() -> None:
    coverage = counts(TINY)
    assert coverage.requirements["WRK-CLM-05"] == 1
    assert coverage.shown["WRK-CLM-05"] == 1
    assert coverage.exercised("WRK-CLM-05") == 2
    assert coverage.first_case["WRK-CLM-05"] == "workload/tried"
    assert coverage.steps["scenarios"] == 4


def test_a_move_is_counted_over_its_rows_and_a_table_row_by_its_key(everything: Coverage) -> None:
    found = tables(CONTRACT, everything)
    decided = [row.count for row in found.transitions if "[deadline]" in row.key]
    assert next(row.count for row in found.moves if row.key == "deadline") == sum(decided) > max(decided)
    assert all(row.count for row in found.table_rows)


def test_every_key_that_a_run_shows_is_in_the_tables(everything: Coverage) -> None:
    coverage = everything
    found = tables(CONTRACT, coverage)
    keys = {check.key for check in found.checks} | {row.key for row in found.transitions}
    keys |= {row.key for row in (*found.table_rows, *found.effects)}
    assert set(coverage.fired) <= keys
    assert set(coverage.passed) <= keys
    assert {key for key, _side in coverage.sides} <= {row.key for row in found.comparisons}
    assert len({row.key for row in found.comparisons}) == len(found.comparisons)


def test_a_step_that_could_not_be_made_counts_for_nothing() -> None:
    left_out = fenced("s1", "start", 12, of_claim="c2")
    coverage = counts(case(admit(), claim("c1", 11), claim("c2", 11), left_out))
    assert coverage.steps["scenarios"] == 3
    # A case of a race names what only one of the two winners makes.
    assert coverage.shown["WRK-CLM-01"] == 1


def test_a_case_of_which_the_backend_does_a_step_its_own_way_shows_nothing_of_what_it_is_about() -> None:
    backend = specification(choices={"G-11.lease-rounding": OTHER})
    coverage = collected(events_of(backend, (case(admit(), claim("c1", 11)),))).coverage
    assert coverage.steps["scenarios"] == 1
    assert coverage.shown["WRK-CLM-01"] == 0
    assert coverage.exercised("WRK-CLM-01") - coverage.exercised("WRK-CLM-01", in_part=False) == 1


def test_what_a_race_decides_is_not_counted_and_its_case_is_credited() -> None:
    race = Together("race", (claim("c1", 11), claim("c2", 11, on="B")))
    raced = case(admit(), race, claim("c3", 12), handles=("A", "B"), requirements=("WRK-MWR-05",))
    # A backend that can pause ends with the forced interleavings, where nothing is left to chance.
    backend = specification(abilities=frozenset({"reset", "second_handle", "snapshot", "restart", "inject"}))
    coverage = collected(events_of(backend, (raced, TINY))).coverage
    assert coverage.steps["scenarios"] == 1 + 4
    assert coverage.exercised("WRK-MWR-05") == 1


def test_the_race_of_an_unnamed_example_leaves_out_itself_alone() -> None:
    events = [event for event in events_of(specification(), (TINY,)) if isinstance(event, StepJudged)]
    coverage = Coverage()
    for number, event in enumerate(events):
        run = evolve(event.run, note="together") if number == 1 else event.run
        coverage(StepJudged("stateful", "stateful", run))
    assert coverage.steps["stateful"] == 3


def test_the_summary_says_how_much_was_reached() -> None:
    lines = {line.kind: line for line in summary(tables(CONTRACT, counts(TINY)))}
    assert (lines["transitions"].reached, lines["transitions"].total) == (2, len(CONTRACT.transitions.rows))
    assert lines["sides of comparisons"].total == 3 * len(tables(CONTRACT, Coverage()).comparisons)
    assert all(line.reached == 0 for line in summary(tables(CONTRACT, Coverage())))
