"""What the tests of the command line share: how to run it, and adapters that go wrong."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from workcert.__main__ import main

# By path: the tests must run without an installation too, where no entry point names a backend.
MEMORY = "workstore.backends:MEMORY"
SQLITE = "workstore.backends:SQLITE"
STALE = "workload/15-stale-worker"

TEMPLATE = """
from workcert.templates.workload import Adapter, Store

class Made(Adapter):
    store = Store
    def open(self, place, config):
        return self.store(self._rows.setdefault(str(place.path), {}))

def made(store):
    adapter = Made()
    adapter.store = store
    return adapter
"""
"""Of a file with adapters: ``made(Store)`` is one around a changed store of the template."""
BROKEN = (
    TEMPLATE
    + """
class Broken(Store):
    def claim(self, **arguments):
        raise ZeroDivisionError("on purpose")

class Ending(Store):
    def claim(self, **arguments):
        import os
        os._exit(0)

class Huge(Store):
    def claim(self, **arguments):
        import attrs
        return attrs.evolve(super().claim(**arguments), fencing_token=10**5000)

class Silent(Store):
    def snapshot(self):
        raise OSError("the disk is gone")

class Refusing(Adapter):
    def open(self, place, config):
        raise ConnectionError("no server")

class Empty(Adapter):
    def open(self, place, config):
        return None

class Raising:
    def __getattr__(self, name):
        raise LookupError("no member " + name)

class Strange(Store):
    def claim(self, **arguments):
        return Raising()

class Closed(Adapter):
    def open(self):
        return None

class Leaving(Store):
    def get(self, **arguments):
        raise SystemExit(0)

class Wordless(Exception):
    def __str__(self):
        raise KeyError("no text")

class Mute(Store):
    def claim(self, **arguments):
        raise Wordless

class Blind(Store):
    def get(self, **arguments):
        return None
    def inject(self, **arguments):
        pass

class Fixed(Adapter):
    def open(self, place, config):
        if config:
            raise TypeError("no options")
        return Store({})

MUTE, BLIND, FIXED = made(Mute), made(Blind), Fixed()
BLIND.abilities = BLIND.abilities | {"inject"}
STRANGE, CLOSED, LEAVING = made(Strange), Closed(), made(Leaving)
ENDING, HUGE = made(Ending), made(Huge)
BROKEN, SILENT, REFUSING, EMPTY = made(Broken), made(Silent), Refusing(), Empty()
WRONG_PROFILE = Adapter(profiles=frozenset({"CORE", "FAST"}))
WRONG_CHOICE = Adapter(choices={"G-11.lease-rounding": "sideways"})
class Coded(Adapter):
    codes = {"late": "WORKLOAD_NOTREADY"}

LISTED_CHOICES, WRONG_CODE = Adapter(choices=["x"]), Coded()
FREE_CHOICE = Adapter(choices={"G-13.fence-code": "WORKLOAD_STALE_FENCE"})
NONE = None
NO_ABILITY = Adapter(profiles=frozenset({"CORE", "DURABLE"}))
"""
)

INTERRUPTED = """
import itertools
import signal
from workcert.templates.workload import Adapter, Store

calls = itertools.count(1)

class Interrupted(Store):
    def claim(self, **arguments):
        if next(calls) == 150:
            # The first failure has been told by then: it takes fewer calls.
            signal.raise_signal(signal.SIGINT)
        raise ZeroDivisionError("on purpose")

class Made(Adapter):
    def open(self, place, config):
        return Interrupted(self._rows.setdefault(str(place.path), {}))

BACKEND = Made()
"""

BREAKING = INTERRUPTED.replace("signal.raise_signal(signal.SIGINT)", "Made.is_gone = True").replace(
    "    def open(self, place, config):",
    """    is_gone = False
    def open(self, place, config):
        if self.is_gone:
            raise ConnectionError("the server is gone")""",
)
"""A store that answers wrongly, and then cannot be opened any more."""


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Exit code, standard output, standard error."""
    try:
        code = main(arguments)
    except SystemExit as ended:
        code = int(ended.code or 0)
    out, err = capsys.readouterr()
    return code, out, err


def process(*arguments: str, stdout: int = subprocess.PIPE) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(
        [sys.executable, "-m", "workcert", *arguments],
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
