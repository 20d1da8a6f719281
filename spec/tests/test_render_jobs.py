"""The pages that the jobs contract alone has: the effect matrix says what the effects declare, and what 2.4 demands."""

from __future__ import annotations

import re

import pytest
from attrs import evolve

from workspec.core.rule import Effect, Refuse, checks_of
from workspec.jobs import terms
from workspec.jobs.contract import CONTRACT
from workspec.jobs.facts import UNFINISHED, JobFacts
from workspec.jobs.vocabulary import ErrorCode, Outcome, Replace, State
from workspec.render import jobs
from workspec.render.cases import Case, Known, cases_of
from workspec.render.errors import declared_with_details, error_codes
from workspec.render.jobs import matrix, rates, reasons, uniqueness
from workspec.render.pages import render

PAGES = render(CONTRACT)
OWN = [page.name for page in jobs.PRESENTATION.pages]


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def tables(text: str) -> list[list[dict[str, str]]]:
    """Each table of a page as rows by header."""
    found: list[list[dict[str, str]]] = []
    headers: list[str] = []
    for line in text.splitlines():
        if not line.startswith("|"):
            headers = []
        elif not headers:
            headers = cells(line)
            found.append([])
        elif not line.startswith("| ---"):
            found[-1].append(dict(zip(headers, cells(line), strict=True)))
    return found


def bare(text: str) -> str:
    """Without links and marks."""
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text).replace("`", "").replace("*", "").replace("<br>", " ")


MATRIX = tables(PAGES["effects.md"])[0]


def row(case: str, source: str | None = None) -> dict[str, str]:
    found = [
        {name: bare(cell) for name, cell in each.items()}
        for each in MATRIX
        if bare(each["operation, case"]) == case and (source is None or source in bare(each["from"]).split())
    ]
    (one,) = found
    return one


# Every row has its ids -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", OWN)
def test_every_row_carries_requirement_ids(page: str) -> None:
    for each in tables(PAGES[page]):
        for one in each:
            assert re.search(r"\[JOB-[A-Z]{2,4}-\d\d\]", one["requirements"]), one


@pytest.mark.parametrize("page", ["transitions.md", "operations.md", "errors.md", "states.md"])
def test_every_row_of_the_rules_carries_requirement_ids(page: str) -> None:
    for each in tables(PAGES[page]):
        for one in each:
            alone = "requirements" not in one or one.get("name", "").startswith("all its")
            assert alone or "[JOB-" in one["requirements"] or "event" in one.get("step", ""), one


def test_every_page_names_only_known_requirements() -> None:
    known = {requirement.id for requirement in CONTRACT.catalogue}
    for name, text in PAGES.items():
        assert set(re.findall(r"\[(JOB-[A-Z]+-\d\d)\]", text)) <= known, name


# Wordings --------------------------------------------------------------------------------------------------------


def test_every_column_that_an_effect_writes_has_its_wording_and_no_other() -> None:
    for effect in matrix.effects_of(CONTRACT):
        columns = set(matrix.columns_of(effect))
        if columns == {matrix.BUCKET}:
            assert effect.name in matrix.BUCKETS
        elif columns == {matrix.OTHERS}:
            assert effect.name in matrix.RECORDS
        else:
            assert columns == set(matrix.CELLS[effect.name]), effect.name


def test_no_wording_is_left_over() -> None:
    names = {effect.name for effect in matrix.effects_of(CONTRACT)}
    assert {*matrix.CELLS, *matrix.BUCKETS, *matrix.RECORDS} == names


def test_an_effect_on_another_record_is_named_with_it() -> None:
    for effect in matrix.effects_of(CONTRACT):
        assert effect.target is None or effect.name in matrix.RECORDS


def test_a_write_without_a_column_is_refused() -> None:
    stray = Effect("stray", (), ("sticky_worker",), "", lambda _scope: {})
    with pytest.raises(ValueError, match="no column for what stray writes"):
        matrix.columns_of(stray)


def test_the_columns_show_facts_that_there_are() -> None:
    known = {member.name for member in JobFacts.__attrs_attrs__} | {"log.history"}  # type: ignore[attr-defined]
    assert {fact for facts in matrix.FACTS.values() for fact in facts} <= known


def test_every_invalid_has_a_reason_and_no_other_code_has_one() -> None:
    for operation in CONTRACT.operations:
        for check in checks_of(operation):
            if isinstance(check, Refuse):
                assert bool(reasons.reason_of(check)) == (check.code == ErrorCode.INVALID)


def test_the_presentation_covers_what_rules_cannot_print() -> None:
    assert set(error_codes(CONTRACT)) == {*ErrorCode}
    assert declared_with_details(CONTRACT) == set(jobs.PRESENTATION.details)
    assert jobs.PRESENTATION.unstored == {note.name for note in CONTRACT.states} - set(State)
    texts = {row.guard.text for row in CONTRACT.transitions.rows}
    assert {text for text in texts if text} <= set(matrix.SHORT)


def test_every_method_has_its_signature_once() -> None:
    text = PAGES["operations.md"]
    further = text.partition("## Methods without rules of their own")[2]
    assert all(f"`{name}(" in further for name in ("begin", "commit", "complete_tx"))
    assert "`admit(" not in further
    assert "`ack(" not in further


# Cases -----------------------------------------------------------------------------------------------------------


def cases() -> tuple[Case, ...]:
    return cases_of(CONTRACT, lambda state: state in UNFINISHED)


def test_every_transition_is_taken_by_a_case_and_each_case_by_transitions() -> None:
    seen = {(source, case.event, case.target) for case in cases() for source in case.sources}
    assert seen == {(each.source, each.event, each.target) for each in CONTRACT.transitions.rows}


def test_every_effect_shows_in_a_case() -> None:
    shown = {written.effect.name for case in cases() for written in case.written}
    assert shown == {effect.name for effect in matrix.effects_of(CONTRACT)}


def test_a_condition_is_decided_as_far_as_is_known() -> None:
    one, other = terms.is_retained, terms.wants_pending
    known = Known().assuming(one, True)
    assert known.decide(one) is True
    assert known.decide(~one) is False
    assert known.decide(one & other) == other.text
    assert known.decide(one | other) is True
    assert known.decide(~one & other) is False
    assert known.decide(~(one & other)) == f"not ({other.text})"
    assert Known().assuming(one | other, False).decide(other) is False
    running = terms.state_is("running")
    assert Known(states=("running",)).decide(running) is True
    assert Known(states=("pending",)).decide(running) is False
    assert Known(states=("pending", "running")).decide(running) == running.text
    assert Known(states=("pending", "running")).assuming(running, False).states == ("pending",)


# The matrix of 2.4 -----------------------------------------------------------------------------------------------

FACTS = ("to", "fence", "attempt", "crash_attempt", "due", "finalized", "lease", "lifecycle key", "slot", "history")
KEPT, FREED = ("=", "="), ("freed", "-1")
DEMANDED: dict[tuple[str, str | None], tuple[str, ...]] = {
    ("admit", None): ("running", "+1", "=", "=", "=", "=", "set, to now + lease", *KEPT, "="),
    ("ack success, retained", None): (
        "completed", "=", "=", "=", "=", "now", "cleared", *FREED, "entry, if logs are given",
    ),
    ("ack success, not retained", None): ("deleted", *["gone"] * 6, *FREED, "gone"),
    ("ack retry, attempts left", None): (
        "retryable", "=", "+1", "=", "now + delay, else + backoff(attempt + 1)", "=", "cleared", *KEPT, "entry",
    ),
    ("ack retry, none left", None): ("archived", "=", "+1", "=", "=", "now", "cleared", *FREED, "entry"),
    ("ack skip", None): (
        "archived", "=", "=", "=", "=", "now", "cleared", *FREED, "entry, if an error text or logs are given",
    ),
    ("ack undecodable", None): (
        "undecodable", "=", "=", "=", "=", "now", "cleared", *FREED, "entry, if an error text or logs are given",
    ),
    ("ack revoke", None): ("deleted", *["gone"] * 6, *FREED, "gone"),
    ("ack snooze", None): ("scheduled", "=", "=", "=", "now + delay", "=", "cleared", *KEPT, "="),
    ("ack rate_limited", None): ("available", "=", "=", "=", "min(old, now)", "=", "cleared", *KEPT, "="),
    ("renew", None): ("=", "=", "=", "=", "=", "=", "end: now + lease", *KEPT, "="),
    ("reclaim_expired, below the limit", None): (
        "retryable", "=", "=", "+1", "now + backoff(crash_attempt + 1)", "=", "cleared", *KEPT, "entry",
    ),
    ("reclaim_expired, at the limit", None): ("quarantined", "=", "=", "+1", "=", "now", "cleared", *FREED, "entry"),
    ("promote_due", None): ("available", "=", "=", "=", "=", "=", "=", *KEPT, "="),
    ("evict_retained", None): ("deleted", *["gone"] * 6, "none", "=", "gone"),
    ("delete_job", "pending"): ("deleted", *["gone"] * 6, *FREED, "gone"),
    ("delete_job", "quarantined"): ("deleted", *["gone"] * 6, "none", "=", "gone"),
    ("promote_job", None): ("available", "=", "=", "=", "now", "unset", "=", *KEPT, "="),
    ("operator_retry", None): ("available", "=", "=", "=", "now", "unset", "=", "taken again", "+1", "="),
    ("release_fingerprint", None): ("available", "=", "=", "=", "now", "unset", "=", "taken again", "+1", "="),
    ("operator_cancel", None): (
        "cancelled", "=", "=", "=", "=", "now", "cleared, if state is running", *FREED, "=",
    ),
    ("sweep_quarantined", None): ("quarantined", "=", "=", "=", "=", "now", "=", *FREED, "="),
    ("reschedule_job", None): ("=", "=", "=", "=", "as given", "=", "=", *KEPT, "="),
    ("edit_payload", None): ("=", "=", "=", "=", "=", "=", "=", *KEPT, "="),
    ("enqueue, due", None): (
        "available", "0", "0", "0", "now + debounce, else as given, else now", "unset", "none", "taken", "+1", "empty",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("case", "source"), DEMANDED)
def test_the_matrix_says_what_the_contract_demands(case: str, source: str | None) -> None:
    found = row(case, source)
    assert tuple(found[name] for name in FACTS) == DEMANDED[case, source]


def test_channels_and_buckets_change_only_where_they_may() -> None:
    gone = {"gone", "empty", "none"}
    changed = {name: [bare(e["operation, case"]) for e in MATRIX if e[name] not in {"=", *gone}] for name in MATRIX[0]}
    assert changed["output"] == ["write_job_output"]
    assert changed["progress"] == ["write_job_progress"]
    assert changed["result"] == ["ack_success_with_result, retained"]
    assert {name.partition(",")[0] for name in changed["checkpoint"]} == {"checkpoint", "reclaim_expired"}
    assert {name.partition(",")[0].partition(" ")[0] for name in changed["bucket"]} == {
        "admit",
        "ack",
        "ack_success_with_result",
    }


def test_a_write_that_is_declared_anew_fills_its_cell() -> None:
    """The matrix follows the declaration: a sweep that began to write the due time would show it."""
    case = next(case for case in cases() if case.operation.name == "sweep_quarantined")
    (finalize,) = case.written
    more = evolve(finalize.effect, writes=(*finalize.effect.writes, "attempt"))
    assert matrix.columns_of(more) == (matrix.ATTEMPT, matrix.FINALIZED)


# Outcomes, validation, uniqueness, rates -------------------------------------------------------------------------


def test_every_outcome_has_a_row() -> None:
    found = {bare(each["outcome"]) for each in tables(PAGES["outcomes.md"])[0]}
    assert {f"ack {outcome.value}" for outcome in Outcome} <= found


def test_validation_stands_in_its_order() -> None:
    found = [each for one in tables(PAGES["validation.md"]) for each in one]
    assert [each["#"] for each in found] == [str(number) for number in range(1, len(found) + 1)]
    first = [int(re.findall(r"JOB-VAL-(\d\d)", each["requirements"])[0]) for each in found if "JOB-VAL" in str(each)]
    expected = [0, *range(1, 9), 9, 9, *range(9, 18), 8, *range(18, 23)]
    assert first == expected


def test_every_bit_of_the_mask_has_its_row() -> None:
    found = next(one for one in tables(PAGES["uniqueness.md"]) if "bit" in one[0])
    assert [each["bit"] for each in found] == ["", *(str(int(bit)) for bit in Replace)]
    assert found[0]["its state becomes"] == "`scheduled`"


@pytest.mark.parametrize(
    ("state", "asked", "said"),
    [
        ("scheduled", Replace.SCHEDULED_AT, "yes"),
        ("available", Replace.SCHEDULED_AT, "no"),
        ("retryable", Replace.PRIORITY, "yes"),
        ("running", Replace.PAYLOAD, "no"),
        ("pending", Replace.PAYLOAD, "if pending holders are edited"),
        ("completed", Replace.MAX_ATTEMPTS, "no"),
    ],
)
def test_who_is_edited(state: str, asked: Replace, said: str) -> None:
    assert uniqueness.asked_of_holder(state, uniqueness.bit_text(asked)) == said


def test_the_examples_of_rates_are_those_of_the_contract() -> None:
    admitted = [now_ms for now_ms, _gain, taken, _bucket in rates.polled() if taken]
    assert admitted == [10_000, 11_000, 12_000]
    assert [rates.settled(*numbers) for numbers in rates.SETTLEMENTS] == [2, -1, 3, 5, 2]


def test_times_of_jobs_are_milliseconds() -> None:
    assert "integer milliseconds" in PAGES["index.md"]
    texts = " ".join(PAGES[name] for name in ("index.md", "states.md", "transitions.md", *OWN))
    assert not re.search(r"\d seconds?\b|whole second", texts)
