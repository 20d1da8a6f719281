"""JSON of callers on either store: what is taken and kept, how deep it may go, and where secrets are found."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from workstore.memory import json_values as memory_json
from workstore.sqlite import json_values as sqlite_json

DEEPEST = 500
KEPT = [
    *(None, True, False, 0, -0.0, 0.5, 1, 1.0, 1e308, "", [], {}),
    *(2**63 - 1, -(2**63), ["\x00", "\U0010ffff"], "é\u0000\U0001f600", {"b": 1, "a": [None, {"c": []}]}),
]


def nested(levels: int, innermost: Any = None) -> Any:
    document = innermost
    for level in range(levels):
        document = [document] if level % 2 else {"in": document}
    return document


def text(document: Any) -> str:
    """Tells 1, 1.0 and true apart, as ``==`` does not."""
    return json.dumps(document, sort_keys=True)


def test_the_stores_say_how_deep(kind: str) -> None:
    limit = memory_json.MAX_DEPTH if kind == "memory" else sqlite_json.GREATEST_DEPTH
    assert limit == DEEPEST


@pytest.mark.parametrize("document", KEPT, ids=text)
def test_documents_are_kept_as_they_are(drive: Any, document: Any) -> None:
    work = drive(input=document)
    claim = work.claim_and_start("a", 11, 11)
    work.checkpoint(claim, document, 11)
    context = work.context(claim, 11)
    result = work.complete(claim, 11, output=document)
    for kept in (context.input, context.checkpoints[0].state, result.output, work.record.result.output):
        assert text(kept) == text(document)


def test_the_deepest_documents_are_kept(drive: Any, asking: Any) -> None:
    work = drive(input=nested(DEEPEST))
    assert not work.store.admit(request=asking(input=nested(DEEPEST))).created
    claim = work.claim_and_start("a", 11, 11)
    work.checkpoint(claim, nested(DEEPEST), 11)
    work.complete(claim, 11, output=nested(DEEPEST))
    record = work.record
    assert record.input == record.checkpoints[0].state == record.result.output == nested(DEEPEST)
    assert work.complete(claim, 12, output=nested(DEEPEST)) == record.result


@pytest.mark.parametrize("levels", [DEEPEST + 1, 100_000])
def test_deeper_documents_are_refused(drive: Any, asking: Any, code_of: Any, levels: int) -> None:
    work = drive()
    claim = work.claim_and_start("a", 11, 11)
    request = asking(input=nested(levels), idempotency_key="deep")
    assert code_of(work.store.admit, request=request) == "WORKLOAD_INVALID"
    assert code_of(work.checkpoint, claim, nested(levels), 11) == "WORKLOAD_INVALID"
    assert code_of(work.complete, claim, 11, output=nested(levels)) == "WORKLOAD_INVALID"
    assert list(work.store.snapshot().values()) == [3]


def test_empty_containers_count_as_a_level(store: Any, asking: Any, code_of: Any) -> None:
    assert store.admit(request=asking(input=nested(DEEPEST - 1, []))).created
    assert code_of(store.admit, request=asking(input=nested(DEEPEST, []))) == "WORKLOAD_INVALID"


def test_a_caller_deep_in_its_own_stack_is_served(drive: Any, asking: Any) -> None:
    work = drive(input=nested(DEEPEST))
    store, claim = work.store, work.claim_and_start("a", 11, 11)

    def calls() -> None:
        assert store.admit(request=asking(input=nested(DEEPEST), idempotency_key="two")).created
        assert not store.admit(request=asking(input=nested(DEEPEST))).created
        work.checkpoint(claim, nested(DEEPEST), 11)
        work.context(claim, 11)
        work.complete(claim, 11, output=nested(DEEPEST))

    def deeper(levels: int) -> None:
        if levels:
            deeper(levels - 1)
        else:
            calls()

    deeper(sys.getrecursionlimit() - 400)
    assert text(work.record.result.output) == text(nested(DEEPEST))


@pytest.mark.parametrize("core", ["sk-1", ["fdb_live_x"], {"a BEGIN PRIVATE KEY": 1}], ids=str)
@pytest.mark.parametrize("levels", [0, 3, DEEPEST, 20_000])
def test_secrets_are_found_at_any_depth_and_first(
    drive: Any, asking: Any, code_of: Any, levels: int, core: Any
) -> None:
    work = drive()
    claim = work.claim_and_start("a", 11, 11)
    # Beside faults of value, in the document and in another argument.
    document = [nested(levels, core), float("nan"), float("nan")]
    request = asking(input=document, idempotency_key="")
    assert code_of(work.store.admit, request=request) == "WORKLOAD_SECRET_MATERIAL"
    for at in (11, 2**63):
        assert code_of(work.checkpoint, claim, document, at) == "WORKLOAD_SECRET_MATERIAL"
        assert code_of(work.complete, claim, at, output=document) == "WORKLOAD_SECRET_MATERIAL"


@pytest.mark.parametrize("secret", ["a BEGIN PRIVATE KEY", "sk-1", "fdb_live_"])
def test_a_secret_in_an_error_text_comes_first(drive: Any, code_of: Any, secret: str) -> None:
    work = drive()
    claim = work.claim("a", 11)
    assert code_of(work.fail, claim, 2**63, "timeout", secret, "maybe") == "WORKLOAD_SECRET_MATERIAL"


def test_a_container_shared_many_times_is_looked_at_once_per_level(kind: str) -> None:
    value: list[Any] = ["x"]
    for _ in range(60):
        value = [value, value]
    if kind == "memory":
        found = memory_json.inspect(value)
        assert (found.wrong_type, found.secret, found.fault) == (None, False, None)
    else:
        looked = sqlite_json.examine(value, "state")
        assert (looked.has_secret, looked.fault) == (False, None)


def test_a_large_document_is_kept(drive: Any) -> None:
    document = {"text": "é" * 5_000_000}
    assert drive(input=document).record.input == document
