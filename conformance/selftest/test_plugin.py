"""The pytest plugin, as a user has it: in a process of its own, in a directory of its own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

import pytest

from workcert import plugin
from workcert.adversity import PARTS
from workcert.run.engine import SUITES, Effort
from workcert.tour.library import every_case

CONFORMANCE = Path(__file__).parents[1]
MEMORY = "workstore.backends:MEMORY"
TEMPLATE = "workcert.templates.workload:BACKEND"
CONTRACTS = ("workload", "jobs")
CASES = sum(len(every_case(contract)) for contract in CONTRACTS)


def suites(directory: Path, *arguments: str) -> tuple[int, str]:
    """Run the suites from a directory of one's own: exit code and output."""
    return session(directory, "--pyargs", "workcert.suites", *arguments)


def session(directory: Path, *arguments: str) -> tuple[int, str]:
    done = in_a_process(directory, "-m", "pytest", *ALWAYS, *arguments)
    return done.returncode, done.stdout


IS_INSTALLED = any(point.value == "workcert.plugin" for point in entry_points(group="pytest11"))
ALWAYS = ("-q", "-p", "no:cacheprovider", *(() if IS_INSTALLED else ("-p", "workcert.plugin")))
ONE_AFTER_THE_OTHER = """
import json, sys
import pytest

for arguments in json.loads(sys.argv[1]):
    code = pytest.main(arguments)
    sys.stderr.flush()
    print("\\nended with", int(code), flush=True)
"""


def several(directory: Path, sessions: Sequence[Sequence[str]]) -> list[tuple[int, str]]:
    """Sessions of the suites in one process, one after the other: most of what one takes is to import the kit."""
    asked = [[*ALWAYS, "--pyargs", "workcert.suites", *arguments] for arguments in sessions]
    done = in_a_process(directory, "-c", ONE_AFTER_THE_OTHER, json.dumps(asked))
    assert done.returncode == 0, done.stdout
    *texts, rest = re.split(r"^ended with (\d+)\n", done.stdout, flags=re.MULTILINE)
    assert (len(texts), rest) == (2 * len(sessions), "")
    return [(int(code), text.rstrip("\n")) for text, code in zip(texts[::2], texts[1::2], strict=True)]


def in_a_process(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
    )


def test_the_names_in_the_help_are_the_engines() -> None:
    assert plugin.SUITES == SUITES
    assert plugin.EFFORTS == tuple(effort.value for effort in Effort)


def test_loading_the_plugin_imports_nothing_of_the_kit() -> None:
    script = (
        "import sys, workcert.plugin;"
        "print([name for name in ('attrs', 'hypothesis', 'workspec', 'workstore') if name in sys.modules])"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)
    assert done.stdout == "[]\n"


def test_each_test_is_collected_once(tmp_path: Path) -> None:
    code, out = suites(tmp_path, "--collect-only", "--workcert-backend", MEMORY)
    assert code == 0
    names = [line.rpartition("::")[2] for line in out.splitlines() if "::" in line]
    assert len(names) == len(set(names)) == CASES + (2 + len(PARTS)) * len(CONTRACTS)
    assert "test_stateful[workload]" in names


def test_pytest_conformance_collects_the_suites_alone() -> None:
    code, out = session(CONFORMANCE, str(CONFORMANCE), "--collect-only", "--backend", MEMORY)
    assert code == 0
    lines = [line for line in out.splitlines() if "::" in line]
    assert len(lines) == CASES + (2 + len(PARTS)) * len(CONTRACTS)
    assert all("/suites/test_" in line for line in lines)


def test_options_narrow_the_run(tmp_path: Path) -> None:
    narrowed, counted = several(
        tmp_path,
        [
            ["--workcert-backend", MEMORY, "--workcert-suite", "scenarios", "--workcert-only", "WRK-CLM-06"],
            ["--workcert-backend", MEMORY, "--workcert-suite", "stateful", "--workcert-examples", "2"],
        ],
    )
    code, out = narrowed
    assert code == 0
    assert re.search(r"^[1-9] passed", out, re.MULTILINE)
    code, out = counted
    assert code == 0
    assert out.splitlines()[-1].startswith(f"{len(CONTRACTS)} passed")


def test_what_a_store_lacks_is_skipped_with_the_reason(tmp_path: Path) -> None:
    code, out = suites(tmp_path, "--workcert-backend", TEMPLATE, "--workcert-suite", "scenarios", "-rs")
    assert code == 0
    assert re.search(r"SKIPPED .* the store has no .*start", out)


def test_a_failure_is_the_kits_text_and_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text(
        "from workcert.templates.workload import Adapter, Store\n"
        "class Broken(Store):\n"
        "    def claim(self, **arguments):\n"
        "        raise ZeroDivisionError('on purpose')\n"
        "class Made(Adapter):\n"
        "    def open(self, place, config):\n"
        "        return Broken(self._rows.setdefault(str(place.path), {}))\n"
        "BACKEND = Made()\n"
    )
    only = ("--workcert-suite", "scenarios", "--workcert-only", "WRK-CLM-11")
    code, out = suites(tmp_path, "--workcert-backend", "broken.py:BACKEND", *only)
    assert code == 1
    assert "ZeroDivisionError: on purpose" in out
    assert "Traceback" not in out
    command = next(line for line in out.splitlines() if line.startswith("workcert replay "))
    assert (tmp_path / command.split()[2]).is_file()


BAD: tuple[tuple[tuple[str, ...], str], ...] = (
    (("--workcert-backend", "no_such_module:X"), "workcert: 'no_such_module' cannot be imported"),
    (("--workcert-backend", MEMORY, "--workcert-only", "calim"), "did you mean claim?"),
    (("--workcert-backend", MEMORY, "--workcert-contract", "jbos"), "there is no contract 'jbos'"),
    (("--workcert-examples", "0"), "'0' is no integer from 1 up"),
    (("--workcert-effort", "huge"), "invalid choice: 'huge'"),
)


def test_bad_options_are_answered_in_a_sentence(tmp_path: Path) -> None:
    answers = several(tmp_path, [("--collect-only", *arguments) for arguments, _said in BAD])
    for (code, out), (arguments, said) in zip(answers, BAD, strict=True):
        assert code != 0, arguments
        assert said in out
        assert "Traceback" not in out


def test_a_project_may_have_options_of_the_short_names(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(
        "def pytest_addoption(parser):\n"
        "    for name in ('backend', 'suite', 'effort', 'examples', 'seed', 'only'):\n"
        "        parser.addoption(f'--{name}')\n"
    )
    (tmp_path / "test_own.py").write_text(
        "def test_own(pytestconfig):\n    assert pytestconfig.getoption('--backend') == 'own'\n"
    )
    code, out = session(tmp_path, "--backend", "own", "-o", "addopts=")
    assert code == 0, out


def test_no_fixture_is_offered_to_others(tmp_path: Path) -> None:
    (tmp_path / "test_own.py").write_text("def test_own():\n    pass\n")
    _, out = session(tmp_path, "--fixtures")
    assert not [line for line in out.splitlines() if "workcert" in line and not line.startswith("workcert_")]


@pytest.mark.skipif(find_spec("xdist") is None, reason="pytest-xdist is not installed")
def test_workers_have_stores_of_their_own(tmp_path: Path) -> None:
    place = tmp_path / "stores"
    backend = f"{TEMPLATE}://{place}"
    code, out = suites(
        tmp_path, "-n", "2", "--workcert-backend", backend, "--workcert-suite", "scenarios", "--workcert-only", "fence"
    )
    assert code == 0, out
    assert sorted(path.name for path in place.iterdir()) == ["stores-gw0", "stores-gw1"]
