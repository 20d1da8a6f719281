"""What calls on the SQLite workload store cost, and how little that depends on the rows stored.

Run ``python impl/bench/bench_sqlite_workload.py``, which takes less than a minute. Sizes are measured in turn within
each round and compared by their medians, since the speed of a machine drifts.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from attrs import evolve, frozen

PROJECT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(PROJECT / "spec"), str(PROJECT / "impl")]

from workspec.workload.vocabulary import (  # noqa: E402
    AdmissionRequest,
    Claim,
    Grant,
    Subject,
    Timeouts,
    Workload,
)
from workstore.sqlite import WorkloadStore  # noqa: E402
from workstore.sqlite.rows import putting  # noqa: E402

REQUESTER = Subject("agent", "a1")
REQUEST = AdmissionRequest(
    tenant_id="t",
    application_id="app",
    requested_by=REQUESTER,
    idempotency_key="template",
    definition_id="definition",
    definition_revision="r1",
    environment="production",
    input={"text": "x" * 100},
    capability_snapshot=("email:send",),
    connection_scopes=None,
    priority=None,
    retry_policy=None,
    timeouts=Timeouts(None, None, None, None, 10**9),
    dependencies=None,
    not_before=None,
    trigger=None,
    session_id=None,
    created_at=10,
    authorization_snapshot=Grant(REQUESTER, "t", "app", "signed"),
)
DUE = 10
ROUNDS = 7
NOW_S = 100


@frozen
class Case:
    name: str
    prepare: Callable[[WorkloadStore, str], list[str]]
    run: Callable[[WorkloadStore, list[str]], object]


def claim(store: WorkloadStore, workload_id: str, lease_ms: int = 10**9) -> Claim:
    return store.claim(
        workload_id=workload_id,
        worker_id="a",
        capabilities=["email:send"],
        lease_ms=lease_ms,
        now_s=NOW_S,
    )


def admitted(store: WorkloadStore, key: str, overall_ms: int = 10**9) -> str:
    timeouts = Timeouts(None, None, None, None, overall_ms)
    request = evolve(REQUEST, idempotency_key=key, timeouts=timeouts)
    return store.admit(request=request).workload.workload_id


def ready(store: WorkloadStore, key: str) -> list[str]:
    return [admitted(store, f"{key} {number}") for number in range(DUE)]


def leased(store: WorkloadStore, key: str) -> list[str]:
    ids = ready(store, key)
    for workload_id in ids:
        claim(store, workload_id, lease_ms=1000)
    return ids


def overdue(store: WorkloadStore, key: str) -> list[str]:
    return [admitted(store, f"{key} {number}", overall_ms=1000) for number in range(DUE)]


def claim_all(store: WorkloadStore, ids: list[str]) -> None:
    for workload_id in ids:
        claim(store, workload_id)


def recover(store: WorkloadStore, ids: list[str]) -> None:
    if store.recover_expired(now_s=NOW_S + 1) != sorted(ids):
        raise SystemExit("recovery found other rows than those due")


def enforce(store: WorkloadStore, ids: list[str]) -> None:
    if store.enforce_deadlines(now_s=NOW_S) != sorted(ids):
        raise SystemExit("the deadline pass found other rows than those due")


def admit_more(store: WorkloadStore, ids: list[str]) -> None:
    for workload_id in ids:
        admitted(store, f"more than {workload_id}")


CASES = (
    Case(f"{DUE} claims by id", ready, claim_all),
    Case(f"recovery pass, {DUE} due", leased, recover),
    Case(f"deadline pass, {DUE} due", overdue, enforce),
    Case(f"{DUE} admissions", ready, admit_more),
)


def backlog(template: Workload, count: int) -> Iterator[Workload]:
    """Half waiting, half leased far into the future, all with a deadline: so every index of a pass is full."""
    held = Claim("claim", "a", 1, 11, 10**9, 11)
    for number in range(count):
        record = evolve(template, workload_id=f"backlog {number:08}", idempotency_key=str(number))
        yield evolve(record, state="CLAIMED", current_claim=held) if number % 2 else record


def filled(directory: Path, count: int, synchronous: str) -> WorkloadStore:
    store = WorkloadStore.open(directory / f"{count}-{synchronous}.db", synchronous=synchronous)
    template = store.admit(request=REQUEST).workload
    writes = [putting(record, 1) for record in backlog(template, count)]
    values = [write.parameters for write in writes]
    store._connection.write(lambda connection: connection.executemany(writes[0].statement, values))
    return store


def seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def medians(case: Case, stores: list[WorkloadStore]) -> list[float]:
    """Milliseconds of the case on each store, the stores taking turns."""
    taken: list[list[float]] = [[] for _ in stores]
    for round_number in range(ROUNDS):
        for store, times in zip(stores, taken, strict=True):
            ids = case.prepare(store, f"{case.name} {round_number}")
            times.append(seconds(partial(case.run, store, ids)))
    return [statistics.median(times) * 1000 for times in taken]


def compare_sizes(directory: Path, sizes: tuple[int, int], synchronous: str) -> None:
    stores = [filled(directory, size, synchronous) for size in sizes]
    print(f"\nsynchronous={synchronous}, median of {ROUNDS}, milliseconds")
    print(f"{'':28}{sizes[0]:>12,}{sizes[1]:>12,}{'ratio':>8}")
    for case in CASES:
        small, large = medians(case, stores)
        print(f"{case.name:28}{small:12.3f}{large:12.3f}{large / small:8.2f}")
    for store in stores:
        store.close()


def claim_and_complete(store: WorkloadStore, ids: list[str]) -> None:
    for workload_id in ids:
        held = claim(store, workload_id)
        fence = {"workload_id": workload_id, "claim_id": held.claim_id, "worker_id": "a"}
        store.start(**fence, fencing_token=held.fencing_token, now_s=NOW_S)
        store.complete(
            **fence,
            fencing_token=held.fencing_token,
            result_id=workload_id,
            output={"sent": 1},
            references=[],
            schema_version=1,
            now_s=NOW_S,
        )


def throughput(directory: Path) -> None:
    count = 200
    print(f"\none process, workloads per second, median of {ROUNDS} rounds of {count}")
    levels = ("FULL", "NORMAL")
    stores = {name: WorkloadStore.open(directory / f"{name}.db", synchronous=name) for name in levels}
    rates: dict[str, list[float]] = {name: [] for name in stores}
    for round_number in range(ROUNDS):
        for name, store in stores.items():
            ids = [admitted(store, f"{round_number} {number}") for number in range(count)]
            rates[name].append(count / seconds(partial(claim_and_complete, store, ids)))
    for name, store in stores.items():
        print(f"claim, start and complete, {name:10}{statistics.median(rates[name]):8.0f}")
        store.close()


def reading(directory: Path) -> None:
    with WorkloadStore.open(directory / "reading.db", synchronous="NORMAL") as store:
        workload_id = admitted(store, "one")
        for _ in range(5):
            store.time_out(workload_id=workload_id, actor="o", now_s=NOW_S)
        taken = [seconds(partial(store.get, workload_id=workload_id)) for _ in range(1000)]
    print(f"\nget of a record with 11 events {statistics.median(taken) * 1e6:.1f} us")


def resetting(directory: Path) -> None:
    with WorkloadStore.open(directory / "reset.db") as store:
        reset, fresh = [], []
        for number in range(20):
            ready(store, str(number))
            reset.append(seconds(store.reset))
            opening = partial(WorkloadStore.open, directory / f"fresh-{number}.db")
            fresh.append(seconds(lambda opening=opening: opening().close()))  # type: ignore[misc]
    one, other = statistics.median(reset) * 1000, statistics.median(fresh) * 1000
    print(f"\nreset of {DUE} rows {one:.2f} ms, fresh file {other:.2f} ms, ratio {one / other:.2f} (FULL)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs=2, default=(2_000, 200_000), metavar=("FEW", "MANY"))
    few, many = parser.parse_args().rows
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        for synchronous in ("FULL", "NORMAL"):
            compare_sizes(directory, (few, many), synchronous)
        throughput(directory)
        reading(directory)
        resetting(directory)


if __name__ == "__main__":
    main()
