"""What the search of a contract found, in a file beside its tables: a whole search takes minutes, tables seconds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from workcert.search.brief import brief_path
from workcert.search.result import Reached
from workcert.search.targets import CELL
from workspec.render.cells import Cell, Searched, World

NAME: Final = "search.json"


class DamagedSearch(Exception):  # noqa: N818 - what is wrong with a file, told to people
    """The file holds no result of a search; the text says which and what writes it anew."""


def as_plain(reached: Reached) -> dict[str, Any]:
    """The whole result as JSON; the same search gives the same."""
    return {
        "contract": reached.contract,
        "digest": reached.digest,
        "configurations": [
            {
                "name": result.configuration,
                "text": result.text,
                "states": result.states,
                "transitions": result.transitions,
                "depth": result.depth,
                "frontier": result.frontier,
                "violations": [each.requirement for each in result.violations],
            }
            for result in reached.searched
        ],
        "reached": [
            {"kind": target.kind, "name": list(target.name), "in": path.configuration, "by": brief_path(path)}
            for target, path in reached.paths.items()
        ],
        "unreached": [[target.kind, *target.name] for target in reached.unreached],
        "unreached_are": reached.unreached_text,
    }


def write(reached: Reached, folder: Path) -> Path:
    """Keep the result in the folder of the contract's tables.

    Raises:
        OSError: the file cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / NAME
    file.write_text(json.dumps(as_plain(reached), indent=1, ensure_ascii=False) + "\n", encoding="utf-8", newline="\n")
    return file


def _cell(plain: dict[str, Any]) -> Cell:
    state, operation, rule = plain["name"]
    return Cell(state, operation, rule, plain["in"], plain["by"])


def read(folder: Path) -> Searched | None:
    """The result that is kept in a folder, None where there is none.

    Raises:
        OSError: the file cannot be read.
        DamagedSearch: it is no result of a search.
    """
    file = folder / NAME
    if not file.is_file():
        return None
    try:
        plain = json.loads(file.read_text(encoding="utf-8"))
        return Searched(
            digest=str(plain["digest"]),
            worlds=tuple(World(w["name"], w["text"], w["states"], w["frontier"]) for w in plain["configurations"]),
            cells=tuple(_cell(each) for each in plain["reached"] if each["kind"] == CELL),
            missing=tuple((u[0], tuple(u[1:])) for u in plain["unreached"]),
            missing_text=str(plain["unreached_are"]),
        )
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise DamagedSearch(
            f"{file} is no result of a search ({type(error).__name__}: {error}); to write it anew: "
            f"workcert search {folder.name} --all --write"
        ) from error
