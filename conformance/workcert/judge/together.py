"""Judging calls that ran at once: some serial order must explain every answer and every record.

A call that lost its guard may have answered with the contract's conflict code; it then did nothing, and some other
call of the group must have committed. One that was unavailable has done nothing if it says so for certain, and else may
or may not have happened. `workcert.linear` finds the order.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Final

from attrs import define, field, frozen

from workcert.judge.judge import Judge
from workcert.judge.ledger import Read
from workcert.judge.verdict import Failure, Kind
from workcert.linear import FitsAnOrder, FitsNone, Unknown, check
from workcert.linear.history import Made as HistoryCall
from workcert.run.calling import Crashed, Observed, Refusal
from workspec.core.contract import Contract
from workspec.core.interpreter import Committed
from workspec.core.record import State
from workspec.core.rule import checks_of
from workspec.core.scope import Call

Made = tuple[Call, int]

MOST_DECISIONS: Final = 50_000
"""Calls that are decided in the search of an order; every order of seven is tried within it."""


class Undecided(Exception):  # noqa: N818 - no verdict, which is no error
    """The search of an order was given up: nobody knows whether there is one."""


def judge_together(
    judge: Judge,
    calls: Sequence[Made],
    observed: Sequence[Observed],
    read: Read,
    rest: Callable[[], Failure | None] = lambda: None,
) -> Failure | None:
    """None if some order of calls that all ran at once fits, else the failure of the order that came furthest.
    ``rest``: why the store is not as the judge has it, in what no row shows.

    Raises:
        Undecided: too many orders would have to be tried.
    """
    count = len(calls)
    history = [
        HistoryCall(str(index), call, now, seen, index, count + index)
        for index, ((call, now), seen) in enumerate(zip(calls, observed, strict=True))
    ]
    failure, _found = judge_history(judge, history, read, rest)
    return failure


def judge_history(
    judge: Judge,
    history: Sequence[HistoryCall],
    read: Read,
    rest: Callable[[], Failure | None] = lambda: None,
) -> tuple[Failure | None, FitsNone | None]:
    """None if some order fits that real time allows, the judge left where it leads; else the failure of the order that
    came furthest, and where that was. ``rest``: as `judge_together`.

    Raises:
        Undecided: too many orders would have to be tried.
    """
    contract = judge.binding.contract
    for made in history:
        if isinstance(made.seen, Crashed):
            text = f"a call at once with others: {made.seen.text}"
            return Failure(contract.conflict_requirements, Kind.CRASH, text), None
    found = check(judge, history, read, MOST_DECISIONS, rest)
    if isinstance(found, Unknown):
        raise Undecided(found.reason)
    if isinstance(found, FitsAnOrder):
        judge.state = found.state
        judge.note_versions(read)
        return None, None
    cause = found.cause
    text = f"no serial order of the calls explains what was seen; the best fails with: {cause.text}"
    ids = tuple(dict.fromkeys((*contract.conflict_requirements, *cause.requirements)))
    return Failure(ids, Kind.ORDER, text, cause.differences), found


@frozen(eq=False)
class Fitting:
    """An order that fits: the calls by their places, what each did, and where they lead."""

    order: tuple[int, ...]
    made: tuple[Committed, ...]
    state: State


@define(eq=False)
class Search:
    """``after``: by the place of a call, those that must come before it; ``contracts``: the rules of a call, where they
    are not those of all. ``cause``: why the order that came furthest fits no further; ``made``: what the order that
    fits has done; ``fitting``: every order that fits, where the search is ``exhaustive`` and so finds none to stop at.
    """

    judge: Judge
    calls: Sequence[Made]
    observed: Sequence[Observed]
    read: Read
    kinds: Sequence[Hashable]
    """Calls of one kind are interchangeable: if one does not come next, none of them does."""
    after: Mapping[int, frozenset[int]] = field(factory=dict)
    contracts: Mapping[int, Contract] = field(factory=dict)
    rest: Callable[[], Failure | None] = lambda: None
    """What else must be as the order left it."""
    blind: bool = False
    """What a call chose is not looked for in records: a later one has written over it."""
    stale: Sequence[State] = ()
    """What was committed before all of them, which a read that need not be fresh may show."""
    cause: Failure | None = None
    made: list[Committed] = field(factory=list)
    exhaustive: bool = False
    fitting: list[Fitting] = field(factory=list)
    _reached: int = -1
    _decisions: int = 0

    def finds(self, waiting: frozenset[int], made: list[int]) -> bool:
        """Whether what waits can follow what was made in some order. The judge is left where that order led."""
        if not waiting:
            return self._ends(made)
        state = self.judge.state
        tried: set[Hashable] = set()
        for index in sorted(waiting):
            if self.kinds[index] in tried or not waiting.isdisjoint(self.after.get(index, ())):
                continue
            tried.add(self.kinds[index])
            if not self._fits(index, state, len(made)):
                continue
            if self.finds(waiting - {index}, [*made, index]):
                return True
            committed = self.made.pop()
            if not committed.decision.parts and self._changes_nothing_anywhere(index, committed):
                # It fits here in any order that there is.
                break
        self.judge.state = state
        return False

    def _changes_nothing_anywhere(self, index: int, committed: Committed) -> bool:
        """Whatever its place, if it is answered so. A replay that succeeds is no such call: elsewhere it is none, and
        the same answer tells of a change."""
        operation = committed.decision.operation
        if operation.name in self.judge.binding.reads:
            return True
        commits = any(getattr(check, "committing", ()) for check in checks_of(operation))
        return isinstance(self.observed[index], Refusal) and not commits

    def _fits(self, index: int, state: State, reached: int) -> bool:
        self._decisions += 1
        if self._decisions > MOST_DECISIONS:
            raise Undecided(f"no order was found among {MOST_DECISIONS} decisions")
        self.judge.state = state
        call, now = self.calls[index]
        committed, failure = self.judge.answer_only(
            call, now, self.observed[index], self.read, self.contracts.get(index), blind=self.blind
        )
        if failure is not None and not self._shows_earlier(index):
            self._note(reached, failure)
            return False
        self.judge.state = committed.state
        self.made.append(committed)
        return True

    def _shows_earlier(self, index: int) -> bool:
        call, _now = self.calls[index]
        if not self.judge.binding.may_be_stale(call):
            return False
        earlier = (*(made.state for made in self.made), *self.stale)
        return self.judge.plain_read(call, self.observed[index], earlier) is not None

    def _ends(self, order: list[int]) -> bool:
        """Every call has its place; the records must be as the last one left them."""
        ids = tuple(i for made in self.made for i in made.decision.trace.requirements)
        ids = ids or self.judge.binding.contract.comparisons["others"]
        failure = self.judge.everything(self.read, ids, Kind.RECORD, "at the end") or self.rest()
        if failure is not None:
            self._note(len(order), failure)
            return False
        if self.exhaustive:
            self.fitting.append(Fitting(tuple(order), tuple(self.made), self.judge.state))
            return False
        self.judge.note_versions(self.read)
        return True

    def _note(self, reached: int, failure: Failure) -> None:
        if reached > self._reached:
            self._reached, self.cause = reached, failure
