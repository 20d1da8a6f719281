"""What several callers do at once: programs drawn from a seed, steered by the specification.

A program is a case: a few calls in order, then a block of calls at once, each caller's one after the other on a handle
of its own. It is drawn by letting the interpreter make the calls in one of the many orders that there are, so that most
of them have something to do; what they find when they run at once is another matter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, Final, Protocol

from attrs import define, evolve, field, frozen

from workcert.backends.registry import LoadedBackend
from workcert.binding import Binding
from workcert.cases.model import Call, Case, Header, Together, required_abilities
from workcert.machines.sources import chosen
from workcert.references import ReferenceFault, Refused, resolve
from workcert.run.answers import Answers
from workspec.core.choice import Declared, NotAsserted
from workspec.core.contract import digest
from workspec.core.interpreter import Accepted, apply, instants
from workspec.core.record import State
from workspec.core.scope import Call as ModelCall

HANDLES: Final = ("A", "B", "C", "D", "E", "F", "G", "H")
TRIES: Final = 3
"""So many calls are thought of, and the first that is accepted is taken; else the last."""
BLOCK: Final = "at_once"


Proposal = tuple[str, dict[str, Any]] | None


@frozen
class Shape:
    """How many callers there are, and how many calls each makes."""

    callers: int
    calls: int


SHAPES: Final = (Shape(2, 4), Shape(3, 3), Shape(4, 3), Shape(4, 6), Shape(2, 8), Shape(6, 2))


class Author(Protocol):
    """Knows the calls of a contract. ``begin_at``: the instant of the first."""

    begin_at: int

    def begin(self, draft: Draft) -> None:
        """The calls in order that come first."""

    def propose(self, draft: Draft, on: str) -> Proposal:
        """Some call of a caller and its arguments; None where it thought of one that cannot be made now."""

    def made(self, draft: Draft, call: Call, answer: Any) -> None:
        """It was made, and accepted."""


@define(eq=False)
class Draft:
    """A program as it is drawn. ``state`` is the model's; ``at`` the instant of the next call; ``methods`` those that
    the store has."""

    binding: Binding
    methods: frozenset[str]
    declared: Mapping[str, Any]
    profiles: frozenset[str]
    random: Random
    at: int
    state: State = field(factory=dict)
    answers: Answers = field(factory=Answers)
    steps: list[Call] = field(factory=list)
    first: frozenset[str] = frozenset()
    """The ids of the steps that come before the block."""
    held: dict[str, list[Any]] = field(factory=dict)
    """What each handle may go on with, by its name; what all of them may, under the empty one."""

    def pick(self, values: Sequence[Any]) -> Any:
        return chosen(values, self.random)

    def holdings(self, on: str) -> list[Any]:
        return [*self.held.get("", ()), *self.held.get(on, ())]

    def hold(self, on: str, what: Any) -> None:
        self.held.setdefault(on, []).append(what)

    def call(self, on: str, name: str, arguments: Mapping[str, Any]) -> Call:
        signature = self.binding.signature(name)
        at = self.at if signature.timed or self.binding.has_clock else None
        return Call(f"c{len(self.steps) + 1}", on, name, arguments, at)

    def outcome(self, call: Call) -> Any:
        """What the specification says of it now, and the state after it; None where it says nothing."""
        try:
            typed = self.binding.signature(call.call).typed(resolve(call.args, self.answers))
            made = ModelCall(call.call, typed)
            now = self.binding.contract.instant(made, self.at)
            return apply(self.binding.contract, self.state, made, now, Declared(self.declared))
        except (ReferenceFault, NotAsserted):
            return None

    def make(self, author: Author, call: Call) -> bool:
        """Add it to the program; whether it was accepted."""
        committed = self.outcome(call)
        if committed is None:
            return False
        self.steps.append(call)
        self.state = committed.state
        accepted = isinstance(committed.outcome, Accepted)
        if accepted:
            self.answers.put(call.id, committed.outcome.value)
            author.made(self, call, committed.outcome.value)
        else:
            self.answers.put(call.id, Refused(committed.outcome.code))
        return accepted

    def do(self, author: Author, on: str, name: str, /, **arguments: Any) -> bool:
        """A call of which the arguments are known, if the store has it."""
        return name in self.methods and self.make(author, self.call(on, name, arguments))

    def turns(self) -> list[int]:
        """The instants at which something happens to a record, and those beside them."""
        found = {
            turn + beside
            for record in self.state.values()
            for turn in instants(self.binding.contract, record, self.at)
            for beside in (-1, 0, 1)
        }
        return sorted(instant for instant in found if self.at <= instant < self.at + 10**9)


def program(
    backend: LoadedBackend, methods: frozenset[str], author: Author, random: Random, shape: Shape | None = None
) -> Case:
    """One program for this backend; of some shape, where none is asked for."""
    binding = backend.binding
    draft = Draft(binding, methods, backend.choices, backend.profiles, random, author.begin_at)
    author.begin(draft)
    first = tuple(draft.steps)
    later = [draft.at, *draft.turns()]
    draft.at = draft.pick(later) if random.random() < 0.6 else later[0]
    draft.first = frozenset(call.id for call in first)
    draft.held = {"": [one for held in draft.held.values() for one in held]}
    shape = shape or draft.pick(SHAPES)
    turns = [on for on in HANDLES[: shape.callers] for _ in range(shape.calls)]
    random.shuffle(turns)
    for on in turns:
        _one_call(draft, author, on)
    made = draft.steps[len(first) :]
    calls = tuple(call for on in HANDLES[: shape.callers] for call in made if call.on == on)
    return case_of(backend, first, Together(BLOCK, calls))


def _one_call(draft: Draft, author: Author, on: str) -> None:
    last: Call | None = None
    for _ in range(TRIES):
        proposed = author.propose(draft, on)
        if proposed is None or proposed[0] not in draft.methods:
            continue
        call = draft.call(on, *proposed)
        committed = draft.outcome(call)
        if committed is None:
            continue
        last = call
        if isinstance(committed.outcome, Accepted):
            break
    if last is not None:
        draft.make(author, last)


def case_of(backend: LoadedBackend, first: Sequence[Call], block: Together) -> Case:
    """A program as a case, with no more handles than it uses."""
    handles = tuple(dict.fromkeys(call.on for call in (*first, *block.calls)))
    header = Header(
        contract=backend.binding.name,
        name=f"{backend.binding.name}/parallel",
        title="Callers at once",
        profiles=tuple(sorted(backend.profiles - {"CORE"})),
        handles=handles,
        digest=digest(backend.binding.contract),
    )
    case = Case(header, (*first, block))
    return evolve(case, header=evolve(header, abilities=tuple(sorted(required_abilities(case)))))


def drawn(weights: Mapping[str, int], random: Random) -> str:
    """One of several names, by their weights."""
    return random.choices(list(weights), list(weights.values()))[0]
