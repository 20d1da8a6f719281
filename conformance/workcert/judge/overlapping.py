"""Judging a call that was held, and those that were made meanwhile: some serial order must explain all that was seen.

Of each call it is known which others had ended before it began, and which may have committed inside of it. A pass
whose elements commit each alone may have others between its elements, so that each element has a place of its own.

Where the clock of the store went on inside of a call, that call may have read it before or after. Those that have read
it later come later in the order: a call reads the clock inside of the order, and not before it has its place there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations, pairwise, product
from typing import Any

from attrs import define, evolve, field, frozen

from workcert.judge.judge import Judge
from workcert.judge.ledger import Read
from workcert.judge.together import Fitting, Search, Undecided
from workcert.judge.verdict import Failure, Kind
from workcert.run.calling import Answered, Crashed, Observed, Refusal, Unavailable
from workspec.core.contract import Contract
from workspec.core.interpreter import decide
from workspec.core.record import State
from workspec.core.rule import Batch
from workspec.core.scope import Call, Scope


@frozen(eq=False)
class Overlap:
    """One call of a group. ``after``: the places of those that had ended before it began; ``met``: of those that may
    have committed between its beginning and its end; ``later``: instants to which the clock went on meanwhile."""

    call: Call
    now: int
    observed: Observed
    after: frozenset[int] = frozenset()
    met: frozenset[int] = frozenset()
    later: tuple[int, ...] = ()


@frozen(eq=False)
class Explained:
    """``failure`` None: ``order`` fits, the places of the calls that took effect in it, an element of a pass as often
    as it has a place of its own; the judge is left where it leads. ``others``: where other orders lead that fit as
    well, which differ in what no row shows."""

    failure: Failure | None
    order: tuple[int, ...] = ()
    others: tuple[State, ...] = ()


def judge_overlapping(
    judge: Judge,
    group: Sequence[Overlap],
    read: Read,
    rest: Callable[[], Failure | None],
    stale: Sequence[State] = (),
) -> Explained:
    """Find a serial order of the calls that took effect.

    One that was unavailable, definitely, has done nothing; one that was it otherwise may or may not have happened. One
    that lost its guard has done nothing either, and another must have changed its record inside of it; so must it have
    changed what a pass came to and passed over.

    Args:
        judge: before the calls; left where the order leads that fits.
        group: the calls.
        read: reads rows as they are afterwards.
        rest: why the store is not as the judge has it, in what no row shows.
        stale: the states that were committed before, which a read that need not be fresh may show.

    Raises:
        Undecided: too many orders would have to be tried.
    """
    ids = judge.binding.contract.conflict_requirements
    crashed = next((each.observed for each in group if isinstance(each.observed, Crashed)), None)
    if crashed is not None:
        return Explained(Failure(ids, Kind.CRASH, f"a call that met another: the store raised {crashed.text}"))
    before = judge.state
    explaining = _Explaining(judge, read, rest, stale)
    fitting = explaining.orders(list(_in_order_of_time(group)))
    if fitting:
        first, *others = fitting
        judge.state = first.state
        judge.take_over(read)
        return Explained(None, first.order, _distinct(first.state, [other.state for other in others]))
    cause = explaining.causes[0]
    too_early = _read_too_early(explaining, group)
    judge.state = before
    if too_early:
        return Explained(Failure(ids, Kind.ORDER, too_early))
    text = f"no serial order of the calls explains what was seen; the best fails with: {cause.text}"
    every = tuple(dict.fromkeys((*ids, *cause.requirements)))
    return Explained(Failure(every, Kind.ORDER, text, cause.differences))


def _at_all_instants(group: Sequence[Overlap]) -> Iterator[list[Overlap]]:
    """The group with each call at one of the instants that it may have read, the earliest first."""
    for instants in product(*((each.now, *each.later) for each in group)):
        yield [evolve(each, now=at) for each, at in zip(group, instants, strict=True)]


def _in_order_of_time(group: Sequence[Overlap]) -> Iterator[Sequence[Overlap]]:
    """The same, where the clock went on: who comes before whom their instants tell."""
    if not any(each.later for each in group):
        yield group
        return
    for timed in _at_all_instants(group):
        earlier = ({place for place, other in enumerate(timed) if other.now < each.now} for each in timed)
        yield [evolve(each, after=each.after | places) for each, places in zip(timed, earlier, strict=True)]


def _read_too_early(explaining: _Explaining, group: Sequence[Overlap]) -> str:
    """Which call has taken effect behind a later one, at an earlier instant, if that explains all; else empty."""
    if not any(each.later for each in group):
        return ""
    for timed in _at_all_instants(group):
        for fitting in explaining.orders([timed]):
            order = [timed[place] for place in fitting.order]
            for before, late in pairwise(order):
                if late.now < before.now:
                    return (
                        f"{late.call.name} took effect at {late.now}, behind {before.call.name}, which was made later, "
                        f"at {before.now}: it read the clock before it had its place in the order"
                    )
    return ""


@define(eq=False)
class _Explaining:
    """``causes``: why orders do not fit."""

    judge: Judge
    read: Read
    rest: Callable[[], Failure | None]
    stale: Sequence[State]
    causes: list[Failure] = field(factory=list)

    def orders(self, groups: Sequence[Sequence[Overlap]]) -> list[Fitting]:
        """Every order that fits of any of these groups, which differ in when their calls were made. What calls chose is
        looked for in records as long as there is one."""
        before = self.judge.state
        found: list[Fitting] = []
        for blind in (False, True):
            for group in groups if not found else ():
                found += self._orders_of(group, before, blind)
        self.judge.state = before
        return found

    def _orders_of(self, group: Sequence[Overlap], before: State, blind: bool) -> list[Fitting]:
        seen = {place: each.observed for place, each in enumerate(group)}
        unsure = [place for place, one in seen.items() if isinstance(one, Unavailable) and not one.definite]
        losers = [place for place, one in seen.items() if _lost(self.judge, one)]
        sure = {place for place, one in seen.items() if not isinstance(one, Unavailable) and place not in losers}
        found: list[Fitting] = []
        for happened, passed_over in product(_subsets(unsure), (False, True)):
            self.judge.state = before
            searched = _Group(self.judge, group, self.read, self.rest, losers, passed_over, blind, self.stale)
            found += searched.orders(sure.union(happened))
            self.causes += searched.causes
        return found


def _distinct(first: State, states: Sequence[State]) -> tuple[State, ...]:
    """Those that are not the first, each once."""
    kept: list[State] = []
    for state in states:
        if dict(state) != dict(first) and all(dict(state) != dict(other) for other in kept):
            kept.append(state)
    return tuple(kept)


def _lost(judge: Judge, observed: Observed) -> bool:
    code = judge.binding.contract.conflict_code
    return code is not None and isinstance(observed, Refusal) and observed.code == code


def _subsets(places: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """All of them first: what may have happened mostly has."""
    for size in range(len(places), -1, -1):
        yield from combinations(places, size)


@define(eq=False)
class _Group:
    """The calls as parts that are placed one by one. ``passes_over``: what a pass does not tell it has lost to others.
    ``part_of``: the place of the call of each part; ``lost``: places, and keys that were lost there."""

    judge: Judge
    group: Sequence[Overlap]
    read: Read
    rest: Callable[[], Failure | None]
    losers: Sequence[int]
    passes_over: bool
    blind: bool
    stale: Sequence[State]
    part_of: list[int] = field(factory=list)
    calls: list[tuple[Call, int]] = field(factory=list)
    observed: list[Observed] = field(factory=list)
    contracts: dict[int, Contract] = field(factory=dict)
    lost: list[tuple[int, str | None]] = field(factory=list)
    causes: list[Failure] = field(factory=list)

    def orders(self, taking_part: set[int]) -> list[Fitting]:
        """Every order of these calls that fits; why none does is in ``causes``."""
        for place in sorted(taking_part):
            self._add(place, self.group[place])
        if self.passes_over and not self.lost:
            return []
        for place in self.losers:
            each = self.group[place]
            scope = decide(self.judge.binding.contract, self.judge.state, each.call, each.now).scope
            self.lost.append((place, scope.key))
        before = {
            part: frozenset(p for p, other in enumerate(self.part_of) if other in self.group[place].after)
            for part, place in enumerate(self.part_of)
        }
        # Each call is of a kind of its own: there are few.
        kinds = range(len(self.calls))
        search = Search(
            self.judge,
            self.calls,
            self.observed,
            self.read,
            kinds,
            before,
            self.contracts,
            self.rest,
            blind=self.blind,
            stale=self.stale,
            exhaustive=True,
        )
        search.finds(frozenset(kinds), [])
        found = [evolve(each, order=tuple(self.part_of[part] for part in each.order)) for each in search.fitting]
        wrong = [self._without_cause(each) for each in found]
        self.causes += [cause for cause in (*wrong, search.cause if not found else None) if cause is not None]
        return [each for each, cause in zip(found, wrong, strict=True) if cause is None]

    def _add(self, place: int, each: Overlap) -> None:
        for key, seen, contract in _parts(self.judge, each):
            if self.passes_over and key is not None and isinstance(seen, Answered) and seen.value in ([], 0):
                self.lost.append((place, key))
                continue
            if contract is not None:
                self.contracts[len(self.calls)] = contract
            self.part_of.append(place)
            self.calls.append((each.call, each.now))
            self.observed.append(seen)

    def _without_cause(self, fitting: Fitting) -> Failure | None:
        """A guard is lost to another commit on the same record, inside the call that lost it."""
        contract = self.judge.binding.contract
        for place, key in self.lost:
            each = self.group[place]
            changed = {
                change.key
                for other, committed in zip(fitting.order, fitting.made, strict=True)
                for part in committed.decision.parts
                for change in part.changes
                if other in each.met
            }
            if key not in changed:
                lost = f"was refused with {contract.conflict_code}" if place in self.losers else f"passed over {key}"
                text = f"{each.call.name} {lost}, and nobody changed {key} meanwhile"
                return Failure(contract.conflict_requirements, Kind.ORDER, text)
        return None


def _parts(judge: Judge, each: Overlap) -> Iterator[tuple[str | None, Observed, Contract | None]]:
    """The call whole; or, of a pass whose elements commit each alone, what it does with each record, by its key."""
    contract = judge.binding.contract
    operation = contract.operation(contract.resolved(each.call).name)
    if not isinstance(operation, Batch) or operation.atomic or not isinstance(each.observed, Answered | Unavailable):
        yield None, each.observed, None
        return
    answer = getattr(each.observed, "value", None)
    scope = decide(contract, judge.state, each.call, each.now).scope
    told = [key for key in answer if isinstance(key, str)] if isinstance(answer, list | tuple) else []
    located = (operation.locate(evolve(scope, element=element)) for element in operation.elements(scope))
    keys = [str(key) for key in dict.fromkeys((*located, *told))]
    tells = isinstance(answer, list | tuple) and len(told) == len(answer)
    if not tells and len(keys) < 2:
        yield (keys[0] if keys else None), each.observed, None
        return
    if isinstance(each.observed, Answered) and not tells:
        raise Undecided(f"{each.call.name} does not tell to which of several records it came")
    for key in keys:
        seen = Answered([one for one in told if one == key]) if tells else each.observed
        yield key, seen, _coming_to(contract, operation, key)


def _coming_to(contract: Contract, operation: Batch, key: str) -> Contract:
    """The contract with a pass that comes to no other record than this one."""

    def elements(scope: Scope) -> Iterable[Any]:
        return [each for each in operation.elements(scope) if operation.locate(evolve(scope, element=each)) == key]

    only = evolve(operation, elements=elements)
    kept = tuple(only if each.name == operation.name else each for each in contract.operations)
    return evolve(contract, operations=kept)
