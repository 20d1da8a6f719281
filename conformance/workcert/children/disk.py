"""A disk that fails under one process: its system calls are answered with errors, or end it, by ``strace``."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from attrs import define, field

PROGRAM: Final = "strace"
ATTACHING_S: Final = 10.0
"""For strace to take hold of a process."""
_WRITES: Final = "?pwrite64,?pwritev,?pwritev2,?write,?writev,?ftruncate,?ftruncate64,?fallocate"
_SYNCS: Final = "?fsync,?fdatasync,?sync_file_range,?msync"
_FAULTS: Final[Mapping[str, tuple[str, str, str]]] = {
    "full": (_WRITES, "error=ENOSPC", "+"),
    "write_error": (_WRITES, "error=EIO", ""),
    "sync_error": (_SYNCS, "error=EIO", ""),
    # Sent when the call is entered: what it was to write is not written.
    "killed": (_WRITES, "signal=KILL", ""),
}
_INJECTED: Final = ("(INJECTED)", "+++ killed by SIGKILL +++")


class DiskTrouble(Exception):  # noqa: N818 - nothing is said about the backend
    """No disk can be made to fail here; the text says why."""


def cannot_fail() -> str:
    """Why no disk can be made to fail here; empty if one can, as far as can be told without trying."""
    if not sys.platform.startswith("linux"):
        return "a disk is made to fail by strace, which is of Linux"
    return "" if shutil.which(PROGRAM) else f"a disk is made to fail by {PROGRAM}, which is not installed"


@define(eq=False)
class FailingDisk:
    """While it is open, calls of a process that write to files of a directory fail; files that come into being later
    are not seen.

    ``how``: a key of the faults above; ``number``: which write or waiting fails, counted from 1 for each kind of call.
    """

    pid: int
    place: Path
    how: str
    number: int
    failed: int = 0
    """How many calls were made to fail, or ended a thread of the process; known when it is closed."""
    _log: Path = field(factory=lambda: Path(tempfile.mkdtemp(prefix="workcert-disk-")) / "log")
    _tracer: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> FailingDisk:
        """Raises:
        DiskTrouble: strace cannot take hold of the process.
        """
        calls, fault, onwards = _FAULTS[self.how]
        files = [str(path) for path in sorted(self.place.rglob("*")) if path.is_file()]
        command = [PROGRAM, "-f", "-qq", "-o", str(self._log), "-e", f"trace={calls}"]
        command += ["-e", f"inject={calls}:{fault}:when={self.number}{onwards}"]
        command += [word for path in files for word in ("-P", path)]
        self._tracer = subprocess.Popen(
            [*command, "-p", str(self.pid)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            self._await(self._tracer)
        except BaseException:
            self.__exit__()
            raise
        return self

    def _await(self, tracer: subprocess.Popen[bytes]) -> None:
        give_up_at = time.monotonic() + ATTACHING_S
        status = Path(f"/proc/{self.pid}/status")
        while time.monotonic() < give_up_at:
            if tracer.poll() is not None:
                said = b"" if tracer.stderr is None else tracer.stderr.read()
                raise DiskTrouble(f"{PROGRAM} ended at once: {said.decode(errors='replace').strip()[:200]}")
            if f"TracerPid:\t{tracer.pid}\n" in status.read_text():
                return
            time.sleep(0.001)
        raise DiskTrouble(f"{PROGRAM} takes hold of no process within {ATTACHING_S:g} seconds")

    def __exit__(self, *_exception: object) -> None:
        """Let go of the process, which goes on as if nothing had been."""
        tracer, self._tracer = self._tracer, None
        if tracer is None:
            return
        tracer.terminate()
        try:
            tracer.wait(timeout=ATTACHING_S)
        except subprocess.TimeoutExpired:
            tracer.kill()
            tracer.wait()
        if tracer.stderr is not None:
            tracer.stderr.close()
        with contextlib.suppress(OSError):
            log = self._log.read_text(errors="replace")
            self.failed = sum(log.count(sign) for sign in _INJECTED)
        shutil.rmtree(self._log.parent, ignore_errors=True)
