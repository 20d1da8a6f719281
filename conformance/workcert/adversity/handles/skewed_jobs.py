"""What two processes with different clocks do on one store of jobs, and what must hold at whatever instants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from attrs import define, field

from workcert.binding import Binding
from workcert.judge.hidden import shows
from workcert.ordinary import ENVELOPE
from workcert.raised import told
from workcert.soak.accounts import broken_invariants
from workspec.jobs.vocabulary import Claim, Envelope, JobError, LeaseRef, Outcome

QUEUE: Final = "q"
LEASE_MS: Final = 60_000
EACH: Final = 4
"""Jobs that each process enqueues."""
MANY: Final = 100
NEEDED: Final = frozenset({"enqueue", "admit", "renew", "ack", "reclaim_expired", "promote_due"})
"""The calls without which nothing can be tried."""


class BrokenError(Exception):
    """A demand that does not hold: ids with blanks between, and the text."""


@define(eq=False)
class Skewing:
    """``log``: the calls as they were made. ``broken``: ids and text of the demand that did not hold."""

    binding: Binding
    first: Any
    second: Any
    methods: frozenset[str]
    """The calls that the store has."""
    log: list[str] = field(factory=list)
    broken: tuple[tuple[str, ...], str] | None = None
    fences: dict[str, int] = field(factory=dict)
    held: dict[str, tuple[str, LeaseRef]] = field(factory=dict)
    """By job, who runs it and under which lease, as far as they know."""
    finished: set[str] = field(factory=set)
    enqueued: dict[str, list[str]] = field(factory=dict)

    def run(self) -> None:
        """All of it; `broken` says what came of it."""
        try:
            self._all()
        except BrokenError as error:
            ids, text = error.args
            self.broken = (tuple(ids.split()), text)

    def _all(self) -> None:
        for who in ("A", "B"):
            self.enqueue(who)
        for who in ("A", "B", "A"):
            self.admit(who, 2)
        # The other one may see these leases as over. Nobody has reclaimed them, so they hold (JOB-ACK-02).
        self.renew("A")
        self.finish_one("A")
        for who in ("B", "A"):
            self.admit(who, 2)
            self.reclaim(who)
            self.promote(who)
        self.admit("B", MANY)
        self.admit("A", MANY)
        for job in sorted(self.held):
            self.finish(job)
        self.reclaim("B")
        self.admit("A", MANY)
        self.admit("B", MANY)
        self.account()

    # Calls -----------------------------------------------------------------------------------------------------------

    def call(self, who: str, name: str, **arguments: Any) -> Any:
        """One call by one of the two; a refusal is raised as it is.

        Raises:
            BrokenError: anything else was raised.
        """
        handle = self.first if who == "A" else self.second
        try:
            answer = getattr(handle, name)(**arguments)
        except JobError as refused:
            self.log.append(f"{who} {name}: {refused.code}")
            raise
        except Exception as error:
            raise BrokenError("JOB-GEN-02", f"{who} {name} raised {told(error)}") from error
        self.log.append(f"{who} {name}: {_brief(answer)}")
        return answer

    def enqueue(self, who: str) -> None:
        jobs = [f"{who}{number}" for number in range(EACH)]
        for job in jobs:
            try:
                self.call(who, "enqueue", envelopes=(_envelope(job),))
            except JobError as refused:
                raise BrokenError("JOB-ENQ-02", f"enqueue of {job} was refused with {refused.code}") from refused
        self.enqueued[who] = jobs

    def admit(self, who: str, capacity: int) -> None:
        lease = f"{who}-{len(self.log)}"
        units = self.call(
            who, "admit", worker=who, lease_id=lease, queues=(QUEUE,), capacity=capacity, lease_ms=LEASE_MS, quantum=1
        )
        claims = [claim for unit in units for claim in unit.claims]
        for claim in claims:
            self._take(who, claim)
        self._in_order(claims)

    def _take(self, who: str, claim: Claim) -> None:
        job = claim.envelope.id
        if job in self.finished:
            raise BrokenError("JOB-GEN-09 JOB-ADM-10", f"{job} was given out after its success was accepted")
        if job in self.held:
            holder = self.held[job][0]
            raise BrokenError("JOB-ADM-10", f"{job} was given to {who} while {holder} runs it, and nobody reclaimed it")
        before = self.fences.get(job, 0)
        if claim.fence != before + 1:
            raise BrokenError("JOB-GEN-07", f"fence {claim.fence} of {job} comes after {before}")
        self.fences[job] = claim.fence
        self.held[job] = (who, LeaseRef(job, claim.lease_id, claim.fence))

    def _in_order(self, claims: Sequence[Claim]) -> None:
        """Jobs of one producer, each given out for the first time: their due times and ids rise together, unless that
        clock ran back."""
        for jobs in self.enqueued.values():
            fresh = [claim.envelope.id for claim in claims if claim.fence == 1 and claim.envelope.id in jobs]
            if fresh != sorted(fresh, key=jobs.index):
                raise BrokenError("JOB-ADM-11", f"{', '.join(fresh)} were given out in another order than they came")
            left = [job for job in jobs if job not in self.fences]
            if fresh and any(jobs.index(job) < jobs.index(fresh[-1]) for job in left):
                raise BrokenError("JOB-ADM-11", f"{fresh[-1]} was given out before {left[0]}, which came first")

    def renew(self, who: str) -> None:
        leases = [lease for holder, lease in self.held.values() if holder == who]
        lost = self.call(who, "renew", leases=leases, lease_ms=LEASE_MS)
        if lost:
            text = f"renew says that {', '.join(lost)} are lost, and nobody has reclaimed them"
            raise BrokenError("JOB-RNW-02 JOB-ACK-02", text)

    def finish_one(self, who: str) -> None:
        job = next((job for job, (holder, _lease) in self.held.items() if holder == who), None)
        if job is not None:
            self.finish(job)

    def finish(self, job: str) -> None:
        who, lease = self.held.pop(job)
        if not self._acked(who, lease):
            text = f"the success of {job} by its holder {who} was refused, and nobody has reclaimed it"
            raise BrokenError("JOB-ACK-02 JOB-ACK-01", text)
        self.finished.add(job)
        if self._acked(who, lease):
            raise BrokenError("JOB-ACK-04", f"a second success of {job} under the same fence was accepted")

    def reclaim(self, who: str) -> None:
        for found in self.call(who, "reclaim_expired", limit=MANY):
            job = found.job_id
            if job not in self.held:
                raise BrokenError("JOB-RCL-01 JOB-GEN-09", f"{job} was reclaimed, and nobody runs it")
            holder, lease = self.held.pop(job)
            if self._acked(holder, lease):
                text = f"the success of {job} by {holder} was accepted after {who} had reclaimed it"
                raise BrokenError("JOB-ACK-01 JOB-RNW-05", text)

    def _acked(self, who: str, lease: LeaseRef) -> bool:
        arguments = {"outcome": Outcome.SUCCESS, "error": None, "delay_ms": None, "logs": (), "actual_weight": None}
        try:
            self.call(who, "ack", lease=lease, **arguments)
        except JobError:
            return False
        return True

    def promote(self, who: str) -> None:
        self.call(who, "promote_due", limit=MANY)

    def account(self) -> None:
        """Every job is there, and where it should be; both processes see the same. Of a store that shows no rows only
        answers are judged."""
        if "get_job" not in self.methods:
            return
        for job in (job for jobs in self.enqueued.values() for job in jobs):
            rows = [self.call(who, "get_job", job_id=job, include_payload=True) for who in ("A", "B")]
            if any(row is None for row in rows):
                raise BrokenError("JOB-DUR-01 JOB-MWR-01", f"{job} was enqueued and is gone")
            if rows[0] != rows[1]:
                raise BrokenError("JOB-MWR-01", f"the two processes see different rows of {job}")
            self._stands(job, rows[0])

    def _stands(self, job: str, row: Any) -> None:
        if not shows(row, ("state",)):
            return
        if (row.state == "completed") != (job in self.finished):
            expected = "completed" if job in self.finished else "unfinished"
            raise BrokenError("JOB-GEN-09", f"{job} is {row.state}, and should be {expected}")
        if (row.state == "running") != (job in self.held):
            raise BrokenError("JOB-ADM-10", f"{job} is {row.state}, and its workers know otherwise")
        for requirement, text in broken_invariants(self.binding, row):
            raise BrokenError(requirement, f"the row of {job} breaks: {text}")


def _envelope(job: str) -> Envelope:
    return Envelope(**{**ENVELOPE, "id": job, "queue": QUEUE, "tags": ()})


def _brief(answer: Any) -> str:
    if isinstance(answer, list | tuple):
        found = [[claim.envelope.id for claim in each.claims] if hasattr(each, "claims") else each for each in answer]
        return str([getattr(each, "job_id", each) for each in found])
    return "answered" if hasattr(answer, "state") else str(answer)


def told_of(log: Sequence[str]) -> str:
    """The calls as one sentence of a failure."""
    return "; ".join(log)
