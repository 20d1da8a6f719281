"""``workcert tables``: the pages that are generated out of the rules."""

from __future__ import annotations

import argparse
from typing import Any

from workcert.cli.arguments import add_contract, directory


def add(subparsers: Any) -> None:
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "tables",
        help="write the tables and diagrams of a contract",
        description="Write the tables and diagrams that are generated out of the rules of a contract.",
    )
    parser.add_argument("--check", action="store_true", help="write nothing; fail when a page is not up to date")
    add_contract(parser)
    parser.add_argument("--out", metavar="DIR", type=directory, help="where to (default: reports)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from workcert import tables

    contracts = () if args.contract is None else (args.contract,)
    return int(tables.run(args.check, contracts, args.out))
