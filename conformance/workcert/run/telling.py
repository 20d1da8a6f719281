"""A call in a few words, for what is said of it where no table is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from workcert.codec import CodecError, encode, render, to_json

LONGEST_VALUE: Final = 60
LONGEST_CALL: Final = 200
"""Characters: the whole call stands in its case."""


def call_text(name: str, arguments: Mapping[str, Any]) -> str:
    """``ack(outcome="retry", delay_ms=null)``, cut where it is long."""
    given = ", ".join(f"{argument}={_value(value)}" for argument, value in arguments.items())
    return f"{name}({_cut(given, LONGEST_CALL)})"


def _value(value: Any) -> str:
    try:
        return _cut(render(encode(to_json(value))), LONGEST_VALUE)
    except (CodecError, RecursionError):
        # What a store gave out and gets back, as the transaction of a call.
        return f"({type(value).__name__})"


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
