"""Where cases come from: those that ship with the kit, and files of one's own."""

from __future__ import annotations

from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from workcert.cases.model import Case
from workcert.cases.parse import parse
from workcert.cases.reading import CaseError

SUFFIX = ".jsonl"


@cache
def builtin_names(contract: str) -> tuple[str, ...]:
    """The names of the cases that ship with the kit for a contract (``workload/15-stale-worker``), sorted."""
    folder = resources.files("workcert.cases").joinpath(contract)
    if not folder.is_dir():
        return ()
    files = (each.name for each in folder.iterdir() if each.name.endswith(SUFFIX))
    return tuple(sorted(f"{contract}/{name.removesuffix(SUFFIX)}" for name in files))


@cache
def builtin_cases(contract: str) -> tuple[Case, ...]:
    """The cases that ship with the kit for a contract, in the order of `builtin_names`.

    Raises:
        CaseError: a damaged installation.
    """
    return tuple(load_case(name) for name in builtin_names(contract))


def load_case(name_or_path: str | Path) -> Case:
    """The case of this name, or in this file.

    Args:
        name_or_path: a name of `builtin_names` or of a tour, or the path of a file ending in ``.jsonl``.

    Raises:
        CaseError: nothing there, or a fault of the file.
    """
    place = str(name_or_path)
    if isinstance(name_or_path, Path) or place.endswith(SUFFIX):
        return _read(Path(name_or_path), place)
    contract, _, name = place.partition("/")
    tour = resources.files("workcert.tour").joinpath("made", contract, f"{name}{SUFFIX}")
    if place not in builtin_names(contract) and name and tour.is_file():
        return _read(tour, place)
    if place not in builtin_names(contract):
        raise CaseError(place, 1, "no case of this name", f"give a path ending in {SUFFIX}, or a listed name")
    return _read(resources.files("workcert.cases").joinpath(contract, f"{name}{SUFFIX}"), place)


def _read(file: Path | Traversable, source: str) -> Case:
    try:
        text = file.read_bytes().decode("utf-8")
    except OSError as fault:
        raise CaseError(source, 1, f"cannot be read ({fault})", "check the path") from None
    except UnicodeDecodeError as fault:
        line = fault.object[: fault.start].count(b"\n") + 1
        raise CaseError(source, line, "not UTF-8", "save the file as UTF-8") from None
    return parse(text, source)
