"""Errors for people: what was wrong, its likely cause, the next command. Never a traceback for bad input."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Final

import workcert
from workcert.backends.registry import BackendError
from workcert.cases.reading import CaseError
from workcert.raised import text_of

_NOT_FOREIGN: Final = frozenset({*sys.stdlib_module_names, "hypothesis", "attr", "attrs", "workspec"})


class ReadableError(Exception):
    """The command cannot do what was asked; the text is for the person who asked."""


@contextmanager
def readable(backend: str = "") -> Iterator[None]:
    """Turn the errors that bad input causes in the kit into `ReadableError`.

    Args:
        backend: the backend that runs inside, if one does; what its adapter raises is then told from a fault of the
            kit.

    Raises:
        ReadableError: with the same text, or with what the adapter raised.
    """
    try:
        yield
    except (BackendError, CaseError) as error:
        raise ReadableError(str(error)) from error
    except ReadableError:
        raise
    except SystemExit as error:
        if not backend:
            raise
        raise ReadableError(f"{backend} raised SystemExit({error.code}) outside of a judged call") from error
    except Exception as error:
        place = raised_by_adapter(error) if backend else None
        if place is None:
            raise
        raise ReadableError(adapter_text(backend, error, place)) from error


def adapter_text(backend: str, error: Exception, place: str) -> str:
    return (
        f"{backend} raised {type(error).__name__} outside of a judged call, at {place}: {text_of(error)}. "
        "Mend the adapter: the kit cannot go on without that answer"
    )


def raised_by_adapter(error: BaseException) -> str | None:
    """File and line where the kit had called into an adapter, None when it had not."""
    kit = Path(workcert.__file__).parent
    frames = list(traceback.walk_tb(error.__traceback__))
    inside = [index for index, (frame, _) in enumerate(frames) if _within(frame.f_code.co_filename, kit)]
    called = frames[inside[-1] + 1 :] if inside else []
    # An answer that raises when it is looked at may be reached through the rules or through a library.
    foreign = [(frame, line) for frame, line in called if _package(frame) not in _NOT_FOREIGN]
    if not foreign:
        return None
    frame, line = foreign[0]
    return f"{Path(frame.f_code.co_filename).name}:{line}"


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def _within(filename: str, directory: Path) -> bool:
    return Path(filename).is_relative_to(directory)
