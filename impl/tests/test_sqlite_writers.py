"""Several processes on one file, from the moment when it is not there yet."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

from workstore.sqlite import WorkloadStore

# A program of its own: a child of multiprocessing would look for this module by name, which it has only for pytest.
WORKER = """
import json, pickle, sys
from workspec.workload.vocabulary import WorkloadError
from workstore.sqlite import WorkloadStore

path, worker = sys.argv[1:]
requests = pickle.load(sys.stdin.buffer)
won = []
with WorkloadStore.open(path, synchronous="NORMAL", busy_timeout_ms=20_000) as store:
    print("ready", flush=True)
    sys.stdin.buffer.readline()
    for request in requests:
        work = store.admit(request=request).workload.workload_id
        try:
            held = store.claim(
                workload_id=work, worker_id=worker, capabilities=["email:send"], lease_ms=1000, now_s=11
            )
        except WorkloadError:
            continue
        fence = dict(workload_id=work, claim_id=held.claim_id, worker_id=worker, fencing_token=held.fencing_token)
        store.start(**fence, now_s=11)
        store.complete(**fence, result_id=work, output=1, references=[], schema_version=1, now_s=11)
        won.append(work)
print(json.dumps(won))
"""


def test_processes_that_race_from_an_absent_file_win_each_workload_once(path: Path, asking: Any, owner: Any) -> None:
    requests = pickle.dumps([asking(idempotency_key=str(number)) for number in range(25)])
    processes = [
        subprocess.Popen([sys.executable, "-c", WORKER, path, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for name in "abc"
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write(requests)
        process.stdin.flush()
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
    won = []
    for process in processes:
        assert process.stdin is not None
        process.stdin.write(b"go\n")
        process.stdin.flush()
    for process in processes:
        won += json.loads(process.communicate(timeout=60)[0])
    assert [process.returncode for process in processes] == [0, 0, 0]
    assert len(won) == len(set(won)) == 25
    with WorkloadStore.open(path) as store:
        listed = store.list_workloads(**owner)
        assert {(row.version, row.workload.state) for row in listed} == {(4, "SUCCEEDED")}
