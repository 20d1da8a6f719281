"""Choices: the places where the contract lets stores differ, as a closed list.

A *declared* choice has one value for a store, held for the whole run. A *free* choice may fall anew each time: the
reference takes the default, a judge takes what the store answered, if that is legal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, Final, Protocol

from attrs import frozen

from workspec.core.scope import Scope


class ChoiceKind(StrEnum):
    DECLARED = "declared"
    FREE = "free"


class Unseen:
    """The value of a free choice that the answer and the record do not show."""

    def __repr__(self) -> str:
        return "not shown"

    def __reduce__(self) -> str:
        # There is one of it, also where an answer comes from another process.
        return "UNSEEN"


UNSEEN: Final = Unseen()

OTHER: Final = "other"
"""A declared value that every declared choice allows: the store does something else, so the kit goes elsewhere."""


def _unseen(_key: str) -> Unseen:
    return UNSEEN


@frozen
class Seen:
    """What a store showed of one call: its error code or its answer, and the addressed record after it. ``rows``: the
    record of any key after it, None where there is none, `UNSEEN` where it cannot be read."""

    code: str | None
    answer: Any
    record: Any
    rows: Callable[[str], Any] = _unseen


Observer = Callable[[Seen, Scope], Any]
"""Reads the value of a free choice from what was seen; `UNSEEN` when it is not shown."""


@frozen(eq=False)
class Choice:
    """One tolerated divergence.

    ``options``: the legal values, or empty where ``legal`` decides (``legal_text`` says what it asks). ``default``:
    what the reference takes, a value or a function of the scope. ``observe``: reads a free choice from what was
    seen. ``requirements``: what is broken when the value seen is not legal.
    """

    id: str
    kind: ChoiceKind
    text: str
    requirements: tuple[str, ...]
    default: Any
    options: tuple[Any, ...] = ()
    legal: Callable[[Any, Scope], bool] | None = None
    legal_text: str = ""
    observe: Observer | None = None

    def default_in(self, scope: Scope) -> Any:
        return self.default(scope) if callable(self.default) else self.default

    def allows(self, value: Any, scope: Scope) -> bool:
        if self.options:
            return value in self.options
        return self.legal is None or self.legal(value, scope)


class Chooser(Protocol):
    def __call__(self, choice: Choice, scope: Scope) -> Any:
        """The value that this choice takes in this decision."""


class NotAsserted(Exception):  # noqa: N818 - not an error: the kit catches it and goes elsewhere
    """The declared value of a choice is `OTHER`: nothing is specified from here on."""

    def __init__(self, choice: Choice) -> None:
        super().__init__(f"{choice.id} is declared as {OTHER!r}: the contract asserts nothing there")
        self.choice = choice


def reference(choice: Choice, scope: Scope) -> Any:
    """The reference's chooser: every choice takes its default."""
    return choice.default_in(scope)


@frozen
class Declared:
    """A chooser that takes declared values from a backend and defaults for the rest."""

    values: Mapping[str, Any]

    def __call__(self, choice: Choice, scope: Scope) -> Any:
        value = self.values.get(choice.id) if choice.kind is ChoiceKind.DECLARED else None
        if value is None:
            return choice.default_in(scope)
        if value == OTHER:
            raise NotAsserted(choice)
        return value
