"""``workcert vectors``: the cases of the kit with complete expectations, for runners in any language."""

from __future__ import annotations

import argparse
from typing import Any

from workcert.cli.arguments import add_contract, directory, meant, wanted_bindings
from workcert.cli.complaint import ReadableError
from workcert.cli.output import plural


def add(subparsers: Any) -> None:
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "vectors",
        help="write test vectors for stores in any language",
        description="Write every case of the kit as JSON lines with complete answers and rows, a JSON Schema of the "
        "lines, and a page that says how to run them without Python.",
    )
    add_contract(parser)
    parser.add_argument("--out", metavar="DIR", type=directory, required=True, help="where to")
    parser.add_argument(
        "--profile", metavar="P", action="append", help="only cases that need no profile but CORE and this; repeatable"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from workcert.vectors import export
    from workcert.vectors.files import strangers

    wanted = wanted_bindings(args.contract)
    known = {profile for binding in wanted for profile in binding.profile_abilities}
    for name in args.profile or ():
        if name not in known:
            raise ReadableError(f"there is no profile {name!r}.{meant(name, known)} See 'workcert list profiles'")
    try:
        exported = export(wanted, args.out, args.profile)
    except OSError as error:
        raise ReadableError(
            f"no vectors can be written to {args.out}: {error.strerror or error}. Name a directory of your own"
        ) from error
    for each in exported:
        print(f"{each.contract} {each.version}: {plural(len(each.vectors), 'vector')}, {plural(each.steps, 'step')}")
        for reason, times in each.reasons():
            print(f"  left out: {plural(times, 'case')}: {reason}")
    print(f"The vectors are in {args.out}; VECTORS.md there says how to run them")
    for path in strangers(exported, args.out):
        print(f"Note: {path} was there, and no export has written it")
    return 0
