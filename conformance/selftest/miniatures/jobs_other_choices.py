"""Right job stores that take what the contract leaves open otherwise than the reference does, or that show less. None
may be accused."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from enum import Enum
from typing import Any

import attrs
from attrs import define, evolve, field, frozen

from workcert import NOT_SHOWN
from workcert.backends.protocol import Place
from workcert.binding import bindings
from workcert.judge.sameness import LEAVES
from workspec.jobs import ports
from workspec.jobs.vocabulary import AdmissionUnit, JobCounts, JobError, JobPage
from workstore.backends import MemoryJobsBackend
from workstore.memory.jobs import admission, outcomes, sweeps, uniqueness

from .jobs_model import Edit


class Outside:
    """What it does not say itself, the right handle does."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


class Telling(Outside):
    """Answers pass through `shown`."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.inner, name)
        if not callable(found) or name in ("close", "reset", "begin"):
            return found
        return lambda **arguments: self.shown(found(**arguments))

    def shown(self, value: Any) -> Any:
        return value


@define(eq=False)
class Dressed:
    """The in-memory store behind other handles, with other claims."""

    outside: Callable[[Any], Any] = Outside
    choices: Mapping[str, Any] = field(factory=dict)
    codes: Mapping[str, str] = field(factory=dict)
    right: MemoryJobsBackend = field(factory=MemoryJobsBackend)
    profiles: frozenset[str] = field()
    abilities: frozenset[str] = field()
    configurable: frozenset[str] = field()
    contract: str = "jobs"

    @profiles.default
    def _profiles(self) -> frozenset[str]:
        return self.right.profiles

    @abilities.default
    def _abilities(self) -> frozenset[str]:
        return self.right.abilities

    @configurable.default
    def _configurable(self) -> frozenset[str]:
        return self.right.configurable

    def open(self, place: Place, config: Mapping[str, Any]) -> Any:
        return self.outside(self.right.open(place, config))


@frozen
class JobVariant:
    name: str
    make: Callable[[], Any]
    edits: tuple[Edit, ...] = ()

    @contextmanager
    def applied(self) -> Iterator[Any]:
        with ExitStack() as stack:
            for edit in self.edits:
                stack.enter_context(edit.made())
            yield self.make()


def declaring(identifier: str, value: str, *edits: Edit) -> JobVariant:
    return JobVariant(f"{identifier} is {value}", lambda: Dressed(choices={identifier: value}), edits)


class PlainTypes(Telling):
    """Lists for tuples, texts for enumerations."""

    def shown(self, value: Any) -> Any:
        if type(value) in LEAVES:
            return value
        if isinstance(value, Enum):
            return str(value.value)
        if isinstance(value, tuple | list):
            return [self.shown(item) for item in value]
        if attrs.has(type(value)):
            members = {f.name: self.shown(getattr(value, f.name)) for f in attrs.fields(type(value)) if f.init}
            return evolve(value, **members)
        return value


class OpaqueCursors(Outside):
    """The place where a page ended is a word that says nothing."""

    def list_jobs(self, *, where: Any, cursor: str | None, limit: int) -> JobPage:
        place = None if cursor is None else base64.b64decode(cursor).decode()
        page: JobPage = self.inner.list_jobs(where=where, cursor=place, limit=limit)
        return page if page.cursor is None else evolve(page, cursor=base64.b64encode(page.cursor.encode()).decode())


class HiddenLeases(Telling):
    """The end of a lease is not shown to operators."""

    def shown(self, value: Any) -> Any:
        if isinstance(value, JobPage):
            return evolve(value, jobs=tuple(self.shown(job) for job in value.jobs))
        return evolve(value, lease_expires_at_ms=NOT_SHOWN) if hasattr(value, "lease_expires_at_ms") else value


class ShortClaims(Telling):
    """Claims hold neither tags nor what belonged to the request."""

    def shown(self, value: Any) -> Any:
        if not isinstance(value, list) or not value or not isinstance(value[0], AdmissionUnit):
            return value
        hidden = dict.fromkeys(("tags", "pending", "unique_key", "unique_window_ms", "unique_states"), NOT_SHOWN)
        return [
            evolve(unit, claims=tuple(evolve(c, envelope=evolve(c.envelope, **hidden)) for c in unit.claims))
            for unit in value
        ]


class Core(Outside):
    """What the profile CORE asks for, and a clock."""

    names = frozenset(name for name in vars(ports.JobStore) if not name.startswith("_"))

    def __getattr__(self, name: str) -> Any:
        if name not in self.names | {"freeze_clock", "advance_clock", "unfreeze_clock", "close", "reset"}:
            raise AttributeError(name)
        return getattr(self.inner, name)


CODES = {
    "Duplicate": "E_DUP",
    "IdConflict": "E_ID",
    "LeaseRejected": "E_LEASE",
    "NotFound": "E_404",
    "Invalid": "E_BAD",
}


class Respelling(Outside):
    """Refusals pass through `respelled`."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.inner, name)
        if not callable(found) or name in ("close", "reset", "begin"):
            return found

        def spelled(**arguments: Any) -> Any:
            try:
                return found(**arguments)
            except JobError as refused:
                raise self.respelled(refused) from None

        return spelled

    def respelled(self, refused: JobError) -> JobError:
        return refused


class OtherCodes(Respelling):
    def respelled(self, refused: JobError) -> JobError:
        return JobError(CODES.get(refused.code, refused.code), refused.details)


class OwnReasons(Respelling):
    """What is wrong with a call is said in words of its own."""

    def respelled(self, refused: JobError) -> JobError:
        given = dict(refused.details or {})
        if "reason" in given:
            given["reason"] = own_reason(given["reason"])
        return JobError(refused.code, given)


def own_reason(reason: str) -> str:
    return f"E_{reason.upper()}"


class HiddenCounts(Telling):
    """How many rows there are is not shown, and what runs have written only in part."""

    def shown(self, value: Any) -> Any:
        if isinstance(value, JobCounts):
            return evolve(value, by_state=NOT_SHOWN)
        return value


LIMITS = {"crash_limit": 2, "retry_base_ms": 7, "retry_cap_ms": 90}


class OwnLimits(Dressed):
    """Opened in one way only: with limits of its own."""

    def open(self, place: Place, config: Mapping[str, Any]) -> Any:
        assert not config
        return super().open(place, LIMITS)


def own_limits() -> OwnLimits:
    named = {bindings()["jobs"].configured[option]: value for option, value in LIMITS.items()}
    return OwnLimits(choices=named, configurable=frozenset())


LARGEST_FIRST = Edit(
    admission._drawn_from,
    "    start = cursor % len(partitions)\n    return _draw(partitions[start:] + partitions[:start], room, passes)",
    "    whole = sorted(map(list, partitions), key=len, reverse=True)\n"
    "    return _draw([iter(rows) for rows in whole], room, passes)",
)
BY_ID = Edit(
    sweeps._until,
    "    for at_ms, job_id in instants:",
    "    for at_ms, job_id in sorted((each for each in instants if each[0] <= now_ms), key=lambda each: each[1]):",
)
ANEW_EACH_TIME = Edit(
    sweeps._until,
    "    for at_ms, job_id in instants:",
    "    for at_ms, job_id in sorted((each for each in instants if each[0] <= now_ms), key=lambda _: os.urandom(4)):",
)

JOB_VARIANTS = (
    JobVariant("lists for tuples, texts for enumerations", lambda: Dressed(PlainTypes)),
    JobVariant("opaque cursors", lambda: Dressed(OpaqueCursors)),
    JobVariant("ends of leases not shown", lambda: Dressed(HiddenLeases)),
    JobVariant("claims without the request", lambda: Dressed(ShortClaims)),
    JobVariant(
        "the profile CORE alone",
        lambda: Dressed(Core, profiles=frozenset({"CORE"}), abilities=frozenset({"reset"}), configurable=frozenset()),
    ),
    JobVariant("codes of its own", lambda: Dressed(OtherCodes, codes={own: code for code, own in CODES.items()})),
    JobVariant("reasons of its own", lambda: Dressed(OwnReasons)),
    JobVariant(
        "reasons that its adapter maps",
        lambda: Dressed(OwnReasons, codes={own_reason(each): each for each in bindings()["jobs"].reasons}),
    ),
    JobVariant("counts not shown", lambda: Dressed(HiddenCounts)),
    JobVariant("limits of its own that no case can change", own_limits),
    declaring("A-07.jitter", "base", Edit(outcomes.Backoff.after, "self.cap_ms)", "self.cap_ms) + self.base_ms // 2")),
    JobVariant("sweeps go by id", MemoryJobsBackend, (BY_ID,)),
    JobVariant("sweeps go in another order each time", MemoryJobsBackend, (ANEW_EACH_TIME,)),
    declaring("A-18.draw", "own", LARGEST_FIRST),
    declaring("A-01.lease-bound", "after", Edit(sweeps.reclaim_expired, "now_ms, limit)", "now_ms - 1, limit)")),
    declaring(
        "A-02.duty-bound",
        "after",
        Edit(sweeps.claim_duty, "duty.expires_at_ms > now_ms", "duty.expires_at_ms >= now_ms"),
    ),
    declaring(
        "A-13.throttle-dies-with-row",
        "yes",
        Edit(
            uniqueness.holding,
            "    if hold is None or",
            "    row = None if hold is None else view.jobs.get(hold.job_id)\n"
            "    if hold is None or row is None or row.number != hold.number or",
        ),
    ),
    declaring(
        "A-11.edited-pending",
        "yes",
        Edit(
            uniqueness.resolve_conflict,
            "holder.state not in EDITABLE",
            "holder.state not in EDITABLE | {State.PENDING}",
        ),
        Edit(
            uniqueness.edited_holder,
            "        state = State.SCHEDULED\n",
            "        state = State.PENDING if state == State.PENDING else State.SCHEDULED\n",
        ),
    ),
)
