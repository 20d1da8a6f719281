"""Several processes on one file, from the moment when it is not there yet."""

from __future__ import annotations

import multiprocessing
from pathlib import Path
from typing import Any

from workspec.workload.vocabulary import AdmissionRequest, WorkloadError
from workstore.sqlite import WorkloadStore


def _work_in_a_process(
    path: Path, worker_id: str, requests: list[AdmissionRequest], barrier: Any, answers: Any
) -> None:
    with WorkloadStore.open(path, synchronous="NORMAL", busy_timeout_ms=20_000) as store:
        barrier.wait(20)
        won: list[str] = []
        for request in requests:
            workload_id = store.admit(request=request).workload.workload_id
            try:
                held = store.claim(
                    workload_id=workload_id, worker_id=worker_id, capabilities=["email:send"], lease_ms=1000, now_s=11
                )
            except WorkloadError:
                continue
            fence = {"workload_id": workload_id, "claim_id": held.claim_id, "worker_id": worker_id, "fencing_token": 1}
            store.start(**fence, now_s=11)
            store.complete(**fence, result_id=workload_id, output=1, references=[], schema_version=1, now_s=11)
            won.append(workload_id)
        answers.put(won)


def test_processes_that_race_from_an_absent_file_win_each_workload_once(path: Path, asking: Any, owner: Any) -> None:
    requests = [asking(idempotency_key=str(number)) for number in range(25)]
    context = multiprocessing.get_context("spawn")
    barrier, answers = context.Barrier(3), context.Queue()
    processes = [
        context.Process(target=_work_in_a_process, args=(path, name, requests, barrier, answers)) for name in "abc"
    ]
    for process in processes:
        process.start()
    won = [workload_id for _ in processes for workload_id in answers.get(timeout=60)]
    for process in processes:
        process.join(20)
    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert len(won) == len(set(won)) == 25
    with WorkloadStore.open(path) as store:
        listed = store.list_workloads(**owner)
        assert {(row.version, row.workload.state) for row in listed} == {(4, "SUCCEEDED")}
