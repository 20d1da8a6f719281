"""A contract: everything that is specified, in one value."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Any

from attrs import field, frozen

from workspec.core.choice import Choice
from workspec.core.condition import Condition
from workspec.core.record import Record
from workspec.core.requirement import Catalogue
from workspec.core.rule import (
    AnyOperation,
    Batch,
    DecisionTable,
    Draw,
    Effect,
    Move,
    Operation,
    Refuse,
    Step,
    TransitionTable,
    When,
    check_keys,
    checks_of,
    walk_steps,
)
from workspec.core.scope import Call


@frozen(eq=False)
class Invariant:
    """What holds in every committed record (``of="record"``, a function of the presented record) or across every
    step (``of="step"``, a function of the presented record before and after, either None, and the refusal's code).

    ``reads``: the members that ``holds`` looks at, as paths like ``result.output`` or ``attempts[].status`` (of every
    element). A path that ends in a list or a carrier asks only whether it is there and how many it holds. What is
    only compared with itself before the step is not read. An invariant cannot be asked of a record that leaves one
    of these out, and can be of one that leaves out anything else.
    """

    requirement: str
    of: str
    text: str
    holds: Callable[..., bool]
    reads: tuple[str, ...]


@frozen(eq=False)
class Unique:
    """No two records share this value; the later commit is refused with ``code``."""

    requirements: tuple[str, ...]
    value: Callable[[Any], Hashable | None]
    code: str


@frozen(eq=False)
class StateNote:
    """One state for people: what kind it is, and where it stands in the diagram (column, row)."""

    name: str
    kind: str
    place: tuple[float, float]
    text: str = ""


def _as_it_is(call: Call) -> Call:
    return call


def _always(_record: Record) -> bool:
    return True


@frozen(eq=False)
class Contract:
    """``present`` turns a record of the model into the vocabulary's record, ``absorb`` the other way (for injection
    and migration); ``shows`` says whether a record is one that `present` knows, where a store keeps several kinds.
    ``instants`` names the members that are instants, by the type that has them. ``instant`` is the ``now`` of a call,
    from the call and the time that the caller states, if any. ``comparisons`` says which
    requirements a judge shows by comparing: ``version`` (moved exactly on a change), ``refusal`` (changed nothing),
    ``others`` (no other record changed), ``restart`` (all as before it), ``stale view`` (a handle that did not see
    another's commit), ``read`` (what was committed), ``count`` (as many records as there are), ``clock`` (it
    stands where it was stopped), ``transaction`` (nothing seen of it before its commit) and the
    names of calls that are made inside one. ``shown_as`` names the member of the presented record in which a fact, or
    a part of the log, shows where the two names differ."""

    name: str
    version: str
    catalogue: Catalogue
    operations: tuple[AnyOperation, ...]
    transitions: TransitionTable
    tables: tuple[DecisionTable, ...]
    choices: tuple[Choice, ...]
    invariants: tuple[Invariant, ...]
    uniques: tuple[Unique, ...]
    states: tuple[StateNote, ...]
    conflict_code: str | None
    """Of a call whose guard is lost. None: no call is refused for it, each is decided anew on what came between."""
    conflict_requirements: tuple[str, ...]
    start_state: str
    empty_log: Any
    present: Callable[[Record], Any]
    absorb: Callable[[Any, int | None], Record]
    instants: Mapping[type, tuple[str, ...]]
    instant: Callable[[Call, int | None], int]
    comparisons: Mapping[str, tuple[str, ...]]
    shown_as: Mapping[str, str]
    resolved: Callable[[Call], Call] = _as_it_is
    """A call of the port as the call of an operation: one method may be several operations, or another one with some
    of its arguments set."""
    shows: Callable[[Record], bool] = _always
    symptoms: Mapping[str, tuple[str, ...]] = field(factory=dict)
    """By the id under which a fault is seen, the ids of what may have caused it earlier, where no record shows it."""
    _by_name: dict[str, AnyOperation] = field(init=False, repr=False)

    @_by_name.default
    def _index(self) -> dict[str, AnyOperation]:
        return {operation.name: operation for operation in self.operations}

    def operation(self, name: str) -> AnyOperation:
        return self._by_name[name]

    def has(self, name: str) -> bool:
        return name in self._by_name

    def choice(self, identifier: str) -> Choice:
        return next(choice for choice in self.choices if choice.id == identifier)


def steps_of(operation: AnyOperation) -> tuple[Step, ...]:
    """The steps of an operation, those that its checks commit first."""
    committing = tuple(step for check in checks_of(operation) for step in getattr(check, "committing", ()))
    return (*committing, *operation.steps, *getattr(operation, "closing", ()))


def conditions_of(contract: Contract) -> Iterator[tuple[str, Condition]]:
    """Every condition of the contract with the key of its owner."""
    for operation in contract.operations:
        for key, check in zip(check_keys(operation), checks_of(operation), strict=True):
            yield key, check.when
        if isinstance(operation, Draw):
            yield f"{operation.name}: until", operation.until
        for step in walk_steps(steps_of(operation)):
            if isinstance(step, When):
                yield f"{operation.name}: when", step.condition
    for row in contract.transitions.rows:
        yield row.key, row.guard
    for table in contract.tables:
        for index, table_row in enumerate(table.rows):
            yield table.row_key(index), table_row.when


def describe(contract: Contract) -> dict[str, Any]:
    """Everything that the digest covers, as plain JSON: rules by their printed form, texts, choices."""
    return {
        "name": contract.name,
        "version": contract.version,
        "requirements": [[r.id, r.text, str(r.kind), r.profile] for r in contract.catalogue],
        "operations": [_describe_operation(operation) for operation in contract.operations],
        "transitions": [
            [t.source, t.event, t.target, t.guard.text, list(t.requirements)] for t in contract.transitions.rows
        ],
        "tables": [
            [
                table.name,
                [[list(r.requirements), r.when.text, repr(r.value)] for r in table.rows],
                repr(table.otherwise),
            ]
            for table in contract.tables
        ],
        "choices": [
            [c.id, str(c.kind), c.text, c.legal_text, repr(c.options), "" if callable(c.default) else repr(c.default)]
            for c in contract.choices
        ],
        "invariants": [[i.requirement, i.of, i.text] for i in contract.invariants],
        "uniques": [[list(u.requirements), str(u.code)] for u in contract.uniques],
    }


def digest(contract: Contract) -> str:
    """Sixteen hexadecimal digits over rules and texts; two specifications with one digest judge alike."""
    text = json.dumps(describe(contract), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _describe_operation(operation: AnyOperation) -> dict[str, Any]:
    checks = [
        [
            type(check).__name__,
            list(check.requirements),
            check.when.text,
            _code_text(check) if isinstance(check, Refuse) else "",
            list(getattr(check, "order", ())),
            getattr(check, "unordered", False),
        ]
        for check in checks_of(operation)
    ]
    order = operation.order if isinstance(operation, Operation | Batch) else ()
    steps = [_describe_step(step) for step in walk_steps(steps_of(operation))]
    return {"name": operation.name, "checks": checks, "order": list(order), "steps": steps}


def _code_text(refuse: Refuse) -> str:
    return refuse.code.id if isinstance(refuse.code, Choice) else str(refuse.code)


def _describe_step(step: Effect | Move | When) -> Mapping[str, Any]:
    if isinstance(step, When):
        return {"when": step.condition.text}
    if isinstance(step, Move):
        actor = step.actor.id if isinstance(step.actor, Choice) else step.actor.name
        return {"move": step.event, "actor": actor, "evidence": [[e.key, e.value.name] for e in step.evidence]}
    return {"effect": step.name, "writes": list(step.writes), "text": step.text, "ids": list(step.requirements)}
