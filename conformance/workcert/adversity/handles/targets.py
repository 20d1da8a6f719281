"""Of each operation the shortest way to a call that does something, or that shows something."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final

import attrs
from attrs import frozen

from workcert.adversity.steps import renamed
from workcert.adversity.ways import short_ways
from workcert.backends.registry import LoadedBackend
from workcert.binding import Binding, bindings
from workcert.cases.model import (
    Call,
    Case,
    Header,
    Inject,
    Misuse,
    Plain,
    Restart,
    Step,
    Together,
    Transaction,
    Way,
    required_abilities,
    unrolled,
)
from workcert.cases.playing import Played
from workcert.run.case import lacking
from workcert.shrink.loosening import bare

MOST_AFTERWARDS: Final = 3
"""Steps of the case that are made afterwards, to see that the store goes on."""
TRANSACTION: Final = "transaction"


@frozen
class Target:
    """``before`` leads to the step, ``after`` goes on from it."""

    operation: str
    header: Header
    before: tuple[Plain, ...]
    step: Call | Transaction
    after: tuple[Plain, ...]

    def case(self, name: str, title: str, steps: tuple[Step, ...], handles: tuple[str, ...] = ()) -> Case:
        """A case of these steps behind those that lead to them."""
        contract = self.header.contract
        header = attrs.evolve(
            self.header,
            name=f"{contract}/handles-{name}-{self.operation}".replace("_", "-"),
            title=title,
            requirements=(),
            handles=tuple(dict.fromkeys((*self.header.handles, *handles))),
        )
        case = Case(header, (*self.before, *steps))
        abilities = tuple(sorted({*_lasting(header), *required_abilities(case)}))
        return Case(attrs.evolve(header, abilities=abilities), case.steps)


def _lasting(header: Header) -> set[str]:
    """What the whole case needed because of its handles may not be needed by its beginning."""
    return set(header.abilities) - {"pause", "kill", "second_handle", "restart", "inject"}


def targets(backend: LoadedBackend) -> tuple[Target, ...]:
    """One for each operation, in the order of names."""
    shortest: dict[str, tuple[int, Target]] = {}
    for case, worth in _worth_in(backend.binding.name):
        if lacking(case, backend):
            continue
        steps = tuple(unrolled(bare(case).steps))
        for position, operation in worth:
            known = shortest.get(operation)
            step = steps[position]
            if (known is None or position < known[0]) and isinstance(step, Call | Transaction):
                after = tuple(each for each in steps[position + 1 :] if isinstance(each, Call))[:MOST_AFTERWARDS]
                target = Target(operation, case.header, steps[:position], step, after)
                shortest[operation] = (position, target)
    return tuple(target for _name, (_position, target) in sorted(shortest.items()))


@cache
def _worth_in(contract: str) -> tuple[tuple[Case, tuple[tuple[int, str], ...]], ...]:
    """Each case with the positions of the steps that are worth a try, and their operations."""
    binding = bindings()[contract]
    return tuple((case, tuple(_worth(binding, played))) for case, played in short_ways(binding))


def _worth(binding: Binding, played: Sequence[Played]) -> Iterator[tuple[int, str]]:
    for position, each in enumerate(played):
        if all(isinstance(earlier.step, Call | Inject | Restart) for earlier in played[:position]):
            operation = _does_something(binding, each)
            if operation:
                yield position, operation


def _does_something(binding: Binding, played: Played) -> str:
    step, changed = played.step, played.state is not played.before
    if isinstance(step, Transaction) and changed:
        return TRANSACTION
    # The clock that the kit itself stops before each call cannot be moved by a call that is made twice.
    if not isinstance(step, Call) or step.call in binding.calls.moving_clock or (binding.has_clock and step.at is None):
        return ""
    shows = step.call in binding.reads and bool(played.state) and step.args.get("fresh") is not False
    return step.call if changed or shows else ""


def misused(target: Target, way: Way) -> Case:
    """The call in a way, then the call again as it should be made, and what comes after it."""
    step = target.step
    unheard = renamed(step, "misused")
    title = f"{target.operation} on a handle that is used in another way than it was opened for: {way.value}"
    steps = (Misuse(f"{step.id}_way", unheard, way), step, *target.after)
    return target.case(way.value, title, steps, ("other",) if way is Way.RESTARTED_MEANWHILE else ())


def shared(target: Target, rounds: int) -> Case | None:
    """The call by two threads at once on one handle."""
    step = target.step
    if not isinstance(step, Call):
        return None
    calls = (step, attrs.evolve(step, id=f"{step.id}_too"))
    block = Together("at_once", calls, rounds, shared=True)
    title = f"{target.operation} by two threads at once on one handle"
    return target.case("shared", title, (block, *target.after))
