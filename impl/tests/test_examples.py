"""The worked examples in the documentation of the packages."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest


@pytest.mark.parametrize("name", ["workstore.memory", "workstore.sqlite"])
def test_example(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ran = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert (ran.failed, ran.attempted > 5) == (0, True)
