"""How a run of the command may end."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from xml.etree import ElementTree

import pytest

from workcert.cli.certify import MOST_WHOLE

from .command_line import BREAKING, BROKEN, INTERRUPTED, MEMORY, SQLITE, process, run


@pytest.fixture(autouse=True)
def _own_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Failing cases are saved below the present directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WORKCERT_DEBUG", raising=False)
    (tmp_path / "bad.py").write_text(BROKEN)


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
    ended = threading.Timer(2, running.send_signal, [signal.SIGINT])
    ended.start()
    _, err = running.communicate(timeout=120)
    assert running.returncode == 130
    assert "workcert: interrupted" in err
    assert "Traceback" not in err


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_an_interrupt_loses_nothing_that_was_found(tmp_path: Path) -> None:
    (tmp_path / "pressed.py").write_text(INTERRUPTED)
    running = process("certify", "pressed.py:BACKEND", "--suite", "scenarios")
    out, _ = running.communicate(timeout=120)
    assert running.returncode == 130
    assert "ZeroDivisionError: on purpose" in out
    assert out.splitlines()[-1] == "workload 1.0 on pressed.py:BACKEND: failed (the run broke off: interrupted)"
    assert list((tmp_path / ".workcert" / "cases").glob("WRK-*.jsonl"))


TERMINATED = """
import os, signal, sys, threading, time
from pathlib import Path
from workcert.__main__ import main
from workcert.run import store
from workcert.soak import supervisor

places = Path("places")
places.mkdir()
store.in_memory = supervisor.in_memory = lambda: places

def end():
    for _ in range(600):
        if any(found.suffix == ".db" for found in places.rglob("*")):
            break
        time.sleep(0.05)
    time.sleep(0.5)
    os.kill(os.getpid(), signal.SIGTERM)

if IGNORED:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
threading.Thread(target=end, daemon=True).start()
code = main(sys.argv[1:])
print("left:", *places.iterdir())
sys.exit(code)
"""
"""A run that is told to end once it has made a store. ``IGNORED``: it was begun with Ctrl-C ignored."""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("ignored", [False, True])
@pytest.mark.parametrize(
    "arguments",
    [("certify", SQLITE, "--effort", "deep", "--suite", "adversity"), ("soak", SQLITE, "--minutes", "2")],
    ids=lambda arguments: arguments[0],
)
def test_a_run_that_is_told_to_end_leaves_nothing_behind(arguments: tuple[str, ...], ignored: bool) -> None:
    script = TERMINATED.replace("IGNORED", str(ignored))
    running = subprocess.run(
        [sys.executable, "-c", script, *arguments, "--contract", "jobs"],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=False,
    )
    assert running.returncode == 143, running.stderr
    assert running.stdout.splitlines()[-1] == "left:"
    assert "Traceback" not in running.stderr
    said = running.stdout if arguments[0] == "soak" else running.stderr
    assert ("interrupted" if arguments[0] == "soak" else "workcert: told to end (SIGTERM)") in said


def test_a_failure_that_was_found_stands_though_the_run_breaks_off(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "breaking.py").write_text(BREAKING)
    code, out, err = run(capsys, "certify", "breaking.py:BACKEND", "--suite", "scenarios", "--out", "report")
    why = "the run broke off: breaking.py:BACKEND cannot open a store: ConnectionError: the server is gone"
    assert code == 1
    assert "ZeroDivisionError: on purpose" in out
    assert out.splitlines()[-1].startswith(f"workload 1.0 on breaking.py:BACKEND: failed ({why}")
    assert f"workcert: workload: {why}" in err
    (report,) = json.loads((tmp_path / "report" / "report.json").read_text())["contracts"]
    assert (report["verdict"], report["reason"][: len(why)]) == ("failed", why)
    assert report["failures"]
    suite = ElementTree.parse(tmp_path / "report" / "junit.xml").getroot()[0]
    assert int(suite.attrib["failures"]) >= 1
    assert suite.attrib["errors"] == "1"
    (error,) = suite.iter("error")
    assert why in error.attrib["message"]


def test_before_the_command_is_entered_next_to_nothing_is_imported() -> None:
    """An interrupt that falls into an import there is answered with a traceback."""
    script = "import sys; before = set(sys.modules); import workcert.__main__; print(*sorted({*sys.modules} - before))"
    new = in_a_process(script).stdout.split()
    assert {"workcert", "workcert.__main__"} <= set(new) <= {"__future__", "workcert", "workcert.__main__"}


@pytest.mark.parametrize("module", ["importlib.util", "argparse", "attrs", "workcert.cli.certify", "hypothesis"])
def test_an_interrupt_during_an_import_ends_in_a_clean_line(module: str) -> None:
    script = f"""
import sys
from workcert.__main__ import main

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            raise KeyboardInterrupt

sys.modules.pop({module!r}, None)
sys.meta_path.insert(0, Interrupting())
sys.exit(main(["list", "cases"]))
"""
    ended = in_a_process(script)
    assert (ended.returncode, ended.stdout) == (130, "")
    assert ended.stderr.strip() == "workcert: interrupted; nothing that was not printed or written is decided"


def in_a_process(script: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=120)


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
    assert re.search(r"further failures? of the same cause:", out)
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


@pytest.mark.parametrize(
    ("adapter", "said"),
    [("ENDING", "os._exit(0) was"), ("HUGE", "fencing_token")],
)
def test_a_store_that_concerns_the_whole_process_is_judged(
    capsys: pytest.CaptureFixture[str], adapter: str, said: str
) -> None:
    before = (os._exit, sys.get_int_max_str_digits())
    code, out, err = run(capsys, "certify", f"bad.py:{adapter}", "--suite", "scenarios", "--only", "WRK-CLM-06")
    assert code == 1, err
    assert said in out
    assert (os._exit, sys.get_int_max_str_digits()) == before
