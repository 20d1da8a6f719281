"""``workcert certify``: the suites over one backend, and what they say of it."""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from attrs import evolve
from hypothesis.configuration import set_hypothesis_home_dir

from workcert.backends.registry import BackendError, LoadedBackend, find
from workcert.cli.arguments import (
    add_backend,
    add_contract,
    count,
    directory,
    meant,
    natural,
    of_contract,
    selections,
    words,
)
from workcert.cli.complaint import ReadableError, adapter_text, raised_by_adapter
from workcert.cli.kept import KEPT, keep_cases, kept_failures
from workcert.cli.output import plural, width
from workcert.report import (
    BROKE_OFF,
    Collector,
    ContractReport,
    Progress,
    ReportError,
    build,
    exit_code,
    failure_text,
    further_text,
    groups,
    look_alike_text,
    of_an_older_run,
    of_one_cause,
    summary_text,
    timings,
    verdict_line,
    write_reports,
)
from workcert.run.case import NO_METHOD
from workcert.run.engine import SUITES, Effort, Options, run_suites
from workcert.run.events import CaseEnded, Event, Verdict

INTERRUPTED: Final = "interrupted"
MOST_WHOLE: Final = 10
"""Causes of which a failure is printed with its table: a store may have many faults."""


def add(subparsers: Any) -> None:
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "certify",
        help="certify a store",
        description="Run the suites on a backend and say what holds. Exit code: 0 conformant, or passed in part; "
        "1 not conformant, incomplete or failed, even if the run broke off afterwards; 2 could not run. A run "
        "narrowed by --suite, --contract or --only makes no certificate.",
    )
    add_backend(parser)
    add_contract(parser)
    parser.add_argument(
        "--suite", metavar="S", action="append", help=f"only this suite ({', '.join(SUITES)}); may be repeated"
    )
    parser.add_argument(
        "--effort", choices=[effort.value for effort in Effort], default=Effort.CI.value, help="default: ci"
    )
    parser.add_argument(
        "--examples", metavar="N", type=count, help="how many examples and walks, instead of the effort's counts"
    )
    parser.add_argument(
        "--only",
        metavar="ID",
        action="append",
        help="only these requirements: ids, families (WRK-CLM) or their names (claim), with commas between",
    )
    parser.add_argument("--seed", metavar="N", type=natural, default=0, help="default: 0")
    parser.add_argument("--out", metavar="DIR", type=directory, help="write the report and all failing cases there")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    served = find(args.backend)
    backends = of_contract(served, args.backend, args.contract)
    options = Options(
        suites=_suites(args.suite),
        effort=Effort(args.effort),
        examples=args.examples,
        only=tuple(word for text in args.only or () for word in words(text)),
        seed=args.seed,
        one_of_several=len(backends) < len(served),
    )
    if args.only and not options.only:
        raise ReadableError("--only names nothing; leave it out to run everything, or see 'workcert list requirements'")
    concerned = selections(backends, options.only)
    if args.out is not None:
        _check_writable(args.out)
    collectors: dict[str, Collector] = {}
    reports: list[ContractReport] = []
    for backend, only in concerned:
        reports.append(_certified(backend, evolve(options, only=only), collectors))
        if _interrupted(reports[-1]):
            break
    reports, kept = _saved(reports, collectors, args.out)
    for (backend, _), report in zip(concerned, reports, strict=False):
        if len(concerned) > 1:
            print(f"{report.contract}\n{'=' * len(report.contract)}")
        _print(report, backend, collectors[report.contract], args.backend, kept)
    if args.out is not None:
        print(f"The report is in {args.out}")
        for path in of_an_older_run(reports, args.out):
            print(f"Note: {path} is of an older run")
    for report in reports:
        print(verdict_line(report))
    if _interrupted(reports[-1]):
        raise KeyboardInterrupt
    for report in reports:
        if report.broke_off:
            print(f"workcert: {report.contract}: {BROKE_OFF}{report.reason.removeprefix(BROKE_OFF)}", file=sys.stderr)
    return exit_code(*reports)


def _interrupted(report: ContractReport) -> bool:
    return report.broke_off and report.reason.removeprefix(BROKE_OFF) == INTERRUPTED


def _saved(
    reports: list[ContractReport], collectors: dict[str, Collector], out: Path | None
) -> tuple[list[ContractReport], Path | None]:
    """The reports as they were written, and where their cases are, None when they could not be saved.

    Raises:
        ReadableError: the directory that was asked for cannot be written.
    """
    if out is not None:
        try:
            write_reports(reports, timings(collectors), out)
        except ReportError as error:
            raise ReadableError(str(error)) from error
        return reports, out
    named = [evolve(report, failures=kept_failures(report.failures)) for report in reports]
    trouble = keep_cases(failure for report in named for failure in report.failures)
    if trouble:
        print(f"{trouble}. Name a directory with --out", file=sys.stderr)
    return named, None if trouble else KEPT


# What is asked for -----------------------------------------------------------------------------------------------


def _suites(given: list[str] | None) -> tuple[str, ...]:
    asked = [word for text in given or () for word in words(text)]
    if given and not asked:
        raise ReadableError(f"--suite names nothing; leave it out to run all of {', '.join(SUITES)}")
    for name in asked:
        if name not in SUITES:
            raise ReadableError(f"there is no suite {name!r}.{meant(name, SUITES)} There are: {', '.join(SUITES)}")
    return tuple(suite for suite in SUITES if not asked or suite in asked)


def _check_writable(out: Path) -> None:
    """Before a long run, not after it."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out):
            pass
    except OSError as error:
        raise ReadableError(
            f"no report can be written to {out}: {error.strerror or error}. Name a directory of your own with --out"
        ) from error


# The run ---------------------------------------------------------------------------------------------------------


def _certified(backend: LoadedBackend, options: Options, collectors: dict[str, Collector]) -> ContractReport:
    collector = collectors[backend.binding.name] = Collector()
    error = ""
    with Progress() as progress, interruptible() as check, nothing_left_behind():

        def emit(event: Event) -> None:
            check()
            collector(event)
            progress(event)

        try:
            run_suites(backend, options, emit)
        except KeyboardInterrupt:
            # What has been found so far is said all the same.
            error = INTERRUPTED
        except SystemExit as fault:
            # Wherever an adapter ends the process: its code must not pass for a verdict.
            error = f"{backend.name} raised SystemExit({fault.code}) outside of a judged call. Mend the adapter"
        except BackendError as fault:
            error = str(fault)
        except Exception as fault:
            place = raised_by_adapter(fault)
            if place is None:
                raise
            error = adapter_text(backend.name, fault, place)
    return build(backend, options, collector, error)


@contextmanager
def nothing_left_behind() -> Iterator[None]:
    """Hypothesis keeps data of its own, by default in the present directory."""
    with tempfile.TemporaryDirectory(prefix="workcert-") as directory:
        set_hypothesis_home_dir(directory)
        try:
            yield
        finally:
            set_hypothesis_home_dir(None)


@contextmanager
def interruptible() -> Iterator[Callable[[], None]]:
    """Gives a function that raises KeyboardInterrupt once Ctrl-C was pressed. Python drops the exception where it
    falls into a callback of the garbage collector, and Hypothesis has one: the next event then ends the run."""
    if threading.current_thread() is not threading.main_thread():
        yield lambda: None
        return
    pressed = False

    def note(_number: int, _frame: object) -> None:
        nonlocal pressed
        pressed = True
        raise KeyboardInterrupt

    def check() -> None:
        if pressed:
            raise KeyboardInterrupt

    def unraisable(lost: sys.UnraisableHookArgs) -> None:
        # Said once, at the next event; here it would only be noise.
        if not isinstance(lost.exc_value, KeyboardInterrupt):
            sys.__unraisablehook__(lost)

    before, hook = signal.signal(signal.SIGINT, note), sys.unraisablehook
    sys.unraisablehook = unraisable
    try:
        yield check
    finally:
        signal.signal(signal.SIGINT, before)
        sys.unraisablehook = hook


# What is printed -------------------------------------------------------------------------------------------------


def _print(report: ContractReport, backend: LoadedBackend, collector: Collector, spec: str, kept: Path | None) -> None:
    """The summary but for its last line, which stands at the end of everything; what was left out; the failures."""
    if not collector.ended:
        return
    print(summary_text(report).removesuffix(verdict_line(report)).rstrip("\n"))
    print()
    for line in _left_out(report, backend, collector, spec):
        print(line)
    for text in failure_texts(report, spec, kept):
        print(f"{text}\n")
    for alike in report.looks_like:
        print(look_alike_text(alike))
    if report.looks_like:
        print()


def failure_texts(report: ContractReport, spec: str, kept: Path | None) -> Iterator[str]:
    """The failures by their cause: one of each whole, as far as `MOST_WHOLE` goes, and the others named."""
    found = groups(report.failures)
    for group in found[:MOST_WHOLE]:
        yield failure_text(group.lead, spec, directory=kept, width=width())
        if group.others:
            yield "\n".join([of_one_cause(group.others), *further_text(group.others, spec, kept)])
    left = [failure for group in found[MOST_WHOLE:] for failure in (group.lead, *group.others)]
    if left:
        causes = plural(len(found) - MOST_WHOLE, "further cause")
        yield "\n".join([f"{plural(len(left), 'failure')} of {causes}:", *further_text(left, spec, kept)])


def _left_out(report: ContractReport, backend: LoadedBackend, collector: Collector, spec: str) -> list[str]:
    """Why cases were skipped: missing methods in one line, every other reason in one of its own."""
    skipped = Counter(e.reason for e in collector.ended if e.verdict is Verdict.SKIPPED)
    missing = {reason: times for reason, times in skipped.items() if reason.startswith(NO_METHOD)}
    lines = []
    if missing:
        named = {name for reason in missing for name in reason.removeprefix(NO_METHOD).split(", ")}
        methods = ", ".join(name for name in backend.binding.calls.calls if name in named)
        lines.append(
            f"Not claimed, for the store has no such method: {methods} "
            f"({plural(sum(missing.values()), 'case')} skipped)"
        )
    lines += [
        f"Skipped: {reason} ({plural(times, 'case')})"
        for reason, times in skipped.most_common()
        if reason not in missing
    ]
    for ended in collector.ended:
        if ended.verdict is Verdict.UNKNOWN:
            lines += _no_verdict(report, ended, spec)
    return [*lines, ""] if lines else []


def _no_verdict(report: ContractReport, ended: CaseEnded, spec: str) -> list[str]:
    """What gave no verdict, why, and the command that shows it again."""
    again = f"workcert replay {ended.name} {spec}"
    if ended.case is None:
        # A walk or an example has no name; its seed makes it again.
        run = f"--suite {ended.suite} --effort {report.effort} --seed {report.seed}"
        again = f"workcert certify {spec} --contract {report.contract} {run}"
    hint = ". The store may be deadlocked; a timeout is no verdict" if ended.hung else ""
    return [f"No verdict: {ended.name}: {ended.reason}{hint}", f"  {again}"]
