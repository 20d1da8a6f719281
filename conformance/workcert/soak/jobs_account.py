"""The account of a soak of the jobs contract.

What is asked of rows holds of every row that a right store can leave behind; what is asked of answers follows from
calls of which one had ended before the other began.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from attrs import define, field

from workcert.backends.registry import LoadedBackend
from workcert.binding import Found
from workcert.judge.hidden import shows
from workcert.raised import told
from workcert.run.calling import CallHung
from workcert.soak.accounts import Account, Finding, Findings, broken_invariants, by_subject, crashes
from workcert.soak.notes import Deed
from workspec.jobs.vocabulary import State

ACKS: Final = frozenset({"ack", "ack_success_with_result"})
FENCED: Final = ACKS | {"checkpoint", "write_job_output", "write_job_progress"}
STANDS: Final[Mapping[State, str]] = {
    State.COMPLETED: "finished",
    State.ARCHIVED: "dead",
    State.UNDECODABLE: "dead",
    State.QUARANTINED: "dead",
    State.CANCELLED: "cancelled",
}
"""All other states wait."""
LOST: Final = "JOB-DUR-01 JOB-GEN-01"


def subjects(deed: Deed) -> Iterator[str]:
    """The jobs that a call names."""
    if "job" in deed.about:
        yield deed.about["job"]
    yield from (job["id"] for job in deed.about.get("envelopes", ()))
    yield from (job for job, _fence in deed.about.get("refs", ()))
    if deed.call in ("admit", "reclaim_expired") and deed.ok:
        yield from (job for job, _number in deed.answer)


def account(backend: LoadedBackend, handle: Any, deeds: Sequence[Deed]) -> Account:
    """Ask every job where it is. ``handle`` is opened anew, when all processes have ended."""
    return _Accounting(backend, handle, deeds, Findings(by_subject(deeds, subjects))).made()


@define(eq=False)
class _Accounting:
    backend: LoadedBackend
    handle: Any
    deeds: Sequence[Deed]
    findings: Findings
    submitted: set[str] = field(factory=set)
    standing: Counter[str] = field(factory=Counter)
    rows: int = 0
    _open_sweeps: list[Deed] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._open_sweeps = [deed for deed in self.deeds if deed.call == "reclaim_expired" and deed.open]

    def made(self) -> Account:
        stories = self.findings.stories
        for job, story in stories.items():
            self._answers(job, story)
            try:
                found = self.backend.binding.read(self.handle, f"job/{job}")
            except CallHung:
                raise
            except Exception as error:
                self.findings.add("JOB-INS-01", job, f"reading the row of {job} raised {told(error)}")
                continue
            self._row(job, story, None if found is None else _record(found))
        self._batches()
        self._total()
        crashed: list[Finding] = list(crashes(self.deeds, "JOB-GEN-01"))
        return Account(len(self.submitted), dict(self.standing), (*crashed, *self.findings.found))

    # What was answered -----------------------------------------------------------------------------------------------

    def _answers(self, job: str, story: Sequence[Deed]) -> None:
        claims = [(deed, fence) for deed in story if deed.call == "admit" and deed.ok for fence in _numbers(deed, job)]
        self._claimed_twice(job, claims, story)
        self._ended_twice(job, story)
        self._late(job, claims, story)
        counts = [
            count for deed in story if deed.call == "reclaim_expired" and deed.ok for count in _numbers(deed, job)
        ]
        for count, times in Counter(counts).items():
            if times > 1:
                self.findings.add("JOB-RCL-08", job, f"lost lease number {count} of {job} was reclaimed {times} times")

    def _claimed_twice(self, job: str, claims: Sequence[tuple[Deed, int]], story: Sequence[Deed]) -> None:
        for fence, times in Counter(fence for _deed, fence in claims).items():
            if times > 1:
                self.findings.add("JOB-ADM-10 JOB-GEN-07", job, f"fence {fence} of {job} was given {times} times")
        in_order = sorted(claims, key=lambda each: each[1])
        for (earlier, low), (later, high) in pairwise(in_order):
            if low < high and later.before(earlier):
                text = f"{job} was given fence {low} after it had been given fence {high}"
                self.findings.add("JOB-GEN-07", job, text)
            swept = any(
                sweep.asked_ns < later.told_ns and earlier.asked_ns < sweep.told_ns for sweep in self._open_sweeps
            )
            if low < high and not swept and not any(self._may_end(deed, job, low) for deed in story):
                text = f"{job} was given again with fence {high}, and nothing had ended the run with fence {low}"
                self.findings.add("JOB-ADM-10", job, text)

    def _may_end(self, deed: Deed, job: str, fence: int) -> bool:
        if not deed.possible:
            return False
        ends = deed.call in ACKS and deed.about["fence"] == fence
        return ends or deed.call == "operator_cancel" or (deed.call == "reclaim_expired" and bool(_numbers(deed, job)))

    def _ended_twice(self, job: str, story: Sequence[Deed]) -> None:
        accepted = [deed for deed in story if deed.call in ACKS and deed.ok]
        for fence, times in Counter(deed.about["fence"] for deed in accepted).items():
            if times > 1:
                text = f"{times} reports under fence {fence} of {job} were accepted: the first ends the run"
                self.findings.add("JOB-ACK-04", job, text)
        successes = [deed for deed in accepted if deed.about["outcome"] == "success"]
        if len({deed.about["fence"] for deed in successes}) > 1:
            self.findings.add("JOB-GEN-09 JOB-ADM-10", job, f"{len(successes)} successes of {job} were accepted")
        if any(deed.about.get("forged") for deed in accepted):
            self.findings.add("JOB-ACK-01", job, f"a report under a fence that nobody was given was accepted for {job}")
        for success in successes:
            if any(deed.call == "admit" and deed.ok and success.before(deed) for deed in story):
                self.findings.add("JOB-GEN-09", job, f"{job} was given to a worker after its success was accepted")

    def _late(self, job: str, claims: Sequence[tuple[Deed, int]], story: Sequence[Deed]) -> None:
        """What was accepted under a fence that was already known to be lost."""
        took = {fence: deed for deed, fence in claims}
        for deed in story:
            for fence in _accepted_under(deed, job):
                ended = next((why for why in story if self._ends(why, job, fence, took) and why.before(deed)), None)
                if ended is not None:
                    text = (
                        f"{deed.call} under fence {fence} of {job} was accepted after {ended.call} had ended that run"
                    )
                    self.findings.add("JOB-ACK-01 JOB-MWR-02", job, text)

    def _ends(self, why: Deed, job: str, fence: int, took: Mapping[int, Deed]) -> bool:
        if not why.ok:
            return False
        if why.call in ACKS:
            return bool(why.about["fence"] == fence)
        if why.call == "admit":
            return any(number > fence for number in _numbers(why, job))
        sweeps = why.call == "reclaim_expired" and bool(_numbers(why, job))
        # It has ended whatever run there was: that of this fence, if it had begun by then.
        return (sweeps or why.call == "operator_cancel") and fence in took and took[fence].before(why)

    # What the row shows ----------------------------------------------------------------------------------------------

    def _row(self, job: str, story: Sequence[Deed], row: Any) -> None:
        asks = [deed for deed in story if deed.call == "enqueue"]
        answered = any(deed.ok for deed in asks)
        if row is None:
            if answered:
                self._gone(job, story, asks)
            return
        if not any(deed.possible for deed in asks):
            self.findings.add("JOB-ENQ-02", job, f"{job} is stored, and all that submitted it were refused")
        self.submitted.add(job)
        self.rows += 1
        if shows(row, ("state",)):
            self.standing[STANDS.get(row.state, "waiting")] += 1
            self._state(job, story, row)
        else:
            self.standing["not shown"] += 1
        for requirement, text in broken_invariants(self.backend.binding, row):
            self.findings.add(requirement, job, f"the row of {job} breaks: {text}")
        if shows(row, ("attempt", "crash_attempt")):
            self._counters(job, story, row)

    def _gone(self, job: str, story: Sequence[Deed], asks: Sequence[Deed]) -> None:
        self.submitted.add(job)
        kept = next(each["keep"] for deed in asks for each in deed.about["envelopes"] if each["id"] == job)
        if kept == 0 and any(_may_be(deed, "success") for deed in story):
            self.standing["finished"] += 1
            return
        self.standing["lost"] += 1
        self.findings.add(LOST, job, f"{job} was accepted and is gone, and no success of it can have removed it")

    def _state(self, job: str, story: Sequence[Deed], row: Any) -> None:
        successes = [deed for deed in story if _may_be(deed, "success")]
        told_success = next((deed for deed in successes if deed.ok), None)
        if told_success is not None and row.state != State.COMPLETED:
            self.findings.add(LOST, job, f"a success of {job} was accepted, and it is {row.state}")
        if row.state == State.COMPLETED:
            self._result(job, successes, told_success, row)
        for outcome, state in (("skip", State.ARCHIVED), ("undecodable", State.UNDECODABLE)):
            if any(_may_be(deed, outcome) and deed.ok for deed in story) and not _may_be_rearmed(story):
                self._rests(job, row, state, f"a report of {outcome}")
        if any(deed.call == "operator_cancel" and deed.ok for deed in story) and not _may_be_rearmed(story):
            self._rests(job, row, State.CANCELLED, "its cancellation")
        causes = {
            State.ARCHIVED: any(_may_be(deed, "retry") or _may_be(deed, "skip") for deed in story),
            State.UNDECODABLE: any(_may_be(deed, "undecodable") for deed in story),
            State.CANCELLED: any(deed.call == "operator_cancel" and deed.possible for deed in story),
        }
        if not causes.get(row.state, True):
            self.findings.add("JOB-GEN-01", job, f"{job} is {row.state}, and nobody asked for that")

    def _rests(self, job: str, row: Any, state: State, why: str) -> None:
        if row.state != state:
            self.findings.add(LOST, job, f"{why} of {job} was accepted, and it is {row.state} instead of {state}")

    def _result(self, job: str, successes: Sequence[Deed], told_success: Deed | None, row: Any) -> None:
        if not successes:
            self.findings.add("JOB-GEN-01", job, f"{job} is completed, and no worker reported a success")
            return
        if not shows(row, ("result.content",)):
            return
        result = getattr(row.result, "content", None)
        stored = None if result is None else bytes(result).decode(errors="replace")
        wanted = {deed.about["result"] for deed in ([told_success] if told_success is not None else successes)}
        if stored not in wanted and hasattr(self.handle, "get_job_result"):
            text = f"the result of {job} is {stored!r}, and the run whose success was accepted gave {wanted}"
            self.findings.add("JOB-RES-02", job, text)

    def _counters(self, job: str, story: Sequence[Deed], row: Any) -> None:
        retries = [deed for deed in story if _may_be(deed, "retry")]
        least = sum(deed.ok for deed in retries)
        if not least <= row.attempt <= len(retries):
            text = f"{job} shows {row.attempt} attempts; its workers were told of {least}, and asked for {len(retries)}"
            self.findings.add("JOB-GEN-08 JOB-ACK-06", job, text)
        lost = [count for deed in story if deed.call == "reclaim_expired" and deed.ok for count in _numbers(deed, job)]
        if lost and row.crash_attempt < max(lost):
            text = f"{job} shows {row.crash_attempt} lost leases, and number {max(lost)} was told"
            self.findings.add("JOB-GEN-08 JOB-RCL-02", job, text)

    # All of them -----------------------------------------------------------------------------------------------------

    def _batches(self) -> None:
        """All of a batch or nothing of it."""
        for deed in self.deeds:
            jobs = [each for each in deed.about.get("envelopes", ()) if each["keep"]]
            there = [each["id"] for each in jobs if each["id"] in self.submitted]
            if deed.open and len(there) not in (0, len(jobs)):
                self.findings.add("JOB-ENQ-02", there[0], f"of a batch of {len(jobs)} jobs {len(there)} are stored")

    def _total(self) -> None:
        total = self.backend.binding.total
        number = None if total is None else total(self.handle)
        if number is not None and number != self.rows:
            text = f"the store counts {number} rows, and {self.rows} of those that were submitted can be read"
            self.findings.add("JOB-INS-05 JOB-INV-10", "", text)


def _record(found: Found) -> Any:
    """Anything else than a row with a record is a finding of who reads it."""
    return found.record


def _numbers(deed: Deed, job: str) -> list[int]:
    """The fences or counts that an answer gives for a job."""
    return [number for name, number in deed.answer or () if name == job]


def _may_be(deed: Deed, outcome: str) -> bool:
    return deed.call in ACKS and deed.possible and bool(deed.about["outcome"] == outcome)


def _may_be_rearmed(story: Sequence[Deed]) -> bool:
    return any(deed.call == "operator_retry" and deed.possible for deed in story)


def _accepted_under(deed: Deed, job: str) -> list[int]:
    """The fences of a job under which this call was accepted."""
    if not deed.ok:
        return []
    if deed.call in FENCED:
        return [deed.about["fence"]]
    if deed.call == "renew":
        return [fence for name, fence in deed.about["refs"] if name == job and job not in deed.answer]
    return []
