"""``workcert explain``: what a requirement says, what enforces it, and what shows it."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Iterator
from typing import Any

from workcert.binding import Binding
from workcert.cases.library import builtin_cases
from workcert.cases.model import Case
from workcert.cli.arguments import add_contract, meant, wanted_bindings, words
from workcert.cli.complaint import ReadableError
from workcert.cli.output import width
from workspec.core.choice import Choice, ChoiceKind
from workspec.core.contract import Contract, steps_of
from workspec.core.requirement import Requirement
from workspec.core.rule import Draw, Effect, Move, On, Procedure, Refuse, Step, When, check_keys, checks_of


def add(subparsers: Any) -> None:
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "explain",
        help="what a requirement says and what enforces it",
        description="Explain requirements: text, what enforces them, which cases show them.",
    )
    parser.add_argument(
        "ids",
        metavar="ID",
        nargs="+",
        help="WRK-CLM-06, a family (WRK-CLM) or its short name (claim), a profile (SECRETS), "
        "or a choice (G-13.fence-code)",
    )
    add_contract(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    patterns = [word for text in args.ids for word in words(text)]
    if not patterns:
        raise ReadableError("nothing is named to explain; see 'workcert list requirements'")
    among = wanted_bindings(args.contract)
    asked = {pattern.lower() for pattern in patterns}
    choices = [each for binding in among for each in binding.contract.choices if each.id.lower() in asked]
    named = {choice.id.lower() for choice in choices}
    selected = list(selection([pattern for pattern in patterns if pattern.lower() not in named], among))
    cases = {name: builtin_cases(name) for name in {binding.name for binding, _ in selected}}
    texts = [
        *map(explained_choice, choices),
        *(explained(binding, each, cases[binding.name]) for binding, each in selected),
    ]
    print("\n\n".join(texts))
    return 0


def selection(patterns: list[str], among: tuple[Binding, ...]) -> Iterator[tuple[Binding, Requirement]]:
    """What the patterns select, contract by contract.

    Raises:
        ReadableError: one of them selects nothing.
    """
    for pattern in patterns:
        if not any(_matching(binding, pattern) for binding in among):
            known = [name for binding in among for name in _names(binding)]
            raise ReadableError(
                f"there is no requirement {pattern!r}.{meant(pattern.upper(), known) or meant(pattern.lower(), known)} "
                "See 'workcert list requirements'"
            )
    for binding in among:
        wanted = {requirement.id for pattern in patterns for requirement in _matching(binding, pattern)}
        yield from ((binding, each) for each in binding.contract.catalogue if each.id in wanted)


def _matching(binding: Binding, pattern: str) -> tuple[Requirement, ...]:
    if pattern.upper() in binding.profile_abilities:
        return tuple(each for each in binding.contract.catalogue if each.profile == pattern.upper())
    try:
        return binding.contract.catalogue.matching([pattern])
    except KeyError:
        return ()


def _names(binding: Binding) -> list[str]:
    catalogue = binding.contract.catalogue
    families = [name for family in catalogue.families for name in (family.prefix, family.name)]
    return [*(requirement.id for requirement in catalogue), *families, *binding.profile_abilities]


def explained(binding: Binding, requirement: Requirement, cases: tuple[Case, ...]) -> str:
    """All that is known of one requirement."""
    contract = binding.contract
    lines = [
        f"{requirement.id}  {requirement.kind}, profile {requirement.profile}, "
        f"{contract.catalogue.family_of(requirement.id).title}",
        *_wrapped(requirement.text),
    ]
    if requirement.abilities:
        lines.append(f"  needs of the backend: {', '.join(requirement.abilities)}")
    if requirement.provisional:
        lines.append("  provisional: reported, and no reason to fail")
    if requirement.not_asserted is not None:
        lines.append(f"  not asserted: {requirement.not_asserted}")
    lines += _section("enforced by", [*enforced(contract, requirement.id)])
    lines += _section("choices that touch it", [*_choices(contract, requirement.id)])
    shown_by = [
        f"{case.header.name}: {case.header.title}" for case in cases if requirement.id in case.header.requirements
    ]
    lines += _section("shown by", shown_by)
    lines.append(f"  digest {requirement.digest}")
    return "\n".join(lines)


def explained_choice(choice: Choice) -> str:
    """What a choice leaves open, and how a store says which way it goes."""
    lines = [f"{choice.id}  {choice.kind} choice", *_wrapped(choice.text)]
    if choice.options:
        default = "" if callable(choice.default) else f"; the reference takes {choice.default}"
        lines += _wrapped(f"may be: {', '.join(str(option) for option in choice.options)}{default}")
    if choice.legal_text:
        lines += _wrapped(f"may be: {choice.legal_text}")
    if choice.kind is ChoiceKind.DECLARED and not choice.options:
        lines += _wrapped("it follows from what a store is opened with: the config of a case, where it is configurable")
    elif choice.kind is ChoiceKind.DECLARED:
        lines += _wrapped(f"an adapter declares it: choices = {{{choice.id!r}: {choice.options[-1]!r}}}")
    else:
        lines += _wrapped("nothing to declare: the judge takes what the store does, each time")
    lines += _section("touches", list(choice.requirements))
    return "\n".join(lines)


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, min(width(), 100), initial_indent="  ", subsequent_indent="  ")


def _section(title: str, entries: list[str]) -> list[str]:
    return [f"  {title}:", *(f"    {entry}" for entry in dict.fromkeys(entries))] if entries else []


def enforced(contract: Contract, identifier: str) -> Iterator[str]:
    """Every place of the rules that names a requirement."""
    for operation in contract.operations:
        for key, check in zip(check_keys(operation), checks_of(operation), strict=True):
            code = f", code {_code(check.code)}" if isinstance(check, Refuse) else ""
            if identifier in check.requirements:
                yield f"{key}: when {check.when.text}{code}"
            elif identifier in getattr(check, "order", ()):
                yield f"the place of {key}"
        if not isinstance(operation, Draw) and identifier in operation.order:
            yield f"the order of the checks of {operation.name}"
        for step in _reached(steps_of(operation)):
            if identifier in step.requirements:
                yield f"{operation.name}: {_step(step)}"
        if identifier in operation.requirements:
            yield f"the success of {operation.name}"
    for row in contract.transitions.rows:
        if identifier in row.requirements:
            yield f"transition {row.key}" + (f", when {row.guard.text}" if row.guard.text else "")
    for table in contract.tables:
        for index, table_row in enumerate(table.rows):
            if identifier in table_row.requirements:
                yield f"{table.row_key(index)}: when {table_row.when.text}, then {table_row.value}"
        if identifier in table.order:
            yield f"the order of the rows of table {table.name}"
    for invariant in contract.invariants:
        if identifier == invariant.requirement:
            yield f"invariant of each {invariant.of}: {invariant.text}"
    for unique in contract.uniques:
        if identifier in unique.requirements:
            yield f"a value that no two records share, code {unique.code}"
    if identifier in contract.conflict_requirements:
        what = "decided anew" if contract.conflict_code is None else f"code {contract.conflict_code}"
        yield f"a commit whose guard is lost, {what}"
    for name, ids in contract.comparisons.items():
        if identifier in ids:
            yield f"comparison after each step: {name}"


def _reached(steps: tuple[Step, ...]) -> Iterator[Effect | Move]:
    for step in steps:
        if isinstance(step, Procedure | When | On):
            yield from _reached(step.steps)
        else:
            yield step


def _step(step: Effect | Move) -> str:
    if isinstance(step, Move):
        return f"event {step.event!r}"
    return f"effect {step.name!r}: {step.text}"


def _code(code: Any) -> str:
    return f"by the choice {code.id}" if isinstance(code, Choice) else str(code)


def _choices(contract: Contract, identifier: str) -> Iterator[str]:
    for choice in contract.choices:
        if identifier in choice.requirements:
            yield f"{choice.id} ({choice.kind}): {choice.text}"
