"""Calls in a few words, for tables: what they are about, without the rest of their arguments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from workcert.search.path import Path
from workspec.core.scope import Call

MOST_NAMED: Final = 3
SUBJECTS: Final = ("job_id", "outcome", "queues", "queue", "name", "holder", "key", "fingerprint", "kind", "limit")
"""Arguments that say what a call is about, beside those that hold such in turn."""


def brief(call: Call) -> str:
    """The call with what it is about, as in ``ack(a success)``."""
    about = " ".join(_about(call))
    return f"{call.name}({about})" if about else call.name


def brief_path(path: Path) -> str:
    """The calls of a path with the time that passes between them, in the contract's unit."""
    told, now = [], path.steps[0].at
    for step in path.steps:
        told.append(f"+{step.at - now} {brief(step.call)}" if step.at > now else brief(step.call))
        now = max(now, step.at)
    return ", ".join(told)


def _about(call: Call) -> Iterator[str]:
    given = call.arguments
    if "request" in given:
        yield str(given["request"].idempotency_key).strip() or "blank"
    if "envelopes" in given:
        yield _named([envelope.id for envelope in given["envelopes"]])
    if "leases" in given:
        yield _named([lease.job_id for lease in given["leases"]])
    if "lease" in given:
        yield given["lease"].job_id
    for name in SUBJECTS:
        if name in given:
            yield _shown(given[name])


def _named(names: list[str]) -> str:
    return " ".join(name or "blank" for name in names) if len(names) <= MOST_NAMED else f"{len(names)} of them"


def _shown(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)
