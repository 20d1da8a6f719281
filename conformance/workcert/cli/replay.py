"""``workcert replay``: one case on one backend, step by step."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import attrs
from attrs import define, field, frozen

from workcert.backends.registry import LoadedBackend, find
from workcert.binding import Binding, bindings
from workcert.cases.library import SUFFIX, builtin_names, load_case
from workcert.cases.model import Case, Plain, every_step, unrolled
from workcert.cli.arguments import add_backend, meant
from workcert.cli.complaint import ReadableError, readable
from workcert.cli.output import plural, width
from workcert.codec import to_json
from workcert.explaining.dropping import same_failure
from workcert.explaining.explain import explain
from workcert.explaining.model import Explanation
from workcert.judge.verdict import END, StepRun
from workcert.report import failure_of
from workcert.report.failure_text import difference_table, kind_text, need_table, step_table
from workcert.report.notation import shown
from workcert.report.opaque import Names, names
from workcert.report.steps import LEAST_NOTE, MARK_NOTE, NAME_NOTE, step_rows
from workcert.run.case import CaseRun, run_case
from workcert.run.events import CaseEnded, Verdict
from workcert.run.execution import Execution
from workcert.run.store import StoreUnderTest
from workcert.shrink.loosening import bare
from workspec.core.contract import digest
from workspec.core.record import State

PASSED: Final = 0
FAILED: Final = 1
COULD_NOT_RUN: Final = 2
BISECT_SKIP: Final = 125
"""What ``git bisect run`` takes as: this commit cannot be tested."""


def add(subparsers: Any) -> None:
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "replay",
        help="run one case, step by step",
        description="Run one case on one backend and print its steps. Exit code: 0 it passes, 1 it fails, "
        "2 it could not run or shows nothing here.",
    )
    parser.add_argument("case", metavar="CASE", help=f"a file ending in {SUFFIX}, or a name of 'workcert list cases'")
    add_backend(parser)
    parser.add_argument("--show-state", action="store_true", help="print the expected records after each step")
    parser.add_argument("--stop-before", metavar="ID", help="run the steps before this one and print the records")
    parser.add_argument(
        "--explain",
        action="store_true",
        help="mark the values that do not matter to a failure, and say why steps are needed",
    )
    parser.add_argument("--bisect", action="store_true", help="for 'git bisect run': exit code 125 instead of 2")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    unable = BISECT_SKIP if args.bisect else COULD_NOT_RUN
    try:
        with readable(args.backend):
            return _replay(args, unable)
    except ReadableError as error:
        if not args.bisect:
            raise
        print(f"workcert: {error}")
        return unable


@frozen
class Watched:
    """One step as it ran, with the model's state after it."""

    step: Plain
    run: StepRun
    state: State


@define
class Recorder:
    """Keeps the steps of the run that is going on; each variant of a case begins anew."""

    steps: list[Watched] = field(factory=list)
    _of: Execution | None = None

    def __call__(self, execution: Execution, step: Plain, run: StepRun) -> None:
        if execution is not self._of:
            self._of = execution
            self.steps.clear()
        self.steps.append(Watched(step, run, execution.judge.state))


def _replay(args: argparse.Namespace, unable: int) -> int:
    case = _case(args.case)
    backend = _backend(args.backend, case)
    if not case.steps:
        raise ReadableError(f"{args.case} has no steps, so it shows nothing")
    _check_requirements(args.case, case, backend.binding)
    wanted = case if args.stop_before is None else _before(case, args.stop_before)
    recorder = Recorder()
    with StoreUnderTest.of(backend) as store:
        ran = run_case(store, wanted, watch=recorder)
        steps = list(recorder.steps)
        found = _explanation(store, wanted, ran) if args.explain else None
    print(f"{case.header.name}: {case.header.title}")
    _note_on_digest(case, backend.binding)
    print()
    renamed = _names(steps, case, backend.binding)
    if steps:
        print(whole_table(steps, case, backend.binding, renamed, found))
    if args.show_state:
        print(_states(steps, backend.binding, renamed))
    if args.stop_before is not None and ran.verdict is Verdict.PASSED:
        state = steps[-1].state if steps else {}
        print(f"\nThe expected records before {args.stop_before}:\n{_records(state, backend.binding, renamed)}")
    return _verdict(ran, steps, case, backend, unable)


def _explanation(store: StoreUnderTest, case: Case, ran: CaseRun) -> Explanation | None:
    """Of a case that fails; one that nobody shrunk may take the whole budget. What a case expects literally would
    fail first as soon as a value is another, so that the model alone judges, where it finds the failure too."""
    if ran.failure is None:
        return None
    plain = bare(case)
    again = run_case(store, plain)
    if same_failure(ran, again):
        case, ran = plain, again
    return explain(lambda each: run_case(store, each), case, ran, store.backend.binding.ordinary)


def _names(steps: list[Watched], case: Case, binding: Binding) -> Names:
    """Names for ids, which are hashes or random in most stores: nobody compares those by eye."""
    records = [binding.present(record) for each in steps for key, record in each.state.items() if binding.legible(key)]
    return names([*(each.run.observed for each in steps), *records], [case.header, *case.steps])


def _case(name: str) -> Case:
    if not name.strip():
        raise ReadableError("no case is named; see 'workcert list cases', or give the path of a file")
    if not name.endswith(SUFFIX) and not Path(name).exists():
        known = [case for contract in bindings() for case in builtin_names(contract)]
        if name not in known:
            # A name without its contract is what one types from memory.
            whole = [case for case in known if case.partition("/")[2] == name]
            if len(whole) == 1:
                return load_case(whole[0])
            raise ReadableError(
                f"no case is called {name!r}.{meant(name, known)} See 'workcert list cases', or give the path of a "
                f"file ending in {SUFFIX}"
            )
        return load_case(name)
    return load_case(Path(name))


def _backend(spec: str, case: Case) -> LoadedBackend:
    found = find(spec)
    for backend in found:
        if backend.binding.name == case.header.contract:
            return backend
    served = ", ".join(backend.binding.name for backend in found) or "none"
    raise ReadableError(
        f"the case is of the contract {case.header.contract}, and {spec} serves {served}; name another backend"
    )


def _before(case: Case, identifier: str) -> Case:
    """The steps before the one of this id, or before the one that holds it."""
    kept: list[Plain] = []
    for step in unrolled(case.steps):
        if identifier in {inner.id for inner in every_step((step,))}:
            return attrs.evolve(case, steps=tuple(kept))
        kept.append(step)
    known = ", ".join(step.id for step in kept)
    raise ReadableError(f"the case has no step {identifier!r}; it has: {known}")


def _note_on_digest(case: Case, binding: Binding) -> None:
    made_under = case.header.digest
    if made_under is not None and made_under != digest(binding.contract):
        print(
            f"Note: the case was made under another text of the specification ({made_under}; this is "
            f"{digest(binding.contract)}). It is judged by this one."
        )


def _check_requirements(name: str, case: Case, binding: Binding) -> None:
    known = [requirement.id for requirement in binding.contract.catalogue]
    for identifier in case.header.requirements:
        if identifier not in known:
            raise ReadableError(
                f"{name}: its header names {identifier}, which is no requirement of {binding.name}."
                f"{meant(identifier, known)} See 'workcert list requirements'"
            )


# The table -------------------------------------------------------------------------------------------------------


def whole_table(
    steps: list[Watched], case: Case, binding: Binding, renamed: Names, found: Explanation | None = None
) -> str:
    """The steps with what was expected, seen and changed; steps of one block share a number. Below them what an
    explanation says of them."""
    as_run = attrs.evolve(case, steps=tuple(each.step for each in steps))
    rows = step_rows(binding, as_run, [each.run for each in steps], renamed, found)
    parts = [step_table(rows, width())]
    if found is not None:
        told = ((MARK_NOTE, found.free), (LEAST_NOTE, found.least), (NAME_NOTE, found.names))
        notes = [note for note, spots in told if spots]
        parts += ["\n".join(notes)] if notes else []
        parts += [need_table(rows, width())] if found.needed else []
        parts += [] if found.finished else ["The budget ended the search: what is not marked may not have been tried."]
    return "\n\n".join(parts)


# Records ---------------------------------------------------------------------------------------------------------


def _states(steps: list[Watched], binding: Binding, renamed: Names) -> str:
    lines: list[str] = []
    before: State = {}
    for number, each in enumerate(steps, start=1):
        changed = {key: record for key, record in each.state.items() if before.get(key) is not record}
        lines.append(f"\nThe expected records after {number} ({each.run.id} {each.run.call}):")
        lines.append(_records(changed, binding, renamed) if changed else "  as before")
        before = each.state
    return "\n".join(lines)


def _records(state: State, binding: Binding, renamed: Names) -> str:
    if not state:
        return "  none"
    presented = (to_json(binding.present(record)) for key, record in state.items() if binding.legible(key))
    return "\n".join(_record(members, renamed) for members in presented)


def _record(members: Mapping[str, Any], renamed: Names) -> str:
    """Every member that says something, one a line, an array of objects with one element a line."""
    lines = []
    for name, value in members.items():
        if value is None or value in ([], {}):
            continue
        if isinstance(value, list) and isinstance(value[0], dict):
            lines.append(f"  {name}:")
            lines.extend(f"    {shown({k: v for k, v in each.items() if v is not None}, renamed)}" for each in value)
        else:
            lines.append(f"  {name}: {shown(value, renamed, name)}")
    return "\n".join(lines)


# The verdict -----------------------------------------------------------------------------------------------------


def _failed(ran: CaseRun, case: Case, binding: Binding) -> str:
    last = ran.steps[-1]
    ended = CaseEnded("replay", case.header.name, Verdict.FAILED, case, failure=ran.failure, steps=ran.steps)
    failure = failure_of(binding, ended)
    where = "at the end, when every record is read" if last.call == END else f"at step {last.id}"
    lines = [f"FAILED {where}: {failure.requirement}", f"  {failure.requirement_text}"]
    lines.append(f"{kind_text(failure.kind)}: {failure.text}")
    if failure.also:
        lines.append(f"Also took part: {', '.join(failure.also)}")
    if failure.differences:
        lines += ["", difference_table(failure, width())]
    return "\n".join(lines)


def _verdict(ran: CaseRun, steps: list[Watched], case: Case, backend: LoadedBackend, unable: int) -> int:
    print()
    if ran.verdict is Verdict.SKIPPED:
        print(f"skipped: {ran.reason}. The case shows nothing about {backend.name}")
        return unable
    if ran.verdict is Verdict.UNKNOWN:
        hint = ". The store may be deadlocked; a timeout is no verdict" if ran.hung else ""
        print(f"unknown: {ran.reason}{hint}")
        return unable
    if ran.failure is not None:
        print(_failed(ran, case, backend.binding))
        return FAILED
    left_out = [each.run for each in steps if not each.run.applicable]
    if left_out and not steps[-1].run.applicable:
        print(f"not applicable: the last step could not be made ({left_out[-1].note}), so the case shows nothing here")
        return unable
    rest = f"; {plural(len(left_out), 'step')} not applicable" if left_out else ""
    print(f"passed: {plural(len(steps), 'step')}{rest}")
    return PASSED
