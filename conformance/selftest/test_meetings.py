"""Meetings of two calls that nothing but their answers, or calls that come after both, can tell from right ones."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from attrs import evolve, frozen

from workcert.adversity.interleavings.library import kept
from workcert.adversity.interleavings.meetings import Meeting, chosen, meetings, searched
from workcert.adversity.interleavings.suite import turned
from workcert.backends.registry import describe
from workcert.binding import bindings
from workcert.cases.model import Case, Frozen
from workcert.run.case import run_case
from workcert.run.events import Verdict
from workcert.run.store import StoreUnderTest
from workcert.search.command import CONFIGURATIONS

from .miniatures.late_stores import ByState
from .miniatures.sql_stores import SqlBackend, SqlHandle, Unguarded

JOBS = bindings()["jobs"]
POINTS = range(1, 5)


@frozen
class Blind:
    """``operation`` of the store reads first, decides, and writes later; ``met``: the operation that comes between."""

    kind: type[SqlHandle]
    operation: str
    met: str

    @property
    def name(self) -> str:
        return f"{self.operation} {self.kind.__name__} beside {self.met}"


BLIND = (
    # Who comes second is answered no, and refused nothing.
    Blind(Unguarded, "claim_duty", "claim_duty"),
    # The duty has lapsed, and is another holder's by the time it is given up.
    Blind(Unguarded, "release_duty", "claim_duty"),
    # No call reads what has been lost: whether a queue is paused, and how many rows it may have.
    Blind(Unguarded, "pause_queue", "set_enqueue_limit"),
    Blind(Unguarded, "unpause_queue", "set_enqueue_limit"),
    Blind(Unguarded, "set_enqueue_limit", "pause_queue"),
    # The key of a new row guards it; nothing guards the row that is there.
    Blind(ByState, "pause_queue", "set_enqueue_limit"),
    Blind(ByState, "set_enqueue_limit", "pause_queue"),
    # These come to nothing before a row has crashed again and again.
    Blind(Unguarded, "sweep_quarantined", "delete_job"),
    Blind(Unguarded, "release_fingerprint", "sweep_quarantined"),
    # It asks for no key, and the id alone guards its row.
    Blind(Unguarded, "enqueue_without_uniqueness", "enqueue"),
)


def of_pair(one: str, other: str) -> list[Case]:
    """The meetings in which both write, each with either call held."""
    names = {one, other}
    found: list[Case] = []
    for case in kept("jobs"):
        step = _frozen(case)
        if {step.frozen.call, *(call.call for call in step.during)} != names or "-against-idle-" in case.header.name:
            continue
        if "-against-" in case.header.name:
            found += [each for each in (case, turned(case)) if each is not None]
    return found


def _frozen(case: Case) -> Frozen:
    return next(step for step in case.steps if isinstance(step, Frozen))


def _at(case: Case, point: int) -> Case:
    return evolve(case, steps=tuple(evolve(s, point=point) if isinstance(s, Frozen) else s for s in case.steps))


def verdicts(backend: Any, cases: list[Case]) -> set[Verdict]:
    with StoreUnderTest.of(describe("miniature", backend)) as store:
        return {run_case(store, _at(case, point)).verdict for case in cases for point in POINTS}


@pytest.mark.parametrize("blind", BLIND, ids=[blind.name for blind in BLIND])
def test_what_is_written_over_is_seen(blind: Blind) -> None:
    cases = of_pair(blind.operation, blind.met)
    assert cases
    assert Verdict.FAILED in verdicts(SqlBackend(JOBS, partial(blind.kind, operation=blind.operation)), cases)
    right = verdicts(SqlBackend(JOBS), cases)
    assert right <= {Verdict.PASSED, Verdict.SKIPPED}
    assert Verdict.PASSED in right


def test_a_release_that_asks_for_the_row_itself_is_right() -> None:
    right = partial(ByState, operation="release_duty", fenced=True)
    assert verdicts(SqlBackend(JOBS, right), of_pair("release_duty", "claim_duty")) == {Verdict.PASSED}


def found_in(configuration: str) -> list[Meeting]:
    worlds = [each for each in CONFIGURATIONS["jobs"] if each.name == configuration]
    return [group[0] for group in chosen(meetings(JOBS, searched(JOBS, worlds)))]


def test_calls_meet_anew_where_another_check_ends_one_behind_the_other() -> None:
    """Two holders of one duty, of whom one is answered no, beside one holder twice."""
    pairs = [each for each in found_in("settings") if each.names == ("claim_duty", "claim_duty")]
    holders = [{path.steps[-1].call.arguments["holder"] for path in (each.held, each.other)} for each in pairs]
    assert {len(each) for each in holders} == {1, 2}
    for each, who in zip(pairs, holders, strict=True):
        ending = {name for stops in each.stops for _kind, name in stops}
        assert ending == ({("claim_duty: reply JOB-DTY-01",)} if len(who) > 1 else set())
        assert each.both_succeed, "an answer of no is no refusal"


def test_what_no_record_shows_is_shown_by_what_comes_afterwards() -> None:
    found = {each.names: each for each in found_in("pressure")}
    meeting = found["pause_queue", "set_enqueue_limit"]
    assert meeting.seen == 2
    assert meeting.reads
    same = found["pause_queue", "pause_queue"]
    assert (same.seen, same.reads) == (0, ()), "nothing is lost, so that there is nothing to show"
