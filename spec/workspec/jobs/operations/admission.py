"""Admission as a decision inside the store: draw, policies, lease, charge (6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from workspec.core.condition import Term
from workspec.core.rule import Draw, Promises, Refuse, Skip, When, ids
from workspec.core.scope import Scope
from workspec.jobs import buckets, effects, terms
from workspec.jobs.draw import fair_draw
from workspec.jobs.facts import claim_of
from workspec.jobs.operations.shared import flag, move
from workspec.jobs.vocabulary import AdmissionUnit, ErrorCode

_HAS_BUCKET: Final = flag("the class has a bucket", "store", lambda scope: terms.bucket_of(scope) is not None)


def _units(_scope: Scope, taken: tuple[str, ...], after: Mapping[str, Any]) -> list[AdmissionUnit]:
    return [AdmissionUnit((claim_of(after[key].facts),)) for key in taken]


_PROMISES: Final = Promises(
    group=lambda facts: (facts.queue, facts.partition_key),
    within=ids("JOB-ADM-11 JOB-STK-04 JOB-ADM-12"),
    across=ids("JOB-FAIR-03 JOB-FAIR-01 JOB-FAIR-04"),
    complete=ids("JOB-ADM-13 JOB-ADM-09 JOB-FAIR-02 JOB-STK-03"),
    most=ids("JOB-ADM-02"),
    barriers=(
        Skip(ids("JOB-ADM-03 JOB-ADM-10"), terms.state_is("running")),
        Skip(ids("JOB-ADM-04 JOB-ADM-03"), terms.state_is("scheduled", "retryable")),
        Skip(ids("JOB-ADM-03"), ~terms.state_is("available")),
        Skip(ids("JOB-PAU-01"), terms.paused_queue),
        Skip(
            ids("JOB-ADM-03"),
            flag("its queue is not asked for", "call", lambda s: s.facts.queue not in s.call["queues"]),
        ),
        Skip(ids("JOB-ADM-03"), terms.due > terms.NOW),
        Skip(
            ids("JOB-STK-01 JOB-STK-05"),
            flag("it is for another worker", "facts", lambda s: s.facts.sticky_worker not in ("", s.call["worker"])),
        ),
    ),
)

ADMIT: Final = Draw(
    "admit",
    order=fair_draw,
    checks=(
        Refuse(
            ids("JOB-ADM-01 JOB-GEN-04 JOB-PRT-02"),
            ErrorCode.INVALID,
            terms.no_time,
            details=lambda _scope: {"reason": "bad_lease"},
        ),
    ),
    gate=(
        Skip(ids("JOB-ADM-05 JOB-ADM-09 JOB-GEN-11 JOB-QUA-03"), terms.quarantined_fingerprint),
        Skip(
            ids("JOB-RATE-01 JOB-ADM-05 JOB-RATE-07 JOB-RATE-10 JOB-ADM-09 JOB-GEN-11"),
            terms.too_dear,
            committing=(buckets.refill,),
        ),
    ),
    steps=(
        move("admit", "JOB-ADM-06 JOB-GEN-06"),
        effects.lease_row,
        buckets.note_charge,
        When(_HAS_BUCKET, (buckets.refill, buckets.charge)),
    ),
    closing=(effects.rotate,),
    until=terms.TAKEN >= Term("capacity", "units", "call", lambda scope: scope.call["capacity"]),
    answer=_units,
    states=("available",),
    promises=_PROMISES,
    requirements=ids(
        "JOB-ADM-02 JOB-ADM-03 JOB-ADM-06 JOB-ADM-07 JOB-ADM-08 JOB-ADM-11 JOB-ADM-13 JOB-FAIR-01 JOB-FAIR-03 "
        "JOB-STK-01 JOB-INV-02 JOB-INV-07 JOB-INV-15"
    ),
)
