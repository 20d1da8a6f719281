"""Reading records back: what the judge compares, in the vocabulary's own shapes."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import cache
from typing import Any, cast

import attrs

from workcert.backends.registry import BackendError
from workcert.judge.ledger import Row
from workcert.run.calling import CallHung
from workcert.run.store import StoreUnderTest
from workspec.core.choice import UNSEEN


class Unreadable(Exception):  # noqa: N818 - a finding about the backend
    """The judge cannot read a record back: the read raised, or answered with something else."""


def read_row(store: StoreUnderTest, key: str) -> Row | None:
    """The row of a key through the judge's handle.

    Raises:
        Unreadable: the read raises, or answers with something that is no record.
    """
    backend = store.backend
    try:
        found = backend.binding.read(store.reader(), key)
    except (CallHung, BackendError):
        raise
    except (Exception, SystemExit) as error:  # whatever an adapter raises is a finding, not a fault of the kit
        raise Unreadable(f"reading {key} back raised {type(error).__name__}: {error}") from error
    if found is None:
        return None
    record, actors = getattr(found, "workload", None), backend.actors
    if not isinstance(record, backend.binding.record):
        raise Unreadable(f"reading {key} back answered with {type(found).__name__}, which holds no record")
    record = _with_tuples(record)
    return Row(found.version, record if not actors else _with_actors(record, actors))


def is_whole(value: Any) -> bool:
    """Nothing of it is hidden, at any depth of its carriers."""
    if isinstance(value, list | tuple):
        return all(is_whole(item) for item in value)
    if attrs.has(type(value)):
        return all(is_whole(getattr(value, f.name)) for f in attrs.fields(type(value)))
    return value is not UNSEEN


def _with_tuples(record: Any) -> Any:
    """A store may answer with lists where the vocabulary has tuples."""
    members = {name: getattr(record, name) for name in _tuples_of(cast(Hashable, type(record)))}
    lists = {name: tuple(value) for name, value in members.items() if isinstance(value, list)}
    return attrs.evolve(record, **lists) if lists else record


@cache
def _tuples_of(record: Hashable) -> tuple[str, ...]:
    members = attrs.fields(cast("type[Any]", record))
    return tuple(member.name for member in members if str(member.type).startswith("tuple"))


def _with_actors(record: Any, actors: Mapping[str, str]) -> Any:
    history = getattr(record, "execution_history", ())
    renamed = tuple(attrs.evolve(event, actor=actors.get(event.actor, event.actor)) for event in history)
    return attrs.evolve(record, execution_history=renamed)
