"""The soak finds what is lost or doubled when processes are killed, and says nothing of a store that is right."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from attrs import evolve

from workcert.__main__ import main
from workcert.backends.registry import LoadedBackend, find
from workcert.run import calling
from workcert.soak import Plan, Soaked, run_soak
from workcert.soak.notes import Notebook, Pool, Reading

from .command_line import MEMORY, SQLITE

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes of its own need a system with fork")

RUNS = 6
"""Of a wrong store: what shows in most runs shows in one of these."""
PLAN = Plan(minutes=0.5, processes=3, kill_every_s=0.25, kills=8, longest_pause_s=0.002)


def backend(spec: str, contract: str) -> LoadedBackend:
    return next(each for each in find(spec) if each.binding.name == contract)


def soaked(spec: str, contract: str, plan: Plan = PLAN) -> Soaked:
    return run_soak(backend(spec, contract), plan, lambda _progress: None)


@pytest.mark.parametrize("contract", ["jobs", "workload"])
def test_the_right_store_is_not_accused(contract: str) -> None:
    found = soaked(SQLITE, contract)
    assert found.account.findings == ()
    assert found.kills == PLAN.kills
    assert found.account.submitted == sum(found.account.standing.values()) > 0
    assert found.kept is None


@pytest.mark.parametrize(
    ("name", "contract", "requirement"),
    [
        ("EARLY_JOBS", "jobs", {"JOB-DUR-01", "JOB-GEN-09"}),
        ("FENCELESS_JOBS", "jobs", {"JOB-ACK-01"}),
        ("LOSING_JOBS", "jobs", {"JOB-DUR-01"}),
        ("TWICE_JOBS", "jobs", {"JOB-ADM-10"}),
        ("EARLY_WORKLOAD", "workload", {"WRK-INV-14"}),
        ("FENCELESS_WORKLOAD", "workload", {"WRK-FNC-01"}),
        ("LOSING_WORKLOAD", "workload", {"WRK-INV-14", "WRK-ADM-14"}),
        ("DOUBLING_WORKLOAD", "workload", {"WRK-ADM-14"}),
    ],
)
def test_a_wrong_store_is_caught(
    name: str, contract: str, requirement: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    for seed in range(RUNS):
        plan = evolve(PLAN, seed=seed, place=tmp_path / str(seed))
        findings = soaked(f"miniatures.soaked:{name}", contract, plan).account.findings
        if any(requirement & set(each.requirements) for each in findings):
            return
    raise AssertionError(f"{RUNS} soaks found nothing of {sorted(requirement)}")


def test_a_store_that_nobody_may_kill_is_not_soaked(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["soak", MEMORY, "--minutes", "0.01"]) == 2
    assert "has not the ability kill" in capsys.readouterr().err


def test_a_place_that_is_not_empty_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine").touch()
    assert main(["soak", SQLITE, "--minutes", "0.01", "--place", str(tmp_path)]) == 2
    assert "is not an empty directory" in capsys.readouterr().err


def test_the_command_says_where_every_job_is(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    arguments = ["--contract", "jobs", "--processes", "2", "--kills", "2", "--kill-every", "0.5"]
    assert main(["soak", SQLITE, *arguments, "--place", str(tmp_path / "kept")]) == 0
    said = capsys.readouterr().out
    assert "jobs: nothing lost, nothing doubled" in said
    assert "2 killed at random" in said
    assert "submitted = " in said
    assert list((tmp_path / "kept" / "jobs" / "notes").iterdir())


def test_an_interrupt_ends_it_with_an_account(tmp_path: Path) -> None:
    arguments = ["soak", SQLITE, "--contract", "jobs", "--minutes", "2", "--place", str(tmp_path / "kept")]
    process = subprocess.Popen(
        [sys.executable, "-m", "workcert", *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    notes = tmp_path / "kept" / "jobs" / "notes"
    for _ in range(600):
        if notes.exists() and len(list(notes.iterdir())) >= 6:
            break
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=120)
    assert "jobs: nothing lost, nothing doubled, interrupted" in said
    assert process.returncode == 130


@pytest.fixture
def _short_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    monkeypatch.setattr(calling, "CALL_LIMIT_S", 1.0)


SHORT = ["--contract", "jobs", "--minutes", "0.4", "--kill-every", "0.1"]


@pytest.mark.usefixtures("_short_calls")
def test_a_store_that_hangs_at_opening_ends_the_soak(capsys: pytest.CaptureFixture[str]) -> None:
    began = time.monotonic()
    assert main(["soak", "miniatures.soaked:HANGING_JOBS", *SHORT, "--processes", "1"]) == 2
    # Long before the time is over, although processes are killed more often than they could hang.
    assert time.monotonic() - began < 15
    said = capsys.readouterr()
    assert "jobs: no verdict, broken off" in said.out
    assert re.search(r"jobs: process \d\.\d+ has not opened the store within 1 seconds: the store hangs", said.err)


@pytest.mark.usefixtures("_short_calls")
def test_a_store_that_hangs_from_the_beginning_is_not_soaked(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["soak", "miniatures.soaked:HANGING_AT_ONCE", *SHORT]) == 2
    assert "has not answered within 1 seconds. A soak cannot begin" in capsys.readouterr().err


@pytest.mark.usefixtures("_short_calls")
def test_a_store_that_ends_who_opens_it_is_said_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["soak", "miniatures.soaked:LEAVING_JOBS", *SHORT]) == 2
    assert "cannot open a store: SystemExit: 0" in capsys.readouterr().err


def test_what_was_cut_off_is_neither_done_nor_refused(tmp_path: Path) -> None:
    notes = Notebook.at(tmp_path / "notes")
    first = notes.ask("admit", {"lease": "l"})
    notes.told(first, {"ok": [["j", 1]]})
    notes.ask("ack", {"job": "j", "fence": 1})
    with (tmp_path / "notes").open("a") as file:
        file.write('{"n": 3, "at":')
    reading = Reading(tmp_path / "notes", "0.0")
    done = reading.more()
    left = reading.rest()
    seen = [(deed.call, deed.ok, deed.open) for deed in (*done, *left)]
    assert seen == [("admit", True, False), ("ack", False, True)]
    assert done[0].before(left[0])
    assert not left[0].before(done[0])


def test_the_latest_names_are_whole(tmp_path: Path) -> None:
    pool = Pool.at(tmp_path / "pool")
    names = [f"name-{number}" for number in range(2000)]
    pool.put(names)
    latest = pool.latest()
    assert latest == names[-len(latest) :]
    assert len(latest) > 100
