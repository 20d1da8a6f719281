"""One store under test: its place, its handles, a fresh one for each example, restarts.

A fresh store is an emptied one where the backend can reset, and a new place for every `FRESH_EVERY`-th example all
the same, so that what a reset leaves behind cannot hide for a whole run.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NoReturn

from attrs import define, field

from workcert.backends.coroutines import Synchronous
from workcert.backends.protocol import Place
from workcert.backends.registry import BackendError, LoadedBackend
from workcert.binding import WISHES, Found
from workcert.children import Child, Children
from workcert.raised import told
from workcert.run import abilities
from workcert.run.calling import CALL_LIMIT_S, CallHung
from workcert.run.opening import in_memory, opened
from workcert.watched import WatchedHandle, installed

FRESH_EVERY: Final = 20
READER: Final = "the judge"
BOUND: Final = (
    "a handle of this store is of no use to any thread but the one that opened it, and the kit makes calls that meet "
    "by threads of its own. Let another thread use it, one at a time (sqlite3: check_same_thread=False)"
)
OWN_THREADS: Final = (
    "this store makes its statements in threads of its own: the kit sees them, and cannot tell which call one belongs "
    "to, so that no call can be held at one. A handle may say it itself, by points(callback)"
)


@define(eq=False)
class StoreUnderTest:
    """Handles on one store at a time. Use as a context manager; it removes every place that it made."""

    backend: LoadedBackend
    _root: Path
    _own_root: bool
    config: Mapping[str, Any] = field(factory=dict)
    _place: Place | None = None
    _handles: dict[str, Any] = field(factory=dict)
    _elsewhere: dict[str, Any] = field(factory=dict)
    """Those that were held by another process when they were put in their place."""
    _places: int = 0
    _examples: int = 0
    known: str | None = None
    """The key of a record that the present example has seen stored, to look for after a reset."""
    reads: bool = False
    """Some record has been read back: where none ever was, it is the read that is wrong, and no ability."""
    _watching: contextlib.ExitStack = field(factory=contextlib.ExitStack)
    _children: Children | None = None
    _is_fresh_needed: bool = False
    _is_bound: bool | None = None
    _makes_elsewhere: bool | None = None
    """Its statements are made in threads that no call runs in; None as long as nobody has looked."""
    _is_watched: bool = False
    """The calls of its handles are seen, as far as the backend lets the kit see them."""
    hides_waiting: bool = False
    """Something beside a held call has not come back, and was not seen to wait."""

    @classmethod
    def of(cls, backend: LoadedBackend) -> StoreUnderTest:
        if backend.root is not None:
            return cls(backend, backend.root, own_root=False)
        return cls(backend, Path(tempfile.mkdtemp(prefix="workcert-", dir=in_memory())), own_root=True)

    def __enter__(self) -> StoreUnderTest:
        return self

    def __exit__(self, *_exception: object) -> None:
        self._leave()
        if self._children is not None:
            self._children.close()
        if self._own_root:
            shutil.rmtree(self._root, ignore_errors=True)

    # Places ------------------------------------------------------------------------------------------------------

    def begin(self, config: Mapping[str, Any] | None = None, *, watched: bool = False) -> None:
        """An empty store for the next example. ``watched``: of its handles `commit_order` and ``points`` are asked.

        Raises:
            AbilityLie: the backend's reset left something behind.
        """
        self._examples += 1
        wanted = self._taken(config or {})
        reusable = self._place is not None and self._handles and wanted == self.config and watched == self._is_watched
        if reusable and not self._is_fresh_needed and self.backend.can("reset") and self._examples % FRESH_EVERY:
            self._reset()
            return
        self.fresh(wanted, watched=watched)

    def _taken(self, config: Mapping[str, Any]) -> Mapping[str, Any]:
        """Without what a case would like and any answer is right without, where the backend cannot be asked for it."""
        unknown = WISHES - self.backend.configurable
        return {name: value for name, value in config.items() if name not in unknown}

    def fresh(self, config: Mapping[str, Any] | None = None, *, watched: bool = False) -> None:
        """A store at a place that was never used."""
        self._leave()
        self._is_watched, self._is_fresh_needed = watched, False
        if watched and self.backend.dbapi is not None:
            self._watching.enter_context(installed(self.backend.dbapi))
        self.config = self._taken(config or {})
        self._places += 1
        name = f"{self._root.name}-{self._places}"
        path = self._root / f"store-{self._places}"
        path.mkdir()
        self._place = Place(path, name)

    def _reset(self) -> None:
        for handle in self._handles.values():
            with self.ability("reset"):
                handle.reset()
        otherwise = "the kit then uses a fresh place each time"
        key, self.known = self.known, None
        if self.backend.can("snapshot"):
            if self.snapshot():
                self.accuse("reset", "rows are left after handle.reset()", otherwise)
        elif key is not None and self._still_there(key):
            self.accuse("reset", f"the record of {key} is still there after handle.reset()", otherwise)

    def _still_there(self, key: str) -> bool:
        found = None
        with contextlib.suppress(Exception, SystemExit):
            found = self.backend.binding.read(self.reader(), key)
        # The next example begins with a handle that has seen nothing of this one.
        self.reopen_reader()
        return isinstance(found, Found)

    def _leave(self) -> None:
        self.known = None
        # A store that is thrown away need not close well.
        self._close_handles()
        self._watching.close()
        if self._place is None:
            return
        forget = getattr(self.backend.adapter, "forget", None)
        if forget is not None:
            forget(self._place)
        shutil.rmtree(self._place.path, ignore_errors=True)
        self._place = None

    # Handles -----------------------------------------------------------------------------------------------------

    def handle(self, name: str) -> Any:
        """The handle of this name, opened at its first use.

        Raises:
            BackendError: the adapter cannot open one.
        """
        found = self._handles.get(name)
        if found is None and self._handles and not self.backend.can("second_handle"):
            # After a restart it may have been the judge who asked first.
            return next(iter(self._handles.values()))
        if found is None:
            if self._place is None:
                raise AssertionError("begin() comes first")
            found = self._handles[name] = self._opened(self._place)
        return found

    def _opened(self, place: Place) -> Any:
        handle = opened(self.backend, place, self.config)
        is_seen = self._is_watched and self.backend.dbapi is not None
        return WatchedHandle(handle) if is_seen else Synchronous(handle)

    def held(self, name: str) -> Any:
        """The handle of this name, None where it is not open."""
        return self._handles.get(name)

    def replace(self, name: str, handle: Any) -> None:
        """A handle that another process holds in the place of that of this name. The place is not used for a further
        example."""
        self.close_handle(name)
        self._handles[name] = self._elsewhere[name] = handle
        self.use_up()

    def use_up(self) -> None:
        """The place is not used for a further example."""
        self._is_fresh_needed = True

    def reopen_others(self, name: str) -> None:
        """All handles but this one are closed and opened again."""
        for other in [each for each in self._handles if each != name]:
            self.close_handle(other)
            self.handle(other)

    def reader(self) -> Any:
        """A handle that only the judge uses, where a second one can be had: reading on the acting handle would
        refresh its view and hide the fault."""
        if self.backend.can("second_handle") or not self._handles:
            return self.handle(READER)
        return next(iter(self._handles.values()))

    def reopen_reader(self) -> None:
        """The next read goes through a handle that was opened only then."""
        self.close_handle(READER)

    def close_handle(self, name: str) -> None:
        """Close one, whatever it says; the next use of its name opens it anew."""
        found = self._handles.pop(name, None)
        close = getattr(found, "close", None)
        if close is not None:
            with contextlib.suppress(Exception):
                close()

    def can_read(self) -> bool:
        """The judge's handle has the methods that reading records back needs."""
        reader = self.reader()
        return all(hasattr(reader, name) for name in self.backend.binding.reading)

    def set_clock(self, on: str, at: int) -> None:
        """Stop the clock of the store at an instant.

        Raises:
            BackendError: it has no such method, or the method raises.
        """
        handle = self.handle(on)
        if not hasattr(handle, "freeze_clock"):
            raise BackendError(
                f"{self.backend.name}: a handle has no freeze_clock(at_ms=...). The kit moves the clock of the store "
                "and waits for nothing; give the adapter this method, whether or not it claims CLOCK"
            )
        try:
            handle.freeze_clock(at_ms=at)
        except CallHung as hung:
            hung.within(f"freeze_clock(at_ms={at})")
            raise
        except (BackendError, KeyboardInterrupt):
            raise
        except BaseException as error:
            raise BackendError(f"{self.backend.name}: freeze_clock(at_ms={at}) raised {told(error)}") from error

    def child(self) -> Child:
        """A process of its own, which is to be ended by who asks for it and does not outlive the store.

        Raises:
            ChildTrouble: there can be none; the text says why.
        """
        if self._children is None:
            self._children = Children(self.backend)
        return self._children.start()

    @property
    def place(self) -> Place:
        """Where the store of the present example is."""
        if self._place is None:
            raise AssertionError("begin() comes first")
        return self._place

    def bound_to_threads(self) -> bool:
        """A handle is of no use to any thread but the one that opened it, as connections of `sqlite3` are unless they
        are told otherwise. Found out once, by a read."""
        if self._is_bound is None:
            reader, key = self.reader(), self.backend.binding.key_of_id("nobody")
            here = self._reading(reader, key)
            there: list[bool] = []
            thread = threading.Thread(target=lambda: there.append(self._reading(reader, key)), daemon=True)
            thread.start()
            thread.join(CALL_LIMIT_S)
            self._is_bound = here and there == [False]
        return self._is_bound

    def _reading(self, reader: Any, key: str) -> bool:
        try:
            self.backend.binding.read(reader, key)
        except BaseException:  # whatever an adapter raises
            return False
        return True

    # Abilities ---------------------------------------------------------------------------------------------------

    def snapshot(self) -> Mapping[str, int | None]:
        """The committed rows, as the backend tells them."""
        with self.ability("snapshot"):
            return dict(self.reader().snapshot())

    @property
    def tells_commits(self) -> bool:
        """`commit_order` may be asked of the handles of the present example."""
        return self._is_watched and self.backend.can("commit_order")

    def commit_order(self, handle: str) -> int | None:
        """The place of what the last call of this handle committed among all commits of the store, None where it
        committed nothing. Of a store that was begun as ``watched``."""
        with self.ability("commit_order"):
            order: int | None = self.handle(handle).commit_order()
            return order

    def statements_seen(self) -> int | None:
        """How many statements all calls of its handles have made; None where the kit does not see them."""
        seen = [each for each in self._handles.values() if isinstance(each, WatchedHandle)]
        return sum(each.statements for each in seen) if seen else None

    def statements_elsewhere(self) -> int:
        """How many statements were seen while its handles were in calls, and in no thread that a call runs in."""
        return sum(each.strays for each in self._handles.values() if isinstance(each, WatchedHandle))

    def cannot_hold(self) -> str:
        """Why no call can be held at a point, empty where one can, as far as a read tells."""
        if self.bound_to_threads():
            return BOUND
        if self._is_watched and self._makes_elsewhere is None:
            self._reading(self.reader(), self.backend.binding.key_of_id("nobody"))
            has_own = any(getattr(each, "has_own_points", False) for each in self._handles.values())
            self._makes_elsewhere = not has_own and not self.statements_seen() and self.statements_elsewhere() > 0
        return OWN_THREADS if self._makes_elsewhere else ""

    def ability(self, name: str) -> contextlib.AbstractContextManager[None]:
        """Around the use of an ability.

        Raises:
            AbilityLie: it raised something.
        """
        return abilities.Use(self.backend, name)

    def accuse(self, ability: str, what: str, otherwise: str = "") -> NoReturn:
        """Say that a claimed ability is not there, and what to do."""
        abilities.accuse(self.backend, ability, what, otherwise)

    def accuse_hanging(self, case: str, reason: str) -> NoReturn:
        """Calls did not come back, in several cases.

        Raises:
            BackendError: always.
        """
        raise BackendError(
            f"{self.backend.name}: calls waited in vain again and again, and the other cases were left out. In {case} "
            f"{reason}. Mend that first"
        )

    def check_second_handle(self, acting: str, key: str) -> None:
        """Called when the judge's handle has no such record.

        Raises:
            AbilityLie: the acting handle has it, so that the two are on different stores.
        """
        found = None
        with contextlib.suppress(Exception):
            found = self.backend.binding.read(self.handle(acting), key)
        if found is None:
            return
        if acting in self._elsewhere and self._elsewhere[acting] is self._handles.get(acting):
            self.accuse(
                "kill", f"what a handle in another process has stored ({key}) one on the same place here has not"
            )
        self.accuse("second_handle", f"what one handle has stored ({key}) a second one on the same place has not")

    def accuse_snapshot(self, key: str, shown: int | None, read: int | None) -> NoReturn:
        """Snapshot and read contradict each other."""
        rows = ["no row" if version is None else f"version {version!r}" for version in (shown, read)]
        self.accuse("snapshot", f"snapshot shows {rows[0]} for {key} where a fresh read shows {rows[1]}")

    def restart(self) -> None:
        """Every handle is closed; the next use of each opens it again on the same place.

        Raises:
            AbilityLie: a handle cannot be closed.
        """
        trouble = self._close_handles()
        if trouble is not None:
            self.accuse("restart", f"handle.close raised {told(trouble)}")

    def abandon(self) -> None:
        """Close every handle, whatever that does to the files: the place will not be used by this example again."""
        self._close_handles()

    def _close_handles(self) -> BaseException | None:
        """Every handle is closed, whatever one of them raises; the first thing that was raised."""
        trouble: BaseException | None = None
        for handle in self._handles.values():
            close = getattr(handle, "close", None)
            if close is None:
                continue
            try:
                close()
            except (CallHung, KeyboardInterrupt):
                raise
            except BaseException as error:
                trouble = trouble or error
        self._handles.clear()
        self._elsewhere.clear()
        return trouble
