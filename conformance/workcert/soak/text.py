"""What a soak says: a line each minute, and its end, for people and for programs."""

from __future__ import annotations

import shutil
import sys
import time
from typing import Any, Final, TextIO

from attrs import define, field

from workcert.soak.accounts import Finding
from workcert.soak.supervisor import Progress, Soaked

MOST_FINDINGS: Final = 12
MOST_STORIES: Final = 3
MINUTE_S: Final = 60
REDRAW_S: Final = 1.0


@define(eq=False)
class Lines:
    """One summary line per minute, and on a terminal one that is rewritten each second."""

    title: str
    stream: TextIO = field(factory=lambda: sys.stderr)
    _minutes: int = 0
    _drawn: int = 0
    _drawn_at: float = 0.0

    def __call__(self, now: Progress) -> None:
        if now.seconds >= (self._minutes + 1) * MINUTE_S:
            self._minutes = int(now.seconds // MINUTE_S)
            self._clear()
            print(f"{self.title}, minute {self._minutes}: {progress_text(now)}", file=self.stream, flush=True)
        if self.stream.isatty() and time.monotonic() - self._drawn_at >= REDRAW_S:
            self._draw(f"{self.title}, {now.seconds:.0f} s: {progress_text(now)}")

    def close(self) -> None:
        self._clear()

    def _draw(self, line: str) -> None:
        line = line[: max(shutil.get_terminal_size().columns - 1, 1)]
        self.stream.write(f"\r{line.ljust(self._drawn)}")
        self.stream.flush()
        self._drawn, self._drawn_at = len(line), time.monotonic()

    def _clear(self) -> None:
        if self._drawn:
            self.stream.write(f"\r{' ' * self._drawn}\r")
            self.stream.flush()
            self._drawn = 0


def progress_text(now: Progress) -> str:
    crashes = f", {now.crashes} crashes" if now.crashes else ""
    return (
        f"{now.kills} kills, {now.calls:,} calls answered or cut off, {now.submitted:,} of them submitted work and "
        f"{now.reported:,} ended a run{crashes}"
    )


def ending(soaked: Soaked) -> str:
    """The verdict with its numbers, and what was found."""
    account = soaked.account
    standing = account.standing
    where = " + ".join(f"{standing.get(name, 0):,} {name}" for name in ("finished", "dead", "cancelled", "waiting"))
    lost = f" + {standing['lost']:,} lost" if standing.get("lost") else ""
    verdict = "nothing lost, nothing doubled" if soaked.right else _count(len(account.findings))
    verdict = "no verdict" if soaked.right and soaked.hung else verdict
    early = ", interrupted" if soaked.interrupted else ""
    early += ", broken off" if soaked.hung else ""
    lines = [
        f"{soaked.contract}: {verdict}{early}",
        f"  {soaked.seconds:.0f} seconds, {soaked.starts} processes started, {soaked.kills} killed at random, "
        f"{soaked.killed_in_a_call} of these in a call that was noted",
        f"  {account.submitted:,} submitted = {where}{lost}",
        f"  calls: {_calls(soaked)}",
        *(f"  not looked at: {note}" for note in account.notes),
        *([f"  broken off: {soaked.hung}"] if soaked.hung else []),
    ]
    for number, finding in enumerate(account.findings[:MOST_FINDINGS], start=1):
        lines += ["", *_finding(number, finding)]
    if len(account.findings) > MOST_FINDINGS:
        lines += ["", f"and {len(account.findings) - MOST_FINDINGS} more"]
    if soaked.kept is not None:
        lines += ["", f"The store and what each process noted are kept in {soaked.kept}"]
    if not soaked.right:
        lines.append(
            "A soak is not repeatable step by step: run it again with the same numbers, and look for the stories above "
            "in the log of the store"
        )
    return "\n".join(lines)


def as_plain(soaked: Soaked) -> dict[str, Any]:
    """The same for programs."""
    return {
        "contract": soaked.contract,
        "right": soaked.right,
        "interrupted": soaked.interrupted,
        "hung": soaked.hung,
        "seconds": round(soaked.seconds, 3),
        "processes_started": soaked.starts,
        "kills": soaked.kills,
        "kills_in_a_call": soaked.killed_in_a_call,
        "submitted": soaked.account.submitted,
        "standing": dict(soaked.account.standing),
        "calls": dict(soaked.calls),
        "findings": [
            {
                "requirements": list(each.requirements),
                "text": each.text,
                "subject": each.subject,
                "story": list(each.story),
            }
            for each in soaked.account.findings
        ],
        "kept": None if soaked.kept is None else str(soaked.kept),
    }


def _finding(number: int, finding: Finding) -> list[str]:
    ids = f" [{', '.join(finding.requirements)}]" if finding.requirements else ""
    story = finding.story if number <= MOST_STORIES else ()
    return [f"{number}. {finding.text}{ids}", *(f"     {line}" for line in story)]


def _calls(soaked: Soaked) -> str:
    """By outcome: answered, refused, busy, cut off by a kill."""
    names = {
        "ok": "answered",
        "no": "refused",
        "busy": "busy",
        "unknown": "unknown",
        "killed": "cut off",
        "crash": "crashed",
    }
    totals = dict.fromkeys(names, 0)
    for name, times in soaked.calls.items():
        totals[name.rpartition(" ")[2]] += times
    return ", ".join(f"{times:,} {names[outcome]}" for outcome, times in totals.items() if times)


def _count(findings: int) -> str:
    return "1 finding" if findings == 1 else f"{findings} findings"
