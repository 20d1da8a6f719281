"""The crash sweep: stores that a kill leaves between two states are caught, and right ones are not accused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from attrs import frozen

from workcert.adversity import run_part
from workcert.adversity.crashes import CRASHES
from workcert.adversity.crashes.richer import richer
from workcert.adversity.crashes.sweep import kill_each
from workcert.adversity.crashes.targets import Target, calls_to_kill, pairs_by_way, targets
from workcert.adversity.crashes.tearing import seams
from workcert.adversity.interleavings.meetings import searched
from workcert.adversity.writing import Pair, covering, pairs_in
from workcert.backends.registry import BackendError, LoadedBackend, find
from workcert.cases import parse, write
from workcert.cases.model import Crash
from workcert.children import cannot
from workcert.judge.verdict import Kind
from workcert.run.confirming import run_fresh
from workcert.run.engine import Options
from workcert.run.events import CaseEnded, Event, Tallied, Verdict
from workcert.run.store import StoreUnderTest
from workcert.search.command import CONFIGURATIONS
from workcert.watched.call import AFTER_COMMIT

from .soon_told import soon_told  # noqa: F401 - a fixture

STORES = Path(__file__).parent / "crashing" / "stores.py"


def backend(name: str) -> LoadedBackend:
    (found,) = find(f"{STORES}:{name}")
    return found


pytestmark = pytest.mark.skipif(bool(cannot(backend("RIGHT_JOBS"))), reason=cannot(backend("RIGHT_JOBS")) or "can")


MOST = 8
"""Calls of one way that are killed on a right store here: on the shipped one the suite kills all of them."""


def some_of(name: str, *ways: str) -> list[Target]:
    """Of each way the nearest calls."""
    found = targets(backend(name), only=lambda each: each.way in ways)
    return [each for way in ways for each in [target for target in found if target.way == way][:MOST]]


def first_failed(store: StoreUnderTest, way: str) -> CaseEnded:
    """Of the first call that fails, so that the others need not be shrunk."""
    for target in targets(store.backend, only=lambda each: each.way == way):
        events: list[Event] = []
        kill_each(store, [target], events.append)
        for each in ended(events):
            if each.verdict is not Verdict.PASSED:
                return each
    raise AssertionError(f"{way} passes")


@pytest.fixture(scope="module")
def rights() -> Iterator[Mapping[str, StoreUnderTest]]:
    """By contract a right store. Each has a process that others are forked from, and it takes long to begin one."""
    with StoreUnderTest.of(backend("RIGHT_WORKLOAD")) as workload, StoreUnderTest.of(backend("RIGHT_JOBS")) as jobs:
        yield {"workload": workload, "jobs": jobs}


def ended(events: list[Event]) -> list[CaseEnded]:
    return [event for event in events if isinstance(event, CaseEnded)]


@frozen
class Wrong:
    """``least``: the steps of the case to which the failure is shrunk, at most."""

    store: str
    operation: str
    kind: Kind
    requirement: str
    says: str
    least: int


WRONG = (
    Wrong("SPLIT_JOBS", "renew", Kind.KILLED, "JOB-GEN-01", "neither", 6),
    Wrong("ONE_BY_ONE", "enqueue", Kind.KILLED, "JOB-GEN-01", "neither", 1),
    Wrong("COUNTS_ELSEWHERE", "enqueue", Kind.KILLED, "JOB-GEN-01", "neither", 1),
    Wrong("RESULT_AFTERWARDS", "ack_success_with_result", Kind.KILLED, "JOB-GEN-01", "neither", 3),
    Wrong("TOKENS_AFTERWARDS", "ack success", Kind.ANSWER, "JOB-RATE-08", "differs", 5),
    Wrong("COUNTS_AFTERWARDS", "ack retry", Kind.ANSWER, "JOB-INS-05", "differs", 4),
    Wrong("LATE_WORKLOAD", "start", Kind.RECORD, "WRK-GEN-01", "is not there", 3),
    Wrong("AT_THE_END", "start", Kind.RECORD, "WRK-GEN-01", "is not there", 3),
    Wrong("CLAIM_DUE_AFTERWARDS", "claim", Kind.ANSWER, "WRK-DLN-07", "differs", 4),
    Wrong("START_DUE_AFTERWARDS", "start", Kind.ANSWER, "WRK-DLN-08", "differs", 5),
    Wrong("WITHOUT_SYNC", "start", Kind.PROMISE, "WRK-GEN-01", "PRAGMA synchronous gives 0", 3),
    Wrong("CARELESS_TRANSACTION", "transaction", Kind.PROMISE, "JOB-DUR-01", "PRAGMA synchronous gives 1", 1),
)


@pytest.mark.usefixtures("soon_told")
@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: wrong.store)
def test_a_store_that_a_kill_shows_wrong_is_caught_with_a_case_that_replays(
    wrong: Wrong, rights: Mapping[str, StoreUnderTest]
) -> None:
    with StoreUnderTest.of(backend(wrong.store)) as store:
        found = first_failed(store, wrong.operation)
        assert found.verdict is Verdict.FAILED
        assert found.failure is not None
        assert found.case is not None
        assert (found.failure.kind, found.failure.requirement) == (wrong.kind, wrong.requirement)
        assert wrong.says in found.failure.text
        assert len(found.case.steps) <= wrong.least
        assert any(isinstance(step, Crash) for step in found.case.steps)
        case = parse(write(found.case))
        assert case == found.case
        again = run_fresh(store, case).failure
    assert again is not None
    assert again.requirement == found.failure.requirement
    assert run_fresh(rights[case.header.contract], case).verdict is Verdict.PASSED


@pytest.mark.parametrize("name", ["ONE_BY_ONE", "AT_THE_END"])
def test_what_a_kill_shows_is_explained(name: str) -> None:
    """With all the executions that a run of the kit takes for it."""
    wrong = next(each for each in WRONG if each.store == name)
    with StoreUnderTest.of(backend(name)) as store:
        found = first_failed(store, wrong.operation)
    assert found.case is not None
    assert len(found.case.steps) <= wrong.least
    assert found.explanation is not None
    assert {step.id for step in found.steps[:-1]} <= {need.step for need in found.explanation.needed}
    assert found.explanation.executions > 0


RIGHT = {
    "RIGHT_WORKLOAD": ("claim", "enforce_deadlines", "migrate", "open, new"),
    "RIGHT_JOBS": ("enqueue", "pause_queue", "transaction", "open"),
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_store_is_not_accused_and_its_points_are_told(name: str) -> None:
    killed = some_of(name, *RIGHT[name])
    events: list[Event] = []
    with StoreUnderTest.of(backend(name)) as store:
        kill_each(store, killed, events.append)
    assert {each.verdict for each in ended(events)} == {Verdict.PASSED}
    tallied = [each for each in events if isinstance(each, Tallied)]
    rows = {way.partition(",")[0] for way in RIGHT[name]}
    assert {each.row for each in tallied} == rows
    for row in rows:
        assert sum(each.count for each in tallied if each.row == row and each.column == "points") >= 5
        ways = [each for each in killed if each.operation == row]
        answered = [each.count for each in tallied if each.row == row and each.column == "after its answer"]
        assert sum(answered) == len(ways)


@pytest.mark.parametrize(
    ("labels", "found"),
    [
        (["SELECT 1", "BEGIN IMMEDIATE", "UPDATE a", "COMMIT", AFTER_COMMIT], ()),
        (["BEGIN", "UPDATE a", "COMMIT", AFTER_COMMIT, "BEGIN", "UPDATE b", "COMMIT", AFTER_COMMIT], (4,)),
        (["BEGIN", "UPDATE a", "COMMIT", AFTER_COMMIT, "SELECT 1", "UPDATE b"], (4,)),
        (["UPDATE a", "UPDATE b"], (2,)),
        (["UPDATE a", "BEGIN", "UPDATE b", "ROLLBACK", "UPDATE c"], (2, 5)),
        (["BEGIN", "SELECT 1", "SELECT 2", "COMMIT", AFTER_COMMIT, "BEGIN", "UPDATE b", "COMMIT", AFTER_COMMIT], (5,)),
        ([], ()),
    ],
)
def test_a_call_comes_apart_where_no_transaction_is_open(labels: list[str], found: tuple[int, ...]) -> None:
    assert seams(labels) == found


def test_every_operation_that_changes_something_is_killed() -> None:
    for each in find("sqlite"):
        named = {target.operation for target in targets(each)}
        calls = set(each.binding.calls.calls) - each.binding.reads
        inside = {name for name, signature in each.binding.calls.calls.items() if signature.inside}
        clock = {"freeze_clock", "advance_clock", "unfreeze_clock"}
        assert calls - inside - clock - named == set()


def test_a_part_without_processes_of_its_own_says_why() -> None:
    (memory, _jobs) = find("memory")
    events: list[Event] = []
    with StoreUnderTest.of(memory) as store:
        run_part(CRASHES, store, Options(), events.append)
    (skipped,) = ended(events)
    assert skipped.verdict is Verdict.SKIPPED
    assert "kill" in skipped.reason


def test_promises_are_asked_through_a_database_module(tmp_path: Path) -> None:
    path = tmp_path / "promising.py"
    path.write_text(
        "class Adapter:\n    contract = 'jobs'\n    promises = {'SHOW x': 1}\n"
        "    def open(self, place, config): ...\nBACKEND = Adapter()\n"
    )
    with pytest.raises(BackendError, match="names no database module"):
        find(f"{path}:BACKEND")


def test_a_few_calls_write_together_whatever_any_of_them_writes() -> None:
    wrote = [frozenset("ab"), frozenset("abc"), frozenset("cd"), frozenset("a"), frozenset("bd")]
    kept = covering(wrote, lambda each: pairs_in((frozenset((letter,) for letter in each),)))
    assert kept == [frozenset("abc"), frozenset("cd"), frozenset("bd")]


def written_together(backend: LoadedBackend, *, finely: bool = False) -> dict[str, set[Pair]]:
    """By the name of a way in which an operation writes, the pairs of members that the calls of it write."""
    found: dict[str, set[Pair]] = {}
    for _case, acts, _number in calls_to_kill(backend, finely=finely):
        found.setdefault(acts.way, set()).update(pairs_in(acts.wrote))
    return found


def of_targets(backend: LoadedBackend) -> dict[str, set[Pair]]:
    found: dict[str, set[Pair]] = {}
    for target in targets(backend):
        found.setdefault(target.way, set()).update(target.pairs)
    return found


@pytest.mark.parametrize("sqlite", find("sqlite"), ids=lambda each: each.binding.name)
def test_every_two_members_that_a_call_writes_are_written_by_one_that_is_killed(sqlite: LoadedBackend) -> None:
    every, kept = (written_together(sqlite, finely=finely) for finely in (True, False))
    assert every == kept
    assert sum(map(len, every.values())) > 5_000
    assert {way: pairs for way, pairs in of_targets(sqlite).items() if pairs} == kept


@pytest.mark.parametrize("sqlite", find("sqlite"), ids=lambda each: each.binding.name)
def test_a_search_finds_no_call_that_writes_more_than_those_that_are_killed(sqlite: LoadedBackend) -> None:
    searches = searched(sqlite.binding, CONFIGURATIONS[sqlite.binding.name], 120)
    known = written_together(sqlite)
    assert [case.header.name for case in richer(sqlite.binding, searches, known)] == []
    of_cases = pairs_by_way(sqlite.binding.name)
    assert any(richer(sqlite.binding, searches, of_cases)), "a search finds some that no other case makes"
