"""Envelopes in one line, and the envelopes that a store holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final, Protocol, TypeAlias, TypedDict, Unpack, runtime_checkable

from attrs import fields

from workspec.jobs.vocabulary import Envelope, Job, JobFilter, JobPage

_PAGE: Final = 200


class Members(TypedDict, total=False):
    """What `envelope` takes beside id, kind and payload: the other members of `Envelope`, none of them required."""

    schema_version: int
    queue: str
    partition_key: str
    rate_class: str
    weight: int
    fingerprint: str
    priority: int
    attempt: int
    crash_attempt: int
    max_attempts: int
    scheduled_at_ms: int
    timeout_ms: int
    deadline_ms: int
    unique_key: bytes | None
    unique_states: int
    unique_window_ms: int
    unique_replace: int
    unique_debounce_ms: int
    unique_exclude_kind: bool
    retention_ms: int
    periodic_schedule_id: str
    periodic_tick_ms: int
    headers: Mapping[str, str]
    tags: tuple[str, ...]
    pending: bool
    sticky_worker: str


_DEFAULTS: Final[Members] = {
    "schema_version": 0,
    "queue": "",
    "partition_key": "",
    "rate_class": "",
    "weight": 0,
    "fingerprint": "",
    "priority": 0,
    "attempt": 0,
    "crash_attempt": 0,
    "max_attempts": 0,
    "scheduled_at_ms": 0,
    "timeout_ms": 0,
    "deadline_ms": 0,
    "unique_key": None,
    "unique_states": 0,
    "unique_window_ms": 0,
    "unique_replace": 0,
    "unique_debounce_ms": 0,
    "unique_exclude_kind": False,
    "retention_ms": 0,
    "periodic_schedule_id": "",
    "periodic_tick_ms": 0,
    "tags": (),
    "pending": False,
    "sticky_worker": "",
}
_MEMBERS: Final = tuple(one.name for one in fields(Envelope) if one.name not in ("id", "kind", "payload"))


def envelope(id: str, kind: str, payload: bytes = b"", **members: Unpack[Members]) -> Envelope:  # noqa: A002
    """An envelope with the request defaults of the contract (section 3.1) for all that is not given.

    A row with ``retention_ms`` 0, the default, is removed when its job succeeds: give one to look at it afterwards.

    Raises:
        TypeError: a member that envelopes do not have.
    """
    unknown = [name for name in members if name not in _MEMBERS]
    if unknown:
        raise TypeError("; ".join(_unknown(name) for name in unknown))
    # Headers are made anew for each: an envelope does not copy what it is given.
    others: dict[str, Any] = {"headers": {}, **_DEFAULTS, **members}
    return Envelope(id=id, kind=kind, payload=payload, **others)


def _unknown(name: str) -> str:
    near = get_close_matches(name, _MEMBERS)
    hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(_MEMBERS)}"
    return f"an envelope has no member {name}: {hint}"


@runtime_checkable
class HasEnvelopes(Protocol):
    """A store for tests: it gives the envelopes of all rows present."""

    def envelopes(self) -> Sequence[Envelope]: ...


@runtime_checkable
class Listing(Protocol):
    """A live store: the two readers of INSPECT that a listing needs."""

    def get_job(self, *, job_id: str, include_payload: bool) -> Job | None: ...

    def list_jobs(self, *, where: JobFilter, cursor: str | None, limit: int) -> JobPage: ...


Jobs: TypeAlias = HasEnvelopes | Listing | Iterable[Envelope]
"""Where the helpers look for jobs: a store with ``envelopes()``, else one with the job listing of INSPECT, or the
envelopes themselves."""


def stored_envelopes(jobs: Jobs) -> list[Envelope]:
    """The envelopes of all rows present, by id (JOB-AST-03). From a listing the members ``unique_*`` and ``pending``,
    which belong to the request, come with their defaults, and a row that goes while it is listed is left out.

    Raises:
        TypeError: there is nothing to find jobs in.
    """
    if isinstance(jobs, HasEnvelopes):
        found = list(jobs.envelopes())
    elif isinstance(jobs, Listing):
        found = list(_listed(jobs))
    elif isinstance(jobs, Iterable) and not isinstance(jobs, str | bytes | Mapping):
        found = list(jobs)
    else:
        raise _nothing_to_look_at(jobs)
    for one in found:
        if not isinstance(one, Envelope):
            raise TypeError(f"these must be envelopes, and one is a {type(one).__name__}")
    return sorted(found, key=lambda stored: stored.id)


def _nothing_to_look_at(jobs: object) -> TypeError:
    return TypeError(
        f"a {type(jobs).__name__} has neither envelopes() nor list_jobs() and get_job(): "
        "give a store with one of them, or a list of its envelopes"
    )


def _listed(store: Listing) -> Iterator[Envelope]:
    everything = JobFilter(
        queue=None,
        state=None,
        kind=None,
        kind_prefix=None,
        partition_key=None,
        id=None,
        fingerprint=None,
        rate_class=None,
        priority=None,
        tags_all=(),
        tags_any=(),
    )
    cursor = None
    while True:
        page = store.list_jobs(where=everything, cursor=cursor, limit=_PAGE)
        for listed in page.jobs:
            job = store.get_job(job_id=listed.id, include_payload=True)
            if job is not None:
                yield _envelope_of(job)
        cursor = page.cursor
        if cursor is None:
            return


def _envelope_of(job: Job) -> Envelope:
    members: dict[str, Any] = {name: getattr(job, name) for name in _MEMBERS if hasattr(job, name)}
    members["headers"] = dict(job.headers or {})
    return envelope(job.id, job.kind, job.payload or b"", **members)
