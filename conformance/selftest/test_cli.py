"""The command line: what it prints, its exit codes, and what it says to bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import workcert.__main__
from workcert.backends.protocol import Ability
from workcert.binding import bindings
from workcert.judge.cause import Cause
from workcert.run.engine import Shrinking
from workcert.run.events import CaseEnded, Verdict

from .command_line import BROKEN, MEMORY, run


@pytest.fixture(autouse=True)
def _own_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Failing cases are saved below the present directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WORKCERT_DEBUG", raising=False)
    (tmp_path / "bad.py").write_text(BROKEN)


# Alone -----------------------------------------------------------------------------------------------------------


def test_alone_it_prints_help_and_how_to_begin(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys)
    assert code == 0
    assert "workcert certify sqlite" in out
    assert "workcert new-adapter workload" in out


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "--version") == (0, f"workcert {workcert.__version__}\n", "")


def test_a_missing_extra_is_named(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workcert.__main__, "NEEDED", ("no_such_package", "pytest"))
    code, out, err = run(capsys, "list", "backends")
    assert (code, out) == (2, "")
    assert err == "workcert: no_such_package is not installed; run: pip install 'workcert[certify]'\n"


# certify ---------------------------------------------------------------------------------------------------------


def test_a_full_run_of_the_memory_store(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, _ = run(capsys, "certify", MEMORY, "--effort", "quick", "--examples", "20", "--out", "report")
    assert "all " in out
    verdicts = [f"{contract} 1.0 on workstore.backends:MEMORY: " for contract in ("workload", "jobs")]
    assert [line[: len(verdict)] for line, verdict in zip(out.splitlines()[-2:], verdicts, strict=True)] == verdicts
    assert "jobs\n====\n" in out
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


@pytest.mark.parametrize(("brackets", "listed"), [("()", True), ("[]", True), ("{}", False)])
def test_several_adapters_are_listed_too(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, brackets: str, listed: bool
) -> None:
    more = f"PAIR = {brackets[0]}MUTE, BLIND{brackets[1]}\nNUMBERS, NOTHING_YET = (1, 2), ()\n"
    (tmp_path / "several.py").write_text(f"{BROKEN}\n{more}")
    code, _, err = run(capsys, "certify", "several.py:NOTHING")
    assert code == 2
    assert (", PAIR" in err) is listed
    assert "NUMBERS" not in err
    assert "NOTHING_YET" not in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["sqlte"], "no backend is called 'sqlte'"),
        (["nowhere.py:BACKEND"], "'workcert new-adapter workload' writes one"),
        (["bad.py"], "'bad.py:BACKEND'"),
        (["bad.py:NOTHING"], "its adapters are: MUTE, BLIND"),
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
        ([f"{MEMORY}://"], f"{MEMORY}:// names no directory behind ://; write it as in '{MEMORY}://stores'"),
        ([f"{MEMORY}:// "], "names no directory behind ://"),
        (["bad.py:made"], "bad.py:made is a function, and the kit needs an adapter"),
        (["bad.py:made"], "BACKEND = made() and name BACKEND, or name what the function returns"),
        (["bad.py:NONE"], "bad.py:NONE is None, and the kit needs an adapter"),
        (
            [MEMORY, "--only", "JOB-ACK-99"],
            "the jobs contract 1.0 has no requirement 'JOB-ACK-99'; did you mean JOB-",
        ),
        (
            [MEMORY, "--only", "wrk-clm-99"],
            "workload contract 1.0 has no requirement 'wrk-clm-99'; did you mean WRK",
        ),
        ([MEMORY, "--only", "enqeue"], "the jobs contract 1.0 has no requirement 'enqeue'; did you mean enqueue"),
        (
            [MEMORY, "--contract", "workload", "--only", "JOB-ACK-01"],
            "is of the contract jobs, and this run",
        ),
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


def test_an_exception_without_a_text(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "certify", "bad.py:MUTE", "--only", "WRK-CLM-06", "--suite", "scenarios")
    assert code == 1
    assert "Wordless: (its text cannot be had: __str__ raised KeyError)" in out


def test_a_store_that_never_shows_anything_is_accused_of_that(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "certify", "bad.py:BLIND", "--suite", "scenarios")
    assert code == 1
    assert "claims the ability inject" not in out


def test_a_config_that_the_adapter_cannot_take(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    header = {
        "format": 1, "contract": "workload", "name": "asks", "title": "asks for something", "requirements": [],
        "profiles": [], "abilities": [], "config": {"speed": 3}, "handles": ["A"], "digest": None,
    }  # fmt: skip
    call = {"id": "g", "on": "A", "call": "get", "args": {"workload_id": "x"}}
    (tmp_path / "asks.jsonl").write_text("\n".join(json.dumps(line) for line in (header, call, {"end": 1})) + "\n")
    code, _, err = run(capsys, "replay", "asks.jsonl", "bad.py:FIXED")
    assert code == 2
    assert "TypeError: no options. The case asks for config = {'speed': 3}; can open(place, config) take that?" in err


def test_shrinking_ends_where_one_fault_breaks_everything() -> None:
    shrinking = Shrinking(left=10)
    one, other, third = (Cause(operation, "answer", "", "answered", ()) for operation in ("claim", "start", "fail"))
    assert shrinking.wanted(one)
    shrinking.spent(CaseEnded("scenarios", "a", Verdict.FAILED, cause=one, executions=9))
    assert not shrinking.wanted(one)
    assert shrinking.wanted(other)
    shrinking.spent(CaseEnded("scenarios", "b", Verdict.FAILED, cause=other, executions=1))
    assert not shrinking.wanted(third)


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


def test_explain_takes_choices(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "explain", "g-11.lease-rounding")
    assert code == 0
    assert "may be: up, down; the reference takes up" in out
    assert "choices = {'G-11.lease-rounding': 'down'}" in out


def test_explain_takes_every_choice(capsys: pytest.CaptureFixture[str]) -> None:
    known = [choice.id for binding in bindings().values() for choice in binding.contract.choices]
    code, out, _ = run(capsys, "explain", *known)
    assert code == 0
    assert out.count(" choice\n") == len(known)


def test_replay_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "replay", "", MEMORY)
    assert (code, err[:28]) == (2, "workcert: no case is named; ")


def test_tables_into_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "tables", "--out", "")
    assert code == 2
    assert "the name of the directory is empty" in err


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
    assert [row["name"] for row in rows] == [ability.value for ability in Ability]


@pytest.mark.parametrize("narrowed", [["--limit", "3"], ["--configuration", "wide"]])
def test_a_search_of_all_is_not_narrowed(capsys: pytest.CaptureFixture[str], narrowed: list[str]) -> None:
    code, _, err = run(capsys, "search", "workload", "--all", *narrowed)
    assert code == 2
    assert f"leave out {narrowed[0]}, or --all" in err
