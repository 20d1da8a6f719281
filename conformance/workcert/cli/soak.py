"""``workcert soak``: many processes on one store, killed and started again, and every job accounted for."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from workcert.cli.arguments import add_backend, add_contract, count, directory, of_contract
from workcert.cli.complaint import ReadableError, readable

INTERRUPTED = 130


def add(subparsers: Any) -> None:
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "soak",
        help="run many processes on one store, kill them at random, and account for every job",
        description="Run workers, sweeps and operators in processes of their own on one store; kill one of them about "
        "every second and start it again; at the end account for every job. Nothing that was answered may be lost, and "
        "nothing may have been accepted twice. Needs the abilities kill and second_handle.",
        epilog="Exit code 0: nothing lost, nothing doubled; 1: something was found; 2: could not run, or "
        "the store hung with nothing found until then; 130: interrupted, with nothing found until then.",
    )
    add_backend(parser)
    add_contract(parser)
    parser.add_argument("--minutes", metavar="N", type=positive, default=10.0, help="how long (default: 10)")
    parser.add_argument("--processes", metavar="P", type=count, default=6, help="how many (default: 6)")
    parser.add_argument(
        "--kill-every",
        metavar="S",
        type=positive,
        default=1.0,
        help="seconds between two kills on average (default: 1)",
    )
    parser.add_argument("--kills", metavar="N", type=count, help="end after so many kills, if that comes first")
    parser.add_argument("--seed", metavar="N", type=int, default=0, help="of all that is drawn (default: 0)")
    parser.add_argument("--place", metavar="DIR", type=directory, help="keep store and notes in this new directory")
    parser.add_argument("--json", action="store_true", help="for programs")
    parser.set_defaults(run=run)


def positive(text: str) -> float:
    """A number above 0.

    Raises:
        argparse.ArgumentTypeError: anything else.
    """
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < 1e9:
        raise argparse.ArgumentTypeError(f"{text!r} is no number above 0")
    return number


def run(args: argparse.Namespace) -> int:
    from workcert.backends.registry import find
    from workcert.soak.plan import Plan
    from workcert.soak.supervisor import Soaked, cannot_soak, run_soak
    from workcert.soak.text import Lines, as_plain, ending

    done: list[Soaked] = []
    with readable():
        backends = of_contract(find(args.backend), args.backend, args.contract)
        fitting = [backend for backend in backends if not cannot_soak(backend)]
        if not fitting:
            raise ReadableError(cannot_soak(backends[0]))
        root = _empty(args.place or fitting[0].root)
        for backend in fitting:
            place = None if root is None else root / backend.binding.name
            plan = Plan(args.minutes, args.processes, args.kill_every, args.seed, args.kills, place)
            lines = Lines(f"{backend.name} {backend.binding.name}")
            try:
                done.append(run_soak(backend, plan, lines))
            finally:
                lines.close()
            if not args.json:
                print(ending(done[-1]), flush=True)
            if done[-1].interrupted:
                break
    if args.json:
        print(json.dumps([as_plain(each) for each in done], indent=2, ensure_ascii=False))
    if not all(each.right for each in done):
        return 1
    hung = next((each for each in done if each.hung), None)
    if hung is not None:
        raise ReadableError(
            f"{hung.contract}: {hung.hung}: the store hangs, perhaps on a lock that a killed process held. No verdict; "
            "--place DIR keeps the store and what each process noted"
        )
    return INTERRUPTED if any(each.interrupted for each in done) else 0


def _empty(place: Path | None) -> Path | None:
    """Where stores and notes are kept, in a directory for each contract; None for a temporary place.

    Raises:
        ReadableError: there is something already.
    """
    if place is not None and place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise ReadableError(f"{place} is not an empty directory; name a new one behind --place")
    return place
