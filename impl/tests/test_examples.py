"""The worked examples in the documentation of the packages."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest


@pytest.mark.parametrize("name", ["workstore.memory", "workstore.sqlite", "workstore.sqlite.jobs"])
def test_example(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ran = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert (ran.failed, ran.attempted > 5) == (0, True)


def run_example(heading: str) -> dict[str, object]:
    """The names that the first example below a heading of the README leaves behind."""
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    example = readme.partition(heading)[2].partition("```python\n")[2].partition("```")[0]
    scope: dict[str, object] = {}
    exec(example, scope)
    return scope


def test_the_readme_shows_a_handler_under_test() -> None:
    assert "send_mail" in run_example("## Use a job store")


def test_the_readme_shows_a_store_at_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    scope = run_example("## Use a store")
    from workstore.sqlite import WorkloadStore

    with WorkloadStore.open("work.db") as store:
        found = store.get(workload_id=str(scope["work"]))
    assert found is not None
    assert found.workload.state == "SUCCEEDED"
