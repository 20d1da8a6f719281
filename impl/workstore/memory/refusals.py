"""How a refusal is made, and how a decision says what is to be committed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, TypeAlias, TypeVar

from attrs import frozen

from workspec.workload.vocabulary import ErrorCode, Json, Workload, WorkloadError

Answer = TypeVar("Answer")


def refusal(code: ErrorCode, message: str, details: Mapping[str, Json] | None = None) -> WorkloadError:
    """A refusal that the caller is to raise. The code stands first in its text, for logs."""
    return WorkloadError(code, details, f"{code.value}: {message}")


@frozen
class Accept(Generic[Answer]):
    """The call succeeds with this answer. ``commit`` is the edited record, or None when nothing changes."""

    answer: Answer
    commit: Workload | None = None


@frozen
class CommitThenRefuse:
    """The record is edited *and* the call is refused: a due expiry and exhausted work alone (WRK-GEN-02).

    A refusal that changes nothing is raised by the decision at once.
    """

    commit: Workload
    error: WorkloadError


Decision: TypeAlias = Accept[Answer] | CommitThenRefuse
