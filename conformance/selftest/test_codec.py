"""The JSON codec: what it refuses, that it loses nothing, and what references stand for."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Any

import pytest
from attrs import frozen
from hypothesis import given
from hypothesis import strategies as st

from workcert.codec import (
    CodecError,
    JsonBytes,
    Ref,
    Refused,
    RefusedReference,
    RepeatText,
    Text,
    UnknownReference,
    dumps,
    loads,
    references,
    resolve,
    structure,
    to_json,
)
from workspec.workload.vocabulary import AdmissionRequest, Checkpoint, Claim, State, Workload

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS
    | st.binary()
    | st.builds(RepeatText, TEXTS, st.integers(0, 10**6))
    | st.builds(Ref, st.sampled_from(["c1", "w.workload.workload_id", "x[0].a[-1]", "h#2.expires_at"]))
    | st.builds(Ref, st.just("c1.fencing_token"), plus=st.integers())
    | st.builds(Ref, st.just("c1.claim_id"), append=TEXTS)
    | st.builds(Text, st.lists(TEXTS | st.builds(Ref, st.just("c1"))).map(tuple))
)
KEYS = TEXTS | st.sampled_from(["$ref", "$value", "$bytes", "$"])
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner) | st.builds(JsonBytes, inner),
    max_leaves=20,
)


@given(VALUES)
def test_what_is_written_reads_back_the_same(value: Any) -> None:
    assert loads(dumps(value)) == value
    assert dumps(loads(dumps(value))) == dumps(value)


@given(VALUES)
def test_the_text_is_one_line_of_plain_json(value: Any) -> None:
    text = dumps(value)
    assert "\n" not in text
    json.loads(text)


@given(st.dictionaries(KEYS, LEAVES))
def test_sorted_text_does_not_depend_on_the_order_of_members(members: dict[str, Any]) -> None:
    backwards = dict(reversed(members.items()))
    assert dumps(members, sort=True) == dumps(backwards, sort=True)


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ('{"a": 1, "a": 1}', "duplicate key 'a'"),
        ('{"x": [{"a": 1, "a": 2}]}', "$.x[0]: duplicate key 'a'"),
        ('{"$value": {"$a": 1, "$a": 2}}', "duplicate key '$a'"),
        ("[NaN]", "NaN"),
        ("[Infinity]", "Infinity"),
        ("[-Infinity]", "-Infinity"),
        ("[1e999]", "beyond every double"),
        ('["\\ud800"]', "$[0]: lone surrogate"),
        ('["\ud800"]', "lone surrogate"),
        ('{"\\udc00": 1}', "member name"),
        ("[9007199254740992]", '"$int": "9007199254740992"'),
        ("[" + "9" * 5000 + "]", "beyond 2^53-1"),
        ('{"a":', "line 1 column 6: not JSON"),
        ("", "not JSON"),
        ("[1] 2", "not JSON"),
        ("[" * 100_000, "nested too deeply"),
        ("[" * 130 + "]" * 130, "nested too deeply; 128 levels"),
        ('{"$nothing": 1}', "unknown form '$nothing'"),
        ('{"$any": true}', "unknown form '$any'"),
        ('{"$bytes": "A"}', "base64"),
        ('{"$bytes": "AA==", "x": 1}', "takes no member 'x'"),
        ('{"$int": "1.0"}', "decimal text"),
        ('{"$int": "007"}', "decimal text"),
        ('{"$int": 7}', "needs a text"),
        ('{"$value": 7}', "needs an object"),
        ('{"$repeat": {"text": "x"}}', "$repeat needs"),
        ('{"$repeat": {"text": "x", "count": -1}}', "a count"),
        ('{"$repeat": {"text": "x", "count": true}}', "a count"),
        ('{"$ref": ""}', "is no reference"),
        ('{"$ref": "c1..x"}', "is no reference"),
        ('{"$ref": "c1", "plus": 1, "append": "x"}', "not both"),
        ('{"$ref": "c1", "plus": "1"}', "plus needs an integer"),
        ('{"$ref": "c1", "append": 1}', "append needs a text"),
        ('{"$ref": "c1", "minus": 1}', "takes no member 'minus'"),
        ('{"$text": ["x", 1]}', "$text needs"),
    ],
)
def test_refused_text_names_place_and_cause(text: str, cause: str) -> None:
    with pytest.raises(CodecError) as fault:
        loads(text)
    assert cause in str(fault.value)


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), "\ud800", {"a": "\udfff"}, {1: 2}, object(), {"\ud800": 1}]
)
def test_what_json_cannot_hold_is_not_written(value: Any) -> None:
    with pytest.raises(CodecError):
        dumps(value)
    with pytest.raises(CodecError):
        to_json(value)


class Colour(StrEnum):
    RED = "red"


@frozen
class Pair:
    left: Any
    right: Any


def test_carriers_become_plain_values() -> None:
    value = Pair(left=(Colour.RED, frozenset({"b", "a"})), right={"k": Pair(b"x", None)})
    assert to_json(value) == {"left": ["red", ["a", "b"]], "right": {"k": {"left": b"x", "right": None}}}
    assert type(to_json(Colour.RED)) is str


CLAIM = {
    "claim_id": "claim-1",
    "worker_id": "a",
    "fencing_token": 1,
    "claimed_at": 11,
    "expires_at": 21,
    "last_heartbeat": 11,
}
REQUEST = {
    "tenant_id": "t",
    "application_id": "app",
    "requested_by": {"kind": "agent", "id": "a1"},
    "idempotency_key": "one",
    "definition_id": "d",
    "definition_revision": "r1",
    "environment": "e",
    "input": {"deep": [{"a": None}]},
    "capability_snapshot": ["x", "x"],
    "retry_policy": {
        "max_attempts": 3,
        "backoff": "fixed",
        "initial_delay_ms": 0,
        "max_delay_ms": 1,
        "retry_on": ["b", "a"],
    },
    "dependencies": [{"workload_id": "w1", "required_state": "SUCCEEDED"}],
    "created_at": 10,
    "authorization_snapshot": {
        "subject": {"kind": "agent", "id": "a1"},
        "tenant_id": "t",
        "application_id": "app",
        "signature": "s",
    },
}


def test_plain_values_become_carriers() -> None:
    request = structure(AdmissionRequest, REQUEST)
    assert request.priority is None
    assert request.capability_snapshot == ("x", "x")
    assert request.retry_policy.retry_on == frozenset({"a", "b"})
    assert request.dependencies[0].required_state == State.SUCCEEDED
    assert structure(AdmissionRequest, to_json(request)) == request
    assert structure(Claim, CLAIM) == Claim("claim-1", "a", 1, 11, 21, 11)
    assert structure(Checkpoint | None, None) is None


@pytest.mark.parametrize(
    ("wanted", "value", "cause"),
    [
        (Claim, {**CLAIM, "fencing_token": "1"}, "$.fencing_token: expected an integer, found a text"),
        (
            Claim,
            {**CLAIM, "fencing_token": True},
            "$.fencing_token: expected an integer, found true or false",
        ),
        (Claim, {**CLAIM, "fencing_token": None}, "$.fencing_token: expected an integer, found null"),
        (Claim, {**CLAIM, "more": 1}, "$.more: Claim has no such member"),
        (Claim, {"claim_id": "x"}, "$.worker_id: missing"),
        (Claim, [], "expected Claim as an object, found an array"),
        (AdmissionRequest, {**REQUEST, "dependencies": [{}]}, "$.dependencies[0].workload_id: missing"),
        (AdmissionRequest, {**REQUEST, "capability_snapshot": "x"}, "expected an array, found a text"),
        (Workload, {}, "missing"),
    ],
)
def test_what_does_not_fit_is_named_by_its_path(wanted: Any, value: Any, cause: str) -> None:
    with pytest.raises(CodecError) as fault:
        structure(wanted, value)
    assert cause in str(fault.value)


ANSWERS: dict[str, Any] = {
    "c1": {"claim_id": "claim-1", "fencing_token": 3, "flag": True},
    "p#2": ["w1", {"a.b": 1}],
    "s1": None,
    "x1": Refused("WORKLOAD_NOT_READY"),
}


def test_references_become_members_of_answers() -> None:
    value = {
        "a": Ref("c1.fencing_token", plus=-1),
        "b": [Ref("c1.claim_id", append="!"), Ref("p#2[0]"), Ref("p#2[-1]"), Ref("s1")],
        "c": Text(("token ", Ref("c1.fencing_token"), RepeatText("-", 2))),
        "d": JsonBytes({"é": Ref("c1.claim_id"), "n": [1, 2]}),
    }
    assert resolve(value, ANSWERS) == {
        "a": 2,
        "b": ["claim-1!", "w1", {"a.b": 1}, None],
        "c": "token 3--",
        "d": '{"é":"claim-1","n":[1,2]}'.encode(),
    }
    assert [ref.step for ref in references(value)] == ["c1", "c1", "p#2", "p#2", "s1", "c1", "c1"]


@pytest.mark.parametrize(
    "ref",
    [
        Ref("c2"),
        Ref("p"),
        Ref("c1.nothing"),
        Ref("c1.claim_id.deeper"),
        Ref("s1.claim_id"),
        Ref("p#2[7]"),
        Ref("c1.claim_id", plus=1),
        Ref("c1.flag", plus=1),
        Ref("c1.fencing_token", append="x"),
        Text((Ref("s1"),)),
    ],
)
def test_a_reference_to_what_is_not_there_is_unknown(ref: Any) -> None:
    with pytest.raises(UnknownReference):
        resolve([ref], ANSWERS)


def test_a_reference_to_a_refused_step_is_told_apart() -> None:
    with pytest.raises(RefusedReference, match="WORKLOAD_NOT_READY"):
        resolve({"a": Ref("x1.claim_id")}, ANSWERS)
