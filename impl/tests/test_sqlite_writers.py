"""Several writers of one file: handles that freeze between deciding and writing, threads, processes."""

from __future__ import annotations

import multiprocessing
import random
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from workspec.workload.vocabulary import (
    AdmissionRequest,
    Claim,
    Grant,
    Subject,
    Timeouts,
    Workload,
    WorkloadError,
)
from workstore.sqlite import WorkloadStore

REQUESTER = Subject("agent", "a1")
NO_TIMEOUTS = Timeouts(None, None, None, None, None)
REQUEST = AdmissionRequest(
    tenant_id="t",
    application_id="app",
    requested_by=REQUESTER,
    idempotency_key="one",
    definition_id="definition",
    definition_revision="r1",
    environment="production",
    input={"id": 1},
    capability_snapshot=(),
    connection_scopes=None,
    priority=None,
    retry_policy=None,
    timeouts=None,
    dependencies=None,
    not_before=None,
    trigger=None,
    session_id=None,
    created_at=10,
    authorization_snapshot=Grant(REQUESTER, "t", "app", "signed"),
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "work.db"


@pytest.fixture
def pair(path: Path) -> Iterator[tuple[WorkloadStore, WorkloadStore]]:
    with (
        WorkloadStore.open(path, synchronous="NORMAL") as one,
        WorkloadStore.open(path, synchronous="NORMAL") as two,
    ):
        yield one, two


def admit(store: WorkloadStore, **changes: Any) -> str:
    return store.admit(request=evolve(REQUEST, **changes)).workload.workload_id


def claim(store: WorkloadStore, workload_id: str, now_s: int = 11, worker_id: str = "a") -> Claim:
    return store.claim(
        workload_id=workload_id, worker_id=worker_id, capabilities=[], lease_ms=1000, now_s=now_s
    )


def fence(workload_id: str, held: Claim) -> dict[str, Any]:
    return {
        "workload_id": workload_id,
        "claim_id": held.claim_id,
        "worker_id": held.worker_id,
        "fencing_token": held.fencing_token,
    }


def complete(store: WorkloadStore, shown: dict[str, Any], result_id: str, now_s: int) -> Any:
    return store.complete(
        **shown, result_id=result_id, output=1, references=[], schema_version=1, now_s=now_s
    )


def code_of(call: Callable[[], Any]) -> str:
    with pytest.raises(WorkloadError) as caught:
        call()
    return caught.value.code


def record(store: WorkloadStore, workload_id: str) -> Workload:
    versioned = store.get(workload_id=workload_id)
    assert versioned is not None
    return versioned.workload


Pair = tuple[WorkloadStore, WorkloadStore]


def test_a_frozen_claimer_conflicts_and_then_sees_the_winner(pair: Pair) -> None:
    one, frozen = pair
    workload_id = admit(one)
    frozen.pause(lambda: claim(one, workload_id) and None)
    assert code_of(lambda: claim(frozen, workload_id, worker_id="b")) == "WORKLOAD_CONFLICT"
    held = record(frozen, workload_id).current_claim
    assert held is not None
    assert held.worker_id == "a"
    assert one.snapshot() == {workload_id: 2}
    assert code_of(lambda: claim(frozen, workload_id, worker_id="b")) == "WORKLOAD_NOT_READY"


def test_a_pause_runs_once_and_can_be_disarmed(pair: Pair) -> None:
    one, _ = pair
    calls: list[int] = []
    one.pause(lambda: calls.append(1))
    workload_id = admit(one)
    one.get(workload_id=workload_id)
    claim(one, workload_id)
    assert calls == [1]
    one.pause(lambda: calls.append(2))
    one.pause(None)
    one.recover_expired(now_s=50)
    assert calls == [1]


def test_a_frozen_worker_meets_the_recovery_of_its_claim(pair: Pair) -> None:
    one, frozen = pair
    workload_id = admit(one)
    shown = fence(workload_id, claim(one, workload_id))
    frozen.pause(lambda: one.recover_expired(now_s=12) and None)
    assert code_of(lambda: frozen.start(**shown, now_s=11)) == "WORKLOAD_CONFLICT"
    assert record(frozen, workload_id).state == "READY"
    assert code_of(lambda: complete(frozen, shown, "r", 12)) == "WORKLOAD_CLAIM_INVALID"


def test_a_frozen_completion_conflicts_and_then_replays(pair: Pair) -> None:
    one, frozen = pair
    workload_id = admit(one)
    shown = fence(workload_id, claim(one, workload_id))
    one.start(**shown, now_s=11)
    frozen.pause(lambda: complete(one, shown, "r", 11) and None)
    assert code_of(lambda: complete(frozen, shown, "r", 11)) == "WORKLOAD_CONFLICT"
    assert complete(frozen, shown, "r", 11) == record(one, workload_id).result


def test_a_result_id_taken_between_lookup_and_commit(pair: Pair) -> None:
    one, frozen = pair
    ids = [admit(one, idempotency_key=key) for key in ("first", "second")]
    shown = [fence(workload_id, claim(one, workload_id)) for workload_id in ids]
    for held in shown:
        one.start(**held, now_s=11)
    frozen.pause(lambda: complete(one, shown[0], "r", 11) and None)
    before = record(one, ids[1])
    assert code_of(lambda: complete(frozen, shown[1], "r", 11)) == "WORKLOAD_RESULT_DUPLICATE"
    assert record(one, ids[1]) == before
    assert one.snapshot() == {ids[0]: 4, ids[1]: 3}
    complete(frozen, shown[1], "other", 11)


@pytest.mark.parametrize("changes", [{}, {"priority": 7}])
def test_a_frozen_admission_answers_by_the_winner(pair: Pair, changes: dict[str, Any]) -> None:
    one, frozen = pair
    frozen.pause(lambda: admit(one, **changes) and None)
    if changes:
        assert code_of(lambda: admit(frozen)) == "IDEMPOTENCY_KEY_REUSED"
    else:
        assert not frozen.admit(request=REQUEST).created
    assert len(one.snapshot()) == 1


def test_a_frozen_admission_meets_a_record_under_an_older_id(pair: Pair) -> None:
    one, frozen = pair
    older = evolve(one.admit(request=REQUEST).workload, workload_id="older")
    one.reset()
    frozen.pause(lambda: one.inject(record=older, version=1))
    answer = frozen.admit(request=REQUEST)
    assert (answer.created, answer.workload.workload_id) == (False, "older")
    assert one.snapshot() == {"older": 1}


def test_passes_skip_what_another_writer_changed(pair: Pair) -> None:
    one, frozen = pair
    timeouts = evolve(NO_TIMEOUTS, overall_ms=1000)
    ids = sorted(admit(one, idempotency_key=str(number), timeouts=timeouts) for number in range(3))
    frozen.pause(lambda: one.cancel(workload_id=ids[0], actor="operator", now_s=11) and None)
    assert frozen.enforce_deadlines(now_s=11) == ids[1:]
    assert record(one, ids[0]).state == "CANCELLED"
    workload_id = admit(one)
    claim(one, workload_id)
    frozen.pause(lambda: one.recover_expired(now_s=12) and None)
    assert frozen.recover_expired(now_s=12) == []
    assert [event.to_state for event in record(one, workload_id).execution_history].count("RECOVERING") == 1


def together(works: list[Callable[[], Any]]) -> list[Any]:
    """Run the works at once, each in a thread; their answers, or the codes of their refusals."""
    barrier = threading.Barrier(len(works))
    answers: list[Any] = [None] * len(works)

    def run(number: int) -> None:
        barrier.wait(10)
        try:
            answers[number] = works[number]()
        except WorkloadError as error:
            answers[number] = error.code

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(works))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    return answers


def test_one_lapsed_lease_is_recovered_by_one_of_two(pair: Pair) -> None:
    for number in range(20):
        workload_id = admit(pair[0], idempotency_key=str(number))
        claim(pair[0], workload_id)
        answers = together([lambda store=store: store.recover_expired(now_s=12) for store in pair])
        assert sorted(answers) == [[], [workload_id]]
        assert pair[0].snapshot()[workload_id] == 3


def test_competing_admissions_create_one(pair: Pair) -> None:
    for number in range(20):
        request = evolve(REQUEST, idempotency_key=str(number))
        answers = together([lambda store=store, r=request: store.admit(request=r).created for store in pair])
        assert sorted(answers) == [False, True]
    requests = [evolve(REQUEST, idempotency_key="differing", input={"id": number}) for number in (1, 2)]
    answers = together(
        [
            lambda store=store, r=r: store.admit(request=r).workload.input
            for store, r in zip(pair, requests, strict=True)
        ]
    )
    assert answers.count("IDEMPOTENCY_KEY_REUSED") == 1
    (winner,) = [answer for answer in answers if answer != "IDEMPOTENCY_KEY_REUSED"]
    assert not pair[0].admit(request=evolve(requests[0], input=winner)).created


def test_many_threads_share_one_handle(pair: Pair) -> None:
    store = pair[0]
    ids = [admit(store, idempotency_key=str(number)) for number in range(30)]
    wins: list[str] = []
    losses: list[str] = []

    def work(worker_id: str) -> None:
        for workload_id in random.Random(worker_id).sample(ids, len(ids)):
            try:
                shown = fence(workload_id, claim(store, workload_id, worker_id=worker_id))
            except WorkloadError as error:
                losses.append(error.code)
                continue
            wins.append(workload_id)
            store.start(**shown, now_s=11)
            complete(store, shown, f"result of {workload_id}", 11)

    together([lambda name=name: work(name) for name in "abcdef"])
    assert sorted(wins) == sorted(ids)
    assert len(losses) == 5 * len(ids)
    assert set(losses) <= {"WORKLOAD_CONFLICT", "WORKLOAD_NOT_READY"}
    assert set(store.snapshot().values()) == {4}


def _work_in_a_process(path: Path, worker_id: str, barrier: Any, answers: Any) -> None:
    with WorkloadStore.open(path, synchronous="NORMAL", busy_timeout_ms=20000) as store:
        barrier.wait(20)
        won: list[str] = []
        for number in range(25):
            workload_id = admit(store, idempotency_key=str(number))
            try:
                shown = fence(workload_id, claim(store, workload_id, worker_id=worker_id))
            except WorkloadError:
                continue
            store.start(**shown, now_s=11)
            complete(store, shown, f"result {number}", 11)
            won.append(workload_id)
        answers.put(won)


def test_processes_that_race_from_an_absent_file_win_each_workload_once(path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    barrier, answers = context.Barrier(3), context.Queue()
    processes = [
        context.Process(target=_work_in_a_process, args=(path, name, barrier, answers)) for name in "abc"
    ]
    for process in processes:
        process.start()
    won = [workload_id for _ in processes for workload_id in answers.get(timeout=60)]
    for process in processes:
        process.join(20)
    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert len(won) == len(set(won)) == 25
    with WorkloadStore.open(path) as store:
        listed = store.list_workloads(tenant_id="t", application_id="app")
        assert {(row.version, row.workload.state) for row in listed} == {(4, "SUCCEEDED")}
