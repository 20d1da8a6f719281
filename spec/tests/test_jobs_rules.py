"""Defaults, keys, arithmetic and value checks of the jobs contract, by literal values."""

from typing import Any

import pytest
from attrs import evolve

from workspec.jobs import samples, values
from workspec.jobs.rules import (
    DEFAULT_RETRY_BASE_MS,
    DEFAULT_RETRY_CAP_MS,
    EMPTY_CHECKPOINT,
    MAX_I64,
    MIN_I64,
    age_ms,
    backoff_ms,
    canonical_tags,
    effective_due,
    effective_key,
    effective_queue,
    effective_weight,
    fingerprint,
    gain,
    group_claims,
    later,
    noisy_partitions,
    rate_eta_ms,
    resumability,
    retry_delay_ms,
    same_content,
    saturated,
    scheduled_instant,
    stored_max_attempts,
    stored_schema_version,
    time_to_drain_ms,
    with_crash,
)
from workspec.jobs.values import (
    batch_bytes,
    batch_bytes_early,
    batch_bytes_late,
    is_kind,
    progress_fault,
    repeats_id,
    replace_needs_single,
    result_fault,
    tag_fault,
)
from workspec.jobs.vocabulary import Claim, Envelope, JobResult, ProgressUpdate

T0 = 1_000_000
PLAIN = evolve(samples.PLAIN, id="x", fingerprint="F")


# Kinds and fingerprints ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind", ["w", "_", "0", "a<b>", "a[b]", "Job_1", "x" * 128, "a-b", "a/b.c:d+e", "email:welcome", "a_"]
)
def test_a_kind(kind: str) -> None:
    assert is_kind(kind)


@pytest.mark.parametrize(
    "kind",
    [
        *["", "x" * 129, "-a", ".a", ":a", "+a", "[a", "<a", "/a", "]a", ">a", "a b", "a\t", "a\n", "a\x00", " a"],
        *[f"a{character}" for character in '!#,()*%"@=\\|~^'],
        *["é", "aé", "a·b", "ａ", "\ud800"],
    ],
)
def test_no_kind(kind: str) -> None:
    assert not is_kind(kind)


@pytest.mark.parametrize(
    ("kind", "payload", "digits"),
    [
        ("email:welcome", b"", "bed0eecb39af02d79d5cdc8026a9b817"),
        ("", b"", "af5570f5a1810b7af78caf4bc70a660f"),
        ("a", b"bc", "47ea6f805c5b663e33012cd34184e139"),
        ("ab", b"c", "60014a36d7b05b0730e42a8b96faa1ff"),
        ("charge", b"\x00\x01\x02", "295e280cea51e7f3978bc3195d8fd4ae"),
        ("résumé:parse", b"{}", "a9b8c5d03aa1a0710129091fa3dc0a1d"),
    ],
)
def test_a_fingerprint(kind: str, payload: bytes, digits: str) -> None:
    assert fingerprint(kind, payload) == digits


def test_odd_text_has_a_fingerprint_a_key_and_a_size_all_the_same() -> None:
    assert len(fingerprint("\ud800", b"")) == 32
    assert effective_key("\ud800", b"", False) == b"\x01K\x00\x00\x00\x03\xed\xa0\x80"
    assert values.text_bytes("\ud800") == 3


# Defaults and keys -----------------------------------------------------------------------------------------------


def test_defaults() -> None:
    assert [effective_queue(queue) for queue in ("", "default", "q")] == ["default", "default", "q"]
    assert [effective_weight(weight) for weight in (0, 1, 7)] == [1, 1, 7]
    assert [stored_schema_version(version) for version in (0, 1, 2)] == [1, 1, 2]
    assert [stored_max_attempts(most) for most in (0, 1, 25)] == [25, 1, 25]
    assert canonical_tags(("blue", "billing", "blue")) == ("billing", "blue")
    assert canonical_tags(()) == ()


@pytest.mark.parametrize(
    ("changes", "due_ms"),
    [
        ({}, T0),
        ({"scheduled_at_ms": T0 + 5_000}, T0 + 5_000),
        ({"scheduled_at_ms": 1}, 1),
        ({"scheduled_at_ms": -1}, -1),
        ({"unique_debounce_ms": 500}, T0 + 500),
        ({"unique_debounce_ms": 500, "scheduled_at_ms": 7}, T0 + 500),
        ({"unique_debounce_ms": 500, "pending": True}, T0 + 500),
        ({"unique_debounce_ms": -500, "scheduled_at_ms": 7}, 7),
        ({"unique_debounce_ms": MAX_I64}, MAX_I64),
    ],
)
def test_the_effective_due_time(changes: dict[str, Any], due_ms: int) -> None:
    assert effective_due(evolve(PLAIN, **changes), T0) == due_ms


def test_a_copied_schedule() -> None:
    assert [scheduled_instant(at_ms, T0) for at_ms in (0, -1, T0 - 1)] == [T0, -1, T0 - 1]


def test_effective_keys() -> None:
    assert effective_key("w", b"K", False) == b"\x01K\x00\x00\x00\x01wK"
    assert effective_key("w", b"K", True) == b"\x01GK"
    assert effective_key("é", b"", False) == b"\x01K\x00\x00\x00\x02\xc3\xa9"


def test_effective_keys_never_collide() -> None:
    own = effective_key("w", b"K", False)
    others = {
        effective_key("v", b"K", False),
        effective_key("wK", b"", False),
        effective_key("", b"wK", False),
        effective_key("w", b"K", True),
        effective_key("v", b"", True),
        effective_key("w", own[1:], True),
    }
    assert own not in others
    assert len(others) == 6
    assert effective_key("w", b"K", True) == effective_key("v", b"K", True)


@pytest.mark.parametrize(
    ("changes", "same"),
    [
        ({}, True),
        ({"payload": b"2", "priority": 9, "unique_replace": 15}, True),
        ({"fingerprint": "G"}, False),
        ({"queue": "p"}, False),
        ({"kind": "v"}, False),
        ({"queue": ""}, False),
    ],
)
def test_content(changes: dict[str, Any], same: bool) -> None:
    assert same_content(evolve(PLAIN, **changes), "w", "F", "q") is same


def test_an_omitted_queue_equals_the_stored_default() -> None:
    assert same_content(evolve(PLAIN, queue=""), "w", "F", "default")
    assert same_content(evolve(PLAIN, queue="default"), "w", "F", "default")


# Arithmetic ------------------------------------------------------------------------------------------------------


def test_instants_saturate() -> None:
    assert saturated(MAX_I64 + 1) == later(MAX_I64, 1) == MAX_I64
    assert saturated(MIN_I64 - 1) == MIN_I64
    assert later(T0, 30_000) == 1_030_000
    assert age_ms(MAX_I64, MIN_I64) == MAX_I64


def test_backoff() -> None:
    def delay_ms(n: int) -> int:
        return backoff_ms(n, DEFAULT_RETRY_BASE_MS, DEFAULT_RETRY_CAP_MS)

    assert [delay_ms(n) for n in (1, 2, 3)] == [1000, 2000, 4000]
    assert [delay_ms(n) for n in (11, 12, 13, 14, 10**9)] == [1_024_000, 2_048_000, 3_600_000, 3_600_000, 3_600_000]


def test_backoff_doubles_twenty_times_and_saturates() -> None:
    assert [backoff_ms(n, 1, MAX_I64) for n in (20, 21, 22, 2**40)] == [2**19, 2**20, 2**20, 2**20]
    assert backoff_ms(21, 2**60, 2**70) == MAX_I64
    assert backoff_ms(1, 5_000, 3_000) == 3_000
    assert backoff_ms(0, 1000, 5000) == backoff_ms(-7, 1000, 5000) == 1000


@pytest.mark.parametrize(
    ("delay_ms", "expected_ms"), [(None, 2000), (0, 2000), (-1, 2000), (1, 1), (3_600_001, 3_600_001)]
)
def test_the_delay_of_a_retry(delay_ms: int | None, expected_ms: int) -> None:
    assert retry_delay_ms(delay_ms, 2, 1000, 3_600_000) == expected_ms


@pytest.mark.parametrize(
    ("now_ms", "limit", "window_ms", "tokens"),
    [
        (10_000, 1, 1_000, 0),
        (10_500, 1, 1_000, 0),
        (10_999, 1, 1_000, 0),
        (11_000, 1, 1_000, 1),
        (11_999, 1, 1_000, 1),
        (12_000, 1, 1_000, 2),
        (10_001, 3_000, 1_000, 3),
        (10_333, 3, 1_000, 0),
        (10_334, 3, 1_000, 1),
        (9_999, 3_000, 1_000, 0),
        (20_000, 0, 1_000, 0),
        (20_000, -1, 1_000, 0),
        (20_000, 1, 0, 0),
        (20_000, 1, -1, 0),
    ],
)
def test_gain(now_ms: int, limit: int, window_ms: int, tokens: int) -> None:
    assert gain(now_ms, limit, window_ms, 10_000) == tokens


@pytest.mark.parametrize(
    ("required", "available", "limit", "eta_ms"),
    [(3, 1, 2, 1000), (1, 1, 2, 500), (1, -4, 2, 2500), (1, 0, 3, 333), (1, 0, 0, None), (1, 0, -1, None)],
)
def test_the_eta_of_a_rate_class(required: int, available: int, limit: int, eta_ms: int | None) -> None:
    assert rate_eta_ms(required, available, limit, 1000) == eta_ms
    assert rate_eta_ms(required, available, limit, 0) is None


def test_ages_and_drains() -> None:
    assert [age_ms(10, at_ms) for at_ms in (3, 10, 11, -5)] == [7, 0, 0, 15]
    assert time_to_drain_ms(10, 1, 4) == 3333
    assert time_to_drain_ms(0, 0, 1) == 0
    assert [time_to_drain_ms(10, *rates) for rates in ((4, 4), (5, 4), (0, 0), (-2, -1), (-1, 0))] == [None] * 5


# Checkpoints and helpers -----------------------------------------------------------------------------------------


def test_a_crash_counts_on_the_step_in_progress() -> None:
    checkpoint = evolve(EMPTY_CHECKPOINT, in_progress_step="transcode", completed_steps=("download",), cursor=b"42")
    once = with_crash(checkpoint)
    assert once == evolve(checkpoint, crashes_by_step=(("transcode", 1),))
    assert with_crash(once).crashes_by_step == (("transcode", 2),)


def test_a_crash_leaves_other_steps_alone() -> None:
    counted = (("a", 1), ("b", 4), ("b", 9))
    assert with_crash(evolve(EMPTY_CHECKPOINT, crashes_by_step=counted)).crashes_by_step == counted
    busy = evolve(EMPTY_CHECKPOINT, crashes_by_step=counted, in_progress_step="b")
    assert with_crash(busy).crashes_by_step == (("a", 1), ("b", 5), ("b", 9))
    new = evolve(busy, in_progress_step="c")
    assert with_crash(new).crashes_by_step == (*counted, ("c", 1))


@pytest.mark.parametrize(
    ("stored_hash", "stored_version", "expected"),
    [
        ("", 9, "continue"),
        ("h", 1, "continue"),
        ("h", 9, "continue"),
        ("g", 9, "remapped"),
        ("g", 1, "undecodable"),
    ],
)
def test_resumability(stored_hash: str, stored_version: int, expected: str) -> None:
    stored = evolve(EMPTY_CHECKPOINT, step_set_hash=stored_hash, schema_version=stored_version)
    assert resumability(stored, 1, "h") == expected


def claim(name: str, kind: str) -> Claim:
    return Claim(evolve(PLAIN, id=name, kind=kind), "l", 1, T0 + 30_000, EMPTY_CHECKPOINT)


@pytest.mark.parametrize(
    ("size", "units"),
    [
        (2, [["a1", "a2"], ["b1"], ["a3"]]),
        (3, [["a1", "a2", "a3"], ["b1"]]),
        (1, [["a1"], ["b1"], ["a2"], ["a3"]]),
        (0, [["a1"], ["b1"], ["a2"], ["a3"]]),
        (-3, [["a1"], ["b1"], ["a2"], ["a3"]]),
    ],
)
def test_groups_of_claims(size: int, units: list[list[str]]) -> None:
    claims = [claim("a1", "mail"), claim("b1", "index"), claim("a2", "mail"), claim("a3", "mail")]
    grouped = group_claims(claims, size)
    assert [[each.envelope.id for each in unit.claims] for unit in grouped] == units


def test_no_claims_have_no_groups() -> None:
    assert group_claims([], 2) == ()


@pytest.mark.parametrize(
    ("loads", "noisy"),
    [
        ({}, ()),
        ({"a": 100}, ()),
        ({"a": 2, "b": 1}, ()),
        ({"a": 3, "b": 1}, ("a",)),
        ({"a": 1, "b": 0}, ()),
        ({"a": 2, "b": 0}, ("a",)),
        ({"a": 2, "b": -50}, ("a",)),
        ({"a": 4, "b": 2, "c": 2}, ()),
        ({"a": 5, "b": 2, "c": 2}, ("a",)),
        ({"z": 9, "a": 9, "c": 0, "d": 0, "e": 0}, ("a", "z")),
    ],
)
def test_noisy_partitions(loads: dict[str, int], noisy: tuple[str, ...]) -> None:
    assert noisy_partitions(loads) == noisy


# The rows of the validation --------------------------------------------------------------------------------------

SOUND: list[dict[str, Any]] = [
    {},
    {"id": "é" * 127 + "x"},
    {"partition_key": "p" * 255, "periodic_schedule_id": "s" * 255, "periodic_tick_ms": 1},
    {"payload": bytes(1_048_576)},
    {"unique_key": bytes(1_024)},
    {"unique_key": b""},
    {"headers": {f"{n}": "" for n in range(128)}},
    {"headers": {"k": "v" * 65_535}},
    {"unique_key": b"k", "unique_debounce_ms": 1},
    {"unique_key": b"k", "unique_replace": 15, "unique_window_ms": 1},
    {"tags": tuple(f"{n}" for n in range(32))},
    {"tags": ("t" * 64, " ")},
    {"pending": True, "unique_key": b"k", "unique_debounce_ms": 1},
    {"sticky_worker": "w" * 255},
    {"scheduled_at_ms": -1, "schema_version": 0, "priority": -5},
]

# What breaks a row, with the row.
BROKEN: list[tuple[str, dict[str, Any]]] = [
    ("empty_id", {"id": ""}),
    ("bad_kind", {"kind": ""}),
    *[
        ("identifier_too_long", {name: "é" * 128})
        for name in ("id", "queue", "partition_key", "rate_class", "fingerprint")
    ],
    ("identifier_too_long", {"periodic_schedule_id": "s" * 256, "periodic_tick_ms": 1}),
    ("payload_too_large", {"payload": bytes(1_048_577)}),
    ("unique_key_too_long", {"unique_key": bytes(1_025)}),
    ("too_many_headers", {"headers": {f"{n}": "" for n in range(129)}}),
    ("headers_too_large", {"headers": {"k": "v" * 65_536}}),
    ("headers_too_large", {"headers": {"k" * 65_537: ""}}),
    ("negative_timeout", {"timeout_ms": -1}),
    ("negative_deadline", {"deadline_ms": -1}),
    ("negative_retention", {"retention_ms": -1}),
    ("negative_window", {"unique_window_ms": -1}),
    ("negative_debounce", {"unique_debounce_ms": -1}),
    ("debounce_needs_lifecycle_key", {"unique_debounce_ms": 1}),
    ("debounce_needs_lifecycle_key", {"unique_debounce_ms": 1, "unique_key": b""}),
    ("debounce_needs_lifecycle_key", {"unique_debounce_ms": 1, "unique_key": b"k", "unique_window_ms": 1}),
    ("unknown_replace_bits", {"unique_replace": 16, "unique_key": b"k"}),
    ("unknown_replace_bits", {"unique_replace": -1, "unique_key": b"k"}),
    ("replace_needs_key", {"unique_replace": 1}),
    ("replace_needs_key", {"unique_replace": 1, "unique_key": b""}),
    ("too_many_tags", {"tags": tuple(f"{n}" for n in range(33))}),
    ("bad_tag", {"tags": ("",)}),
    ("bad_tag", {"tags": ("t" * 65,)}),
    ("bad_tag", {"tags": ("a", "é")}),
    ("bad_tag", {"tags": ("", "a", "a")}),
    ("repeated_tag", {"tags": ("a", "b", "a")}),
    ("repeated_tag", {"tags": ("a", "a", "")}),
    ("pending_with_schedule", {"pending": True, "scheduled_at_ms": -1}),
    ("bad_sticky_worker", {"sticky_worker": "w" * 256}),
    ("bad_sticky_worker", {"sticky_worker": "é"}),
    ("bad_periodic_pair", {"periodic_schedule_id": "s"}),
    ("bad_periodic_pair", {"periodic_tick_ms": 1}),
    ("bad_periodic_pair", {"periodic_schedule_id": "s", "periodic_tick_ms": -1}),
    ("bad_periodic_pair", {"periodic_tick_ms": -1}),
]
ROWS = list(dict.fromkeys(row for row, _ in BROKEN))


def broken_rows(envelope: Envelope) -> list[str]:
    return [row for row in ROWS if getattr(values, row)(envelope)]


def test_there_is_a_function_for_each_row_of_an_envelope() -> None:
    assert len(ROWS) == 21


@pytest.mark.parametrize("changes", SOUND, ids=lambda changes: " ".join(changes))
def test_a_sound_envelope_breaks_no_row(changes: dict[str, Any]) -> None:
    assert broken_rows(evolve(PLAIN, **changes)) == []


@pytest.mark.parametrize(("row", "changes"), BROKEN, ids=[row for row, _ in BROKEN])
def test_a_broken_envelope_breaks_its_row_alone(row: str, changes: dict[str, Any]) -> None:
    assert broken_rows(evolve(PLAIN, **changes)) == [row]


def test_limits_can_be_others() -> None:
    envelope = evolve(PLAIN, id="abc", payload=b"12", unique_key=b"key", headers={"a": "b"})
    for row, size in (
        ("identifier_too_long", 3),
        ("payload_too_large", 2),
        ("unique_key_too_long", 3),
        ("too_many_headers", 1),
        ("headers_too_large", 2),
    ):
        assert not getattr(values, row)(envelope, size)
        assert getattr(values, row)(envelope, size - 1)


def test_tags_are_asked_one_by_one() -> None:
    assert tag_fault(()) is None
    assert tag_fault(("a", "a", "")) == "repeated_tag"
    assert tag_fault(("", "a", "a")) == "bad_tag"


def test_the_number_of_envelopes() -> None:
    assert not values.batch_too_large([PLAIN] * 1_000)
    assert values.batch_too_large([PLAIN] * 1_001)
    assert values.batch_too_large([PLAIN] * 2, 1)


def test_the_bytes_of_a_batch_are_counted_in_two_stages() -> None:
    full = evolve(
        PLAIN,
        id="é",
        kind="kk",
        payload=bytes(10),
        queue="q",
        partition_key="pp",
        rate_class="r",
        fingerprint="ff",
        unique_key=b"key",
        headers={"h": "é"},
        tags=("a", "bc"),
        sticky_worker="s",
        periodic_schedule_id="id",
        periodic_tick_ms=1,
    )
    assert batch_bytes([full, full, PLAIN]) == ((26, 32), (58, 64), (68, 68))
    assert batch_bytes([]) == batch_bytes(()) == ()
    assert batch_bytes((full, full, PLAIN)) == batch_bytes([full, full, PLAIN])


def test_the_limit_of_a_batch_at_both_stages() -> None:
    first = evolve(PLAIN, payload=bytes(10))
    second = evolve(PLAIN, id="y", sticky_worker="s")
    batch = [first, second]
    assert batch_bytes(batch) == ((14, 14), (18, 19))
    assert not batch_bytes_early(batch, 1, 18)
    assert batch_bytes_early(batch, 1, 17)
    assert not batch_bytes_late(batch, 1, 19)
    assert batch_bytes_late(batch, 1, 18)
    assert not batch_bytes_early(batch, 0, 14)
    large = [evolve(PLAIN, id=f"{n:x}", payload=bytes(1_048_572)) for n in range(16)]
    assert batch_bytes(large)[-1] == (16_777_216, 16_777_216)
    assert not batch_bytes_late(large, 15)
    assert batch_bytes_early([*large, PLAIN], 16)


def test_ids_of_a_batch() -> None:
    batch = [PLAIN, evolve(PLAIN, id="y"), PLAIN]
    assert [repeats_id(batch, index) for index in range(3)] == [False, False, True]


@pytest.mark.parametrize("changes", [{"unique_replace": 1}, {"unique_debounce_ms": 1}])
def test_a_replacement_stands_alone(changes: dict[str, Any]) -> None:
    envelope = evolve(PLAIN, unique_key=b"k", **changes)
    assert not replace_needs_single([envelope])
    assert not replace_needs_single([])
    assert not replace_needs_single([PLAIN, PLAIN])
    assert replace_needs_single([PLAIN, envelope])


# Results and progress --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema_version", "size", "reason"),
    [
        (1, 0, None),
        (2_147_483_647, 33_554_432, None),
        (0, 0, "schema_zero"),
        (0, 33_554_433, "schema_zero"),
        (2_147_483_648, 33_554_433, "schema_too_large"),
        (1, 33_554_433, "too_large"),
    ],
)
def test_results(schema_version: int, size: int, reason: str | None) -> None:
    assert result_fault(JobResult(schema_version, bytes(size))) == reason


@pytest.mark.parametrize(
    ("current", "total", "message", "reason"),
    [
        (0, 1, None, None),
        (5, 5, "", None),
        (0, 2**53 - 1, "é" * 256, None),
        (0, 0, "\x00", "progress_zero_total"),
        (1, 0, None, "progress_zero_total"),
        (3, 2, None, "progress_over_total"),
        (2**53 + 1, 2**53, None, "progress_over_total"),
        (0, 2**53, "x" * 513, "progress_total_too_large"),
        (0, 1, "x" * 513, "progress_message_too_long"),
        (0, 1, "é" * 256 + "x", "progress_message_too_long"),
        (0, 1, "\x00" * 513, "progress_message_too_long"),
        (0, 1, "a\x00", "progress_message_nul"),
    ],
)
def test_progress(current: int, total: int, message: str | None, reason: str | None) -> None:
    assert progress_fault(ProgressUpdate(current, total, message)) == reason
