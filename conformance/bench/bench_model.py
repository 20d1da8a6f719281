"""How many calls the model of the workload contract decides and commits in a second.

    PYTHONPATH=spec python conformance/bench/bench_model.py

Each call works on a record with twenty events, in a store of a hundred such records. The bar is 20,000 calls per
second: below it, searching the states of the model gets too slow for a run of a few minutes. Prints the median of five
rounds; the exit code is 1 below the bar.
"""

from __future__ import annotations

import statistics
import sys
import time

from attrs import evolve

from workspec.core.interpreter import Accepted, apply
from workspec.core.record import State
from workspec.core.scope import Call
from workspec.workload.contract import CONTRACT
from workspec.workload.rules import DEFAULT_POLICY
from workspec.workload.samples import REQUEST

BAR = 20_000
ROUNDS = 5
CALLS = 20_000
EVENTS = 20
STORED = 100
POLICY = evolve(DEFAULT_POLICY, max_attempts=50, initial_delay_ms=0)


def taken(state: State, name: str, now_s: int, **arguments: object) -> State:
    call = Call(name, arguments)
    done = apply(CONTRACT, state, call, CONTRACT.instant(call, now_s))
    assert isinstance(done.outcome, Accepted), (name, done.outcome)
    return done.state


def stored_work() -> tuple[State, str]:
    """A store of claimed work with twenty events each, and the id of one."""
    state: State = {}
    for number in range(STORED):
        state = taken(state, "admit", 10, request=evolve(REQUEST, idempotency_key=f"k{number}", retry_policy=POLICY))
    for key in sorted(state):
        while len(state[key].log.history) < EVENTS:
            state = taken(state, "claim", 11, **claiming(key))
            if len(state[key].log.history) < EVENTS:
                state = taken(state, "time_out", 11, workload_id=key, actor="operator")
    return state, min(state)


def claiming(key: str) -> dict[str, object]:
    return {"workload_id": key, "worker_id": "a", "capabilities": ("email:send",), "lease_ms": 10_000}


def calls_on(state: State, key: str) -> tuple[Call, ...]:
    """A working day: heartbeats, a start, a stale caller, a refused claim, a failure report."""
    claim = state[key].facts.claim
    fence = {
        "workload_id": key,
        "claim_id": claim.claim_id,
        "worker_id": claim.worker_id,
        "fencing_token": claim.fencing_token,
    }
    return (
        Call("heartbeat", {**fence, "extension_ms": 10_000}),
        Call("start", fence),
        Call("heartbeat", {**fence, "fencing_token": claim.fencing_token - 1, "extension_ms": 10_000}),
        Call("claim", claiming(key)),
        Call("fail", {**fence, "kind": "timeout", "error": "no route", "effect": None}),
    )


def calls_per_second(state: State, calls: tuple[Call, ...]) -> float:
    repeats = CALLS // len(calls)
    begin = time.perf_counter()
    for _ in range(repeats):
        for call in calls:
            apply(CONTRACT, state, call, 12)
    return repeats * len(calls) / (time.perf_counter() - begin)


def main() -> int:
    state, key = stored_work()
    calls = calls_on(state, key)
    rates = [calls_per_second(state, calls) for _ in range(ROUNDS)]
    median = statistics.median(rates)
    verdict = "ok" if median >= BAR else "TOO SLOW"
    print(f"{median:,.0f} calls per second (median of {ROUNDS}, from {min(rates):,.0f} to {max(rates):,.0f})")
    print(f"records with {len(state[key].log.history)} events; the bar is {BAR:,}: {verdict}")
    return 0 if median >= BAR else 1


if __name__ == "__main__":
    sys.exit(main())
