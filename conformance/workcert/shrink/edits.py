"""Pure edits of a case. Its *leaves* are calls, restarts, reopened handles, injections, killed openings and damages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias, TypeGuard

import attrs

from workcert.cases.contracts import contracts
from workcert.cases.model import (
    Call,
    Case,
    Crash,
    Damage,
    Frozen,
    Inject,
    Misuse,
    Reopen,
    Repeat,
    Restart,
    Step,
    Together,
    Transaction,
    every_step,
    required_abilities,
    within,
)
from workcert.references import Ref, references, renamed

Leaf: TypeAlias = Call | Restart | Reopen | Inject | Crash | Damage
"""A crash is one when it is opening the store that is killed; any other holds the step that is."""

JUDGED: Final = ("expect", "record", "of", "version")
"""Members of a call that only judge it."""

_SHOWN_BY_STEPS: Final = frozenset({"second_handle", "restart", "inject", "pause", "points", "kill"})


def leaves(steps: tuple[Step, ...]) -> tuple[Leaf, ...]:
    return tuple(step for step in every_step(steps) if is_leaf(step))


def is_leaf(step: Step) -> TypeGuard[Leaf]:
    is_opening = isinstance(step, Crash) and step.step is None
    return is_opening or isinstance(step, Call | Restart | Reopen | Inject | Damage)


def base(name: str) -> str:
    """A step id without the number of an iteration."""
    return name.partition("#")[0]


def needed(leaf: Leaf) -> Iterator[Ref]:
    """The references without which a leaf cannot be run."""
    match leaf:
        case Call(args=args):
            yield from references(args)
        case Inject(record=record):
            yield from references(record)


def tidied(case: Case) -> Case:
    """Without handles that no step uses, and without abilities that only such steps asked for as are gone."""
    used = {step.on for step in every_step(case.steps) if isinstance(step, Call | Inject | Reopen)}
    handles = tuple(name for name in case.header.handles if name in used) or case.header.handles[:1]
    header = attrs.evolve(case.header, handles=handles)
    wanted = required_abilities(Case(header, case.steps))
    abilities = tuple(a for a in header.abilities if a in wanted or a not in _SHOWN_BY_STEPS)
    return Case(attrs.evolve(header, abilities=abilities), case.steps)


def changed(case: Case, change: Callable[[Any], Any]) -> Case:
    """The case with each leaf replaced, or removed where ``change`` gives None.

    What holds others is taken apart when too little is left in it for it to have a meaning.
    """
    return attrs.evolve(case, steps=_changed(case.steps, change))


def find(case: Case, step_id: str) -> Any:
    """The step of this id, or None."""
    return next((step for step in every_step(case.steps) if step.id == step_id), None)


def with_leaf(case: Case, leaf: Leaf) -> Case:
    return changed(case, lambda each: leaf if each.id == leaf.id else each)


def with_steps(case: Case, step_id: str, instead: tuple[Any, ...]) -> Case:
    """One step that is no leaf replaced by others."""

    def walk(steps: tuple[Any, ...]) -> Iterator[Any]:
        for step in steps:
            if step.id == step_id:
                yield from instead
            elif isinstance(step, Repeat):
                yield attrs.evolve(step, steps=tuple(walk(step.steps)))
            else:
                yield step

    return attrs.evolve(case, steps=tuple(walk(case.steps)))


def cut_after(case: Case, failing: str) -> Case | None:
    """Without what follows the failing step; None when nothing does. A repeat ends where it fails."""
    name, _, iteration = failing.partition("#")
    for position, step in enumerate(case.steps):
        if name != step.id and not any(inner.id == name for inner in every_step(within(step))):
            continue
        if isinstance(step, Repeat) and iteration.isdigit():
            step = attrs.evolve(step, times=min(step.times, int(iteration)))
        steps = (*case.steps[:position], step)
        return None if steps == case.steps else attrs.evolve(case, steps=steps)
    return None


def with_fewer_rounds(case: Case, repeat: Repeat, times: int) -> Case:
    """A repeat of ``times`` iterations, or its body alone for one; references to iterations follow."""
    names: dict[str, str] = {}
    for inner in every_step(repeat.steps):
        for n in range(1, repeat.times + 1):
            names[f"{inner.id}#{n}"] = inner.id if times == 1 else f"{inner.id}#{min(n, times)}"
    instead = repeat.steps if times == 1 else (attrs.evolve(repeat, times=times),)
    return changed(with_steps(case, repeat.id, instead), lambda leaf: _renamed(leaf, names))


def redirected(leaf: Leaf, old: str, new: str) -> Leaf:
    """The leaf with each reference to ``old``, in whatever iteration, turned to ``new``."""
    turned: Leaf = _renamed(leaf, {ref.step: new for ref in references(leaf) if base(ref.step) == old})
    return turned


def without_judgement_on(leaf: Leaf, gone: set[str]) -> Leaf:
    """The leaf without those of its judging members that refer to steps that are gone."""
    if not isinstance(leaf, Call):
        return leaf
    stale = [name for name in JUDGED if any(base(ref.step) in gone for ref in references(getattr(leaf, name)))]
    changes: dict[str, Any] = dict.fromkeys(stale)
    if "of" in stale:
        # They were about the record that `of` named; about another one they would be nonsense.
        changes |= {"record": None, "version": None}
    return attrs.evolve(leaf, **changes) if changes else leaf


def producers(case: Case) -> Mapping[str, tuple[Call, ...]]:
    """For each leaf the calls that it may refer to by their plain id, in order."""
    found: dict[str, tuple[Call, ...]] = {}

    def walk(steps: tuple[Any, ...], answered: tuple[Call, ...]) -> tuple[Call, ...]:
        for step in steps:
            match step:
                case Call():
                    found[step.id] = answered
                    answered = (*answered, step)
                case Together(calls=calls, shared=shared):
                    for place, call in enumerate(calls):
                        own = (each for each in calls[:place] if each.on == call.on and not shared)
                        found[call.id] = (*answered, *own)
                    answered = (*answered, *calls)
                case Frozen(frozen=held, during=during):
                    found[held.id] = answered
                    answered = (*walk(during, answered), held)
                case Transaction(calls=calls, after=after):
                    answered = walk((*calls, *after), answered)
                case Crash(step=made) | Misuse(step=made) if made is not None:
                    answered = walk((made,), answered)
                case Repeat(steps=body):
                    walk(body, answered)
        return answered

    walk(case.steps, ())
    return found


def kind_of(case: Case, call: Call) -> str:
    """What an answer can stand in for: calls with answers of one type are of one kind."""
    contract = contracts().get(case.header.contract)
    signature = None if contract is None else contract.calls.get(call.call)
    return call.call if signature is None else str(signature.answer)


def _renamed(leaf: Any, names: Mapping[str, str]) -> Any:
    return renamed(leaf, names) if any(ref.step in names for ref in references(leaf)) else leaf


def _changed(steps: tuple[Any, ...], change: Callable[[Any], Any]) -> tuple[Any, ...]:
    kept: list[Any] = []
    for step in steps:
        match step:
            case Together(calls=calls):
                left = _changed(calls, change)
                if len(left if step.shared else {call.on for call in left}) < 2:
                    kept += left
                    continue
                # Rows of allowed outcomes have one column for each call.
                allowed = step.expect_one_of if len(left) == len(calls) else None
                kept.append(attrs.evolve(step, calls=left, expect_one_of=allowed))
            case Frozen(frozen=held, during=during):
                first, then = _changed((held,), change), _changed(during, change)
                if first and then:
                    kept.append(attrs.evolve(step, frozen=first[0], during=then))
                else:
                    # Nothing is held any more that a handle could be opened beside.
                    kept += (*first, *(each for each in then if not isinstance(each, Reopen)))
            case Transaction(calls=calls, after=after):
                left, then = _changed(calls, change), _changed(after, change)
                if left or then:
                    kept.append(attrs.evolve(step, calls=left, after=then))
            case Crash(step=made) | Misuse(step=made) if made is not None:
                inside = _changed((made,), change)
                kept += [attrs.evolve(step, step=inside[0])] if inside else []
            case Repeat(steps=body):
                left = _changed(body, change)
                if left:
                    kept.append(attrs.evolve(step, steps=left))
            case _:
                leaf = change(step)
                kept += () if leaf is None else (leaf,)
    return tuple(kept)
