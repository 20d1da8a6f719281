"""``workcert new-adapter``: a store and its adapter to begin with, in one file that runs."""

from __future__ import annotations

import argparse
from importlib import resources
from pathlib import Path
from typing import Any

from workcert.cli.arguments import wanted_bindings
from workcert.cli.complaint import ReadableError


def add(subparsers: Any) -> None:
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "new-adapter",
        help="write an adapter to begin with",
        description="Write a commented adapter with a small store in it, which can be certified at once.",
    )
    parser.add_argument("contract", metavar="CONTRACT", help="as in 'workload'")
    parser.add_argument("--out", metavar="FILE", type=Path, help="where to (default: CONTRACT_adapter.py)")
    parser.add_argument("--force", action="store_true", help="overwrite the file")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    (binding,) = wanted_bindings(args.contract)
    target: Path = args.out or Path(f"{binding.name}_adapter.py")
    if target.suffix != ".py":
        raise ReadableError(f"{target} does not end in .py, and an adapter is loaded as Python; name it so")
    template = resources.files("workcert.templates").joinpath(f"{binding.name}.py")
    if not template.is_file():
        raise ReadableError(f"there is no adapter to begin with for the contract {binding.name} yet")
    text = template.read_text(encoding="utf-8")
    try:
        with target.open("w" if args.force else "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise ReadableError(
            f"{target} is there already; name another with --out, or overwrite it with --force"
        ) from None
    except OSError as error:
        raise ReadableError(f"{target} cannot be written ({error.strerror}); name another with --out") from None
    print(f"wrote {target}. Certify what it can do so far:\n  workcert certify {target}:BACKEND")
    return 0
