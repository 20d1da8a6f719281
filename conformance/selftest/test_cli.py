"""The command line: what it prints, its exit codes, and what it says to bad input."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from attrs import evolve

import workcert.__main__
from workcert.__main__ import main
from workcert.cases.library import load_case
from workcert.cases.write import write
from workcert.cli.certify import MOST_WHOLE

# By path: the tests must run without an installation too, where no entry point names a backend.
MEMORY = "workstore.backends:MEMORY"
SQLITE = "workstore.backends:SQLITE"
STALE = "workload/15-stale-worker"

BROKEN = """
from workcert.templates.workload import Adapter, Store

class Broken(Store):
    def claim(self, **arguments):
        raise ZeroDivisionError("on purpose")

class Silent(Store):
    def snapshot(self):
        raise OSError("the disk is gone")

class Made(Adapter):
    store = Store
    def open(self, place, config):
        return self.store(self._rows.setdefault(str(place.path), {}))

def made(store):
    adapter = Made()
    adapter.store = store
    return adapter

class Refusing(Adapter):
    def open(self, place, config):
        raise ConnectionError("no server")

class Empty(Adapter):
    def open(self, place, config):
        return None

class Raising:
    def __getattr__(self, name):
        raise LookupError("no member " + name)

class Strange(Store):
    def claim(self, **arguments):
        return Raising()

class Closed(Adapter):
    def open(self):
        return None

class Leaving(Store):
    def get(self, **arguments):
        raise SystemExit(0)

STRANGE, CLOSED, LEAVING = made(Strange), Closed(), made(Leaving)
BROKEN, SILENT, REFUSING, EMPTY = made(Broken), made(Silent), Refusing(), Empty()
WRONG_PROFILE = Adapter(profiles=frozenset({"CORE", "FAST"}))
WRONG_CHOICE = Adapter(choices={"G-11.lease-rounding": "sideways"})
class Coded(Adapter):
    codes = {"late": "WORKLOAD_NOTREADY"}

LISTED_CHOICES, WRONG_CODE = Adapter(choices=["x"]), Coded()
FREE_CHOICE = Adapter(choices={"G-13.fence-code": "WORKLOAD_STALE_FENCE"})
NO_ABILITY = Adapter(profiles=frozenset({"CORE", "DURABLE"}))
"""

SLOW = """
import time
from workcert.templates.workload import Adapter, Store

class Slow(Store):
    def claim(self, **arguments):
        raise ZeroDivisionError("on purpose")
    def get(self, **arguments):
        time.sleep(0.01)
        return super().get(**arguments)

class Made(Adapter):
    def open(self, place, config):
        return Slow(self._rows.setdefault(str(place.path), {}))

BACKEND = Made()
"""


@pytest.fixture(autouse=True)
def _own_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Failing cases are saved below the present directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WORKCERT_DEBUG", raising=False)
    (tmp_path / "bad.py").write_text(BROKEN)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Exit code, standard output, standard error."""
    try:
        code = main(arguments)
    except SystemExit as ended:
        code = int(ended.code or 0)
    out, err = capsys.readouterr()
    return code, out, err


def process(*arguments: str, stdout: int = subprocess.PIPE) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(
        [sys.executable, "-m", "workcert", *arguments],
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )


# Alone -----------------------------------------------------------------------------------------------------------


def test_alone_it_prints_help_and_how_to_begin(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys)
    assert code == 0
    assert "workcert certify sqlite" in out
    assert "workcert new-adapter workload" in out


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "--version") == (0, f"workcert {workcert.__version__}\n", "")


def test_a_missing_extra_is_named(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workcert.__main__, "find_spec", lambda name: None if name == "hypothesis" else name)
    code, out, err = run(capsys, "list", "backends")
    assert (code, out) == (2, "")
    assert err == "workcert: hypothesis is not installed; run: pip install 'workcert[certify]'\n"


# certify ---------------------------------------------------------------------------------------------------------


def test_a_full_run_of_the_memory_store(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, _ = run(capsys, "certify", MEMORY, "--effort", "quick", "--out", "report")
    assert "all " in out
    assert out.splitlines()[-1].startswith("workload 1.0 on workstore.backends:MEMORY: ")
    assert code == (0 if out.splitlines()[-1].split(": ")[1].startswith("conformant") else 1)
    assert {"certificate.json", "junit.xml"} <= {path.name for path in (tmp_path / "report").iterdir()}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.py", "report"]


def test_a_narrowed_run_makes_no_certificate(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, _ = run(capsys, "certify", MEMORY, "--suite", "scenarios", "--only", "fence,WRK-CLM-06", "--out", "r")
    assert code == 0
    assert out.splitlines()[-1].endswith(": passed in part")
    assert (tmp_path / "r" / "report.json").exists()
    assert not (tmp_path / "r" / "certificate.json").exists()


def test_a_failure_is_printed_and_its_case_replays(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "certify", "bad.py:BROKEN", "--suite", "scenarios")
    assert code == 1
    assert "ZeroDivisionError: on purpose" in out
    assert out.splitlines()[-1] == "workload 1.0 on bad.py:BROKEN: failed"
    command = next(line for line in out.splitlines() if line.startswith("workcert replay "))
    code, out, _ = run(capsys, *command.split()[1:])
    assert code == 1
    assert "FAILED at step" in out
    assert "✗" in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["sqlte"], "no backend is called 'sqlte'"),
        (["nowhere.py:BACKEND"], "'workcert new-adapter workload' writes one"),
        (["bad.py"], "'bad.py:BACKEND'"),
        (["bad.py:NOTHING"], "its adapters are: STRANGE"),
        (["bad.py:Adapter"], "is a class, and the kit needs an object"),
        (["no_such_module:X"], "cannot be imported"),
        (["bad.py:WRONG_PROFILE"], "claims the profiles FAST"),
        (["bad.py:WRONG_CHOICE"], "it may be 'up', 'down', 'other'"),
        (["bad.py:LISTED_CHOICES"], "choices must be a dictionary"),
        (["bad.py:WRONG_CODE"], "is no code of the contract; did you mean WORKLOAD_NOT_READY?"),
        (["bad.py:NO_ABILITY"], "claims DURABLE without the ability restart"),
        ([MEMORY, "--only", "calim"], "did you mean claim?"),
        ([MEMORY, "--contract", "jbos"], "there is no contract 'jbos'; known: "),
        ([MEMORY, "--suite", "scenario"], "Did you mean scenarios?"),
        ([MEMORY, "--suite", ""], "--suite names nothing"),
        (["bad.py:FREE_CHOICE"], "which is free"),
        ([MEMORY, "--examples", "-3"], "'-3' is no integer from 1 up"),
        ([MEMORY, "--examples", "many"], "'many' is no integer from 1 up"),
        ([MEMORY, "--seed", "-1"], "'-1' is no integer from 0 up"),
        ([MEMORY, "--out", "bad.py"], "no report can be written to bad.py"),
        ([MEMORY, "--out", ""], "the name of the directory is empty"),
        ([f"{MEMORY}://."], "is not an empty directory"),
        ([f"{MEMORY}://bad.py/inside"], "no store can be made in 'bad.py/inside'"),
    ],
    ids=lambda value: value[-1] if isinstance(value, list) else "",
)
def test_bad_input_is_answered_in_a_sentence(
    capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    code, out, err = run(capsys, "certify", *arguments)
    assert code == 2
    assert out == ""
    assert said in err
    assert "Traceback" not in err


def test_an_adapter_that_fails_on_import(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "broken_import.py").write_text("import no_such_driver\n")
    code, _, err = run(capsys, "certify", "broken_import.py:BACKEND")
    assert code == 2
    assert "broken_import.py fails on import: ModuleNotFoundError: No module named 'no_such_driver'" in err


@pytest.mark.parametrize(
    ("backend", "said"),
    [
        ("REFUSING", "cannot open a store: ConnectionError: no server"),
        ("EMPTY", "open(place, config) returned None"),
        ("SILENT", "raised OSError"),
        ("STRANGE", "raised LookupError outside of a judged call, at bad.py:"),
        ("CLOSED", "It is called as open(place, config)"),
    ],
)
def test_what_an_adapter_raises_is_no_fault_of_the_kit(
    capsys: pytest.CaptureFixture[str], backend: str, said: str
) -> None:
    code, out, _ = run(capsys, "certify", f"bad.py:{backend}", "--suite", "scenarios")
    assert code == 2
    assert "could not run" in out.splitlines()[-1]
    assert said in out
    code, _, err = run(capsys, "replay", "workload/clm-11-priority-orders-nothing", f"bad.py:{backend}")
    assert code == 2
    assert said in err


def test_a_directory_that_cannot_be_written_is_found_before_the_run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workcert.cli.certify.run_suites", lambda *_: pytest.fail("it ran"))
    assert run(capsys, "certify", MEMORY, "--out", "bad.py/inside")[0] == 2


def test_an_adapter_that_ends_the_process_does_not_pass(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "certify", "bad.py:LEAVING", "--suite", "scenarios")
    assert code != 0
    assert "SystemExit" in out
    code, out, err = run(capsys, "replay", "workload/clm-11-priority-orders-nothing", "bad.py:LEAVING")
    assert code != 0
    assert "SystemExit" in out + err


# replay ----------------------------------------------------------------------------------------------------------


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
    _, out, _ = run(capsys, "replay", "other.jsonl", MEMORY)
    assert "Note: the case names WRK-CLM-99, which is no requirement of workload. Did you mean WRK-CLM-" in out
    (tmp_path / "none.jsonl").write_text(write(evolve(known, steps=())))
    code, _, err = run(capsys, "replay", "none.jsonl", MEMORY)
    assert (code, err) == (2, "workcert: none.jsonl has no steps, so it shows nothing\n")


# explain, list, tables, search -----------------------------------------------------------------------------------


def test_explain_says_what_enforces_a_requirement(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "explain", "wrk-clm-06", "WRK-INV-01")
    assert code == 0
    assert "claim: refuse WRK-CLM-06: when " in out
    assert "workload/10-back-off-before-the-next-claim" in out
    assert "invariant of each" in out
    assert out.count("  digest ") == 2


def test_explain_takes_families(capsys: pytest.CaptureFixture[str]) -> None:
    by_name, by_prefix = run(capsys, "explain", "claim"), run(capsys, "explain", "WRK-CLM")
    assert by_name == by_prefix
    assert by_name[1].count("  digest ") > 5


def test_explain_takes_profiles(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "explain", "secrets")
    assert code == 0
    assert out.startswith("WRK-GEN-08  rule, profile SECRETS")


def test_explain_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "explain", "")
    assert (code, err) == (2, "workcert: nothing is named to explain; see 'workcert list requirements'\n")


def test_explain_suggests(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "explain", "WRK-CLM-06", "WRK-CML-06")
    assert code == 2
    assert "no requirement 'WRK-CML-06'. Did you mean " in err


@pytest.mark.parametrize("what", ["requirements", "cases", "choices", "abilities", "backends", "profiles"])
def test_lists(capsys: pytest.CaptureFixture[str], what: str) -> None:
    code, table, _ = run(capsys, "list", what)
    assert code == 0
    assert len(table.splitlines()) >= 2
    code, text, _ = run(capsys, "list", what, "--json", "--contract", "workload")
    assert code == 0
    rows = json.loads(text)
    assert len({tuple(row) for row in rows}) <= 1
    assert all({"id", "name"} & set(row) for row in rows)


def test_list_of_what_there_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "list", "suites")
    assert code == 2
    assert "invalid choice: 'suites'" in err


def test_every_ability_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    rows = json.loads(run(capsys, "list", "abilities", "--json")[1])
    assert [row["name"] for row in rows] == ["reset", "second_handle", "restart", "inject", "snapshot", "pause"]


# How a run may end -----------------------------------------------------------------------------------------------


def test_a_fault_of_the_kit_is_said_so(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_argv: object) -> int:
        raise RuntimeError("on purpose")

    monkeypatch.setattr("workcert.cli.run", fails)
    code, _, err = run(capsys, "list", "cases")
    assert code == 2
    assert "a fault of workcert itself: RuntimeError: on purpose" in err
    assert "WORKCERT_DEBUG=1" in err
    monkeypatch.setenv("WORKCERT_DEBUG", "1")
    code, _, err = run(capsys, "list", "cases")
    assert code == 2
    assert "Traceback" in err


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_an_interrupt_ends_in_a_clean_line() -> None:
    running = process("certify", MEMORY, "--effort", "deep", "--suite", "stateful")
    ended = threading.Timer(4, running.send_signal, [signal.SIGINT])
    ended.start()
    _, err = running.communicate(timeout=30)
    assert running.returncode == 130
    assert "workcert: interrupted" in err
    assert "Traceback" not in err


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_an_interrupt_loses_nothing_that_was_found(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    running = process("certify", "slow.py:BACKEND", "--suite", "scenarios")
    ended = threading.Timer(5, running.send_signal, [signal.SIGINT])
    ended.start()
    out, _ = running.communicate(timeout=30)
    assert running.returncode == 130
    assert "ZeroDivisionError: on purpose" in out
    assert out.splitlines()[-1] == "workload 1.0 on slow.py:BACKEND: could not run (interrupted)"
    assert list((tmp_path / ".workcert" / "cases").glob("WRK-*.jsonl"))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full")
def test_output_that_cannot_be_written_is_said_so() -> None:
    with open("/dev/full", "w") as full:
        running = process("list", "requirements", stdout=full.fileno())
        _, err = running.communicate(timeout=30)
    assert (running.returncode, err) == (2, "workcert: the output cannot be written: No space left on device\n")


def test_one_fault_is_printed_once_and_a_case_keeps_its_name(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    _, out, _ = run(capsys, "certify", "bad.py:BROKEN", "--suite", "scenarios")
    assert out.count("\nReproduced") <= MOST_WHOLE
    assert re.search(r"further failures?, most often of the same cause:", out)
    kept = {path.name: path.read_bytes() for path in (tmp_path / ".workcert" / "cases").iterdir()}
    assert kept
    run(capsys, "certify", "bad.py:BROKEN", "--only", "claim", "--suite", "scenarios")
    for name, content in kept.items():
        assert (tmp_path / ".workcert" / "cases" / name).read_bytes() == content


@pytest.mark.skipif(os.name != "posix", reason="pipes of POSIX")
def test_a_closed_pipe_is_quiet() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    running = process("list", "requirements", stdout=writer)
    os.close(writer)
    _, err = running.communicate(timeout=30)
    assert (running.returncode, err) == (141, "")
