"""What a call does, remembered by what its decision read.

For each call there is a tree: a node names the record, and the part of it, that is read next; its branches are what may
be found there; a leaf is the end of the decision. A decision is a function of what it reads, so the next reading of a
node is always the same, and a leaf holds for every state that leads to it. Every leaf is made by the interpreter, once.

Where the elements of a call commit each alone, what it does with one record is remembered apart from what it does with
the others. Answers of calls that can change something are left out: no answer changes a state. Where a path is told,
the whole contract makes its calls again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from attrs import define, evolve, field, frozen

from workcert.search.interning import Records, identity_of
from workcert.search.judging import Broken, Judge
from workcert.search.needs import Needs
from workcert.search.targets import Raw, kinds_of_keys, shown_by
from workcert.search.watched import Watch, WatchedState, whole
from workspec.core.configuration import Configuration, Taken
from workspec.core.contract import Contract
from workspec.core.interpreter import Refused, RuleError, apply
from workspec.core.record import Record
from workspec.core.rule import AnyOperation, Batch, Operation, Reply, checks_of
from workspec.core.scope import Call, Scope

RULES: Final = "the rules"
"""In the place of a requirement, where the specification contradicts itself."""

NOWHERE: Final = -1
NEVER: Final = -1
Numbers = tuple[int, ...]
"""A state: for each key of the configuration the number of its record."""


class Node:
    """``place`` and ``part`` say what is read next; `NOWHERE` for a leaf or an end that nothing is known of."""

    __slots__ = ("branches", "by_value", "changes", "left", "needs", "noted", "part", "place", "targets", "under")

    def __init__(self) -> None:
        self.place = NOWHERE
        self.part = ""
        self.branches: dict[int, Node] = {}
        """By the number of the record."""
        self.by_value: dict[int, Node] = {}
        self.changes: tuple[tuple[int, int], ...] | None = None
        """Of a leaf: the places of the records that change, with their numbers afterwards."""
        self.left: tuple[int, str] | None = None
        """Of a leaf: the place of the addressed record that a refusal left as it was, and its code."""
        self.needs = 0
        """Of a leaf: what a store must claim for it."""
        self.targets: tuple[Raw, ...] = ()
        """Of a leaf: what it shows."""
        self.under = NEVER
        """Of a leaf of a whole call: what had been needed before it when its targets were noted last."""
        self.noted: set[tuple[int, int]] | None = None
        """Of a leaf of a part: what had been needed before the call and after it, whenever its targets were noted."""


@frozen(eq=False)
class End:
    """What the interpreter found at a leaf that is new."""

    leaf: Node
    broken: tuple[Broken, ...]


@frozen(eq=False)
class Part:
    """A call, or what it does with one record where each of its elements commits alone; then ``key`` is the key."""

    call: Call
    contract: Contract
    key: str | None = None
    root: Node = field(factory=Node)


@frozen(eq=False)
class Offered:
    """A call with its parts. ``root``: of the only one, None where there are several."""

    call: Call
    parts: tuple[Part, ...]
    root: Node | None


Beside: TypeAlias = Callable[[Part, WatchedState, int], None]


@define(eq=False)
class Memo:
    contract: Contract
    configuration: Configuration
    records: Records
    needs: Needs
    places: dict[str, int] = field(init=False)
    silent: Contract = field(init=False)
    judge: Judge = field(init=False)
    kinds: Mapping[str, str] = field(init=False)
    beside: Beside | None = None
    """Told of each decision that is made, with a state to make others on. What these read is noted as well, so that
    what is found of a decision holds wherever it is remembered."""
    roots: dict[Hashable, Offered] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        self.places = {key: place for place, key in enumerate(self.configuration.keys)}
        self.silent = evolve(self.contract, operations=tuple(map(_without_answers, self.contract.operations)))
        self.judge = Judge(self.contract, self.configuration.laws)
        self.kinds = kinds_of_keys(self.contract)

    def calls_of(self, key: str | None, number: int) -> Sequence[Offered]:
        """The calls of the record with this number."""
        return [self._offered(call) for call in self.made(key, self.records.record(number))]

    def made(self, key: str | None, record: Record | None) -> Sequence[Call]:
        """The calls that the configuration makes of a record."""
        return tuple(self.configuration.calls(key, record, self.configuration.start))

    def _offered(self, call: Call) -> Offered:
        identity = (call.name, identity_of(call.arguments))
        if identity not in self.roots:
            operation = self.contract.operation(self.contract.resolved(call).name)
            if isinstance(operation, Batch) and not operation.atomic:
                parts = tuple(
                    Part(call, restricted(self.silent, operation, key), key) for key in self.configuration.keys
                )
                self.roots[identity] = Offered(call, parts, None)
            else:
                part = Part(call, self.silent)
                self.roots[identity] = Offered(call, (part,), part.root)
        return self.roots[identity]

    def follow(self, root: Node, state: Numbers) -> Node | None:
        """The leaf at the end of the readings; None where the interpreter has not been there."""
        node = root
        while node.changes is None:
            if node.place == NOWHERE:
                return None
            number = state[node.place]
            found = node.branches.get(number)
            if found is None:
                found = node.by_value.get(self.records.part(number, node.part))
                if found is None:
                    return None
                node.branches[number] = found
            node = found
        return node

    def decide(self, part: Part, state: Numbers) -> End:
        """Make the call by the interpreter and remember what it does."""
        call, root = part.call, part.root
        watch = Watch()
        keys = self.configuration.keys
        records = {key: self.records.found[number][1] for key, number in zip(keys, state, strict=True) if number}
        before = WatchedState(records, self.places, watch, {})
        now = self.contract.instant(call, self.configuration.start)
        try:
            done = apply(part.contract, before, call, now)
        except RuleError as error:
            return End(self._grow(root, watch, state, ()), (Broken(RULES, str(error)),))
        if self.beside is not None:
            self.beside(part, WatchedState(records, self.places, watch, {}), now)
        targets = tuple(dict.fromkeys(shown_by(self.kinds, before, done)))
        taken = Taken(self.contract, before, call, now, done)
        broken = tuple(self.judge.broken_by(taken, before if part.key is None else (part.key,)))
        needs = self.needs.of(call, before, done, taken.changed)
        changes = []
        for key in taken.changed:
            if part.key not in (None, key):
                raise AssertionError(f"{call.name} changed {key} when it came to {part.key} alone")
            whole(before.get(key))
            record = done.state.get(key)
            changes.append((self.places[key], 0 if record is None else self.records.number(key, record)))
        leaf = self._grow(root, watch, state, tuple(sorted(changes)))
        leaf.needs, leaf.targets = needs, targets
        addressed = done.decision.scope.key
        if isinstance(done.outcome, Refused) and addressed in self.places and addressed not in taken.changed:
            leaf.left = (self.places[addressed], str(done.outcome.code))
        return End(leaf, broken)

    def _grow(self, root: Node, watch: Watch, state: Numbers, changes: tuple[tuple[int, int], ...]) -> Node:
        node = root
        for place, part in watch.order:
            if node.place == NOWHERE and node.changes is None:
                node.place, node.part = place, part
            elif (node.place, node.part) != (place, part):
                raise AssertionError(f"{part} of {place} was read where {node.part} of {node.place} had been read")
            number = state[place]
            value = self.records.part(number, part)
            found = node.by_value.get(value)
            if found is None:
                found = node.by_value[value] = Node()
            node.branches[number] = found
            node = found
        node.changes = changes
        return node


def restricted(contract: Contract, operation: Batch, key: str) -> Contract:
    """The contract with an operation that comes to no other record than this one, and answers nothing."""

    def elements(scope: Scope) -> Iterable[Any]:
        return [each for each in operation.elements(scope) if operation.locate(evolve(scope, element=each)) == key]

    only = evolve(operation, elements=elements, answer=_silent)
    kept = (only if each.name == operation.name else each for each in contract.operations)
    return evolve(contract, operations=tuple(kept))


def _silent(*_given: Any) -> None:
    return None


def _without_answers(operation: AnyOperation) -> AnyOperation:
    if not isinstance(operation, Operation):
        return evolve(operation, answer=_silent)
    checks = tuple(evolve(each, answer=_silent) if isinstance(each, Reply) else each for each in checks_of(operation))
    # What a read decides, it decides while it answers.
    answer = _silent if operation.steps else operation.answer
    return evolve(operation, checks=checks, answer=answer)  # type: ignore[arg-type]
