"""Transactions of a caller, and effects that happen once.

Families: JOB-TXN.
"""

from __future__ import annotations

from typing import Final

from workspec.core.requirement import Kind, Requirement
from workspec.jobs.profiles import TXN

TRANSACTIONS: Final = (
    Requirement(
        "JOB-TXN-01",
        "Work done in a transaction is invisible to others until it is committed and vanishes when it is "
        "rolled back. A transaction of another store, or one that has ended, is "
        "`Invalid(foreign_transaction)`.",
        Kind.RULE,
        TXN,
    ),
    Requirement(
        "JOB-TXN-02",
        "`enqueue_tx` applies all rules of an enqueue inside the transaction. A `Duplicate` does not poison "
        "it, and the edit of one with `replaced` = true is committed or dropped with it.",
        Kind.RULE,
        TXN,
    ),
    Requirement(
        "JOB-TXN-03",
        "`complete_tx` is a success, with optional actual weight, inside the transaction; anyone but the "
        "holder gets `LeaseRejected`, and a rollback takes the settlement back too.",
        Kind.RULE,
        TXN,
    ),
    Requirement(
        "JOB-TXN-04",
        "`claim_effect` is true the first time and false once a committed transaction has claimed the key; a "
        "claim that was rolled back leaves no trace, and an empty key is `Invalid(empty_effect_key)`. Keys "
        "are never released.",
        Kind.RULE,
        TXN,
    ),
    Requirement(
        "JOB-TXN-05",
        "`checkpoint_tx` is a checkpoint by the holder inside the transaction.",
        Kind.RULE,
        TXN,
    ),
    Requirement(
        "JOB-TXN-06",
        "`once`, whose effect key is the job id, is an error without transactions. If the key is claimed "
        "already it rolls back and reports so, the effect is not run and the job is not completed by this "
        "call; an error of the handler rolls back; a completion that is `LeaseRejected` rolls back and stops "
        "as a lost lease. On success it commits, and the worker must not ack again.",
        Kind.RULE,
        TXN,
        not_asserted="Client code; tested with the library.",
    ),
    Requirement(
        "JOB-TXN-07",
        "`step_once`, whose effect key is the job id, a slash and the name of the step, first writes the "
        "checkpoint with the step in progress outside the transaction; effects, key and the checkpoint of its "
        "completion commit together.",
        Kind.RULE,
        TXN,
        not_asserted="Client code; tested with the library.",
    ),
    Requirement(
        "JOB-TXN-08",
        "Steps replay by position: a position must be called with the name recorded there, else the "
        "checkpoint is stale and the job becomes undecodable; a name used twice in one attempt is an error. "
        "The step in progress is persisted before its body and its completion after, and each write checks "
        "the fence.",
        Kind.RULE,
        TXN,
        not_asserted="Client code; tested with the library.",
    ),
)
