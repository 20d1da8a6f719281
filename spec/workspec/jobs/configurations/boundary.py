"""What an enqueue is refused for before anything is written: its values, and the bound of a queue."""

from __future__ import annotations

from typing import Any, Final

from attrs import evolve

from workspec.core.scope import Call
from workspec.jobs import values
from workspec.jobs.configurations.asking import ack, admit, each_alone, envelope
from workspec.jobs.configurations.world import Ask, Jobs
from workspec.jobs.facts import queue_key
from workspec.jobs.vocabulary import Envelope

_PLAIN: Final = envelope("a")


def _with(**members: Any) -> Envelope:
    return evolve(_PLAIN, **members)


def _text(bytes_: int) -> str:
    return "x" * bytes_


def _tags(count: int) -> tuple[str, ...]:
    return tuple(f"t{number}" for number in range(count))


def _large_batch(**members: Any) -> tuple[Envelope, ...]:
    """Just more bytes than a batch may hold, each envelope as large as it may be."""
    payload = bytes(values.MAX_PAYLOAD_BYTES)
    count = values.MAX_BATCH_BYTES // values.MAX_PAYLOAD_BYTES
    return (*(envelope(f"a{number}", payload=payload) for number in range(count - 1)), envelope("last", **members))


_FAULTY: Final = (
    _with(id=""),
    _with(kind="not a kind"),
    _with(partition_key=_text(values.MAX_IDENTIFIER_BYTES + 1)),
    _with(payload=bytes(values.MAX_PAYLOAD_BYTES + 1)),
    _with(unique_key=bytes(values.MAX_KEY_BYTES + 1)),
    _with(headers={str(number): "" for number in range(values.MAX_HEADERS + 1)}),
    _with(headers={"h": _text(values.MAX_HEADER_BYTES)}),
    _with(timeout_ms=-1),
    _with(deadline_ms=-1),
    _with(retention_ms=-1),
    _with(unique_window_ms=-1),
    _with(unique_debounce_ms=-1),
    _with(unique_debounce_ms=1),
    _with(unique_key=b"k", unique_replace=16),
    _with(unique_replace=1),
    _with(tags=_tags(values.MAX_TAGS + 1)),
    _with(tags=("",)),
    _with(tags=("t", "t")),
    _with(pending=True, scheduled_at_ms=1),
    _with(sticky_worker=_text(values.MAX_STICKY_BYTES + 1)),
    _with(periodic_tick_ms=1),
)
"""One for each line of the validation order that one envelope can break."""
_FULLEST: Final = _with(
    kind=_text(128),
    payload=bytes(values.MAX_PAYLOAD_BYTES),
    unique_key=bytes(values.MAX_KEY_BYTES),
    headers={f"{number:04}": _text(values.MAX_HEADER_BYTES // values.MAX_HEADERS - 4) for number in range(128)},
    tags=tuple(f"{number:064}" for number in range(values.MAX_TAGS)),
    sticky_worker=_text(values.MAX_STICKY_BYTES),
)
VALIDATION: Final = Jobs(
    "validation",
    "two rows without time: envelopes that break each line of the validation order, at its limits and beyond them",
    ids=("a", "b"),
    batches=(
        (),
        *each_alone(*_FAULTY, _PLAIN, _FULLEST, _with(kind="other")),
        tuple(envelope(f"a{number}") for number in range(values.MAX_BATCH + 1)),
        _large_batch(payload=bytes(values.MAX_PAYLOAD_BYTES)),
        _large_batch(
            payload=bytes(values.MAX_PAYLOAD_BYTES - 1000),
            tags=tuple(f"{number:064}" for number in range(values.MAX_TAGS)),
        ),
        (_PLAIN, _PLAIN),
        (_PLAIN, envelope("b", unique_key=b"k", unique_replace=1)),
        (_PLAIN, envelope("b")),
        (envelope("b", unique_key=b"k"), _with(unique_key=b"k")),
    ),
    asks=(Ask("delete_job"),),
    general=(Call("enqueue_without_uniqueness", {"envelopes": (_with(unique_key=b"k"),)}),),
)
PRESSURE: Final = Jobs(
    "pressure",
    "two rows in a queue whose unfinished rows are bounded, by every kind of bound",
    ids=("a", "b"),
    batches=(*each_alone(_PLAIN, envelope("b")), (_PLAIN, envelope("b"))),
    asks=(ack("success"), Ask("operator_cancel"), Ask("operator_retry"), Ask("explain_admission")),
    general=(
        *(Call("set_enqueue_limit", {"queue": "q", "limit": limit}) for limit in (None, 0, 1, 2, -1, 2**63 - 1, 2**63)),
        *(Call(name, {"queue": "q"}) for name in ("pause_queue", "unpause_queue")),
        admit("q"),
    ),
    others=(queue_key("q"),),
)
