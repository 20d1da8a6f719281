"""``workcert search``: every state that a small configuration can reach."""

from __future__ import annotations

import argparse
from typing import Any

from workcert.cli.arguments import count, wanted_bindings


def add(subparsers: Any) -> None:
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "search",
        help="search the states of the specification, breadth first",
        description="Search the states that the specification reaches within a configuration, breadth first.",
    )
    parser.add_argument("contract", metavar="CONTRACT", help="as in 'workload'")
    parser.add_argument("--configuration", metavar="NAME", help="which one (default: the contract's first)")
    parser.add_argument("--limit", metavar="N", type=count, help="stop after this many states")
    parser.add_argument("--json", action="store_true", help="for programs")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from workcert import search

    wanted_bindings(args.contract)
    return int(search.run(args.contract, args.configuration, args.limit, args.json))
