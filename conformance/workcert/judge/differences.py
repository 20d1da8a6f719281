"""Comparing what the model expects with what a store showed, member by member."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Any

from attrs import frozen

from workcert.judge.presumed import FURTHER, PRESUMED
from workcert.judge.sameness import identical, names_of
from workspec.core.choice import UNSEEN


@frozen
class Difference:
    """One member that differs. ``path`` as in ``attempts[0].status``."""

    path: str
    expected: Any
    seen: Any

    @property
    def member(self) -> str:
        """The first member of the path: what an effect says that it writes."""
        return self.path.split(".")[0].split("[")[0]


def differences(expected: Any, seen: Any) -> tuple[Difference, ...]:
    """Every member of ``expected`` that ``seen`` does not equal, as far as it shows it."""
    return () if identical(expected, seen) else tuple(_walk("", expected, seen))


def differ(expected: Any, seen: Any) -> bool:
    """Whether there is a difference at all."""
    return not identical(expected, seen) and next(_walk("", expected, seen), None) is not None


def _walk(path: str, expected: Any, seen: Any) -> Iterator[Difference]:
    if seen is UNSEEN or expected is UNSEEN or isinstance(expected, PRESUMED) or identical(expected, seen):
        return
    names = names_of(type(expected))
    if names is not None:
        yield from _members(path, names, expected, seen)
    elif isinstance(expected, (dict, Mapping)):
        yield from _mapping(path, expected, seen)
    elif isinstance(expected, frozenset) and _is_set(seen):
        if frozenset(seen) != expected:
            yield Difference(path, expected, seen)
    elif isinstance(expected, list | tuple):
        yield from _items(path, expected, seen)
    elif not _same(expected, seen):
        yield Difference(path, expected, seen)


def _members(path: str, names: Sequence[str], expected: Any, seen: Any) -> Iterator[Difference]:
    if not isinstance(seen, type(expected)):
        yield Difference(path, expected, seen)
        return
    for name in names:
        mine, other = getattr(expected, name), getattr(seen, name)
        if not identical(mine, other):
            yield from _walk(f"{path}.{name}" if path else name, mine, other)


def _mapping(path: str, expected: Mapping[str, Any], seen: Any) -> Iterator[Difference]:
    if not isinstance(seen, (dict, Mapping)):
        yield Difference(path, expected, seen)
        return
    names = {*expected, *seen}
    if FURTHER in expected:
        names = expected.keys() - {FURTHER}
    for name in sorted(names):
        inner = f"{path}.{name}"
        if name not in seen or name not in expected:
            yield Difference(inner, expected.get(name, "(absent)"), seen.get(name, "(absent)"))
        else:
            yield from _walk(inner, expected[name], seen[name])


def _is_set(seen: Any) -> bool:
    """A store may answer with a list where the vocabulary has a set, of texts as all sets here are."""
    return (
        isinstance(seen, list | tuple | set)
        and all(isinstance(each, str) for each in seen)
        and len(set(seen)) == len(seen)
    )


def _items(path: str, expected: Sequence[Any], seen: Any) -> Iterator[Difference]:
    if isinstance(seen, str) or not isinstance(seen, (list, tuple, Sequence)):
        yield Difference(path, expected, seen)
        return
    for index in range(max(len(expected), len(seen))):
        inner = f"{path}[{index}]"
        if index >= len(expected) or index >= len(seen):
            yield Difference(
                inner,
                expected[index] if index < len(expected) else "(absent)",
                seen[index] if index < len(seen) else "(absent)",
            )
        else:
            yield from _walk(inner, expected[index], seen[index])


def _same(expected: Any, seen: Any) -> bool:
    if isinstance(expected, Enum):
        expected = expected.value
    if isinstance(seen, Enum):
        seen = seen.value
    if isinstance(expected, bool) != isinstance(seen, bool):
        return False
    # 1 and 1.0 are equal in Python and different in JSON.
    if isinstance(expected, float) != isinstance(seen, float):
        return False
    return bool(expected == seen)
