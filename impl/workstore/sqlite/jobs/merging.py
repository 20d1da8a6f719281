"""The first rows of several ordered selections, read without reading the rest of any."""

from __future__ import annotations

import heapq
import sqlite3
from collections.abc import Iterable
from itertools import islice
from typing import Any


def first_rows(selections: Iterable[sqlite3.Cursor], limit: int) -> list[tuple[Any, ...]]:
    """The least ``limit`` rows of selections that are each in ascending order.

    They are closed before anything is written: an open one would go on reading what is changed under it.
    """
    opened = list(selections)
    try:
        return list(islice(heapq.merge(*opened), limit))
    finally:
        for selection in opened:
            selection.close()
