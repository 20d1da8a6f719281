"""One process of a soak: what it does of the contract's calls, at random, until it is killed."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Final

from attrs import define, field

from workcert.backends.registry import LoadedBackend
from workcert.raised import told
from workcert.run.calling import Answered, Crashed, Observed, Refusal, Unavailable, observe
from workcert.soak.notes import Notebook, Pool
from workcert.soak.plan import Assignment

ROLES: Final = ("worker", "sweeper", "operator")
"""By the index of a process. Each does everything, and its own part more often."""
Shown = Callable[[Any], Any]


def nothing(_answer: Any) -> None:
    """Of this answer nothing is noted but that it came."""


@define(eq=False)
class Actor(ABC):
    """``chance`` is the seeded source of all that it does. ``DOINGS``: by role how likely each of its actions is, which
    are methods of the same name behind a low line."""

    DOINGS: ClassVar[Mapping[str, Mapping[str, float]]]

    backend: LoadedBackend
    handle: Any
    notes: Notebook
    pool: Pool
    task: Assignment
    chance: random.Random = field(init=False)
    serial: int = 0

    def __attrs_post_init__(self) -> None:
        self.chance = random.Random(f"{self.task.seed}/{self.task.who}")

    @property
    def role(self) -> str:
        return ROLES[self.task.index % len(ROLES)]

    def name(self) -> str:
        """A name that nobody else makes."""
        self.serial += 1
        return f"{self.task.who}.{self.serial}"

    def has(self, method: str) -> bool:
        return hasattr(self.handle, method)

    def ask(
        self, call: str, about: Mapping[str, Any], arguments: Mapping[str, Any], shown: Shown = nothing
    ) -> Observed:
        """A call that is noted before and after."""
        number = self.notes.ask(call, about)
        observed = observe(self.backend, self.handle, call, arguments)
        self.notes.told(number, _noted(observed, shown))
        return observed

    def quietly(self, call: str, **arguments: Any) -> Observed:
        """A call of which nothing has to be known, unless the store crashes in it."""
        observed = observe(self.backend, self.handle, call, arguments)
        if isinstance(observed, Crashed):
            self.notes.told(self.notes.ask(call, {}), _noted(observed, nothing))
        return observed

    def drawn(self, actions: Mapping[str, float]) -> str:
        return self.chance.choices(list(actions), list(actions.values()))[0]

    def step(self) -> None:
        """Do something."""
        getattr(self, f"_{self.drawn(self.DOINGS[self.role])}")()

    @abstractmethod
    def repeat(self, unanswered: Mapping[str, Any]) -> None:
        """Submit once more what the one before was killed in."""


def _noted(observed: Observed, shown: Shown) -> dict[str, Any]:
    match observed:
        case Answered(value):
            try:
                return {"ok": shown(value)}
            except Exception as error:
                return {"crash": f"its answer cannot be read: {told(error)}"}
        case Refusal(code):
            return {"no": code}
        case Unavailable(definite, text):
            return {"busy" if definite else "unknown": text}
        case Crashed(text):
            return {"crash": text}
    raise AssertionError(f"unknown outcome {observed!r}")


def picked(chance: random.Random, among: Sequence[Any]) -> Any:
    """Any of these; None of none."""
    return among[chance.randrange(len(among))] if among else None
