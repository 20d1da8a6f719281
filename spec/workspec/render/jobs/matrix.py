"""The effect matrix: what each operation writes in each case, and what it leaves (2.4).

It has a cell for every fact that an effect declares to write. What a cell says stands in `CELLS`, for a function cannot
print what it computes; which cells there are follows from the rules alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from workspec.core.contract import Contract, steps_of
from workspec.core.rule import (
    Effect,
    walk_steps,
)
from workspec.jobs.facts import UNFINISHED
from workspec.jobs.tables import DELETED, NEW
from workspec.render.cases import Case, Written, cases_of
from workspec.render.markdown import code, codes, links, plain, table
from workspec.render.uses import anchor

FENCE, ATTEMPT, CRASHES, DUE, FINALIZED, LEASE = "fence", "attempt", "crash_attempt", "due", "finalized", "lease"
KEY, SLOT, HISTORY, CHARGE, BUCKET = "lifecycle key", "slot", "history", "charge", "bucket"
CHECKPOINT, OUTPUT, PROGRESS, RESULT = "checkpoint", "output", "progress", "result"
CONTENT, OTHERS = "content", "other records"

FACTS: Final[Mapping[str, tuple[str, ...]]] = {
    FENCE: ("fence",),
    ATTEMPT: ("attempt",),
    CRASHES: ("crash_attempt",),
    DUE: ("scheduled_at_ms",),
    FINALIZED: ("finalized_at_ms",),
    LEASE: ("lease_id", "expires_at_ms", "claimed_at_ms"),
    HISTORY: ("log.history",),
    CHARGE: ("charge",),
    CHECKPOINT: ("checkpoint",),
    OUTPUT: ("output",),
    PROGRESS: ("progress",),
    RESULT: ("result",),
    CONTENT: ("payload", "schema_version", "fingerprint", "tags", "priority", "max_attempts"),
}
"""The columns of the matrix that show facts of a row, with those that each shows."""

CELLS: Final[Mapping[str, Mapping[str, str]]] = {
    "make row": {
        FENCE: "0", ATTEMPT: "0", CRASHES: "0", DUE: "now + debounce, else as given, else now", FINALIZED: "unset",
        LEASE: "none", HISTORY: "empty", CHARGE: "0", CHECKPOINT: "empty", OUTPUT: "none", PROGRESS: "none",
        RESULT: "none", CONTENT: "as given, defaults filled in",
    },
    "replace payload": {CONTENT: "schema version, payload, fingerprint"},
    "replace due": {DUE: "as given, else now"},
    "replace priority": {CONTENT: "priority"},
    "replace max attempts": {CONTENT: "max attempts"},
    "debounce": {DUE: "now + debounce", CONTENT: "schema version, payload, fingerprint, tags"},
    "lease row": {FENCE: "+1", LEASE: "set, to now + lease"},
    "note charge": {CHARGE: "cost, 0 without a bucket"},
    "clear lease": {LEASE: "cleared"},
    "finalize": {FINALIZED: "now"},
    "count attempt": {ATTEMPT: "+1"},
    "back off": {DUE: "now + delay, else + backoff(attempt + 1)"},
    "snooze": {DUE: "now + delay"},
    "keep place": {DUE: "min(old, now)"},
    "note success": {HISTORY: "entry"},
    "note retry": {HISTORY: "entry"},
    "note end": {HISTORY: "entry"},
    "clear charge": {CHARGE: "0"},
    "store result": {RESULT: "set"},
    "store output": {OUTPUT: "set, with fence and now"},
    "store progress": {PROGRESS: "set, with fence and now"},
    "store checkpoint": {CHECKPOINT: "replaced whole"},
    "count crash": {CRASHES: "+1", CHECKPOINT: "the crash counted on its step in progress"},
    "back off crash": {DUE: "now + backoff(crash_attempt + 1)"},
    "note crash": {HISTORY: "entry"},
    "due now": {DUE: "now", FINALIZED: "unset"},
    "due as given": {DUE: "as given"},
    "edit content": {CONTENT: "payload, schema version, fingerprint"},
    "move lease end": {LEASE: "end: now + lease"},
}  # fmt: skip
"""Effect on a row, and column, to what the cell says."""

BUCKETS: Final[Mapping[str, str]] = {
    "refill": "+gain",
    "charge bucket": "-cost",
    "settle": "+gain, then +charge - actual",
    "reset bucket": "tokens = burst",
    "configure bucket": "tokens = min(tokens, burst), burst if new; if paused at most 0",
}
"""Effect on the bucket of a class to what its cell says."""

RECORDS: Final[Mapping[str, str]] = {
    "hold key for window": "the hold on the key",
    "count rows": "the store's counters",
    "rotate": "the store's counters",
    "register fingerprint": "the quarantine register",
    "unregister released": "the quarantine register",
    "hold duty": "the duty",
    "free duty": "the duty",
    "pause": "the queue's settings",
    "unpause": "the queue's settings",
    "set limit": "the queue's settings",
    "claim key": "the effect keys",
    **dict.fromkeys(BUCKETS, "the bucket of the class"),
}
"""Effect to the record that it changes, where that is no row."""

SHORT: Final[Mapping[str, str]] = {
    "the request is pending": "pending",
    "not: the request is pending and requested due > now": "due later",
    "not: the request is pending and not (requested due > now)": "due",
    "attempts after this < max attempts": "attempts left",
    "not (attempts after this < max attempts)": "none left",
    "crashes with this < crash limit": "below the limit",
    "not (crashes with this < crash limit)": "at the limit",
    "an actual weight is given for a charge that its bucket knows": "an actual weight is given",
    "retention > 0": "retained",
    "not (retention > 0)": "not retained",
}
"""Conditions in fewer words, for the diagram and the cells of the matrix."""


def columns_of(effect: Effect) -> tuple[str, ...]:
    """The columns in which an effect shows, by the facts that it declares to write.

    Raises:
        ValueError: it writes a fact that no column shows.
    """
    if effect.name in BUCKETS:
        return (BUCKET,)
    if effect.name in RECORDS:
        return (OTHERS,)
    if "*" in effect.writes:
        return tuple(FACTS)
    unseen = set(effect.writes) - {fact for facts in FACTS.values() for fact in facts}
    if unseen:
        raise ValueError(f"the effect matrix has no column for what {effect.name} writes: {sorted(unseen)}")
    return tuple(column for column, facts in FACTS.items() if set(facts) & set(effect.writes))


def _said(effect: Effect, column: str) -> str:
    if column == BUCKET:
        return BUCKETS[effect.name]
    if column == OTHERS:
        return f"{effect.name} ({RECORDS[effect.name]})"
    return CELLS[effect.name][column]


def _cell(case: Case, column: str) -> str:
    """What becomes of one column; an equals sign where no effect of the case writes it."""
    if column in (KEY, SLOT):
        return (_key if column == KEY else _slot)(case)
    said = [_conditional(written, column) for written in case.written if column in columns_of(written.effect)]
    if case.target == DELETED and column in FACTS:
        return "gone"
    return "<br>".join(said) or ("" if column == OTHERS else "=")


def _conditional(written: Written, column: str) -> str:
    text = plain(_said(written.effect, column))
    open_ones = " and ".join(SHORT.get(condition, condition) for condition in written.only_if)
    return f"{text}, if {plain(open_ones)}" if open_ones else text


def _is_unfinished(state: str) -> bool:
    return state in UNFINISHED


def _change(case: Case) -> tuple[bool, bool]:
    """Whether the row is unfinished before and after."""
    before = any(map(_is_unfinished, case.sources))
    return before, _is_unfinished(case.target) if case.target else before


def _key(case: Case) -> str:
    before, after = _change(case)
    if before == after:
        return "=" if case.target != DELETED else "none"
    if after:
        return "taken" if case.sources == (NEW,) else "taken again"
    return "freed"


def _slot(case: Case) -> str:
    before, after = _change(case)
    return "=" if before == after else "+1" if after else "-1"


COLUMNS: Final = (
    FENCE, ATTEMPT, CRASHES, DUE, FINALIZED, LEASE, KEY, SLOT, HISTORY, CHARGE, BUCKET, CHECKPOINT, OUTPUT, PROGRESS,
    RESULT, CONTENT, OTHERS,
)  # fmt: skip


def _operation_link(name: str) -> str:
    return f"[{plain(name)}](operations.md#{anchor(name)})"


def _where(case: Case) -> str:
    """Operation, and what tells this case from its others."""
    parts = [_operation_link(case.operation.name)]
    if case.record:
        parts.append(plain(f"{'on ' if case.record.startswith('the ') else ''}{case.record}"))
    if case.only_if:
        parts.append(plain(SHORT.get(case.only_if, case.only_if)))
    return ", ".join(parts)


def _states(names: Iterable[str]) -> str:
    return "<br>".join(f"*{name}*" if name in (NEW, DELETED) else code(name) for name in names)


def on_rows(contract: Contract) -> tuple[Case, ...]:
    """The cases that change a row; those that change other records only are listed apart."""
    return tuple(
        case
        for case in cases_of(contract, _is_unfinished)
        if case.target or case.record or any(w.effect.name not in RECORDS for w in case.written)
    )


def effects_of(contract: Contract) -> tuple[Effect, ...]:
    """Every effect once, in the order in which the operations come to them."""
    steps = (step for operation in contract.operations for step in walk_steps(steps_of(operation)))
    return tuple({id(step): step for step in steps if isinstance(step, Effect)}.values())


def effect_blocks(contract: Contract) -> tuple[str, ...]:
    shown = on_rows(contract)
    unseen = [case for case in cases_of(contract, _is_unfinished) if case not in shown]
    return (
        "What each operation writes, in each case that it can come to. A cell is filled where an effect of the case "
        "declares that it writes there; an equals sign says that none does. The slot is the row's place among the "
        "unfinished ones of its queue; slot and lifecycle key follow from the states: a row has both while it is "
        "pending, scheduled, available, running or retryable. A hold in throttle mode is touched by nothing but the "
        f"enqueue that takes it. {links(('JOB-UNQ-03', 'JOB-UNQ-06', 'JOB-BPR-08'))}",
        table(
            ("operation, case", "from", "to", *COLUMNS, "requirements"),
            [
                (
                    _where(case),
                    _states(case.sources) or "=",
                    _states((case.target,)) if case.target else "=",
                    *(_cell(case, column) for column in COLUMNS),
                    links(case.requirements),
                )
                for case in shown
            ],
        ),
        "## Records that are no rows",
        table(
            ("operation", "record", "effect", "what it does", "requirements"),
            [
                (
                    _where(case),
                    plain(RECORDS[written.effect.name]),
                    plain(written.effect.name),
                    plain(written.effect.text),
                    links(written.effect.requirements),
                )
                for case in unseen
                for written in case.written
            ],
        ),
        "## What the effects declare",
        table(
            ("effect", "what it does", "writes", "of", "requirements"),
            [
                (
                    plain(effect.name),
                    plain(effect.text),
                    "all" if "*" in effect.writes else codes(effect.writes),
                    plain(RECORDS.get(effect.name, "the row")),
                    links(effect.requirements),
                )
                for effect in effects_of(contract)
            ],
        ),
    )
