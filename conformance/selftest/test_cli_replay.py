"""``workcert replay``: its steps, its exit codes, and what it says to bad cases."""

from __future__ import annotations

from pathlib import Path

import pytest
from attrs import evolve

from workcert.cases.library import load_case
from workcert.cases.write import write

from .command_line import BROKEN, MEMORY, SQLITE, STALE, run


@pytest.fixture(autouse=True)
def _own_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Failing cases are saved below the present directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WORKCERT_DEBUG", raising=False)
    (tmp_path / "bad.py").write_text(BROKEN)


def test_replay_prints_numbered_steps(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "replay", "15-stale-worker", SQLITE)
    assert code == 0
    assert out.startswith(f"{STALE}: ")
    assert "heartbeat" in out
    assert out.splitlines()[-1] == "passed: 9 steps"


def test_replay_shows_records_and_stops(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "replay", STALE, MEMORY, "--show-state")
    assert code == 0
    assert "The expected records after 2 (c1 claim):" in out
    assert 'status: "' in out or '"status": "' in out
    code, out, _ = run(capsys, "replay", STALE, MEMORY, "--stop-before", "p2")
    assert code == 0
    assert "The expected records before p2:" in out
    assert 'state: "CLAIMED"' in out
    code, _, err = run(capsys, "replay", STALE, MEMORY, "--stop-before", "zz")
    assert code == 2
    assert "the case has no step 'zz'; it has: w, c1" in err


def test_a_skipped_case_shows_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "replay", "01b-replay-after-restart", MEMORY)
    assert code == 2
    assert "does not claim DURABLE" in out
    assert run(capsys, "replay", "01b-replay-after-restart", MEMORY, "--bisect")[0] == 125


def test_bisect_tells_a_failure_from_what_cannot_be_tested(capsys: pytest.CaptureFixture[str]) -> None:
    case = "workload/clm-11-priority-orders-nothing"
    assert run(capsys, "replay", case, MEMORY, "--bisect")[0] == 0
    assert run(capsys, "replay", case, "bad.py:BROKEN", "--bisect")[0] == 1
    assert run(capsys, "replay", case, "nowhere.py:X", "--bisect")[0] == 125


def test_a_last_step_that_could_not_be_made_shows_nothing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    refused = "".join(
        f"{line}\n"
        for line in (
            '{"format": 1, "contract": "workload", "name": "x", "title": "x", "requirements": [], "profiles": [], '
            '"abilities": [], "config": {}, "handles": ["A"], "digest": null}',
            '{"id": "c", "on": "A", "at_s": 1, "call": "claim", "args": {"workload_id": "none", "worker_id": "a", '
            '"capabilities": [], "lease_ms": 1}}',
            '{"id": "s", "on": "A", "at_s": 1, "call": "start", "args": {"workload_id": "none", "claim_id": '
            '{"$ref": "c.claim_id"}, "worker_id": "a", "fencing_token": 1}}',
            '{"end": 2}',
        )
    )
    (tmp_path / "refused.jsonl").write_text(refused)
    code, out, _ = run(capsys, "replay", "refused.jsonl", MEMORY)
    assert code == 2
    assert "not applicable" in out.splitlines()[-1]
    assert run(capsys, "replay", "refused.jsonl", MEMORY, "--bisect")[0] == 125


def test_a_case_of_another_digest_runs_with_a_note(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = write(load_case(STALE)).replace('"digest": null', '"digest": "0123456789abcdef"')
    (tmp_path / "old.jsonl").write_text(text)
    code, out, _ = run(capsys, "replay", "old.jsonl", MEMORY)
    assert code == 0
    assert "made under another text of the specification (0123456789abcdef" in out


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ('{"end": 9}\n', "", "the file was cut short"),
        ('"format": 1', '"format": 2', "this kit reads format 1"),
        ('"contract": "workload"', '"contract": "other"', "unknown contract 'other'"),
        ("c1.claim_id", "zz.claim_id", "'zz', which has no answer yet"),
    ],
)
def test_a_bad_case_file(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, before: str, after: str, said: str
) -> None:
    text = write(load_case(STALE))
    assert before in text
    (tmp_path / "case.jsonl").write_text(text.replace(before, after))
    code, _, err = run(capsys, "replay", "case.jsonl", MEMORY)
    assert code == 2
    assert err.startswith("workcert: case.jsonl:")
    assert said in err


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("empty.jsonl", "the file is empty"),
        ("missing.jsonl", "cannot be read"),
        ("workload/15-stale-wroker", "Did you mean workload/15-stale-worker"),
    ],
)
def test_no_such_case(capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str, said: str) -> None:
    (tmp_path / "empty.jsonl").touch()
    code, _, err = run(capsys, "replay", name, MEMORY)
    assert code == 2
    assert said in err


def test_a_case_that_names_what_there_is_not(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    known = load_case(STALE)
    header = evolve(known.header, requirements=("WRK-CLM-99",))
    (tmp_path / "other.jsonl").write_text(write(evolve(known, header=header)))
    code, out, err = run(capsys, "replay", "other.jsonl", MEMORY)
    assert (code, out) == (2, "")
    assert "other.jsonl: its header names WRK-CLM-99, which is no requirement of workload. Did you mean WRK-CLM-" in err
    (tmp_path / "none.jsonl").write_text(write(evolve(known, steps=())))
    code, _, err = run(capsys, "replay", "none.jsonl", MEMORY)
    assert (code, err) == (2, "workcert: none.jsonl has no steps, so it shows nothing\n")


def test_replay_explains_a_failing_case(capsys: pytest.CaptureFixture[str]) -> None:
    case = "workload/clm-11-priority-orders-nothing"
    code, out, _ = run(capsys, "replay", case, "bad.py:BROKEN", "--explain")
    assert code == 1
    assert "* marks what does not matter" in out
    assert "needed because" in out
    code, out, _ = run(capsys, "replay", case, MEMORY, "--explain")
    assert code == 0
    assert "needed because" not in out


def test_what_a_case_expects_literally_does_not_hide_what_matters(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Its first claim expects the end of its lease; with another lease that would be what fails."""
    case = load_case("workload/10-back-off-before-the-next-claim")
    (tmp_path / "late.py").write_text(LATE)
    (tmp_path / "late.jsonl").write_text(write(case))
    code, out, _ = run(capsys, "replay", "late.jsonl", "late.py:BACKEND", "--explain")
    assert code == 1
    first = next(line for line in out.splitlines() if line.startswith("2 ") and " c1 " in line)
    assert " 11*" in first
    assert "(it is not needed: the failure is the same without it)" in out


LATE = """
from attrs import evolve
from workcert.backends.specification import of
from workcert.binding import bindings
from workspec.core.condition import NOW
from workspec.workload import terms

WORKLOAD = bindings()["workload"]

def late(check):
    return evolve(check, when=NOW <= terms.next_attempt_at) if "WRK-CLM-06" in check.requirements else check

def changed(operation):
    return evolve(operation, checks=tuple(map(late, operation.checks))) if operation.name == "claim" else operation

CONTRACT = WORKLOAD.contract
BACKEND = of(WORKLOAD, evolve(CONTRACT, operations=tuple(map(changed, CONTRACT.operations))))
"""
