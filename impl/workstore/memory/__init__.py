"""The workload contract in memory: a test double for people who write workers, and an example to read.

Work is admitted once, whoever repeats the request, and one worker at a time holds it:

>>> from workspec.workload.vocabulary import AdmissionRequest, Grant, Subject
>>> from workstore.memory import WorkloadStore
>>> agent = Subject(kind="agent", id="billing")
>>> request = AdmissionRequest(
...     tenant_id="acme", application_id="shop", requested_by=agent, idempotency_key="invoice-17",
...     definition_id="send-invoice", definition_revision="r1", environment="production",
...     input={"invoice": 17}, capability_snapshot=("email:send",), connection_scopes=None, priority=None,
...     retry_policy=None, timeouts=None, dependencies=None, not_before=None, trigger=None, session_id=None,
...     created_at=100,
...     authorization_snapshot=Grant(subject=agent, tenant_id="acme", application_id="shop", signature="..."))
>>> store = WorkloadStore()
>>> admitted = store.admit(request=request)
>>> store.admit(request=request).created
False
>>> work = admitted.workload.workload_id
>>> claim = store.claim(
...     workload_id=work, worker_id="w1", capabilities=["email:send"], lease_ms=30_000, now_s=101)
>>> claim.expires_at
131
>>> fence = {"workload_id": work, "claim_id": claim.claim_id, "worker_id": "w1",
...          "fencing_token": claim.fencing_token}
>>> store.start(**fence, now_s=102)
>>> result = store.complete(
...     **fence, result_id="mail-1", output={"sent": True}, references=[], schema_version=1, now_s=103)
>>> store.get(workload_id=work).workload.state
'SUCCEEDED'

A test gives the instants itself, so it needs no waiting: ``store.recover_expired(now_s=131)`` is the worker that
never came back. `WorkloadStore.handle` gives a second process, `WorkloadStore.pause` a race that is lost.

To read it, begin with `store` (the verbs), then the modules of pure decisions that it calls: `admission`,
`execution`, `outcomes`, `deadlines`, `recovery`, `interventions`. `rows` holds what is committed, `handle` reads
and makes the one guarded write.
"""

from workstore.memory.store import WorkloadStore

__all__ = ["WorkloadStore"]
