"""Where the arguments of a rule come from, said once for every driver.

A source is a frozen value: `workcert.machines.strategies` makes a Hypothesis strategy of it, and ``pick`` draws from it
with a plain random number generator, which costs a hundredth.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Protocol

from attrs import frozen


class Source(Protocol):
    """``machine``: the history of the present example, of which some sources ask what it offers now."""

    def pick(self, machine: Any, random: Random, /) -> Any: ...


def chosen(values: Sequence[Any], random: Random) -> Any:
    """One of several; `Random.choice` does the same and takes twice as long."""
    return values[int(random.random() * len(values))]


@frozen(eq=False)
class OneOf:
    """One of these values, each as likely; what is to be drawn more often stands there several times."""

    values: Sequence[Any]

    def pick(self, _machine: Any, random: Random) -> Any:
        return chosen(self.values, random)


@frozen(eq=False)
class Offered:
    """One of the values that a method of the machine gives now."""

    method: str
    arguments: tuple[Any, ...] = ()

    def pick(self, machine: Any, random: Random) -> Any:
        return chosen(getattr(machine, self.method)(*self.arguments), random)


@frozen(eq=False)
class Several:
    """A list of values of one source, from ``least`` to ``most`` of them."""

    of: Source
    least: int
    most: int

    def pick(self, machine: Any, random: Random) -> Any:
        count = self.least + int(random.random() * (self.most - self.least + 1))
        return [self.of.pick(machine, random) for _ in range(count)]


@frozen(eq=False)
class Each:
    """A tuple with a value of each source."""

    sources: tuple[Source, ...]

    def pick(self, machine: Any, random: Random) -> Any:
        return tuple(source.pick(machine, random) for source in self.sources)


@frozen(eq=False)
class Either:
    """A value of one of several sources."""

    sources: tuple[Source, ...]

    def pick(self, machine: Any, random: Random) -> Any:
        return chosen(self.sources, random).pick(machine, random)


@frozen(eq=False)
class Made:
    """What a function makes of a value of another source."""

    of: Source
    make: Callable[[Any], Any]

    def pick(self, machine: Any, random: Random) -> Any:
        return self.make(self.of.pick(machine, random))


@frozen(eq=False)
class Shuffled:
    """All of these values, in any order."""

    values: Sequence[Any]

    def pick(self, _machine: Any, random: Random) -> Any:
        return random.sample(self.values, len(self.values))


@frozen(eq=False)
class Asked:
    """A value of the source that a function of the machine gives."""

    source: Callable[[Any], Source]

    def pick(self, machine: Any, random: Random) -> Any:
        return self.source(machine).pick(machine, random)


# Short forms -------------------------------------------------------------------------------------------------------


def one_of(values: Sequence[Any]) -> OneOf:
    return OneOf(values)


def of(method: str, *arguments: Any) -> Offered:
    return Offered(method, arguments)


def just(value: Any) -> OneOf:
    return OneOf((value,))


def flag() -> OneOf:
    return OneOf((False, True))


def each(*sources: Source) -> Each:
    return Each(sources)


def either(*sources: Source) -> Either:
    return Either(sources)


def perhaps(source: Source) -> Either:
    """None as often as a value."""
    return Either((just(None), source))
