"""A history drawn as text: one lane for each caller, time running down, each call from its beginning to its return."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from workcert.linear.history import NEVER, FitsNone, Made
from workcert.run.calling import Answered, Observed, Refusal, Unavailable

WIDTH: Final = 116
NARROWEST, WIDEST = 14, 36
OPEN, GOES_ON, CLOSED, WRONG = "┌", "│", "└", "✗"


def drawn(
    history: Sequence[Made], found: FitsNone, name_of: Callable[[int], str], short: Callable[[Observed], str]
) -> str:
    """The lanes, and under them in which order the calls fit as far as they do.

    Args:
        name_of: what to call a call, by its index.
        short: an answer in a few words.
    """
    callers = list(dict.fromkeys(made.caller for made in history))
    width = max(NARROWEST, min(WIDEST, WIDTH // max(len(callers), 1)))
    lines = ["".join(caller.ljust(width) for caller in callers).rstrip()]
    lines += _events(history, found, callers, width, name_of, short)
    order = ", ".join(name_of(index).split()[0] for index in found.placed)
    lines.append(f"An order that comes furthest: {order or 'none of them'}; then nothing fits.")
    return "\n".join(lines)


def _events(
    history: Sequence[Made],
    found: FitsNone,
    callers: Sequence[str],
    width: int,
    name_of: Callable[[int], str],
    short: Callable[[Observed], str],
) -> list[str]:
    begun = [(made.begin, 1, index) for index, made in enumerate(history)]
    ended = [(made.end, 0, index) for index, made in enumerate(history) if made.end < NEVER]
    running: dict[str, int] = {}
    lines = []
    # Of a beginning and a return at one moment the beginning is drawn first: they may have met.
    for _moment, begins, index in sorted((*begun, *ended), key=lambda event: (event[0], -event[1])):
        made = history[index]
        if begins:
            running[made.caller] = index
            text = f"{OPEN} {name_of(index)}"
        else:
            mark = WRONG if index == found.call else CLOSED
            text = f"{mark} {_outcome(made, short)}"
        lines.append(_row(callers, running, made.caller, text, width))
        if not begins:
            del running[made.caller]
    return lines


def _row(callers: Sequence[str], running: Mapping[str, int], acting: str, text: str, width: int) -> str:
    cells = (text if each == acting else GOES_ON if each in running else "" for each in callers)
    return "".join(_cut(cell, width).ljust(width) for cell in cells).rstrip()


def _outcome(made: Made, short: Callable[[Observed], str]) -> str:
    match made.seen:
        case None:
            return "(no answer)"
        case Answered() | Refusal() as seen:
            return short(seen)
        case Unavailable(definite=definite):
            return f"unavailable, {'nothing done' if definite else 'perhaps done'}"
    return "raised"


def _cut(text: str, width: int) -> str:
    return text if len(text) < width else f"{text[: width - 2]}…"
