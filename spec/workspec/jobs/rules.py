"""Plain functions that rules use: defaults, keys, comparisons, arithmetic of instants and tokens, checkpoints, and the
helpers for clients and operators. What makes a value unsound is in `workspec.jobs.values`.

A store writes its own; sharing these would share their faults.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final

from attrs import evolve

from workspec.jobs.vocabulary import AdmissionUnit, Checkpoint, Claim, Envelope

MAX_I64: Final = 2**63 - 1
MIN_I64: Final = -(2**63)
DEFAULT_QUEUE: Final = "default"
DEFAULT_MAX_ATTEMPTS: Final = 25
DEFAULT_CRASH_LIMIT: Final = 3
DEFAULT_RETRY_BASE_MS: Final = 1_000
DEFAULT_RETRY_CAP_MS: Final = 3_600_000
MAX_DOUBLINGS: Final = 20

EMPTY_CHECKPOINT: Final = Checkpoint(
    last_completed_step=None,
    completed_steps=(),
    in_progress_step=None,
    cursor_step=None,
    cursor=None,
    schema_version=0,
    step_set_hash="",
    crashes_by_step=(),
)
"""What the first claim of a job carries (JOB-CKP-02)."""


class Resumability(StrEnum):
    """What a worker may do with a checkpoint of earlier code."""

    CONTINUE = "continue"
    REMAPPED = "remapped"
    UNDECODABLE = "undecodable"


# What is stored for what was asked -------------------------------------------------------------------------------


def effective_queue(queue: str) -> str:
    """The omitted queue of an envelope is ``default``; nowhere else is a queue name mapped (JOB-ENQ-10)."""
    return queue or DEFAULT_QUEUE


def effective_weight(weight: int) -> int:
    """The cost of a job: an omitted weight costs 1 (JOB-RATE-01)."""
    return 1 if weight == 0 else weight


def stored_schema_version(schema_version: int) -> int:
    return 1 if schema_version == 0 else schema_version


def stored_max_attempts(max_attempts: int) -> int:
    return DEFAULT_MAX_ATTEMPTS if max_attempts == 0 else max_attempts


def canonical_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Ascending, without repetitions."""
    return tuple(sorted(set(tags)))


def effective_due(envelope: Envelope, now_ms: int) -> int:
    """When a new job is due: debounce wins over the schedule, and the past is kept as given (JOB-ENQ-12)."""
    if envelope.unique_debounce_ms > 0:
        return later(now_ms, envelope.unique_debounce_ms)
    return scheduled_instant(envelope.scheduled_at_ms, now_ms)


def scheduled_instant(scheduled_at_ms: int, now_ms: int) -> int:
    """An omitted schedule is now; so too where a replacement copies one (JOB-UNQ-20)."""
    return now_ms if scheduled_at_ms == 0 else scheduled_at_ms


# Who is the same -------------------------------------------------------------------------------------------------


def fingerprint(kind: str, payload: bytes) -> str:
    """What a client derives of kind and payload: 32 lowercase hexadecimal digits (JOB-FPR-01). No store computes it."""
    name = _utf8(kind)
    text = len(name).to_bytes(4, "little") + name + len(payload).to_bytes(4, "little") + payload
    return hashlib.sha256(text).digest()[:16].hex()


def effective_key(kind: str, key: bytes, exclude_kind: bool) -> bytes:
    """The uniqueness key within its namespace: keys of a kind and keys without one never collide (JOB-UNQ-11)."""
    if exclude_kind:
        return b"\x01G" + key
    name = _utf8(kind)
    return b"\x01K" + len(name).to_bytes(4, "big") + name + key


def same_content(envelope: Envelope, kind: str, fingerprint: str, queue: str) -> bool:
    """Whether an envelope replays the stored row of its id. The payload is not compared (JOB-ENQ-05)."""
    asked = (envelope.kind, envelope.fingerprint, effective_queue(envelope.queue))
    return asked == (kind, fingerprint, queue)


# Instants, delays, tokens ----------------------------------------------------------------------------------------


def saturated(instant_ms: int) -> int:
    """An instant cut to signed 64 bits."""
    return max(MIN_I64, min(MAX_I64, instant_ms))


def later(instant_ms: int, duration_ms: int) -> int:
    """The end of a lease, a delay, a window or a retention."""
    return saturated(instant_ms + duration_ms)


def age_ms(now_ms: int, at_ms: int) -> int:
    return saturated(max(now_ms - at_ms, 0))


def backoff_ms(n: int, base_ms: int, cap_ms: int) -> int:
    """The delay before run ``n`` + 1, ``n`` counting from 1: doubled at most 20 times, at most the cap (JOB-ACK-08)."""
    doublings = max(0, min(n - 1, MAX_DOUBLINGS))
    return saturated(min(base_ms << doublings, cap_ms))


def retry_delay_ms(delay_ms: int | None, attempt: int, base_ms: int, cap_ms: int) -> int:
    """The delay after a retry: as asked for if positive, uncapped, else the backoff of the new attempt (JOB-ACK-07)."""
    if delay_ms is not None and delay_ms > 0:
        return delay_ms
    return backoff_ms(attempt, base_ms, cap_ms)


def gain(now_ms: int, limit: int, window_ms: int, refilled_at_ms: int) -> int:
    """Whole tokens gained since the last refill; 0 if the clock stands or went back (JOB-RATE-05)."""
    if limit <= 0 or window_ms <= 0 or now_ms <= refilled_at_ms:
        return 0
    return (now_ms - refilled_at_ms) * limit // window_ms


def rate_eta_ms(required: int, available: int, limit: int, window_ms: int) -> int | None:
    """How long at least until a class has the tokens; None where none are gained (JOB-INS-07). Rounded down."""
    if limit <= 0 or window_ms <= 0:
        return None
    return saturated(max(required - available, 1) * window_ms // limit)


# Checkpoints -----------------------------------------------------------------------------------------------------


def with_crash(checkpoint: Checkpoint) -> Checkpoint:
    """The checkpoint after a lost lease: one crash more for the step in progress, if there is one (JOB-RCL-04).

    A new step comes last. Of repeated entries for a step the first one counts.
    """
    step = checkpoint.in_progress_step
    if step is None:
        return checkpoint
    crashes = list(checkpoint.crashes_by_step)
    for index, (name, count) in enumerate(crashes):
        if name == step:
            crashes[index] = (name, count + 1)
            break
    else:
        crashes.append((step, 1))
    return evolve(checkpoint, crashes_by_step=tuple(crashes))


def resumability(checkpoint: Checkpoint, schema_version: int, step_set_hash: str) -> Resumability:
    """Whether a worker with these steps can go on from a checkpoint (JOB-HLP-01)."""
    if checkpoint.step_set_hash in ("", step_set_hash):
        return Resumability.CONTINUE
    if checkpoint.schema_version != schema_version:
        return Resumability.REMAPPED
    return Resumability.UNDECODABLE


# Helpers for clients and operators -------------------------------------------------------------------------------


def group_claims(claims: Iterable[Claim], size: int) -> tuple[AdmissionUnit, ...]:
    """Claims of one kind in units of at most ``size``, at least 1 (JOB-HLP-02).

    Each goes to the unit of its kind that was opened last, if there is room, else opens one. Units stand in the order
    in which they were opened.
    """
    room = max(size, 1)
    units: list[list[Claim]] = []
    open_of: dict[str, list[Claim]] = {}
    for claim in claims:
        unit = open_of.get(claim.envelope.kind)
        if unit is None or len(unit) >= room:
            unit = open_of[claim.envelope.kind] = []
            units.append(unit)
        unit.append(claim)
    return tuple(AdmissionUnit(tuple(unit)) for unit in units)


def noisy_partitions(loads: Mapping[str, int]) -> tuple[str, ...]:
    """Partitions that load a queue with more than twice the mean of the others, ascending (JOB-HLP-03)."""
    counted = {name: max(load, 0) for name, load in loads.items()}
    total = sum(counted.values())
    others = len(counted) - 1
    if others < 1:
        return ()
    return tuple(name for name, load in sorted(counted.items()) if load >= 2 and load * others > 2 * (total - load))


def time_to_drain_ms(backlog: int, arrived_per_s: int, drained_per_s: int) -> int | None:
    """How long a backlog lasts at these rates, rounded down; None unless more is drained than arrives (JOB-HLP-04)."""
    if drained_per_s <= arrived_per_s or drained_per_s <= 0:
        return None
    return saturated(backlog * 1000 // (drained_per_s - arrived_per_s))


def _utf8(text: str) -> bytes:
    """Total on purpose: text that UTF-8 cannot carry is located before anything refuses it."""
    return text.encode(errors="surrogatepass")
