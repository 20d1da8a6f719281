"""The case format: every fault of a file is named with its line, and nothing is lost on the way to text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workcert.cases import (
    UNCHANGED,
    Call,
    Case,
    CaseError,
    Frozen,
    Header,
    Inject,
    Ok,
    Refusal,
    Repeat,
    Restart,
    Together,
    contracts,
    every_step,
    load_case,
    parse,
    required_abilities,
    unrolled,
    write,
)
from workcert.cases.matcher import (
    Absent,
    AllOf,
    Anything,
    Exactly,
    Items,
    Last,
    Length,
    OneOf,
    StartsWith,
)
from workcert.codec import Ref, RepeatText, Text

HEADER: dict[str, Any] = {
    "format": 1,
    "contract": "workload",
    "name": "workload/example",
    "title": "An example",
    "requirements": ["WRK-CLM-05"],
    "profiles": [],
    "abilities": ["restart", "inject", "pause", "second_handle"],
    "config": {},
    "handles": ["A", "B"],
    "digest": None,
}
FENCE = {
    "workload_id": "w",
    "claim_id": {"$ref": "c1.claim_id"},
    "worker_id": "a",
    "fencing_token": {"$ref": "c1.fencing_token"},
}


def claim(step_id: str = "c1", on: str = "A", **changes: Any) -> dict[str, Any]:
    args = {"workload_id": "w", "worker_id": "a", "capabilities": ["x"], "lease_ms": 1000}
    return {"id": step_id, "on": on, "at_s": 11, "call": "claim", "args": args, **changes}


def start(step_id: str = "s1", on: str = "A", **changes: Any) -> dict[str, Any]:
    return {"id": step_id, "on": on, "at_s": 12, "call": "start", "args": FENCE, **changes}


def text_of(*steps: Any, header: dict[str, Any] | None = None, end: int | None = None) -> str:
    closing = {"end": len(steps) if end is None else end}
    lines = [HEADER if header is None else header, *steps, closing]
    return "".join(line if isinstance(line, str) else json.dumps(line) + "\n" for line in lines)


def without(members: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in members.items() if key != name}


BAD_FILES: list[tuple[str, str, int, str]] = [
    ("empty", "", 1, "the file is empty"),
    ("no end line", json.dumps(HEADER) + "\n", 1, "no end line"),
    ("cut after a step", json.dumps(HEADER) + "\n" + json.dumps(claim()) + "\n", 2, "no end line"),
    ("cut inside a step", json.dumps(HEADER) + "\n" + json.dumps(claim())[:40], 2, "no end line"),
    ("steps are missing", text_of(claim(), end=2), 3, "the end line says 2 steps, the file has 1"),
    ("steps after the end", text_of(claim(), '{"end": 1}\n', claim("c2"), end=1), 3, "exactly one of"),
    ("no header", json.dumps(claim()) + '\n{"end": 0}\n', 1, "no header"),
    ("other format", text_of(header={**HEADER, "format": 2}), 1, "format 2, and this kit reads format 1"),
    ("other contract", text_of(header={**HEADER, "contract": "joobs"}), 1, "unknown contract 'joobs'"),
    ("header member", text_of(header={**HEADER, "owner": "me"}), 1, "unknown member 'owner' of the header"),
    ("header incomplete", text_of(header=without(HEADER, "title")), 1, "the header has no 'title'"),
    ("no handles", text_of(header={**HEADER, "handles": []}), 1, "no handle"),
    ("handles twice", text_of(header={**HEADER, "handles": ["A", "A"]}), 1, "'handles' of the header"),
    ("bad name", text_of(header={**HEADER, "name": "../x"}), 1, "name '../x'"),
    ("unknown profile", text_of(header={**HEADER, "profiles": ["FAST"]}), 1, "unknown profile 'FAST'"),
    ("unknown ability", text_of(header={**HEADER, "abilities": ["fly"]}), 1, "unknown ability 'fly'"),
    ("not JSON", text_of("{,}\n", claim()), 2, "not JSON"),
    ("duplicate key", text_of('{"id": "a", "id": "b"}\n'), 2, "duplicate key 'id'"),
    ("empty line", text_of("\n", claim()), 2, "an empty line"),
    ("an array", text_of("[]\n"), 2, "no JSON object"),
    ("no kind", text_of({"id": "x"}), 2, "exactly one of"),
    ("two kinds", text_of(claim(restart=True)), 2, "exactly one of"),
    ("unknown member", text_of(claim(expects={})), 2, "unknown member 'expects' of a call step"),
    ("no id", text_of(without(claim(), "id")), 2, "a step has no 'id'"),
    ("bad id", text_of(claim("c#1")), 2, "step id 'c#1'"),
    ("id twice", text_of(claim(), claim()), 3, "step id 'c1' is used twice"),
    ("unknown handle", text_of(claim(on="Z")), 2, "unknown handle 'Z'"),
    ("unknown call", text_of(claim(call="clam")), 2, "unknown call 'clam'"),
    ("no time", text_of(without(claim(), "at_s")), 2, "claim needs at_s"),
    ("time of a read", text_of(claim(call="get", args={"workload_id": "w"})), 2, "get takes no at_s"),
    ("time is a text", text_of(claim(at_s="11")), 2, "'at_s' is no integer"),
    ("unknown argument", text_of(claim(args={"lease": 1})), 2, "unknown argument 'lease' of claim"),
    ("now_s", text_of(claim(args={"now_s": 1})), 2, "'now_s' among the arguments of claim"),
    ("missing argument", text_of(start(args={})), 2, "start misses the argument"),
    (
        "wrong type",
        text_of(claim(args={**claim()["args"], "lease_ms": "1"})),
        2,
        "lease_ms: expected an integer",
    ),
    (
        "forward reference",
        text_of(start(), claim()),
        2,
        "'c1.claim_id' refers to 'c1', which has no answer yet",
    ),
    ("no such step", text_of(start(args={**FENCE, "worker_id": {"$ref": "q"}})), 2, "has no answer yet"),
    ("own answer", text_of(claim(record={"current_claim": {"$ref": "c1"}})), 2, "has no answer yet"),
    (
        "bad form",
        text_of(claim(args={**claim()["args"], "lease_ms": {"$huge": 1}})),
        2,
        "unknown form '$huge'",
    ),
    ("bad expectation", text_of(claim(expect={"fine": 1})), 2, "an expectation"),
    ("unknown code", text_of(claim(expect={"error": "NOT_READY"})), 2, "unknown error code 'NOT_READY'"),
    (
        "details null",
        text_of(claim(expect={"error": "WORKLOAD_INVALID", "details": None})),
        2,
        "details null",
    ),
    ("record null", text_of(claim(record=None)), 2, "record null"),
    ("bad version", text_of(claim(version="new")), 2, "version 'new'"),
    ("restart false", text_of({"id": "r", "restart": False}), 2, "'restart' is not true"),
    ("inject half a record", text_of({"id": "i", "on": "A", "inject": {}, "version": 1}), 2, "missing"),
    ("inject no version", text_of({"id": "i", "on": "A", "inject": {}}), 2, "'version' of an inject step"),
    ("together alone", text_of({"id": "t", "together": [claim()]}), 2, "two handles or more"),
    (
        "together on one handle",
        text_of({"id": "t", "together": [claim(), claim("c2")]}),
        2,
        "two handles or more",
    ),
    (
        "together depends",
        text_of({"id": "t", "together": [claim(), start(on="B")]}),
        2,
        "'c1.claim_id' refers to 'c1', which has no answer yet",
    ),
    (
        "together expects",
        text_of({"id": "t", "together": [claim(), claim("c2", "B", version="same")]}),
        2,
        "'version' on 'c2' has no meaning here",
    ),
    (
        "together rows",
        text_of({"id": "t", "together": [claim(), claim("c2", "B")], "expect_one_of": [[{"ok": 1}]]}),
        2,
        "'expect_one_of' is no array of rows",
    ),
    (
        "restart inside",
        text_of({"id": "f", "frozen": claim(), "during": [{"id": "r", "restart": True}]}),
        2,
        "inside",
    ),
    ("frozen alone", text_of({"id": "f", "frozen": claim(), "during": []}), 2, "'during' is empty"),
    (
        "frozen handle",
        text_of({"id": "f", "frozen": claim(), "during": [claim("c2")]}),
        2,
        "on the frozen handle 'A'",
    ),
    (
        "frozen unchanged",
        text_of({"id": "f", "frozen": claim(record="unchanged"), "during": [claim("c2", "B")]}),
        2,
        "'unchanged' on a frozen call",
    ),
    ("repeat without end", text_of({"id": "p", "repeat": 10**9, "steps": [claim()]}), 2, "10000 is the most"),
    ("repeat nothing", text_of({"id": "p", "repeat": 0, "steps": [claim()]}), 2, "a repeat of nothing"),
    (
        "repeat in repeat",
        text_of({"id": "p", "repeat": 2, "steps": [{"id": "q", "repeat": 2, "steps": [claim()]}]}),
        2,
        "a repeat inside a repeat",
    ),
    (
        "which iteration",
        text_of({"id": "p", "repeat": 2, "steps": [claim()]}, start()),
        3,
        "name the iteration: c1#1 to c1#2",
    ),
    (
        "ability not named",
        text_of({"id": "r", "restart": True}, header={**HEADER, "abilities": ["second_handle"]}),
        1,
        "the steps need the ability 'restart'",
    ),
    (
        "handles without ability",
        text_of(header={**HEADER, "abilities": []}),
        1,
        "the steps need the ability 'second_handle'",
    ),
]


@pytest.mark.parametrize(("text", "line", "cause"), [pytest.param(*each[1:], id=each[0]) for each in BAD_FILES])
def test_a_bad_file_is_refused_with_line_and_cause(text: str, line: int, cause: str) -> None:
    with pytest.raises(CaseError) as fault:
        parse(text, "bad.jsonl")
    assert cause in str(fault.value)
    assert fault.value.line == line
    assert str(fault.value).startswith(f"bad.jsonl:{line}: ")
    assert fault.value.remedy


def test_line_separators_inside_texts_end_no_line() -> None:
    case = parse(text_of(json.dumps(claim(note="a\u2028b\x85c"), ensure_ascii=False) + "\n"))
    assert case.steps[0].note == "a\u2028b\x85c"


# ------------------------------------------------------------------------------------- round trip

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
LITERALS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | TEXTS
    | st.binary(max_size=3)
    | st.builds(RepeatText, TEXTS, st.just(3)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS | st.just("$any"), inner, max_size=3),
    max_leaves=5,
)
MATCHERS = st.recursive(
    LITERALS | st.builds(Absent) | st.builds(Anything) | st.builds(Length, st.integers(0, 9)),
    lambda inner: (
        st.dictionaries(TEXTS, inner, max_size=3)
        | st.builds(OneOf, st.lists(inner, min_size=1, max_size=2).map(tuple))
        | st.builds(AllOf, st.lists(inner, min_size=1, max_size=2).map(tuple))
        | st.builds(Exactly, inner)
        | st.builds(Last, inner)
        | st.builds(Items, inner)
        | st.builds(StartsWith, TEXTS)
    ),
    max_leaves=5,
)
EXPECTATIONS = st.builds(Ok, MATCHERS) | st.builds(
    Refusal, st.just("WORKLOAD_CONFLICT"), st.none() | MATCHERS.filter(lambda matcher: matcher is not None)
)
NOTES = st.none() | TEXTS


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Any case that is well formed, each kind of step in it, references to what came before."""
    count = iter(range(1000))
    answered: list[str] = []

    def call(on: str, bare: bool = False) -> Call:
        step_id = f"s{next(count)}"
        ref = st.sampled_from(answered).map(lambda name: Ref(f"{name}.member")) if answered else st.just("w")
        worker = draw(ref | st.builds(lambda r: Text(("a", r)), ref) if answered else ref)
        return Call(
            id=step_id,
            on=on,
            call="claim",
            args={
                "workload_id": draw(ref),
                "worker_id": worker,
                "capabilities": draw(st.lists(TEXTS, max_size=2)),
                "lease_ms": draw(st.integers(0)),
            },
            at=draw(st.integers()),
            expect=None if bare else draw(st.none() | EXPECTATIONS),
            record=None if bare else draw(st.none() | MATCHERS.filter(lambda m: m is not None) | st.just(UNCHANGED)),
            of=draw(st.none() | TEXTS),
            version=None if bare else draw(st.sampled_from([None, "same", "moved"])),
            note=draw(NOTES),
        )

    def simple() -> Any:
        step = draw(st.sampled_from(["call", "restart", "together", "frozen"]))
        if step == "call":
            made = call(draw(st.sampled_from("AB")))
            answered.append(made.id)
            return made
        if step == "restart":
            return Restart(f"r{next(count)}", draw(NOTES))
        left, right = call("A", bare=True), call("B", bare=True)
        answered.extend((left.id, right.id))
        if step == "frozen":
            return Frozen(f"f{next(count)}", left, (right,), draw(NOTES))
        rows = draw(st.none() | st.lists(st.tuples(EXPECTATIONS, EXPECTATIONS), min_size=1).map(tuple))
        return Together(f"t{next(count)}", (left, right), draw(st.integers(1, 30)), rows, draw(NOTES))

    steps: list[Any] = []
    for _ in range(draw(st.integers(0, 4))):
        if draw(st.booleans()):
            steps.append(simple())
            continue
        before = list(answered)
        body = tuple(simple() for _ in range(draw(st.integers(1, 2))))
        times = draw(st.integers(1, 3))
        gained = [name for name in answered if name not in before]
        answered[:] = before + [f"{name}#{n}" for name in gained for n in range(1, times + 1)]
        steps.append(Repeat(f"p{next(count)}", times, body, draw(NOTES)))
    header = Header(
        contract="workload",
        name="workload/drawn",
        title=draw(TEXTS),
        requirements=draw(st.sampled_from([(), ("WRK-CLM-05", "WRK-FNC-01")])),
        profiles=draw(st.sampled_from([(), ("DURABLE", "WRITERS")])),
        abilities=("pause", "restart", "second_handle"),
        config=draw(st.dictionaries(TEXTS, LITERALS, max_size=2)),
        handles=("A", "B"),
        digest=draw(NOTES),
    )
    return Case(header, tuple(steps))


@given(cases())
def test_a_case_survives_the_way_through_text(case: Case) -> None:
    text = write(case)
    assert parse(text) == case
    assert write(parse(text)) == text
    assert text.count("\n") == len(case.steps) + 2


@given(cases())
def test_an_unrolled_case_has_ids_of_its_own(case: Case) -> None:
    steps = tuple(unrolled(case.steps))
    names = [step.id for step in every_step(steps)]
    assert len(set(names)) == len(names)
    assert not any(isinstance(step, Repeat) for step in steps)


def test_references_inside_an_iteration_mean_that_iteration() -> None:
    body = (claim(), start())
    outside = start("s2", args={**FENCE, "claim_id": {"$ref": "c1#2.claim_id"}, "fencing_token": 1})
    case = parse(text_of({"id": "p", "repeat": 2, "steps": list(body)}, outside))
    calls = [step for step in unrolled(case.steps) if isinstance(step, Call)]
    assert [call.id for call in calls] == ["c1#1", "s1#1", "c1#2", "s1#2", "s2"]
    assert [call.args.get("claim_id") for call in calls[1::2]] == [Ref("c1#1.claim_id"), Ref("c1#2.claim_id")]
    assert calls[4].args["claim_id"] == Ref("c1#2.claim_id")


def test_required_abilities_follow_from_the_steps() -> None:
    one_handle = attrs.evolve(parse(text_of()).header, handles=("A",), abilities=())
    assert required_abilities(Case(one_handle, ())) == frozenset()
    inject = Inject("i", "A", {}, None)
    assert required_abilities(Case(one_handle, (Repeat("p", 2, (inject, Restart("r"))),))) == {
        "inject",
        "restart",
    }


def test_calls_come_from_the_ports() -> None:
    workload = contracts()["workload"]
    assert {"admit", "claim", "recover_expired", "migrate"} <= workload.calls.keys()
    assert workload.calls["claim"].timed
    assert not workload.calls["admit"].timed
    assert workload.calls["get"].optional == {"fresh"}
    assert "now_s" not in workload.calls["enforce_deadlines"].arguments


def test_a_file_of_ones_own_is_loaded_by_its_path(tmp_path: Path) -> None:
    file = tmp_path / "mine.jsonl"
    file.write_text(text_of(claim()), encoding="utf-8")
    assert load_case(file) == load_case(str(file)) == parse(text_of(claim()))
    with pytest.raises(CaseError, match="cannot be read"):
        load_case(tmp_path / "nothing.jsonl")
    with pytest.raises(CaseError, match="no case of this name"):
        load_case("workload/nothing")
    file.write_bytes(text_of(claim()).encode() + b"\xff")
    with pytest.raises(CaseError, match="not UTF-8"):
        load_case(file)
