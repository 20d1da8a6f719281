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


def test_the_readme_shows_a_store_at_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    example = readme.partition("## Use a store")[2].partition("```python\n")[2].partition("```")[0]
    monkeypatch.chdir(tmp_path)
    scope: dict[str, object] = {}
    exec(example, scope)
    from workstore.sqlite import WorkloadStore

    with WorkloadStore.open("work.db") as store:
        found = store.get(workload_id=str(scope["work"]))
    assert found is not None
    assert found.workload.state == "SUCCEEDED"
