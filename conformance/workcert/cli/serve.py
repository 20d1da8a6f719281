"""``workcert serve``: the store of a backend for a driver that is another program."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any, Final

from workcert.backends.registry import find
from workcert.cli.arguments import add_backend, directory, of_contract
from workcert.cli.complaint import ReadableError
from workcert.codec import CodecError, loads

DESCRIPTION: Final = """\
Open one store and answer calls on it, one JSON object a line, until standard input ends.

  request   {"id": 1, "call": "claim", "args": {...}, "at": 11}
  answers   {"id": 1, "ok": ...}
            {"id": 1, "error": "NOT_READY", "details": null}
            {"id": 1, "unavailable": "the disk is full", "definite": true}
            {"id": 1, "crashed": "ZeroDivisionError: ..."}     the store raised something else
            {"id": 1, "bad": "$.args.limit: ..."}              nothing was called

The first line, with the id null, says whether the store could be opened. "at" is the instant of the call in the unit
of the contract; a store that has a clock of its own is stopped there. Values are written as in case files ($bytes,
$int, $value). {"call": "begin"}, then calls that belong inside a transaction, then {"call": "commit"} or "rollback".

Several of these may serve one place at once, if the store can be opened more than once.
"""


def add(subparsers: Any) -> None:
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "serve",
        help="answer calls on one store, as JSON lines",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_backend(parser)
    parser.add_argument("--contract", metavar="NAME", required=True, help="which contract it is to serve")
    parser.add_argument(
        "--place",
        metavar="DIR",
        type=directory,
        required=True,
        help="where the store is, or is made if nothing is there yet",
    )
    parser.add_argument("--config", metavar="JSON", default="{}", help="what it is to be opened with, as an object")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from workcert.children.serve import serve

    (backend,) = of_contract(find(args.backend), args.backend, args.contract)
    place: Path = args.place
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ReadableError(f"no store can be had in {place}: {error.strerror}. Name another directory") from error
    return 0 if serve(backend, place.absolute(), _config(args.config), sys.stdin, sys.stdout) else 1


def _config(text: str) -> dict[str, Any]:
    try:
        config = loads(text)
    except CodecError as error:
        raise ReadableError(f"--config cannot be read: {error}") from error
    if not isinstance(config, dict):
        raise ReadableError("--config must be an object, as in --config '{\"crash_limit\": 2}'")
    return config
