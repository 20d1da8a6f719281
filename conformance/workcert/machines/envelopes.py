"""Values that the jobs machine draws: envelopes and near misses of them, and what runs write.

An envelope is put together from parts, each of which holds the few members that belong together; members that are
omitted stay out. ``due_in_ms`` stands for an instant and is counted from the call (`dated`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from workcert.machines.sources import Made, Source, each, one_of
from workcert.references import Copies, RepeatBytes, RepeatText

Json = Any

IDS: Final = ("d", "a", "c", "B", "e", "b", "\uff5e", "\U0001f600")
"""In no order. Bytes, code points of 16 bits and dictionaries each put the last two and the capital elsewhere."""
WORKERS: Final = ("a", "b", "")
LEASE_IDS: Final = ("l1", "l2", "l1")
CLASSES: Final = ("c", "d")
QUEUES: Final = ("q", "p")
FINGERPRINTS: Final = ("f1", "f2", "")
KEYS: Final = (b"k", b"l")

DUE_IN: Final = "due_in_ms"
"""Within parts: how long after the call ``scheduled_at_ms`` is."""

PLACES: Final[tuple[Json, ...]] = (
    {"queue": "q"},
    {"queue": "q", "partition_key": "a"},
    {"queue": "q", "partition_key": "B"},
    {"queue": "q", "partition_key": "B"},
    {"queue": "p"},
    {"queue": "p", "partition_key": "a"},
    {},
)
CONTENTS: Final[tuple[Json, ...]] = tuple(
    {"kind": kind, "fingerprint": fingerprint}
    for kind, fingerprint in (("w", "f1"), ("w", "f1"), ("w", "f2"), ("w", ""), ("w", "f3"), ("v", "f2"))
)
MARKED: Final[tuple[Json, ...]] = (
    {},
    {},
    {},
    {"unique_key": b"k"},
    {"unique_key": b"k", "unique_exclude_kind": True},
    {"unique_key": b"l"},
    {"unique_key": b"k", "unique_window_ms": 1000},
    {"unique_key": b"l", "unique_window_ms": 2500},
    {"unique_key": b"l", "unique_window_ms": 2500, "unique_exclude_kind": True},
)
ALONE: Final[tuple[Json, ...]] = (
    {"unique_key": b"k", "unique_debounce_ms": 500},
    {"unique_key": b"l", "unique_debounce_ms": 1000, "tags": ["t"]},
    {"unique_key": b"k", "unique_replace": 15},
    {"unique_key": b"k", "unique_window_ms": 1000, "unique_replace": 5},
    {"unique_key": b"", "unique_window_ms": 1000},
    {"unique_key": b""},
)
"""Those that stand alone in their batch, and the empty key."""
BUDGETS: Final[tuple[Json, ...]] = (
    {"retention_ms": 2000},
    {"retention_ms": 1000, "max_attempts": 1},
    {"max_attempts": 2},
    {"retention_ms": 2000, "max_attempts": 2},
    {},
    {"retention_ms": 5000},
)
RATES: Final[tuple[Json, ...]] = (
    {},
    {},
    {"rate_class": "c"},
    {"rate_class": "c", "weight": 2},
    {"rate_class": "c", "weight": 3},
    {"rate_class": "d", "weight": 6},
    {"weight": 2},
)
TIMES: Final[tuple[Json, ...]] = (
    {},
    {},
    {},
    {},
    {DUE_IN: 500},
    {DUE_IN: 1000},
    {DUE_IN: 1},
    {DUE_IN: -1},
    {"pending": True},
    {"pending": True},
)
ORDERS: Final[tuple[Json, ...]] = (
    {},
    {},
    {"priority": 5},
    {"priority": -5},
    {"sticky_worker": "a"},
    {"priority": 5, "sticky_worker": "b"},
)
FURTHER: Final[tuple[Json, ...]] = (
    {},
    {},
    {},
    {"payload": b"x"},
    {"payload": b"\x00\xff", "schema_version": 3},
    {"tags": ["y", "x"]},
    {"headers": {"traceparent": "odd", "\u00e9": "", "": "\u4e2d"}},
    {"timeout_ms": 5, "deadline_ms": 7},
    {"periodic_schedule_id": "nightly", "periodic_tick_ms": 9},
    {"partition_key": "\u00e9", "tags": ["a b"], "attempt": 3, "crash_attempt": 2, "unique_states": 5},
)


def _merged(parts: Sequence[Json]) -> Json:
    return {name: value for part in parts for name, value in part.items()}


def envelopes(ids: Source, *, alone: bool = False) -> Source:
    """A sound envelope. ``alone``: it may be one that is sound only as a batch of one."""
    marked = MARKED + ALONE if alone else MARKED
    lists = (PLACES, CONTENTS, marked, BUDGETS, RATES, TIMES, ORDERS, FURTHER)
    return Made(each(Made(ids, lambda name: {"id": name}), *map(one_of, lists)), _merged)


def dated(parts: Mapping[str, Any], now_ms: int) -> Json:
    """The envelope of these parts for a call at an instant."""
    members = {name: value for name, value in parts.items() if name != DUE_IN}
    if DUE_IN not in parts or members.get("pending"):
        return members
    return {**members, "scheduled_at_ms": now_ms + parts[DUE_IN]}


# Near misses -----------------------------------------------------------------------------------------------------

CHANGES: Final[dict[str, Json]] = {
    "nothing": {},
    "kind": {"kind": "x"},
    "fingerprint": {"fingerprint": "f9"},
    "queue": {"queue": "r"},
    "omitted queue": {"queue": ""},
    "named default": {"queue": "default"},
    "payload": {"payload": b"other"},
    "schema_version": {"schema_version": 7},
    "priority": {"priority": 7},
    "max_attempts": {"max_attempts": 9},
    "partition_key": {"partition_key": "z"},
    "rate_class": {"rate_class": "z"},
    "weight": {"weight": 9},
    "scheduled_at_ms": {"scheduled_at_ms": 99, "pending": False},
    "retention_ms": {"retention_ms": 9},
    "unique_key": {"unique_key": b"z"},
    "a replacement": {"unique_key": b"k", "unique_window_ms": 0, "unique_replace": 15},
    "a debounce": {"unique_key": b"k", "unique_window_ms": 0, "unique_debounce_ms": 500},
    "tags": {"tags": ["z"]},
    "headers": {"headers": {"z": "z"}},
    "pending": {"pending": True, "scheduled_at_ms": 0},
    "sticky_worker": {"sticky_worker": "z"},
}
"""What a repeat of an envelope changes. Most still replay (JOB-ENQ-05); kind, fingerprint and queue do not."""

ASKS: Final[tuple[Json, ...]] = (
    {},
    {},
    {"unique_replace": 15},
    {"unique_replace": 15},
    {"unique_replace": 1},
    {"unique_replace": 2},
    {"unique_replace": 4},
    {"unique_replace": 8},
    {"unique_replace": 14},
    {"unique_debounce_ms": 500},
    {"unique_debounce_ms": 1000},
    {"unique_debounce_ms": 500, "unique_replace": 15},
    {"unique_debounce_ms": 500, "unique_replace": 2},
    {"unique_exclude_kind": True},
    {"unique_window_ms": 1000},
    {"unique_window_ms": 0},
    {"kind": "v"},
    {"queue": "p", "partition_key": "z"},
)
"""What a newcomer with a held key asks for, or where it stands elsewhere than the holder."""

NEWS: Final[tuple[Json, ...]] = (
    {"payload": b"new", "fingerprint": "f2", "priority": 9, "max_attempts": 3, DUE_IN: 400, "tags": ["n", "m"]},
    {"payload": b"new", "fingerprint": "f1", "priority": 0, "max_attempts": 0, "schema_version": 0, "tags": []},
    {"payload": b"", "fingerprint": "", "priority": -9, "max_attempts": 1, DUE_IN: -1, "schema_version": 4},
)
"""The content of such a newcomer: where bits are asked for, all of it may be copied."""

FLAWS: Final[dict[str, Json]] = {
    "no id": {"id": ""},
    "no kind": {"kind": ""},
    "kind of a dash": {"kind": "-w"},
    "kind with a blank": {"kind": "w w"},
    "kind too long": {"kind": "k" * 129},
    "kind beyond ASCII": {"kind": "\u00e9"},
    "timeout": {"timeout_ms": -1},
    "deadline": {"deadline_ms": -1},
    "retention": {"retention_ms": -1},
    "window": {"unique_window_ms": -1},
    "debounce": {"unique_debounce_ms": -1},
    "debounce without a key": {"unique_key": None, "unique_debounce_ms": 500},
    "debounce with an empty key": {"unique_key": b"", "unique_debounce_ms": 500},
    "debounce with a window": {"unique_key": b"k", "unique_window_ms": 1, "unique_debounce_ms": 500},
    "unknown bit": {"unique_key": b"k", "unique_replace": 16},
    "negative mask": {"unique_key": b"k", "unique_replace": -1},
    "replacement without a key": {"unique_key": None, "unique_replace": 1},
    "replacement with an empty key": {"unique_key": b"", "unique_replace": 1},
    "tags": {"tags": [str(number) for number in range(33)]},
    "empty tag": {"tags": ["x", ""]},
    "long tag": {"tags": ["x" * 65]},
    "tag beyond ASCII": {"tags": ["\u00e9"]},
    "tag twice": {"tags": ["x", "y", "x"]},
    "pending and scheduled": {"pending": True, "scheduled_at_ms": 1},
    "worker beyond ASCII": {"sticky_worker": "\u00e9"},
    "worker too long": {"sticky_worker": "w" * 256},
    "schedule without a tick": {"periodic_schedule_id": "s", "periodic_tick_ms": 0},
    "tick without a schedule": {"periodic_schedule_id": "", "periodic_tick_ms": 1},
    "negative tick": {"periodic_schedule_id": "s", "periodic_tick_ms": -1},
}
TOO_LARGE: Final = RepeatBytes("x", 1_048_577)
SIZES: Final[dict[str, Json]] = {
    "id too long": {"id": RepeatText("i", 256)},
    "queue too long": {"queue": RepeatText("\u00e9", 128)},
    "partition too long": {"partition_key": RepeatText("p", 256)},
    "class too long": {"rate_class": RepeatText("c", 256)},
    "fingerprint too long": {"fingerprint": RepeatText("f", 256)},
    "schedule too long": {"periodic_schedule_id": RepeatText("s", 256), "periodic_tick_ms": 1},
    "payload too large": {"payload": TOO_LARGE},
    "key too long": {"unique_key": RepeatBytes("x", 1_025)},
    "too many headers": {"headers": {f"h{number}": "" for number in range(129)}},
    "headers too large": {"headers": {"h": RepeatText("x", 65_536)}},
}
"""Flaws of the profile LIMITS."""
FITTING: Final[dict[str, Json]] = {
    "longest kind": {"kind": "k" * 128},
    "longest partition": {"partition_key": "\u00e9" * 127 + "p"},
    "longest worker": {"sticky_worker": "w" * 255},
    "most tags": {"tags": [str(number) for number in range(32)]},
    "longest tag": {"tags": ["x" * 64]},
    "longest key": {"unique_key": b"x" * 1_024},
    "most headers": {"headers": {f"h{number}": "" for number in range(128)}},
    "kind of all signs": {"kind": "_-[]<>/.:+"},
}
"""The largest that is sound."""
CROWD: Final = Copies({"id": "crowd-", "kind": "w"}, 1_001, "id")
"""One envelope more than a batch may hold."""

# What runs write -------------------------------------------------------------------------------------------------

CHECKPOINTS: Final[tuple[Json, ...]] = (
    {"last_completed_step": "one", "completed_steps": ["one"], "in_progress_step": "two", "schema_version": 1},
    {
        "last_completed_step": "two",
        "completed_steps": ["one", "two"],
        "cursor_step": "two",
        "cursor": b"\x007",
        "step_set_hash": "h",
        "crashes_by_step": [["two", 1]],
    },
    {"in_progress_step": "\u00e9", "cursor": b"", "crashes_by_step": [["two", 1], ["\u00e9", 4]]},
    {"in_progress_step": "two", "crashes_by_step": [["two", 1], ["one", 1], ["two", 5]]},
    {},
)
RESULTS: Final[tuple[Json, ...]] = (
    {"schema_version": 1, "content": b"r"},
    {"schema_version": 2_147_483_647, "content": b""},
    {"schema_version": 2, "content": b"\x00\xff"},
)
BAD_RESULTS: Final[tuple[Json, ...]] = (
    {"schema_version": 0, "content": b"r"},
    {"schema_version": 2_147_483_648, "content": b"r"},
    {"schema_version": 1, "content": RepeatBytes("x", 33_554_433)},
)
PROGRESSES: Final[tuple[Json, ...]] = (
    {"current": 2, "total": 5, "message": None},
    {"current": 5, "total": 5, "message": "\u00e9" * 256},
    {"current": 0, "total": 2**53 - 1, "message": "half"},
)
BAD_PROGRESSES: Final[tuple[Json, ...]] = (
    {"current": 0, "total": 0, "message": None},
    {"current": 6, "total": 5, "message": None},
    {"current": 1, "total": 2**53, "message": None},
    {"current": 1, "total": 5, "message": "x" * 513},
    {"current": 1, "total": 5, "message": "\u00e9" * 256 + "x"},
    {"current": 1, "total": 5, "message": "a\x00"},
)
FILTERS: Final[tuple[Json, ...]] = (
    {},
    {},
    {"queue": "q"},
    {"state": "available"},
    {"state": "running", "kind": "w"},
    {"kind_prefix": "w"},
    {"partition_key": ""},
    {"id": "a"},
    {"fingerprint": "f1", "priority": 0},
    {"rate_class": "c"},
    {"tags_all": ["x", "y"]},
    {"tags_any": ["x", "t"], "queue": "q"},
)
"""Of `list_jobs`; each with at most one condition beside another."""
