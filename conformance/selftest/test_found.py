"""What the kit has found in the stores of this project: each case failed before the store was mended."""

from __future__ import annotations

from pathlib import Path

import pytest

from workcert.backends.registry import find
from workcert.cases import parse
from workcert.children import cannot_fail
from workcert.run.case import run_case
from workcert.run.events import Verdict
from workcert.run.store import StoreUnderTest

FOUND = sorted((Path(__file__).parent / "found").glob("*.jsonl"))


@pytest.mark.skipif(bool(cannot_fail()), reason=cannot_fail())
@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.stem)
def test_what_was_found_in_the_sqlite_store_stays_mended(path: Path) -> None:
    case = parse(path.read_text())
    (backend,) = (each for each in find("sqlite") if each.binding.name == case.header.contract)
    with StoreUnderTest.of(backend) as store:
        ran = run_case(store, case)
    assert ran.verdict is Verdict.PASSED, ran.failure or ran.reason
