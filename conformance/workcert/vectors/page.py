"""``VECTORS.md``: how to read a vector and how to run it, for people who write a store in any language."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files
from typing import Final

from workspec.render.markdown import table

TEXT_FILE: Final = "page.md"
GENERATED: Final = "Written by `workcert vectors`; do not edit."


def page(contracts: Iterable[tuple[str, str, int, int]]) -> str:
    """The page that is written beside vectors.

    Args:
        contracts: name, version, number of vectors and number of their steps.
    """
    text = files("workcert.vectors").joinpath(TEXT_FILE).read_text(encoding="utf-8")
    rows = [(f"`{name}/`", version, f"{vectors:,}", f"{steps:,}") for name, version, vectors, steps in contracts]
    return f"{GENERATED}\n\n{text.replace('(the contracts)', table(('folder', 'contract', 'vectors', 'steps'), rows))}"
