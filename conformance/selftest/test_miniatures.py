"""The kit, graded: it finds every miniature fault by the suite that should, and accuses no store that is right.

The stateful suite runs alone with the number of examples of `miniatures.catching`; a case counts its steps as the
shrinker does, the body of a repeat once.
"""

from __future__ import annotations

import pytest

from workcert.backends.registry import BackendError
from workcert.backends.specification import of
from workcert.cases import parse, write
from workcert.run import calling
from workcert.run.events import Verdict
from workcert.run.stateful import run_stateful
from workcert.shrink import size

from .miniatures import (
    LIARS,
    MINIATURES,
    STATEFUL,
    VARIANTS,
    WORKLOAD,
    Liar,
    Miniature,
    Variant,
    accusations,
    caught,
    replay,
)
from .miniatures.catching import in_turn, scenarios

MOST_STEPS = 8
SEEDS = (1, 2, 3)
"""Tried in turn: Hypothesis draws also from the constants of the installed sources, so that one seed finds a rare fault
in one installation and misses it in another."""
EXAMPLES = 15
"""Of the stateful suite on a store that lies, and of walks on one that is right: the scenarios do the most there."""


def test_there_are_enough_of_them() -> None:
    names = [miniature.name for miniature in MINIATURES]
    assert len(set(names)) == len(names) >= 30
    assert sum(miniature.suite == STATEFUL for miniature in MINIATURES) >= 10


@pytest.mark.parametrize("miniature", MINIATURES, ids=lambda each: each.name)
def test_fault_is_caught_named_and_shown_by_a_short_case(miniature: Miniature) -> None:
    tries = (caught(miniature.name, miniature.make(), miniature.suite, miniature.right, seed=seed) for seed in SEEDS)
    found = next((each for each in tries if each is not None), None)
    assert found is not None, f"the {miniature.suite} suite does not find it"
    assert parse(write(found.case)) == found.case, "the printed command cannot read the saved case"
    assert found.ended.verdict is Verdict.FAILED
    assert found.requirement in miniature.right
    assert size(found.case) <= MOST_STEPS
    again = replay(miniature.name, miniature.make(), found.case)
    assert again.failure is not None
    assert again.failure.requirement == found.requirement
    assert replay("right", of(WORKLOAD), found.case).verdict is Verdict.PASSED


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda each: each.name)
def test_store_that_chose_otherwise_is_not_accused(variant: Variant) -> None:
    cases = in_turn(scenarios(), VARIANTS.index(variant))
    assert accusations(variant.name, variant.make(), cases, examples=EXAMPLES) == []


@pytest.mark.parametrize("liar", LIARS, ids=lambda each: each.name)
def test_adapter_that_misbehaves_is_told_so(liar: Liar, monkeypatch: pytest.MonkeyPatch) -> None:
    if liar.hangs:
        monkeypatch.setattr(calling, "CALL_LIMIT_S", 0.3)
    try:
        said = accusations("adapter.py", liar.make(), scenarios(), examples=EXAMPLES, suite=run_stateful, first=True)
    except BackendError as error:
        said = [str(error)]
    if not liar.says:
        assert said == []
        return
    assert said, "nothing is said"
    requirement, _, text = liar.says.partition(" ") if liar.says.startswith("WRK") else ("", "", liar.says)
    assert requirement in said[0]
    assert text in said[0]
