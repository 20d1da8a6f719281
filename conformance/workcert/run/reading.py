"""Reading records back: what the judge compares, in the vocabulary's own shapes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import cache
from operator import attrgetter
from typing import Any, cast

import attrs

from workcert.backends.registry import BackendError
from workcert.judge.ledger import Row
from workcert.judge.sameness import identical
from workcert.raised import told
from workcert.run.actors import with_actors
from workcert.run.calling import CallHung
from workcert.run.referred import check_readable
from workcert.run.store import StoreUnderTest


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
    except CallHung as hung:
        hung.within(f"reading {key} back")
        raise
    except (BackendError, KeyboardInterrupt):
        raise
    except BaseException as error:  # whatever an adapter raises is a finding, not a fault of the kit
        raise Unreadable(f"reading {key} back raised {told(error)}") from error
    if found is None:
        return None
    record = getattr(found, "record", None)
    check_readable(backend, key, getattr(found, "version", None), record)
    if not isinstance(record, backend.binding.record):
        raise Unreadable(f"reading {key} back answered with {type(found).__name__}, which holds no record")
    record = _with_tuples(record)
    return Row(found.version, with_actors(record, backend.actors))


def glanced_otherwise(
    store: StoreUnderTest, keys: Iterable[str], presented: Callable[[str], Any]
) -> Iterator[tuple[str, Any]]:
    """Of records that are quickly read those that are not shown as ``presented`` has them to the letter, None for one
    that is not there. Nearly all of the rows that are read are right, so that this is asked before anything else.

    Raises:
        Unreadable: as `read_row`.
    """
    glance = store.backend.binding.glance
    if glance is None:
        return
    reader = store.reader()
    for key in keys:
        try:
            record = glance(reader, key)
        except CallHung as hung:
            hung.within(f"reading {key} back")
            raise
        except (BackendError, KeyboardInterrupt):
            raise
        except BaseException as error:
            raise Unreadable(f"reading {key} back raised {told(error)}") from error
        if identical(presented(key), record):
            continue
        if record is not None and not isinstance(record, store.backend.binding.glanced):
            raise Unreadable(f"reading {key} back answered with {type(record).__name__}, which is no record")
        yield key, None if record is None else _with_tuples(record)


def counted(store: StoreUnderTest) -> int | None:
    """How many records there are, as far as the store tells.

    Raises:
        Unreadable: as `read_row`.
    """
    return _number(store, store.backend.binding.total, "counting")


def listed(store: StoreUnderTest) -> int | None:
    """How many records the store lists, as far as it does.

    Raises:
        Unreadable: as `read_row`.
    """
    return _number(store, store.backend.binding.listed, "listing")


def _number(store: StoreUnderTest, ask: Callable[[Any], int | None] | None, doing: str) -> int | None:
    if ask is None:
        return None
    try:
        return ask(store.reader())
    except CallHung as hung:
        hung.within(f"{doing} the records")
        raise
    except (BackendError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise Unreadable(f"{doing} the records raised {told(error)}") from error


def _with_tuples(record: Any) -> Any:
    """A store may answer with lists where the vocabulary has tuples."""
    names, values_of = _tuples_of(cast(Hashable, type(record)))
    if list not in map(type, values_of(record)):
        return record
    lists = [name for name in names if isinstance(getattr(record, name), list)]
    return attrs.evolve(record, **{name: tuple(getattr(record, name)) for name in lists})


@cache
def _tuples_of(record: Hashable) -> tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]]]:
    """The members that are tuples by the vocabulary, and what gives their values."""
    members = attrs.fields(cast("type[Any]", record))
    names = tuple(member.name for member in members if str(member.type).startswith("tuple"))
    # With one name alone an attribute getter gives no tuple.
    return names, attrgetter(*names) if len(names) > 1 else lambda each: tuple(getattr(each, name) for name in names)
