"""Job stores that are wrong in operators' verbs, inspection, quarantine and transactions: the in-memory one with a line
that reads otherwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workstore.memory.jobs import inspection, operators
from workstore.memory.jobs.index import Index
from workstore.memory.jobs.transactions import JobTransaction, Transactions, _claim_effect

from .jobs_model import Edit, JobMiniature, edited
from .model import STATEFUL


def in_any_state(
    name: str, right: str, verb: Callable[..., Any], states: str, suite: str = "scenarios"
) -> JobMiniature:
    """A verb that does not look at the state."""
    return edited(name, right, Edit(verb, states, "frozenset(State)"), suite=suite)


VERBS = (
    in_any_state("finished jobs can be cancelled", "OPR-02 OPR-01", operators.cancel, "UNFINISHED"),
    in_any_state("completed jobs can be retried", "OPR-04 OPR-01", operators.retry, "RETRIABLE", STATEFUL),
    in_any_state("scheduled jobs can be promoted by hand", "OPR-07 OPR-01", operators.promote, "{State.PENDING}"),
    in_any_state("available jobs can be rescheduled", "OPR-09 OPR-01", operators.reschedule, "WAITING_FOR_DUE_TIME"),
    in_any_state("a running job's payload can be edited", "OPR-10 OPR-01", operators.edit_payload, "AT_REST"),
    in_any_state("a running job can be deleted", "OPR-11 OPR-01", operators.delete, "AT_REST"),
    edited(
        "retryable jobs cannot be cancelled",
        "OPR-02",
        Edit(operators.cancel, "UNFINISHED", "UNFINISHED - {State.RETRYABLE}"),
    ),
    edited(
        "a cancelled runner keeps its lease",
        "OPR-02 OPR-03 GEN-06 ACK-01",
        Edit(
            operators.cancel,
            "view.put(finalized(row, State.CANCELLED, now_ms))",
            "view.put(evolve(finalized(row, State.CANCELLED, now_ms), lease=row.lease))",
        ),
    ),
    edited("a retried job may share its key", "OPR-05", Edit(operators.retry, "if holder is not None", "if False")),
    edited(
        "a retried job does not take its key again",
        "OPR-05 UNQ-02",
        Edit(
            operators.retry,
            "    view.put(due_at(row, State.AVAILABLE, now_ms))",
            "    view.put(evolve(due_at(row, State.AVAILABLE, now_ms), lifecycle_key=None))",
        ),
    ),
    edited(
        "an operator's retry gives a fresh budget",
        "OPR-04 OPR-06 GEN-08",
        Edit(
            operators.retry,
            "    view.put(due_at(row,",
            "    view.put(due_at(evolve(row, envelope=evolve(row.envelope, attempt=0)),",
        ),
    ),
    edited(
        "an operator's retry resets the fence",
        "GEN-07 OPR-04",
        Edit(operators.retry, "    view.put(due_at(row,", "    view.put(due_at(evolve(row, fence=0),"),
    ),
    edited(
        "an operator's retry keeps the end",
        "OPR-04 INV-08",
        Edit(
            operators.retry,
            "    view.put(due_at(row, State.AVAILABLE, now_ms))",
            "    view.put(evolve(due_at(row, State.AVAILABLE, now_ms), finalized_at_ms=row.finalized_at_ms))",
        ),
    ),
    edited(
        "an operator's retry keeps the old due time",
        "OPR-04",
        Edit(operators.retry, "State.AVAILABLE, now_ms)", "State.AVAILABLE, row.due_ms)"),
    ),
    edited(
        "a rescheduled job is available where the instant has passed",
        "OPR-09",
        Edit(
            operators.reschedule,
            "due_at(row, row.state, at_ms)",
            "due_at(row, State.AVAILABLE if at_ms <= 1_000_000 else row.state, at_ms)",
        ),
    ),
    edited(
        "an edited payload keeps the fingerprint",
        "OPR-10",
        Edit(operators.edit_payload, ", fingerprint=fingerprint)", ")"),
    ),
    edited(
        "deleting leaves the key",
        "OPR-11 UNQ-03",
        Edit(
            operators.delete,
            '    view.remove(_row_in(view, job_id, AT_REST, "delete_job"))',
            '    row = _row_in(view, job_id, AT_REST, "delete_job")\n'
            "    hold = row.lifecycle_key and view.lifecycle_holds.get(row.lifecycle_key)\n"
            "    view.remove(row)\n"
            "    if hold:\n"
            "        view.lifecycle_holds.put(row.lifecycle_key, hold)",
        ),
    ),
    edited(
        "deleting a former holder frees the key",
        "UNQ-03",
        Edit(
            operators.delete,
            '    view.remove(_row_in(view, job_id, AT_REST, "delete_job"))',
            '    row = _row_in(view, job_id, AT_REST, "delete_job")\n'
            "    view.remove(row)\n"
            "    if row.lifecycle_key:\n"
            "        view.lifecycle_holds.remove(row.lifecycle_key)",
        ),
    ),
)
QUARANTINE = (
    edited(
        "a release looks at no key",
        "QUA-05 PRT-09",
        Edit(operators.release_fingerprint, "_other_holder(view, row) is None", "True"),
    ),
    edited(
        "a release resets the crashes",
        "QUA-06 GEN-08 QUA-05",
        Edit(
            operators.release_fingerprint,
            "due_at(row,",
            "due_at(evolve(row, envelope=evolve(row.envelope, crash_attempt=0)),",
        ),
    ),
    edited(
        "a released fingerprint stays registered",
        "QUA-05 QUA-01",
        Edit(operators.release_fingerprint, "    view.registry.remove(fingerprint)", "    pass"),
    ),
    edited(
        "releasing an unknown fingerprint releases nothing",
        "QUA-05",
        Edit(operators.release_fingerprint, "raise fingerprint_not_found(fingerprint)", "return 0"),
    ),
    edited(
        "the quarantine sweep passes pending jobs over",
        "QUA-04 TRN-32",
        Edit(
            operators.sweep_quarantined,
            "    parked = ",
            "    waiting = iter([p for p in waiting if view.present(p[1]).state != State.PENDING])\n    parked = ",
        ),
    ),
    edited(
        "the quarantine sweep leaves the slots",
        "BPR-08 QUA-04",
        Edit(
            operators.sweep_quarantined,
            "        view.put(",
            "        row = view.present(job_id)\n"
            "        view.unfinished.put(row.queue, (view.unfinished.get(row.queue) or 0) + 1)\n"
            "        view.put(",
        ),
    ),
)
INSPECTION = (
    edited(
        "a page begins one row late",
        "INS-04",
        Edit(inspection.list_jobs, "bisect_right(ids, cursor)", "bisect_right(ids, cursor) + 1"),
    ),
    edited(
        "a page begins with the last row of the one before",
        "INS-04",
        Edit(inspection.list_jobs, "bisect_right(ids, cursor)", "bisect_right(ids, cursor) - 1"),
        suite=STATEFUL,
    ),
    edited(
        "any tag is enough for all of some",
        "INS-04",
        Edit(
            inspection._matches,
            "not tags.issuperset(where.tags_all)",
            "where.tags_all and tags.isdisjoint(where.tags_all)",
        ),
    ),
    edited(
        "a page shows payloads", "INS-04", Edit(inspection.list_jobs, "include_payload=False", "include_payload=True")
    ),
    edited(
        "deleted rows are counted",
        "INS-05 INV-10",
        Edit(
            Index.move,
            "        _remove(self.ids, before.id)",
            "        _remove(self.ids, before.id)\n        self.by_queue_and_state[before.queue, before.state] += 1",
        ),
    ),
    edited(
        "counts of a queue are of all", "INS-05", Edit(inspection.counts, "queue is None or its_queue == queue", "True")
    ),
    edited(
        "statistics count finished rows as unfinished",
        "BPR-11 INS-06 INV-05",
        Edit(
            inspection._stats,
            "unfinished = tables.unfinished.get(queue, 0)",
            "unfinished = sum(counts(tables, queue).by_state.values())",
        ),
    ),
    edited(
        "a queue with a limit alone is not listed",
        "BPR-12 PRT-13",
        Edit(inspection.queue_stats, " | tables.limits.keys() | tables.pauses.keys()", ""),
    ),
    edited(
        "the rate class explains before quarantine",
        "INS-07",
        Edit(
            inspection._blocker,
            "    if row.envelope.fingerprint in tables.registry:",
            "    if (rate := _rate_blocker(tables, row, now_ms)) is not None:\n"
            "        return rate\n"
            "    if row.envelope.fingerprint in tables.registry:",
        ),
    ),
    edited(
        "a paused queue is explained last",
        "INS-07",
        Edit(
            inspection._blocker,
            '    if tables.pauses.get(row.queue):\n        return Blocker("queue_paused", None)\n',
            "",
        ),
    ),
    edited(
        "a job shows its crash as no orphan",
        "INS-03",
        Edit(inspection.job_of, "envelope.crash_attempt > 0", "envelope.crash_attempt > 0 and row.lease is None"),
    ),
    edited(
        "payloads are always shown",
        "INS-01",
        Edit(inspection.job_of, "envelope.payload if include_payload else None", "envelope.payload"),
    ),
    edited(
        "an operator's read refills the bucket",
        "RATE-17 RATE-05",
        Edit(
            inspection.rate_class,
            "    available = ",
            "    tokens = buckets.available_tokens(bucket, now_ms)\n"
            "    tables.buckets[name] = bucket = buckets.evolve(bucket, tokens=tokens, refilled_at_ms=now_ms)\n"
            "    available = ",
        ),
    ),
    edited(
        "available tokens ignore what was gained",
        "RATE-17",
        Edit(inspection.rate_class, "buckets.available_tokens(bucket, now_ms)", "bucket.tokens"),
    ),
)
TRANSACTIONS = (
    edited(
        "a transaction is seen before its commit",
        "TXN-01",
        Edit(
            Transactions._run,
            "return transaction.run(decide, shared.clock.now_ms())",
            "answer = transaction.run(decide, shared.clock.now_ms())\n"
            "        shared.tables.apply(transaction.replayed(shared.tables) or View(shared.tables))\n"
            "        transaction._calls.clear()\n"
            "        return answer",
        ),
    ),
    edited(
        "a rollback commits",
        "TXN-01",
        Edit(
            Transactions.roll_transaction_back,
            "        self._end(transaction)",
            "        self._end(transaction)\n"
            "        self._shared.tables.apply(transaction.replayed(self._shared.tables))",
        ),
    ),
    edited(
        "a rollback leaves the key",
        "TXN-01 TXN-02",
        Edit(
            Transactions.roll_transaction_back,
            "        self._end(transaction)",
            "        self._end(transaction)\n"
            "        for key, hold in transaction._view.lifecycle_holds.changes.items():\n"
            "            if hold is not None:\n"
            "                self._shared.tables.lifecycle_holds.setdefault(key, hold)",
        ),
    ),
    edited(
        "a rollback leaves the effect key",
        "TXN-04 TXN-01",
        Edit(
            Transactions.roll_transaction_back,
            "        self._end(transaction)",
            "        self._end(transaction)\n"
            "        self._shared.tables.effects.update(transaction._view.effects.changes)",
        ),
    ),
    edited(
        "a rollback leaves the settlement",
        "TXN-03 TXN-01",
        Edit(
            Transactions.roll_transaction_back,
            "        self._end(transaction)",
            "        self._end(transaction)\n"
            "        self._shared.tables.buckets.update(transaction._view.buckets.changes)",
        ),
    ),
    edited(
        "a Duplicate ends the transaction",
        "TXN-02",
        Edit(JobTransaction.run, "        raise", "        self.end()\n        raise"),
    ),
    edited(
        "a commit after a Duplicate writes nothing",
        "TXN-02 TXN-01",
        Edit(
            JobTransaction.replayed,
            "    view = View(tables)",
            "    view = View(tables)\n"
            "    if any(isinstance(call.answer, tuple) and call.answer[0] == 'Duplicate' for call in self._calls):\n"
            "        return view",
        ),
    ),
    edited(
        "an ended transaction takes calls",
        "TXN-01",
        Edit(
            Transactions._own,
            "    if not self._closed:\n        _check_open(transaction)",
            "    if transaction.ended:\n        return self.begin()",
        ),
    ),
    edited(
        "an effect key is claimed as often as asked",
        "TXN-04",
        Edit(_claim_effect, "if view.effects.get(key)", "if False"),
    ),
    edited("an empty effect key is a key", "TXN-04", Edit(Transactions.claim_effect, "if not key", "if False")),
    edited(
        "a completion in a transaction settles nothing",
        "TXN-03",
        Edit(Transactions.complete_tx, "actual_weight=actual_weight)\n    backoff", "actual_weight=None)\n    backoff"),
    ),
    edited(
        "an enqueue in a transaction looks at no key",
        "TXN-02",
        Edit(
            Transactions.enqueue_tx,
            "validation.check_batch(batch)",
            "validation.check_batch(batch)\n    batch = enqueue.without_uniqueness(batch)",
        ),
    ),
)

WRONG_OPERATORS = (*VERBS, *QUARANTINE, *INSPECTION, *TRANSACTIONS)
