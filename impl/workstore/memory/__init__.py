"""The workload contract in memory: a test double for people who write workers, and an example to read.

    store = WorkloadStore()
    admitted = store.admit(request=request)
    work = admitted.workload.workload_id
    claim = store.claim(
        workload_id=work, worker_id="a", capabilities=("email:send",), lease_ms=10_000, now_s=11
    )

Read `store` first (the verbs), then the modules of pure decisions that it calls: `admission`, `execution`,
`outcomes`, `deadlines`, `recovery`, `interventions`. `rows` holds what is committed, `handle` reads and
makes the one guarded write.
"""

from workstore.memory.store import WorkloadStore

__all__ = ["WorkloadStore"]
