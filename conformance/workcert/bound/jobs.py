"""The jobs contract as the kit sees it: rows are read by `get_job` and the readers of what runs have written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from operator import attrgetter
from typing import Any, Final, get_type_hints

import attrs
from attrs import evolve, frozen

from workcert.binding import Binding, Found
from workcert.cases.contracts import contracts
from workcert.ordinary import ENVELOPE, OMITTED
from workspec.core.choice import UNSEEN
from workspec.core.record import Record, replaced
from workspec.core.rule import Refuse, checks_of
from workspec.core.scope import Call
from workspec.jobs import choices, facts, ports, profiles, vocabulary
from workspec.jobs.contract import CONTRACT
from workspec.jobs.vocabulary import Job, JobCounts, JobPage, QueueStats
from workspec.render.jobs.reasons import reason_of

CHANNELS: Final = {
    "checkpoint": "get_checkpoint",
    "result": "get_job_result",
    "output": "get_job_output",
    "progress": "get_job_progress",
}
"""What runs have written, in the order of `ShownJob`, and the method that reads it."""
FOREIGN: Final = "foreign_transaction"
NOT_ASSERTED: Final[Mapping[str, Any]] = {
    "arrived_last_minute": UNSEEN,
    "completed_last_minute": UNSEEN,
    "time_to_drain_ms": UNSEEN,
}
NO_REASON: Final[Mapping[str, Any]] = {"reason": UNSEEN}
OF_THE_REQUEST: Final[Mapping[str, Any]] = dict.fromkeys(
    (
        "unique_key",
        "unique_states",
        "unique_window_ms",
        "unique_replace",
        "unique_debounce_ms",
        "unique_exclude_kind",
        "pending",
        "tags",
    ),
    UNSEEN,
)
"""Members of an envelope that a claim need not give back (3.1)."""


EVERYTHING: Final = vocabulary.JobFilter(None, None, None, None, None, None, None, None, None, (), ())
PAGE: Final = 200
MOST_PAGES: Final = 100
"""A store whose pages never end lists nothing."""


@frozen(slots=False)
class ShownJob(Job):
    """A row with all that hangs on it, as far as the store has a reader."""

    checkpoint: Any
    result: Any
    output: Any
    progress: Any


NUMBERS: Final = tuple(
    name
    for name, hint in get_type_hints(vocabulary.Envelope).items()
    if isinstance(hint, type) and issubclass(hint, int) and hint is not bool
)
_numbers_of: Final = attrgetter(*NUMBERS)
LEAST, GREATEST = -(2**63), 2**63 - 1


def beyond_ranges(call: Call) -> str:
    """Numbers of an envelope that no store need be able to keep: of them the contract says nothing (3.1)."""
    for envelope in call.arguments.get("envelopes", ()):
        numbers = _numbers_of(envelope)
        if not LEAST <= min(numbers) <= max(numbers) <= GREATEST:
            name = next(each for each, value in zip(NUMBERS, numbers, strict=True) if not LEAST <= value <= GREATEST)
            return f"the {name} of an envelope is beyond signed 64 bits, of which the contract says nothing"
    return ""


def jobs() -> Binding:
    return Binding(
        contract=CONTRACT,
        calls=contracts()["jobs"],
        impossible=beyond_ranges,
        error=vocabulary.JobError,
        unavailable=vocabulary.StoreUnavailable,
        record=ShownJob,
        present=_present,
        read=_read,
        reads=frozenset(
            {"get_job", "list_jobs", "counts", "queue_stats", "explain_admission", "distinct_kinds", "get_rate_class"}
            | {"list_quarantined", *CHANNELS.values()}
        ),
        profile_abilities={profile.name: profile.abilities for profile in profiles.PROFILES},
        profile_methods=_methods(),
        tier_of=_tier_name,
        key_of=lambda job: facts.job_key(job.id),
        key_of_id=facts.job_key,
        fence=(),
        ordinary={"envelopes": ENVELOPE},
        omitted={"envelopes": OMITTED["Envelope"]},
        comparable=comparable,
        taken=_taken,
        versioned=False,
        legible=lambda key: key.startswith("job/"),
        reading=("get_job",),
        glance=_glance,
        glanced=Job,
        total=_total,
        listed=_listed,
        clock_after=_clock_after,
        reasons=frozenset(_reasons()) | {FOREIGN},
        share=0.6,
        configured={
            "crash_limit": choices.CRASH_LIMIT.id,
            "retry_base_ms": choices.RETRY_BASE_MS.id,
            "retry_cap_ms": choices.RETRY_CAP_MS.id,
        },
        kept=(
            facts.JobFacts,
            facts.HoldFacts,
            facts.BucketFacts,
            facts.QueueFacts,
            facts.FingerprintFacts,
            facts.DutyFacts,
            facts.EffectFacts,
            facts.StoreFacts,
        ),
        killed=("JOB-GEN-01", "JOB-DUR-01"),
        durable=("JOB-DUR-01", "JOB-GEN-01"),
        damaged=("JOB-DUR-01",),
        answered_only=_answered_only,
        ended_transaction=(vocabulary.ErrorCode.INVALID, {"reason": FOREIGN}),
    )


def _answered_only(call: Call, declared: Mapping[str, Any]) -> str:
    if call.name == "admit" and declared.get(choices.DRAW.id, choices.DRAW.default) != choices.DRAW.default:
        return "the store draws in an order of its own, which only the answer of an admission shows"
    return ""


def _methods() -> dict[str, tuple[str, ...]]:
    """The methods of each profile that has some of its own."""
    protocols: dict[str, type[Any]] = {
        profiles.PAUSE: ports.PauseStore,
        profiles.RATE: ports.RateStore,
        profiles.RESULT: ports.ResultStore,
        profiles.OUTPUT: ports.OutputStore,
        profiles.PROGRESS: ports.ProgressStore,
        profiles.CLOCK: ports.ClockStore,
        profiles.BACKPRESSURE: ports.BackpressureStore,
        profiles.INSPECT: ports.InspectStore,
        profiles.TXN: ports.TransactionalStore,
    }
    return {
        profile: tuple(
            name for name in vars(protocol) if not name.startswith("_") and callable(getattr(protocol, name))
        )
        for profile, protocol in protocols.items()
    }


def _tier_name(passed: frozenset[str]) -> str | None:
    tier = profiles.tier_of(passed)
    return None if tier is None else tier.name


# Reading -------------------------------------------------------------------------------------------------------------


_MEMBERS: Final = attrgetter(*(member.name for member in attrs.fields(Job)))


def _present(record: Record) -> ShownJob:
    job: facts.JobFacts = record.facts
    values = [*_MEMBERS(facts.present(record)), job.checkpoint, job.result, job.output, job.progress]
    return ShownJob(*values)


def _glance(handle: Any, key: str) -> Any:
    return handle.get_job(job_id=key.removeprefix("job/"), include_payload=True)


def _read(handle: Any, key: str) -> Any:
    found = _glance(handle, key)
    if not isinstance(found, Job):
        return found
    job_id = key.removeprefix("job/")
    readers = [getattr(handle, name, None) for name in CHANNELS.values()]
    seen = [UNSEEN if reader is None else reader(job_id=job_id) for reader in readers]
    return Found(None, ShownJob(*_MEMBERS(found), *seen))


def _total(handle: Any) -> int | None:
    counts = getattr(handle, "counts", None)
    if counts is None:
        return None
    answer = counts(queue=None)
    if not isinstance(answer, JobCounts):
        raise TypeError(f"it answered with {type(answer).__name__} where JobCounts is due")
    # A dictionary is a mapping that need not be asked whether it is one.
    shown = answer.by_state.values() if isinstance(answer.by_state, (dict, Mapping)) else (UNSEEN,)
    # What is hidden, or no number, is a finding about a call that counts, and tells nothing here.
    return sum(shown) if {int}.issuperset(map(type, shown)) else None


def _reasons() -> Iterator[str]:
    for operation in CONTRACT.operations:
        reasons = (reason_of(check) for check in checks_of(operation) if isinstance(check, Refuse))
        yield from (reason for reason in reasons if reason)


def _listed(handle: Any) -> int | None:
    if not hasattr(handle, "list_jobs"):
        return None
    number, cursor = 0, None
    for _page in range(MOST_PAGES):
        page = handle.list_jobs(where=EVERYTHING, cursor=cursor, limit=PAGE)
        number, cursor = number + len(page.jobs), page.cursor
        if cursor is None:
            return number
    return None


def _clock_after(call: Call, at_ms: int | None) -> int | None:
    match call.name:
        case "freeze_clock":
            return int(call.arguments["at_ms"])
        case "advance_clock" if at_ms is not None:
            return at_ms + int(call.arguments["delta_ms"])
        case "unfreeze_clock":
            return None
    return at_ms


# Answers -------------------------------------------------------------------------------------------------------------


def comparable(value: Any) -> Any:
    """An answer without what is not asserted: rates, reasons in words, the text of a cursor, a queue that nothing
    tells of (JOB-INS-06, JOB-QUA-07, JOB-INS-04, JOB-BPR-12)."""
    if value is None:
        # As most calls answer.
        return None
    if isinstance(value, (list, tuple)):
        return [comparable(item) for item in value if not _may_be_absent(item)]
    if isinstance(value, vocabulary.AdmissionUnit) and _is_whole(value):
        claims = (evolve(claim, envelope=replaced(claim.envelope, OF_THE_REQUEST)) for claim in value.claims)
        return evolve(value, claims=tuple(claims))
    if isinstance(value, QueueStats):
        return evolve(value, **NOT_ASSERTED)
    if isinstance(value, vocabulary.QuarantineEntry):
        return evolve(value, **NO_REASON)
    if isinstance(value, JobPage):
        return value.jobs, value.cursor is not None
    return value


def _is_whole(unit: vocabulary.AdmissionUnit) -> bool:
    """A store may answer with anything: only what is made as the port says is looked into."""
    claims = unit.claims if isinstance(unit.claims, list | tuple) else (None,)
    return all(isinstance(each, vocabulary.Claim) and isinstance(each.envelope, vocabulary.Envelope) for each in claims)


def _taken(answer: Any) -> list[str]:
    units = answer if isinstance(answer, list | tuple) else ()
    admitted = [unit for unit in units if isinstance(unit, vocabulary.AdmissionUnit) and _is_whole(unit)]
    claims = [claim for unit in admitted for claim in unit.claims]
    reclaimed = [unit.job_id for unit in units if isinstance(unit, vocabulary.Reclaimed)]
    return [facts.job_key(str(job_id)) for job_id in (*(claim.envelope.id for claim in claims), *reclaimed)]


def _may_be_absent(value: Any) -> bool:
    """Statistics of a queue without rows and settings (JOB-BPR-12, JOB-PRT-13)."""
    return isinstance(value, QueueStats) and not (
        value.by_state or value.paused or value.max_unfinished_jobs is not None
    )
