"""The outcomes of an ack: what becomes of the row, refusals, back-off (7)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from workspec.core.contract import Contract
from workspec.core.rule import (
    Operation,
    Refuse,
)
from workspec.jobs import rules
from workspec.jobs.choices import RETRY_BASE_MS, RETRY_CAP_MS
from workspec.jobs.vocabulary import Outcome
from workspec.render.jobs.matrix import (
    ATTEMPT,
    CRASHES,
    DUE,
    FINALIZED,
    HISTORY,
    KEY,
    LEASE,
    RESULT,
    _cell,
    _operation_link,
    _states,
    on_rows,
)
from workspec.render.jobs.reasons import reason_of
from workspec.render.markdown import code, links, plain, table
from workspec.render.operations import choice_link, when_text

ACK_METHODS: Final = {f"ack {name}": "ack" for name in (*(outcome.value for outcome in Outcome), "unknown")}
"""An operation for each outcome to the method that comes to it; the last is for what is no outcome."""
OUTCOME_COLUMNS: Final = (ATTEMPT, CRASHES, DUE, FINALIZED, LEASE, KEY, HISTORY, RESULT)
BACKOFFS: Final = (1, 2, 3, 11, 12, 13, 14)


def acks(contract: Contract) -> tuple[Operation, ...]:
    """The operations that an ack comes to: one for each outcome, and that with a result."""
    names = {*ACK_METHODS, "ack_success_with_result"}
    return tuple(o for o in contract.operations if isinstance(o, Operation) and o.name in names)


def outcome_blocks(contract: Contract) -> tuple[str, ...]:
    base, cap = int(RETRY_BASE_MS.default), int(RETRY_CAP_MS.default)
    operations = acks(contract)
    return (
        "An ack is one method and an operation for each outcome. Its arguments are checked first, then who holds the "
        "lease, then the charge is settled, then the row moves; nothing before that writes. The end of the lease is no "
        f"part of holding it. {links(('JOB-ACK-01', 'JOB-ACK-02', 'JOB-ACK-03', 'JOB-RATE-12'))}",
        "## What becomes of the row",
        table(
            ("outcome", "if", "to", *OUTCOME_COLUMNS, "requirements"),
            [row for operation in operations for row in _outcome_rows(contract, operation)],
        ),
        f"A charge is settled where an actual weight is given, whatever the outcome; see [rates](rates.md#settlement). "
        f"Checkpoint, output and progress stay as they are until the row is gone. "
        f"{links(('JOB-RATE-09', 'JOB-ACK-15'))}",
        "## Refusals in their order",
        table(
            ("outcome", "#", "code", "reason", "when", "requirements"),
            [
                (
                    _operation_link(operation.name),
                    str(number),
                    code(check.code),
                    code(reason_of(check)),
                    when_text(check.when),
                    links(check.requirements),
                )
                for operation in operations
                for number, check in enumerate(operation.checks, 1)
                if isinstance(check, Refuse)
            ],
        ),
        "## Back-off",
        "The delay of a retry is `delay_ms` as given, if above 0; else the back-off of the new attempt: the base times "
        "two to the power of the lesser of n - 1 and 20, at most the cap. Lost leases are counted apart, and their "
        f"back-off is that of the new crash count. {links(('JOB-ACK-07', 'JOB-ACK-08', 'JOB-RCL-03'))}",
        table(
            ("n", "back-off", "requirements"),
            [(str(n), f"{rules.backoff_ms(n, base, cap):,} ms", links(("JOB-ACK-08",))) for n in BACKOFFS],
        ),
        f"With the base of {base:,} ms ({choice_link(RETRY_BASE_MS)}) and the cap of {cap:,} ms "
        f"({choice_link(RETRY_CAP_MS)}).",
    )


def _outcome_rows(contract: Contract, operation: Operation) -> Iterator[tuple[str, ...]]:
    name = _operation_link(operation.name)
    cases = [case for case in on_rows(contract) if case.operation is operation]
    for case in cases:
        cells = (_cell(case, column) for column in OUTCOME_COLUMNS)
        yield name, plain(case.only_if), _states((case.target,)), *cells, links(case.requirements)
    if not cases:
        refusal = next(check for check in operation.checks if isinstance(check, Refuse))
        cells = ("=" for _ in OUTCOME_COLUMNS)
        answer = f"refused: {code(refusal.code)} {code(reason_of(refusal))}"
        yield name, "", answer, *cells, links(refusal.requirements)
