"""What the suites share: the store of this process, and a verdict as an outcome of pytest."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TypeAlias

import pytest

from workcert.backends.registry import LoadedBackend
from workcert.cases.model import Case
from workcert.cli.complaint import ReadableError, readable
from workcert.cli.kept import KEPT, keep_cases
from workcert.plugin import wanted
from workcert.report import failure_text
from workcert.report.failures import failures_of
from workcert.run.case import run_case
from workcert.run.engine import Options, emit_case
from workcert.run.events import CaseEnded, Emit, Event, Verdict
from workcert.run.store import StoreUnderTest

Generating: TypeAlias = "Callable[[StoreUnderTest, Options, Emit], object]"
"""A suite that makes its own steps, from a store, options and a place for its events."""


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A suite that is not wanted is not collected, so that nothing is reported as skipped without a reason."""
    suite = collection_path.stem.removeprefix("test_")
    return True if collection_path.name.startswith("test_") and not wanted(config, suite) else None


@pytest.fixture(scope="session")
def workcert_store(request: pytest.FixtureRequest) -> Iterator[StoreUnderTest]:
    """A store of this process; parametrised with the backend of one contract."""
    backend: LoadedBackend = request.param
    with StoreUnderTest.of(backend) as store:
        yield store


@pytest.fixture
def workcert_verdict(
    workcert_store: StoreUnderTest, request: pytest.FixtureRequest
) -> Callable[[Sequence[CaseEnded]], None]:
    """Ends the test as cases ended: failed, skipped with the reason, or passed."""
    spec = request.config.getoption("workcert_backend")
    # A directory for each test: names count from 1 in each, and tests may run side by side.
    directory = KEPT / re.sub(r"[^\w.-]+", "-", request.node.name).strip("-")

    def end(ended: Sequence[CaseEnded]) -> None:
        failures = failures_of(workcert_store.backend.binding, ended)
        if failures:
            saved = keep_cases(failures, directory) == ""
            texts = [failure_text(failure, spec, directory=directory if saved else None) for failure in failures]
            pytest.fail("\n\n".join(texts), pytrace=False)
        for case in ended:
            if case.verdict is Verdict.UNKNOWN:
                # No verdict on a requirement, and no success of the run either.
                pytest.fail(f"unknown: {case.reason}. A timeout is no verdict", pytrace=False)
        # A test of many cases is not skipped for one of them; what was left out is said all the same.
        skipped = [case.reason for case in ended if case.verdict is Verdict.SKIPPED]
        if skipped and len(skipped) == len(ended):
            pytest.skip("; ".join(dict.fromkeys(skipped)))
        for reason in dict.fromkeys(skipped):
            warnings.warn(f"left out: {reason} ({skipped.count(reason)})", pytest.PytestWarning, stacklevel=2)

    return end


@pytest.fixture
def workcert_guard(workcert_store: StoreUnderTest) -> Callable[[], AbstractContextManager[None]]:
    """Fails the test in a sentence when the backend cannot be used."""

    @contextmanager
    def guarded() -> Iterator[None]:
        fault = ""
        try:
            with readable(workcert_store.backend.name):
                yield
        except ReadableError as error:
            fault = str(error)
        # Outside of the handler, else pytest prints what was handled too.
        if fault:
            pytest.fail(f"could not run: {fault}", pytrace=False)

    return guarded


@pytest.fixture
def workcert_case(
    workcert_store: StoreUnderTest,
    workcert_guard: Callable[[], AbstractContextManager[None]],
    workcert_verdict: Callable[[Sequence[CaseEnded]], None],
) -> Callable[[str, Case], None]:
    """Runs one case of a suite, and ends the test as it ended."""

    def run(suite: str, case: Case) -> None:
        ended: list[CaseEnded] = []
        with workcert_guard():
            emit_case(workcert_store, suite, case, run_case(workcert_store, case), _ends_in(ended))
        workcert_verdict(ended)

    return run


@pytest.fixture
def workcert_generated(
    workcert_store: StoreUnderTest,
    workcert_guard: Callable[[], AbstractContextManager[None]],
    workcert_verdict: Callable[[Sequence[CaseEnded]], None],
) -> Callable[[Generating, Options], None]:
    """Runs a suite that makes its own steps, and ends the test as it ended."""

    def run(suite: Generating, options: Options) -> None:
        ended: list[CaseEnded] = []
        with workcert_guard():
            suite(workcert_store, options, _ends_in(ended))
        workcert_verdict(ended)

    return run


def _ends_in(ended: list[CaseEnded]) -> Emit:
    """Keeps the ends of cases; the steps of a long run are not kept."""

    def emit(event: Event) -> None:
        if isinstance(event, CaseEnded):
            ended.append(event)

    return emit
