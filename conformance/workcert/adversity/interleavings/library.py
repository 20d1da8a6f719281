"""Meetings as case files, one after the other in one file: those of one meeting for each pair, one chain for each
operation and a few of each read ship with the kit, since to search for them takes longer than to try them.

``workcert search CONTRACT --all --write`` makes them anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from attrs import evolve

from workcert.adversity.interleavings.chains import TITLES, Chain, chains, chosen_chains
from workcert.adversity.interleavings.meetings import Meeting, chosen, meetings
from workcert.adversity.interleavings.readings import chosen_readings, readings
from workcert.adversity.shipped import folder_of, shipped, write_all
from workcert.binding import BUSY_TIMEOUT_MS, Binding
from workcert.cases.compact import compacted
from workcert.cases.model import Call, Case, Frozen, Header
from workcert.search.breadth import Breadth
from workcert.search.path import case_of

PACKAGE: Final = "workcert.adversity.interleavings"


def everything(binding: Binding, searches: Sequence[Breadth]) -> tuple[tuple[Meeting | Chain, ...], ...]:
    """All meetings of two calls, all chains and all held reads that are found in searches, each alone."""
    reads = (each.meeting for each in readings(binding, searches))
    found: tuple[Meeting | Chain, ...] = (*meetings(binding, searches), *chains(binding, searches), *reads)
    return tuple((each,) for each in found)


def most_telling(binding: Binding, searches: Sequence[Breadth]) -> tuple[tuple[Meeting | Chain, ...], ...]:
    """Those that ship with the kit, as groups of which a store is asked one."""
    pairs, chained = chosen(meetings(binding, searches)), chosen_chains(chains(binding, searches))
    return (*pairs, *chained, *chosen_readings(readings(binding, searches)))


def cases_from(binding: Binding, groups: Iterable[Sequence[Meeting | Chain]]) -> Iterator[Case]:
    """The cases of meetings: those of one group, of which a store is asked one, have one name."""
    numbers: dict[str, int] = {}
    for group in groups:
        cases = [chained_from(binding, each) if isinstance(each, Chain) else case_from(binding, each) for each in group]
        name = cases[0].header.name
        numbers[name] = numbers.get(name, 0) + 1
        own = name if numbers[name] == 1 else f"{name}-{numbers[name]}"
        yield from (evolve(case, header=evolve(case.header, name=own)) for case in cases)


def case_from(binding: Binding, meeting: Meeting) -> Case:
    """The first call held at its first point, the second meanwhile."""
    contract = binding.contract
    first, second = (case_of(contract, path, (), "") for path in (meeting.held, meeting.other))
    held, other = first.steps[-1], second.steps[-1]
    assert isinstance(held, Call)
    assert isinstance(other, Call)
    number = len(first.steps)
    idle, finding = ("", "") if meeting.both_act else ("idle-", ", which would find nothing,")
    meanwhile = evolve(other, id=f"s{number + 1}", on="B")
    name, title = f"{held.call}-against-{idle}{other.call}", f"{other.call}{finding} comes between"
    header = _header(binding, first.header, held, name, title, meeting.needs)
    reads = (case_of(contract, path, (), "").steps[-1] for path in meeting.reads)
    afterwards = (evolve(read, id=f"s{n}") for n, read in enumerate(reads, start=number + 2))
    steps = (*first.steps[:-1], Frozen(f"f{number}", held, (meanwhile,), point=1), *afterwards)
    return compacted(Case(header, steps), binding.omitted)


def chained_from(binding: Binding, chain: Chain) -> Case:
    """The call held at its first point, and the others one after the other meanwhile."""
    contract = binding.contract
    before = chain.held.steps[:-1]
    held = case_of(contract, chain.held, (), "").steps[-1]
    others = case_of(contract, evolve(chain.held, steps=(*before, *chain.others, *chain.then)), (), "")
    assert isinstance(held, Call)
    first, last = len(before), len(before) + len(chain.others)
    during = tuple(evolve(each, on="B") for each in others.steps[first:last] if isinstance(each, Call))
    name, title = f"{held.call}-record-{chain.way}", f"what it found {TITLES[chain.way]}"
    header = _header(binding, others.header, held, name, title, chain.needs)
    number = len(others.steps) + 1
    step = Frozen(f"f{number}", evolve(held, id=f"s{number}"), during, point=1)
    return compacted(Case(header, (*others.steps[:first], step, *others.steps[last:])), binding.omitted)


def _header(binding: Binding, of: Header, held: Call, name: str, between: str, needs: frozenset[str]) -> Header:
    return evolve(
        of,
        name=f"{binding.name}/{name}".replace("_", "-"),
        title=f"{held.call} is held, and {between}",
        # The first says that calls which meet do as if one came after the other; the rest, what a loser is told.
        requirements=binding.contract.conflict_requirements[:1],
        profiles=tuple(sorted(needs)),
        abilities=("points", "second_handle"),
        config={BUSY_TIMEOUT_MS: 0},
        handles=("A", "B"),
    )


def keep(binding: Binding, groups: Iterable[Sequence[Meeting | Chain]], folder: Path) -> int:
    """Write the cases of meetings in place of those that are there; how many.

    Raises:
        OSError: the folder cannot be written.
    """
    return write_all(binding.name, cases_from(binding, groups), folder)


def place() -> Path:
    """Where the meetings of all contracts lie in a checkout."""
    return folder_of(PACKAGE)


def kept(contract: str) -> tuple[Case, ...]:
    """The cases that ship with the kit, in their order; none where there are none.

    Raises:
        CaseError: a damaged installation.
    """
    return shipped(PACKAGE, contract)
