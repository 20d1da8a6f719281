"""Stores that are wrong only where many processes use them or where one is killed, for the soak. Each is the SQLite
store with one fault around it, named by import path so that other processes find it."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Mapping
from typing import Any

from attrs import define, evolve, field

from workcert.backends.protocol import Place
from workspec.jobs.vocabulary import JobError, LeaseRef
from workspec.workload.vocabulary import WorkloadError
from workstore.backends import SqliteBackend, SqliteJobsBackend

BEHIND = 4


class Around:
    """What it does not say itself, the right handle does."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.calls = 0
        self.later: list[tuple[str, Mapping[str, Any]]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def write_behind(self, name: str, arguments: Mapping[str, Any]) -> None:
        """Done with those that come after it."""
        self.later.append((name, arguments))
        if len(self.later) < BEHIND:
            return
        later, self.later = self.later, []
        for name, arguments in later:
            with contextlib.suppress(JobError, WorkloadError):
                getattr(self.inner, name)(**arguments)

    def execute(self, statement: str, *values: Any) -> None:
        self.inner._connection.write(lambda connection: connection.execute(statement, values))

    def every(self, number: int) -> bool:
        self.calls += 1
        return self.calls % number == 0


# Jobs -----------------------------------------------------------------------------------------------------------


class EarlyJobs(Around):
    """Answers a success first and commits it with those that come after it."""

    def ack(self, **arguments: Any) -> None:
        if arguments["outcome"] != "success" or not holds(self.inner, arguments["lease"]):
            self.inner.ack(**arguments)
        else:
            self.write_behind("ack", arguments)


class FencelessJobs(Around):
    """Whoever reports on a running job is believed."""

    def ack(self, **arguments: Any) -> None:
        self._believing("ack", arguments)

    def ack_success_with_result(self, **arguments: Any) -> None:
        self._believing("ack_success_with_result", arguments)

    def _believing(self, name: str, arguments: dict[str, Any]) -> None:
        try:
            getattr(self.inner, name)(**arguments)
        except JobError:
            lease = arguments["lease"]
            held = current(self.inner, lease.job_id)
            if held is None:
                raise
            getattr(self.inner, name)(**{**arguments, "lease": held})


class LosingJobs(Around):
    """Now and then an enqueue is answered and not stored."""

    def enqueue(self, **arguments: Any) -> None:
        if not self.every(12):
            self.inner.enqueue(**arguments)


class TwiceJobs(Around):
    """Now and then an admission gives out what runs already, under a fence of its own."""

    def admit(self, **arguments: Any) -> Any:
        if self.every(10):
            self.execute(
                "UPDATE jobs SET state = 'available', lease_id = NULL, lease_expires_at_ms = NULL, "
                "claimed_at_ms = NULL WHERE state = 'running'"
            )
        return self.inner.admit(**arguments)


class HalvingJobs(Around):
    """A batch is stored job by job."""

    def enqueue(self, *, envelopes: Any) -> None:
        for envelope in envelopes:
            self.inner.enqueue(envelopes=(envelope,))


def current(handle: Any, job_id: str) -> LeaseRef | None:
    statement = "SELECT lease_id, fence FROM jobs WHERE id = ? AND state = 'running'"
    found = handle._connection.read(lambda connection: connection.execute(statement, (job_id,)).fetchone())
    return None if found is None else LeaseRef(job_id, *found)


def holds(handle: Any, lease: LeaseRef) -> bool:
    return current(handle, lease.job_id) == lease


# Workload -------------------------------------------------------------------------------------------------------


class EarlyWorkload(Around):
    """Answers a failure report first and commits it with those that come after it."""

    def fail(self, **arguments: Any) -> str:
        self.inner.execution_context(
            secret_references=(),
            now_s=arguments["now_s"],
            **{name: arguments[name] for name in ("workload_id", "claim_id", "worker_id", "fencing_token")},
        )
        self.write_behind("fail", arguments)
        return "READY"


class FencelessWorkload(Around):
    """Whoever reports on claimed work is believed."""

    def complete(self, **arguments: Any) -> Any:
        try:
            return self.inner.complete(**arguments)
        except WorkloadError:
            found = self.inner.get(workload_id=arguments["workload_id"])
            claim = None if found is None else found.workload.current_claim
            if claim is None:
                raise
            held = {"claim_id": claim.claim_id, "worker_id": claim.worker_id, "fencing_token": claim.fencing_token}
            return self.inner.complete(**{**arguments, **held})


class LosingWorkload(Around):
    """Now and then an admission is answered and not stored."""

    def admit(self, **arguments: Any) -> Any:
        admitted = self.inner.admit(**arguments)
        if self.every(12):
            self.execute("DELETE FROM workloads WHERE workload_id = ?", admitted.workload.workload_id)
        return admitted


class DoublingWorkload(Around):
    """An admission that was repeated is taken for another one."""

    def admit(self, *, request: Any) -> Any:
        if self.every(7):
            request = evolve(request, requested_by=evolve(request.requested_by, id=f"{self.calls}"))
            snapshot = evolve(request.authorization_snapshot, subject=request.requested_by)
            request = evolve(request, authorization_snapshot=snapshot)
        return self.inner.admit(request=request)


@define
class WrongJobs(SqliteJobsBackend):
    around: type[Around] = field(kw_only=True)

    def open(self, place: Place, config: Mapping[str, Any]) -> Any:
        return self.around(super().open(place, config))


@define
class WrongWorkload(SqliteBackend):
    around: type[Around] = field(kw_only=True)

    def open(self, place: Place, config: Mapping[str, Any]) -> Any:
        return self.around(super().open(place, config))


@define
class HangingJobs(SqliteJobsBackend):
    """Of those who open the place only the first ones come back, as where a killed process left a lock behind.
    ``first``: so many."""

    first: int = field(kw_only=True)

    def open(self, place: Place, config: Mapping[str, Any]) -> Any:
        with (place.path / "opened").open("a") as file:
            file.write("1")
        if (place.path / "opened").stat().st_size > self.first:
            time.sleep(600)
        return super().open(place, config)


@define
class LeavingJobs(SqliteJobsBackend):
    """Who opens it is to end."""

    code: int = field(kw_only=True)

    def open(self, _place: Place, _config: Mapping[str, Any]) -> Any:
        sys.exit(self.code)


EARLY_JOBS = WrongJobs(around=EarlyJobs)
FENCELESS_JOBS = WrongJobs(around=FencelessJobs)
LOSING_JOBS = WrongJobs(around=LosingJobs)
TWICE_JOBS = WrongJobs(around=TwiceJobs)
HALVING_JOBS = WrongJobs(around=HalvingJobs)
EARLY_WORKLOAD = WrongWorkload(around=EarlyWorkload)
FENCELESS_WORKLOAD = WrongWorkload(around=FencelessWorkload)
LOSING_WORKLOAD = WrongWorkload(around=LosingWorkload)
DOUBLING_WORKLOAD = WrongWorkload(around=DoublingWorkload)
HANGING_JOBS = HangingJobs(first=4)
HANGING_AT_ONCE = HangingJobs(first=0)
LEAVING_JOBS = LeavingJobs(code=0)
