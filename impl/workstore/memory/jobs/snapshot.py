"""All that is committed, as plain values under readable keys, for tests that compare two instants."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

import attrs

from workstore.memory.jobs.tables import Tables


def snapshot(tables: Tables) -> dict[str, Any]:
    """The committed state. Values can be hashed and compared: records are tuples of (field, value)."""
    found: dict[str, Any] = {}
    found |= {f"job/{name}": plain(row) for name, row in sorted(tables.jobs.items())}
    found |= {f"hold/lifecycle/{key.hex()}": plain(hold) for key, hold in sorted(tables.lifecycle_holds.items())}
    found |= {f"hold/throttle/{key.hex()}": plain(hold) for key, hold in sorted(tables.throttle_holds.items())}
    found |= {f"fingerprint/{name}": plain(entry) for name, entry in sorted(tables.registry.items())}
    found |= {f"bucket/{name}": plain(bucket) for name, bucket in sorted(tables.buckets.items())}
    found |= {f"duty/{name}": plain(duty) for name, duty in sorted(tables.duties.items())}
    found |= {f"effect/{key}": True for key in sorted(tables.effects)}
    return found | _queues(tables)


def _queues(tables: Tables) -> dict[str, Any]:
    parts: dict[str, Mapping[str, Any]] = {
        "paused": tables.pauses,
        "limit": tables.limits,
        "cursor": tables.cursors,
        "unfinished": tables.unfinished,
        "arrivals": tables.arrivals,
        "completions": tables.completions,
    }
    queues = sorted(set().union(*parts.values()))
    return {
        f"queue/{queue}": tuple((name, plain(part[queue])) for name, part in parts.items() if queue in part)
        for queue in queues
    }


def plain(value: Any) -> Any:
    if attrs.has(type(value)):
        return tuple((name, plain(getattr(value, name))) for name in attrs.fields_dict(type(value)))
    if isinstance(value, Mapping):
        return tuple((name, plain(part)) for name, part in sorted(value.items()))
    if isinstance(value, tuple):
        return tuple(plain(part) for part in value)
    return value.value if isinstance(value, Enum) else value
