"""Arguments that several subcommands take, and how their values are checked."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

from workcert.backends.registry import LoadedBackend
from workcert.binding import Binding, bindings
from workcert.cli.complaint import ReadableError


def add_backend(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "backend",
        metavar="BACKEND",
        help="a name (see 'workcert list backends'), 'package.module:ATTRIBUTE' or 'path/to/adapter.py:ATTRIBUTE'; "
        "'://DIR' behind it names an empty directory for its stores",
    )


def add_contract(parser: argparse.ArgumentParser, what: str = "only this contract") -> None:
    parser.add_argument("--contract", metavar="NAME", help=what)


def words(text: str) -> tuple[str, ...]:
    """The words of a list with commas between them."""
    return tuple(word.strip() for word in text.split(",") if word.strip())


def directory(text: str) -> Path:
    """The path of a directory that is to be written.

    Raises:
        argparse.ArgumentTypeError: the text is blank.
    """
    if not text.strip():
        raise argparse.ArgumentTypeError("the name of the directory is empty; '.' is the present one")
    return Path(text)


def count(text: str) -> int:
    """An integer from 1 up.

    Raises:
        argparse.ArgumentTypeError: anything else.
    """
    return _at_least(text, 1)


def natural(text: str) -> int:
    """An integer from 0 up.

    Raises:
        argparse.ArgumentTypeError: anything else.
    """
    return _at_least(text, 0)


def _at_least(text: str, least: int) -> int:
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if number < least:
        raise argparse.ArgumentTypeError(f"{text!r} is no integer from {least} up")
    return number


def wanted_bindings(contract: str | None) -> tuple[Binding, ...]:
    """Those of one contract, or of all.

    Raises:
        ReadableError: there is no such contract.
    """
    known = bindings()
    if contract is None:
        return tuple(known.values())
    if contract not in known:
        raise ReadableError(f"there is no contract {contract!r}; known: {', '.join(known)}")
    return (known[contract],)


def of_contract(found: tuple[LoadedBackend, ...], spec: str, contract: str | None) -> tuple[LoadedBackend, ...]:
    """Of what a text names, the backends of one contract, or all.

    Raises:
        ReadableError: no such contract, or one that the backend does not serve.
    """
    wanted = {binding.name for binding in wanted_bindings(contract)}
    fitting = tuple(backend for backend in found if backend.binding.name in wanted)
    if not fitting:
        served = ", ".join(backend.binding.name for backend in found) or "none"
        raise ReadableError(f"{spec} does not serve the contract {contract or 'asked for'}; it serves: {served}")
    return fitting


def selections(
    backends: tuple[LoadedBackend, ...], only: tuple[str, ...]
) -> tuple[tuple[LoadedBackend, tuple[str, ...]], ...]:
    """Each backend that is concerned, with those of the patterns that select something of its contract.

    Raises:
        ReadableError: a pattern that selects nothing in any of them.
    """
    for pattern in only:
        refused = [_refusal(backend, pattern) for backend in backends]
        if all(refused):
            raise ReadableError(f"{_told(backends, pattern, refused)} (see 'workcert list requirements')")
    fitting = ((backend, tuple(pattern for pattern in only if not _refusal(backend, pattern))) for backend in backends)
    return tuple((backend, patterns) for backend, patterns in fitting if patterns or not only)


def _told(backends: tuple[LoadedBackend, ...], pattern: str, refused: list[str]) -> str:
    """Why a pattern selects nothing, in the words of the contract whose ids begin as it does; of any other contract it
    would be told that it has no such id, which nobody expects of it."""
    owner = next((binding for binding in bindings().values() if _begins_as(binding, pattern)), None)
    if owner is None:
        # No id: it may be the misspelt name of a family of any of them.
        return next((text for text in refused if "did you mean" in text), refused[0])
    for backend, text in zip(backends, refused, strict=True):
        if backend.binding.name == owner.name:
            return text
    served = ", ".join(backend.binding.name for backend in backends)
    return f"{pattern!r} is of the contract {owner.name}, and this run is of {served}"


def _begins_as(binding: Binding, pattern: str) -> bool:
    own = {requirement.id.partition("-")[0] for requirement in binding.contract.catalogue}
    return pattern.strip().upper().partition("-")[0] in own


def _refusal(backend: LoadedBackend, pattern: str) -> str:
    """Why a pattern selects nothing, empty if it does."""
    try:
        backend.binding.contract.catalogue.matching([pattern])
    except KeyError as error:
        return str(error.args[0])
    return ""


def meant(wanted: str, known: Iterable[str]) -> str:
    """A sentence with what may have been meant, beginning with a blank; empty when nothing is alike."""
    close = get_close_matches(wanted, list(known), n=3)
    return f" Did you mean {', '.join(close)}?" if close else ""
