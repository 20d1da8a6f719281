"""Values that the model had to presume: a store chose them and did not show them.

The rules go on with the reference's default, and nothing that a store shows in its place is held against it. Such a
value may come back elsewhere: the id of an attempt in a checkpoint, or as text in the evidence of an event.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final


class PresumedText(str):
    __slots__ = ()

    def __str__(self) -> str:
        """Itself: the text of a presumed value is as presumed."""
        return self


class PresumedNumber(int):
    __slots__ = ()


PRESUMED: Final = (PresumedText, PresumedNumber)
FURTHER: Final = PresumedText("…")
"""A key that stands for any further ones."""


def presumed(value: Any) -> Any:
    """The value, marked as one that was not shown; of an object, that it may have further keys."""
    if isinstance(value, str):
        return PresumedText(value)
    if isinstance(value, Mapping):
        return {FURTHER: FURTHER, **value}
    return PresumedNumber(value) if type(value) is int else value
