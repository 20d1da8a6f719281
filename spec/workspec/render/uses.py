"""Where a contract's rules name a requirement, and what moves by which event."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from attrs import frozen

from workspec.core.contract import Contract, steps_of
from workspec.core.rule import (
    AnyOperation,
    Batch,
    Check,
    Effect,
    Move,
    Operation,
    Procedure,
    Step,
    When,
    checks_of,
    walk_steps,
)


@frozen
class Use:
    """One place that names a requirement: ``kind`` of rule, the ``owner`` that has it, which ``item`` there, and the
    ``link`` to it."""

    kind: str
    owner: str
    item: str
    link: str


def anchor(heading: str) -> str:
    """The fragment that GitHub gives a heading."""
    kept = "".join(mark for mark in heading.lower() if mark.isalnum() or mark in " -_")
    return kept.replace(" ", "-")


def steps_heading(name: str) -> str:
    return f"Steps: {name}"


def procedures_of(steps: Iterable[Step]) -> Iterator[Procedure]:
    for step in steps:
        if isinstance(step, Procedure):
            yield step
            yield from procedures_of(step.steps)
        elif isinstance(step, When):
            yield from procedures_of(step.steps)


def procedures(contract: Contract) -> tuple[Procedure, ...]:
    """All named steps, each once, in the order in which the operations come to them."""
    found = (p for operation in contract.operations for p in procedures_of(steps_of(operation)))
    return tuple({procedure.name: procedure for procedure in found}.values())


def order_ids(operation: AnyOperation) -> tuple[str, ...]:
    """Ids on the order of the checks as a whole."""
    return operation.order if isinstance(operation, Operation | Batch) else ()


def check_order_ids(check: Check) -> tuple[str, ...]:
    """Ids on the place of this one check."""
    return getattr(check, "order", ())


@frozen
class Mover:
    """A move and the operations that make it."""

    move: Move
    operations: tuple[str, ...]


def movers(contract: Contract) -> tuple[Mover, ...]:
    """Every move, in the order in which the operations come to them; moves that say the same are one."""
    found: dict[object, tuple[Move, list[str]]] = {}
    for operation in contract.operations:
        for step in walk_steps(steps_of(operation)):
            if isinstance(step, Move):
                same = (step.event, step.requirements, step.actor, step.evidence, step.open_evidence)
                names = found.setdefault(same, (step, []))[1]
                if operation.name not in names:
                    names.append(operation.name)
    return tuple(Mover(move, tuple(names)) for move, names in found.values())


def uses(contract: Contract) -> Mapping[str, tuple[Use, ...]]:
    """For each requirement id, every place that names it."""
    found: dict[str, list[Use]] = {}
    for identifiers, use in _all_uses(contract):
        for identifier in identifiers:
            known = found.setdefault(identifier, [])
            if use not in known:
                known.append(use)
    return {identifier: tuple(places) for identifier, places in found.items()}


def _all_uses(contract: Contract) -> Iterator[tuple[tuple[str, ...], Use]]:
    for operation in contract.operations:
        yield from _uses_of_operation(operation)
    for procedure in procedures(contract):
        link = f"operations.md#{anchor(steps_heading(procedure.name))}"
        yield from _uses_of_steps(procedure.name, procedure.steps, link)
    for row in contract.transitions.rows:
        yield row.requirements, Use("transitions", f"{row.source} → {row.target}", row.event, "transitions.md")
    for table in contract.tables:
        link = f"decisions.md#{anchor(table.name)}"
        yield table.order, Use("decisions", table.name, "order", link)
        for index, table_row in enumerate(table.rows):
            yield table_row.requirements, Use("decisions", table.name, f"row {index + 1}", link)
    for number, invariant in enumerate(contract.invariants, 1):
        yield (invariant.requirement,), Use("invariants", f"of each {invariant.of}", str(number), "invariants.md")
    for unique in contract.uniques:
        yield unique.requirements, Use("commit", "unique value", "", "errors.md")
    yield contract.conflict_requirements, Use("commit", "lost guard", "", "errors.md")
    for name, identifiers in contract.comparisons.items():
        yield identifiers, Use("shown by comparing", name, "", "invariants.md#shown-by-comparing")
    for choice in contract.choices:
        yield choice.requirements, Use("choices", choice.id, "", f"choices.md#{anchor(choice.id)}")


def _uses_of_operation(operation: AnyOperation) -> Iterator[tuple[tuple[str, ...], Use]]:
    link = f"operations.md#{anchor(operation.name)}"
    yield order_ids(operation), Use("checks", operation.name, "order", link)
    for index, check in enumerate(checks_of(operation)):
        yield check.requirements, Use("checks", operation.name, str(index + 1), link)
        yield check_order_ids(check), Use("checks", operation.name, f"place of {index + 1}", link)
        yield from _uses_of_steps(operation.name, getattr(check, "committing", ()), link)
    yield from _uses_of_steps(operation.name, operation.steps, link)
    yield operation.requirements, Use("success", operation.name, "", link)


def _uses_of_steps(owner: str, steps: Iterable[Step], link: str) -> Iterator[tuple[tuple[str, ...], Use]]:
    """Those of a procedure stand under its own name."""
    for step in steps:
        if isinstance(step, Effect):
            yield step.requirements, Use("effects", owner, step.name, link)
        elif isinstance(step, Move):
            yield step.requirements, Use("events", owner, step.event, link)
        elif isinstance(step, When):
            yield from _uses_of_steps(owner, step.steps, link)
