"""The adapter that `workcert new-adapter` writes: it runs at once, and says what it does not do."""

from __future__ import annotations

from pathlib import Path

import pytest

from workcert.__main__ import main
from workcert.backends.registry import find
from workcert.binding import bindings

METHODS = {"admit", "claim", "get", "list_workloads"}


@pytest.fixture(autouse=True)
def _own_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_what_is_written_passes_and_lists_what_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new-adapter", "workload"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].strip() == "workcert certify workload_adapter.py:BACKEND"
    assert main(["certify", "workload_adapter.py:BACKEND", "--effort", "quick"]) == 1
    out = capsys.readouterr().out
    assert "failed" not in out.splitlines()[-1]
    assert "workload_adapter.py:BACKEND: incomplete" in out.splitlines()[-1]
    missing = next(line for line in out.splitlines() if line.startswith("Not claimed, for the store has no such"))
    named = set(missing.partition(": ")[2].partition(" (")[0].split(", "))
    assert named == set(bindings()["workload"].calls.calls) - METHODS - {"migrate"}


def test_it_claims_core_alone() -> None:
    (backend,) = find("workcert.templates.workload:BACKEND")
    assert backend.profiles == {"CORE"}


def test_a_narrowed_run_passes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new-adapter", "workload", "--out", "mine.py"]) == 0
    assert main(["certify", "mine.py:BACKEND", "--only", "WRK-CLM,admit", "--effort", "quick"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].endswith("passed in part")


def test_it_overwrites_only_when_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "workload_adapter.py"
    target.write_text("mine\n")
    assert main(["new-adapter", "workload"]) == 2
    assert "is there already" in capsys.readouterr().err
    assert target.read_text() == "mine\n"
    assert main(["new-adapter", "workload", "--force"]) == 0
    assert target.read_text().startswith('"""An adapter of the workload contract')


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["jbos"], "there is no contract 'jbos'"),
        (["workload", "--out", "adapter.txt"], "does not end in .py"),
        (["workload", "--out", "no/such/directory/adapter.py"], "cannot be written"),
    ],
)
def test_bad_input(capsys: pytest.CaptureFixture[str], arguments: list[str], said: str) -> None:
    assert main(["new-adapter", *arguments]) == 2
    assert said in capsys.readouterr().err
