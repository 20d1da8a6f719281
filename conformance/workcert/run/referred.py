"""What a store has to show, so that it can be judged at all: what later calls refer to, and what tells a write."""

from __future__ import annotations

from typing import Any

from workcert.backends.registry import BackendError, LoadedBackend
from workcert.judge.hidden import shows
from workcert.run.calling import Answered, Observed
from workspec.core.choice import UNSEEN


def check_referred(backend: LoadedBackend, call: str, observed: Observed) -> None:
    """After a call.

    Raises:
        BackendError: its answer leaves out what later calls have to name.
    """
    if not isinstance(observed, Answered):
        return
    hidden = [path for path in backend.binding.referred.get(call, ()) if not shows(observed.value, (path,))]
    if hidden:
        raise BackendError(
            f"{backend.name} puts NOT_SHOWN at {' and '.join(hidden)} in the answer of {call}, and every later call "
            f"has to name it. Answer with it there; what is read ({', '.join(sorted(backend.binding.reads))}) may "
            "leave it out"
        )


def check_readable(backend: LoadedBackend, key: str, version: Any, record: Any) -> None:
    """After a row was read back.

    Raises:
        BackendError: the row leaves out its version, or all of the record.
    """
    hidden = [name for name, value in (("the version", version), ("the whole record", record)) if value is UNSEEN]
    if hidden:
        raise BackendError(
            f"{backend.name} puts NOT_SHOWN at {' and '.join(hidden)} when {key} is read, and without it nobody can "
            "say what a call changed. Show it; members of the record may be left out one by one"
        )
