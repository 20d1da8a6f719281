"""A plainer shape: nothing held together that need not be, earlier producers, one handle, less judgement."""

from __future__ import annotations

from functools import partial
from itertools import permutations
from typing import Any, Final

import attrs

from workcert.cases.model import (
    Call,
    Case,
    Crash,
    Frozen,
    Inject,
    Misuse,
    Reopen,
    Repeat,
    Restart,
    Together,
    every_step,
    within,
)
from workcert.shrink.attempt import Attempt
from workcert.shrink.edits import (
    JUDGED,
    Leaf,
    base,
    changed,
    find,
    kind_of,
    leaves,
    needed,
    producers,
    redirected,
    with_fewer_rounds,
    with_leaf,
    with_steps,
)

ROUNDS_KEPT: Final = 10
"""A race is made so often in a shrunk case, if it was so before."""


def unwrap(attempt: Attempt) -> None:
    """Calls in a row instead of at once or in between; fewer rounds and iterations."""
    for step_id in [step.id for step in every_step(attempt.case.steps) if within(step)]:
        match find(attempt.case, step_id):
            case Together() as step:
                _unwrap_together(attempt, step)
            case Frozen(frozen=held, during=during, point=point):
                calls = tuple(each for each in during if isinstance(each, Call))
                if any(
                    attempt.take(with_steps(attempt.case, step_id, row)) for row in ((*calls, held), (held, *calls))
                ):
                    continue
                if point is not None:
                    attempt.lowest(1, point, partial(_held_at, step_id))
            case Misuse(step=made):
                attempt.take(with_steps(attempt.case, step_id, (made,)))
            case Crash() as step:
                _unwrap_crash(attempt, step)
            case Repeat() as step:
                _unwrap_repeat(attempt, step)
    for crash in [step for step in every_step(attempt.case.steps) if isinstance(step, Crash)]:
        _lower_point(attempt, crash)


def _unwrap_crash(attempt: Attempt, step: Crash) -> None:
    """The step without a kill; or a restart in its place, where the kill did as little."""
    if step.step is not None and not attempt.take(with_steps(attempt.case, step.id, (step.step,))):
        attempt.take(with_steps(attempt.case, step.id, (step.step, Restart(step.id))))


def _lower_point(attempt: Attempt, step: Crash) -> None:
    def candidate(case: Case, point: int) -> Case | None:
        held = find(case, step.id)
        return with_steps(case, step.id, (attrs.evolve(held, point=point),)) if isinstance(held, Crash) else None

    attempt.lowest(1, step.point, candidate)


def _held_at(step_id: str, case: Case, point: int) -> Case | None:
    held = find(case, step_id)
    return None if held is None else with_steps(case, step_id, (attrs.evolve(held, point=point),))


def _unwrap_together(attempt: Attempt, step: Together) -> None:
    # With more calls than three the orders are too many; the one of writing and its reverse must do.
    rows = permutations(step.calls) if len(step.calls) <= 3 else (step.calls, step.calls[::-1])
    for row in rows:
        if attempt.take(with_steps(attempt.case, step.id, tuple(row))):
            return

    def candidate(case: Case, rounds: int) -> Case | None:
        held = find(case, step.id)
        return None if held is None else with_steps(case, step.id, (attrs.evolve(held, rounds=rounds),))

    # What fails in one round of several by luck would not be seen again in a case of one round.
    attempt.lowest(min(step.rounds, ROUNDS_KEPT), step.rounds, candidate)


def _unwrap_repeat(attempt: Attempt, step: Repeat) -> None:
    def candidate(case: Case, times: int) -> Case | None:
        held = find(case, step.id)
        return None if held is None else with_fewer_rounds(case, held, times)

    if step.times == 1:
        attempt.take(candidate(attempt.case, 1))
    else:
        attempt.lowest(1, step.times, candidate)


def redirect_references(attempt: Attempt) -> None:
    """To the earliest call of the same kind whose answer will do."""
    for leaf_id in [leaf.id for leaf in leaves(attempt.case.steps)]:
        leaf = find(attempt.case, leaf_id)
        for old in () if leaf is None else dict.fromkeys(base(ref.step) for ref in needed(leaf)):
            _redirect(attempt, leaf_id, old)


def _redirect(attempt: Attempt, leaf_id: str, old: str) -> None:
    case = attempt.case
    source, leaf = find(case, old), find(case, leaf_id)
    if not isinstance(source, Call) or leaf is None:
        return
    for call in producers(case).get(leaf_id, ()):
        if call.id == old:
            return
        if kind_of(case, call) == kind_of(case, source) and attempt.take(
            with_leaf(case, redirected(leaf, old, call.id))
        ):
            return


def merge_handles(attempt: Attempt) -> None:
    """One handle for all; failing that, one handle less at a time."""
    first, *others = attempt.case.header.handles
    if attempt.take(_on(attempt.case, dict.fromkeys(others, first))):
        return
    for source in reversed(others):
        for target in attempt.case.header.handles:
            if target == source:
                break
            if attempt.take(_on(attempt.case, {source: target})):
                break


def _on(case: Case, names: dict[str, str]) -> Case | None:
    def renamed(leaf: Any) -> Any:
        if isinstance(leaf, Call | Inject | Reopen) and leaf.on in names:
            return attrs.evolve(leaf, on=names[leaf.on])
        return leaf

    merged = changed(case, renamed)
    for step in every_step(merged.steps):
        match step:
            case Together(calls=calls) if len({call.on for call in calls}) < len(calls):
                return None
            case Frozen(frozen=held, during=during) if any(call.on == held.on for call in during):
                return None
    return merged


def drop_judgements(attempt: Attempt, singly: bool = True) -> None:
    """Expectations and notes that do not matter, because the model judges anyway."""
    if attempt.take(bare(attempt.case)) or not singly:
        return
    for leaf in leaves(attempt.case.steps):
        members = _judging(leaf)
        if not attempt.take(_less(attempt.case, leaf.id, members)):
            for name in members:
                attempt.take(_less(attempt.case, leaf.id, (name,)))


def _less(case: Case, leaf_id: str, members: tuple[str, ...]) -> Case | None:
    leaf: Any = find(case, leaf_id)
    return None if leaf is None else with_leaf(case, attrs.evolve(leaf, **dict.fromkeys(members)))


def _judging(leaf: Leaf) -> tuple[str, ...]:
    # The version of an injected row is what it has, not what it should have.
    members = (*JUDGED, "note") if isinstance(leaf, Call) else ("note",)
    return tuple(name for name in members if getattr(leaf, name) is not None)


def bare(case: Case) -> Case:
    """The case without expectations and notes: the model judges anyway."""

    def leaf_bare(leaf: Any) -> Any:
        return attrs.evolve(leaf, **dict.fromkeys(_judging(leaf)))

    bare = changed(case, leaf_bare)
    for step_id in [step.id for step in every_step(bare.steps) if within(step)]:
        step = find(bare, step_id)
        plain = {"note": None} | ({"expect_one_of": None} if isinstance(step, Together) else {})
        bare = with_steps(bare, step_id, (attrs.evolve(step, **plain),))
    return bare
