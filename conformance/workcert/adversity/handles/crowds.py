"""Different calls at once on one handle, more than two: answers that are mixed up, writes that are lost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from workcert.backends.registry import LoadedBackend
from workcert.cases.model import Call, Case, Header, Together
from workcert.ordinary import ENVELOPE, WORKLOAD_REQUEST
from workcert.references import Ref
from workcert.run.case import lacking

AT_MS: Final = 1_000_000
AT_S: Final = 10


def crowds(backend: LoadedBackend, rounds: int) -> tuple[Case, ...]:
    """Those that this backend can be asked for."""
    made = {"jobs": _jobs, "workload": _workload}[backend.binding.name]
    return tuple(case for case in made(rounds) if not lacking(case, backend))


def _jobs(rounds: int) -> Iterator[Case]:
    two = [_enqueue("first", "j1"), _enqueue("second", "j2")]
    yield _case("jobs", "writers", [*two], [_enqueue(f"e{n}", f"k{n}") for n in range(6)], rounds)
    readers = [_job(f"r{n}", f"j{n % 2 + 1}") for n in range(4)]
    yield _case("jobs", "readers", [*two], [*readers, _enqueue("e", "k")], rounds, ("INSPECT",))
    admits = [
        _at(f"a{n}", "admit", worker="w", lease_id=f"l{n}", queues=["q"], capacity=1, lease_ms=30_000, quantum=1)
        for n in range(4)
    ]
    yield _case("jobs", "workers", [*two], admits, rounds)


def _enqueue(step: str, job: str) -> Call:
    return _at(step, "enqueue", envelopes=[{**ENVELOPE, "id": job}])


def _job(step: str, job: str) -> Call:
    return _at(step, "get_job", job_id=job, include_payload=True)


def _at(step: str, call: str, **arguments: Any) -> Call:
    return Call(step, "A", call, arguments, AT_MS)


def _workload(rounds: int) -> Iterator[Case]:
    two = [_admit("first", "one"), _admit("second", "two")]
    yield _case("workload", "writers", [*two], [_admit(f"a{n}", f"key-{n}") for n in range(6)], rounds)
    readers = [_get(f"r{n}", each.id) for n, each in enumerate(2 * two)]
    yield _case("workload", "readers", [*two], [*readers, _admit("a", "three")], rounds)
    claims = [
        Call(
            f"c{n}",
            "A",
            "claim",
            {
                "workload_id": _id(each.id),
                "worker_id": f"w{n}",
                "capabilities": ["email:send"],
                "lease_ms": 10_000,
            },
            AT_S + 1,
        )
        for n, each in enumerate(2 * two)
    ]
    yield _case("workload", "workers", [*two], claims, rounds)


def _admit(step: str, key: str) -> Call:
    return Call(step, "A", "admit", {"request": {**WORKLOAD_REQUEST, "idempotency_key": key}})


def _get(step: str, admitted: str) -> Call:
    return Call(step, "A", "get", {"workload_id": _id(admitted), "fresh": True})


def _id(step: str) -> Ref:
    return Ref(f"{step}.workload.workload_id")


def _case(
    contract: str, name: str, before: list[Call], crowd: list[Call], rounds: int, profiles: tuple[str, ...] = ()
) -> Case:
    header = Header(contract, f"{contract}/handles-shared-{name}", f"{name} at once on one handle", (), profiles)
    return Case(header, (*before, Together("at_once", tuple(crowd), rounds, shared=True)))
