"""What the tests of the stores share: requests, one workload to drive, and handles on either store.

A test that takes `store`, or anything made on it, runs once on each store; a module that is about one of them
overrides `kind`. Helpers are fixtures that give functions, since test modules cannot import their neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve, frozen

from workspec.workload.vocabulary import (
    AdmissionRequest,
    Attempt,
    Claim,
    Event,
    Grant,
    Json,
    RetryPolicy,
    Subject,
    Timeouts,
    Workload,
    WorkloadError,
)
from workstore.memory import WorkloadStore as MemoryStore
from workstore.memory.jobs import JobStore as MemoryJobs
from workstore.sqlite import WorkloadStore as SqliteStore
from workstore.sqlite.jobs import JobStore as SqliteJobs

from .jobs_driver import T0, Driver, OpenJobs
from .jobs_driver import race as at_once

AGENT = Subject(kind="agent", id="a1")
GRANT = Grant(subject=AGENT, tenant_id="t", application_id="app", signature="signed")
POLICY = RetryPolicy(
    max_attempts=3,
    backoff="fixed",
    initial_delay_ms=1000,
    max_delay_ms=60_000,
    retry_on=frozenset({"worker_failure", "timeout", "transient_connection"}),
)
NO_TIMEOUTS = Timeouts(queue_ms=None, claim_ms=None, execution_ms=None, heartbeat_ms=None, overall_ms=None)
REQUEST = AdmissionRequest(
    tenant_id="t",
    application_id="app",
    requested_by=AGENT,
    idempotency_key="one",
    definition_id="definition",
    definition_revision="r1",
    environment="production",
    input={"id": 1},
    capability_snapshot=("email:send",),
    connection_scopes=None,
    priority=None,
    retry_policy=POLICY,
    timeouts=None,
    dependencies=None,
    not_before=None,
    trigger=None,
    session_id=None,
    created_at=10,
    authorization_snapshot=GRANT,
)
PARTS = {
    "requested_by": AGENT,
    "retry_policy": POLICY,
    "timeouts": NO_TIMEOUTS,
    "authorization_snapshot": GRANT,
}


def _asking(**changes: Any) -> AdmissionRequest:
    for name, base in PARTS.items():
        if isinstance(changes.get(name), dict):
            changes[name] = evolve(base, **changes[name])
    request = evolve(REQUEST, **changes)
    if "authorization_snapshot" in changes:
        return request
    grant = Grant(request.requested_by, request.tenant_id, request.application_id, GRANT.signature)
    return evolve(request, authorization_snapshot=grant)


def _refused(call: Callable[..., object], *arguments: Any, **named: Any) -> WorkloadError:
    with pytest.raises(WorkloadError) as caught:
        call(*arguments, **named)
    return caught.value


@frozen
class Driven:
    """One admitted workload and short names for the calls on it; instants come last but for what is optional."""

    store: Any
    workload_id: str

    def on(self, handle: Any) -> Driven:
        """The same workload through another handle."""
        return Driven(handle, self.workload_id)

    @property
    def record(self) -> Workload:
        return self.read(fresh=True)

    def read(self, fresh: bool) -> Workload:
        found = self.store.get(workload_id=self.workload_id, fresh=fresh)
        assert found is not None
        return found.workload

    def inject(self, version: int | None = 1, **changes: Any) -> None:
        self.store.inject(record=evolve(self.record, **changes), version=version)

    @property
    def version(self) -> int | None:
        return self.store.snapshot()[self.workload_id]

    @property
    def states(self) -> list[str]:
        return [event.to_state for event in self.record.execution_history]

    def event(self, state: str) -> Event:
        """The last event to this state."""
        return next(event for event in reversed(self.record.execution_history) if event.to_state == state)

    @property
    def decision(self) -> str | None:
        """What the last event says of the decision behind it."""
        return self.record.execution_history[-1].evidence.get("decision")

    @property
    def attempt(self) -> Attempt:
        return self.record.attempts[-1]

    def claim(self, worker: str, at: int, lease_ms: int = 10_000, capabilities: Any = ("email:send",)) -> Claim:
        return self.store.claim(
            workload_id=self.workload_id, worker_id=worker, capabilities=capabilities, lease_ms=lease_ms, now_s=at
        )

    def fence(self, claim: Claim) -> dict[str, Any]:
        return {
            "workload_id": self.workload_id,
            "claim_id": claim.claim_id,
            "worker_id": claim.worker_id,
            "fencing_token": claim.fencing_token,
        }

    def start(self, claim: Claim, at: int) -> None:
        self.store.start(**self.fence(claim), now_s=at)

    def claim_and_start(self, worker: str, claim_at: int, start_at: int, lease_ms: int = 10_000) -> Claim:
        claim = self.claim(worker, claim_at, lease_ms)
        self.start(claim, start_at)
        return claim

    def heartbeat(self, claim: Claim, at: int, extension_ms: int = 10_000) -> Claim:
        return self.store.heartbeat(**self.fence(claim), extension_ms=extension_ms, now_s=at)

    def context(self, claim: Claim, at: int, *references: str) -> Any:
        return self.store.execution_context(**self.fence(claim), secret_references=references, now_s=at)

    def checkpoint(self, claim: Claim, state: Json, at: int) -> Any:
        return self.store.checkpoint(**self.fence(claim), state=state, now_s=at)

    def complete(self, claim: Claim, at: int, result_id: str = "r", output: Json = None) -> Any:
        return self.store.complete(
            **self.fence(claim), result_id=result_id, output=output, references=(), schema_version=1, now_s=at
        )

    def fail(self, claim: Claim, at: int, kind: str, error: str = "x", effect: str | None = None) -> str:
        return self.store.fail(**self.fence(claim), kind=kind, error=error, effect=effect, now_s=at)

    def retry(self, at: int, reason: str | None = None) -> None:
        self.store.retry(workload_id=self.workload_id, actor="operator", reason=reason, now_s=at)

    def time_out(self, at: int) -> str:
        return self.store.time_out(workload_id=self.workload_id, actor="actor", now_s=at)

    def cancel(self, at: int) -> str:
        return self.store.cancel(workload_id=self.workload_id, actor="actor", now_s=at)

    def acknowledge_cancel(self, claim: Claim, at: int) -> str:
        return self.store.acknowledge_cancel(**self.fence(claim), now_s=at)

    def expire(self, at: int) -> bool:
        """Run the deadline pass; whether it expired this workload."""
        return self.store.enforce_deadlines(now_s=at) == [self.workload_id]

    def recover(self, at: int) -> bool:
        return self.store.recover_expired(now_s=at) == [self.workload_id]


# --- requests


@pytest.fixture
def asking() -> Callable[..., AdmissionRequest]:
    """Makes the base request with changes. A dict changes members of a part: ``timeouts={"queue_ms": 1}``. The
    grant is for whoever asks, unless it is changed itself."""
    return _asking


@pytest.fixture
def policy() -> RetryPolicy:
    return POLICY


@pytest.fixture
def no_timeouts() -> Timeouts:
    return NO_TIMEOUTS


@pytest.fixture
def owner() -> dict[str, str]:
    """The tenant and application of the base request, as `list_workloads` takes them."""
    return {"tenant_id": REQUEST.tenant_id, "application_id": REQUEST.application_id}


# --- stores


@pytest.fixture(params=["memory", "sqlite"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the SQLite store of this test lives."""
    return tmp_path / "work.db"


@pytest.fixture
def open_handle(kind: str, path: Path) -> Iterator[Callable[..., Any]]:
    """Opens a handle on the one store of this test, which is empty at first."""
    with ExitStack() as handles:
        first: list[MemoryStore] = []

        def open_one(**options: Any) -> Any:
            if kind == "sqlite":
                return handles.enter_context(SqliteStore.open(path, synchronous="NORMAL", **options))
            first.append(first[0].handle(**options) if first else MemoryStore(**options))
            return handles.enter_context(first[-1])

        yield open_one


@pytest.fixture
def store(open_handle: Callable[..., Any]) -> Any:
    return open_handle()


@pytest.fixture
def other(store: Any, open_handle: Callable[..., Any]) -> Any:  # noqa: ARG001 - opened after the first
    """A second handle on the same store."""
    return open_handle()


@pytest.fixture
def open_jobs(kind: str, path: Path) -> Iterator[OpenJobs]:
    """Opens a job store with these settings, its clock at T0; of SQLite, each time a handle on the one file."""
    with ExitStack() as opened:

        def open_one(**settings: Any) -> Driver:
            if kind == "memory":
                return Driver(MemoryJobs(**settings)).at(T0)
            store = SqliteJobs.open(path.with_name("jobs.db"), synchronous="NORMAL", **settings)
            opened.callback(store.close)
            return Driver(store).at(T0)

        yield open_one


@pytest.fixture
def drive(store: Any) -> Callable[..., Driven]:
    """Admits the base request with changes, and gives the workload to drive."""

    def admitted(**changes: Any) -> Driven:
        answer = store.admit(request=_asking(**changes))
        assert answer.created
        return Driven(store, answer.workload.workload_id)

    return admitted


@pytest.fixture
def driven() -> type[Driven]:
    """For a workload that is there already, or nowhere."""
    return Driven


# --- outcomes


@pytest.fixture
def refused() -> Callable[..., WorkloadError]:
    """Makes a call that must be refused; the refusal."""
    return _refused


@pytest.fixture
def code_of() -> Callable[..., str]:
    """Makes a call that must be refused; the code."""
    return lambda call, *arguments, **named: str(_refused(call, *arguments, **named).code)


@pytest.fixture
def race() -> Callable[..., list[Any]]:
    """Makes calls at once, each in a thread; their answers, or the codes of their refusals, in order."""

    def together(*calls: Callable[[], object]) -> list[Any]:
        answers = at_once(*calls)
        for answer in answers:
            if isinstance(answer, Exception) and not isinstance(answer, WorkloadError):
                raise answer
        return [answer.code if isinstance(answer, WorkloadError) else answer for answer in answers]

    return together
