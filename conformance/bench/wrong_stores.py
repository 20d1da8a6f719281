"""Where the benchmarks take wrong stores from: the derived faults of a contract, spread over the whole of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec

from attrs import frozen

from workcert.backends.registry import LoadedBackend, describe
from workcert.binding import bindings


@frozen
class Wrong:
    name: str
    backend: LoadedBackend


def wrong_stores(most: int) -> tuple[Wrong, ...]:
    """At most so many, as many of each contract as far as it has them."""
    names = tuple(bindings())
    return tuple(each for name in names for each in _spread(tuple(_of(name)), most // len(names)))


def _spread(found: Sequence[Wrong], most: int) -> Sequence[Wrong]:
    every = max(len(found) / max(most, 1), 1.0)
    return [found[int(index * every)] for index in range(min(most, len(found)))]


def _of(contract: str) -> Iterator[Wrong]:
    if find_spec("workcert.faults") is not None:
        for fault in import_module("workcert.faults.derived").derived(bindings()[contract]):
            yield Wrong(f"{contract}: {fault.name}", describe(fault.name, fault.make()))
        return
    # Where there are none, the miniatures of this contract that a changed rule makes.
    for miniature in import_module("selftest.miniatures").MINIATURES if contract == "workload" else ():
        if miniature.suite == "stateful":
            yield Wrong(f"{contract}: {miniature.name}", describe(miniature.name, miniature.make()))
