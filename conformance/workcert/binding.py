"""What the kit knows of each contract beside its rules: signatures, error types, how a record is read.

The one place to extend when a contract joins; everything else in the kit is written against a `Binding`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cache
from typing import Any, Final

from attrs import field, frozen

from workcert.cases.contracts import Contract as CallTable
from workcert.cases.contracts import Signature
from workspec.core.contract import Contract
from workspec.core.record import Record
from workspec.core.scope import Call, Scope


def _nothing(_asked: Any) -> str:
    return ""


def _always(_key: str) -> bool:
    return True


def _everything(_call: Call, _answer: Any) -> None:
    """Any record."""


def _as_it_is(record: Any, _moment: Hashable) -> Any:
    return record


def _no_moment(_scope: Scope) -> Hashable:
    return None


def _none_made(_answer: Any) -> tuple[str, ...]:
    return ()


BUSY_TIMEOUT_MS: Final = "busy_timeout_ms"
"""How long a call waits for a lock that another holds; with 0 it says at once that it was held up."""
WISHES: Final = frozenset({BUSY_TIMEOUT_MS})
"""What a case may ask of a store beside what its contract leaves open: no answer is right or wrong for it, and where a
backend cannot be asked for it the case runs all the same."""


@frozen
class Found:
    """A row as a store shows it: its version (None where it has none) and its record."""

    version: int | None
    record: Any


@frozen(eq=False)
class Binding:
    """``present`` turns a record of the model into what a read shows; ``profile_abilities`` says what a profile needs
    of the backend, ``tier_of`` the tier of a set of passed profiles."""

    contract: Contract
    calls: CallTable
    error: type[Any]
    unavailable: type[Any]
    record: type[Any]
    """The carrier that a read shows."""
    present: Callable[[Record], Any]
    read: Callable[[Any, str], Found | None]
    """From a handle and a key. Whatever else it gives is a finding."""
    reads: frozenset[str]
    """The calls that change nothing."""
    profile_abilities: Mapping[str, tuple[str, ...]]
    profile_methods: Mapping[str, tuple[str, ...]]
    tier_of: Callable[[frozenset[str]], str | None]
    key_of: Callable[[Any], str]
    key_of_id: Callable[[str], str]
    fence: tuple[str, ...]
    """The arguments that together show which claim a call is made under."""
    ordinary: Mapping[str, Mapping[str, Any]]
    """By the name of a large argument, what it, or each of its elements, holds in an ordinary call."""
    omitted: Mapping[str, Mapping[str, Any]]
    """By the name of a large argument, the members that a case may leave out, with the values that mean *omitted*."""
    comparable: Callable[[Any], Any]
    """An answer without what is not asserted of it."""
    taken: Callable[[Any], Sequence[str]] | None = None
    """From the answer of a draw to the keys of what it took, in order; empty where it does not tell."""
    unordered: frozenset[str] = frozenset()
    """The calls that answer with a list in any order."""
    may_be_stale: Callable[[Call], bool] = lambda _call: False
    """A read that may show an earlier state (P-06)."""
    unversioned: tuple[str, ...] = ()
    """What the first update of a row without a version breaks when it does not do what any other update does."""
    injectable: Callable[[Any], str] = _nothing
    """Why no version can have left this record behind; empty when one can."""
    impossible: Callable[[Call], str] = _nothing
    """Why a call brings a record that no version can have left behind; empty when it does not."""
    versioned: bool = True
    """Rows have a version that moves exactly when the record does."""
    legible: Callable[[str], bool] = _always
    """A record with this key can be read back one by one."""
    reading: tuple[str, ...] = ()
    """The methods that reading back needs; a store without them is judged by its answers alone."""
    glance: Callable[[Any, str], Any] | None = None
    """What the contract's own `present` gives, read from a handle by its key, None if there is none; for rows that a
    call is not about."""
    glanced: type[Any] = object
    """The carrier that a glance gives."""
    total: Callable[[Any], int | None] | None = None
    """How many records the store holds, None where the handle cannot tell."""
    listed: Callable[[Any], int | None] | None = None
    """How many records the store lists, which need not be what it counts; None where the handle lists none."""
    referred: Mapping[str, tuple[str, ...]] = field(factory=dict)
    """By call, the members of its answer by which later calls name what it made."""
    clock_after: Callable[[Call, int | None], int | None] | None = None
    """For a store with a clock of its own, which the kit stops and puts where a step says: where it stands after a
    call, from where it stood. None where nobody has stopped it."""
    share: float = 1.0
    """Of the examples of an effort, how many its machine makes: fewer where one takes more steps."""
    configured: Mapping[str, str] = field(factory=dict)
    """What a store may be asked for when it is opened, and the choice that this declares."""
    ended_transaction: tuple[str, Mapping[str, Any]] = ("", {})
    """The refusal of a call inside a transaction that has ended: code and details."""

    killed: tuple[str, ...] = ()
    """What is broken when a process that is killed leaves something between the two states of a call."""
    durable: tuple[str, ...] = ()
    """What is broken when something that was answered is lost, or when a setting that keeps it is not in force."""
    damaged: tuple[str, ...] = ()
    """What is broken when a store shows what it never held, because its files are damaged, and says nothing of it."""
    answered_only: Callable[[Call, Mapping[str, Any]], str] = lambda _call, _declared: ""
    """Why nothing but its answer shows what a call did, where that is so under what a store declares."""
    creating: Callable[[str, Any], Any] | None = None
    """From the name of a call and a record that it has made, its answer, None for a call that makes none; for one whose
    answer nobody heard."""
    kept: tuple[type[Any], ...] = ()
    """The kinds of facts that its store keeps; the first is that of the records which a read shows."""
    asked_by: Callable[[Call], frozenset[str]] = lambda _call: frozenset()
    """The profiles that the arguments of a call ask for, where its method alone does not tell."""
    reasons: frozenset[str] = frozenset()
    """What the ``reason`` of a refusal may be. One that is none of these is a store's own and is not compared."""

    touched: Callable[[Call, Any], frozenset[str] | None] = _everything
    """Names of all that a call with this answer reads or writes; calls whose names are not linked, by other calls or by
    `linked`, know nothing of each other. None where it may be anything. The answer is None where there was none."""
    linked: Callable[[Record], frozenset[str]] = lambda _record: frozenset()
    """The names that hang together because of a record."""
    creates: frozenset[str] = frozenset()
    """The calls that make a record under an id that the store chooses."""
    made_by: Callable[[Any], Sequence[str]] = _none_made
    """From an answer to the keys of the records that the call has made."""
    moment: Callable[[Scope], Hashable] = _no_moment
    """What of a decision tells how long a record had grown by then."""
    as_it_was: Callable[[Any, Hashable], Any] = _as_it_is
    """Of a record that was read when further calls had changed it, what it showed at a moment, as far as it only ever
    grows."""

    @property
    def has_clock(self) -> bool:
        return self.clock_after is not None

    @property
    def name(self) -> str:
        return self.contract.name

    def signature(self, call: str) -> Signature:
        return self.calls.calls[call]


@cache
def bindings() -> Mapping[str, Binding]:
    """Every contract by name."""
    from workcert.bound.jobs import jobs
    from workcert.bound.workload import workload

    return {binding.name: binding for binding in (workload(), jobs())}
