"""What a search may spend: a count of executions, and fewer of them where a case is heavy."""

from __future__ import annotations

import pytest

from workcert.cases import Call, Case, Header
from workcert.cases.cost import LEAST_SHARE, MOST_WEIGHT, Budget, cost, weight
from workcert.codec import Copies, RepeatBytes
from workcert.shrink import shrink

BUDGET = 500


def batch(rows: int) -> Call:
    return Call("e", "A", "enqueue", {"envelopes": Copies({"kind": "mail"}, rows, "id")})


def case_of(*calls: Call) -> Case:
    return Case(Header("jobs", "n", "t", handles=("A",)), calls)


def admits(number: int) -> tuple[Call, ...]:
    return tuple(Call(f"a{each}", "A", "admit", {"capacity": each}) for each in range(number))


def made_of(case: Case, most: int = 10**9) -> int:
    return most_made(Budget(BUDGET), case, most)


def most_made(budget: Budget, case: Case, most: int) -> int:
    while budget.allows() and budget.made < most:
        budget.charge(case)
    return budget.made


def test_a_case_costs_its_calls_and_rows_and_weighs_its_long_texts_too() -> None:
    case = case_of(batch(5_000), *admits(3))
    assert (cost(case), weight(case)) == (5_004, 5_004)
    long = Call("e", "A", "enqueue", {"envelopes": [{"payload": RepeatBytes("x", 1_000_000)}]})
    assert (cost(case_of(long)), weight(case_of(long))) == (2, 1_002)
    copies = Call("e", "A", "enqueue", {"envelopes": Copies({"payload": RepeatBytes("x", 1_000)}, 100, "id")})
    assert weight(case_of(copies)) == 1 + 100 + 100


@pytest.mark.parametrize(
    ("rows", "made"), [(1, 500), (MOST_WEIGHT - 1, 500), (MOST_WEIGHT, 499), (5_000, 40), (1_000_000, 30)]
)
def test_the_executions_fall_with_the_weight_and_never_below_thirty(rows: int, made: int) -> None:
    assert made_of(case_of(batch(rows))) == made


def test_what_has_become_light_goes_on_longer() -> None:
    budget = Budget(BUDGET)
    most_made(budget, case_of(batch(5_000)), 20)
    assert most_made(budget, case_of(batch(1)), BUDGET) == BUDGET


def test_shrinking_a_heavy_case_ends_early_with_a_case_that_was_run() -> None:
    """Every row is needed, and every other step: no try is a light one, and nearly all are in vain."""
    spent: list[int] = []
    needed = {f"a{number}" for number in range(0, 40, 2)} | {"a39"}

    def fails(each: Case) -> str | None:
        spent.append(weight(each))
        rows = [call.args["envelopes"] for call in each.steps if isinstance(call, Call) and call.call == "enqueue"]
        whole = bool(rows) and isinstance(rows[0], Copies) and rows[0].count == 5_000
        return "a39" if whole and needed <= {step.id for step in each.steps} else None

    found = shrink(case_of(batch(5_000), *admits(40)), fails, BUDGET)
    assert not found.finished
    assert BUDGET * LEAST_SHARE <= found.executions == len(spent) < BUDGET
    assert sum(spent) < BUDGET * MOST_WEIGHT + max(spent)
    assert len(found.case.steps) < 41
    assert fails(found.case) == "a39"
