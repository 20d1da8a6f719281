"""What is said of a shrunk case."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from attrs import frozen

Path: TypeAlias = tuple[Any, ...]

AT: Final[Path] = ("at",)
"""The instant of a step."""
ON: Final[Path] = ("on",)
"""The handle of a step."""


@frozen
class Spot:
    """Where a value stands: ``path`` is `AT`, `ON`, or leads from ``args`` through member names and positions; None in
    it steps into the value of JSON bytes."""

    step: str
    path: Path

    @property
    def text(self) -> str:
        """``c1.args.capabilities[0]``."""
        return self.step + "".join(map(_part, self.path))


def _part(key: Any) -> str:
    if key is None:
        return ".(json)"
    return f"[{key}]" if isinstance(key, int) else f".{key}"


NOT_NEEDED: Final = "(it is not needed: the failure is the same without it)"


@frozen
class Need:
    """``why`` a step is needed, in a few words."""

    step: str
    why: str

    @property
    def idle(self) -> bool:
        """It is not, as a case that nobody shrunk may have it, or one whose last edits made it so."""
        return self.why == NOT_NEEDED


@frozen
class Explanation:
    """``free``: values that do not matter. ``least``: numbers and instants that may be larger and not smaller.
    ``names``: texts that do not matter either, as long as they are the same
    wherever they recur. ``needed``: the steps but the failing one. ``finished`` is False when the budget ended the
    search: a value in neither may then not have been tried."""

    free: tuple[Spot, ...] = ()
    least: tuple[Spot, ...] = ()
    names: tuple[Spot, ...] = ()
    needed: tuple[Need, ...] = ()
    executions: int = 0
    finished: bool = True

    def why(self, step: str) -> str:
        """Why a step is needed; empty for the failing one. ``step`` without the number of an iteration."""
        return next((need.why for need in self.needed if need.step == step), "")
