"""What is particular to the in-memory store: views that may be behind, and rows that are objects."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture
def kind() -> str:
    return "memory"


def test_scenario_52_plain_reads_may_be_behind(store: Any, other: Any, drive: Any, owner: Any) -> None:
    work = drive()
    elsewhere = work.on(other)
    assert other.get(workload_id=work.workload_id, fresh=False) is None
    assert other.list_workloads(**owner, fresh=False) == []
    assert elsewhere.read(fresh=True).state == "READY"
    work.claim("a", 11)
    assert elsewhere.read(fresh=False).state == "READY"
    assert [found.workload.state for found in other.list_workloads(**owner)] == ["CLAIMED"]
    assert elsewhere.read(fresh=False).state == "CLAIMED"
    assert work.read(fresh=False) == work.on(store.handle()).read(fresh=False)


def test_a_row_that_came_back_with_its_old_version_is_another_row(drive: Any, other: Any, code_of: Any) -> None:
    work = drive()
    other.pause(lambda: work.inject(version=1, priority=9))
    assert code_of(work.on(other).claim, "b", 11) == "WORKLOAD_CONFLICT"
    assert work.record.priority == 9


def test_a_reset_disarms_the_pauses_of_every_handle(store: Any, other: Any, asking: Any) -> None:
    other.pause(lambda: pytest.fail("left over"))
    store.reset()
    assert other.admit(request=asking()).created


def test_further_handles_have_the_same_source_of_ids(open_handle: Any, asking: Any, driven: Any) -> None:
    numbers = iter(range(100))
    store = open_handle(new_id=lambda prefix: f"{prefix}_{next(numbers)}")
    work = driven(store.handle(), store.admit(request=asking()).workload.workload_id)
    assert work.claim("a", 11).claim_id == "claim_0"
    assert work.attempt.attempt_id == "attempt_1"
