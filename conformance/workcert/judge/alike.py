"""Which of several calls are interchangeable: equal but for names that nobody else uses.

64 producers with a job each are one kind: what holds of an order of them holds of it with two of them exchanged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any, Final

import attrs

from workcert.run.calling import Observed
from workspec.core.record import State
from workspec.core.scope import Call

OWN: Final = "(a name of its own)"
NAMES: Final = frozenset({"id", "lease_id", "worker", "worker_id", "fingerprint"})
"""The arguments, and the members of arguments, that name something and say nothing else: a kind or a text of an error
that stands in one call alone decides what the call does."""


def kinds_of(
    calls: Sequence[tuple[Call, int]],
    observed: Sequence[Observed | None],
    state: State,
    shown: Callable[[str], Any] = lambda _name: None,
) -> tuple[Hashable, ...]:
    """A value for each call; two calls with equal values are interchangeable. ``shown``: the record of this name when
    all was over."""
    named = [{*texts_in(call.arguments), *texts_in(seen)} for (call, _now), seen in zip(calls, observed, strict=True)]
    users = Counter(text for names in named for text in names)
    known = {text for key, record in state.items() for text in (key, *texts_in(record.facts))}
    kinds = []
    for (call, now), seen in zip(calls, observed, strict=True):
        names = {text for text in names_in(call.arguments) if text and users[text] == 1}
        own = {text for text in names if not any(text in other for other in known)}
        records = [masked(shown(text), own) for text in sorted(own)]
        kinds.append(repr((call.name, now, masked(call.arguments, own), masked(seen, own), records)))
    return tuple(kinds)


def names_in(value: Any) -> Iterator[str]:
    """The texts that stand where `NAMES` says."""
    if isinstance(value, Mapping):
        members = list(value.items())
    elif attrs.has(type(value)):
        members = [(member.name, getattr(value, member.name)) for member in attrs.fields(type(value))]
    else:
        members = []
        for member in value if isinstance(value, list | tuple) else ():
            yield from names_in(member)
    for name, member in members:
        if isinstance(member, str) and name in NAMES:
            yield str(member)
        else:
            yield from names_in(member)


def texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield str(value)
    elif isinstance(value, Mapping):
        for name, member in value.items():
            yield from texts_in(name)
            yield from texts_in(member)
    elif isinstance(value, list | tuple):
        for member in value:
            yield from texts_in(member)
    elif attrs.has(type(value)):
        for member in attrs.fields(type(value)):
            yield from texts_in(getattr(value, member.name))


def masked(value: Any, own: set[str]) -> Any:
    """Plain data in which these texts are all one."""
    if isinstance(value, str):
        return OWN if value in own else value
    if isinstance(value, Mapping):
        return [(masked(name, own), masked(member, own)) for name, member in value.items()]
    if isinstance(value, list | tuple):
        return [masked(member, own) for member in value]
    if attrs.has(type(value)):
        members = [masked(getattr(value, member.name), own) for member in attrs.fields(type(value))]
        return (type(value).__name__, members)
    return value
