"""From a case to a vector: its steps with complete expectations, which any store that is right fulfils."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from attrs import frozen

from workcert.binding import WISHES, Binding
from workcert.cases.model import Call, Case, Inject, Restart, Transaction, required_abilities
from workcert.cases.playing import NoSingleCourse, Played, play
from workcert.vectors.choosing import OpenChooser, alternatives
from workcert.vectors.expected import Expected
from workcert.vectors.literals import NotExportable, literal
from workcert.vectors.marks import Json, Marks
from workspec.core.choice import reference
from workspec.core.record import State

FORMAT: Final = 1
"""The version of the lines."""


@frozen
class Vector:
    """``steps``: the lines between header and end."""

    header: Mapping[str, Json]
    steps: tuple[Json, ...]

    @property
    def name(self) -> str:
        return str(self.header["name"])

    def text(self) -> str:
        """The lines of the file."""
        lines = [self.header, *self.steps, {"end": len(self.steps)}]
        return "".join(f"{json.dumps(line, ensure_ascii=False, allow_nan=False)}\n" for line in lines)


@frozen
class LeftOut:
    """A case of which no vector can be made, and why; the reason is alike for all cases of which the same holds."""

    name: str
    reason: str


def vector_of(binding: Binding, case: Case) -> Vector | LeftOut:
    """The vector of a case.

    It is played twice, with everything that the contract leaves to the store chosen otherwise the second time: where
    the two differ in more than that, the course of the case is the store's own, and no vector tells it.
    """
    name = case.header.name
    try:
        asked = OpenChooser(Marks(3, False), _configured(binding, case))
        played = play(binding, case, asked)
        steps = _lines(binding, asked, played)
        otherwise = _steps(binding, case, OpenChooser(Marks(8, True), _configured(binding, case)))
        if steps != otherwise or not _as_with_defaults(binding, case, played):
            raise NotExportable("what the contract leaves to the store decides what comes after")
    except NoSingleCourse as why:
        return LeftOut(name, str(why))
    return Vector(_header(binding, case, _held(binding, case, asked, steps)), steps)


def _configured(binding: Binding, case: Case) -> dict[str, Any]:
    config = case.header.config
    return {binding.configured[option]: value for option, value in config.items() if option not in WISHES}


def _header(binding: Binding, case: Case, held: Mapping[str, Json]) -> Mapping[str, Json]:
    header = case.header
    return {
        "format": FORMAT,
        "contract": header.contract,
        "version": binding.contract.version,
        "name": header.name,
        "title": header.title,
        "requirements": list(header.requirements),
        "profiles": list(header.profiles),
        "abilities": sorted({*required_abilities(case), *header.abilities}),
        "config": {name: value for name, value in header.config.items() if name not in WISHES},
        "choices": dict(held),
        "handles": list(header.handles),
    }


def _held(binding: Binding, case: Case, asked: OpenChooser, steps: tuple[Json, ...]) -> Mapping[str, Json]:
    """The declared choices on which the vector hangs, with the reference's values: played with any other value of one,
    the case goes otherwise."""
    configured = _configured(binding, case)
    options = frozenset(binding.configured.values())
    held = {}
    for choice in asked.asked.values():
        if choice.id in configured:
            continue
        others = ({**configured, choice.id: value} for value in alternatives(choice, options))
        # Where there is no other value, a store that goes its own way is not asked for what depends on it.
        if choice.options == (choice.default,) or any(_goes_otherwise(binding, case, each, steps) for each in others):
            held[choice.id] = choice.default
    return dict(sorted(held.items()))


def _goes_otherwise(binding: Binding, case: Case, declared: Mapping[str, Any], steps: tuple[Json, ...]) -> bool:
    try:
        return _steps(binding, case, OpenChooser(Marks(3, False), declared)) != steps
    except NoSingleCourse:
        return True


def _as_with_defaults(binding: Binding, case: Case, played: Iterable[Played]) -> bool:
    """The reference's own values lead the same way: none of them stands in the case as a literal."""
    configured = _configured(binding, case)

    def choose(choice: Any, scope: Any) -> Any:
        return configured.get(choice.id, reference(choice, scope))

    plain = play(binding, case, choose)
    return all(_alike(one, other) for one, other in zip(_flat(played), _flat(plain), strict=True))


def _flat(steps: Iterable[Played]) -> Iterator[Played]:
    for step in steps:
        yield step
        yield from _flat((*step.inner, *step.late))


def _alike(one: Played, other: Played) -> bool:
    return [type(outcome) for outcome in one.outcomes] == [type(outcome) for outcome in other.outcomes]


# Lines ---------------------------------------------------------------------------------------------------------------


def _steps(binding: Binding, case: Case, choose: OpenChooser) -> tuple[Json, ...]:
    return _lines(binding, choose, play(binding, case, choose))


def _lines(binding: Binding, choose: OpenChooser, played: Iterable[Played]) -> tuple[Json, ...]:
    expected = Expected(binding, choose.marks)
    return tuple(_line(binding, expected, each) for each in played)


def _line(binding: Binding, expected: Expected, played: Played) -> Json:
    step = played.step
    match step:
        case Call():
            line = {"id": step.id, "on": step.on, **_instant(binding, step.at), **_call(expected, played)}
        case Restart():
            line = {"id": step.id, "restart": True}
        case Inject():
            line = {"id": step.id, "on": step.on, "inject": literal(step.record), "version": step.version}
        case Transaction():
            line = {
                "id": step.id,
                "on": step.on,
                **_instant(binding, step.at),
                "tx": [_inside(expected, each) for each in played.inner],
                "end": step.end,
                "after": [_inside(expected, each) for each in played.late],
            }
        case _:
            raise AssertionError(f"a step that is not played: {step!r}")
    line["rows"] = _rows(binding, expected, played.before, played.state)
    return line if step.note is None else {**line, "note": step.note}


def _instant(binding: Binding, at: int | None) -> Json:
    return {} if at is None else {binding.calls.time: literal(at)}


def _inside(expected: Expected, played: Played) -> Json:
    return {"id": played.step.id, **_call(expected, played)}


def _call(expected: Expected, played: Played) -> Json:
    step = played.step
    assert isinstance(step, Call)
    outcomes = [expected.outcome(step.call, outcome) for outcome in played.outcomes]
    line: Json = {"call": step.call, "args": literal(step.args)}
    if not outcomes:
        return line
    return {**line, "expect": outcomes[0] if len(outcomes) == 1 else {"one_of": outcomes}}


def _rows(binding: Binding, expected: Expected, before: State, after: State) -> Json:
    """The rows that a step changes: those that are gone, then the others in the order in which they were made."""
    gone = [key for key in before if key not in after and _is_read(binding, before, key)]
    changed = [key for key, record in after.items() if record is not before.get(key) and _is_read(binding, after, key)]
    rows: list[Json] = [{"id": expected.row_id(key), "has": None} for key in gone]
    for key in changed:
        shown = binding.present(after[key])
        earlier = binding.present(before[key]) if key in before else None
        members = expected.members(shown, earlier)
        if members or binding.versioned:
            rows.append({"id": expected.row_id(key), "has": members})
    return rows


def _is_read(binding: Binding, state: State, key: str) -> bool:
    return binding.legible(key) and binding.contract.shows(state[key])
