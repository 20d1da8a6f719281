"""Crash and damage steps as text: what is written is read, and what has no meaning is refused with its line."""

from __future__ import annotations

import json
from typing import Any

import pytest

from workcert.backends.protocol import Ability
from workcert.binding import bindings
from workcert.cases import CaseError, parse, required_abilities, unrolled, write
from workcert.cases.model import Crash, Damage
from workcert.cases.playing import NoSingleCourse, play
from workcert.shrink.edits import changed, leaves
from workspec.core.choice import reference

CALL = {"id": "c1", "on": "A", "at_ms": 5, "call": "promote_due", "args": {"limit": 1}}
TX = {"id": "t1", "on": "A", "at_ms": 5, "tx": [{"id": "e1", "call": "claim_effect", "args": {"key": "k"}}]}


def text(*steps: dict[str, Any], abilities: tuple[str, ...] = ("kill", "restart")) -> str:
    header = {
        "format": 1,
        "contract": "jobs",
        "name": "jobs/example",
        "title": "An example",
        "requirements": [],
        "profiles": [],
        "abilities": list(abilities),
        "config": {},
        "handles": ["A"],
        "digest": None,
    }
    return "".join(f"{json.dumps(line)}\n" for line in (header, *steps, {"end": len(steps)}))


STEPS = (
    {"id": "k1", "crash": "open", "point": 2},
    {"id": "k2", "crash": CALL, "point": 3, "note": "why"},
    {"id": "k3", "crash": {**TX, "end": "commit"}, "point": 1},
    {"id": "k4", "crash": {**CALL, "id": "c2"}, "point": 1, "disk": "full"},
    {"id": "d1", "damage": "a/jobs.db", "how": "cut", "at": 7, "length": 0},
)


def test_what_is_written_is_read() -> None:
    case = parse(text(*STEPS))
    assert parse(write(case)) == case
    assert required_abilities(case) == {Ability.KILL, Ability.RESTART}
    kinds = [type(step) for step in case.steps]
    assert kinds == [Crash, Crash, Crash, Crash, Damage]
    assert [leaf.id for leaf in leaves(case.steps)] == ["k1", "c1", "e1", "c2", "d1"]


def test_a_repeat_may_kill_and_names_each_time() -> None:
    case = parse(text({"id": "r", "repeat": 2, "steps": [{"id": "k", "crash": CALL, "point": 1}]}))
    found = list(unrolled(case.steps))
    assert [(step.id, getattr(step, "step").id) for step in found] == [("k#1", "c1#1"), ("k#2", "c1#2")]  # noqa: B009


def test_a_crash_goes_with_the_call_that_it_holds() -> None:
    case = parse(text(*STEPS))
    left = changed(case, lambda leaf: None if leaf.id in ("c1", "e1") else leaf)
    assert [step.id for step in left.steps] == ["k1", "k4", "d1"]


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ({"id": "k", "crash": CALL, "point": 0}, "counted from 1"),
        ({"id": "k", "crash": {"id": "r", "restart": True}, "point": 1}, "inside a crash step"),
        ({"id": "k", "crash": {**CALL, "expect": {"ok": 1}}, "point": 1}, "has no meaning here"),
        ({"id": "k", "crash": CALL, "point": 1, "disk": "slow"}, "disk 'slow'"),
        ({"id": "k", "crash": "open", "point": 1, "disk": "full"}, "opening a store"),
        ({"id": "k", "crash": {**TX, "end": "commit"}, "point": 1, "disk": "full"}, "a transaction on a disk"),
        ({"id": "d", "damage": "../x", "how": "cut", "at": 1}, "name a file"),
        ({"id": "d", "damage": "x", "how": "bent"}, "damage 'bent'"),
        ({"id": "d", "damage": "x", "how": "cut", "at": -1}, "from 0"),
    ],
)
def test_what_has_no_meaning_is_refused(step: dict[str, Any], said: str) -> None:
    with pytest.raises(CaseError, match=said):
        parse(text(step))


def test_nothing_stands_after_a_damage_and_the_abilities_are_asked_for() -> None:
    with pytest.raises(CaseError, match="after a damage step"):
        parse(text(STEPS[-1], CALL))
    with pytest.raises(CaseError, match="need the ability 'kill'"):
        parse(text(STEPS[0], abilities=("restart",)))


@pytest.mark.parametrize("step", [STEPS[1], STEPS[-1]])
def test_no_vector_is_made_of_them(step: dict[str, Any]) -> None:
    with pytest.raises(NoSingleCourse):
        play(bindings()["jobs"], parse(text(step)), reference)
