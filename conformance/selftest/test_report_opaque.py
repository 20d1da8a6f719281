"""Opaque values under stable names, and certificates that a seed repeats byte by byte."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from attrs import frozen

from workcert.report import build, write_reports
from workcert.report.opaque import names
from workcert.run.engine import Options
from workcert.run.events import CaseEnded

from .report_samples import (
    LATE,
    backend_answering,
    case,
    collected,
    events_of,
    fenced,
    late_heartbeat,
    texts,
    with_random_ids,
)


@frozen
class Claim:
    claim_id: str
    fencing_token: int


def test_values_are_named_in_the_order_of_appearance() -> None:
    known = names([{"claim_id": "zzzzzz"}, [Claim("aaaaaa", 1)], {"workload_id": "bbbbbb"}, {"claim_id": "zzzzzz"}])
    plain = {"claim_id": "aaaaaa", "of": ["zzzzzz", "bbbbbb"], "n": 1}
    assert known.renamed(plain) == {"claim_id": "claim#2", "of": ["claim#1", "workload#1"], "n": 1}


def test_a_sentence_is_renamed_by_whole_words_and_the_longest_first() -> None:
    known = names([{"workload_id": "abcdef"}, {"attempt_id": "abcdef/attempt-1"}])
    assert known.text("abcdef has abcdef/attempt-1, not abcdef2") == "workload#1 has attempt#1, not abcdef2"


def test_what_a_case_has_written_keeps_its_text() -> None:
    known = names([{"workload_id": "older-work"}, {"workload_id": "random-id"}], [case(LATE[0]), "older-work"])
    assert known.renamed({"workload_id": ["older-work", "random-id"]}) == {"workload_id": ["older-work", "workload#1"]}


def test_a_short_text_is_replaced_in_its_own_members_alone() -> None:
    known = names([{"claim_id": "a"}])
    assert known.renamed({"claim_id": "a", "worker_id": "a"}) == {"claim_id": "claim#1", "worker_id": "a"}
    assert known.text("a worker") == "a worker"


def test_small_tokens_are_counters_and_large_ones_opaque() -> None:
    known = names([{"fencing_token": 2}, {"fencing_token": 123_456_789}, {"version": True}])
    plain = {"fencing_token": 2, "version": 123_456_789, "at": 123_456_789}
    assert known.renamed(plain) == {"fencing_token": 2, "version": "token#1", "at": 123_456_789}


def test_the_order_in_which_a_mapping_was_built_does_not_show() -> None:
    one = names([{"claim_id": "aaaaaa", "attempt_id": "bbbbbb", "z": {"claim_id": "cccccc"}}])
    two = names([{"z": {"claim_id": "cccccc"}, "attempt_id": "bbbbbb", "claim_id": "aaaaaa"}])
    for text in ("aaaaaa", "bbbbbb", "cccccc"):
        assert one.text(text) == two.text(text)


# Whole reports ---------------------------------------------------------------------------------------------------

CASES = (case(*LATE), case(*LATE[:2], fenced("s1", "start", 12), fenced("h1", "heartbeat", 13, extension_ms=1)))


def certify(seed: int, directory: Path) -> tuple[dict[str, bytes], set[str]]:
    """The files of a failing run on a store with random ids, and the ids that it gave out."""
    backend = backend_answering(late_heartbeat, with_random_ids(seed))
    events = events_of(backend, CASES)
    write_reports([build(backend, Options(), collected(events))], None, directory)
    given = {
        found
        for event in events
        if isinstance(event, CaseEnded)
        for run in event.steps
        for found in re.findall("'([0-9a-f]{16})'", repr(run))
    }
    return dict(texts(directory)), given


def test_two_runs_give_equal_bytes_even_with_random_ids(tmp_path: Path) -> None:
    one, ids_of_one = certify(1, tmp_path / "one")
    two, ids_of_two = certify(2, tmp_path / "two")
    assert ids_of_one
    assert not ids_of_one & ids_of_two
    assert one == two
    assert any(name.startswith("cases/") for name in one)
    for content in one.values():
        assert not any(opaque.encode() in content for opaque in ids_of_one)
    assert b"claim#1" in one["certificate.json"]


@pytest.mark.parametrize("name", ["certificate.json", "certificate.md", "junit.xml"])
def test_no_path_host_or_time_is_in_a_certificate(name: str, tmp_path: Path) -> None:
    files, _ = certify(1, tmp_path / "here")
    text = files[name].decode()
    assert str(tmp_path) not in text
    assert not re.search(r'\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d|"seconds"', text)
