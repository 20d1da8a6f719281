"""A watched connection of sqlite3 is seen to wait, and does as one that nobody watches."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, closing, nullcontext
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen

from workcert.watched import Beside, busy, installed, is_seen

INSERT = "INSERT INTO rows (n) VALUES (?)"
PLENTY_MS = 20_000
"""A timeout that no test waits for."""
SHORT_MS = 60
LONGER_MS = 400
PATIENCE_S = 10.0


def writes(connection: Any) -> Any:
    return connection.execute(INSERT, (1,)).rowcount


def begins(kind: str) -> Callable[[Any], Any]:
    return lambda connection: connection.execute(f"BEGIN {kind}").fetchall()


def reads(connection: Any) -> Any:
    return connection.execute("SELECT n FROM rows ORDER BY id").fetchall()


def keeps_reading(connection: Any) -> Any:
    """It keeps the shared lock of the file."""
    begins("")(connection)
    return reads(connection)


def both(*works: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda connection: [work(connection) for work in works]


def commits(connection: Any) -> Any:
    return connection.execute("COMMIT").fetchall()


def many(connection: Any) -> Any:
    """From a generator, of which nothing may be asked twice."""
    return connection.executemany(INSERT, ((n,) for n in (1, 2, 3))).rowcount


def script(connection: Any) -> Any:
    connection.executescript("INSERT INTO rows (n) VALUES (7); INSERT INTO rows (n) VALUES (8);")


def counts_itself(connection: Any) -> Any:
    """A function with an effect of its own."""
    calls: list[int] = []

    def counted() -> int:
        calls.append(1)
        return len(calls)

    connection.create_function("counted", 0, counted)
    connection.execute("INSERT INTO rows (n) VALUES (counted())")
    return len(calls)


def in_a_block(connection: Any) -> Any:
    with connection:
        return writes(connection)


def half_read(connection: Any) -> Any:
    """A cursor that has more to give keeps its view, outside of any transaction."""
    cursor = connection.execute("SELECT n FROM rows")
    cursor.fetchone()
    return writes(connection)


def own_timeout(connection: Any) -> Any:
    connection.execute(f"PRAGMA busy_timeout = {LONGER_MS}")
    return writes(connection)


def looks(connection: Any) -> Any:
    return connection.execute("PRAGMA busy_timeout").fetchall()


def nothing(_connection: Any) -> None: ...


@frozen
class Met:
    """``held``: done on one connection, and kept; ``work``: what another does meanwhile, after ``before``."""

    name: str
    held: Callable[[Any], Any]
    work: Callable[[Any], Any]
    waits: bool = True
    journal: str = "WAL"
    isolation: str | None = None
    before: Callable[[Any], Any] = nothing


WRITER = begins("IMMEDIATE")
EXCLUSIVE = begins("EXCLUSIVE")
WRITTEN = both(WRITER, writes)
MEETINGS = (
    Met("BEGIN IMMEDIATE", WRITER, WRITER),
    Met("BEGIN EXCLUSIVE beside a reader", keeps_reading, EXCLUSIVE, journal="DELETE"),
    Met("deferred BEGIN, then a write", WRITER, both(begins(""), writes)),
    Met("a write with the BEGIN of the module", WRITER, writes, isolation=""),
    Met("a write with a BEGIN IMMEDIATE of the module", WRITER, writes, isolation="IMMEDIATE"),
    Met("a write that commits by itself", WRITER, writes),
    Met("the same, held up as it commits", keeps_reading, writes, journal="DELETE"),
    Met("a function with an effect, held up as it commits", keeps_reading, counts_itself, journal="DELETE"),
    Met("executemany", WRITER, many, isolation=""),
    Met("executemany that commits each time", keeps_reading, many, journal="DELETE"),
    Met("executescript", WRITER, script),
    Met("executescript, held up as it commits", keeps_reading, script, journal="DELETE"),
    Met("COMMIT beside a reader", keeps_reading, both(WRITER, writes, commits), journal="DELETE"),
    Met("commit() beside a reader", keeps_reading, lambda c: (writes(c), c.commit()), True, "DELETE", ""),
    Met("a block that commits beside a reader", keeps_reading, in_a_block, True, "DELETE", ""),
    Met("a read beside an exclusive lock", EXCLUSIVE, reads, journal="DELETE"),
    Met("its timeout set anew, then a write", WRITER, own_timeout),
    Met("COMMIT in WAL mode", keeps_reading, both(WRITER, writes, commits), waits=False),
    Met("a read in WAL mode", WRITTEN, reads, waits=False),
    Met("a read that would write", WRITER, both(begins(""), reads, writes), waits=False),
    Met("the same in a rollback journal", WRITER, both(begins(""), reads, writes), False, "DELETE"),
    Met("an old view that would write", both(WRITTEN, commits), writes, False, before=both(begins(""), reads)),
    Met("a cursor that is not read out, then a write", WRITER, half_read, waits=False),
    Met("its timeout", WRITER, looks, waits=False),
    Met("ROLLBACK", keeps_reading, lambda c: c.rollback(), before=WRITTEN, waits=False),
)


@frozen
class Done:
    """What somebody has seen of one piece of work, and the file after it."""

    answer: Any
    error: tuple[type, str, int, str] | None
    in_transaction: bool
    changes: int
    timeout: Any
    rows: Any


@pytest.fixture
def file(tmp_path: Path) -> Path:
    with closing(sqlite3.connect(tmp_path / "rows.db")) as connection:
        connection.execute("CREATE TABLE rows (id INTEGER PRIMARY KEY, n INTEGER)")
        connection.execute("INSERT INTO rows (n) VALUES (40), (41)")
        connection.commit()
    return tmp_path / "rows.db"


def meeting(file: Path, met: Met, timeout_ms: int, watched: bool, release: bool) -> tuple[Done, bool]:
    """What becomes of the work beside what is held, and whether it was seen to wait."""
    with ExitStack() as stack:
        held = stack.enter_context(closing(sqlite3.connect(file, isolation_level=None)))
        held.execute(f"PRAGMA journal_mode = {met.journal}")
        with installed("sqlite3") if watched else nullcontext():
            options: Any = {"isolation_level": met.isolation, "check_same_thread": False}
            other = stack.enter_context(closing(sqlite3.connect(file, timeout_ms / 1000, **options)))
        met.before(other)
        met.held(held)
        state = Beside()
        outcome: list[Any] = []

        def work() -> None:
            with state.entered() if watched else nullcontext():
                outcome.extend(attempted(other, met.work))

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        waited = watched and state.stand(PATIENCE_S) and not state.has_ended
        if release:
            time.sleep(0 if watched else SHORT_MS / 1000)
            if held.in_transaction:
                held.execute("ROLLBACK")
            assert not waited or state.move(PATIENCE_S)
            assert not waited or state.has_ended
        state.over()
        thread.join(PATIENCE_S)
        hangs = thread.is_alive()
        if hangs:
            # A connection that is in use cannot be closed.
            held.execute("ROLLBACK")
            thread.join(PATIENCE_S)
        assert not hangs
        answer, error = outcome
        seen = Done(answer, error, other.in_transaction, other.total_changes, looks(other), None)
        if held.in_transaction:
            held.execute("ROLLBACK")
        other.rollback()
        return Done(seen.answer, seen.error, seen.in_transaction, seen.changes, seen.timeout, reads(other)), waited


def attempted(connection: Any, work: Callable[[Any], Any]) -> tuple[Any, Any]:
    try:
        return work(connection), None
    except sqlite3.Error as error:
        return None, (type(error), str(error), error.sqlite_errorcode, error.sqlite_errorname)


def named(meetings: tuple[Met, ...]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("met", meetings, ids=[met.name for met in meetings])


def test_waiting_is_seen_here() -> None:
    """Otherwise all of these tests would say nothing."""
    with installed("sqlite3"):
        assert is_seen("sqlite3")
    assert not is_seen("no_module_of_this_name")
    assert not is_seen("json")


@named(MEETINGS)
def test_who_waits_gets_its_turn(met: Met, file: Path) -> None:
    expected, _ = meeting(file, met, PLENTY_MS, watched=False, release=met.waits)
    again = file.with_name("again.db")
    with closing(sqlite3.connect(again)) as copy:
        copy.executescript(
            "CREATE TABLE rows (id INTEGER PRIMARY KEY, n INTEGER); INSERT INTO rows VALUES (1, 40), (2, 41)"
        )
    seen, waited = meeting(again, met, PLENTY_MS, watched=True, release=met.waits)
    assert (seen, waited) == (expected, met.waits)
    assert (seen.error is None) == (met.waits or met.name in RIGHT_AT_ONCE)


RIGHT_AT_ONCE = ("COMMIT in WAL mode", "a read in WAL mode", "its timeout", "ROLLBACK")


@named(tuple(met for met in MEETINGS if met.waits))
def test_who_waits_too_long_is_told_so(met: Met, file: Path) -> None:
    expected, _ = meeting(file, met, SHORT_MS, watched=False, release=False)
    rows = expected.rows
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.executescript("DELETE FROM rows; INSERT INTO rows (id, n) VALUES (1, 40), (2, 41)")
    seen, waited = meeting(file, met, SHORT_MS, watched=True, release=False)
    assert seen == expected
    assert waited
    assert seen.error is not None
    assert seen.error[2] == sqlite3.SQLITE_BUSY
    assert seen.rows == rows


@named(MEETINGS)
def test_who_does_not_wait_is_left_alone(met: Met, file: Path) -> None:
    """A connection without a timeout."""
    if met.work is own_timeout:
        return
    expected, _ = meeting(file, met, 0, watched=False, release=False)
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.executescript("DELETE FROM rows; INSERT INTO rows (id, n) VALUES (1, 40), (2, 41)")
    assert meeting(file, met, 0, watched=True, release=False) == (expected, False)


def test_a_place_that_is_opened_waits_too(file: Path) -> None:
    """Of a connection that has read nothing yet the tables are read first."""
    with closing(sqlite3.connect(file, isolation_level=None)) as held, installed("sqlite3"):
        EXCLUSIVE(held)
        found: list[Any] = []

        def opens() -> None:
            with state.entered(), closing(sqlite3.connect(file)) as other:
                found.extend(reads(other))

        state = Beside()
        thread = threading.Thread(target=opens, daemon=True)
        thread.start()
        assert state.stand(PATIENCE_S)
        assert not state.has_ended
        held.execute("COMMIT")
        assert state.move(PATIENCE_S)
        assert state.has_ended
        assert found == [(40,), (41,)]


# What nobody is to notice ---------------------------------------------------------------------------------------------


def beside_a_writer(file: Path, work: Callable[[Any], Any], timeout_ms: int = PLENTY_MS) -> tuple[bool, Any]:
    """Whether work on a watched connection was seen to wait for a writer; then the writer ends."""
    found, waited = meeting(file, Met("", WRITER, work), timeout_ms, watched=True, release=True)
    return waited, found.answer


@pytest.mark.parametrize("how", ["set_trace_callback", "set_authorizer"])
def test_who_hears_each_statement_hears_none_of_the_kit(how: str, file: Path) -> None:
    heard: list[str] = []

    def hear(*told: Any) -> int:
        heard.append(repr(told))
        return sqlite3.SQLITE_OK

    def work(connection: Any) -> Any:
        getattr(connection, how)(hear)
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            writes(connection)
        return list(heard)

    found, waited = meeting(file, Met("", WRITER, work), SHORT_MS, watched=True, release=False)
    assert not waited
    assert found.answer
    assert not any("busy_timeout" in each for each in found.answer)


def test_a_patience_of_its_own_is_seen_when_it_tries_again(file: Path) -> None:
    tries: list[str] = []

    def work(connection: Any) -> Any:
        while True:
            try:
                return writes(connection)
            except sqlite3.OperationalError as error:
                tries.append(str(error))
                if len(tries) > 50:
                    raise

    assert beside_a_writer(file, work, timeout_ms=0) == (True, 1)
    assert 2 <= len(tries) <= 4


@pytest.mark.parametrize("timeout_ms", [0, SHORT_MS])
def test_a_statement_that_fails_is_made_once(timeout_ms: int, file: Path) -> None:
    """Held up as it commits, it has run the functions of the store."""
    calls: list[int] = []

    def work(connection: Any) -> None:
        connection.create_function("counted", 0, lambda: calls.append(1))
        connection.execute("INSERT INTO rows (n) VALUES (counted())")

    met = Met("", keeps_reading, work, journal="DELETE")
    found, waited = meeting(file, met, timeout_ms, watched=True, release=False)
    assert found.error is not None
    assert waited == bool(timeout_ms)
    assert calls == [1]


def test_what_was_closed_is_known_no_more(file: Path) -> None:
    with installed("sqlite3"):
        connection: Any = sqlite3.connect(file)
    assert connection._database is not None
    connection.close()
    assert connection._database is None


def test_without_the_library_nothing_is_seen(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(busy, "_library", lambda: None)
    with installed("sqlite3"):
        assert not is_seen("sqlite3")
    found, waited = meeting(file, Met("", WRITER, writes), SHORT_MS, watched=True, release=False)
    assert not waited
    assert found.error is not None


# The held call and what is beside it ----------------------------------------------------------------------------------


def test_what_was_tried_before_the_held_call_went_on_says_nothing() -> None:
    """Only a try that began after that is one that it may go on from."""
    state = Beside()
    seen: list[bool] = []

    def work() -> None:
        with state.entered():
            state.waits()
            seen.append(state._waits)
            # By itself, while the held call had not gone on; now it has.
            may_go.wait(PATIENCE_S)
            state.waits()
            seen.append(state._waits)

    may_go = threading.Event()
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    assert state.stand(PATIENCE_S)
    time.sleep(0.1)
    threading.Timer(0.05, may_go.set).start()
    assert state.move(PATIENCE_S)
    assert state.has_ended
    assert seen[-1] is False
    thread.join()


def test_no_time_counts_while_the_held_call_comes_from_point_to_point() -> None:
    state = Beside()
    since_s = time.monotonic() - 100
    state._moved_at_s = since_s
    assert state.waited_s(since_s) >= 100
    state.over()
    assert state.waited_s(since_s) < 50


def test_nobody_waits_when_the_held_call_has_ended() -> None:
    state = Beside()
    state.over()
    begun_s = time.monotonic()
    for _ in range(3):
        state.waits()
    assert time.monotonic() - begun_s < 1
    assert not state._waits
