"""What an invariant says that it reads is what it reads: it is asked only of records that show that much."""

from __future__ import annotations

import random
import types
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Union, get_args, get_origin, get_type_hints

import attrs
import pytest
from attrs import define, evolve, frozen

from workspec.core.contract import Contract, Invariant
from workspec.core.interpreter import Refused, apply
from workspec.core.sample import Propose, walk
from workspec.jobs.contract import CONTRACT as JOBS
from workspec.jobs.facts import JobFacts
from workspec.jobs.samples import propose as propose_jobs
from workspec.jobs.vocabulary import Job
from workspec.workload.contract import CONTRACT as WORKLOAD
from workspec.workload.samples import propose as propose_workloads
from workspec.workload.vocabulary import Workload

Asked = tuple[Any, ...]
"""What an invariant is asked: a record, or one before and after a step and the code of a refusal."""


def watched(value: Any, path: str, seen: set[str]) -> Any:
    """The value; what is read of it joins ``seen``."""
    if isinstance(value, list | tuple):
        return Elements(value, f"{path}[]", seen)
    return Carrier(value, path, seen) if attrs.has(type(value)) else value


@define(eq=False)
class Carrier:
    _value: Any
    _path: str
    _seen: set[str]

    def __getattr__(self, name: str) -> Any:
        path = f"{self._path}.{name}" if self._path else name
        self._seen.add(path)
        return watched(getattr(self._value, name), path, self._seen)

    def __eq__(self, other: object) -> bool:
        """With the same part before the step: that reads nothing."""
        assert isinstance(other, Carrier)
        assert other._path == self._path
        return bool(self._value == other._value)

    __hash__ = None  # type: ignore[assignment]


@define(eq=False)
class Elements(Sequence[Any]):
    _value: Sequence[Any]
    _path: str
    _seen: set[str]

    def __len__(self) -> int:
        return len(self._value)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return Elements(self._value[index], self._path, self._seen)
        return watched(self._value[index], self._path, self._seen)

    def __eq__(self, other: object) -> bool:
        assert isinstance(other, Elements)
        assert other._path == self._path
        return bool(self._value == other._value)

    __hash__ = None  # type: ignore[assignment]


def read_by(invariant: Invariant, asked: Asked) -> set[str]:
    """The paths that the invariant reads, those on the way to others left out."""
    seen: set[str] = set()
    assert invariant.holds(*(watched(value, "", seen) for value in asked)), invariant.text
    return {path for path in seen if not any(other.startswith((f"{path}.", f"{path}[].")) for other in seen)}


def asked_in(contract: Contract, propose: Propose, walks: int, steps: int) -> Iterator[tuple[str, Asked]]:
    """By what an invariant may be of: what a walk over the model shows it."""
    for sample in walk(contract, propose, random.Random(2).choice, walks=walks, steps=steps):
        call = contract.resolved(sample.call)
        done = apply(contract, sample.state, call, sample.now)
        code = done.outcome.code if isinstance(done.outcome, Refused) else None
        for key, record in done.state.items():
            before = sample.state.get(key)
            addressed = key == done.decision.scope.key
            if not (addressed or record is not before) or not is_row(record.facts):
                continue
            after = contract.present(record)
            yield "record", (after,)
            yield "step", (None if before is None else contract.present(before), after, code if addressed else None)


def is_row(facts: Any) -> bool:
    """A job store keeps more than jobs, and invariants speak of jobs."""
    return isinstance(facts, JobFacts) or hasattr(facts, "workload_id")


SAMPLES: Mapping[str, tuple[Contract, type[Any], Propose, int, int]] = {
    "workload": (WORKLOAD, Workload, propose_workloads, 60, 80),
    "jobs": (JOBS, Job, propose_jobs, 20, 120),
}


@pytest.fixture(scope="module")
def samples() -> Mapping[str, list[tuple[str, Asked]]]:
    return {name: list(asked_in(one[0], *one[2:])) for name, one in SAMPLES.items()}


@pytest.mark.parametrize("name", SAMPLES)
def test_an_invariant_reads_what_it_declares_and_no_more(
    name: str, samples: Mapping[str, list[tuple[str, Asked]]]
) -> None:
    for invariant in SAMPLES[name][0].invariants:
        ever: set[str] = set()
        for of, asked in samples[name]:
            if of != invariant.of:
                continue
            read = read_by(invariant, asked)
            assert undeclared(invariant, read) == set(), invariant.text
            ever |= read
        assert ever.issuperset(invariant.reads), (invariant.text, set(invariant.reads) - ever)


def undeclared(invariant: Invariant, read: set[str]) -> set[str]:
    """An empty list, or a carrier that is None, was on the way to what is declared."""

    def leads_to(path: str, declared: str) -> bool:
        return declared == path or declared.startswith((f"{path}.", f"{path}[]."))

    return {path for path in read if not any(leads_to(path, each) for each in invariant.reads)}


@frozen
class Part:
    weight: int
    name: str


@frozen
class Whole:
    name: str
    parts: tuple[Part, ...]
    best: Part | None


def test_what_is_read_is_noticed_at_every_depth() -> None:
    def holds(whole: Whole) -> bool:
        return whole.best is None or max(part.weight for part in whole.parts[1:]) <= whole.best.weight

    invariant = Invariant("TOY-INV-01", "record", "the best is the heaviest", holds, ("best", "parts[].weight"))
    whole = Whole("w", (Part(3, "a"), Part(1, "b")), Part(2, "c"))
    assert read_by(invariant, (whole,)) == {"best.weight", "parts[].weight"}
    assert undeclared(invariant, {"best.weight", "parts[].weight"}) == {"best.weight"}
    assert read_by(invariant, (evolve(whole, best=None),)) == {"best"}
    assert undeclared(invariant, {"best", "parts"}) == set()


def test_comparing_with_the_record_before_reads_nothing_of_it() -> None:
    def holds(before: Whole, after: Whole, _code: None) -> bool:
        return before == after and before.parts == after.parts[:2]

    invariant = Invariant("TOY-INV-02", "step", "it stays", holds, ("parts",))
    whole = Whole("w", (Part(3, "a"), Part(1, "b")), None)
    assert read_by(invariant, (whole, evolve(whole), None)) == {"parts"}


@pytest.mark.parametrize("name", SAMPLES)
def test_declared_paths_name_members_of_the_record(name: str) -> None:
    contract, record = SAMPLES[name][:2]
    for invariant in contract.invariants:
        assert len(set(invariant.reads)) == len(invariant.reads) > 0, invariant.text
        for path in invariant.reads:
            assert _exists(record, path), (invariant.text, path)


def _exists(carrier: Any, path: str) -> bool:
    for name in path.split("."):
        hint = get_type_hints(carrier, localns={"Json": object}).get(name.removesuffix("[]"))
        if hint is None:
            return False
        options = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
        carrier = next(each for each in options if each is not type(None))
        if name.endswith("[]"):
            assert get_origin(carrier) is tuple, path
            carrier = get_args(carrier)[0]
    return True
