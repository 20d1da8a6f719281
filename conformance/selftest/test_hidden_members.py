"""A store may leave out any member of a record, at any depth: it is judged by what it shows, and asked no more."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final, TypeAlias, Union, get_args, get_origin, get_type_hints

import attrs
import pytest
from attrs import evolve, frozen

from workcert import NOT_SHOWN
from workcert.backends.protocol import Place
from workcert.backends.registry import BackendError, describe
from workcert.binding import bindings
from workcert.cases.library import builtin_cases
from workcert.cases.model import Case, Together
from workcert.judge.differences import differences
from workcert.judge.hidden import as_far_as_both, shows, unordered_differences
from workcert.judge.presumed import presumed
from workcert.report.build import build
from workcert.report.collector import Collector
from workcert.report.model import ContractReport, ContractVerdict, Status
from workcert.run.case import run_case
from workcert.run.engine import Effort, Options, run_scenarios, run_suites
from workcert.run.store import StoreUnderTest
from workcert.walk.suite import run_walk
from workspec.workload.vocabulary import Admitted, Attempt, Event, ExecutionContext, State, Versioned, Workload
from workstore.backends import MemoryBackend

from .miniatures import VARIANTS
from .miniatures.catching import in_one_round

READS: Final = frozenset({"get", "list_workloads"})
REFERRED: Final = {
    "Workload.workload_id": ("admit", "workload.workload_id"),
    "Claim.claim_id": ("claim", "claim_id"),
    "Claim.fencing_token": ("claim", "fencing_token"),
}
"""What later calls have to name, and the call whose answer must show it."""
EVERYTHING: Final = {name: answered for name, (answered, _path) in REFERRED.items()}
EXAMPLES: Final = 20
CASES: Final = (
    "workload/09a-admission-race",
    "workload/16a-lapsed-lease-is-refused",
    "workload/18-resume-from-checkpoint",
    "workload/19-result-replay-and-conflict",
    "workload/29-budget-exhausted-by-failures",
    "workload/42b-deadline-of-the-last-attempt",
    "workload/45a-lost-worker-not-retryable",
    "workload/46-cancel-while-running",
    "workload/47-operator-rearms",
    "workload/55-frozen-completion",
    "workload/56a-migration-twice",
    "workload/adm-09-tenants-and-applications",
    "workload/clm-08-dependencies",
    "workload/fal-16-report-to-an-older-version",
    "workload/rep-05-replay-of-finished-work",
)
"""Of every way of a record, of all that one can hold, of old rows and of calls that meet: these once in each order and
in each forced one, since what is hidden has nothing to do with how often they are tried."""


@frozen
class Member:
    carrier: type[Any]
    name: str

    def __str__(self) -> str:
        return f"{self.carrier.__name__}.{self.name}"


Hidden: TypeAlias = frozenset[Member]


def members(*roots: type[Any]) -> tuple[Member, ...]:
    """Every member of these carriers and of those that they hold."""
    return tuple(Member(carrier, field.name) for carrier in held_by(*roots) for field in attrs.fields(carrier))


def held_by(*roots: type[Any]) -> dict[type[Any], None]:
    """These carriers and those that they hold, in the order in which one comes to them."""
    found: dict[type[Any], None] = {}
    left = list(roots)
    while left:
        carrier = left.pop(0)
        if carrier not in found:
            found[carrier] = None
            left += [each for hint in hints(carrier).values() for each in carriers(hint)]
    return found


def hints(carrier: type[Any]) -> dict[str, Any]:
    return get_type_hints(carrier, localns={"Json": object})


def carriers(hint: Any) -> Iterator[type[Any]]:
    if isinstance(hint, type) and attrs.has(hint):
        yield hint
    if get_origin(hint) in (Union, types.UnionType, tuple):
        for part in get_args(hint):
            yield from carriers(part)


RECORD: Final = members(Workload)
ANSWERS: Final = (*members(ExecutionContext), Member(Admitted, "created"))
"""Carriers that are only answered."""
MEMBERS: Final = tuple(dict.fromkeys((*RECORD, *ANSWERS)))
SIZE: Final = 6
"""About so many members are hidden together."""


def companies(found: Sequence[Member]) -> tuple[tuple[Member, ...], ...]:
    """Twice all of them in companies: of neighbours, then of those that stand as far apart as they can."""
    number = -(-len(found) // SIZE)
    neighbours = tuple(tuple(found[start : start + SIZE]) for start in range(0, len(found), SIZE))
    return neighbours + tuple(tuple(found[start::number]) for start in range(number))


COMPANIES: Final = companies(MEMBERS)


def without(value: Any, hidden: Hidden) -> Any:
    """The value with these members left out wherever they stand."""
    if isinstance(value, list | tuple):
        return type(value)(without(each, hidden) for each in value)
    if not attrs.has(type(value)):
        return value
    left_out, inner = places(type(value), hidden)
    if not left_out and not inner:
        return value
    changed = {name: without(getattr(value, name), hidden) for name in inner}
    return evolve(value, **changed, **dict.fromkeys(left_out, NOT_SHOWN))


@cache
def places(carrier: type[Any], hidden: Hidden) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Which members of this carrier are hidden, and which others hold a carrier of which one is: so a value is not
    gone through where nothing can be hidden."""
    left_out = tuple(member.name for member in hidden if member.carrier is carrier)
    named = {member.carrier for member in hidden}
    holding = (name for name, hint in hints(carrier).items() if named & held_by(*carriers(hint)).keys())
    return left_out, tuple(name for name in holding if name not in left_out)


class Hiding:
    """A handle whose answers pass through ``change``, given the name of the call."""

    def __init__(self, inner: Any, change: Callable[[str, Any], Any]) -> None:
        self._inner, self._change = inner, change

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if name not in bindings()["workload"].calls.calls:
            return found
        return lambda **arguments: self._change(name, found(**arguments))


class Reticent:
    """A backend around another, with such handles."""

    def __init__(self, inner: Any, change: Callable[[str, Any], Any]) -> None:
        self._inner, self._change = inner, change

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def open(self, place: Place, config: Mapping[str, Any]) -> Hiding:
        return Hiding(self._inner.open(place, config), self._change)


def hiding(hidden: Iterable[Member], calls: frozenset[str] | None = None, inner: Any = None) -> Reticent:
    """The store that leaves these members out of the answers of these calls (None: of all)."""
    everywhere = dict.fromkeys(hidden, "")
    return _hiding(everywhere, calls, MemoryBackend() if inner is None else inner)


def hiding_what_it_may(hidden: Iterable[Member]) -> Reticent:
    """The store that leaves these members out of every answer, but for the one that must show it."""
    return _hiding({member: EVERYTHING.get(str(member), "") for member in hidden}, None, MemoryBackend())


def _hiding(shown_by: Mapping[Member, str], calls: frozenset[str] | None, inner: Any) -> Reticent:
    @cache
    def of_call(name: str) -> Hidden:
        hidden = calls is None or name in calls
        return frozenset(member for member, shown in shown_by.items() if hidden and name != shown)

    return Reticent(inner, lambda name, answer: without(answer, of_call(name)))


@cache
def cases() -> tuple[Case, ...]:
    found = {case.header.name: case for case in builtin_cases("workload")}
    return tuple(in_one_round(found[name]) for name in CASES)


def certified(backend: Any, *, examples: int = EXAMPLES, chosen: tuple[Case, ...] | None = None) -> ContractReport:
    """What a certificate would say after some scenarios and a few walks."""
    loaded, collector = describe("reticent.py:BACKEND", backend), Collector()
    options = Options(effort=Effort.QUICK, examples=examples, seed=1)
    with StoreUnderTest.of(loaded) as store:
        run_scenarios(store, cases() if chosen is None else chosen, collector)
        if examples:
            run_walk(store, options, collector)
    return build(loaded, options, collector)


def accusations(report: ContractReport) -> list[str]:
    return [f"{failure.requirement} {failure.text} {failure.differences[:1]}" for failure in report.failures]


# Every member ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("member", MEMBERS, ids=str)
def test_a_store_may_leave_out_any_member_of_what_it_answers(member: Member) -> None:
    report = certified(hiding_what_it_may({member}), examples=0)
    assert accusations(report) == []
    assert report.verdict in (ContractVerdict.CONFORMANT, ContractVerdict.INCOMPLETE)


@pytest.mark.parametrize("company", COMPANIES, ids=lambda each: f"{each[0]} to {each[-1]}")
def test_a_store_may_leave_out_several_members_at_once(company: tuple[Member, ...]) -> None:
    """In walks, which go where no scenario does: each member in two companies, so that what one hides of it the other
    does not."""
    report = certified(hiding_what_it_may(company), chosen=())
    assert accusations(report) == []
    assert report.verdict in (ContractVerdict.CONFORMANT, ContractVerdict.INCOMPLETE)


@pytest.mark.parametrize("member", RECORD, ids=str)
def test_a_store_may_leave_out_any_member_where_records_are_read(member: Member) -> None:
    """Other answers show it, so that one member is seen in one place and not in the other."""
    report = certified(hiding({member}, READS), examples=0)
    assert accusations(report) == []
    assert report.verdict in (ContractVerdict.CONFORMANT, ContractVerdict.INCOMPLETE)


def test_every_member_is_hidden_in_two_companies_that_share_no_other() -> None:
    for member in MEMBERS:
        first, second = (set(company) for company in COMPANIES if member in company)
        assert first & second == {member}


def test_every_member_is_hidden_in_a_company_that_shows_what_holds_it() -> None:
    def holds(other: Member, member: Member) -> bool:
        return member.carrier in held_by(*carriers(hints(other.carrier)[other.name]))

    for member in MEMBERS:
        beside = [company for company in COMPANIES if member in company]
        assert any(not any(holds(other, member) for other in company) for company in beside), member


@pytest.mark.parametrize("member", MEMBERS, ids=str)
def test_what_is_hidden_is_shown_nowhere(member: Member) -> None:
    """Or the tests above would say nothing. Some scenario has each carrier, so that each member is hidden alone."""
    hidden = without(answers(), frozenset({member}))
    holders = [each for each in everything_in(hidden) if type(each) is member.carrier]
    assert holders
    assert all(getattr(each, member.name) is NOT_SHOWN for each in holders)


@cache
def answers() -> tuple[Any, ...]:
    """All that a store answers in the scenarios."""
    found: list[Any] = []

    def change(_name: str, answer: Any) -> Any:
        found.append(answer)
        return answer

    certified(Reticent(MemoryBackend(), change), examples=0)
    return tuple(found)


def everything_in(value: Any) -> Iterator[Any]:
    """The value and all that it holds, whatever its type says of that."""
    yield value
    if attrs.has(type(value)):
        value = [getattr(value, field.name) for field in attrs.fields(type(value))]
    for each in value if isinstance(value, list | tuple) else ():
        yield from everything_in(each)


def test_members_of_every_carrier_are_tried() -> None:
    names = {member.carrier.__name__ for member in RECORD}
    assert names == {
        *("Workload", "Subject", "RetryPolicy", "Timeouts", "Dependency"),
        *("Attempt", "Claim", "Checkpoint", "Result", "Event"),
    }


OWN_CHOICES: Final = {
    "opaque ids": "Attempt.attempt_id",
    "other hashes": "Result.output_hash",
    "other actors": "Event.actor",
    "further evidence": "Event.evidence",
    "other statuses of attempts": "Attempt.status",
    "a claim clears the due time": "Workload.next_attempt_at",
    "longer error texts": "Attempt.error",
}


@pytest.mark.parametrize(("choice", "member"), OWN_CHOICES.items())
@pytest.mark.parametrize("calls", [None, READS], ids=["everywhere", "where records are read"])
def test_what_a_store_chooses_and_does_not_show_is_presumed(
    choice: str, member: str, calls: frozenset[str] | None
) -> None:
    hidden = next(each for each in RECORD if str(each) == member)
    right = next(variant for variant in VARIANTS if variant.name == choice).make()
    # These doubles do not lock: calls at once would show that.
    alone = tuple(case for case in cases() if not any(isinstance(step, Together) for step in case.steps))
    report = certified(hiding({hidden}, calls, inner=right), chosen=alone)
    assert accusations(report) == []


# What it is judged by --------------------------------------------------------------------------------------------


def statuses(report: ContractReport) -> dict[str, Status]:
    return {result.id: result.status for result in report.requirements}


def test_a_member_that_no_invariant_reads_silences_none() -> None:
    hidden = statuses(certified(hiding({Member(Workload, "priority")}), examples=0))
    assert hidden == statuses(certified(MemoryBackend(), examples=0))


def test_an_invariant_that_reads_a_hidden_member_is_not_counted() -> None:
    whole = statuses(certified(MemoryBackend(), examples=0))
    hidden = statuses(certified(hiding({Member(Event, "evidence")}), examples=0))
    silenced = {name for name in whole if whole[name] is Status.PASSED and hidden[name] is not Status.PASSED}
    assert {"WRK-INV-12", "WRK-INV-08"} <= silenced
    assert not {f"WRK-INV-0{number}" for number in (1, 2, 3, 4, 5, 6, 7, 9)} & silenced


@frozen
class Wrong:
    """A store that shows one thing wrong and leaves out another."""

    name: str
    requirement: str
    hidden: Member
    spoil: Callable[[Workload], Workload]

    def shown(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self.shown(each) for each in value]
        inner = getattr(value, "workload", None)
        return value if inner is None else evolve(value, workload=self.spoil(inner))


def _from_created(work: Workload) -> Workload:
    last = evolve(work.execution_history[-1], from_state="CREATED")
    return evolve(work, execution_history=(*work.execution_history[:-1], last))


def _never_ended(work: Workload) -> Workload:
    return evolve(work, attempts=tuple(evolve(attempt, ended_at=None) for attempt in work.attempts))


def _not_counted(work: Workload) -> Workload:
    return evolve(work, retry_count=0)


WRONG: Final = (
    Wrong("a wrong from_state, no evidence", "WRK-CLM-09", Member(Event, "evidence"), _from_created),
    Wrong("attempts that never end, without ids", "WRK-REC-02", Member(Attempt, "attempt_id"), _never_ended),
    Wrong("retries not counted, no priority", "WRK-FAL-10", Member(Workload, "priority"), _not_counted),
)


@pytest.mark.parametrize("wrong", WRONG, ids=lambda each: each.name)
def test_what_it_shows_wrong_is_caught_under_the_same_requirement(wrong: Wrong) -> None:
    def spoiling(also_hiding: bool) -> Reticent:
        def change(_name: str, answer: Any) -> Any:
            spoilt = wrong.shown(answer)
            return without(spoilt, frozenset({wrong.hidden})) if also_hiding else spoilt

        return Reticent(MemoryBackend(), change)

    def named(backend: Any) -> str | None:
        with StoreUnderTest.of(describe("wrong.py:BACKEND", backend)) as store:
            failures = (run_case(store, case).failure for case in cases())
            return next((each.requirement for each in failures if each is not None), None)

    assert named(spoiling(False)) == named(spoiling(True)) == wrong.requirement


# What cannot be left out -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("member", "where"), REFERRED.items(), ids=list(REFERRED))
@pytest.mark.parametrize("suite", ["scenarios", "stateful"])
def test_what_later_calls_refer_to_must_be_answered(member: str, where: tuple[str, str], suite: str) -> None:
    call, path = where
    hidden = next(each for each in RECORD if str(each) == member)
    loaded = describe("reticent.py:BACKEND", hiding({hidden}))
    options = Options(suites=(suite,), effort=Effort.QUICK, examples=EXAMPLES, seed=1)
    with pytest.raises(BackendError) as raised:
        run_suites(loaded, options, Collector())
    said = str(raised.value)
    assert f"NOT_SHOWN at {path} in the answer of {call}" in said
    assert "get, list_workloads" in said


@pytest.mark.parametrize("member", ["version", "workload"])
def test_a_row_that_is_read_shows_its_version_and_some_record(member: str) -> None:
    loaded = describe("reticent.py:BACKEND", hiding({Member(Versioned, member)}))
    said = r"NOT_SHOWN at the (version|whole record) when"
    with StoreUnderTest.of(loaded) as store, pytest.raises(BackendError, match=said):
        run_scenarios(store, cases(), Collector())


# The parts -------------------------------------------------------------------------------------------------------

EVENT: Final = Event(1, "READY", "CLAIMED", "a", 3, {"k": "v"})


@pytest.mark.parametrize(
    ("event", "path", "shown"),
    [
        (EVENT, "execution_history[].evidence", True),
        (evolve(EVENT, evidence=NOT_SHOWN), "execution_history[].evidence", False),
        (evolve(EVENT, evidence=NOT_SHOWN), "execution_history[].at", True),
        (evolve(EVENT, evidence=NOT_SHOWN), "execution_history", True),
        (evolve(EVENT, evidence={"k": NOT_SHOWN}), "execution_history[].evidence", False),
        (evolve(EVENT, evidence=NOT_SHOWN), "current_claim.claim_id", True),
    ],
)
def test_shown_at_every_depth(event: Event, path: str, shown: bool) -> None:
    @frozen
    class Row:
        execution_history: tuple[Event, ...]
        current_claim: None = None

    assert shows(Row((EVENT, event)), (path,)) is shown
    assert not shows(Row(NOT_SHOWN), ("execution_history[].at",))  # type: ignore[arg-type]


def test_two_records_are_compared_as_far_as_both_show() -> None:
    later = evolve(EVENT, actor="b", evidence={"k": NOT_SHOWN, "l": "m"})
    before, after = as_far_as_both((EVENT, evolve(EVENT, actor=NOT_SHOWN)), (later, later, later))
    assert before == (
        evolve(EVENT, evidence={"k": NOT_SHOWN}),
        evolve(EVENT, actor=NOT_SHOWN, evidence={"k": NOT_SHOWN}),
    )
    assert after == (later, evolve(later, actor=NOT_SHOWN), later)


def test_rows_without_an_id_stand_beside_those_they_do_not_differ_from() -> None:
    rows = [evolve(EVENT, sequence=number, at=number) for number in range(3)]
    seen = [evolve(row, actor=NOT_SHOWN) for row in rows[::-1]]
    assert unordered_differences(rows, seen) == ()
    odd = unordered_differences(rows, [*seen[:2], evolve(seen[2], at=9)])
    assert [(each.path, each.seen) for each in odd] == [("[0].at", 9)]
    assert unordered_differences(rows, rows[::-1]) != ()


@pytest.mark.parametrize("value", ["text", 7, State.READY])
def test_a_presumed_value_is_as_good_as_the_value_and_differs_from_nothing(value: Any) -> None:
    assert presumed(value) == value
    assert {presumed(value)} == {value}
    assert differences({"a": presumed(value)}, {"a": "another"}) == ()
    assert differences({"a": str(presumed("text"))}, {"a": "another"}) == ()
    assert presumed(None) is None


def test_presumed_evidence_may_hold_further_keys() -> None:
    evidence = {**presumed({}), "decision": "retry"}
    assert differences(evidence, {"decision": "retry", "host": "h1"}) == ()
    assert [each.path for each in differences(evidence, {"decision": "none"})] == [".decision"]
    assert [each.path for each in differences(evidence, {})] == [".decision"]
