"""The page of cells: what each operation does with a record in each state, and the shortest sequence that shows it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from attrs import frozen

from workspec.core.contract import Contract, digest
from workspec.core.rule import check_keys, checks_of
from workspec.render.markdown import code, links, plain, table
from workspec.render.uses import anchor

CELLS: Final = "cells.md"


@frozen
class Cell:
    """``rule``: the key of the check that decides, empty where all let the call through. ``path``: calls in words, as
    found in the configuration ``world``."""

    state: str
    operation: str
    rule: str
    world: str
    path: str


@frozen
class World:
    """A configuration that was searched. ``frontier``: how many of its states were not looked at."""

    name: str
    text: str
    states: int
    frontier: int


@frozen
class Searched:
    """What a search of all configurations found. ``missing``: kind and name of what none of them reaches, and
    ``missing_text`` the statement that this is."""

    digest: str
    worlds: tuple[World, ...]
    cells: tuple[Cell, ...]
    missing: tuple[tuple[str, tuple[str, ...]], ...]
    missing_text: str


def cell_blocks(contract: Contract, searched: Searched | None) -> tuple[str, ...]:
    """The blocks of the page; without a search they say how to make one."""
    remedy = code(f"workcert search {contract.name} --all --write")
    if searched is None:
        return (f"No search of this contract is kept here; {remedy} makes one.",)
    now = digest(contract)
    stale = f"**This search is of an older text, digest {code(searched.digest)}; {remedy} makes it anew.**"
    return (
        *((stale,) if searched.digest != now else ()),
        "What an operation does with a record in a state: the check that decides, or *accepted* where all let the call "
        "through, with the requirements named there and the sequence of calls that shows it: the shortest of those "
        "that need fewest profiles. A number after a plus is the time that passes before the call. *whole call*: a "
        "check that is asked before the call turns to any record.",
        table(
            ("configuration", "what it is", "states", "frontier"),
            [
                (
                    code(world.name),
                    plain(world.text),
                    f"{world.states:,}",
                    f"{world.frontier:,}" if world.frontier else "empty",
                )
                for world in searched.worlds
            ],
        ),
        *(block for operation in contract.operations for block in _operation(contract, operation.name, searched)),
        "## Not reached",
        f"Each of these is {plain(searched.missing_text)}.",
        table(("kind", "what"), _missing(searched)),
    )


def _operation(contract: Contract, name: str, searched: Searched) -> Iterator[str]:
    yield f"## {plain(name)}"
    operation = contract.operation(name)
    named = dict(zip(check_keys(operation), (check.requirements for check in checks_of(operation)), strict=True))
    rows = [
        (
            code(cell.state),
            f"[{plain(_outcome(cell))}](operations.md#{anchor(name)})",
            links(named.get(cell.rule, operation.requirements)),
            plain(cell.path),
            code(cell.world),
        )
        for cell in sorted(searched.cells, key=lambda cell: (_place(contract, cell), cell.rule == "", cell.rule))
        if cell.operation == name
    ]
    yield table(("state", "outcome", "requirements", "shortest sequence", "found in"), rows)
    never = [names[0] for kind, names in searched.missing if kind == "cell" and names[1] == name]
    if never:
        yield f"In {', '.join(map(code, never))}: {plain(searched.missing_text)}."


def _outcome(cell: Cell) -> str:
    if not cell.rule:
        return "accepted"
    kind, _, which = cell.rule.removeprefix(f"{cell.operation}: ").partition(" ")
    twin = which.partition(" #")[2]
    return f"{kind}, check {twin} of these" if twin else kind


def _place(contract: Contract, cell: Cell) -> int:
    order: Mapping[str, int] = {str(note.name): place for place, note in enumerate(contract.states)}
    return order.get(cell.state, -1)


def _missing(searched: Searched) -> list[tuple[str, str]]:
    return [(plain(kind), plain(": ".join(names))) for kind, names in searched.missing if kind != "cell"]
