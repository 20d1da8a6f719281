"""Which calls a sweep kills: of each operation the shortest way to a call of it that changes something."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final

import attrs
from attrs import evolve, frozen

from workcert.adversity.steps import renamed
from workcert.adversity.ways import short_ways
from workcert.backends.registry import LoadedBackend
from workcert.binding import Binding, bindings
from workcert.cases.model import Call, Case, Crash, Step, Transaction, required_abilities, unrolled
from workcert.cases.playing import Played
from workcert.cases.write import write
from workcert.run.case import lacking
from workcert.shrink.loosening import bare
from workspec.core.record import State

MOST_AFTERWARDS: Final = 4
"""Steps of the case that are made after the kill, to see that the store goes on."""


@frozen
class Target:
    """``case`` ends in ``killed``, whose point is 1; what follows it shows that the store works on. ``name``: of the
    operation, with what kind of call of it this is. ``rows``: how many records its call changes."""

    name: str
    operation: str
    case: Case
    killed: str
    rows: int = 0


def targets(backend: LoadedBackend, *, finely: bool = False) -> tuple[Target, ...]:
    """One for each operation that changes something, a second one where a call of it changes several records, and one
    for each way to open the store, in the order of names. ``finely``: one for each set of kinds of facts that a call of
    it changes, too: buckets, holds, queues and what else no read shows row by row."""
    shortest: dict[str, tuple[tuple[int, int, int], Target]] = {}
    for case, acting in _played(backend.binding.name):
        if lacking(case, backend):
            continue
        for acts in acting:
            size = (acts.position, acts.changed, len(write(Case(case.header, case.steps[: acts.position + 1]))))
            if finely and acts.kinds:
                acts = evolve(acts, name=f"{acts.name}, {acts.kinds}")
            known = shortest.get(acts.name)
            if known is None or size < known[0]:
                shortest[acts.name] = (size, _target(case, acts))
    found = [target for _size, target in shortest.values()]
    return tuple(sorted([*found, *_openings(found)], key=lambda target: target.name))


@frozen
class _Acts:
    """A step that changes something: how many records that can be read, and of which kinds those are that cannot."""

    position: int
    name: str
    operation: str
    changed: int
    kinds: str


@cache
def _played(contract: str) -> tuple[tuple[Case, tuple[_Acts, ...]], ...]:
    """Each case that leads somewhere on a short way, with the steps of it that change something."""
    binding = bindings()[contract]
    return tuple((case, tuple(_acting(binding, played))) for case, played in short_ways(binding))


def _acting(binding: Binding, played: Sequence[Played]) -> Iterator[_Acts]:
    """Each step that changes something."""
    for position, each in enumerate(played):
        if each.state is each.before or not isinstance(each.step, Call | Transaction):
            continue
        operation = each.step.call if isinstance(each.step, Call) else "transaction"
        keys = _changed(each)
        changed = sum(map(binding.legible, keys))
        name = f"{operation} of several" if changed > 1 else operation
        yield _Acts(position, name, operation, changed, _kinds(binding, each, keys))


def _changed(played: Played) -> list[str]:
    before: State = played.before
    return [key for key in {*before, *played.state} if before.get(key) is not played.state.get(key)]


def _kinds(binding: Binding, played: Played, keys: list[str]) -> str:
    """What changes beside the records that can be read, by the names of their facts."""
    records = [played.state.get(key) or played.before[key] for key in keys if not binding.legible(key)]
    return " ".join(sorted({type(record.facts).__name__.removesuffix("Facts").lower() for record in records}))


def _target(case: Case, acts: _Acts) -> Target:
    """The case up to the step, which is killed; then the step again, as a caller without an answer makes it."""
    position = acts.position
    steps = tuple(unrolled(bare(case).steps))
    step = steps[position]
    assert isinstance(step, Call | Transaction)
    killed = Crash(f"{step.id}_killed", renamed(step, "unheard"), 1)
    after = steps[position + 1 : position + 1 + MOST_AFTERWARDS]
    killing = _case(case, acts.name, (*steps[:position], killed, step, *after))
    return Target(acts.name, acts.operation, killing, killed.id, acts.changed)


def _openings(found: list[Target]) -> Iterator[Target]:
    """Making the store, and opening one that holds something: on the shortest way of all."""
    if not found:
        return
    least = min(found, key=lambda target: (len(target.case.steps), target.name)).case
    steps = tuple(step for step in least.steps if not isinstance(step, Crash))
    killed = Crash("opening_killed", None, 1)
    yield Target("open, new", "open", _case(least, "open, new", (killed, *steps)), killed.id)
    first, *rest = steps
    yield Target("open", "open", _case(least, "open", (first, killed, *rest)), killed.id)


def _case(of: Case, name: str, steps: tuple[Step, ...]) -> Case:
    header = attrs.evolve(
        of.header,
        name=f"{of.header.contract}/crash-{name.replace(', ', '-').replace(' ', '-').replace('_', '-')}",
        title=f"{name}, in a process that is killed",
        requirements=(),
    )
    case = Case(header, steps)
    abilities = tuple(sorted({*header.abilities, *required_abilities(case)}))
    return Case(attrs.evolve(header, abilities=abilities), steps)


def at_point(target: Target, point: int, disk: str | None = None) -> Case:
    """The case of a target with the kill at this point, or with a disk that fails there, which its title then says."""

    killed = attrs.evolve(killed_step(target), point=point, disk=disk)
    steps = tuple(killed if step.id == target.killed else step for step in target.case.steps)
    header = target.case.header
    if disk is not None:
        header = attrs.evolve(header, title=f"{target.name}, {killed.befalls}")
    return Case(header, steps)


def killed_step(target: Target) -> Crash:
    """The step of its case that is killed."""
    return next(step for step in target.case.steps if isinstance(step, Crash) and step.id == target.killed)
