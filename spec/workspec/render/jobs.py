"""How the jobs contract is shown: the pages that it alone has, and the layout of its diagram.

The effect matrix has a cell for every fact that an effect declares to write. What a cell says stands in `CELLS`, for a
function cannot print what it computes; which cells there are follows from the rules alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any, Final

from attrs import evolve

from workspec.core.condition import Condition, Every
from workspec.core.contract import Contract, steps_of
from workspec.core.rule import (
    Batch,
    Check,
    Effect,
    On,
    Operation,
    Phase,
    Refuse,
    Step,
    When,
    checks_of,
    walk_steps,
)
from workspec.jobs import effects, rules, terms
from workspec.jobs.choices import RETRY_BASE_MS, RETRY_CAP_MS
from workspec.jobs.facts import EVICTABLE, UNFINISHED, WAITING, BucketFacts
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
from workspec.jobs.vocabulary import ErrorCode, Outcome, Replace, State
from workspec.render.cases import Case, Known, Written, cases_of
from workspec.render.markdown import code, codes, links, plain, prose, table
from workspec.render.operations import choice_link, when_text
from workspec.render.presentation import (
    Diagram,
    ExtraPage,
    Group,
    LabelAt,
    Presentation,
    Route,
    bottom,
    left,
    right,
    top,
)
from workspec.render.uses import anchor

# Reasons ---------------------------------------------------------------------------------------------------------

_NOTHING: Final[Any] = SimpleNamespace(facts=SimpleNamespace(state=""))
"""Stands for a scope: the reason of a check is the same in every one."""


def reason_of(check: Refuse) -> str:
    """The ``reason`` of an Invalid; empty for the other codes, which have none."""
    if check.code != ErrorCode.INVALID or check.details is None:
        return ""
    return str(check.details(_NOTHING)["reason"])


# What effects write ----------------------------------------------------------------------------------------------

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


# Outcomes of an ack ----------------------------------------------------------------------------------------------

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


# Order of validation ---------------------------------------------------------------------------------------------


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


# Uniqueness ------------------------------------------------------------------------------------------------------


def edit_steps(contract: Contract) -> tuple[Step, ...]:
    """What a conflicting enqueue does to the holder of its key."""
    found = [
        step
        for check in checks_of(enqueue_of(contract))
        for step in getattr(check, "committing", ())
        if isinstance(step, On)
    ]
    (on,) = found
    return on.steps


def uniqueness_blocks(contract: Contract) -> tuple[str, ...]:
    rows = contract.transitions.rows
    frees = [row for row in rows if _is_unfinished(row.source) and not _is_unfinished(row.target)]
    keeps = [row for row in rows if _is_unfinished(row.source) and _is_unfinished(row.target)]
    retakes = [row for row in rows if not _is_unfinished(row.source) and _is_unfinished(row.target)]
    return (
        "A key conflicts with a hold on the same effective key in the same mode, across queues and partitions. The "
        "window of the request chooses the mode; holds of the two modes do not see each other. "
        f"{links(('JOB-UNQ-01', 'JOB-UNQ-08', 'JOB-UNQ-11'))}",
        "## Modes",
        table(
            ("mode", "when", "held", "requirements"),
            [
                (
                    "lifecycle",
                    code("unique_window_ms = 0"),
                    f"while the row is {', '.join(code(state) for state in UNFINISHED)}",
                    links(("JOB-UNQ-02", "JOB-UNQ-03")),
                ),
                (
                    "throttle",
                    code("unique_window_ms > 0"),
                    "from the enqueue until, but not at, enqueue + window, whatever becomes of the row",
                    links(("JOB-UNQ-05", "JOB-UNQ-06", "JOB-UNQ-07")),
                ),
            ],
        ),
        "## Effective key",
        table(
            ("request", "bytes of the key", "example", "requirements"),
            [
                _example("kind counts", "1, `K`, length of the kind in 32 bits, big-endian, kind, key", excluded=False),
                _example("`unique_exclude_kind`", "1, `G`, key", excluded=True),
            ],
        ),
        "The examples are of the kind `mail` and the key `a`.",
        "## What events do to a lifecycle key",
        table(
            ("the key is", "by", "requirements"),
            [
                (name, plain(", ".join(dict.fromkeys(row.event for row in found))), _ids_of(found, identifiers))
                for name, found, identifiers in (
                    ("taken", [row for row in retakes if row.source == NEW], ("JOB-UNQ-03",)),
                    ("kept", keeps, ("JOB-UNQ-04",)),
                    ("freed", frees, ("JOB-UNQ-03",)),
                    ("taken again", [row for row in retakes if row.source != NEW], ("JOB-OPR-05", "JOB-QUA-05")),
                )
            ],
        ),
        "An event stands in two rows where its guard decides: a retry keeps the key while attempts are left.",
        "## Conflicts, in their order",
        _conflicts(contract),
        "## What a conflict does to the holder",
        "Only a batch of one may ask for it. The call is refused with `Duplicate` all the same, and this is the one "
        f"refusal that commits. {links(('JOB-VAL-22', 'JOB-GEN-05', 'JOB-UNQ-20', 'JOB-UNQ-31'))}",
        _replacements(contract),
        "Nothing else of the holder changes, and no slot is taken or freed. "
        f"{links(('JOB-UNQ-23', 'JOB-UNQ-27', 'JOB-UNQ-32'))}",
        "## In which states the holder is edited",
        _editable(),
    )


def _example(request: str, text: str, *, excluded: bool) -> tuple[str, ...]:
    key = rules.effective_key("mail", b"a", excluded)
    return request, text, code(key.hex(" ")), links(("JOB-UNQ-11", "JOB-UNQ-13"))


def _ids_of(rows: Iterable[Any], identifiers: tuple[str, ...]) -> str:
    return links((*identifiers, *(identifier for row in rows for identifier in row.requirements)))


def _conflicts(contract: Contract) -> str:
    phase = _phase_with(contract, ErrorCode.DUPLICATE)
    numbers = {id(check): n for n, check in enumerate(checks_of(enqueue_of(contract)), 1)}
    return table(
        ("#", "code", "`replaced`", "when", "requirements"),
        [
            (
                str(numbers[id(check)]),
                code(check.code),
                "" if check.code != ErrorCode.DUPLICATE else "true" if check.committing else "false",
                when_text(check.when),
                links(check.requirements),
            )
            for check in phase.checks
            if isinstance(check, Refuse)
        ],
    )


def _phase_with(contract: Contract, refusal: str) -> Phase:
    return next(
        phase
        for phase in enqueue_of(contract).phases
        if any(isinstance(check, Refuse) and check.code == refusal for check in phase.checks)
    )


def _replacements(contract: Contract) -> str:
    rows = []
    for step in edit_steps(contract):
        assert isinstance(step, When)
        inner = [each for each in walk_steps(step.steps) if isinstance(each, Effect)]
        rest, bit = _without_bit(step.condition)
        rows.append(
            (
                str(int(bit)) if bit else "",
                code(f"unique_replace.{bit.name}") if bit else code("unique_debounce_ms"),
                plain(" and ".join(rest)) if bit else when_text(step.condition),
                codes(fact for each in inner for fact in each.writes),
                "" if bit else code("scheduled"),
                links(identifier for each in inner for identifier in each.requirements),
            )
        )
    return table(("bit", "asked by", "if", "copied to the holder", "its state becomes", "requirements"), rows)


def bit_text(bit: Replace) -> str:
    return terms.wants_bit(bit).text


def _without_bit(condition: Condition) -> tuple[list[str], Replace | None]:
    """The parts of a condition that do not ask for a bit, and the bit."""
    parts = condition.parts if isinstance(condition, Every) else (condition,)
    texts = {bit_text(bit): bit for bit in Replace}
    bits = [texts[part.text] for part in parts if part.text in texts]
    return [part.text for part in parts if part.text not in texts], bits[0] if bits else None


def asked_of_holder(state: str, asked: str) -> str:
    """Whether a holder in this state is edited by a conflict that asks for this one thing: yes, no, or by which
    choice."""
    known = Known(states=(state,), state=terms.holder_state.name)
    for text in (terms.wants_debounce.text, *map(bit_text, Replace)):
        known = Known({**known.truths, text: text == asked}, known.states, known.state)
    decided = known.decide(terms.is_applied)
    if isinstance(decided, bool):
        return "yes" if decided else "no"
    return f"if {plain(decided)}"


def _editable() -> str:
    columns = {f"bit {int(bit)}": bit_text(bit) for bit in Replace} | {"debounce": terms.wants_debounce.text}
    identifiers = links(("JOB-UNQ-20", "JOB-UNQ-21", "JOB-UNQ-22", "JOB-UNQ-31", "JOB-UNQ-33"))
    return table(
        ("holder", *columns, "requirements"),
        [(code(s), *(asked_of_holder(s, text) for text in columns.values()), identifiers) for s in State],
    )


# Rates -----------------------------------------------------------------------------------------------------------

RATE_FORMULAS: Final = (
    (
        "gain",
        "0 if limit <= 0, window <= 0, the class is paused or now <= refilled_at; else floor((now - refilled_at) * "
        "limit / window)",
        "JOB-RATE-05 JOB-PRT-03",
    ),
    ("cost", "the weight of the row, at least 1", "JOB-RATE-01"),
    (
        "passes",
        "the class has no bucket, or it is not paused and cost <= min(burst, tokens + gain)",
        "JOB-RATE-01 JOB-RATE-02 JOB-PRT-03",
    ),
    (
        "refill",
        "if gain > 0: tokens = min(burst, tokens + gain), refilled_at = now; else both stay",
        "JOB-RATE-05 JOB-RATE-06",
    ),
    ("charge", "tokens = tokens - cost; the row notes the cost, or 0 if its class has no bucket", "JOB-RATE-04"),
    (
        "settlement",
        "tokens = min(burst, min(burst, tokens + gain) + charge - actual), refilled_at = now, charge = 0",
        "JOB-RATE-08",
    ),
    ("shown to operators", "min(burst, tokens + gain), and nothing is written", "JOB-RATE-17"),
)
"""Functions cannot print themselves; the examples below these are computed by the rules."""

START_MS: Final = 10_000
POLLS_MS: Final = (0, 500, 999, 1_000, 1_999, 2_000)
"""Polls for one job of cost 1 each, after `START_MS`."""
SETTLEMENTS: Final = ((0, 0, 5, 3, 1), (1, 0, 5, 2, 4), (0, 0, 3, 3, 0), (4, 0, 5, 3, 0), (-2, 4, 5, 1, 1))
"""Tokens, gain, burst, charge, actual weight."""


def _bucket(tokens: int, burst: int, *, limit: int, window_ms: int, refilled_at_ms: int = START_MS) -> BucketFacts:
    return BucketFacts("r", limit, window_ms, burst, tokens, refilled_at_ms, paused=False)


def settled(tokens: int, gain: int, burst: int, charge: int, actual: int) -> int:
    """What the effect of the settlement makes of the tokens; one token is gained in each millisecond."""
    scope: Any = SimpleNamespace(
        facts=_bucket(tokens, burst, limit=1, window_ms=1),
        facts_of=lambda _key: SimpleNamespace(charge=charge),
        call={"lease": SimpleNamespace(job_id=""), "actual_weight": actual},
        element=None,
        now=START_MS + gain,
    )
    return int(effects.settle_bucket(scope)["tokens"])


def polled(limit: int = 1, window_ms: int = 1_000) -> Iterator[tuple[int, int, bool, BucketFacts]]:
    """Instant, gain, whether a job of cost 1 is admitted, and the bucket after it, which begins with one token."""
    bucket = _bucket(1, 1, limit=limit, window_ms=window_ms)
    for after_ms in POLLS_MS:
        now_ms = START_MS + after_ms
        gain = rules.gain(now_ms, bucket.limit, bucket.window_ms, bucket.refilled_at_ms)
        scope: Any = SimpleNamespace(now=now_ms)
        bucket = evolve(bucket, **effects.refilled(scope, bucket))
        admitted = bucket.tokens >= 1
        bucket = evolve(bucket, tokens=bucket.tokens - admitted)
        yield now_ms, gain, admitted, bucket


def rate_blocks(contract: Contract) -> tuple[str, ...]:
    return (
        "One bucket for each class and the whole fleet. All numbers are integers, times are milliseconds; tokens may "
        f"be negative. {links(('JOB-RATE-03', 'JOB-RATE-10', 'JOB-GEN-04'))}",
        "## Formulas",
        table(
            ("name", "what it is", "requirements"),
            [(name, plain(text), links(identifiers.split())) for name, text, identifiers in RATE_FORMULAS],
        ),
        "## When a candidate is passed over",
        table(
            ("operation", "when", "requirements"),
            [
                (_operation_link(ADMIT.name), when_text(check.when), links(check.requirements))
                for check in ADMIT.gate
                if check.when is terms.too_dear
            ],
        ),
        "A row that is passed over keeps its state and is charged nothing; what its class has gained is credited all "
        f"the same. {links(('JOB-GEN-11', 'JOB-RATE-05', 'JOB-RATE-07'))}",
        "## Refill",
        "Limit 1, window 1,000 ms, burst 1, one token at first; at each instant a job of cost 1 waits. A gain of 0 "
        "keeps the instant of the refill, and so the fraction that has been gained; a store that stamps it at every "
        f"poll admits nothing at {START_MS + 1_000:,}. {links(('JOB-RATE-05', 'JOB-RATE-06'))}",
        table(
            ("now", "gain", "admitted", "tokens after it", "refilled at", "requirements"),
            [
                (
                    f"{now_ms:,} ms",
                    str(gain),
                    "yes" if admitted else "no",
                    str(bucket.tokens),
                    f"{bucket.refilled_at_ms:,} ms",
                    links(("JOB-RATE-01", "JOB-RATE-05")),
                )
                for now_ms, gain, admitted, bucket in polled()
            ],
        ),
        "## Settlement",
        "Only where an actual weight is given, the charge is above 0 and the bucket exists; by every outcome of an "
        f"ack, and once. {links(('JOB-RATE-08', 'JOB-RATE-09', 'JOB-RATE-11', 'JOB-RATE-12', 'JOB-RATE-14'))}",
        table(
            ("tokens", "gain", "burst", "charge", "actual", "tokens after it", "requirements"),
            [
                (*map(str, numbers), str(settled(*numbers)), links(("JOB-RATE-06", "JOB-RATE-08", "JOB-RATE-10")))
                for numbers in SETTLEMENTS
            ],
        ),
        "Reclaim, an operator's cancellation and an ack without an actual weight give nothing back. "
        f"{links(('JOB-RATE-13',))}",
        "## What is written",
        table(
            ("effect", "by", "writes", "of", "what it does", "requirements"),
            [
                (
                    plain(effect.name),
                    ", ".join(_operation_link(name) for name in _takers(contract, effect)),
                    "all" if "*" in effect.writes else codes(effect.writes),
                    plain(RECORDS.get(effect.name, "the row")),
                    plain(effect.text),
                    links(effect.requirements),
                )
                for effect in effects_of(contract)
                if effect.name in BUCKETS or "charge" in effect.writes
            ],
        ),
    )


def _takers(contract: Contract, wanted: Effect) -> tuple[str, ...]:
    return tuple(
        operation.name
        for operation in contract.operations
        if any(step is wanted for step in walk_steps(steps_of(operation)))
    )


# Diagram ---------------------------------------------------------------------------------------------------------

HELD: Final = "waiting"
SET_ASIDE: Final = "may be tried again"

DIAGRAM: Final = Diagram(
    column_px=200,
    row_px=150,
    origin=(110, 130),
    size=(1600, 800),
    groups=(
        Group(HELD, (State.PENDING, State.SCHEDULED, State.AVAILABLE, State.RETRYABLE)),
        Group(SET_ASIDE, (State.CANCELLED, State.ARCHIVED, State.UNDECODABLE)),
    ),
    tones={
        State.AVAILABLE: "returns",
        State.SCHEDULED: "returns",
        State.RETRYABLE: "returns",
        State.COMPLETED: "good",
        State.ARCHIVED: "bad",
        State.UNDECODABLE: "bad",
        State.QUARANTINED: "bad",
        State.CANCELLED: "quiet",
    },
    kinds={"no row": "passed", "finished": "final"},
    short=SHORT,
    notes=("An arrow from a frame leaves from each state in it. In the dashed states there is no row.",),
    routes=(
        Route(NEW, State.PENDING, right(), left(), (), LabelAt("above", 0, 0.4)),
        Route(NEW, State.SCHEDULED, top(), left(-10), (), LabelAt("above", 1, 0.3)),
        Route(NEW, State.AVAILABLE, bottom(), left(10), (), LabelAt("below", 1, 0.3)),
        Route(State.PENDING, State.SCHEDULED, top(), left(10), (), LabelAt("right", 0, 0.45)),
        Route(State.PENDING, State.AVAILABLE, bottom(), left(-10), (), LabelAt("right", 0, 0.5)),
        Route(State.SCHEDULED, State.AVAILABLE, bottom(9), top(9), (), LabelAt("right")),
        Route(State.AVAILABLE, State.SCHEDULED, top(-9), bottom(-9), (), LabelAt("left")),
        Route(State.SCHEDULED, State.SCHEDULED, top(-15), top(15), (), LabelAt("above", 1)),
        Route(State.RETRYABLE, State.SCHEDULED, top(), right(10), (), LabelAt("left", 0, 0.45)),
        Route(State.RETRYABLE, State.AVAILABLE, bottom(), right(-10), (), LabelAt("left", 0, 0.5)),
        Route(State.AVAILABLE, State.RUNNING, right(), bottom(-30), (), LabelAt("above", 0, 0.8)),
        Route(State.RUNNING, State.AVAILABLE, bottom(-12), right(12), (), LabelAt("below", 1, 0.2)),
        Route(State.RUNNING, State.SCHEDULED, top(-20), right(-10), (), LabelAt("above", 1, 0.2)),
        Route(State.RUNNING, State.RETRYABLE, left(), right(), (), LabelAt("above", 0, 0.45)),
        Route(State.RUNNING, State.CANCELLED, top(20), left(10), (), LabelAt("below", 1, 0.4)),
        Route(State.RUNNING, State.ARCHIVED, right(-10), left(), (5.15,), LabelAt("above", 2, 0.4)),
        Route(State.RUNNING, State.UNDECODABLE, right(), left(), (), LabelAt("above", 0, 0.6)),
        Route(State.RUNNING, State.COMPLETED, right(10), left(), (5.15,), LabelAt("above", 2, 0.45)),
        Route(State.RUNNING, State.QUARANTINED, bottom(6), top(30), (2.55,), LabelAt("below", 1, 0.45)),
        Route(State.RUNNING, DELETED, bottom(26), left(-9), (), LabelAt("above", 1, 0.4)),
        Route(HELD, State.CANCELLED, right(at=-0.3), left(), (), LabelAt("above", 0, 0.6)),
        Route(HELD, State.QUARANTINED, bottom(at=3.3), top(-40), (), LabelAt("left", 0, 0.5)),
        Route(HELD, DELETED, bottom(at=1.2), bottom(-15), (3.5,), LabelAt("above", 1, 0.5)),
        Route(State.QUARANTINED, State.AVAILABLE, left(), bottom(20), (), LabelAt("above", 0, 0.5)),
        Route(State.QUARANTINED, DELETED, right(9), left(9), (), LabelAt("below", 0, 0.5)),
        Route(State.COMPLETED, DELETED, bottom(), top(), (), LabelAt("right")),
        Route(SET_ASIDE, DELETED, right(at=0.6), right(), (6.92,), LabelAt("right", 1, 0.6)),
        Route(SET_ASIDE, State.AVAILABLE, right(at=0), bottom(-20), (7.25, 3.9), LabelAt("above", 2, 0.5)),
    ),
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
    overtaken=(
        f"Atomic: as if the calls of all handles came one after another. {links(('JOB-GEN-01',))}",
        "`StoreUnavailable`, no refusal: another commit came between, and the call cannot be decided anew",
    ),
    unstored=frozenset({NEW, DELETED}),
    properties={
        "unfinished, holds its key": lambda state: state in UNFINISHED,
        "waiting": lambda state: state in WAITING,
        "admissible": lambda state: state in ADMIT.states,
        "evictable": lambda state: state in EVICTABLE,
    },
)
