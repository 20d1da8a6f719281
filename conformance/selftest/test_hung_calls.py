"""A call that never answers: what is said of it, and how it is shown again. The alarm is rung at once, so that no test
waits and none hangs on how busy the machine is."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from workcert.__main__ import main
from workcert.run.telling import LONGEST_CALL, call_text
from workspec.jobs.vocabulary import LeaseRef

from .command_line import TEMPLATE

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no alarm on this system")

ADAPTERS = (
    TEMPLATE
    + """
import signal
from workcert.run.calling import CallHung

def ring():
    signal.raise_signal(signal.SIGALRM)

class Deaf(Store):
    def claim(self, **arguments):
        ring()

class Blind(Store):
    def get(self, **arguments):
        ring()

class Late(Store):
    def claim(self, **arguments):
        raise CallHung("step s1", 30.0)

DEAF, BLIND, LATE = made(Deaf), made(Blind), made(Late)
"""
)


@pytest.fixture
def adapters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "hanging.py").write_text(ADAPTERS)
    monkeypatch.chdir(tmp_path)
    return "hanging.py"


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = main(list(arguments))
    return code, " ".join(capsys.readouterr().out.split())


def test_the_call_the_case_and_the_command_are_named(adapters: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, text = said(capsys, "certify", f"{adapters}:DEAF", "--suite", "scenarios", "--only", "claim")
    assert code == 2
    [name] = {word for word in text.split(" ") if word.startswith("workload/")} & set(text.split("In ")[1].split(" "))
    assert f"In {name} step " in text
    assert ', claim(workload_id="' in text
    assert 'worker_id="' in text
    assert "has not answered within 30 seconds" in text
    assert "2 cases waited in vain" in text
    assert "the store may be deadlocked" in text
    assert text.count(f"workcert replay {name} hanging.py:DEAF") == 2, "where it is told, and in the last line"


def test_a_read_of_the_judge_is_named_as_one(adapters: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, text = said(capsys, "certify", f"{adapters}:BLIND", "--suite", "scenarios", "--only", "claim")
    assert code == 2
    assert " back, has not answered within 30 seconds" in text


def test_replay_says_what_hangs(adapters: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, text = said(capsys, "replay", "workload/clm-07-capabilities", f"{adapters}:DEAF")
    assert code == 2
    assert "unknown: step " in text
    assert ', claim(workload_id="' in text
    assert "The store may be deadlocked; a timeout is no verdict" in text


def test_a_walk_is_made_again_by_its_seed(adapters: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, text = said(capsys, "certify", f"{adapters}:LATE", "--suite", "walk", "--seed", "3", "--examples", "5")
    assert code == 2
    assert "No verdict: walk: step s1, claim(" in text
    assert "workcert certify hanging.py:LATE --contract workload --suite walk --effort ci --seed 3" in text


def test_a_call_is_told_briefly() -> None:
    lease = LeaseRef(job_id="j", lease_id="l", fence=1)
    assert call_text("renew", {"leases": [lease], "transaction": object()}) == (
        'renew(leases=[{"job_id": "j", "lease_id": "l", "fence": 1}], transaction=(object))'
    )
    long = call_text("enqueue", {str(number): "x" * 1_000 for number in range(100)})
    assert len(long) == len("enqueue()") + LONGEST_CALL
