"""``workcert faults``: how many seeded faults the suites catch."""

from __future__ import annotations

import argparse
from typing import Any

from workcert.cli.arguments import count, natural, wanted_bindings
from workcert.cli.complaint import ReadableError
from workcert.run.engine import Effort


def add(subparsers: Any) -> None:
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "faults",
        help="grade the suites on seeded faults",
        description="Make the specification wrong in each of the ways that its rules give, certify every such store, "
        "and say what the suites catch. Exit code: 0 all caught, or shown to be no fault; 1 one survived.",
    )
    parser.add_argument("contract", metavar="CONTRACT", help="as in 'workload'")
    parser.add_argument("--only", metavar="TEXT", action="append", help="only faults whose names hold this text")
    parser.add_argument("--sample", metavar="N", type=count, help="so many of them, evenly spread")
    parser.add_argument(
        "--effort", choices=[effort.value for effort in Effort], default=Effort.CI.value, help="default: ci"
    )
    parser.add_argument("--seed", metavar="N", type=natural, default=0, help="default: 0")
    parser.add_argument("--processes", metavar="N", type=count, help="default: one for each core")
    parser.add_argument("--list", action="store_true", help="only list the names")
    parser.add_argument("--json", action="store_true", help="for programs")
    parser.add_argument("--write", action="store_true", help="keep the grades, for certificates and reports/faults.md")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from workcert.faults import command
    from workcert.faults.campaign import faults_of

    wanted_bindings(args.contract)
    if args.write and (args.only or args.sample):
        raise ReadableError("--write keeps the grades of all faults; leave --only and --sample out")
    faults = faults_of(args.contract)
    try:
        numbers = command.chosen(faults, sample=args.sample, only=args.only or ())
    except KeyError as error:
        raise ReadableError(f"no fault of {args.contract} has {error} in its name; see --list") from error
    if args.list:
        print("\n".join(faults[number].name for number in numbers))
        return command.ALL_CAUGHT
    return command.run(
        args.contract,
        numbers,
        effort=Effort(args.effort),
        seed=args.seed,
        processes=args.processes,
        as_json=args.json,
        write=args.write,
    )
