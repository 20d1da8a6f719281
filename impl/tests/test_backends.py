"""The adapters through which the certification kit opens the stores."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen

import workstore.memory
from workspec.workload.ports import MigratingStore, WorkloadStore
from workstore.backends import MEMORY as IN_MEMORY
from workstore.backends import SQLITE as ON_SQLITE

MEMORY, MEMORY_JOBS = IN_MEMORY
SQLITE, SQLITE_JOBS = ON_SQLITE

BOTH = pytest.mark.parametrize("backend", [MEMORY, SQLITE], ids=["memory", "sqlite"])


@frozen
class Spot:
    """A place as the kit gives it."""

    path: Path
    name: str


@pytest.fixture
def place(tmp_path: Path) -> Spot:
    return Spot(tmp_path, "here")


def test_claims() -> None:
    shared = {"CORE", "WRITERS", "DEPENDENCIES", "SECRETS", "LEGACY", "MIGRATION"}
    assert (MEMORY.contract, SQLITE.contract) == ("workload", "workload")
    assert MEMORY.profiles == shared
    assert SQLITE.profiles == shared | {"DURABLE"}
    assert MEMORY.abilities == {"second_handle", "reset", "inject", "snapshot", "pause"}
    assert SQLITE.abilities == MEMORY.abilities | {"restart", "kill"}
    assert MEMORY.choices == SQLITE.choices == {}


@BOTH
def test_handles_have_the_port_and_the_abilities(backend: Any, place: Spot) -> None:
    handle = backend.open(place, {})
    for port in (WorkloadStore, MigratingStore):
        assert isinstance(handle, port)
    for method in ("reset", "inject", "snapshot", "pause", "close"):
        assert callable(getattr(handle, method)), method
    handle.close()


@BOTH
def test_handles_on_one_place_share_rows(backend: Any, place: Spot, asking: Any) -> None:
    first, second = backend.open(place, {}), backend.open(place, {})
    assert first.admit(request=asking()).created
    assert not second.admit(request=asking()).created
    first.close()
    assert len(second.snapshot()) == 1
    second.close()


@BOTH
def test_places_are_apart(backend: Any, tmp_path: Path, asking: Any) -> None:
    handles = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        handles.append(backend.open(Spot(tmp_path / name, name), {}))
    assert all(handle.admit(request=asking()).created for handle in handles)
    for handle in handles:
        handle.close()


def test_memory_forgets_with_the_last_handle(place: Spot, asking: Any) -> None:
    first, second = MEMORY.open(place, {}), MEMORY.open(place, {})
    first.admit(request=asking())
    first.close()
    first.close()
    third = MEMORY.open(place, {})
    assert len(third.snapshot()) == 1
    second.close()
    third.close()
    assert MEMORY.open(place, {}).snapshot() == {}


def test_sqlite_remembers(place: Spot, asking: Any) -> None:
    handle = SQLITE.open(place, {})
    handle.admit(request=asking())
    handle.close()
    assert (place.path / "workload.db").exists()
    again = SQLITE.open(place, {})
    assert not again.admit(request=asking(created_at=99)).created
    again.close()


@BOTH
def test_unknown_configuration_is_named(backend: Any, place: Spot) -> None:
    with pytest.raises(ValueError, match=r"colour, size"):
        backend.open(place, {"size": 1, "colour": "red"})


def test_memory_needs_neither_sqlite_nor_the_kit() -> None:
    program = (
        "import sys, workstore.backends; "
        "roots = ('workstore.sqlite', 'sqlite3', 'workcert'); "
        "print([name for name in sys.modules if name.startswith(roots)])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_memory_store_uses_vocabulary_and_ports_alone() -> None:
    """Its logic is its own, else certifying it would prove nothing."""
    folder = Path(workstore.memory.__file__).parent
    imported: set[str] = set()
    for source in folder.glob("*.py"):
        for node in ast.walk(ast.parse(source.read_text())):
            if isinstance(node, ast.Import):
                imported |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                imported.add(node.module or "")
    ours = {name for name in imported if name.split(".")[0] in ("workspec", "workcert", "workstore")}
    allowed = {"workspec.workload.vocabulary", "workspec.workload.ports"}
    assert {name for name in ours if not name.startswith("workstore.memory")} <= allowed
