"""The report for people: the verdict first, what was claimed, what failed, what was not shown, and all counts last."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from workcert.report.coverage import summary
from workcert.report.failure_text import (
    MOST_NAMED,
    difference_table,
    flaky_mark,
    kind_text,
    look_alike_text,
    need_table,
    notes,
    of_one_cause,
    replay_command,
    reproduced_text,
    step_table,
    unnamed,
)
from workcert.report.groups import groups
from workcert.report.model import (
    COUNTED,
    ContractReport,
    FailureReport,
    RequirementResult,
    Status,
    Toured,
    Tried,
    count,
)
from workcert.report.summary import family_headers, family_rows, strength_text

CODE_WIDTH = 140
"""Characters of a table inside a code block; a page scrolls there."""


def markdown_text(reports: Sequence[ContractReport]) -> str:
    """One section for each contract."""
    certificate = bool(reports) and all(report.is_certificate for report in reports)
    title = "Certificate" if certificate else "Report"
    blocks = [f"# {title}", *(block for report in reports for block in _contract(report))]
    if not reports:
        blocks.append("Nothing was run.")
    return "\n\n".join(blocks) + "\n"


def _contract(report: ContractReport) -> Iterator[str]:
    yield f"## {report.contract} {report.version} on {_text(report.backend)}: {report.verdict}"
    if report.reason:
        yield f"{_text(report.reason[:1].upper() + report.reason[1:])}."
    if report.narrowed:
        yield "The run was narrowed: it certifies nothing."
    yield _claims(report)
    yield "### Requirements"
    yield _table(family_headers(), family_rows(report), right=len(COUNTED))
    yield _suites(report)
    yield from _failures(report)
    yield from _not_shown(report)
    yield "### Coverage"
    lines = [[line.kind, f"{line.reached} of {line.total}"] for line in summary(report.coverage)]
    yield _table(["", "reached"], lines, right=1)
    yield from _toured(report.toured)
    yield from _adversity(report.adversity)
    yield from _all_requirements(report)
    yield from _coverage_tables(report)


def _claims(report: ContractReport) -> str:
    unshown = [profile for profile in report.profiles_claimed if profile not in report.profiles_passed]
    rows = [
        ["Tier", report.tier or "none"],
        ["Profiles claimed", ", ".join(report.profiles_claimed)],
        ["Profiles passed", ", ".join(report.profiles_passed) or "none"],
        ["Abilities", ", ".join(report.abilities) or "none"],
        ["Specification", f"{report.contract} {report.version}, digest {report.digest}"],
        ["Kit", report.kit],
        ["Run", _run(report)],
        *([] if report.strength is None else [["Strength", strength_text(report.strength)]]),
    ]
    if unshown:
        rows.insert(3, ["Claimed and not passed", ", ".join(unshown)])
    if report.profiles_offered:
        rows.insert(3, ["Not claimed, although every case passes", ", ".join(report.profiles_offered)])
    rows += [
        [f"Choice {choice.id}", choice.value if choice.declared else f"{choice.value} (the default)"]
        for choice in report.choices
    ]
    return _table(["", ""], rows)


def _run(report: ContractReport) -> str:
    only = f", only {' '.join(report.only)}" if report.only else ""
    suites = ", ".join(report.suites_asked)
    return f"suites {suites}; effort {report.effort}, {report.examples_asked} examples, seed {report.seed}{only}"


def _suites(report: ContractReport) -> str:
    headers = ["suite", "cases", "passed", "failed", "flaky", "unknown", "skipped", "examples", "steps"]
    rows = [
        [
            suite.name,
            *(
                str(number)
                for number in (
                    suite.cases,
                    suite.passed,
                    suite.failed,
                    suite.flaky,
                    suite.unknown,
                    suite.skipped,
                    suite.examples,
                    suite.steps,
                )
            ),
        ]
        for suite in report.suites
    ]
    return _table(headers, rows, right=8) if rows else "No suite ran."


# Failures --------------------------------------------------------------------------------------------------------


def _failures(report: ContractReport) -> Iterator[str]:
    if not report.failures:
        return
    yield "### Failures"
    for group in groups(report.failures):
        yield from _failure(group.lead, report.backend)
        if group.others:
            yield of_one_cause(group.others)
            named = [_further(each) for each in group.others[:MOST_NAMED]]
            yield "\n".join([*named, *(f"- {more}" for more in unnamed(group.others))])
    if report.looks_like:
        yield "### Looks like"
        yield "\n".join(f"- {_text(look_alike_text(each).removeprefix('Looks like: '))}" for each in report.looks_like)


def _further(failure: FailureReport) -> str:
    file = "" if failure.case_file is None else f": `{failure.case_file}`"
    return f"- {failure.requirement}, {_text(failure.case)}{flaky_mark(failure)}{file}"


def _failure(failure: FailureReport, backend: str) -> Iterator[str]:
    provisional = " (provisional)" if failure.provisional else ""
    yield f"#### {failure.requirement}{provisional}, {_text(failure.case)}{flaky_mark(failure)}"
    yield f"> {_text(failure.requirement_text)}"
    yield f"{kind_text(failure.kind).capitalize()}: {_text(failure.text)}"
    if failure.also:
        yield f"Also took part: {', '.join(failure.also)}."
    if failure.steps:
        yield _code(step_table(failure.steps, CODE_WIDTH))
        if notes(failure):
            yield _text(" ".join(notes(failure)))
        if any(row.needed for row in failure.steps):
            yield _code(need_table(failure.steps, CODE_WIDTH))
    if failure.drawing:
        yield _code("\n".join(failure.drawing))
    if failure.differences:
        yield _code(difference_table(failure, CODE_WIDTH))
    command = replay_command(failure, backend, "")
    yield reproduced_text(failure) + ("" if command is None else " Replay it in the directory of this report:")
    if command is not None:
        yield _code(command)


# What was not shown ----------------------------------------------------------------------------------------------

_SECTIONS = (
    (Status.NOT_EXERCISED, "Claimed and not exercised"),
    (Status.NOT_CLAIMED, "Not claimed"),
    (Status.NOT_ASSERTED, "Not asserted by the kit"),
)


def _not_shown(report: ContractReport) -> Iterator[str]:
    for status, title in _SECTIONS:
        if count(report.requirements, status):
            yield f"### {title}"
            yield _by_reason([result for result in report.requirements if result.status is status])
    if report.left_out:
        yield "### Cases left out"
        reasons: dict[str, list[str]] = {}
        for case in report.left_out:
            reasons.setdefault(f"{case.verdict}: {case.reason}", []).append(case.case)
        yield "\n".join(f"- {_text(reason)}: {_text(', '.join(cases))}" for reason, cases in reasons.items())


def _by_reason(results: Sequence[RequirementResult]) -> str:
    reasons: dict[str, list[str]] = {}
    for result in results:
        reasons.setdefault(result.reason.removesuffix("."), []).append(result.id)
    return "\n".join(f"- {_text(reason)}: {', '.join(ids)}" for reason, ids in reasons.items())


# Full tables -----------------------------------------------------------------------------------------------------


def _all_requirements(report: ContractReport) -> Iterator[str]:
    yield "### All requirements"
    rows = [[r.id, r.profile, r.kind, _status(r), str(r.exercised), r.case or "", r.text] for r in report.requirements]
    yield _table(["id", "profile", "kind", "status", "exercised", "case", "text"], rows)


def _status(result: RequirementResult) -> str:
    word = str(result.status).replace("_", " ")
    return f"{word} (provisional)" if result.provisional else word


def _toured(toured: Toured | None) -> Iterator[str]:
    if toured is None:
        return
    yield "### Reached by tours"
    yield _table(
        ["", "shown of what can be reached"], [[t.kind, f"{t.reached} of {t.total}"] for t in toured.lines], right=1
    )
    if toured.unreachable:
        yield f"Search shows of {len(toured.unreachable)} further ones that no configuration reaches them:"
        yield "\n".join(f"- {_text(each)}" for each in toured.unreachable)


def _adversity(tables: Sequence[Tried]) -> Iterator[str]:
    if tables:
        yield "### Adversity"
    for table in tables:
        yield f"#### {_text(table.part.capitalize())}"
        rows = [[row.name, *(str(number) if number else "" for number in row.counts)] for row in table.rows]
        total = [str(sum(numbers)) for numbers in zip(*(row.counts for row in table.rows), strict=True)]
        yield _table(["", *table.columns], [*rows, ["all", *total]], right=len(table.columns))


def _coverage_tables(report: ContractReport) -> Iterator[str]:
    tables = report.coverage
    yield "### Coverage tables"
    yield "#### Checks"
    yield _table(
        ["check", "decided", "let through"],
        [[check.key, str(check.fired), str(check.passed)] for check in tables.checks],
        right=2,
    )
    for title, counts in (
        ("Transitions", tables.transitions),
        ("Rows of decision tables", tables.table_rows),
        ("Effects", tables.effects),
        ("Moves", tables.moves),
    ):
        yield f"#### {title}"
        yield _table([title.lower(), "count"], [[row.key, str(row.count)] for row in counts], right=1)
    yield "#### Comparisons"
    sides = [[row.key, str(row.below), str(row.at), str(row.above)] for row in tables.comparisons]
    yield _table(["comparison", "below", "at", "above"], sides, right=3)


# Notation --------------------------------------------------------------------------------------------------------


def _table(headers: Sequence[str], rows: Sequence[Sequence[str]], right: int = 0) -> str:
    """A table; the last ``right`` columns hold numbers."""
    marks = ["---"] * (len(headers) - right) + ["--:"] * right
    lines = (headers, marks, *([_cell(cell) for cell in row] for row in rows))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(text: str) -> str:
    return _text(text).replace("|", "\\|")


def _text(text: str) -> str:
    """Text that no reader of Markdown takes for a link, a tag or the end of a line. Code in backticks stays."""
    parts = " ".join(text.split()).split("`")
    for place in range(0, len(parts), 2):
        for mark in "\\*_<>[]#":
            parts[place] = parts[place].replace(mark, f"\\{mark}")
    return "`".join(parts) if len(parts) % 2 else "".join(parts)


def _code(text: str) -> str:
    """A block with a fence that does not occur in it."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}text\n{text}\n{fence}"
