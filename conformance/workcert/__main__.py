"""The ``workcert`` command: what can go wrong around a subcommand, said in sentences.

This module imports with the base dependencies alone, so that a missing extra can be named; and next to nothing before
`main` is entered, so that an interrupt in the first tenths of a second ends as any other does.
"""

from __future__ import annotations

import os
import sys

# What type checkers take for true, without an import of `typing`.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

NEEDED = ("hypothesis", "jsonschema", "pytest", "tabulate")
"""What the extra ``certify`` brings."""

COULD_NOT_RUN = 2
INTERRUPTED = 130
TERMINATED = 143
"""What a shell reports for a program that SIGTERM ended."""
PIPE_CLOSED = 141
"""What a shell reports for a program that the end of its reader ended."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line; the exit code.

    0 conformant or passed in part, 1 not conformant, incomplete or failed, 2 could not run, 130 interrupted, 143 ended
    by SIGTERM.
    """
    try:
        import io
        from importlib.util import find_spec

        missing = [name for name in NEEDED if find_spec(name) is None]
        if missing:
            verb = "are" if len(missing) > 1 else "is"
            return _complain(f"{', '.join(missing)} {verb} not installed; run: pip install 'workcert[certify]'")
        # A process may be started without output.
        sys.stdout, sys.stderr = sys.stdout or io.StringIO(), sys.stderr or io.StringIO()
        for stream in (sys.stdout, sys.stderr):
            # A terminal of few characters must not end a run.
            reconfigure = getattr(stream, "reconfigure", None)
            if reconfigure is not None:
                reconfigure(errors="backslashreplace")
        return _run(list(sys.argv[1:] if argv is None else argv))
    except KeyboardInterrupt:
        return _interrupted(INTERRUPTED)
    except BrokenPipeError:
        _drop_output()
        return PIPE_CLOSED
    except OSError as error:
        import errno

        if error.filename is None and error.errno in (errno.ENOSPC, errno.EBADF, errno.EIO):
            _drop_output()
            return _complain(f"the output cannot be written: {error.strerror}")
        return _fault(error)
    except Exception as error:  # the last net
        return _fault(error)


def _run(argv: list[str]) -> int:
    from workcert.cli import run
    from workcert.cli.complaint import ReadableError
    from workcert.cli.foreign import among_strangers
    from workcert.cli.terminated import ending_in_order

    try:
        with among_strangers(), ending_in_order() as told:
            try:
                code = run(argv)
            except KeyboardInterrupt:
                return _interrupted(TERMINATED if told.to_end else INTERRUPTED)
        sys.stdout.flush()
        return TERMINATED if told.to_end and code == INTERRUPTED else code
    except ReadableError as error:
        return _complain(str(error))


def _interrupted(code: int) -> int:
    how = "interrupted" if code == INTERRUPTED else "told to end (SIGTERM)"
    print(f"\nworkcert: {how}; nothing that was not printed or written is decided", file=sys.stderr)
    return code


def _fault(error: Exception) -> int:
    """Inside the handler of what is a fault of the kit itself."""
    from workcert.raised import told

    if os.environ.get("WORKCERT_DEBUG") == "1":
        import traceback

        traceback.print_exc()
    return _complain(
        f"a fault of workcert itself: {told(error)}. "
        "Please report it with the command line and what WORKCERT_DEBUG=1 prints in addition"
    )


def _complain(text: str) -> int:
    import contextlib

    with contextlib.suppress(BrokenPipeError):
        print(f"workcert: {text}", file=sys.stderr)
    return COULD_NOT_RUN


def _drop_output() -> None:
    """What is still buffered has no reader; flushing it at exit would print a traceback."""
    import contextlib

    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
