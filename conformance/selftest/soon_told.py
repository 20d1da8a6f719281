"""Failures that are told of soon, for tests that ask whether a store is caught rather than how well that is shown."""

from __future__ import annotations

from functools import partial

import pytest

from workcert.run import engine

FEW = 60
"""Executions to shrink a case: enough to take its idle steps away, and too few to make every value plain."""


@pytest.fixture
def soon_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are replayed as ever, shrunk with a few executions, and not explained: with processes that are killed each
    execution takes as long as a hundred others."""
    monkeypatch.setattr(engine, "examined", partial(engine.examined, budget=FEW))
    monkeypatch.setattr(engine, "explained", lambda _store, ended: ended)
    monkeypatch.setattr(engine, "SETTLE_BUDGET", FEW // 10)
