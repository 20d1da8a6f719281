"""Abilities that are claimed and not there."""

from __future__ import annotations

from typing import NoReturn

from attrs import frozen

from workcert.backends.registry import BackendError, LoadedBackend
from workcert.raised import told
from workcert.run.calling import CallHung


class AbilityLie(BackendError):  # noqa: N818 - a finding about the backend
    """The backend claims an ability and does not have it."""


def accuse(backend: LoadedBackend, ability: str, what: str, otherwise: str = "") -> NoReturn:
    """Say that a claimed ability is not there, and what to do."""
    without = f": {otherwise}" if otherwise else ""
    raise AbilityLie(
        f"{backend.name} claims the ability {ability}, but {what}. "
        f"Mend it, or take {ability!r} out of abilities{without}"
    )


@frozen(eq=False)
class Use:
    """The use of an ability. No generator: rows are asked for in this way after every step."""

    backend: LoadedBackend
    name: str

    def __enter__(self) -> None: ...

    def __exit__(self, _kind: type[BaseException] | None, error: BaseException | None, _trace: object) -> None:
        if error is None or isinstance(error, CallHung | BackendError | KeyboardInterrupt):
            return
        accuse(self.backend, self.name, f"handle.{self.name} raised {told(error)}")
