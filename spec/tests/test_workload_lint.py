import json
import random
from pathlib import Path

import pytest

from workspec.core.choice import Declared
from workspec.core.interpreter import Refused, apply
from workspec.core.lint import lint, never_fired, never_written, orphan_ids
from workspec.core.sample import Sample, walk
from workspec.workload.contract import CONTRACT
from workspec.workload.facts import absorb, present
from workspec.workload.samples import propose

CASES = Path(__file__).parents[2] / "conformance" / "workcert" / "cases" / "workload"
LOG_READERS = ("migrate",)
"""A migration compares whole records, history included (WRK-MIG-02)."""
ONLY_BY_INJECTION = {
    "CREATED -[cancel]-> CANCELLED",
    "FAILED -[cancel]-> CANCELLED",
    "FAILED -[operator retry]-> READY",
    "TIMED_OUT -[operator retry]-> READY",
}
"""Rows out of states in which no record of this version rests."""
ONLY_BEYOND_64_BITS = {"enforce_deadlines: refuse WRK-PRT-02", "recover_expired: refuse WRK-PRT-02"}
NEVER = {"fail: refuse WRK-FAL-02 WRK-GEN-06"}
"""Each state with a claim either may fail or has asked for cancellation, which the check before refuses."""


@pytest.fixture(scope="module")
def samples() -> list[Sample]:
    return list(walk(CONTRACT, propose, random.Random(2).choice, walks=250, steps=80))


def shown_by_cases() -> set[str]:
    headers = [json.loads(file.open().readline()) for file in sorted(CASES.glob("*.jsonl"))]
    return {requirement for header in headers for requirement in header["requirements"]}


def test_the_contract_is_clean(samples: list[Sample]) -> None:
    assert lint(CONTRACT, shown_by_cases(), samples, log_readers=LOG_READERS) == []


def test_without_the_cases_only_consequences_are_orphans() -> None:
    """What a rule enforces is named by that rule; what only follows from several rules is shown by a case."""
    orphans = {finding.where for finding in orphan_ids(CONTRACT, ())}
    assert orphans < shown_by_cases()


def test_the_samples_reach_all_rules_that_a_walk_can_reach(samples: list[Sample]) -> None:
    assert set(never_fired(CONTRACT, samples)) == ONLY_BY_INJECTION | ONLY_BEYOND_64_BITS | NEVER


def test_what_an_effect_declares_it_writes(samples: list[Sample]) -> None:
    """A checkpoint is a sign of life only for a store that declares so (G-24)."""
    assert never_written(CONTRACT, samples) == [("keep checkpoint", "claim")]


@pytest.mark.parametrize("choice", [choice for choice in CONTRACT.choices if choice.kind == "declared"])
def test_no_declared_value_contradicts_the_rules(choice: object) -> None:
    options = CONTRACT.choice(choice.id).options  # type: ignore[attr-defined]
    for value in options:
        chooser = Declared({choice.id: value})  # type: ignore[attr-defined]
        pick = random.Random(2).choice
        assert len(list(walk(CONTRACT, propose, pick, walks=20, steps=60, choose=chooser))) == 1200


def test_a_walk_repeats_itself() -> None:
    runs = [
        [(sample.call, sample.now) for sample in walk(CONTRACT, propose, random.Random(5).choice, walks=3, steps=30)]
        for _ in range(2)
    ]
    assert [name.name for name, _ in runs[0]] == [name.name for name, _ in runs[1]]
    assert len(runs[0]) == 90


def test_the_invariants_hold_on_every_sampled_step(samples: list[Sample]) -> None:
    """Invariants of a step speak of the record that the call addressed, or of one that it changed."""
    for sample in samples:
        done = apply(CONTRACT, sample.state, sample.call, sample.now)
        code = done.outcome.code if isinstance(done.outcome, Refused) else None
        changed = {key for key in done.state if done.state[key] is not sample.state.get(key)}
        for key in changed | ({done.decision.scope.key} & done.state.keys()):
            before = CONTRACT.present(sample.state[key]) if key in sample.state else None
            after = CONTRACT.present(done.state[key])
            for invariant in CONTRACT.invariants:
                holds = invariant.holds(after) if invariant.of == "record" else invariant.holds(before, after, code)
                assert holds, (invariant.requirement, sample.call, code)


def test_a_record_survives_presenting_and_absorbing(samples: list[Sample]) -> None:
    """What injection and migration rely on: every fact is derived again from what a record shows."""
    for sample in samples[::7]:
        for record in sample.state.values():
            assert absorb(present(record), record.version) == record
