"""The command line: one module per subcommand, each with ``add`` (its arguments) and ``run`` (what it does)."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from workcert import __version__
from workcert.cli import certify, explain, faults, listing, new_adapter, replay, search, serve, soak, tables, vectors
from workcert.cli.complaint import readable

COMMANDS = (certify, replay, explain, listing, new_adapter, tables, search, faults, soak, vectors, serve)

BEGINNING = """\
Begin with:
  workcert certify sqlite            certify the store that comes with this package
  workcert new-adapter workload      write an adapter for a store of your own
"""


def parser() -> argparse.ArgumentParser:
    """The arguments of all subcommands."""
    found = argparse.ArgumentParser(
        prog="workcert",
        description="Certify a durable work store against an executable specification.",
        epilog=BEGINNING,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    found.add_argument("--version", action="version", version=f"workcert {__version__}")
    subparsers = found.add_subparsers(title="commands", metavar="COMMAND", dest="command")
    for command in COMMANDS:
        command.add(subparsers)
    return found


def run(argv: Sequence[str]) -> int:
    """Parse and run one command line; the exit code.

    Raises:
        ReadableError: it could not run.
        SystemExit: the arguments are wrong, or only help or the version was asked for (argparse's own way).
    """
    arguments = parser()
    known = arguments.parse_args(argv)
    if known.command is None:
        arguments.print_help()
        return 0
    with readable():
        return int(known.run(known))
