"""What an adapter raised, in words: the text of an exception is the adapter's too, and may raise itself."""

from __future__ import annotations


def told(error: BaseException) -> str:
    """Type and text, as the last line of a traceback has them."""
    return f"{type(error).__name__}: {text_of(error)}"


def text_of(error: object) -> str:
    try:
        return str(error)
    except (Exception, SystemExit) as worse:
        return f"(its text cannot be had: __str__ raised {type(worse).__name__})"
