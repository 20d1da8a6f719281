"""``workcert search``: every state that a small configuration can reach."""

from __future__ import annotations

import argparse
from typing import Any

from workcert.cli.arguments import count, wanted_bindings
from workcert.cli.complaint import ReadableError


def add(subparsers: Any) -> None:
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "search",
        help="search the states of the specification, breadth first",
        description="Search the states that the specification reaches within a configuration, breadth first.",
    )
    parser.add_argument("contract", metavar="CONTRACT", help="as in 'workload'")
    parser.add_argument("--configuration", metavar="NAME", help="which one (default: the contract's first)")
    parser.add_argument("--all", action="store_true", help="all of them, and the shortest path to whatever they reach")
    parser.add_argument("--write", action="store_true", help="with --all: keep the result for the tables, in reports")
    parser.add_argument("--limit", metavar="N", type=count, help="stop after this many states")
    parser.add_argument("--json", action="store_true", help="for programs")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from workcert import search

    wanted_bindings(args.contract)
    if args.write and not args.all:
        raise ReadableError("--write keeps what all configurations reach: give --all as well")
    narrowed = [flag for flag, value in (("--limit", args.limit), ("--configuration", args.configuration)) if value]
    if args.all and narrowed:
        raise ReadableError(f"--all goes through every state of every configuration: leave out {narrowed[0]}, or --all")
    if args.all:
        return int(search.run_all(args.contract, args.json, args.write))
    return int(search.run(args.contract, args.configuration, args.limit, args.json))
