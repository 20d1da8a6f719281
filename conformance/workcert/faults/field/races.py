"""Races: one call decides, others commit, and the call writes all the same."""

from __future__ import annotations

from typing import Any, Final

from attrs import evolve

from workcert.backends.protocol import Ability
from workcert.faults.field.handles import in_two_writes, over, unguarded, written_by
from workcert.faults.field.model import Seen, Tier, by_backend
from workspec.core.record import Record, State, replaced
from workspec.jobs.facts import JobFacts


def _on_top(read: State, now: State, decided: State) -> State:
    """What a row lost to another call is done to what that call has left."""
    left = dict(now)
    for key, record in written_by(read, decided).items():
        base, present = read.get(key), now.get(key)
        left[key] = record if base is None or present is None or present is base else _again(base, present, record)
    return left


def _again(base: Record, present: Record, record: Record) -> Record:
    facts = record.facts
    if isinstance(facts, JobFacts):
        facts = replaced(facts, {"crash_attempt": present.facts.crash_attempt + 1})
    return Record((present.version or 1) + 1, facts, _both_logs(base.log, present.log, record.log))


def _both_logs(base: Any, present: Any, decided: Any) -> Any:
    """What is there, and what the decision would have added to what it had read."""
    added = {name: getattr(decided, name)[len(part) :] for name, part in vars(base).items()}
    return evolve(present, **{name: getattr(present, name) + new for name, new in added.items()})


def _lease_that_is_over(facts: Any) -> Any:
    claim = facts.claim
    return facts if claim is None else replaced(facts, {"claim": evolve(claim, expires_at=claim.claimed_at)})


def _job_lease_that_is_over(facts: Any) -> Any:
    return replaced(facts, {"expires_at_ms": facts.claimed_at_ms}) if isinstance(facts, JobFacts) else facts


WORKLOAD: Final = (
    Seen(
        "two claims take the same work",
        "WRK-MWR-05 WRK-CLM-10 WRK-EDL-04",
        "claim",
        Tier.INTERLEAVING,
        "The claim reads what is free and then writes, and nothing in the write says what was read.",
        by_backend(unguarded("claim"), Ability.SECOND_HANDLE),
    ),
    Seen(
        "recovery writes over what came after it had looked",
        "WRK-REC-01 WRK-MWR-05 WRK-REC-09 WRK-MWR-06",
        "recover_expired",
        Tier.INTERLEAVING,
        "Recovery collects ids first and updates by id later, without asking again whether the lease has lapsed.",
        by_backend(unguarded("recover_expired", over), Ability.SECOND_HANDLE),
    ),
    Seen(
        "two recoveries record one loss twice",
        "WRK-MWR-06 WRK-REC-01 WRK-MWR-05 WRK-REC-09",
        "recover_expired",
        Tier.INTERLEAVING,
        "Each process runs the pass, and each appends what it has to say without a guard.",
        by_backend(unguarded("recover_expired", _on_top), Ability.SECOND_HANDLE),
    ),
    Seen(
        "a claim is stored before its lease",
        "WRK-REC-01 WRK-MWR-05 WRK-CLM-05 WRK-GEN-04",
        "claim",
        Tier.INTERLEAVING,
        "State and lease are two writes, and a recovery in between finds a claim that nothing keeps alive.",
        by_backend(in_two_writes("claim", _lease_that_is_over), Ability.SECOND_HANDLE),
    ),
)
JOBS: Final = (
    Seen(
        "two admissions take the same job",
        "JOB-ADM-10 JOB-GEN-01",
        "admit",
        Tier.INTERLEAVING,
        "The admission reads what waits and then writes, and nothing in the write says what was read.",
        by_backend(unguarded("admit"), Ability.SECOND_HANDLE),
    ),
    Seen(
        "a sweep writes over what came after it had looked",
        "JOB-GEN-01 JOB-GEN-09 JOB-RCL-08",
        "reclaim_expired",
        Tier.INTERLEAVING,
        "The sweep collects ids first and updates by id later, without asking again who holds the job.",
        by_backend(unguarded("reclaim_expired", over), Ability.SECOND_HANDLE),
    ),
    Seen(
        "two sweeps count one lost lease twice",
        "JOB-RCL-08 JOB-GEN-01 JOB-GEN-08",
        "reclaim_expired",
        Tier.INTERLEAVING,
        "Each process runs the sweep, and each adds one to the count without a guard.",
        by_backend(unguarded("reclaim_expired", _on_top), Ability.SECOND_HANDLE),
    ),
    Seen(
        "a job is taken before it has its lease",
        "JOB-GEN-01 JOB-GEN-06 JOB-ADM-10",
        "admit",
        Tier.INTERLEAVING,
        "State and lease are two writes, and a sweep in between finds a running job that nothing keeps alive.",
        by_backend(in_two_writes("admit", _job_lease_that_is_over), Ability.SECOND_HANDLE),
    ),
)
