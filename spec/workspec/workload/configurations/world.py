"""A closed world of workloads, as data that lists its own calls."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from enum import StrEnum
from typing import Any, Final

from attrs import evolve, field, frozen

from workspec.core.configuration import Law
from workspec.core.record import Record
from workspec.core.scope import Call
from workspec.workload.folding import fold
from workspec.workload.laws import LAWS
from workspec.workload.rules import workload_id_of
from workspec.workload.vocabulary import AdmissionRequest


class Fence(StrEnum):
    """Whose fence a call carries. A call whose fence does not exist yet is not made."""

    PRESENT = "present"
    EARLIER = "earlier"
    """Of the latest attempt that has ended."""
    STRANGER = "stranger"
    """The present claim's, with a worker who does not hold it."""
    INVENTED = "invented"
    """The present claim's, or the latest that has ended, with a token that was never given out."""
    LOWERED = "lowered"
    """The same with the token before its own."""
    BEYOND = "beyond"
    """The same with a token beyond 64 bits."""


@frozen(eq=False)
class Ask:
    """A call that may be made of each workload, or of the one admitted under the idempotency key ``of``.
    ``fence`` None: the call has none."""

    call: str
    arguments: Mapping[str, Any] = field(factory=dict)
    fence: Fence | None = None
    of: str | None = None


PASSES: Final = (Call("enforce_deadlines", {}), Call("recover_expired", {}))


@frozen(eq=False)
class Workloads:
    """A configuration.

    ``requests`` may each be made at any time, and again if ``repeated``; their ``created_at`` is then, and
    ``not_before`` so many seconds after it (a repeated request names the instant that it named first). ``general``
    calls depend on no workload. ``waits`` are the steps of time, in seconds; ``to_instants`` adds the instants at which
    a rule turns.
    """

    name: str
    text: str
    requests: tuple[AdmissionRequest, ...]
    asks: tuple[Ask, ...]
    repeated: bool = True
    general: tuple[Call, ...] = PASSES
    waits: tuple[int, ...] = (1,)
    to_instants: bool = False
    start: int = 0
    aside: bool = False
    renamings: tuple[Mapping[str, str], ...] = ()
    keys: tuple[str, ...] = field(init=False)

    @keys.default
    def _find_keys(self) -> tuple[str, ...]:
        return tuple(sorted({workload_id_of(request) for request in self.requests}))

    @property
    def laws(self) -> tuple[Law, ...]:
        return LAWS

    def calls(self, key: str | None, record: Record | None, now_s: int) -> Iterator[Call]:
        if key is None:
            yield from self.general
            return
        if record is None or self.repeated:
            for request in self.requests:
                if workload_id_of(request) == key:
                    yield Call("admit", {"request": _made_now(request, record, now_s)})
        if record is None:
            return
        for ask in self.asks:
            fence = _fence(ask.fence, record)
            if fence is not None and ask.of in (None, record.facts.terms.idempotency_key):
                yield Call(ask.call, {"workload_id": key, **fence, **ask.arguments})

    def holds_time(self, _record: Record, _now_s: int) -> bool:
        return False

    def fold(self, record: Record, now_s: int) -> Hashable:
        return fold(record, now_s)


def _made_now(request: AdmissionRequest, known: Record | None, now_s: int) -> AdmissionRequest:
    not_before = request.not_before
    if not_before is not None:
        not_before = now_s + not_before if known is None else known.facts.terms.not_before
    return evolve(request, created_at=now_s, not_before=not_before)


_TOKENS: Final[Mapping[Fence, int]] = {Fence.INVENTED: 1, Fence.LOWERED: -1, Fence.BEYOND: 2**63}


def _fence(whose: Fence | None, record: Record) -> dict[str, Any] | None:
    if whose is None:
        return {}
    ended = record.log.attempts[-1] if record.log.attempts else None
    claim = ended if whose is Fence.EARLIER else record.facts.claim
    if claim is None and whose in _TOKENS:
        claim = ended
    if claim is None:
        return None
    return {
        "claim_id": claim.claim_id,
        "worker_id": "stranger" if whose is Fence.STRANGER else claim.worker_id,
        "fencing_token": claim.fencing_token + _TOKENS.get(whose, 0),
    }
