"""`workstore.testing` in the hands of somebody who has not read it: what is told, and that no clock is set back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from workstore.memory.jobs import JobStore
from workstore.sqlite.jobs import JobStore as SqliteStore
from workstore.testing import START_MS, Expected, SteppedClock, assert_enqueued, find_enqueued, fresh_store

# --- clocks


class Port:
    """A store of somebody else: it has the three calls of the port."""

    def __init__(self, store: JobStore) -> None:
        self.freeze_clock, self.advance_clock = store.freeze_clock, store.advance_clock
        self.unfreeze_clock = store.unfreeze_clock


def test_a_clock_goes_on_from_where_the_store_stands(tmp_path: Path) -> None:
    with SqliteStore.open(tmp_path / "jobs.db", synchronous="NORMAL") as sqlite:
        sqlite.freeze_clock(at_ms=5_000_000)
        for store in (fresh_store(5_000_000), sqlite):
            clock = SteppedClock(store)
            assert clock.now_ms == store.frozen_at_ms() == 5_000_000
            assert clock.advance(7) == store.frozen_at_ms() == 5_000_007
            assert SteppedClock(store).now_ms == 5_000_007


def test_a_clock_that_runs_is_frozen_at_the_default(tmp_path: Path) -> None:
    with SqliteStore.open(tmp_path / "jobs.db", synchronous="NORMAL") as sqlite:
        for store in (JobStore(), sqlite):
            assert store.frozen_at_ms() is None
            with SteppedClock(store) as clock:
                assert clock.now_ms == store.frozen_at_ms() == START_MS
            assert store.frozen_at_ms() is None


def test_an_instant_that_is_given_is_taken_even_if_it_has_passed() -> None:
    store = fresh_store(5_000_000)
    assert SteppedClock(store, 50).now_ms == store.frozen_at_ms() == 50


@pytest.mark.parametrize("at_ms", [0, -5])
def test_an_early_instant_is_one(at_ms: int) -> None:
    store = fresh_store(at_ms)
    assert SteppedClock(store).now_ms == store.frozen_at_ms() == at_ms


def test_a_store_that_cannot_tell_where_its_clock_stands_needs_the_instant() -> None:
    store = fresh_store(5_000_000)
    with pytest.raises(TypeError, match=r"Port cannot tell .* SteppedClock\(store, at_ms="):
        SteppedClock(Port(store))
    assert store.frozen_at_ms() == 5_000_000
    assert SteppedClock(Port(store), at_ms=6_000_000).now_ms == store.frozen_at_ms() == 6_000_000


# --- assertions


@pytest.mark.parametrize(
    ("expected", "text"),
    [
        ("mail", "must be an Expected, not a str: pass Expected('mail')"),
        (None, 'must be an Expected, not a NoneType: pass Expected("mail")'),
        ({"kind": "mail"}, 'must be an Expected, not a dict: pass Expected("mail")'),
    ],
)
def test_what_is_expected_must_be_said(expected: Any, text: str) -> None:
    for ask in (assert_enqueued, find_enqueued):
        with pytest.raises(TypeError) as caught:
            ask(fresh_store(), expected)
        assert str(caught.value) == f"what is expected {text}"


@pytest.mark.parametrize(
    ("members", "text"),
    [
        ({"payload": "hello"}, "payload must be bytes, not str: encode it, as in payload='hello'.encode()"),
        ({"payload": bytearray()}, "payload must be bytes, not bytearray"),
        ({"kind": b"mail"}, "kind must be str, not bytes"),
        ({"queue": 1}, "queue must be str, not int"),
        ({"partition_key": ("a",)}, "partition_key must be str, not tuple"),
        ({"scheduled_at_ms": 1.0}, "scheduled_at_ms must be int, not float"),
        ({"count": True}, "count must be int, not bool"),
    ],
)
def test_a_wrong_matcher_is_told_in_words(members: dict[str, Any], text: str) -> None:
    with pytest.raises(TypeError) as caught:
        Expected(**{"kind": "mail", **members})
    assert caught.value.args == (text,)


def test_an_expectation_without_a_kind_is_told_so() -> None:
    with pytest.raises(TypeError, match="'kind'"):
        Expected(payload="hello")  # type: ignore[call-arg, arg-type]
