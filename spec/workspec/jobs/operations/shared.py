"""What more than one operation of the jobs contract asks or does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from workspec.core.condition import Condition, Term
from workspec.core.rule import Move, Refuse, ids
from workspec.core.scope import Scope
from workspec.jobs import terms
from workspec.jobs.facts import job_key
from workspec.jobs.vocabulary import ErrorCode, State

NOBODY: Final = Term("nobody", "text", "constant", lambda _scope: "")
"""Rows carry no actor."""


def move(event: str, requirements: str) -> Move:
    return Move(event, NOBODY, ids(requirements))


def invalid(requirements: str, reason: str, when: Condition) -> Refuse:
    return Refuse(ids(requirements), ErrorCode.INVALID, when, details=lambda _scope: {"reason": reason})


def flag(name: str, source: str, read: Callable[[Scope], bool]) -> Condition:
    return Term(name, "flag", source, read).holds()


def nothing(_scope: Scope, *_rest: Any) -> None:
    return None


def of_lease(scope: Scope) -> str:
    return job_key(terms.lease_of(scope).job_id)


def of_job(scope: Scope) -> str:
    return job_key(scope.call["job_id"])


def element(scope: Scope) -> str:
    key: str = scope.element
    return key


BAD_LEASE: Final = invalid("JOB-GEN-04 JOB-PRT-02", "bad_lease", terms.no_time)


def _rejected(scope: Scope) -> Mapping[str, Any]:
    return {"job_id": terms.lease_of(scope).job_id}


IDENTITY: Final = (
    Refuse(ids("JOB-ACK-01"), ErrorCode.LEASE_REJECTED, terms.is_unknown, details=_rejected),
    Refuse(
        ids("JOB-ACK-01 JOB-ACK-02 JOB-ACK-04 JOB-RNW-05"),
        ErrorCode.LEASE_REJECTED,
        ~terms.holds_lease,
        details=_rejected,
    ),
)
NO_SUCH_JOB: Final = Refuse(
    ids("JOB-OPR-01"),
    ErrorCode.NOT_FOUND,
    terms.is_unknown,
    details=lambda scope: {"what": "job", "id": scope.call["job_id"]},
)


def wrong_state(requirements: str, *allowed: State) -> Refuse:
    return Refuse(
        ids(f"JOB-OPR-01 {requirements}"),
        ErrorCode.INVALID,
        ~terms.state_is(*allowed),
        details=lambda scope: {"reason": "wrong_state", "state": str(scope.facts.state)},
    )
