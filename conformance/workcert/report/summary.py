"""The table and the verdict line that a terminal shows at the end of a run."""

from __future__ import annotations

from typing import Final

from tabulate import tabulate

from workcert.report.model import COUNTED, ContractReport, ContractVerdict, Strength, by_family, count

_COUNTS: Final = {"walk": "walks", "adversity": "tried"}
"""What a suite calls its examples."""
_WORDS = {status: status.value.replace("_", " ") for status in COUNTED}


def family_rows(report: ContractReport) -> list[list[str]]:
    """One row for each family: its title and its counts in the order of `COUNTED`; zero is left out."""
    rows = []
    for family, results in by_family(report).items():
        counts = [count(results, status) for status in COUNTED]
        if any(counts):
            rows.append([family, *(str(number) if number else "" for number in counts)])
    total = [count(report.requirements, status) for status in COUNTED]
    return [*rows, ["all", *(str(number) for number in total)]]


def family_headers() -> list[str]:
    return ["requirements", *(_WORDS[status] for status in COUNTED)]


def summary_text(report: ContractReport) -> str:
    """Counts by family, what the suites did, and the verdict in the last line."""
    table = tabulate(
        family_rows(report),
        headers=family_headers(),
        tablefmt="plain",
        disable_numparse=True,
        colalign=("left", *("right" for _ in COUNTED)),
    )
    lines = [*suite_lines(report), *strength_lines(report), verdict_line(report)]
    return "\n".join([*(line.rstrip() for line in table.splitlines()), "", *lines])


def suite_lines(report: ContractReport) -> list[str]:
    lines = []
    for suite in report.suites:
        parts = [f"{suite.cases} cases"] if suite.cases else []
        parts += [f"{suite.examples} {_COUNTS.get(suite.name, 'examples')}"] if suite.examples else []
        words = ("failed", "flaky", "unknown", "skipped")
        parts += [f"{getattr(suite, word)} {word}" for word in words if getattr(suite, word)]
        lines.append(f"{suite.name}: {', '.join([*parts, f'{suite.steps} steps'])}")
    if report.profiles_offered:
        offered = ", ".join(report.profiles_offered)
        lines.append(f"Not claimed, although every case of it passes: {offered}. You may claim more.")
    return lines


def strength_lines(report: ContractReport) -> list[str]:
    """One line on what the run is worth; none where that is no question."""
    return [] if report.strength is None else [f"Strength: {strength_text(report.strength)}"]


def strength_text(strength: Strength) -> str:
    """``these suites at effort ci catch 1,012 of 1,012 seeded faults of what is claimed``."""
    if strength.note or strength.seeded is None:
        return strength.note
    least = "at least " if strength.at_least else ""
    caught = f"{least}{strength.caught:,} of {strength.seeded:,} seeded faults of what is claimed"
    alike = f"; {strength.equivalent:,} more cannot be told from a right store" if strength.equivalent else ""
    return f"these suites at effort {strength.graded_effort} catch {caught}{alike}"


def verdict_line(report: ContractReport) -> str:
    """``workload 1.0 on sqlite: conformant, tier complete``."""
    line = f"{report.contract} {report.version} on {report.backend}: {report.verdict}"
    if report.tier is not None and report.verdict is ContractVerdict.CONFORMANT:
        line += f", tier {report.tier}"
    return f"{line} ({report.reason})" if report.reason else line
