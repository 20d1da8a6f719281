"""Every operation of the jobs contract, in the order in which tables print them."""

from __future__ import annotations

from typing import Final

from workspec.jobs.operations import admission, clock, enqueue, inspection, operators, sweeps, transactions, worker

OPERATIONS: Final = (
    enqueue.ENQUEUE,
    admission.ADMIT,
    *worker.OPERATIONS,
    *sweeps.OPERATIONS,
    *operators.OPERATIONS,
    *inspection.OPERATIONS,
    transactions.CLAIM_EFFECT,
    *clock.OPERATIONS,
)
