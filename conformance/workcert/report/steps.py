"""The steps of a failing case as the numbered table that is printed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import attrs

from workcert.binding import Binding
from workcert.cases.model import (
    Call,
    Case,
    Crash,
    Frozen,
    Inject,
    Misuse,
    Plain,
    Reopen,
    Together,
    Transaction,
    unrolled,
)
from workcert.explaining.model import AT, ON, Explanation, Path, Spot
from workcert.judge.verdict import END, StepRun
from workcert.ordinary import HAPPENS_AT
from workcert.references import Ref
from workcert.report.model import StepRow
from workcert.report.notation import (
    LEAST_MARK,
    MARK,
    NAME_MARK,
    Marked,
    bare,
    brief,
    changes,
    expected_text,
    seen_text,
    sentence,
    shown,
    written,
)
from workcert.report.opaque import Names
from workcert.run.calling import Answered
from workcert.shrink.edits import base
from workcert.shrink.places import Place, present, put

LARGE: Final = 6
"""An object of more members is printed as what is particular in it."""
ORDINARY: Final = "ordinary"
ORDINARY_NOTE: Final = "ordinary(...) names what is out of the ordinary; the case file has every member."
MARK_NOTE: Final = f"{MARK} marks what does not matter: the failure is the same with every other value that was tried."
LEAST_NOTE: Final = f"{LEAST_MARK} marks a number or an instant that may be larger, and not smaller."
NAME_NOTE: Final = f"{NAME_MARK} marks a name: any other that was tried will do, as long as it is the same everywhere."


def step_rows(
    binding: Binding,
    case: Case | None,
    runs: Sequence[StepRun],
    names: Names,
    explanation: Explanation | None = None,
) -> tuple[StepRow, ...]:
    """One row for each call that was made; steps of one block share a number. What does not matter is marked."""
    explanation = explanation or Explanation()
    case = None if case is None else _marked(case, explanation)
    rows = _all_rows(binding, case, runs, names)
    return tuple(_explained(row, explanation) for row in rows)


def _marked(case: Case, explanation: Explanation) -> Case:
    """The case with a mark in each place among the arguments whose value does not matter."""
    marks = [(spot, MARK) for spot in explanation.free]
    marks += [(spot, LEAST_MARK) for spot in explanation.least]
    marks += [(spot, NAME_MARK) for spot in explanation.names]
    for spot, mark in marks:
        if spot.path in (AT, ON):
            continue
        place = Place(spot.step, spot.path[1:], None, None, False)
        marked = put(case, place, Marked(present(case, place), mark))
        case = case if marked is None else marked
    return case


def _explained(row: StepRow, explanation: Explanation) -> StepRow:
    step = base(row.id)
    free, least = _of_step(explanation.free, step), _of_step(explanation.least, step)
    mark = MARK if AT in free else LEAST_MARK if AT in least else ""
    return attrs.evolve(
        row,
        time=row.time + mark if row.time else row.time,
        handle=row.handle + MARK if ON in free else row.handle,
        needed=explanation.why(step),
    )


def _of_step(marked: Sequence[Spot], step: str) -> set[Path]:
    return {spot.path if spot.path[-1] != HAPPENS_AT else AT for spot in marked if spot.step == step}


def _all_rows(binding: Binding, case: Case | None, runs: Sequence[StepRun], names: Names) -> list[StepRow]:
    steps = {} if case is None else {step.id: step for step in unrolled(case.steps)}
    held = {step.frozen.id: step for step in steps.values() if isinstance(step, Frozen)}
    calls = {call.id: call for step in steps.values() for call in _calls(step)}
    rows: list[StepRow] = []
    for number, run in enumerate(runs, start=1):
        step = None if run.call == END else held.get(run.id) or steps.get(run.id)
        mark = str(number) if run.failure is None else f"{number} ✗"
        rows.extend(_rows(binding, mark, run, step, calls, names))
    return rows


def _calls(step: Plain) -> Iterator[Call]:
    match step:
        case Call():
            yield step
        case Frozen():
            yield from (each for each in (step.frozen, *step.during) if isinstance(each, Call))
        case Together():
            yield from step.calls
        case Transaction():
            yield from (*step.calls, *step.after)
        case Crash() | Misuse() if step.step is not None:
            yield from _calls(step.step)


def _rows(
    binding: Binding, n: str, run: StepRun, step: Plain | None, calls: Mapping[str, Call], names: Names
) -> Iterator[StepRow]:
    match step:
        case Together():
            seen = run.observed.value if isinstance(run.observed, Answered) else []
            for place, call in enumerate(step.calls):
                made = brief(seen[place], names) if place < len(seen) else ""
                yield _inner(binding, n, call, "at once", calls, made)
        case Frozen():
            row = _row(n, run, names, f"{step.frozen.call}, held", arguments(binding, step.frozen, calls), _time(run))
            yield row if step.point is None or not run.applicable else attrs.evolve(row, changed=run.note)
            answered = {inner.id: inner for inner in run.during}
            for each in step.during:
                inner = answered.get(each.id)
                answer = "" if inner is None else seen_text(inner.observed, inner.expected, names)
                if isinstance(each, Reopen):
                    yield StepRow(n, each.id, "", each.on, "meanwhile: opened anew", "", "", answer, "")
                else:
                    yield _inner(binding, n, each, "meanwhile", calls, answer)
        case Transaction():
            answered = {inner.id: inner for inner in run.during}
            for call in (*step.calls, *step.after):
                done = answered.get(call.id)
                answer = "" if done is None else seen_text(done.observed, done.expected, names)
                yield _inner(binding, n, call, "inside", calls, answer)
            yield _row(n, run, names, run.call, "", _time(run))
        case Call():
            yield _row(n, run, names, run.call, arguments(binding, step, calls), _time(run, binding))
        case Inject():
            record = step.record if isinstance(step.record, Mapping) else {}
            yield _row(n, run, names, "inject", f"state={written(record.get('state'))}", "")
        case Crash():
            yield from _killed(binding, n, run, step, calls, names)
        case Misuse(step=Call() as made):
            yield _row(n, run, names, f"{run.call}, {run.note}", arguments(binding, made, calls), _time(run, binding))
        case Misuse():
            yield _row(n, run, names, f"{run.call}, {run.note}", "", _time(run))
        case None if run.call == END:
            yield StepRow(n, "", "", "", "after the last step", "", "", "", "")
        case _:
            given = run.arguments if isinstance(run.arguments, Mapping) else {}
            text = ", ".join(f"{name}={shown(value, names, name, 60)}" for name, value in given.items())
            yield _row(n, run, names, run.call, text, _time(run))


def _killed(
    binding: Binding, n: str, run: StepRun, step: Crash, calls: Mapping[str, Call], names: Names
) -> Iterator[StepRow]:
    """What was being done, then where its process was killed and what was found afterwards."""
    if isinstance(step.step, Transaction):
        answered = {inner.id: inner for inner in run.during}
        for call in step.step.calls:
            done = answered.get(call.id)
            answer = "" if done is None else seen_text(done.observed, done.expected, names)
            yield _inner(binding, n, call, "inside", calls, answer)
    given = arguments(binding, step.step, calls) if isinstance(step.step, Call) else ""
    row = _row(n, run, names, f"{run.call}, {step.befalls}", given, _time(run))
    if not run.applicable:
        yield row
        return
    yield attrs.evolve(row, expected="", seen=sentence(run.note, names) if run.observed is None else row.seen)


def _row(n: str, run: StepRun, names: Names, operation: str, given: str, time: str) -> StepRow:
    if not run.applicable:
        return StepRow(n, run.id, time, run.on, operation, given, "", "not applicable", sentence(run.note, names))
    return StepRow(
        n,
        run.id,
        time,
        run.on,
        operation,
        given,
        expected_text(run.expected, names),
        seen_text(run.observed, run.expected, names),
        changes(run.changed, names),
    )


def _inner(binding: Binding, n: str, call: Call, how: str, calls: Mapping[str, Call], seen: str = "") -> StepRow:
    time = "" if call.at is None else str(call.at)
    return StepRow(n, call.id, time, call.on, f"{how}: {call.call}", arguments(binding, call, calls), "", seen, "")


def _time(run: StepRun, binding: Binding | None = None) -> str:
    """The instant of a step. An admission happens at an instant that its request holds."""
    if run.at is not None:
        return str(run.at)
    request = run.arguments.get("request") if isinstance(run.arguments, Mapping) else None
    if binding is None or request is None or run.observed is None:
        return ""
    return str(getattr(request, HAPPENS_AT, ""))


# Arguments -------------------------------------------------------------------------------------------------------


def arguments(binding: Binding, call: Call, calls: Mapping[str, Call]) -> str:
    """The arguments of a call as the case has them, with a whole fence in one word and of a request what is
    particular."""
    args = dict(call.args)
    parts: list[str] = []
    claim = _fence_of(binding, args, calls)
    if claim is not None:
        parts.append(f"fence of {claim}")
        args = {name: value for name, value in args.items() if name not in binding.fence}
    for name, value in args.items():
        if isinstance(value, Mapping) and len(value) > LARGE:
            parts.append(f"{name}={_particular(binding, call, name, value, calls)}")
        elif isinstance(value, list) and name in binding.ordinary:
            elements = (_element(binding, name, each) for each in value)
            parts.append(f"{name}=[{', '.join(elements)}]")
        elif isinstance(value, Ref) and value == Ref(value.path) and value.path.endswith(f".{name}"):
            parts.append(f"{name} of {value.step}")
        else:
            parts.append(f"{name}={written(value)}")
    return ", ".join(parts)


def _fence_of(binding: Binding, args: Mapping[str, Any], calls: Mapping[str, Call]) -> str | None:
    """The id of the claim step from which all members of a fence come, by its arguments or its answer, if any."""
    if not binding.fence or not all(name in args for name in binding.fence):
        return None
    answered = (args[name].step for name in binding.fence if isinstance(args[name], Ref))
    claim = next((calls[step] for step in answered if step in calls and "lease_ms" in calls[step].args), None)
    if claim is None:
        return None
    matches = (bare(args[name]) in (bare(claim.args.get(name)), Ref(f"{claim.id}.{name}")) for name in binding.fence)
    return claim.id if all(matches) else None


def _particular(binding: Binding, call: Call, name: str, value: Mapping[str, Any], calls: Mapping[str, Call]) -> str:
    """A large object beside the first of its kind in the case, and that one beside an ordinary one."""
    first = next(each for each in calls.values() if each.call == call.call)
    before = first.args.get(name)
    if first.id == call.id or not isinstance(before, Mapping):
        usual = {**binding.ordinary.get(name, {}), HAPPENS_AT: value.get(HAPPENS_AT)}
        return f"{ORDINARY}({', '.join(_differing('', usual, value))})"
    found = ", ".join(_differing("", before, value))
    return f"as {first.id}({found})" if found else f"as {first.id}"


def _element(binding: Binding, name: str, value: Any) -> str:
    """One element of a large list, by what is particular in it; what a case leaves out has its omitted value."""
    if not isinstance(value, Mapping):
        return written(value)
    whole = {**binding.omitted.get(name, {}), **value}
    return f"{ORDINARY}({', '.join(_differing('', binding.ordinary[name], whole))})"


def _differing(path: str, before: Mapping[str, Any], value: Mapping[str, Any]) -> Iterator[str]:
    for name in dict.fromkeys((*before, *value)):
        inner = f"{path}.{name}" if path else name
        earlier, found = before.get(name), value.get(name)
        if bare(earlier) == bare(found) and type(bare(earlier)) is type(bare(found)):
            continue
        if isinstance(earlier, Mapping) and isinstance(found, Mapping):
            yield from _differing(inner, earlier, found)
        elif name not in value:
            yield f"no {inner}"
        else:
            yield f"{inner}={written(found)}"
