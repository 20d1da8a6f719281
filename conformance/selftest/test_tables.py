"""The checked-in tables are those that the specification generates, and a change of either is named."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from workcert.cli import tables as command
from workcert.tables import (
    CONTRACTS,
    DIFFERS,
    MISSING,
    SUPERFLUOUS,
    check_index,
    check_tables,
    run,
    write_index,
    write_tables,
)
from workspec.render.markdown import GENERATED

WORKLOAD = CONTRACTS["workload"]
REPORTS = Path(__file__).parents[2] / "reports"


@pytest.mark.parametrize("name", CONTRACTS)
def test_checked_in_tables_are_up_to_date(name: str) -> None:
    differences = [difference.text for difference in check_tables(CONTRACTS[name], REPORTS / name)]
    assert not differences, "\n".join((*differences, "run: workcert tables"))


def test_the_checked_in_index_is_up_to_date() -> None:
    assert not [difference.text for difference in check_index(REPORTS)], "run: workcert tables"


@pytest.mark.parametrize("name", CONTRACTS)
@pytest.mark.parametrize("page", ["index.md", "transitions.md", "diagram.svg"])
def test_a_stale_or_missing_page_of_any_contract_fails(
    name: str, page: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(False, (), tmp_path) == 0
    path = tmp_path / name / page
    path.write_text(path.read_text(encoding="utf-8") + "stale\n", encoding="utf-8")
    assert run(True, (), tmp_path) == 1
    assert f"{path} {DIFFERS}" in capsys.readouterr().out
    path.unlink()
    assert run(True, [name], tmp_path) == 1
    assert f"{path} {MISSING}" in capsys.readouterr().out
    assert run(False, [name], tmp_path) == 0
    assert run(True, (), tmp_path) == 0


def test_every_page_of_jobs_is_compared(tmp_path: Path) -> None:
    jobs = CONTRACTS["jobs"]
    for path in write_tables(jobs, tmp_path):
        path.write_text(path.read_text(encoding="utf-8") + "stale\n", encoding="utf-8")
        assert [(d.path, d.problem) for d in check_tables(jobs, tmp_path)] == [(path, DIFFERS)]
        write_tables(jobs, tmp_path)


def test_the_index_is_compared_whatever_was_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_tables(WORKLOAD, tmp_path / "workload")
    assert run(True, ["workload"], tmp_path) == 1
    assert f"{tmp_path / 'index.md'} {MISSING}" in capsys.readouterr().out
    write_index(tmp_path)
    assert run(True, ["workload"], tmp_path) == 0
    (tmp_path / "index.md").write_text("# Other\n", encoding="utf-8")
    assert run(True, ["workload"], tmp_path) == 1


def test_the_command_knows_every_contract(tmp_path: Path) -> None:
    arguments = argparse.Namespace(check=False, contract="jobs", out=tmp_path)
    assert command.run(arguments) == 0
    assert {path.name for path in tmp_path.iterdir()} == {"jobs", "index.md", "faults.md"}


def test_what_was_written_is_as_generated(tmp_path: Path) -> None:
    paths = write_tables(WORKLOAD, tmp_path / "new" / "workload")
    assert {path.name for path in paths} >= {"index.md", "transitions.md", "diagram.svg"}
    assert check_tables(WORKLOAD, tmp_path / "new" / "workload") == []


def test_a_changed_file_is_named_with_its_first_differing_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_tables(WORKLOAD, tmp_path / "workload")
    path = tmp_path / "workload" / "transitions.md"
    lines = path.read_text(encoding="utf-8").split("\n")
    at = next(number for number, line in enumerate(lines) if "| claim |" in line)
    lines[at] = lines[at].replace("CLAIMED", "RUNNING")
    path.write_text("\n".join(lines), encoding="utf-8")

    assert run(True, ["workload"], tmp_path) == 1
    said = capsys.readouterr().out
    assert f"{path} {DIFFERS}, first in line {at + 1}:" in said
    assert lines[at] in said
    assert f"workcert tables --contract workload --out {tmp_path}" in said
    assert "states.md" not in said


def test_a_file_cut_short_differs_where_it_ends(tmp_path: Path) -> None:
    write_tables(WORKLOAD, tmp_path)
    path = tmp_path / "states.md"
    kept = path.read_text(encoding="utf-8").split("\n")[:3]
    path.write_text("\n".join(kept), encoding="utf-8")
    (difference,) = check_tables(WORKLOAD, tmp_path)
    assert (difference.line, difference.found) == (4, None)
    assert "the text ends before" in difference.text


def test_bytes_that_are_no_text_differ_and_do_not_crash(tmp_path: Path) -> None:
    write_tables(WORKLOAD, tmp_path)
    (tmp_path / "states.md").write_bytes(b"\xff\xfe")
    assert [difference.problem for difference in check_tables(WORKLOAD, tmp_path)] == [DIFFERS]


def test_missing_and_superfluous_files_are_named(tmp_path: Path) -> None:
    write_tables(WORKLOAD, tmp_path)
    (tmp_path / "states.md").unlink()
    (tmp_path / "old.md").write_text(f"# Old\n\n*{GENERATED}*\n", encoding="utf-8")
    (tmp_path / "notes.md").write_text("# My own\n", encoding="utf-8")
    found = {difference.path.name: difference.problem for difference in check_tables(WORKLOAD, tmp_path)}
    assert found == {"states.md": MISSING, "old.md": SUPERFLUOUS}

    write_tables(WORKLOAD, tmp_path)
    assert not (tmp_path / "old.md").exists()
    assert (tmp_path / "notes.md").exists()
    assert check_tables(WORKLOAD, tmp_path) == []


def test_line_ends_of_another_system_are_no_difference(tmp_path: Path) -> None:
    write_tables(WORKLOAD, tmp_path)
    path = tmp_path / "states.md"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert check_tables(WORKLOAD, tmp_path) == []


def test_an_absent_folder_is_a_failed_check_and_a_written_one_passes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(True, (), tmp_path / "none") == 1
    assert MISSING in capsys.readouterr().out
    assert run(False, (), tmp_path / "none") == 0
    assert "wrote" in capsys.readouterr().out
    assert run(True, (), tmp_path / "none") == 0
    assert "all tables are as the specification generates them" in capsys.readouterr().out


def test_what_cannot_run_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(True, ["wrkload"], tmp_path) == 2
    assert capsys.readouterr().err == "workcert tables: no such contract: wrkload; there is workload, jobs\n"
    occupied = tmp_path / "file"
    occupied.write_text("", encoding="utf-8")
    assert run(False, ["workload"], occupied) == 2
    out, err = capsys.readouterr()
    assert (out, err[:17]) == ("", "workcert tables: ")
    assert "--out DIR" in err
