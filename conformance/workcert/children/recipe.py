"""How another process comes by the same backend."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from attrs import frozen

from workcert.backends.registry import BackendError, LoadedBackend, find

Recipe: TypeAlias = Callable[[], LoadedBackend]
"""Called once in the other process. It must be picklable: a function of a module, or an object of such a class."""


@frozen
class ByName:
    """What `find` finds by this text, of one contract. A path is meant from the working directory of the kit."""

    spec: str
    contract: str

    def __call__(self) -> LoadedBackend:
        """Raises:
        BackendError: nothing of that name, or nothing of that contract.
        """
        for backend in find(self.spec):
            if backend.binding.name == self.contract:
                return backend
        raise BackendError(f"{self.spec} does not serve the contract {self.contract}")


def recipe_of(backend: LoadedBackend) -> Recipe | None:
    """The backend's own, or the name by which it was found; None for one that was made inside of this process."""
    if backend.recipe is not None:
        return backend.recipe
    return ByName(backend.found_as, backend.binding.name) if backend.found_as else None
