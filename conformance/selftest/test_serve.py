"""``workcert serve``: a store for drivers in other languages."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from workcert.backends.registry import find
from workcert.children.serve import serve
from workcert.cli import run
from workcert.cli.complaint import ReadableError

ENVELOPE = {"id": "a", "queue": "q", "kind": "k"}


def session(place: Path, contract: str, *requests: Any, config: dict[str, Any] | None = None) -> list[Any]:
    (backend,) = [each for each in find("sqlite") if each.binding.name == contract]
    answers = io.StringIO()
    lines = [request if isinstance(request, str) else json.dumps(request) for request in requests]
    serve(backend, place, config or {}, lines, answers)
    return [json.loads(line) for line in answers.getvalue().splitlines()]


def test_calls_are_answered_refused_and_judged_bad(tmp_path: Path) -> None:
    opened, made, refused, unknown, stray, missing, untyped, text = session(
        tmp_path,
        "jobs",
        {"id": 1, "call": "enqueue", "args": {"envelopes": [ENVELOPE]}, "at": 1000},
        {"id": "two", "call": "enqueue", "args": {"envelopes": [{**ENVELOPE, "id": ""}]}, "at": 1000},
        {"id": 3, "call": "dequeue", "args": {}},
        {"id": 4, "call": "promote_due", "args": {"limit": 1, "mood": "good"}},
        {"id": 5, "call": "promote_due"},
        {"id": 6, "call": "promote_due", "args": {"limit": "many"}},
        "no JSON",
    )
    assert opened == {"id": None, "ok": None}
    assert made == {"id": 1, "ok": None}
    assert (refused["id"], refused["error"]) == ("two", "Invalid")
    assert refused["details"]["reason"]
    assert "dequeue" in unknown["bad"]
    assert "mood" in stray["bad"]
    assert "limit" in missing["bad"]
    assert "limit" in untyped["bad"]
    assert text["bad"].startswith("line 1")


def test_the_place_keeps_what_was_committed_and_nothing_of_an_open_transaction(tmp_path: Path) -> None:
    inside = {"id": 2, "call": "claim_effect", "args": {"key": "k"}}
    begin, commit = {"id": 1, "call": "begin"}, {"id": 3, "call": "commit"}
    assert session(tmp_path, "jobs", begin, inside)[2] == {"id": 2, "ok": True}
    assert session(tmp_path, "jobs", begin, inside, commit)[2] == {"id": 2, "ok": True}
    assert session(tmp_path, "jobs", begin, inside, commit)[2] == {"id": 2, "ok": False}


def test_what_needs_a_transaction_is_bad_without_one(tmp_path: Path) -> None:
    inside = {"id": 3, "call": "claim_effect", "args": {"key": "k"}}
    begin, commit = {"id": 4, "call": "begin"}, {"id": 6, "call": "commit"}
    said = session(
        tmp_path,
        "jobs",
        {"id": 1, "call": "commit"},
        {"id": 2, "call": "rollback"},
        inside,
        begin,
        {"id": 5, "call": "begin"},
        inside,
        commit,
        {"id": 7, "call": "commit"},
        inside,
    )
    _, commit_only, rollback_only, outside, begun, again, made, ended, ended_twice, after = said
    for answer, what in ((commit_only, "commit"), (rollback_only, "roll back"), (ended_twice, "commit")):
        assert answer["bad"] == f"$.call: there is nothing to {what}: none is open; send begin first"
    for answer in (outside, after):
        assert answer["bad"].startswith("$.call: claim_effect is made inside a transaction, and none is open")
    assert "a transaction is open already" in again["bad"]
    assert (begun["ok"], made["ok"], ended["ok"]) == (None, True, None)


def test_the_instant_of_a_call_is_asked_for_where_it_is_an_argument(tmp_path: Path) -> None:
    _, without, with_it = session(
        tmp_path,
        "workload",
        {"id": 1, "call": "recover_expired"},
        {"id": 2, "call": "recover_expired", "at": 5},
    )
    assert "$.at" in without["bad"]
    assert with_it == {"id": 2, "ok": []}


def test_a_store_that_cannot_be_opened_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "jobs.db").write_bytes(b"no database at all" * 100)
    assert run(["serve", "sqlite", "--contract", "jobs", "--place", str(tmp_path)]) == 1
    (told,) = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert told["definite"] is True
    with pytest.raises(ReadableError, match="--config"):
        run(["serve", "sqlite", "--contract", "jobs", "--place", str(tmp_path), "--config", "[]"])
