"""Fixtures for pytest. They are used where a test module or a ``conftest.py`` imports them, and nowhere else; the rest
of `workstore.testing` does without pytest."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from workstore.memory.jobs import JobStore
from workstore.testing.clock import SteppedClock, fresh_store


@pytest.fixture
def job_store() -> Iterator[JobStore]:
    """A `fresh_store` for each test."""
    with fresh_store() as store:
        yield store


@pytest.fixture
def job_clock(job_store: JobStore) -> SteppedClock:
    """The clock of ``job_store``."""
    return SteppedClock(job_store)
