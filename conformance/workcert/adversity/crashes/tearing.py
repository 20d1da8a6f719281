"""Where a call may come apart: at the points at which no transaction is open and something may have been written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from workcert.watched.call import AFTER_COMMIT, verb_of

BEGIN: Final = frozenset({"BEGIN", "START"})
ROLLBACK: Final = "ROLLBACK"
READS: Final = "SELECT"


def seams(labels: Sequence[str]) -> tuple[int, ...]:
    """The points, counted from 1, at which all that was written so far is committed and more may come. A statement
    outside of a transaction that is begun by one may be a transaction of its own.

    Args:
        labels: of the points that a call passes, in their order.
    """
    found: list[int] = []
    is_open = has_written = False
    for point, label in enumerate(labels, start=1):
        is_open = is_open and label != AFTER_COMMIT
        if has_written and not is_open:
            found.append(point)
            has_written = False
        verb = verb_of(label)
        is_open = (is_open or verb in BEGIN) and verb != ROLLBACK
        has_written = has_written or not (verb in (*BEGIN, ROLLBACK, READS) or label == AFTER_COMMIT)
    is_answer_all = bool(found) and found[-1] == len(labels) and labels[-1] == AFTER_COMMIT
    return tuple(found[:-1] if is_answer_all else found)
