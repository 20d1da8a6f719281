"""Expected answers and rows as matchers: what the contract asserts of them, and no more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, Final

import attrs
from attrs import define, field

from workcert.binding import Binding
from workcert.codec import encode
from workcert.judge.sameness import ORDINALS
from workcert.vectors.literals import NotExportable, bytes_as, repeated
from workcert.vectors.marks import MARK, MORE, SHOWN, Json, Mark, Marks, in_order
from workspec.core.choice import UNSEEN
from workspec.core.interpreter import Accepted, Outcome
from workspec.jobs.vocabulary import JobPage, QueueStats, Reclaimed

_LEFT_OUT: Final = object()
"""Of which nothing is asserted."""
QUIET: Final[Json] = {"paused": False, "max_unfinished_jobs": None, "by_state": {"$exactly": {}}}
"""Statistics of a queue that has neither rows nor settings: a store may list them or not (JOB-BPR-12)."""


@define(eq=False)
class Expected:
    """Matchers of one play of a case; names are given to marks in the order in which they show."""

    binding: Binding
    marks: Marks
    _names: dict[Mark, str] = field(factory=dict)
    _counts: dict[str, int] = field(factory=dict)

    def outcome(self, call: str, outcome: Outcome) -> Json:
        """An answer or a refusal of a call.

        Raises:
            NotExportable: it is made of what the store chooses in a way that no matcher can tell.
        """
        if isinstance(outcome, Accepted):
            return {"ok": self._answer(call, outcome.value)}
        details = None if outcome.details is None else self._details(outcome.details)
        return {"error": self.value(str(outcome.code)), "details": details}

    def row_id(self, key: str) -> Json:
        """The id of a row, from the key of its record."""
        return self.value(key.removeprefix(self.binding.key_of_id("")))

    def members(self, shown: Any, before: Any) -> Json:
        """The members of a shown record that differ from those of the one before; all where there was none."""
        names = [member.name for member in attrs.fields(type(shown)) if member.name not in ORDINALS]
        if before is not None:
            names = [name for name in names if _moved(getattr(before, name), getattr(shown, name))]
        found = {name: self.value(getattr(shown, name)) for name in names if getattr(shown, name) is not UNSEEN}
        return {name: value for name, value in found.items() if value is not _LEFT_OUT}

    # Values ----------------------------------------------------------------------------------------------------------

    def value(self, value: Any) -> Json:
        """A carrier, or a part of one, as a matcher."""
        if isinstance(value, Enum):
            value = value.value
        mark = self.marks.of(value)
        if mark is not None:
            return self._marked(mark)
        if isinstance(value, str):
            return self._text(str(value))
        if isinstance(value, bytes):
            return bytes_as(value)
        if attrs.has(type(value)):
            return self.members(value, None)
        if isinstance(value, Mapping):
            return self._object(value)
        if isinstance(value, frozenset | set):
            return {"$unordered": _sorted(map(self.value, value))}
        if isinstance(value, list | tuple):
            return self._list(value)
        return encode(value)

    def _marked(self, mark: Mark) -> Json:
        if mark.rule is None:
            return _LEFT_OUT
        if not mark.kept:
            return mark.rule(self.value)
        if mark in self._names:
            return {"$keep": self._names[mark]}
        # The rule first: what it names is kept already, or shows nowhere else.
        rule = mark.rule(self.value)
        self._counts[mark.kind] = self._counts.get(mark.kind, 0) + 1
        self._names[mark] = f"{mark.kind} {self._counts[mark.kind]}"
        return {"$keep": self._names[mark], "if": rule}

    def _text(self, text: str) -> Json:
        parts: list[Json] = []
        kept = False
        for plain, shown in zip(SHOWN.split(text), [*SHOWN.findall(text), ""], strict=True):
            value = int(shown) if shown.isdigit() else shown
            mark = self.marks.of(value)
            kept = kept or mark is not None
            for part in (plain, shown if mark is None else self._part(mark)):
                if isinstance(part, str) and parts and isinstance(parts[-1], str):
                    parts[-1] += part
                elif part:
                    parts.append(part)
        return {"$text": parts} if kept else repeated(text)

    def _part(self, mark: Mark) -> Json:
        if mark not in self._names:
            raise NotExportable("a text that holds what the store chooses, and is the first to show it")
        return {"$keep": self._names[mark]}

    def _object(self, value: Mapping[str, Any]) -> Json:
        if any(MARK.search(name) for name in value):
            raise NotExportable("an object with a member whose name the store chooses")
        members = {name: self.value(member) for name, member in value.items() if name != MORE}
        members = {name: member for name, member in members.items() if member is not _LEFT_OUT}
        if MORE in value:
            return members
        return {"$exactly": {"$value": members} if any(name.startswith("$") for name in members) else members}

    def _list(self, value: Iterable[Any]) -> Json:
        elements = [self.value(each) for each in value]
        if any(element is _LEFT_OUT for element in elements):
            raise NotExportable("a list with an element of which nothing is asserted")
        return elements

    # Answers -----------------------------------------------------------------------------------------------------

    def _answer(self, call: str, answer: Any) -> Json:
        if isinstance(answer, JobPage):
            jobs = [self.value(self.binding.comparable(job)) for job in answer.jobs]
            return {"jobs": jobs, "cursor": None if answer.cursor is None else {"$any": True}}
        if isinstance(answer, list) and len(answer) == 1 and not _is_kept(self.marks.of(answer[0])):
            # A sample is the store's own as a whole.
            return self.value(answer[0])
        shown = self.binding.comparable(answer)
        if call in self.binding.unordered or _all_are(answer, Reclaimed):
            return self._unordered(shown)
        if self._rises(answer):
            # By ids that the store gives, which need not be those of another store.
            return {"$rising": _sorted(map(self.value, answer))}
        if _all_are(answer, QueueStats) or call == "queue_stats":
            return {"$list": self._list(shown), "passing": QUIET}
        return self.value(shown)

    def _rises(self, answer: Any) -> bool:
        several = isinstance(answer, list | tuple) and len(answer) > 1
        return several and all(self.marks.of(each) in self._names for each in answer) and list(answer) == sorted(answer)

    def _unordered(self, shown: Iterable[Any]) -> Json:
        before = len(self._names)
        elements = _sorted(map(self.value, shown))
        if len(self._names) > before and len(elements) > 1:
            raise NotExportable("a list in any order that is the first to show what the store chooses")
        return {"$unordered": elements}

    def _details(self, details: Mapping[str, Any]) -> Json:
        members = {name: self.value(member) for name, member in details.items()}
        reason = members.get("reason")
        if isinstance(reason, str) and reason in self.binding.reasons:
            # A store that has words of its own is compared by the code alone (JOB-PRT-01).
            members["reason"] = {"$reason": reason}
        return {"$exactly": members}


def _moved(before: Any, after: Any) -> bool:
    """Also where the same number may be shown otherwise from now on."""
    return bool(before != after) or type(before) is not type(after)


def _is_kept(mark: Mark | None) -> bool:
    return mark is None or mark.kept


def _all_are(answer: Any, kind: type[Any]) -> bool:
    return isinstance(answer, list | tuple) and bool(answer) and all(isinstance(each, kind) for each in answer)


def _sorted(elements: Iterable[Json]) -> list[Json]:
    return sorted(elements, key=in_order)
