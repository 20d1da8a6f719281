"""A backend that declares that it goes its own way: what depends on it is not called, and the rest is judged."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from workcert.backends.registry import describe
from workcert.bound.jobs import beyond_ranges
from workcert.cases.library import load_case
from workcert.cases.model import Call, Case
from workcert.run.case import CaseRun, run_case
from workcert.run.events import Verdict
from workcert.run.store import StoreUnderTest
from workspec.core.choice import OTHER
from workspec.core.scope import Call as ModelCall
from workspec.jobs.samples import PLAIN
from workspec.workload.vocabulary import ErrorCode, WorkloadError

from .miniatures.handles import Around, Wrapped

REFERENCES = {"G-17.completion-references": OTHER}
HEARTBEAT = {"G-24.checkpoint-heartbeat": OTHER}


def run(around: Any, case: str | Case, choices: dict[str, Any]) -> CaseRun:
    with StoreUnderTest.of(describe("store", Wrapped(around, choices=choices))) as store:
        return run_case(store, load_case(f"workload/{case}") if isinstance(case, str) else case)


@pytest.mark.parametrize(
    "case", ["cmp-05-what-a-replay-compares", "cmp-07-references-and-schema-version", "prt-02-arguments"]
)
def test_completion_with_references_is_not_made(case: str) -> None:
    seen: list[tuple[Any, int]] = []

    class Recording(Around):
        def complete(self, **arguments: Any) -> Any:
            seen.append((tuple(arguments["references"]), arguments["schema_version"]))
            return self.inner.complete(**arguments)

    asserted = run(Recording, case, {})
    assert asserted.verdict is Verdict.PASSED
    assert all(step.applicable for step in asserted.steps)
    assert set(seen) - {((), 1)}
    seen.clear()
    elsewhere = run(Recording, case, REFERENCES)
    assert elsewhere.verdict is Verdict.PASSED
    left_out = [step for step in elsewhere.steps if not step.applicable]
    assert left_out[0].note == "G-17.completion-references is declared as 'other': the contract asserts nothing there"
    assert set(seen) <= {((), 1)}


def test_plain_completion_is_judged_all_the_same() -> None:
    class Refusing(Around):
        def complete(self, **_arguments: Any) -> Any:
            raise WorkloadError(ErrorCode.INVALID)

    ended = run(Refusing, "19-result-replay-and-conflict", REFERENCES)
    assert ended.failure is not None
    assert ended.failure.text.startswith("refused with WORKLOAD_INVALID; it should succeed")


def test_missed_refusal_is_judged_where_the_call_itself_would_not_be() -> None:
    class Wrapping(Around):
        def checkpoint(self, **arguments: Any) -> Any:
            return self.inner.checkpoint(**{**arguments, "state": arguments["state"] % 2**63})

    case = load_case("workload/ckp-02c-values-of-checkpoints-are-kept")
    place = next(i for i, step in enumerate(case.steps) if isinstance(step, Call) and step.call == "checkpoint")
    unsound = evolve(case.steps[place], args={**case.steps[place].args, "state": 2**63})
    ended = run(Wrapping, evolve(case, steps=(*case.steps[:place], unsound)), HEARTBEAT)
    assert ended.failure is not None
    assert ended.failure.requirement == "WRK-PRT-02"


def test_calls_at_once_are_not_made_where_one_order_is_not_asserted() -> None:
    seen: list[str] = []

    class Recording(Around):
        def cancel(self, **arguments: Any) -> Any:
            seen.append("cancel")
            return self.inner.cancel(**arguments)

    ended = run(Recording, "can-05-cancel-against-completion", {"G-12.reports-while-requested": OTHER})
    assert ended.verdict is Verdict.PASSED
    assert len(seen) == 2, "only the two forced interleavings, whose order is known, may be made"


@pytest.mark.parametrize("number", [-(2**63) - 1, -(2**63), 2**63 - 1, 2**63])
def test_numbers_beyond_the_range_of_an_envelope_are_not_judged(number: int) -> None:
    """The contract gives them a range and says nothing of what lies outside."""
    call = ModelCall("enqueue", {"envelopes": (evolve(PLAIN, priority=number),)})
    assert bool(beyond_ranges(call)) == (not -(2**63) <= number < 2**63)
