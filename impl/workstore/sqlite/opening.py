"""The options of opening a file, which all stores on SQLite share: checked here, before any file is touched."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from .arguments import require_bool, require_integers, require_optional_integers, require_texts, require_within
from .connection import GREATEST_BUSY_TIMEOUT_MS, GREATEST_PAGE_COUNT, SYNCHRONOUS, Settings


def _refuse_impossible_name(location: str) -> None:
    """Raises:
    ValueError: no file system can hold a file of this name.
    """
    if "\0" in location:
        raise ValueError(f"path must hold no NUL character, and {location!r} does")
    try:
        os.fsencode(location)
    except UnicodeEncodeError as error:
        raise ValueError(f"path must be a text that a file name can be, and {location!r} is not: {error}") from error


def checked_settings(
    path: str | os.PathLike[str],
    *,
    synchronous: str,
    busy_timeout_ms: int,
    max_page_count: int | None,
    read_only: bool,
    unavailable: Callable[[str, bool], Exception],
) -> Settings:
    """How to open the file.

    Raises:
        TypeError, ValueError: an option that is none; the text names it, the rule and the value.
        Exception: ``unavailable``, where the place can hold no durable store.
    """
    location = os.fspath(path)
    if not isinstance(location, str):
        raise TypeError(f"path must be str, or a path made of one, not {type(location).__name__}")
    require_texts(synchronous=synchronous)
    require_integers(busy_timeout_ms=busy_timeout_ms)
    require_optional_integers(max_page_count=max_page_count)
    require_bool(read_only=read_only)
    _refuse_impossible_name(location)
    if synchronous not in SYNCHRONOUS:
        raise ValueError(f"synchronous must be 'FULL' or 'NORMAL', not {synchronous!r}")
    require_within("busy_timeout_ms", busy_timeout_ms, 0, GREATEST_BUSY_TIMEOUT_MS, "which is 24 days")
    if max_page_count is not None:
        require_within("max_page_count", max_page_count, 1, GREATEST_PAGE_COUNT, "all that SQLite can number")
    if location in ("", ":memory:"):
        raise unavailable("A durable store needs a file. Name one on a local disk.", True)
    return Settings(Path(location), synchronous, busy_timeout_ms, max_page_count, read_only)
