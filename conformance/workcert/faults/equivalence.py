"""Faults that show nothing: shown to be so by search.

Within a configuration whose frontier is empty, every decision that a state can lead to is made twice, by the right
rules and by the wrong ones. Where both end alike everywhere (the same answer, the same records, the same elements
taken), the wrong rules reach the same states, and within this configuration nobody can tell the two apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from attrs import define, field

from workcert.binding import Binding
from workcert.faults.fault import Fault
from workcert.search.breadth import Breadth
from workcert.search.command import CONFIGURATIONS
from workcert.search.memo import Part, restricted
from workcert.search.watched import WatchedState
from workspec.core.configuration import Configuration
from workspec.core.contract import Contract
from workspec.core.interpreter import apply
from workspec.core.rule import Batch

CRASHED: Final = "crashed"


def proven(
    binding: Binding,
    faults: Sequence[Fault],
    told: Callable[[Configuration], None] = lambda _configuration: None,
    configurations: Sequence[Configuration] = (),
) -> Mapping[str, str]:
    """Which of these faults no configuration can tell from the right store, each with the statement of it.

    A fault of what keeps or shows the state is no matter of rules: of it nothing is stated. So is one whose operation
    no configuration calls.

    Args:
        binding: the contract and what the kit knows of it.
        faults: those that every suite left standing.
        told: called before each configuration is searched.
        configurations: those to search; none: all of the contract.
    """
    left = [fault for fault in faults if fault.specification is not None]
    compared: dict[str, list[tuple[str, int]]] = {}
    for configuration in configurations or CONFIGURATIONS[binding.name]:
        if not left:
            break
        told(configuration)
        beside = _Beside(binding.contract, left)
        _search(binding.contract, configuration, beside)
        left = [fault for fault in left if fault.name not in beside.differ]
        for fault in left:
            if beside.compared.get(fault.name):
                compared.setdefault(fault.name, []).append((configuration.name, beside.compared[fault.name]))
    return {fault.name: _statement(compared[fault.name]) for fault in left if fault.name in compared}


def _statement(compared: Iterable[tuple[str, int]]) -> str:
    worlds = ", ".join(f"{name} ({count:,})" for name, count in compared)
    return f"no decision differs in the configurations (with decisions compared): {worlds}"


def _search(contract: Contract, configuration: Configuration, beside: _Beside) -> None:
    breadth = Breadth(contract, configuration)
    breadth.memo.beside = beside
    breadth.run()


@define(eq=False)
class _Beside:
    """Makes each decision by the right rules and by those of every fault that touches the operation.

    A fault that is known to differ is still asked: what it reads decides where a decision is remembered, and that must
    not change on the way.
    """

    contract: Contract
    faults: Sequence[Fault]
    compared: dict[str, int] = field(factory=dict)
    differ: set[str] = field(factory=set)
    _made: dict[tuple[int, str | None], Contract] = field(factory=dict)

    def __call__(self, part: Part, state: WatchedState, now: int) -> None:
        operation = self.contract.resolved(part.call).name
        touched = [fault for fault in self.faults if not fault.touched or operation in fault.touched]
        if not touched:
            return
        right = self._end(self.contract, part, state, now)
        for fault in touched:
            assert fault.specification is not None
            wrong = self._end(fault.specification, part, state, now)
            self.compared[fault.name] = self.compared.get(fault.name, 0) + 1
            if wrong != right:
                self.differ.add(fault.name)

    def _end(self, contract: Contract, part: Part, state: WatchedState, now: int) -> Any:
        own = self._of_part(contract, part)
        before = state.copied()
        try:
            done = apply(own, before, part.call, now)
        except Exception:
            # Rules that contradict themselves, or read what is not there: the store would raise.
            return CRASHED
        after = done.state
        written = {key: after.get(key) for key in getattr(after, "written", frozenset())}
        taken = tuple((part_.element, part_.counts) for part_ in done.decision.parts)
        return done.outcome, written, taken if part.key is not None else ()

    def _of_part(self, contract: Contract, part: Part) -> Contract:
        """The rules, or where elements commit alone, those that come to one record."""
        if part.key is None:
            return contract
        identity = (id(contract), part.key + part.call.name)
        if identity not in self._made:
            operation = contract.operation(contract.resolved(part.call).name)
            assert isinstance(operation, Batch)
            self._made[identity] = restricted(contract, operation, part.key)
        return self._made[identity]
