"""Records by number: one number for all that are alike to later calls, instants counted from one moment.

The first record found of each fold stands for all of that fold. It is a real one, moved in time as a whole, log
included, so that every record which invariants are held against is one that calls have led to.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, Final

import attrs
from attrs import define, field

from workcert.search.watched import PRESENT, WHOLE
from workspec.core.alike import members_of, renamed, shifted
from workspec.core.configuration import Configuration
from workspec.core.contract import Contract
from workspec.core.interpreter import instants
from workspec.core.record import Record

ABSENT: Final = 0
"""The number of no record."""


@define(eq=False)
class Records:
    """``found`` holds, by number, the key and the record that stands for the number; at ``configuration.start``."""

    contract: Contract
    configuration: Configuration
    found: list[tuple[str, Record]] = field(factory=list)
    numbers: dict[tuple[str, Hashable], int] = field(factory=dict)
    aged: dict[tuple[int, int], int] = field(factory=dict)
    parts: dict[tuple[int, str], int] = field(factory=dict)
    values: dict[Hashable, int] = field(factory=dict)
    waits: dict[int, frozenset[int] | None] = field(factory=dict)
    named: dict[tuple[int, int], int] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        self.found.append(("", Record(None, None, None)))

    def record(self, number: int) -> Record | None:
        return None if number == ABSENT else self.found[number][1]

    def number(self, key: str, record: Record) -> int:
        """The number of a record as it is at the beginning of the configuration's time."""
        fold = (key, self.configuration.fold(record, self.configuration.start))
        number = self.numbers.get(fold)
        if number is None:
            number = self.numbers[fold] = len(self.found)
            self.found.append((key, record))
        return number

    def later(self, number: int, wait: int) -> int:
        """The number of the same record when so much time has passed."""
        if number == ABSENT:
            return ABSENT
        aged = self.aged.get((number, wait))
        if aged is None:
            key, record = self.found[number]
            aged = self.aged[number, wait] = self.number(key, shifted(record, -wait, self.contract.instants))
        return aged

    def renamed(self, number: int, naming: int, names: Mapping[str, str]) -> int:
        """The number of the same record under other names. ``naming`` is the number of the renaming."""
        if number == ABSENT:
            return ABSENT
        other = self.named.get((number, naming))
        if other is None:
            key, record = self.found[number]
            other = self.named[number, naming] = self.number(renamed(key, names), renamed(record, names))
        return other

    def waits_of(self, number: int) -> frozenset[int] | None:
        """How much time may pass for this record; None where it holds time up."""
        if number not in self.waits:
            record, now = self.found[number][1], self.configuration.start
            turns = instants(self.contract, record, now) if self.configuration.to_instants else ()
            waits = frozenset(instant - now for instant in turns if instant > now)
            self.waits[number] = None if self.configuration.holds_time(record, now) else waits
        return self.waits[number]

    def part(self, number: int, part: str) -> int:
        """A number for what is read of a record, the same for equal values."""
        found = self.parts.get((number, part))
        if found is None:
            found = self.values.setdefault(self._value(number, part), len(self.values))
            self.parts[number, part] = found
        return found

    def _value(self, number: int, part: str) -> Hashable:
        if part == PRESENT:
            return number != ABSENT
        if part == WHOLE:
            return ("record", number)
        return identity_of(getattr(self.found[number][1].facts, part))


def identity_of(value: Any) -> Hashable:
    """Something that can be looked up, equal for equal values of one type."""
    kind = type(value)
    if attrs.has(kind):
        return (kind, *(identity_of(getattr(value, name)) for name in members_of(kind)))
    if isinstance(value, Mapping):
        return (dict, *sorted((name, identity_of(part)) for name, part in value.items()))
    if kind in (tuple, list):
        return (kind, *map(identity_of, value))
    return (kind, value)
