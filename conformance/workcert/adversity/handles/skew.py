"""Two processes on one store whose clocks are an hour apart.

What may be demanded then, and is:

- *workload*: the store reads no clock, so each call is right by the specification at the instant that its caller
  brings, whatever the clock of its process shows. The model judges every answer and record.
- *jobs*: the store's clock may be that of a server or of each process, so nobody knows at which instant a call was
  made, and whether a lease has ended, a job is due or a duty is free may be seen otherwise by each. Demanded is what
  holds at any instants: what was enqueued is there; no job runs twice without a reclaim in between; each run has a
  fence of its own, one above the last; a report is accepted exactly from the holder, whether or not its lease seems
  over (JOB-ACK-02), and refused once the job was reclaimed; a finished job stays finished; jobs of one producer and one
  queue are given out in their order; nothing crashes. Not demanded: that a job which the faster process enqueued is
  given to the slower one before its clock comes to that instant, nor anything of ages.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Final

import attrs

from workcert.adversity.handles.clocks import Skewed
from workcert.adversity.handles.skewed_jobs import NEEDED, Skewing, told_of
from workcert.adversity.part import SUITE
from workcert.backends.registry import BackendError
from workcert.cases.model import Call, Case, Header
from workcert.children import Child, Children, cannot
from workcert.children.recipe import recipe_of
from workcert.judge.verdict import Failure, Kind
from workcert.ordinary import WORKLOAD_REQUEST
from workcert.references import Ref
from workcert.run.calling import Answered, CallHung
from workcert.run.case import NO_METHOD
from workcert.run.engine import Options
from workcert.run.events import CaseEnded, Emit, StepJudged, Tallied, Verdict
from workcert.run.execution import Execution
from workcert.run.misuse import Elsewhere
from workcert.run.store import StoreUnderTest

HOUR_S: Final = 3600
NAME: Final = "handles, clocks an hour apart"
ROW: Final = "clocks an hour apart"


def run_skews(store: StoreUnderTest, options: Options, emit: Emit) -> None:
    """Both directions: the second process an hour ahead of the first, and an hour behind.

    Raises:
        BackendError: the backend cannot be used.
    """
    backend = store.backend
    why = "" if backend.can("kill") and backend.can("second_handle") else "the backend lacks the ability kill"
    why = why or cannot(backend)
    if options.only:
        return
    if why:
        emit(CaseEnded(SUITE, NAME, Verdict.SKIPPED, reason=why))
        return
    for ahead_s in (HOUR_S, -HOUR_S):
        with _processes(store, ahead_s) as (first, second):
            ended = {"workload": _workload, "jobs": _jobs}[backend.binding.name](store, ahead_s, first, second)
        for run in ended.steps if ended.verdict is Verdict.PASSED else ():
            emit(StepJudged(SUITE, ended.name, run))
        emit(ended)
        if ended.verdict is Verdict.PASSED:
            emit(Tallied("handles", ROW, "tried"))


@contextlib.contextmanager
def _processes(store: StoreUnderTest, ahead_s: int) -> Iterator[tuple[Child, Child]]:
    """Two processes with the store open, the second with another clock; on a store of their own."""
    recipe = recipe_of(store.backend)
    assert recipe is not None
    other = attrs.evolve(store.backend, recipe=Skewed(recipe, ahead_s))
    store.fresh()
    # Made before anybody else opens it.
    store.reader()
    with Children(other) as skewed:
        children = (store.child(), skewed.start())
        try:
            for child in children:
                opened = child.open(store.place, store.config)
                if not isinstance(opened, Answered):
                    raise BackendError(f"{store.backend.name}: a process of its own cannot open the store: {opened}")
            yield children
        finally:
            for child in children:
                child.kill()


def _title(ahead_s: int) -> str:
    return f"the clock of B is an hour {'ahead of' if ahead_s > 0 else 'behind'} that of A"


# Workload: judged by the model ---------------------------------------------------------------------------------


def _workload(store: StoreUnderTest, ahead_s: int, first: Child, second: Child) -> CaseEnded:
    case = workload_case(ahead_s)
    binding = store.backend.binding
    execution = Execution(store)
    store.replace("A", Elsewhere(first, binding))
    store.replace("B", Elsewhere(second, binding))
    name = f"{NAME}, {'ahead' if ahead_s > 0 else 'behind'}"
    try:
        for step in case.steps:
            assert isinstance(step, Call)
            if execution.step(step).failure is not None:
                return _failed(name, case, execution)
        if execution.finish() is not None:
            return _failed(name, case, execution)
    except CallHung as hung:
        return CaseEnded(SUITE, name, Verdict.UNKNOWN, case, reason=str(hung), hung=True)
    return CaseEnded(SUITE, name, Verdict.PASSED, case, steps=tuple(execution.runs))


def _failed(name: str, case: Case, execution: Execution) -> CaseEnded:
    failure = execution.failure
    assert failure is not None
    text = f"{failure.text}. A and B were processes whose clocks are an hour apart: {case.header.title}"
    failure = attrs.evolve(failure, text=text)
    return CaseEnded(SUITE, name, Verdict.FAILED, case, failure=failure, steps=tuple(execution.runs))


def workload_case(ahead_s: int) -> Case:
    """Work that A claims, and that B believes to be over, or not yet to have begun."""
    base = 2 * HOUR_S
    here, there = base, base + ahead_s
    name = f"workload/handles-clocks-{'ahead' if ahead_s > 0 else 'behind'}"
    header = Header("workload", name, _title(ahead_s), abilities=("second_handle",), handles=("A", "B"))
    request = {**WORKLOAD_REQUEST, "created_at": min(here, there)}
    work = {"workload_id": Ref("admitted.workload.workload_id")}
    steps = [Call("admitted", "A", "admit", {"request": request})]

    def does(step: str, on: str, at: int, call: str, **arguments: object) -> None:
        steps.append(Call(step, on, call, arguments, at))

    def fenced(step: str, on: str, at: int, call: str, claim: str, **arguments: object) -> None:
        fence = {"claim_id": Ref(f"{claim}.claim_id"), "fencing_token": Ref(f"{claim}.fencing_token")}
        does(step, on, at, call, **work, **fence, worker_id=on, **arguments)

    claim = {**work, "capabilities": ["email:send"], "lease_ms": 60_000}
    result = {"output": {}, "references": [], "schema_version": 1}
    does("first", "A", here, "claim", **claim, worker_id="A")
    fenced("begun", "A", here + 1, "start", "first")
    does("swept", "B", there + 2, "recover_expired")
    does("second", "B", there + 3, "claim", **claim, worker_id="B")
    fenced("kept", "A", here + 4, "heartbeat", "first", extension_ms=60_000)
    fenced("saved", "A", here + 5, "checkpoint", "first", state={"at": 1})
    does("swept_here", "A", here + 6, "recover_expired")
    does("enforced", "B", there + 7, "enforce_deadlines")
    does("third", "A", here + 8, "claim", **claim, worker_id="A")
    fenced("started", "B", there + 9, "start", "second")
    fenced("late", "A", here + 10, "complete", "first", result_id="of-A", **result)
    fenced("done", "B", there + 11, "complete", "second", result_id="of-B", **result)
    does("fourth", "A", here + 12, "claim", **claim, worker_id="A")
    does("cancelled", "B", there + 13, "cancel", **work, actor="operator")
    return Case(header, tuple(steps))


# Jobs: by what holds at any instants ---------------------------------------------------------------------------


def _jobs(store: StoreUnderTest, ahead_s: int, first: Child, second: Child) -> CaseEnded:
    name = f"{NAME}, {'ahead' if ahead_s > 0 else 'behind'}"
    binding = store.backend.binding
    methods = frozenset(call for call in binding.calls.calls if hasattr(store.reader(), call))
    lacking = sorted(NEEDED - methods)
    if lacking:
        return CaseEnded(SUITE, name, Verdict.SKIPPED, reason=f"{NO_METHOD}{', '.join(lacking)}")
    skewing = Skewing(binding, Elsewhere(first, binding), Elsewhere(second, binding), methods)
    try:
        skewing.run()
    except CallHung as hung:
        return CaseEnded(SUITE, name, Verdict.UNKNOWN, reason=str(hung), hung=True)
    if skewing.broken is None:
        return CaseEnded(SUITE, name, Verdict.PASSED)
    ids, text = skewing.broken
    told = told_of(skewing.log)
    failure = Failure(ids, Kind.OTHERS, f"{text}. {_title(ahead_s)}; the calls, in order: {told}")
    return CaseEnded(SUITE, name, Verdict.FAILED, failure=failure)
