"""The workload contract on one SQLite file: durable, for the threads and processes of one machine.

A worker takes the work and is never heard of again; another, after a restart, goes on at the checkpoint:

>>> from workspec.workload.vocabulary import AdmissionRequest, Grant, Subject
>>> from workstore.sqlite import WorkloadStore
>>> agent = Subject(kind="agent", id="billing")
>>> request = AdmissionRequest(
...     tenant_id="acme", application_id="shop", requested_by=agent, idempotency_key="invoice-17",
...     definition_id="send-invoice", definition_revision="r1", environment="production",
...     input={"invoice": 17}, capability_snapshot=(), connection_scopes=None, priority=None,
...     retry_policy=None, timeouts=None, dependencies=None, not_before=None, trigger=None, session_id=None,
...     created_at=100,
...     authorization_snapshot=Grant(subject=agent, tenant_id="acme", application_id="shop", signature="..."))
>>> with WorkloadStore.open("work.db") as store:
...     work = store.admit(request=request).workload.workload_id
...     lost = store.claim(workload_id=work, worker_id="w1", capabilities=[], lease_ms=30_000, now_s=101)
...     fence = {"workload_id": work, "claim_id": lost.claim_id, "worker_id": "w1",
...              "fencing_token": lost.fencing_token}
...     store.start(**fence, now_s=102)
...     checkpoint = store.checkpoint(**fence, state={"rendered": True}, now_s=103)
>>> store = WorkloadStore.open("work.db")
>>> store.recover_expired(now_s=130), store.recover_expired(now_s=131) == [work]
([], True)
>>> claim = store.claim(workload_id=work, worker_id="w2", capabilities=[], lease_ms=30_000, now_s=132)
>>> context = store.execution_context(
...     workload_id=work, claim_id=claim.claim_id, worker_id="w2", fencing_token=claim.fencing_token,
...     secret_references=["smtp"], now_s=132)
>>> [kept.state for kept in context.checkpoints]
[{'rendered': True}]
>>> store.heartbeat(**fence, extension_ms=30_000, now_s=133)
Traceback (most recent call last):
workspec.workload.vocabulary.WorkloadError: ...
>>> store.close()

Execution is at-least-once: the first worker may have sent the mail. What it may no longer do is report.

To read it, begin with `store` and `worker` (the verbs), then the modules of pure decisions that they call:
`admission`, `claims`, `reports`, `deadlines`, `recovery`, `interventions`. `rows` holds the statements, `handle`
makes the one guarded write, `connection` says when a failure of the file is definite.
"""

from .store import WorkloadStore

__all__ = ["WorkloadStore"]
