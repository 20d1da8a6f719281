"""The account of a soak: how many jobs stand where, and what cannot be as it is."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from attrs import define, field, frozen

from workcert.binding import Binding
from workcert.judge.hidden import Showing
from workcert.soak.notes import Deed

MOST_LINES: Final = 40
"""Of the story of one job."""


@frozen
class Finding:
    """``subject``: the job that it is about, empty where it is about none. ``story``: what all processes asked and were
    told of that job, in the order of asking."""

    requirements: tuple[str, ...]
    text: str
    subject: str = ""
    story: tuple[str, ...] = ()


@frozen
class Account:
    """``submitted`` counts jobs that the store must hold or must have ended; ``standing`` says where they are:
    finished, dead, cancelled, waiting, or gone with leave. Without findings the numbers add up."""

    submitted: int
    standing: Mapping[str, int]
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    """What could not be looked at, and why."""


@define(eq=False)
class Findings:
    """``stories``: by subject, the calls that named it."""

    stories: Mapping[str, Sequence[Deed]]
    found: list[Finding] = field(factory=list)

    def add(self, requirements: str, subject: str, text: str) -> None:
        """``requirements``: ids with blanks between."""
        story = tuple(told_line(deed) for deed in self.stories.get(subject, ()))
        shown = story if len(story) <= MOST_LINES else (*story[:MOST_LINES], f"and {len(story) - MOST_LINES} more")
        self.found.append(Finding(tuple(requirements.split()), text, subject, shown))


def told_line(deed: Deed) -> str:
    """One call as people read it."""
    about = " ".join(f"{name}={value}" for name, value in deed.about.items() if name != "envelopes")
    told = "killed before it was told" if deed.told is None else f"told {_short(deed.told)}"
    return f"{deed.asked_ns / 1e9:.6f} process {deed.who}: {deed.call} {_short(about)}: {told}"


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 160 else f"{text[:160]}..."


def by_subject(deeds: Iterable[Deed], subjects: Any) -> dict[str, list[Deed]]:
    """The calls that name each job, in the order of asking."""
    found: defaultdict[str, list[Deed]] = defaultdict(list)
    for deed in sorted(deeds, key=lambda each: each.asked_ns):
        for subject in dict.fromkeys(subjects(deed)):
            found[subject].append(deed)
    return dict(found)


def crashes(deeds: Iterable[Deed], requirements: str) -> Iterator[Finding]:
    """Whatever the store raised that is neither a refusal nor an unavailable storage; each kind once."""
    seen: Counter[str] = Counter()
    first: dict[str, Deed] = {}
    for deed in deeds:
        if deed.crash:
            kind = f"{deed.call}: {deed.crash}"
            seen[kind] += 1
            first.setdefault(kind, deed)
    for kind, times in seen.items():
        text = f"{kind} ({times} times)" if times > 1 else kind
        yield Finding(tuple(requirements.split()), f"the store crashed in {text}", "", (told_line(first[kind]),))


def broken_invariants(binding: Binding, record: Any) -> Iterator[tuple[str, str]]:
    """Id and text of each invariant of one record that does not hold of it."""
    shown = Showing(record)
    for each in binding.contract.invariants:
        if each.of == "record" and shown(each.reads) and not each.holds(record):
            yield each.requirement, each.text
