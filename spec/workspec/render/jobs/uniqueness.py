"""Uniqueness: modes, keys, conflicts, replacement bits and debounce (5.3)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from workspec.core.condition import Condition, Every
from workspec.core.contract import Contract
from workspec.core.rule import (
    Effect,
    On,
    Phase,
    Refuse,
    Step,
    When,
    checks_of,
    walk_steps,
)
from workspec.jobs import rules, terms
from workspec.jobs.facts import UNFINISHED
from workspec.jobs.tables import NEW
from workspec.jobs.vocabulary import ErrorCode, Replace, State
from workspec.render.cases import Known
from workspec.render.jobs.matrix import _is_unfinished
from workspec.render.jobs.validation import enqueue_of
from workspec.render.markdown import code, codes, links, plain, table
from workspec.render.operations import when_text


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
        if not inner:
            # The move of a debounce stands beside what it copies.
            continue
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
