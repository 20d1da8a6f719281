"""Job stores whose rules are right and that forget, cache or do not guard: handles around the specification."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from attrs import evolve

from workcert.backends.specification import of
from workspec.core.interpreter import commit
from workspec.core.record import Record, State, replaced
from workspec.jobs.facts import JobFacts, QueueFacts, StoreFacts

from .handles import Around, Wrapped
from .jobs_model import JOBS, JobMiniature, ids
from .model import SCENARIOS, STATEFUL

Facts = Callable[[Any], Any]


def around(handle: type[Around], right: str, suite: str = SCENARIOS) -> JobMiniature:
    """The right store behind wrong handles; the fault is named by the first line of the class's docstring."""
    name = (handle.__doc__ or "").splitlines()[0].rstrip(".")
    name = name[0].lower() + name[1:]
    return JobMiniature(name, ids(right), lambda: Wrapped(handle, contract="jobs", right=of(JOBS)), suite=suite)


def forgetting(name: str, right: str, prefix: str, suite: str = SCENARIOS) -> JobMiniature:
    """A restart loses every record of a kind."""

    class Forgets(Around):
        def restarted(self) -> None:
            self.inner._shelf.state = {key: each for key, each in self.state.items() if not key.startswith(prefix)}

    Forgets.__doc__ = name
    return around(Forgets, right, suite)


def changing(name: str, right: str, kind: type[Any], suite: str = SCENARIOS, **facts: Facts) -> JobMiniature:
    """A restart writes these facts into every record of a kind."""

    class Changes(Around):
        def restarted(self) -> None:
            for key, record in self.state.items():
                if isinstance(record.facts, kind):
                    new = {member: value(record.facts) for member, value in facts.items()}
                    self.put(key, Record(record.version, replaced(record.facts, new), record.log))

    Changes.__doc__ = name
    return around(Changes, right, suite)


class ForgetsHistory(Around):
    """A restart loses the history."""

    def restarted(self) -> None:
        for key, record in self.state.items():
            if isinstance(record.facts, JobFacts):
                self.rewrite_log(key, history=())


RESTARTS = (
    forgetting("A restart loses the throttle windows.", "DUR-03", "hold/"),
    forgetting("A restart loses the buckets.", "DUR-03", "bucket/"),
    forgetting("A restart loses the register of fingerprints.", "DUR-03", "fingerprint/"),
    forgetting("A restart loses the duties.", "DUR-03", "duty/"),
    forgetting("A restart loses the effect keys.", "TXN-04 DUR-01 DUR-03", "effect/"),
    changing("A restart sets the cursors back.", "DUR-03", StoreFacts, cursors=lambda _facts: {}),
    changing("A restart unpauses the queues.", "DUR-03", QueueFacts, paused=lambda _facts: False),
    changing("A restart removes the limits.", "DUR-03", QueueFacts, limit=lambda _facts: None),
    changing("A restart resets the fences.", "GEN-07 DUR-01 DUR-02", JobFacts, fence=lambda _facts: 0),
    changing(
        "A restart gives every lease its length anew.",
        "DUR-02 DUR-01",
        JobFacts,
        STATEFUL,
        expires_at_ms=lambda facts: facts.expires_at_ms and 2 * facts.expires_at_ms - facts.claimed_at_ms,
    ),
    changing("A restart frees the lifecycle keys.", "DUR-01", JobFacts, unique_key=lambda _facts: None),
    around(ForgetsHistory, "DUR-01", STATEFUL),
)


class CachedSettings(Around):
    """A handle looks at pauses and limits once."""

    cache: State | None = None

    def __getattr__(self, name: str) -> Any:
        call = getattr(self.inner, name)
        return (lambda **arguments: self.cached(call, arguments)) if name in ("admit", "enqueue") else call

    def cached(self, call: Callable[..., Any], arguments: dict[str, Any]) -> Any:
        present = {key: record for key, record in self.state.items() if key.startswith("queue/")}
        self.cache = present if self.cache is None else self.cache
        self.inner._shelf.state = {**self.others(), **self.cache}
        try:
            return call(**arguments)
        finally:
            self.inner._shelf.state = {**self.others(), **present}

    def others(self) -> State:
        return {key: record for key, record in self.state.items() if not key.startswith("queue/")}

    def reset(self) -> None:
        self.inner.reset()
        self.cache = None


class CachedJobs(Around):
    """A handle shows each job as it read it first."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.cache: dict[str, Any] = {}

    def get_job(self, *, job_id: str, include_payload: bool) -> Any:
        if job_id not in self.cache:
            self.cache[job_id] = self.inner.get_job(job_id=job_id, include_payload=True)
        found = self.cache[job_id]
        return found if found is None or include_payload else evolve(found, payload=None, headers=None)

    def reset(self) -> None:
        self.inner.reset()
        self.cache.clear()


class CachedBuckets(Around):
    """A handle counts the tokens for itself."""

    mine: State | None = None

    def admit(self, **arguments: Any) -> Any:
        shared = {key: record for key, record in self.state.items() if key.startswith("bucket/")}
        others = {key: record for key, record in self.state.items() if not key.startswith("bucket/")}
        self.inner._shelf.state = {**others, **shared, **(self.mine or {})}
        try:
            return self.inner.admit(**arguments)
        finally:
            self.mine = {key: record for key, record in self.state.items() if key.startswith("bucket/")}
            left = {key: record for key, record in self.state.items() if not key.startswith("bucket/")}
            self.inner._shelf.state = {**left, **shared}

    def reset(self) -> None:
        self.inner.reset()
        self.mine = None


class Unguarded(Around):
    """A call writes what it decided on what it read, whatever has come since."""

    calls: tuple[str, ...] = ()

    def __getattr__(self, name: str) -> Any:
        if name not in self.calls:
            return getattr(self.inner, name)
        return lambda **arguments: self.unguarded(name, arguments)

    def unguarded(self, name: str, arguments: dict[str, Any]) -> Any:
        before = self.state
        decision = self.inner._decided(before, name, arguments)
        time.sleep(0.001)
        done = commit(self.inner._contract, before, decision)
        written = {key: record for key, record in done.state.items() if before.get(key) is not record}
        with self.inner._shelf.lock:
            self.inner._shelf.state = {**self.state, **written}
        return self.inner._answered(done.outcome)


class UnguardedAdmission(Unguarded):
    """Two admissions take one row."""

    calls = ("admit",)


class UnguardedReclaim(Unguarded):
    """Two reclaims count one lost lease twice."""

    calls = ("reclaim_expired",)


class UnguardedEnqueue(Unguarded):
    """Two producers take one key."""

    calls = ("enqueue",)


class UnguardedDuty(Unguarded):
    """Two holders have one duty."""

    calls = ("claim_duty",)


HANDLES = (
    around(CachedSettings, "MWR-01"),
    around(CachedJobs, "MWR-01"),
    around(CachedBuckets, "MWR-01 RATE-03"),
    around(UnguardedAdmission, "ADM-10 GEN-01"),
    around(UnguardedReclaim, "RCL-08 GEN-01"),
    around(UnguardedEnqueue, "UNQ-12 BPR-06 GEN-01"),
    around(UnguardedDuty, "DTY-01 GEN-01"),
)

WRONG_HANDLES = (*RESTARTS, *HANDLES)
