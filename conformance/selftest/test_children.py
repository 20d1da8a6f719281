"""Processes of their own: they answer as a handle here does, end where they should, and outlive nothing."""

from __future__ import annotations

import os
import pickle
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import attrs
import pytest

from workcert.backends.protocol import Place
from workcert.backends.registry import LoadedBackend, find
from workcert.children import Children, ChildTrouble, Died, cannot
from workcert.children.recipe import recipe_of
from workcert.run import calling
from workcert.run.calling import Answered, CallHung, Crashed, Refusal, Unavailable
from workspec.core.choice import UNSEEN

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes of its own need a system with fork")

ADAPTER = """
import os, sqlite3, time
from workspec.workload.vocabulary import StoreUnavailable, WorkloadError, ErrorCode
from workspec.core.choice import UNSEEN

class Handle:
    def get(self, *, workload_id, fresh=True):
        if workload_id == "hang":
            time.sleep(60)
        if workload_id == "exit":
            os._exit(3)
        if workload_id == "raise":
            raise ZeroDivisionError("none left")
        if workload_id == "refuse":
            raise WorkloadError(ErrorCode.NOT_FOUND, {"shown": UNSEEN})
        if workload_id == "function":
            return lambda: None
        return os.getpid()

class Adapter:
    contract = "workload"
    abilities = {"kill", "restart"}
    def open(self, place, config):
        if config.get("full"):
            raise StoreUnavailable("no room", definite=True)
        return Handle()

BACKEND = Adapter()
"""


@pytest.fixture
def adapter(tmp_path: Path) -> LoadedBackend:
    path = tmp_path / "childs_adapter.py"
    path.write_text(ADAPTER)
    (backend,) = find(f"{path}:BACKEND")
    return backend


@pytest.fixture
def children(adapter: LoadedBackend) -> Iterator[Children]:
    with Children(adapter) as family:
        yield family


def get(name: str) -> dict[str, Any]:
    return {"workload_id": name, "fresh": True}


def test_a_child_answers_as_a_handle_does(children: Children, tmp_path: Path) -> None:
    child = children.start()
    assert isinstance(child.open(Place(tmp_path, "p"), {"full": True}), Unavailable)
    assert child.open(Place(tmp_path, "p"), {}) == Answered(None)
    assert child.call("get", get("x")) == Answered(child.pid)
    refused = child.call("get", get("refuse"))
    assert isinstance(refused, Refusal)
    assert refused.code == "WORKLOAD_NOT_FOUND"
    assert refused.details is not None
    assert refused.details["shown"] is UNSEEN
    crashed = child.call("get", get("raise"))
    assert isinstance(crashed, Crashed)
    assert crashed.text == "ZeroDivisionError: none left"
    with pytest.raises(ChildTrouble, match="cannot leave its process"):
        child.call("get", get("function"))


def test_a_child_that_ends_by_itself_or_is_killed_says_so(children: Children, tmp_path: Path) -> None:
    first, second = children.start(), children.start()
    assert first.pid != second.pid
    first.open(Place(tmp_path, "p"), {})
    second.open(Place(tmp_path, "p"), {})
    assert first.call("get", get("exit")) == Died(0)
    assert second.kill() == signal.SIGKILL
    with pytest.raises(ProcessLookupError):
        os.kill(second.pid, 0)


def test_a_child_that_does_not_answer_is_killed(
    children: Children, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    child = children.start()
    child.open(Place(tmp_path, "p"), {})
    monkeypatch.setattr(calling, "CALL_LIMIT_S", 0.2)
    with pytest.raises(CallHung, match="hang"):
        child.call("get", get("hang"))
    with pytest.raises(ProcessLookupError):
        os.kill(child.pid, 0)


@pytest.mark.parametrize("contract", ["workload", "jobs"])
def test_a_child_is_killed_at_a_point_and_what_was_committed_before_is_there(contract: str, tmp_path: Path) -> None:
    (backend,) = [each for each in find("sqlite") if each.binding.name == contract]
    name, arguments, instant = (
        ("recover_expired", {}, 7) if contract == "workload" else ("freeze_clock", {"at_ms": 7}, 5)
    )
    with Children(backend) as family:
        child = family.start()
        assert child.open(Place(tmp_path, "p"), {}, watch=True) == Answered(None)
        assert child.points
        assert isinstance(child.call(name, arguments, instant, watch=True), Answered)
        passed = child.points
        assert passed
        died = child.call(name, arguments, instant, kill_at=1)
        assert died == Died(signal.SIGKILL, 1, passed[0])
        child = family.start()
        opening = child.open(Place(tmp_path, "p"), {}, kill_at=2)
        assert isinstance(opening, Died)
        assert (opening.signal, opening.number) == (signal.SIGKILL, 2)
        child = family.start()
        child.open(Place(tmp_path, "p"), {})
        beyond = child.call(name, arguments, instant, kill_at=len(passed) + 1)
        assert isinstance(beyond, Answered)


def test_a_transaction_stays_in_its_process(tmp_path: Path) -> None:
    (backend,) = [each for each in find("sqlite") if each.binding.name == "jobs"]
    with Children(backend) as family:
        one, other = family.start(), family.start()
        for child in (one, other):
            child.open(Place(tmp_path, "p"), {})
        for end, first in (("rollback", True), ("commit", True), ("rollback", False)):
            assert one.begin() == Answered(None)
            assert one.call("claim_effect", {"key": "k"}, inside=True) == Answered(first)
            assert one.end(end) == Answered(None)


def test_a_backend_of_this_process_alone_says_so(adapter: LoadedBackend) -> None:
    made_here = attrs.evolve(adapter, found_as="")
    assert "made inside of this process" in cannot(made_here)
    with Children(made_here) as family, pytest.raises(ChildTrouble, match="made inside of this process"):
        family.start()
    unpicklable = attrs.evolve(adapter, recipe=lambda: adapter)
    assert "cannot be told to another process" in cannot(unpicklable)


def test_no_child_outlives_the_kit(adapter: LoadedBackend) -> None:
    program = (
        "import os, sys, time; from pathlib import Path; from workcert.backends.registry import find;"
        "from workcert.backends.protocol import Place; from workcert.children import Children;"
        "(b,) = find(sys.argv[1]); f = Children(b); c = f.start(); c.open(Place(Path('.'), 'p'), {});"
        "from workcert.children.messages import Make; c.ask(Make('get', {'workload_id': 'hang', 'fresh': True}));"
        "print(c.pid, flush=True); os.kill(os.getpid(), 9)"
    )
    run = subprocess.run(
        [sys.executable, "-c", program, adapter.found_as], capture_output=True, text=True, timeout=60, check=False
    )
    assert run.returncode == -signal.SIGKILL, run.stderr
    pid = int(run.stdout)
    for _ in range(500):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.01)
    pytest.fail(f"the child {pid} lives on")


def test_who_tells_all_processes_to_end_ends_the_kit_alone(adapter: LoadedBackend, tmp_path: Path) -> None:
    """The kit ends its children; a store would else be accused of what a service does that cancels a job."""
    with Children(adapter) as children:
        child = children.start()
        assert child.open(Place(tmp_path, "place"), {}) == Answered(None)
        assert children._zygote is not None
        for pid in (child.pid, children._zygote.pid):
            os.kill(pid, signal.SIGTERM)
        assert child.call("get", {"workload_id": "w"}) == Answered(child.pid)
        assert children.start().open(Place(tmp_path, "place"), {}) == Answered(None)


def test_a_kit_that_ends_while_a_process_starts_leaves_no_noise(adapter: LoadedBackend) -> None:
    ours, theirs = socket.socketpair()
    start = f"from workcert.children.zygote import main; main({theirs.fileno()})"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(
        [sys.executable, "-c", start], pass_fds=(theirs.fileno(),), stderr=subprocess.PIPE, env=environment
    )
    theirs.close()
    kit = Connection(ours.detach())
    kit.send_bytes(pickle.dumps(recipe_of(adapter)))
    kit.close()
    assert process.communicate(timeout=60) == (None, b"")
