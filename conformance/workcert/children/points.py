"""The points of what a child does, and the place of its commit among all."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, Final

from workcert.backends.registry import LoadedBackend
from workcert.watched.call import CallWatch, alone, seen_by

COMMIT_ORDER: Final = "commit_order"


@contextlib.contextmanager
def watching(
    backend: LoadedBackend, handle: Any, at: Callable[[str], None] | None, on_commit: Callable[[Any], None] | None
) -> Iterator[CallWatch]:
    """While this lasts ``at`` is called with a label at every point of what the store does.

    Connections are seen while the database module is installed. A store that tells its points itself is asked to;
    ``handle`` is None while it is being opened, which then has no points. Statements of threads of the store's own are
    put down to the call too, as there is no other; but only as long as it has made none itself, since they may be of
    what the store does beside its calls.
    """
    watch = CallWatch(at, on_commit)

    def beside(label: str) -> None:
        if at is not None and not watch.statements:
            at(label)

    def committed(connection: Any) -> None:
        if on_commit is not None and not watch.statements:
            on_commit(connection)

    own = None if backend.dbapi is not None or at is None else getattr(handle, "points", None)
    if own is not None:
        own(at)
    try:
        with seen_by(watch), alone(CallWatch(beside, committed)):
            yield watch
    finally:
        if own is not None:
            own(None)


def commit_order(backend: LoadedBackend, handle: Any, watch: CallWatch) -> int | None:
    """The place of what was committed, in the order of all commits of the store; None where nothing was, or where
    nobody can tell."""
    if backend.dbapi is not None or handle is None or not backend.can(COMMIT_ORDER):
        return watch.ticket
    given: int | None = handle.commit_order()
    return given
