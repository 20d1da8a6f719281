"""A closed world of jobs, as data that lists its own calls."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from enum import StrEnum
from typing import Any, Final

from attrs import evolve, field, frozen

from workspec.core.configuration import Law
from workspec.core.record import Record
from workspec.core.scope import Call
from workspec.jobs.facts import STORE_KEY, JobFacts, job_key
from workspec.jobs.folding import Fineness, fold
from workspec.jobs.laws import LAWS
from workspec.jobs.vocabulary import Envelope, LeaseRef


class Lease(StrEnum):
    """Under whose lease a call is made."""

    PRESENT = "present"
    """Of the row as it runs, or as it ran last."""
    EARLIER = "earlier"
    """The fence before the row's."""
    INVENTED = "invented"
    """The fence after the row's, which nobody was given."""
    LESSER = "lesser"
    GREATER = "greater"
    """The row's fence under another lease id, before the row's or after it in order."""


LESSER_ID: Final = "a-lease"
GREATER_ID: Final = "z-lease"


@frozen(eq=False)
class Ask:
    """A call that may be made of each row, or of the one with the id ``of``. ``lease`` None: the call has none.
    An ``at_ms`` among the arguments is counted from the instant of the call."""

    call: str
    arguments: Mapping[str, Any] = field(factory=dict)
    lease: Lease | None = None
    of: str | None = None


_COARSE: Final = Fineness()


@frozen(eq=False)
class Jobs:
    """A configuration.

    ``batches`` may each be enqueued at any time, or as long as the store has had fewer than ``most_rows`` rows; where
    an envelope says when it is due, that is so many milliseconds after the instant of the call. ``ids`` are those of
    the rows, ``others`` the keys of further records. ``general`` calls depend on no row. ``patience_ms``: how long an
    instant of a row may lie behind before time stands still; None: time passes all the same. ``waits`` are the steps of
    time, in milliseconds.
    """

    name: str
    text: str
    ids: tuple[str, ...]
    batches: tuple[tuple[Envelope, ...], ...] = ()
    asks: tuple[Ask, ...] = ()
    general: tuple[Call, ...] = ()
    others: tuple[str, ...] = ()
    fineness: Fineness = _COARSE
    most_rows: int | None = None
    patience_ms: int | None = None
    waits: tuple[int, ...] = ()
    to_instants: bool = False
    start: int = 10_000
    aside: bool = False
    renamings: tuple[Mapping[str, str], ...] = ()
    keys: tuple[str, ...] = field(init=False)

    @keys.default
    def _find_keys(self) -> tuple[str, ...]:
        return (*map(job_key, self.ids), STORE_KEY, *self.others)

    @property
    def laws(self) -> tuple[Law, ...]:
        return LAWS

    def calls(self, key: str | None, record: Record | None, now_ms: int) -> Iterator[Call]:
        if key is None:
            yield from self.general
        elif key == STORE_KEY:
            rows = 0 if record is None else record.facts.rows
            if self.most_rows is None or rows < self.most_rows:
                for batch in self.batches:
                    yield Call("enqueue", {"envelopes": tuple(_made_now(envelope, now_ms) for envelope in batch)})
        elif record is not None and isinstance(record.facts, JobFacts):
            for ask in self.asks:
                if ask.of in (None, record.facts.id):
                    yield Call(ask.call, _arguments(ask, record.facts, now_ms))

    def holds_time(self, record: Record, now_ms: int) -> bool:
        facts = record.facts
        if self.patience_ms is None or not isinstance(facts, JobFacts) or facts.finalized_at_ms is not None:
            return False
        return min(facts.scheduled_at_ms, facts.expires_at_ms or now_ms) < now_ms - self.patience_ms

    def fold(self, record: Record, now_ms: int) -> Hashable:
        return fold(record, now_ms, self.fineness)


def _made_now(envelope: Envelope, now_ms: int) -> Envelope:
    due_ms = envelope.scheduled_at_ms
    return evolve(envelope, scheduled_at_ms=now_ms + due_ms) if due_ms else envelope


def _arguments(ask: Ask, facts: JobFacts, now_ms: int) -> dict[str, Any]:
    arguments = dict(ask.arguments)
    if "at_ms" in arguments:
        arguments["at_ms"] += now_ms
    if ask.lease is None:
        return {"job_id": facts.id, **arguments}
    lease = _lease(ask.lease, facts)
    return {"leases": (lease,), **arguments} if ask.call == "renew" else {"lease": lease, **arguments}


def _lease(whose: Lease, facts: JobFacts) -> LeaseRef:
    lease_id = {Lease.LESSER: LESSER_ID, Lease.GREATER: GREATER_ID}.get(whose, facts.lease_id or "lease")
    moved = {Lease.EARLIER: -1, Lease.INVENTED: 1}.get(whose, 0)
    return LeaseRef(facts.id, lease_id, facts.fence + moved)
