"""Judging a call that was held, and those that were made meanwhile: some serial order must explain all that was seen.

Of each call it is known which others had ended before it began, and which may have committed inside of it. A pass
whose elements commit each alone may have others between its elements, so that each element has a place of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import Any

from attrs import define, evolve, field, frozen

from workcert.judge.judge import Judge
from workcert.judge.ledger import Read
from workcert.judge.together import Search, Undecided
from workcert.judge.verdict import Failure, Kind
from workcert.run.calling import Answered, Crashed, Observed, Refusal, Unavailable
from workspec.core.contract import Contract
from workspec.core.interpreter import Committed, decide
from workspec.core.record import State
from workspec.core.rule import Batch
from workspec.core.scope import Call, Scope


@frozen(eq=False)
class Overlap:
    """One call of a group. ``after``: the places of those that had ended before it began; ``met``: of those that may
    have committed between its beginning and its end."""

    call: Call
    now: int
    observed: Observed
    after: frozenset[int] = frozenset()
    met: frozenset[int] = frozenset()


@frozen(eq=False)
class Explained:
    """``failure`` None: ``order`` fits, the places of the calls that took effect in it, an element of a pass as often
    as it has a place of its own; the judge is left where it leads."""

    failure: Failure | None
    order: tuple[int, ...] = ()


def judge_overlapping(judge: Judge, group: Sequence[Overlap], read: Read) -> Explained:
    """Find a serial order of the calls that took effect.

    One that was unavailable, definitely, has done nothing; one that was it otherwise may or may not have happened. One
    that lost its guard has done nothing either, and another must have changed its record inside of it.

    Raises:
        Undecided: too many orders would have to be tried.
    """
    ids = judge.binding.contract.conflict_requirements
    crashed = next((each.observed for each in group if isinstance(each.observed, Crashed)), None)
    if crashed is not None:
        return Explained(Failure(ids, Kind.CRASH, f"a call that met another: the store raised {crashed.text}"))
    seen = {place: each.observed for place, each in enumerate(group)}
    unsure = [place for place, one in seen.items() if isinstance(one, Unavailable) and not one.definite]
    losers = [place for place, one in seen.items() if _lost(judge, one)]
    sure = [p for p, one in seen.items() if not isinstance(one, Unavailable) and p not in losers]
    causes: list[Failure] = []
    before = judge.state
    for happened in _subsets(unsure):
        judge.state = before
        found = _Group(judge, group, read, losers).finds({*sure, *happened})
        if isinstance(found, Failure):
            causes.append(found)
            continue
        judge.take_over(read)
        return Explained(None, found)
    cause = causes[0]
    text = f"no serial order of the calls explains what was seen; the best fails with: {cause.text}"
    every = tuple(dict.fromkeys((*ids, *cause.requirements)))
    return Explained(Failure(every, Kind.ORDER, text, cause.differences))


def _lost(judge: Judge, observed: Observed) -> bool:
    code = judge.binding.contract.conflict_code
    return code is not None and isinstance(observed, Refusal) and observed.code == code


def _subsets(places: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """All of them first: what may have happened mostly has."""
    for size in range(len(places), -1, -1):
        yield from combinations(places, size)


@define(eq=False)
class _Group:
    """The calls as parts that are placed one by one. ``part_of``: the place of the call of each part."""

    judge: Judge
    group: Sequence[Overlap]
    read: Read
    losers: Sequence[int]
    part_of: list[int] = field(factory=list)
    calls: list[tuple[Call, int]] = field(factory=list)
    observed: list[Observed] = field(factory=list)
    contracts: dict[int, Contract] = field(factory=dict)

    def finds(self, taking_part: set[int]) -> tuple[int, ...] | Failure:
        for place in sorted(taking_part):
            self._add(place, self.group[place])
        before = {
            part: frozenset(p for p, other in enumerate(self.part_of) if other in self.group[place].after)
            for part, place in enumerate(self.part_of)
        }
        start = self.judge.state
        # Each call is of a kind of its own: there are few.
        kinds = range(len(self.calls))
        search = Search(self.judge, self.calls, self.observed, self.read, kinds, before, self.contracts)
        if not search.finds(frozenset(kinds), []):
            cause = search.cause
            assert cause is not None
            return cause
        order = tuple(self.part_of[part] for part in search.order)
        return self._without_cause(start, order, search.made) or order

    def _add(self, place: int, each: Overlap) -> None:
        for call, seen, contract in _parts(self.judge, each):
            if contract is not None:
                self.contracts[len(self.calls)] = contract
            self.part_of.append(place)
            self.calls.append((call, each.now))
            self.observed.append(seen)

    def _without_cause(self, start: State, order: Sequence[int], made: Sequence[Committed]) -> Failure | None:
        """A guard is lost to another commit on the same record, inside the call that lost it."""
        contract = self.judge.binding.contract
        for place in self.losers:
            each = self.group[place]
            key = decide(contract, start, each.call, each.now).scope.key
            changed = {
                change.key
                for other, committed in zip(order, made, strict=True)
                for part in committed.decision.parts
                for change in part.changes
                if other in each.met
            }
            if key not in changed:
                text = f"{each.call.name} was refused with {contract.conflict_code}, and nobody changed {key} meanwhile"
                return Failure(contract.conflict_requirements, Kind.ORDER, text)
        return None


def _parts(judge: Judge, each: Overlap) -> Iterator[tuple[Call, Observed, Contract | None]]:
    """The call; or, of a pass that may come to several records, what it does with each."""
    contract = judge.binding.contract
    operation = contract.operation(contract.resolved(each.call).name)
    if not isinstance(operation, Batch) or operation.atomic or not isinstance(each.observed, Answered | Unavailable):
        yield each.call, each.observed, None
        return
    answer = getattr(each.observed, "value", None)
    scope = decide(contract, judge.state, each.call, each.now).scope
    told = [key for key in answer if isinstance(key, str)] if isinstance(answer, list | tuple) else []
    located = (operation.locate(evolve(scope, element=element)) for element in operation.elements(scope))
    keys = [str(key) for key in dict.fromkeys((*located, *told))]
    if len(keys) < 2:
        yield each.call, each.observed, None
        return
    if isinstance(each.observed, Answered) and (not isinstance(answer, list | tuple) or len(told) < len(answer)):
        raise Undecided(f"{each.call.name} does not tell to which of several records it came")
    for key in keys:
        seen = each.observed if answer is None else Answered([one for one in told if one == key])
        yield each.call, seen, _coming_to(contract, operation, key)


def _coming_to(contract: Contract, operation: Batch, key: str) -> Contract:
    """The contract with a pass that comes to no other record than this one."""

    def elements(scope: Scope) -> Iterable[Any]:
        return [each for each in operation.elements(scope) if operation.locate(evolve(scope, element=each)) == key]

    only = evolve(operation, elements=elements)
    kept = tuple(only if each.name == operation.name else each for each in contract.operations)
    return evolve(contract, operations=kept)
