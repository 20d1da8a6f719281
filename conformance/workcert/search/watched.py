"""A state that notes what a decision reads of it: which records are there, and which of their facts.

Two states that agree in all that was noted lead the same decision to the same end, whatever its rules are. That holds
because everything that a rule can reach goes through here, and because the kind of facts under a key never changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from functools import cache
from types import FunctionType
from typing import Any, Final, TypeAlias

from attrs import define, field

from workspec.core.record import Record

PRESENT: Final = "(there)"
WHOLE: Final = "(whole)"
"""In the place of the name of a fact: whether the record is there; all of it, log and version included."""

Reading: TypeAlias = tuple[int, str]
"""The place of a record in the state, and what was read of it."""


class UndeclaredKey(Exception):  # noqa: N818 - a fault of a configuration, told to whoever wrote it
    """A call made a record whose key the configuration does not declare."""


@define(eq=False)
class Watch:
    """``order``: each reading once, in the order in which it was first made."""

    order: list[Reading] = field(factory=list)
    known: set[Reading] = field(factory=set)

    def note(self, place: int, part: str) -> None:
        reading = (place, part)
        if reading not in self.known and (place, WHOLE) not in self.known:
            self.known.add(reading)
            self.order.append(reading)


class WatchedRecord:
    """Stands for a record. Its log and its version cannot be read in part."""

    __slots__ = ("_facts", "_place", "_record", "_watch")

    def __init__(self, record: Record, place: int, watch: Watch) -> None:
        self._record = record
        self._place = place
        self._watch = watch
        self._facts = watched_facts(record.facts, place, watch)

    @property
    def facts(self) -> Any:
        return self._facts

    @property
    def log(self) -> Any:
        return self.whole().log

    @property
    def version(self) -> int | None:
        return self.whole().version

    def whole(self) -> Record:
        self._watch.note(self._place, WHOLE)
        return self._record


def whole(record: Any) -> Record | None:
    """The record itself, noted as read."""
    return record.whole() if isinstance(record, WatchedRecord) else record


def watched_facts(facts: Any, place: int, watch: Watch) -> Any:
    """Facts that are taken for the facts themselves by everyone but `type`."""
    stand_in: Any = object.__new__(_watched_class(type(facts)))  # type: ignore[arg-type]
    own = object.__getattribute__(stand_in, "__dict__")
    own["facts"], own["place"], own["watch"] = facts, place, watch
    return stand_in


def _read(self: Any, name: str) -> Any:
    own = object.__getattribute__(self, "__dict__")
    facts = own["facts"]
    values = facts.__dict__
    if name in values:
        own["watch"].note(own["place"], name)
        return values[name]
    if name == "__class__":
        return type(facts)
    if name == "__dict__":
        own["watch"].note(own["place"], WHOLE)
        return values
    found = getattr(type(facts), name)
    return found.__get__(self, type(facts)) if isinstance(found, FunctionType) else found


@cache
def _watched_class(kind: type) -> type:
    return type(f"Watched{kind.__name__}", (kind,), {"__getattribute__": _read, "__slots__": ()})


class WatchedState(MutableMapping[str, Any]):
    """A state over the records of a search. What a commit writes over it is its own and is not noted."""

    def __init__(
        self, records: Mapping[str, Record], places: Mapping[str, int], watch: Watch, written: Mapping[str, Any]
    ) -> None:
        self._records = records
        self._places = places
        self._watch = watch
        self._shown: dict[str, WatchedRecord] = {}
        self._written = dict(written)

    def copied(self) -> WatchedState:
        copy = WatchedState(self._records, self._places, self._watch, self._written)
        copy._shown = self._shown
        return copy

    @property
    def written(self) -> frozenset[str]:
        """The keys of the records that are not those of the beginning."""
        return frozenset(self._written)

    def get(self, key: Any, default: Any = None) -> Any:
        if key in self._written:
            found = self._written[key]
            return default if found is None else found
        place = self._places.get(key)
        if place is None:
            return default
        self._watch.note(place, PRESENT)
        record = self._records.get(key)
        if record is None:
            return default
        shown = self._shown.get(key)
        if shown is None:
            shown = self._shown[key] = WatchedRecord(record, place, self._watch)
        return shown

    def __getitem__(self, key: str) -> Any:
        found = self.get(key)
        if found is None:
            raise KeyError(key)
        return found

    def __contains__(self, key: object) -> bool:
        return self.get(key) is not None

    def __iter__(self) -> Iterator[str]:
        return iter([key for key in self._places if self.get(key) is not None])

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __setitem__(self, key: str, record: Any) -> None:
        if key not in self._places:
            raise UndeclaredKey(f"{key!r} is not among the keys of the configuration: add it to them")
        self._written[key] = record

    def __delitem__(self, key: str) -> None:
        if self.get(key) is None:
            raise KeyError(key)
        self._written[key] = None
