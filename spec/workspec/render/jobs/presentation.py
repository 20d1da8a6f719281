"""The pages of the jobs contract, and what the pages that all contracts have say of it."""

from __future__ import annotations

from typing import Final

from workspec.jobs.facts import EVICTABLE, UNFINISHED, WAITING
from workspec.jobs.operations.admission import ADMIT
from workspec.jobs.ports import (
    BackpressureStore,
    ClockStore,
    InspectStore,
    JobStore,
    OutputStore,
    PauseStore,
    ProgressStore,
    RateStore,
    ResultStore,
    Transaction,
    TransactionalStore,
)
from workspec.jobs.tables import DELETED, NEW
from workspec.jobs.vocabulary import ErrorCode
from workspec.render.jobs.diagram import DIAGRAM
from workspec.render.jobs.matrix import RECORDS, effect_blocks
from workspec.render.jobs.outcomes import ACK_METHODS, outcome_blocks
from workspec.render.jobs.rates import rate_blocks
from workspec.render.jobs.reasons import reason_of
from workspec.render.jobs.uniqueness import uniqueness_blocks
from workspec.render.jobs.validation import validation_blocks
from workspec.render.markdown import links
from workspec.render.presentation import (
    ExtraPage,
    Presentation,
)

PRESENTATION: Final = Presentation(
    ports=(
        JobStore,
        PauseStore,
        RateStore,
        ResultStore,
        OutputStore,
        ProgressStore,
        ClockStore,
        BackpressureStore,
        InspectStore,
        TransactionalStore,
        Transaction,
    ),
    details={
        ErrorCode.DUPLICATE: "`existing_id` (the holder of the key), `replaced` (whether it was edited)",
        ErrorCode.ID_CONFLICT: "`job_id`",
        ErrorCode.QUARANTINED: "`fingerprint`",
        ErrorCode.BACKPRESSURE: "`queue`, `limit`, `current` (unfinished jobs), `incoming` (those of the batch)",
        ErrorCode.LEASE_REJECTED: "`job_id`",
        ErrorCode.NOT_FOUND: "`what` (job or fingerprint), `id`",
        ErrorCode.INVALID: "`reason`; with `wrong_state` the `state` too",
    },
    pages=(
        ExtraPage(
            "effects.md",
            "The effect matrix: what each operation writes in each case, and what it leaves.",
            "Effect matrix",
            effect_blocks,
        ),
        ExtraPage(
            "outcomes.md",
            "The outcomes of an ack: what becomes of the row, refusals, back-off.",
            "Outcomes of an ack",
            outcome_blocks,
        ),
        ExtraPage(
            "validation.md",
            "The order in which an enqueue validates its batch.",
            "Order of validation",
            validation_blocks,
        ),
        ExtraPage(
            "uniqueness.md",
            "Uniqueness: modes, keys, conflicts, replacement bits and debounce.",
            "Uniqueness",
            uniqueness_blocks,
        ),
        ExtraPage("rates.md", "The arithmetic of rate classes, with examples.", "Rate arithmetic", rate_blocks),
    ),
    diagram=DIAGRAM,
    title="A job store: batch enqueue, admission inside the store, fenced acks, leases, uniqueness, quarantine.",
    preface=(
        "All instants and durations are integer milliseconds of the store's own clock, which each operation reads "
        f"once; no caller says what time it is. {links(('JOB-GEN-02', 'JOB-GEN-03', 'JOB-GEN-04'))}",
    ),
    reason=reason_of,
    methods=ACK_METHODS,
    records=RECORDS,
    events=False,
    overtaken=f"Atomic: as if the calls of all handles came one after another. {links(('JOB-GEN-01',))}",
    unstored=frozenset({NEW, DELETED}),
    properties={
        "unfinished, holds its key": lambda state: state in UNFINISHED,
        "waiting": lambda state: state in WAITING,
        "admissible": lambda state: state in ADMIT.states,
        "evictable": lambda state: state in EVICTABLE,
    },
)
