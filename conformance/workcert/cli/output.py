"""Printing for people and for programs."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence
from typing import Any, Final

from tabulate import tabulate

WIDE: Final = 160
"""Where the output is no terminal, nothing has to fit."""
NARROWEST: Final = 100


def width() -> int:
    return max(shutil.get_terminal_size().columns, NARROWEST) if sys.stdout.isatty() else WIDE


def table(headers: Sequence[str], rows: Sequence[Sequence[str]], wrapped: Sequence[int | None] = ()) -> str:
    """A table of texts; ``wrapped``: the greatest width of each column, None for as it comes."""
    return tabulate(
        [list(row) for row in rows],
        headers=list(headers),
        tablefmt="simple",
        disable_numparse=True,
        maxcolwidths=list(wrapped) or None,
    )


def as_json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def plural(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
