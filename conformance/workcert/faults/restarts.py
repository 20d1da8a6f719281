"""Seeded faults of what keeps the state: at a restart one fact of every record is as if it had never been written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final

import attrs
from attrs import define, field, frozen

from workcert.backends.protocol import Ability, Place
from workcert.backends.specification import Handle, SpecificationBackend, of
from workcert.binding import Binding
from workcert.faults.fault import Fault, Kind
from workspec.core.record import Record, State

EMPTY: Final[tuple[Any, ...]] = (False, 0, "", b"", (), frozenset())
"""What is left where nothing was written, by its type."""

Forget = Callable[[Record], "Record | None"]


@frozen(eq=False)
class _Part:
    """A part of a record: a member of its facts, a member of one of these, a part of the log, or all of it."""

    kind: type[Any]
    path: tuple[str, ...]
    in_log: bool = False

    @property
    def text(self) -> str:
        where = "log" if self.in_log else self.kind.__name__
        return ".".join((where, *self.path))

    def forgotten(self, record: Record) -> Record | None:
        if not isinstance(record.facts, self.kind):
            return record
        if not self.path:
            return None
        if self.in_log:
            return attrs.evolve(record, log=_without(record.log, self.path))
        return attrs.evolve(record, facts=_without(record.facts, self.path))


def _without(carrier: Any, path: tuple[str, ...]) -> Any:
    name, *rest = path
    value = getattr(carrier, name)
    if rest:
        return carrier if value is None else attrs.evolve(carrier, **{name: _without(value, tuple(rest))})
    return attrs.evolve(carrier, **{name: _blank(value, _is_optional(type(carrier), name))})


def _is_optional(carrier: type[Any], name: str) -> bool:
    return "None" in str(getattr(attrs.fields(carrier), name).type)


def _blank(value: Any, optional: bool) -> Any:
    if optional:
        return None
    if isinstance(value, Mapping):
        return {}
    return next((empty for empty in EMPTY if type(empty) is type(value) or isinstance(value, type(empty))), value)


def forgotten_facts(binding: Binding) -> Iterator[Fault]:
    """One fault for each part of what a store keeps. What identifies a record is not forgotten: it would be another
    record; nor is its state, which no store keeps apart from the record."""
    if not any(Ability.RESTART in needed for needed in binding.profile_abilities.values()):
        return
    for kept in binding.kept:
        for part in _parts(kept, type(binding.contract.empty_log) if kept is binding.kept[0] else None):
            yield Fault(
                f"{Kind.FORGOTTEN_FACT}: {part.text}",
                Kind.FORGOTTEN_FACT,
                binding.contract.comparisons["restart"],
                frozenset(),
                partial(_forgetful, binding, part.forgotten),
                needs=Ability.RESTART,
            )


def _parts(kept: type[Any], log: type[Any] | None) -> Iterator[_Part]:
    if log is None:
        yield _Part(kept, ())
    else:
        yield from (_Part(kept, (member.name,), in_log=True) for member in attrs.fields(log))
    yield from (_Part(kept, path) for path in _paths(kept) if path[0] not in _IDENTITY | _KEPT_BY_NO_STORE)


_IDENTITY: Final = frozenset({"id", "workload_id", "state", "name", "queue", "fingerprint", "key"})
_KEPT_BY_NO_STORE: Final = frozenset({"used_ids"})
"""The model's own notes: which ids were given out stands in the attempts, and a store only draws new ones."""


def _paths(carrier: type[Any]) -> Iterator[tuple[str, ...]]:
    """Each member, and in place of a carrier that is always there each of its members."""
    for member in attrs.fields(attrs.resolve_types(carrier)):
        if isinstance(member.type, type) and attrs.has(member.type):
            yield from ((member.name, *path) for path in _paths(member.type))
        else:
            yield (member.name,)


@define(eq=False)
class ForgetfulBackend(SpecificationBackend):
    """The specification, but for what it does to each record when the last handle was closed and one is opened."""

    forget_part: Forget = field(kw_only=True)
    _handles: dict[str, list[Handle]] = field(factory=dict, repr=False)

    def open(self, place: Place, config: Mapping[str, Any]) -> Handle:
        shelf = self._shelves.get(place.name)
        earlier = self._handles.setdefault(place.name, [])
        if shelf is not None and earlier and all(handle.closed for handle in earlier):
            shelf.state = self._restarted(shelf.state)
            earlier.clear()
        handle = SpecificationBackend.open(self, place, config)
        earlier.append(handle)
        return handle

    def _restarted(self, state: State) -> State:
        after = {key: self.forget_part(record) for key, record in state.items()}
        return {key: record for key, record in after.items() if record is not None}

    def forget(self, place: Place) -> None:
        self._handles.pop(place.name, None)
        SpecificationBackend.forget(self, place)


def _forgetful(binding: Binding, forget: Forget) -> ForgetfulBackend:
    right = of(binding)
    return ForgetfulBackend(
        right.binding, right.specification, right.profiles, right.abilities, right.configurable, forget_part=forget
    )
