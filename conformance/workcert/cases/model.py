"""What a case is: a header and steps, frozen values without behaviour of their own.

``Value`` is a plain value (see `workcert.codec`), with references where a step depends on earlier answers;
``Matcher`` a plain value with the nodes of `workcert.cases.matcher`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Any, Final, Literal, TypeAlias

import attrs
from attrs import field, frozen

from workcert.references import references, renamed

FORMAT: Final = 1
"""The version of the case format that this kit reads and writes."""

UNCHANGED: Final = "unchanged"
"""As ``record`` of a step: neither the record nor its row version moved."""

KILLED: Final = "killed"
DISKS: Final = ("full", "write_error", "sync_error", KILLED)
"""How a disk fails: it is full from a write on; a write fails; waiting until something is written fails; its process is
killed at a write, which is not made."""
DAMAGES: Final = ("removed", "cut", "zeroed", "overwritten")
OPENING: Final = "open"
"""As the step of a crash: opening the store."""

_BEFALLEN: Final = {
    "full": "the disk is full from write {} on",
    "write_error": "the disk fails at write {}",
    "sync_error": "the disk fails when write {} is waited for",
    KILLED: "killed in the midst of its writes, at write {}",
}

Value: TypeAlias = Any
Matcher: TypeAlias = Any


@frozen
class Header:
    """The first line. ``profiles`` are needed beside CORE, ``abilities`` of the backend, by name."""

    contract: str
    name: str
    title: str
    requirements: tuple[str, ...] = ()
    profiles: tuple[str, ...] = ()
    abilities: tuple[str, ...] = ()
    config: Mapping[str, Value] = field(factory=dict)
    handles: tuple[str, ...] = ("A",)
    digest: str | None = None


@frozen
class Ok:
    """The call answers, with something that matches."""

    answer: Matcher


@frozen
class Refusal:
    """The call is refused. ``code`` is a text or a matcher of texts; ``details`` None asks for nothing."""

    code: Matcher
    details: Matcher | None = None


Expectation: TypeAlias = Ok | Refusal


@frozen
class Call:
    """One method call on one handle. Without ``expect`` the model alone judges."""

    id: str
    on: str
    call: str
    args: Mapping[str, Value]
    at: int | None = None
    expect: Expectation | None = None
    record: Matcher | None = None
    """A matcher for the addressed record after the call, or `UNCHANGED`."""
    of: Value | None = None
    """The id of the record that ``record`` and ``version`` are about, where it is not the addressed one."""
    version: Literal["same", "moved"] | None = None
    note: str | None = None


@frozen
class Restart:
    """Every handle is closed, then opened again on the same place."""

    id: str
    note: str | None = None


@frozen
class Inject:
    """A record put there as it is; version None leaves its row without one."""

    id: str
    on: str
    record: Value
    version: int | None
    note: str | None = None


@frozen
class Together:
    """Calls at once; those on one handle are made one after the other, in the order of writing. Every round runs the
    whole case on a fresh store. ``shared``: all on one handle and at once, which may refuse a call that meets another
    one. ``apart``: each handle is in a process of its own."""

    id: str
    calls: tuple[Call, ...]
    rounds: int = 1
    expect_one_of: tuple[tuple[Expectation, ...], ...] | None = None
    note: str | None = None
    shared: bool = False
    apart: bool = False


@frozen
class Reopen:
    """One handle is closed, if it is open, and opened anew on the same place, while another is held in a call."""

    id: str
    on: str
    note: str | None = None


@frozen
class Frozen:
    """The steps of ``during`` are made while ``frozen`` is held: at its point with the number ``point``, from 1; or,
    where that is None, after it has read and decided, and before it commits."""

    id: str
    frozen: Call
    during: tuple[Call | Reopen, ...]
    note: str | None = None
    point: int | None = None


@frozen
class Transaction:
    """Calls inside one transaction, at one instant, then its end. ``after``: calls made with it when it has ended."""

    id: str
    on: str
    at: int
    calls: tuple[Call, ...]
    end: Literal["commit", "rollback"]
    after: tuple[Call, ...] = ()
    note: str | None = None


@frozen
class Crash:
    """``step`` is made in a process of its own, which is killed at its ``point``-th pause point, counted from 1; beyond
    the last, as soon as it has answered. None: opening the store. All handles are closed before, and opened again
    afterwards: the state is the one before the step or the one after it.

    ``disk``: one of `DISKS`. The process is then not killed at a point: its ``point``-th write to a file of the store
    fails so, and it is killed after its answer; or it is killed at that write."""

    id: str
    step: Call | Transaction | None
    point: int
    disk: str | None = None
    note: str | None = None

    @property
    def befalls(self) -> str:
        """What befalls the process, in words."""
        return "killed" if self.disk is None else _BEFALLEN[self.disk].format(self.point)


@frozen
class Damage:
    """All that has the store open is gone at once; then one of its files is found damaged, and it is opened again. The
    last step of a case.

    ``file``: its name in the place of the store. ``how``: one of `DAMAGES`; ``at`` and ``length`` in bytes: it is cut
    to ``at``, or so many of its bytes from there on are others.
    """

    id: str
    file: str
    how: str
    at: int = 0
    length: int = 0
    note: str | None = None


class Way(StrEnum):
    """How a handle is used that was opened for another use."""

    OTHER_THREAD = "other_thread"
    """By a thread that has not opened it."""
    FORKED = "forked"
    """By a process that was forked when it was open."""
    CLOSED = "closed"
    CLOSED_TWICE = "closed_twice"
    CLOSED_MEANWHILE = "closed_meanwhile"
    """Closed by another thread while it is held in the call, after it has read and before it commits."""
    RESTARTED_MEANWHILE = "restarted_meanwhile"
    """All others on the store are closed and opened again while it is held so."""
    LEFT_OPEN = "left_open"
    """A transaction: nobody ends it before its process ends."""


@frozen
class Misuse:
    """The step is made in this way: right, or refused clearly and without a trace. A closed handle is opened again at
    its next use."""

    id: str
    step: Call | Transaction
    way: Way
    note: str | None = None


@frozen
class Repeat:
    """``steps``, ``times`` times over; `unrolled` gives them one by one."""

    id: str
    times: int
    steps: tuple[Call | Restart | Inject | Together | Frozen | Transaction | Crash | Damage | Misuse, ...]
    note: str | None = None


NEEDED_BY: Final[Mapping[Way, set[str]]] = {
    Way.FORKED: {"kill"},
    Way.LEFT_OPEN: {"kill"},
    Way.CLOSED: {"second_handle"},
    Way.CLOSED_TWICE: {"second_handle"},
    Way.CLOSED_MEANWHILE: {"second_handle"},
    Way.RESTARTED_MEANWHILE: {"second_handle"},
}
"""The abilities without which a handle cannot be used in this way."""
HOLDING: Final = frozenset({Way.CLOSED_MEANWHILE, Way.RESTARTED_MEANWHILE})
"""These hold a call, by the ability ``pause``, or ``points`` where that is not there."""

Plain: TypeAlias = Call | Restart | Reopen | Inject | Together | Frozen | Transaction | Crash | Damage | Misuse
Step: TypeAlias = Plain | Repeat


@frozen
class Case:
    header: Header
    steps: tuple[Step, ...]


def within(step: Step) -> tuple[Plain, ...]:
    """The steps inside a step, outermost only; none for a simple one."""
    match step:
        case Together(calls=calls):
            return calls
        case Frozen(frozen=held, during=during):
            return (held, *during)
        case Transaction(calls=calls, after=after):
            return (*calls, *after)
        case Crash(step=killed):
            return () if killed is None else (killed,)
        case Misuse(step=made):
            return (made,)
        case Repeat(steps=steps):
            return steps
    return ()


def every_step(steps: tuple[Step, ...]) -> Iterator[Step]:
    """All steps, those inside others after the one that holds them."""
    for step in steps:
        yield step
        yield from every_step(within(step))


def runs_back(steps: Iterable[Plain]) -> bool:
    """In the order in which these are made an instant is earlier than one before it; or some of the calls are made
    while the clock of the store runs, and others while it stands."""
    instants = [step.at for step in steps if isinstance(step, Call)]
    known = [at for at in instants if at is not None]
    return len(known) not in (0, len(instants)) or known != sorted(known)


def calls_of(case: Case) -> Iterator[Call]:
    """All calls of a case, in the order of writing; those of a repeat once."""
    return (step for step in every_step(case.steps) if isinstance(step, Call))


def unrolled(steps: tuple[Step, ...]) -> Iterator[Plain]:
    """The steps with each `Repeat` replaced by its iterations.

    Ids are written ``id#n`` from 1; references inside the body to a step of the body mean the same iteration.
    """
    for step in steps:
        if not isinstance(step, Repeat):
            yield step
            continue
        inside = [inner.id for inner in every_step(step.steps)]
        for n in range(1, step.times + 1):
            names = {name: f"{name}#{n}" for name in inside}
            yield from (_named(inner, names) for inner in step.steps)


def required_abilities(case: Case) -> frozenset[str]:
    """The abilities without which the steps of a case cannot be run, by name."""
    needed: set[str] = {"second_handle"} if len(case.header.handles) > 1 else set()
    for step in every_step(case.steps):
        match step:
            case Restart():
                needed.add("restart")
            case Inject():
                needed.add("inject")
            case Frozen(point=point):
                needed.add("pause" if point is None else "points")
            case Crash() | Damage():
                needed |= {"kill", "restart"}
            case Together(apart=True):
                needed.add("kill")
            case Misuse(way=way):
                needed |= NEEDED_BY.get(way, set())
    return frozenset(needed)


def _named(step: Any, names: Mapping[str, str]) -> Any:
    step = renamed(step, names) if any(references(step)) else step
    changes: dict[str, Any] = {"id": names[step.id]}
    match step:
        case Together(calls=calls):
            changes["calls"] = tuple(_named(call, names) for call in calls)
        case Frozen(frozen=held, during=during):
            changes["frozen"] = _named(held, names)
            changes["during"] = tuple(_named(call, names) for call in during)
        case Transaction(calls=calls, after=after):
            changes["calls"] = tuple(_named(call, names) for call in calls)
            changes["after"] = tuple(_named(call, names) for call in after)
        case Crash(step=made) | Misuse(step=made) if made is not None:
            changes["step"] = _named(made, names)
    return attrs.evolve(step, **changes)
