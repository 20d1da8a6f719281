"""The order in which an enqueue validates its batch (5.2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from workspec.core.contract import Contract
from workspec.core.rule import (
    Batch,
    Check,
    Refuse,
    checks_of,
)
from workspec.render.jobs.reasons import reason_of
from workspec.render.markdown import code, links, prose, table
from workspec.render.operations import when_text


def enqueue_of(contract: Contract) -> Batch:
    operation = contract.operation("enqueue")
    assert isinstance(operation, Batch)
    return operation


def validation_blocks(contract: Contract) -> tuple[str, ...]:
    batch = enqueue_of(contract)
    numbers: dict[int, int] = {id(check): n for n, check in enumerate(checks_of(batch), 1)}
    blocks = [
        "An enqueue checks its whole batch in phases; each runs over all envelopes, in the order of the batch, before "
        "the next begins, and the first check that refuses decides the error and leaves nothing written. Inside one "
        "phase an envelope passes all its checks before the next envelope is looked at. "
        f"{links(('JOB-ENQ-01', 'JOB-ENQ-02'))}",
        "## Before any envelope",
        _validation(contract, batch.checks, numbers),
    ]
    for number, (phase, title) in enumerate(zip(batch.phases, PHASES, strict=True), 1):
        blocks += (f"## Phase {number}: {title}", _validation(contract, phase.checks, numbers))
    return tuple(blocks)


PHASES: Final = (
    "each envelope by itself",
    "what only a batch of one may ask",
    "ids",
    "quarantine, then uniqueness",
    "backpressure",
)
"""What the phases of an enqueue are about."""


def _validation(contract: Contract, checks: Iterable[Check], numbers: Mapping[int, int]) -> str:
    rows = []
    for check in checks:
        first = contract.catalogue[check.requirements[0]]
        refuses = isinstance(check, Refuse)
        rows.append(
            (
                str(numbers[id(check)]),
                code(check.code) if isinstance(check, Refuse) else "a replay: passed over",
                code(reason_of(check)) if isinstance(check, Refuse) else "",
                when_text(check.when),
                code(first.profile),
                prose(first.text) if refuses and first.prefix == "JOB-VAL" else "",
                links(check.requirements),
            )
        )
    return table(("#", "answer", "reason", "when", "profile", "in full", "requirements"), rows)
