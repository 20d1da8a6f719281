"""The pytest plugin: the options of the suites, and what a suite module asks of a session.

Every pytest run in an environment that has the kit loads this module, so it imports nothing of the kit by itself,
and all that it adds is named ``workcert``. The suites are collected by ``pytest --pyargs workcert.suites``.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from workcert.backends.registry import LoadedBackend
    from workcert.run.engine import Options

SUITES: Final = ("scenarios", "tour", "walk", "stateful", "adversity")
EFFORTS: Final = ("quick", "ci", "deep")
"""Written out for the help text; a test holds both equal to the engine's."""

OPTIONS: Final[dict[str, dict[str, Any]]] = {
    "backend": {
        "default": "sqlite",
        "metavar": "BACKEND",
        "help": "the store under test: a name, module:ATTRIBUTE or adapter.py:ATTRIBUTE (default: sqlite)",
    },
    "contract": {"default": None, "metavar": "NAME", "help": "only this contract of the backend"},
    "suite": {
        "default": None,
        "action": "append",
        "choices": SUITES,
        "help": "only this suite; may be given more than once",
    },
    "effort": {
        "default": "ci",
        "choices": EFFORTS,
        "help": "how much the generating suites try (default: ci)",
    },
    "examples": {
        "default": None,
        "metavar": "N",
        "help": "how many examples and walks, instead of the effort's counts",
    },
    "seed": {"default": 0, "metavar": "N", "help": "the seed of the generating suites (default: 0)"},
    "only": {
        "default": None,
        "action": "append",
        "metavar": "ID",
        "help": "only these requirements: ids, families (WRK-CLM) or their names (claim), with commas between",
    },
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--workcert-backend`` and its like. Short names would take options that a project may have of its own."""
    add_options(parser.getgroup("workcert", "certification of durable work stores"), "--workcert-")


def add_options(group: Any, prefix: str, *, alias: bool = False) -> None:
    """Add all options under names with this prefix. An alias leaves the default to the long name."""
    types: dict[str, Callable[[str], int]] = {"examples": _from(1), "seed": _from(0)}
    for name, described in OPTIONS.items():
        more: dict[str, Any] = {"type": types[name]} if name in types else {}
        if alias:
            more |= {"default": argparse.SUPPRESS, "help": f"short for --workcert-{name}"}
        group.addoption(f"{prefix}{name}", dest=f"workcert_{name}", **{**described, **more})


def _from(least: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        if not text.isascii() or not text.isdigit() or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text!r} is no integer from {least} up")
        return int(text)

    return number


# What the suites ask ---------------------------------------------------------------------------------------------


def asked(config: pytest.Config) -> tuple[tuple[LoadedBackend, Options], ...]:
    """The backend of this session, once for each contract that is asked for, with the engine's options. It is looked
    for once in a process.

    Raises:
        pytest.Collector.CollectError: it cannot be used, or nothing is selected; the text says why.
    """
    found = config.stash.get(_ASKED, None)
    if found is None:
        found = config.stash[_ASKED] = _asked(config)
    return found


def wanted(config: pytest.Config, suite: str) -> bool:
    """Whether a suite is to run at all."""
    chosen = config.getoption("workcert_suite")
    return not chosen or suite in chosen


_ASKED: Final = pytest.StashKey["tuple[tuple[LoadedBackend, Options], ...]"]()


def _asked(config: pytest.Config) -> tuple[tuple[LoadedBackend, Options], ...]:
    from workcert.backends.registry import find
    from workcert.cli.arguments import of_contract, selections, words
    from workcert.cli.complaint import ReadableError, readable
    from workcert.run.engine import Effort, Options

    spec = config.getoption("workcert_backend")
    only = tuple(word for text in config.getoption("workcert_only") or () for word in words(text))
    try:
        with readable():
            served = of_contract(find(_of_worker(spec)), spec, config.getoption("workcert_contract"))
            concerned = selections(served, only)
    except ReadableError as error:
        raise pytest.Collector.CollectError(f"workcert: {error}") from None
    return tuple(
        (
            backend,
            Options(
                suites=tuple(config.getoption("workcert_suite") or SUITES),
                effort=Effort(config.getoption("workcert_effort")),
                examples=config.getoption("workcert_examples"),
                only=patterns,
                seed=config.getoption("workcert_seed"),
            ),
        )
        for backend, patterns in concerned
    )


def _of_worker(spec: str) -> str:
    """A place that a user names has to hold the stores of every process of a parallel run."""
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker is None or "://" not in spec:
        return spec
    target, _, place = spec.partition("://")
    return f"{target}://{place}/{os.path.basename(os.path.normpath(place))}-{worker}"
