"""The page of the operations: for each its checks in their order, then its steps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from attrs import frozen

from workspec.core.choice import Choice
from workspec.core.condition import Condition, Term
from workspec.core.contract import Contract, steps_of
from workspec.core.rule import (
    AnyOperation,
    Batch,
    Check,
    Draw,
    Effect,
    Move,
    On,
    Operation,
    Procedure,
    Refuse,
    Step,
    checks_of,
)
from workspec.render.markdown import code, codes, links, plain, prose, table
from workspec.render.presentation import Presentation
from workspec.render.signatures import Signature, signatures
from workspec.render.uses import anchor, check_order_ids, order_ids, procedures, steps_heading


def when_text(condition: Condition) -> str:
    """The condition in the reader's notation; the empty one holds always."""
    return plain(condition.text) or "always"


def choice_link(choice: Choice) -> str:
    return f"[{plain(choice.id)}](choices.md#{anchor(choice.id)})"


def actor_text(actor: Term | Choice) -> str:
    if isinstance(actor, Choice):
        return f"choice {choice_link(actor)}"
    return value_text(actor)


def value_text(value: Term) -> str:
    """A fixed text as code, an argument as such, anything else by its name."""
    if value.source == "constant":
        return code(value.name)
    return f"argument {code(value.name)}" if value.source == "call" else plain(value.name)


def evidence_text(move: Move) -> str:
    keys = [f"{code(item.key)} = {value_text(item.value)}" for item in move.evidence]
    if move.open_evidence is not None:
        keys.append(f"further keys: choice {choice_link(move.open_evidence)}")
    return "; ".join(keys)


def code_text(code_or_choice: str | Choice) -> str:
    if isinstance(code_or_choice, Choice):
        return f"{' or '.join(code(option) for option in code_or_choice.options)}: {choice_link(code_or_choice)}"
    return code(code_or_choice)


def steps_link(step: Step) -> str:
    """What a step is called, with a link where it has a heading of its own."""
    if isinstance(step, Procedure):
        return f"[{plain(step.name)}](operations.md#{anchor(steps_heading(step.name))})"
    if isinstance(step, Effect):
        return plain(step.name)
    if isinstance(step, Move):
        return f"event {plain(step.event)}"
    if isinstance(step, On):
        return f"on {plain(step.name)}: {', '.join(steps_link(inner) for inner in step.steps)}"
    return f"if {when_text(step.condition)}: {', '.join(steps_link(inner) for inner in step.steps)}"


def commits_text(check: Check) -> str:
    return ", ".join(steps_link(step) for step in getattr(check, "committing", ()))


def operation_blocks(contract: Contract, presentation: Presentation) -> tuple[str, ...]:
    known = signatures(presentation.ports)
    names = ", ".join(f"[{plain(o.name)}](#{anchor(o.name)})" for o in contract.operations)
    blocks = [
        "Checks are asked from the first to the last; the first that holds ends the call. A *refuse* answers with an "
        "error, a *reply* succeeds and does nothing (a replay), a *skip* passes over this element of a batch. What a "
        "check commits is committed although the call is refused. If no check holds, the steps are taken in their "
        "order and committed together.",
        names,
    ]
    for operation in contract.operations:
        blocks += _operation(contract, operation, presentation, known.get(_method(operation, presentation)))
    for procedure in procedures(contract):
        used = [o.name for o in contract.operations if procedure in _procedures_in(steps_of(o))]
        blocks += (
            f"## {plain(steps_heading(procedure.name))}",
            f"Taken by {', '.join(f'[{plain(name)}](#{anchor(name)})' for name in used)}.",
            _steps_table(procedure.steps, presentation),
        )
    named = {_method(operation, presentation) for operation in contract.operations}
    blocks += _further({name: signature for name, signature in known.items() if name not in named})
    return tuple(blocks)


def _method(operation: AnyOperation, presentation: Presentation) -> str:
    return presentation.methods.get(operation.name, operation.name)


def _further(methods: Mapping[str, Signature]) -> Iterator[str]:
    """Those that no operation stands for: they come to one with some arguments set, or are about the store itself."""
    if methods:
        yield "## Methods without rules of their own"
        rows = [(code(signature.text), prose(signature.summary)) for signature in methods.values()]
        yield table(("method", "what it does"), rows)


def _procedures_in(steps: Iterable[Step]) -> list[Step]:
    return [step for step in steps if isinstance(step, Procedure)]


def _operation(
    contract: Contract, operation: AnyOperation, presentation: Presentation, signature: Signature | None
) -> Iterator[str]:
    yield f"## {plain(operation.name)}"
    if signature is not None:
        yield code(signature.text)
        yield prose(signature.summary)
    yield _manner(contract, operation, presentation)
    checks = checks_of(operation)
    if checks:
        yield table(
            ("#", "asked", "kind", "code", "when", "commits", "requirements", "on its place"),
            [
                _check_row(index + 1, _asked(operation, index), check, presentation)
                for index, check in enumerate(checks)
            ],
        )
    for number, check in enumerate(checks, 1):
        elsewhere = [step for step in getattr(check, "committing", ()) if isinstance(step, On)]
        if elsewhere:
            yield f"What check {number} commits:"
            yield _steps_table(elsewhere, presentation)
    order = order_ids(operation)
    if order:
        yield f"Order of the checks: {links(order)}"
    if operation.steps:
        yield _steps_table(operation.steps, presentation)
    if isinstance(operation, Draw) and operation.closing:
        yield "Once, when the draw is over:"
        yield _steps_table(operation.closing, presentation)
    if operation.requirements:
        yield f"On success: {links(operation.requirements)}"


def _manner(contract: Contract, operation: AnyOperation, presentation: Presentation) -> str:
    if isinstance(operation, Batch):
        if operation.atomic:
            return "A batch: one commit, and any refusal ends it."
        return "A batch: each element is committed alone; one that another commit overtook is passed over."
    if isinstance(operation, Draw):
        return f"A draw: takes records in an order of its own, as one commit, until {when_text(operation.until)}."
    if not steps_of(operation):
        return "Commits nothing."
    if presentation.overtaken:
        return presentation.overtaken
    if operation.again or contract.conflict_code is None:
        return "If another commit came between, the call is decided again on what that commit left."
    return f"If another commit on the record came between, the call is refused with {code(contract.conflict_code)}."


def _asked(operation: AnyOperation, index: int) -> str:
    """When this check is asked, where an operation has more than one time for it."""
    if isinstance(operation, Operation):
        return ""
    once = len(operation.checks)
    if index < once:
        return "once, first"
    if isinstance(operation, Draw):
        return "for each candidate"
    end = once
    for number, phase in enumerate(operation.phases, 1):
        end += len(phase.checks)
        if index < end:
            return "for each element" if len(operation.phases) == 1 else f"phase {number}, for each element"
    raise AssertionError("every check of a batch belongs to a phase")


def _check_row(number: int, asked: str, check: Check, presentation: Presentation) -> tuple[str, ...]:
    kind = type(check).__name__.lower()
    answer, reason = "", ""
    if isinstance(check, Refuse):
        answer, reason = code_text(check.code), presentation.reason(check)
    return (
        str(number),
        asked,
        kind,
        f"{answer}: {code(reason)}" if reason else answer,
        when_text(check.when),
        commits_text(check),
        links(check.requirements),
        links(check_order_ids(check)),
    )


@frozen
class _Row:
    number: str
    only_if: str
    step: str
    text: str
    writes: str
    requirements: str


def _steps_table(steps: Iterable[Step], presentation: Presentation) -> str:
    rows = [
        (row.number, row.only_if, row.step, row.text, row.writes, row.requirements)
        for row in _rows(steps, presentation, "", ())
    ]
    return table(("step", "only if", "name", "what it does", "writes", "requirements"), rows)


def _rows(
    steps: Iterable[Step], presentation: Presentation, prefix: str, conditions: tuple[str, ...]
) -> Iterator[_Row]:
    only_if = " and ".join(conditions)
    for index, step in enumerate(steps, 1):
        number = f"{prefix}{index}"
        if isinstance(step, Effect):
            writes = writes_text(step, presentation)
            yield _Row(number, only_if, plain(step.name), plain(step.text), writes, links(step.requirements))
        elif isinstance(step, Move):
            writes = "the state; an event" if presentation.events else "the state"
            text = _move(step, presentation)
            yield _Row(number, only_if, steps_link(step), text, writes, links(step.requirements))
        elif isinstance(step, Procedure):
            yield _Row(number, only_if, steps_link(step), "all its steps", "", "")
        elif isinstance(step, On):
            yield from _rows(step.steps, presentation, f"{number}.", (*conditions, f"on {plain(step.name)}"))
        else:
            yield from _rows(step.steps, presentation, f"{number}.", (*conditions, when_text(step.condition)))


def writes_text(effect: Effect, presentation: Presentation) -> str:
    written = "the whole record" if "*" in effect.writes else codes(effect.writes)
    record = presentation.records.get(effect.name)
    return written if record is None else f"{written} of {plain(record)}"


def _move(move: Move, presentation: Presentation) -> str:
    said: list[Any] = [f"the [transition](transitions.md) by {plain(move.event)}"]
    if not presentation.events:
        return str(said[0])
    said.append(f"actor: {actor_text(move.actor)}")
    evidence = evidence_text(move)
    return "; ".join((*said, f"evidence: {evidence}") if evidence else said)
