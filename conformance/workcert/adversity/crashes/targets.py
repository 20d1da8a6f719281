"""Which calls a sweep kills: of each way in which an operation writes a few, that write together all that any of its
calls writes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from typing import Final

import attrs
from attrs import frozen

from workcert.adversity.crashes.richer import richer_cases
from workcert.adversity.crashes.telling import Asked, telling
from workcert.adversity.interleavings.offering import changed_keys
from workcert.adversity.steps import renamed, slug
from workcert.adversity.ways import short_ways
from workcert.adversity.writing import Pair, Written, covering, pairs_in, way_of, written
from workcert.backends.registry import LoadedBackend
from workcert.binding import Binding, bindings
from workcert.cases.model import Call, Case, Crash, Step, Transaction, required_abilities, unrolled
from workcert.cases.playing import Played, play
from workcert.run.case import lacking
from workcert.shrink.loosening import bare
from workspec.core.choice import reference
from workspec.core.interpreter import Refused

MOST_AFTERWARDS: Final = 4
"""Steps of the case that are made after the kill, to see that the store goes on."""
TRANSACTION: Final = "transaction"
OPEN: Final = "open"


@frozen
class Target:
    """``case`` ends in ``killed``, whose point is 1; what follows it shows that the store works on. ``way``: what kind
    of call this is, ``name``: with its number where there are several; ``rows``: how many records its call writes."""

    name: str
    operation: str
    case: Case
    killed: str
    way: str = ""
    rows: int = 0
    wrote: Written = ()
    is_nearest: bool = True
    """Of its way. What a kill may do at all shows in this one; in the others, whether their writes hold together."""
    is_repeated: bool = False
    """The call of the one before it, with other steps behind."""

    @property
    def pairs(self) -> frozenset[Pair]:
        return pairs_in(self.wrote)


def targets(
    backend: LoadedBackend, *, finely: bool = False, only: Callable[[Writing], bool] = lambda _writing: True
) -> tuple[Target, ...]:
    """For each way in which an operation writes, its nearest calls of which one writes any two members that some call
    writes; and one for each way to open the store. In the order of names. ``finely``: one for each set of members;
    ``only``: of these steps."""
    of_calls = (_targets_of(backend, *each) for each in calls_to_kill(backend, finely=finely, only=only))
    return (*chain.from_iterable(of_calls), *_openings(backend, _nearest(backend), only))


def calls_to_kill(
    backend: LoadedBackend, *, finely: bool = False, only: Callable[[Writing], bool] = lambda _writing: True
) -> Iterator[tuple[Case, Writing, int]]:
    """The calls that `targets` are made of, each with the case that leads to it and its number among those of its
    way."""
    by_way: dict[str, list[tuple[Case, Writing]]] = {}
    for case, acts in _nearest(backend):
        by_way.setdefault(acts.way, []).append((case, acts))
    for way in sorted(by_way):
        if not only(by_way[way][0][1]):
            continue
        kept = by_way[way] if finely else covering(by_way[way], lambda each: pairs_in(each[1].wrote))
        numbered = enumerate(sorted(kept, key=lambda each: each[1].position), start=1)
        yield from ((case, acts, number) for number, (case, acts) in numbered)


def _nearest(backend: LoadedBackend) -> list[tuple[Case, Writing]]:
    """Of each way and each set of members the nearest call that a store can be asked for. The nearest of all first:
    what fails there is soon explained."""
    nearest: dict[tuple[str, Written], tuple[Case, Writing]] = {}
    for case, acting in _played(backend.binding.name):
        if lacking(case, backend):
            continue
        for acts in acting:
            known = nearest.get((acts.way, acts.wrote))
            if known is None or acts.position < known[1].position:
                nearest[acts.way, acts.wrote] = (case, acts)
    return sorted(nearest.values(), key=lambda each: (each[1].position, each[1].way))


@frozen(eq=False)
class Writing:
    """A step that writes something, as it was ``played``, and the steps that come after it. ``rows``: how many records
    that can be read."""

    position: int
    way: str
    operation: str
    wrote: Written
    rows: int
    played: Played
    after: tuple[Played, ...]


@cache
def _played(contract: str) -> tuple[tuple[Case, tuple[Writing, ...]], ...]:
    """Each case that leads somewhere on a short way, with the steps of it that write something."""
    binding = bindings()[contract]
    found = ((case, play(binding, case, reference)) for case in richer_cases(contract))
    return tuple((case, tuple(_acting(binding, played))) for case, played in (*short_ways(binding), *found))


def _acting(binding: Binding, played: Sequence[Played]) -> Iterator[Writing]:
    for position, each in enumerate(played):
        if each.state is each.before or not isinstance(each.step, Call | Transaction):
            continue
        wrote = written(binding.contract, each.before, each.state)
        if wrote:
            operation = each.step.call if isinstance(each.step, Call) else TRANSACTION
            rows = sum(map(binding.legible, changed_keys(each.before, each.state)))
            after = played[position + 1 : position + 1 + MOST_AFTERWARDS]
            yield Writing(position, _way(each), operation, wrote, rows, each, tuple(after))


def _way(played: Played) -> str:
    if played.decided is None or not isinstance(played.step, Call):
        return TRANSACTION
    refusals = [each.code for each in played.outcomes if isinstance(each, Refused)]
    return way_of(played.step.call, played.decided.operation.name, refusals[0] if refusals else "")


def pairs_by_way(contract: str) -> Mapping[str, frozenset[Pair]]:
    """By the name of each way in which an operation writes, what its calls write together in the cases of a contract
    that lead there on a short way."""
    binding = bindings()[contract]
    found: dict[str, set[Pair]] = {}
    for _case, played in short_ways(binding):
        for acts in _acting(binding, played):
            found.setdefault(acts.way, set()).update(pairs_in(acts.wrote))
    return {way: frozenset(pairs) for way, pairs in found.items()}


def _targets_of(backend: LoadedBackend, case: Case, acts: Writing, number: int) -> Iterator[Target]:
    """After the kill what tells whether the step was made; the step again, as a caller without an answer makes it; what
    comes after it, and the passes that find what it wrote. Once more without what comes after it where a pass finds
    something at once: a later call may make good what was torn."""
    name = acts.way if number == 1 else f"{acts.way}, {number}"
    asked, at_once = _asked(backend, acts), _asked(backend, attrs.evolve(acts, after=()))
    yield attrs.evolve(_target(backend, case, acts, name, asked), is_nearest=number == 1)
    if acts.after and at_once.passes and at_once.passes != asked.passes:
        again = _target(backend, case, attrs.evolve(acts, after=()), f"{name}, when due", at_once)
        yield attrs.evolve(again, is_repeated=True)


@frozen
class _AskedOfIt:
    """``reads`` right after the kill, the others after all."""

    reads: tuple[Asked, ...]
    tries: tuple[Asked, ...]
    passes: tuple[Asked, ...]

    @property
    def needs(self) -> frozenset[str]:
        return frozenset(profile for each in (*self.reads, *self.tries, *self.passes) for profile in each.needs)


def _target(backend: LoadedBackend, case: Case, acts: Writing, name: str, asked: _AskedOfIt) -> Target:
    binding, position = backend.binding, acts.position
    steps = tuple(unrolled(bare(case).steps))
    step = steps[position]
    assert isinstance(step, Call | Transaction)
    killed = Crash(f"{step.id}_killed", renamed(step, "unheard"), 1)
    after = steps[position + 1 : position + 1 + len(acts.after)]
    reads, passes = (
        tuple(each.step(binding, f"{step.id}_{how}_{n}", step.on) for n, each in enumerate(calls, start=1))
        for how, calls in (("read", asked.reads), ("pass", (*asked.tries, *asked.passes)))
    )
    killing = _case(case, name, (*steps[:position], killed, *reads, step, *after, *passes))
    needs = tuple(sorted({*case.header.profiles, *asked.needs}))
    killing = attrs.evolve(killing, header=attrs.evolve(killing.header, profiles=needs))
    return Target(name, acts.operation, killing, killed.id, acts.way, acts.rows, acts.wrote, is_nearest=False)


def _asked(backend: LoadedBackend, acts: Writing) -> _AskedOfIt:
    asking, claimed = telling(backend.binding.name), frozenset(backend.profiles)
    before, after = acts.played.before, acts.played.state
    last = (acts.played, *acts.after)[-1].state
    now = max(map(_instant, (acts.played, *acts.after)))
    return _AskedOfIt(
        tuple(asking.reads(before, after, _instant(acts.played), claimed)),
        tuple(asking.tries(before, last, now, claimed)),
        tuple(asking.passes(last, changed_keys(before, after), now, claimed)),
    )


def _instant(played: Played) -> int:
    """Of a step that has none, the earliest that can be."""
    if played.decided is not None:
        return played.decided.scope.now
    return max(map(_instant, played.inner), default=0)


def _openings(
    backend: LoadedBackend, nearest: Sequence[tuple[Case, Writing]], only: Callable[[Writing], bool]
) -> Iterator[Target]:
    """Making the store, and opening one that holds something: on the shortest way of all."""
    if not nearest:
        return
    case, acts = nearest[0]
    new, again = (attrs.evolve(acts, way=way, operation=OPEN, rows=0, wrote=()) for way in (f"{OPEN}, new", OPEN))
    if not (only(new) or only(again)):
        return
    least = _target(backend, case, acts, OPEN, _asked(backend, acts)).case
    steps = tuple(step for step in least.steps if not isinstance(step, Crash))
    killed = Crash("opening_killed", None, 1)
    for opening, at in ((new, 0), (again, 1)):
        if only(opening):
            made = _case(least, opening.way, (*steps[:at], killed, *steps[at:]))
            yield Target(opening.way, OPEN, made, killed.id, opening.way)


def _case(of: Case, name: str, steps: tuple[Step, ...]) -> Case:
    header = attrs.evolve(
        of.header,
        name=f"{of.header.contract}/crash-{slug(name)}",
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
