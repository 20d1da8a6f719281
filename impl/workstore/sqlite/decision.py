"""What a pure decision about one committed record can be.

A refusal that commits nothing is raised as `WorkloadError` by the function that decides. Everything else is
one of the three values here, so that the write stands in one place only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, TypeAlias, TypeVar

from attrs import frozen

from workspec.workload.vocabulary import ErrorCode, Json, Workload, WorkloadError

Answer = TypeVar("Answer")


@frozen
class Reply(Generic[Answer]):
    """An answer that commits nothing."""

    answer: Answer


@frozen
class Commit(Generic[Answer]):
    """A new record, and the answer that is true once it is committed."""

    record: Workload
    answer: Answer


@frozen
class CommitAndRefuse:
    """A new record, and the refusal that is true once it is committed (WRK-GEN-02)."""

    record: Workload
    error: WorkloadError


Decision: TypeAlias = Reply[Answer] | Commit[Answer] | CommitAndRefuse


def refusal(code: ErrorCode, message: str, details: Mapping[str, Json] | None = None) -> WorkloadError:
    """The contract's exception; the message names the likely cause and the next step."""
    return WorkloadError(code, details, message)


def invalid(message: str) -> WorkloadError:
    """A refusal of an argument (P-02)."""
    return refusal(ErrorCode.INVALID, message)


def not_found(workload_id: str) -> WorkloadError:
    """The refusal of an unknown id (WRK-GEN-07)."""
    return refusal(
        ErrorCode.NOT_FOUND,
        f"No workload {workload_id!r} is stored here. Use the id that admit returned, on the same file.",
    )


def conflict(workload_id: str) -> WorkloadError:
    """The refusal of a write whose record has moved on since it was read (WRK-MWR-05)."""
    return refusal(
        ErrorCode.CONFLICT,
        f"Another writer changed workload {workload_id!r} during this call; nothing was written. Read it "
        "with get and call again if the call still applies.",
    )


def wrong_state(record: Workload, intent: str) -> WorkloadError:
    """The refusal of an operation that this state does not allow (G-05)."""
    return refusal(
        ErrorCode.STATE_INVALID,
        f"Workload {record.workload_id!r} is {record.state}, in which one cannot {intent}. Read it with get.",
    )
