"""Rules: checks, effects, transitions, decision tables and operations, as data that the interpreter applies."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from attrs import field, frozen

from workspec.core.choice import Choice
from workspec.core.condition import ALWAYS, Condition, Member, Term
from workspec.core.scope import Scope, Trace


def ids(text: str) -> tuple[str, ...]:
    """Requirement ids, written with blanks between them; the first is the one that a failure names."""
    return tuple(text.split())


# Effects and moves -----------------------------------------------------------------------------------------------


@frozen(eq=False)
class Effect:
    """A small named change of a record.

    ``writes`` names every fact that it may change, and ``log.x`` for each part of the log to which it may append;
    ``*`` means that it makes the record (and ``log`` its whole log). ``apply`` returns the changes by those names;
    for ``log.x`` the one value to append. ``target`` gives the key of the record that it changes, where that is not
    the addressed one.
    """

    name: str
    requirements: tuple[str, ...]
    writes: tuple[str, ...]
    text: str
    apply: Callable[[Scope], Mapping[str, Any]]
    target: Callable[[Scope], str] | None = None


def effect(requirements: str, *, writes: str, text: str) -> Callable[[Callable[[Scope], Mapping[str, Any]]], Effect]:
    """Decorate a function of the scope; its name becomes the effect's."""
    return lambda apply: Effect(apply.__name__.replace("_", " "), ids(requirements), tuple(writes.split()), text, apply)


@frozen(eq=False)
class Evidence:
    """One key of an event's evidence; absent when the term's value is None. Integers are written in decimal."""

    key: str
    value: Term


@frozen(eq=False)
class Move:
    """A state change: the transition row of the present state and ``event`` is taken and one event appended.

    ``actor`` gives who acts. ``open_evidence``: a free choice of further evidence that the contract leaves open.
    """

    event: str
    actor: Term | Choice
    requirements: tuple[str, ...]
    evidence: tuple[Evidence, ...] = ()
    open_evidence: Choice | None = None


@frozen(eq=False)
class When:
    """Steps that are taken only if the condition holds at that point."""

    condition: Condition
    steps: tuple[Step, ...]


@frozen(eq=False)
class Procedure:
    """Named steps that more than one rule uses."""

    name: str
    steps: tuple[Step, ...]


@frozen(eq=False)
class On:
    """Steps on another record than the addressed one: ``target`` gives its key, ``name`` says which it is."""

    name: str
    target: Callable[[Scope], str]
    steps: tuple[Step, ...]


Step: TypeAlias = "Effect | Move | When | Procedure | On"


def walk_steps(steps: Iterable[Step]) -> Iterator[Effect | Move | When]:
    """All steps in order, those inside conditions and procedures included."""
    for step in steps:
        if isinstance(step, Procedure | On):
            yield from walk_steps(step.steps)
            continue
        yield step
        if isinstance(step, When):
            yield from walk_steps(step.steps)


# Transitions -----------------------------------------------------------------------------------------------------


@frozen(eq=False)
class Transition:
    """One row: in ``source`` the event leads to ``target`` if the guard holds."""

    source: str
    event: str
    target: str
    requirements: tuple[str, ...]
    guard: Condition = ALWAYS
    text: str = ""

    @property
    def key(self) -> str:
        return f"{self.source} -[{self.event}]-> {self.target}"


@frozen(eq=False)
class TransitionTable:
    rows: tuple[Transition, ...]
    _index: dict[tuple[str, str], tuple[Transition, ...]] = field(init=False, repr=False)

    @_index.default
    def _build_index(self) -> dict[tuple[str, str], tuple[Transition, ...]]:
        index: dict[tuple[str, str], tuple[Transition, ...]] = {}
        for row in self.rows:
            index[row.source, row.event] = (*index.get((row.source, row.event), ()), row)
        return index

    def of(self, state: str, event: str) -> tuple[Transition, ...]:
        return self._index.get((state, event), ())

    def events(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(row.event for row in self.rows))

    def illegal(self, event: str) -> Member:
        """The condition that the present state has no row for this event."""
        name = f"no transition by {event!r} from the present state"
        return Term(name, "flag", "facts", lambda scope: not self.of(scope.facts.state, event)).holds()


# Decision tables -------------------------------------------------------------------------------------------------


@frozen(eq=False)
class TableRow:
    requirements: tuple[str, ...]
    when: Condition
    value: Any


@frozen(eq=False)
class DecisionTable:
    """Ordered rows; the first whose condition holds gives the value, ``otherwise`` if none does.

    It is asked once in a decision: what it said first stays true while effects change the record. ``term`` is the
    value as a term of that name, for conditions and evidence. ``order``: ids on the order of the rows; they count
    when a later row holds too.
    """

    name: str
    unit: str
    rows: tuple[TableRow, ...]
    otherwise: Any = None
    order: tuple[str, ...] = ()
    term: Term = field(init=False, repr=False)
    _row_keys: tuple[str, ...] = field(init=False, repr=False)

    @term.default
    def _as_term(self) -> Term:
        return Term(self.name, self.unit, "facts", self.settle)

    @_row_keys.default
    def _name_rows(self) -> tuple[str, ...]:
        return tuple(f"table {self.name} row {index + 1}" for index in range(len(self.rows)))

    def row_key(self, index: int) -> str:
        return self._row_keys[index]

    def settle(self, scope: Scope) -> Any:
        settled = scope.settled
        if self.name in settled:
            return settled[self.name]
        owner = scope.owner
        value = self.otherwise
        for index, row in enumerate(self.rows):
            scope.owner = self._row_keys[index]
            if row.when.decide(scope):
                scope.trace.fired.append(scope.owner)
                scope.trace.requirements.extend(row.requirements)
                if self.order and self._later_row_holds(index, scope):
                    scope.trace.requirements.extend(self.order)
                value = row.value
                break
        scope.owner = owner
        settled[self.name] = value
        return value

    def _later_row_holds(self, index: int, scope: Scope) -> bool:
        trace, scope.trace = scope.trace, Trace()
        holds = any(row.when.decide(scope) for row in self.rows[index + 1 :])
        scope.trace = trace
        return holds


# Checks ----------------------------------------------------------------------------------------------------------


@frozen(eq=False)
class Refuse:
    """The call is refused with ``code``. ``committing`` steps are committed all the same.

    ``order``: ids on the place of this check; they count when a later check would have answered too. ``unordered``:
    its place is not asserted; which other answers are right then, `workspec.core.orders` says.
    """

    requirements: tuple[str, ...]
    code: str | Choice
    when: Condition
    committing: tuple[Step, ...] = ()
    details: Callable[[Scope], Mapping[str, Any]] | None = None
    order: tuple[str, ...] = ()
    unordered: bool = False


@frozen(eq=False)
class Reply:
    """The call succeeds at once with ``answer``, and nothing is done: a replay."""

    requirements: tuple[str, ...]
    when: Condition
    answer: Callable[[Scope], Any]
    order: tuple[str, ...] = ()


@frozen(eq=False)
class Skip:
    """In a batch or a draw: this element is passed over; ``committing`` steps are taken all the same."""

    requirements: tuple[str, ...]
    when: Condition
    committing: tuple[Step, ...] = ()


Check: TypeAlias = "Refuse | Reply | Skip"


# Operations ------------------------------------------------------------------------------------------------------

Answer = Callable[[Scope, Any], Any]
"""From the scope and the records after the commit (by key) to what the caller gets."""


@frozen(eq=False)
class Operation:
    """One call on one record: checks in order, then steps.

    ``locate`` gives the key of the addressed record. ``again``: after a lost guard the call is decided anew on the
    winner instead of being refused with the contract's conflict code. ``order``: ids of the requirements on the
    order of the checks; they count when two checks compete. ``requirements`` count when the call succeeds. ``tells``:
    terms that the answer finds settled, so that a table is a part of the contract there too.
    """

    name: str
    checks: tuple[Refuse | Reply, ...]
    steps: tuple[Step, ...]
    answer: Answer
    locate: Callable[[Scope], str]
    requirements: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    again: bool = False
    tells: tuple[Term, ...] = ()


@frozen(eq=False)
class Phase:
    """One pass over all elements of a batch before the next phase begins."""

    checks: tuple[Check, ...]


@frozen(eq=False)
class Batch:
    """One call on many elements.

    Every phase runs over all elements in order; then the steps run for each element that no check skipped. An
    *atomic* batch is one commit and any refusal ends it; in one that is not atomic each element commits alone, and
    an element whose guard is lost is passed over. ``locate`` gives the key of the record of an element.
    """

    name: str
    elements: Callable[[Scope], Iterable[Any]]
    locate: Callable[[Scope], str]
    phases: tuple[Phase, ...]
    steps: tuple[Step, ...]
    answer: Callable[[Scope, tuple[Any, ...], Mapping[str, Any]], Any]
    """From the scope, the elements whose commit held, and the records after it."""
    atomic: bool
    checks: tuple[Refuse | Reply, ...] = ()
    """Asked once, before the elements."""
    requirements: tuple[str, ...] = ()
    order: tuple[str, ...] = ()


@frozen(eq=False)
class Promises:
    """What a draw promises, to say which promise was broken: the order *within* a group of records and *across*
    groups, that it is *complete* (nothing that may be taken is left out), and how many it takes at *most*.
    ``barriers``: why a record is none of those that it looks at, the first that holds."""

    group: Callable[[Any], Hashable]
    within: tuple[str, ...]
    across: tuple[str, ...]
    complete: tuple[str, ...]
    most: tuple[str, ...]
    barriers: tuple[Skip, ...]


@frozen(eq=False)
class Draw:
    """One call that takes records in an order of its own until it has enough, as one commit.

    ``order`` is a named generator over keys; the gate skips candidates; the steps run for each one taken;
    ``until`` is asked before each candidate and ends the draw (``Scope.index`` counts those taken; the generator may
    ask it too, and sees whether the last candidate was taken). The steps of ``closing`` run once, with all that were
    taken as ``Scope.element``.
    """

    name: str
    order: Callable[[Scope], Iterable[str]]
    gate: tuple[Skip, ...]
    steps: tuple[Step, ...]
    until: Condition
    answer: Callable[[Scope, tuple[Any, ...], Mapping[str, Any]], Any]
    checks: tuple[Refuse | Reply, ...] = ()
    requirements: tuple[str, ...] = ()
    closing: tuple[Step, ...] = ()
    states: tuple[str, ...] = ()
    """The states of the records that the order gives; empty where it may give any."""
    promises: Promises | None = None


AnyOperation: TypeAlias = "Operation | Batch | Draw"


def checks_of(operation: AnyOperation) -> tuple[Check, ...]:
    """Every check of an operation in the order in which it is asked."""
    if isinstance(operation, Operation):
        return operation.checks
    if isinstance(operation, Batch):
        return (*operation.checks, *(check for phase in operation.phases for check in phase.checks))
    return (*operation.checks, *operation.gate)


def check_keys(operation: AnyOperation) -> tuple[str, ...]:
    """A key for each of `checks_of`, stable while the rule keeps its ids and its place among equals."""
    keys: list[str] = []
    for check in checks_of(operation):
        base = f"{operation.name}: {type(check).__name__.lower()} {' '.join(check.requirements)}"
        twins = sum(1 for key in keys if key.split(" #")[0] == base)
        keys.append(base if not twins else f"{base} #{twins + 1}")
    return tuple(keys)
