"""``workcert list``: what there is, as tables for people and JSON for programs."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from attrs import frozen

from workcert.backends.protocol import Ability
from workcert.backends.registry import BackendError, find, names
from workcert.binding import Binding
from workcert.cases.library import builtin_cases
from workcert.cases.model import required_abilities
from workcert.cli.arguments import add_contract, wanted_bindings
from workcert.cli.output import as_json, table, width
from workspec.core.choice import OTHER

Row: TypeAlias = Mapping[str, Any]


def add(subparsers: Any) -> None:
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "list",
        help="list requirements, cases, choices, abilities, backends or profiles",
        description="List what there is. The keys of --json are stable.",
    )
    parser.add_argument("what", choices=tuple(LISTS), metavar="WHAT", help=", ".join(LISTS))
    add_contract(parser)
    parser.add_argument("--json", action="store_true", help="for programs")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    listed = LISTS[args.what]
    rows = [row for binding in wanted_bindings(args.contract) for row in listed.rows(binding)]
    if args.what in OF_NO_CONTRACT:
        rows = list({str(row["name"]): row for row in rows}.values())
    print(as_json(rows) if args.json else _table(rows, listed.columns))
    if listed.note and not args.json:
        print(f"\n{listed.note}")
    return 0


@frozen
class Listing:
    """``columns``: which keys of the rows people see, in order; the last but one of them may be long."""

    rows: Callable[[Binding], Sequence[Row]]
    columns: tuple[str, ...]
    note: str = ""
    """What stands below the table."""


def _requirements(binding: Binding) -> list[Row]:
    catalogue = binding.contract.catalogue
    return [
        {
            "contract": binding.name,
            "id": requirement.id,
            "family": catalogue.family_of(requirement.id).name,
            "kind": str(requirement.kind),
            "profile": requirement.profile,
            "abilities": list(requirement.abilities),
            "provisional": requirement.provisional,
            "not_asserted": requirement.not_asserted,
            "digest": requirement.digest,
            "text": requirement.text,
        }
        for requirement in catalogue
    ]


def _cases(binding: Binding) -> list[Row]:
    return [
        {
            "contract": binding.name,
            "name": case.header.name,
            "title": case.header.title,
            "requirements": list(case.header.requirements),
            "profiles": list(case.header.profiles),
            "abilities": sorted({*case.header.abilities, *required_abilities(case)}),
            "steps": len(case.steps),
        }
        for case in builtin_cases(binding.name)
    ]


def _choices(binding: Binding) -> list[Row]:
    return [
        {
            "contract": binding.name,
            "id": choice.id,
            "kind": str(choice.kind),
            "default": None if callable(choice.default) else str(choice.default),
            "options": [str(option) for option in choice.options],
            "legal": choice.legal_text or None,
            "requirements": list(choice.requirements),
            "text": choice.text,
        }
        for choice in binding.contract.choices
    ]


_ABILITY_TEXTS: Final[Mapping[Ability, str]] = {
    Ability.RESET: "handle.reset() empties the store, quicker than a fresh place",
    Ability.SECOND_HANDLE: "open may be called again on a place while earlier handles are open",
    Ability.RESTART: "after close() of every handle, open on the same place finds what was committed",
    Ability.INJECT: "handle.inject(record=..., version=...) stores a record as it is",
    Ability.SNAPSHOT: "handle.snapshot() gives the committed rows: id to version",
    Ability.PAUSE: "handle.pause(callback): the next call runs it between its decision and its write",
    Ability.POINTS: "handle.points(callback), or dbapi of the adapter: told before each statement and each commit",
    Ability.COMMIT_ORDER: "handle.commit_order(), or dbapi of the adapter: the place of its commit among all",
    Ability.KILL: "open may be called on a place in a process of its own, which the kit kills",
}


def _abilities(binding: Binding) -> list[Row]:
    return [
        {
            "name": ability.value,
            "needed_by": sorted(p for p, needed in binding.profile_abilities.items() if ability.value in needed),
            "text": _ABILITY_TEXTS[ability],
        }
        for ability in Ability
    ]


def _backends(binding: Binding) -> list[Row]:
    found: list[Row] = []
    for name in names():
        try:
            served = [each for each in find(name) if each.binding.name == binding.name]
        except BackendError as error:
            # One that cannot be loaded must not hide the others.
            found.append({"name": name, "contracts": [], "profiles": [], "abilities": [], "error": str(error)})
            continue
        found.extend(
            {
                "name": name,
                "contracts": [each.binding.name],
                "profiles": sorted(each.profiles),
                "abilities": sorted(each.abilities),
                "error": None,
            }
            for each in served
        )
    return found


def _profiles(binding: Binding) -> list[Row]:
    catalogue = binding.contract.catalogue
    return [
        {
            "contract": binding.name,
            "name": name,
            "abilities": list(abilities),
            "methods": list(binding.profile_methods.get(name, ())),
            "requirements": sum(1 for each in catalogue if each.profile == name and each.counted),
        }
        for name, abilities in binding.profile_abilities.items()
    ]


LISTS: Final[Mapping[str, Listing]] = {
    "requirements": Listing(_requirements, ("id", "kind", "profile", "text")),
    "cases": Listing(_cases, ("name", "title", "requirements", "profiles", "abilities")),
    "choices": Listing(
        _choices,
        ("id", "kind", "default", "options", "text"),
        f"Any declared choice may be {OTHER!r} too: the store goes a way of its own there, of which nothing is asked.",
    ),
    "abilities": Listing(_abilities, ("name", "needed_by", "text")),
    "backends": Listing(_backends, ("name", "contracts", "profiles", "abilities", "error")),
    "profiles": Listing(_profiles, ("name", "requirements", "abilities", "methods")),
}
OF_NO_CONTRACT: Final = frozenset({"abilities"})


def _table(rows: Sequence[Row], columns: tuple[str, ...]) -> str:
    shown = [column for column in columns if any(row[column] not in (None, [], "") for row in rows)]
    cells = [[_cell(row[column]) for column in shown] for row in rows]
    return table([column.replace("_", " ") for column in shown], cells, _widths(shown, cells))


def _widths(columns: Sequence[str], cells: Sequence[Sequence[str]]) -> list[int | None]:
    """Columns of short cells as they come; the others share what is left."""
    longest = [max((len(row[index]) for row in cells), default=0) for index in range(len(columns))]
    short = [length <= 24 for length in longest]
    taken = sum(length for length, fits in zip(longest, short, strict=True) if fits) + 2 * len(columns)
    share = (width() - taken) // max(short.count(False), 1)
    return [None if fits else max(share, 20) for fits in short]


def _cell(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(str(item) for item in value)
    return "" if value is None else str(value)
