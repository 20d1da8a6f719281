"""Calls that a search finds and no case makes: they write two members together that no call of a case does.

``workcert search CONTRACT --all --write`` finds them anew; to search takes longer than to kill them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from attrs import evolve, frozen

from workcert.adversity.interleavings.acting import Acting, acting_in, needed_for
from workcert.adversity.interleavings.offering import made, state_after
from workcert.adversity.shipped import folder_of, shipped, write_all
from workcert.adversity.steps import slug
from workcert.adversity.writing import Pair, Written, members_between, pairs_in, tidied, way_of, written
from workcert.binding import Binding
from workcert.cases.compact import compacted
from workcert.cases.model import Case
from workcert.search.breadth import Breadth
from workcert.search.path import case_of, path_to
from workcert.search.targets import ERROR

PACKAGE: Final = "workcert.adversity.crashes"
MOST_TRIED: Final = 3
"""Of the calls that seem to write the same: a search folds records, and of what it has folded a real one may show
nothing."""


@frozen(eq=False)
class _Seen:
    """A call of a search, and the members of folded records that it writes."""

    breadth: Breadth
    number: int
    acting: Acting
    needs: int


def richer(binding: Binding, searches: Sequence[Breadth], known: Mapping[str, Iterable[Pair]]) -> Iterator[Case]:
    """For each way in which an operation writes, by its name, calls that write pairs of members which are not known."""
    by_way: dict[str, dict[Written, list[_Seen]]] = {}
    for breadth in searches:
        for way, wrote, seen in _writing(breadth):
            by_way.setdefault(way, {}).setdefault(wrote, []).append(seen)
    for way in sorted(by_way):
        told = set(known.get(way, ()))
        for wrote, calls in sorted(by_way[way].items(), key=lambda each: (-len(pairs_in(each[0])), str(each[0]))):
            for seen in calls[:MOST_TRIED]:
                if pairs_in(wrote) <= told:
                    break
                case, really = _real(binding, seen)
                if not really <= told:
                    told |= really
                    name = f"{binding.name}/richer-{slug(way)}"
                    yield evolve(case, header=evolve(case.header, name=name))


def _writing(breadth: Breadth) -> Iterator[tuple[str, Written, _Seen]]:
    needed, told = needed_for(breadth), set[object]()
    for number in range(breadth.looked_at):
        state = breadth.states[number]
        for acting in acting_in(breadth, state):
            changes = tuple((state[place], new) for leaf in acting.leaves for place, new in leaf.changes or ())
            if not changes or (acting.name, acting.leaves, changes) in told:
                continue
            told.add((acting.name, acting.leaves, changes))
            records = ([breadth.records.record(each) for each in change] for change in changes)
            wrote = tidied(members_between(breadth.contract, before, after) for before, after in records)
            yield _way(breadth, acting), wrote, _Seen(breadth, number, acting, needed[number] | acting.needs)


def _way(breadth: Breadth, acting: Acting) -> str:
    refusals = [name[1] for leaf in acting.leaves for kind, name in leaf.targets if kind == ERROR]
    operation = breadth.contract.resolved(acting.offered.call).name
    return way_of(acting.name, operation, refusals[0] if refusals else "")


def _real(binding: Binding, seen: _Seen) -> tuple[Case, frozenset[Pair]]:
    """The case that makes the call, and what it writes when nothing is folded."""
    path = path_to(seen.breadth, (seen.number, seen.acting.place, seen.acting.which))
    *before, last = path.steps
    state = state_after(binding.contract, before)
    done = made(binding.contract, state, last.call, last.at)
    case = case_of(binding.contract, path, (), "a call that writes what no other does")
    header = evolve(case.header, profiles=tuple(sorted(seen.breadth.needs.names(seen.needs))))
    wrote = () if done is None else written(binding.contract, state, done.state)
    return compacted(evolve(case, header=header), binding.omitted), pairs_in(wrote)


def keep(binding: Binding, cases: Iterable[Case]) -> int:
    """Write cases in place of those that are there; how many.

    Raises:
        OSError: the folder cannot be written.
    """
    return write_all(binding.name, cases, folder_of(PACKAGE))


def richer_cases(contract: str) -> tuple[Case, ...]:
    """Those that ship with the kit, in their order; none where there are none.

    Raises:
        CaseError: a damaged installation.
    """
    return shipped(PACKAGE, contract)
