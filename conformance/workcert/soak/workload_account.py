"""The account of a soak of the workload contract. As for jobs: rows by what they hold, answers by their order where one
had ended before the other began."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from attrs import define, field

from workcert.backends.registry import LoadedBackend
from workcert.judge.hidden import shows
from workcert.raised import told
from workcert.run.calling import CallHung
from workcert.soak.accounts import Account, Findings, broken_invariants, by_subject, crashes
from workcert.soak.notes import Deed
from workcert.soak.workload_actor import TENANT

STANDS: Final = {"SUCCEEDED": "finished", "DEAD_LETTER": "dead", "CANCELLED": "cancelled"}
"""All other states wait."""
FENCED: Final = frozenset({"start", "heartbeat", "checkpoint", "complete", "fail", "acknowledge_cancel"})
PASSES: Final = frozenset({"recover_expired", "enforce_deadlines"})
LOST: Final = "WRK-GEN-01 WRK-INV-14"
ATTEMPTS: Final = tuple(
    f"attempts[].{name}"
    for name in ("attempt_id", "claim_id", "worker_id", "fencing_token", "status", "started_at", "ended_at")
)


def subjects(deed: Deed) -> Iterator[str]:
    """The workloads that a call names."""
    if "workload" in deed.about:
        yield deed.about["workload"]
    elif deed.call == "admit" and deed.ok:
        yield deed.answer[0]
    elif deed.call in PASSES and deed.ok:
        yield from deed.answer


def account(backend: LoadedBackend, handle: Any, deeds: Sequence[Deed]) -> Account:
    """Ask every workload where it is. ``handle`` is opened anew, when all processes have ended."""
    return _Accounting(backend, handle, deeds, Findings(by_subject(deeds, subjects))).made()


@define(eq=False)
class _Accounting:
    backend: LoadedBackend
    handle: Any
    deeds: Sequence[Deed]
    findings: Findings
    standing: Counter[str] = field(factory=Counter)
    rows: dict[str, Any] = field(factory=dict)

    def made(self) -> Account:
        self._read()
        self._admissions()
        for workload, story in self.findings.stories.items():
            self._answers(workload, story)
            if workload in self.rows:
                self._row(workload, story, self.rows[workload])
        for row in self.rows.values():
            self.standing[STANDS.get(row.state, "waiting")] += 1
            for requirement, text in broken_invariants(self.backend.binding, row):
                self.findings.add(requirement, row.workload_id, f"the record of {row.workload_id} breaks: {text}")
        submitted = len(self.rows) + self.standing["lost"]
        found = (*crashes(self.deeds, "WRK-GEN-01"), *self.findings.found)
        return Account(submitted, dict(self.standing), found)

    def _read(self) -> None:
        for application in sorted({deed.about["application"] for deed in self.deeds if deed.call == "admit"}):
            try:
                found = self.handle.list_workloads(tenant_id=TENANT, application_id=application, fresh=True)
                self.rows.update((row.workload.workload_id, row.workload) for row in found)
            except CallHung:
                raise
            except Exception as error:
                text = f"listing the workloads of {application} raised {told(error)}"
                self.findings.add("WRK-PRT-12", "", text)

    # What was admitted -----------------------------------------------------------------------------------------------

    def _admissions(self) -> None:
        asks: defaultdict[tuple[str, str], list[Deed]] = defaultdict(list)
        for deed in self.deeds:
            if deed.call == "admit":
                asks[deed.about["application"], deed.about["key"]].append(deed)
        stored = Counter((row.application_id, row.idempotency_key) for row in self.rows.values())
        for (application, key), deeds in asks.items():
            self._admission(application, key, deeds, stored[application, key])
        for application, key in stored.keys() - asks.keys():
            self.findings.add(
                "WRK-INV-15", "", f"a workload of {application} is stored whose key nobody asked for: {key}"
            )

    def _admission(self, application: str, key: str, deeds: Sequence[Deed], stored: int) -> None:
        answers = [deed.answer for deed in deeds if deed.ok]
        ids = {workload for workload, _created in answers}
        name = next(iter(ids), "")
        if stored > 1 or len(ids) > 1:
            text = f"the key {key} of {application} was admitted as {max(stored, len(ids))} workloads"
            self.findings.add("WRK-ADM-14 WRK-MWR-09", name, text)
        if sum(created for _workload, created in answers) > 1:
            self.findings.add("WRK-ADM-14 WRK-MWR-09", name, f"{name} was created more than once, by the answers")
        if stored and not any(deed.possible for deed in deeds):
            self.findings.add("WRK-GEN-02", name, f"the key {key} of {application} is stored, and it was refused")
        for workload in ids - self.rows.keys():
            self.standing["lost"] += 1
            self.findings.add(LOST, workload, f"{workload} was admitted and is gone")

    # What was answered -----------------------------------------------------------------------------------------------

    def _answers(self, workload: str, story: Sequence[Deed]) -> None:
        claims = {deed.answer[1]: deed for deed in story if deed.call == "claim" and deed.ok}
        for token, times in Counter(deed.answer[1] for deed in story if deed.call == "claim" and deed.ok).items():
            if times > 1:
                self.findings.add("WRK-INV-04", workload, f"token {token} of {workload} was given {times} times")
        results = {deed.about["result"] for deed in story if deed.call == "complete" and deed.ok}
        if len(results) > 1:
            text = f"{len(results)} completions of {workload} were accepted, with different results"
            self.findings.add("WRK-INV-06 WRK-FNC-01", workload, text)
        if any(deed.ok and deed.about.get("forged") for deed in story):
            text = f"a completion of {workload} was accepted under a token that nobody was given"
            self.findings.add("WRK-FNC-01", workload, text)
        done = next((deed for deed in story if deed.call == "complete" and deed.ok), None)
        if done is not None and any(deed.call == "claim" and deed.ok and done.before(deed) for deed in story):
            self.findings.add("WRK-INV-09", workload, f"{workload} was given to a worker after its completion")
        self._late(workload, claims, story)

    def _late(self, workload: str, claims: Mapping[int, Deed], story: Sequence[Deed]) -> None:
        """What was accepted under a token that was already known to be lost."""
        accepted: set[str] = set()
        for deed in story:
            if deed.call not in FENCED or not deed.ok:
                continue
            if deed.call == "complete" and deed.about["result"] in accepted:
                # A replay, which answers alike for ever.
                continue
            if deed.call == "complete":
                accepted.add(deed.about["result"])
            token = deed.about["token"]
            ended = next((why for why in story if _ends(why, token, claims) and why.before(deed)), None)
            if ended is not None:
                text = f"{deed.call} under token {token} of {workload} was accepted after {ended.call} had ended it"
                self.findings.add("WRK-FNC-01", workload, text)

    # What the record shows -------------------------------------------------------------------------------------------

    def _row(self, workload: str, story: Sequence[Deed], row: Any) -> None:
        """As far as the record shows it."""
        if shows(row, ATTEMPTS):
            self._attempts(workload, story, row)
        if shows(row, ("result.result_id",)):
            self._result(workload, story, row)
        if shows(row, ("execution_history[].to_state", "execution_history[].evidence")):
            self._operators(workload, story, row)

    def _attempts(self, workload: str, story: Sequence[Deed], row: Any) -> None:
        attempts = {attempt.fencing_token: attempt for attempt in row.attempts}
        untold = sum(deed.call == "claim" and deed.open for deed in story)
        given = {deed.answer[1]: deed for deed in story if deed.call == "claim" and deed.ok}
        for token, deed in given.items():
            attempt = attempts.get(token)
            if attempt is None or (attempt.claim_id, attempt.worker_id) != (deed.answer[0], deed.about["worker"]):
                text = f"the claim of {workload} with token {token} was given, and the record has no such attempt"
                self.findings.add(LOST, workload, text)
        if len(attempts.keys() - given.keys()) > untold:
            text = f"{workload} has {len(attempts)} attempts; {len(given)} claims were given and {untold} not answered"
            self.findings.add("WRK-INV-05 WRK-GEN-02", workload, text)
        self._reports(workload, story, row, attempts)

    def _reports(self, workload: str, story: Sequence[Deed], row: Any, attempts: Mapping[int, Any]) -> None:
        tells_points = shows(row, ("checkpoints[].attempt_id", "checkpoints[].state"))
        points = row.checkpoints if tells_points else ()
        kept = {(point.attempt_id, point.state) for point in points if isinstance(point.state, str)}
        for deed in story:
            attempt = attempts.get(deed.about.get("token", 0))
            if attempt is None or not deed.ok:
                continue
            lost = {
                "start": attempt.started_at is None,
                "fail": attempt.ended_at is None,
                "complete": attempt.status != "SUCCEEDED",
                "acknowledge_cancel": attempt.ended_at is None,
                "checkpoint": tells_points and (attempt.attempt_id, deed.about.get("state")) not in kept,
            }
            if lost.get(deed.call, False):
                text = (
                    f"{deed.call} under token {deed.about['token']} of {workload} was accepted and is not in the record"
                )
                self.findings.add(LOST, workload, text)

    def _result(self, workload: str, story: Sequence[Deed], row: Any) -> None:
        stored = None if row.result is None else row.result.result_id
        completions = [deed for deed in story if deed.call == "complete"]
        for result in {deed.about["result"] for deed in completions if deed.ok} - {stored}:
            text = (
                f"the completion of {workload} with {result} was accepted, and the record holds {stored or 'no result'}"
            )
            self.findings.add(LOST, workload, text)
        if stored is not None and stored not in {deed.about["result"] for deed in completions if deed.possible}:
            self.findings.add("WRK-INV-06", workload, f"{workload} holds the result {stored}, which nobody was told of")

    def _operators(self, workload: str, story: Sequence[Deed], row: Any) -> None:
        history = row.execution_history
        rearmed = sum(event.evidence.get("retry") == "operator" for event in history)
        asked = [deed for deed in story if deed.call == "retry" and deed.possible]
        if not sum(deed.ok for deed in asked) <= rearmed <= len(asked):
            told_of = sum(deed.ok for deed in asked)
            text = (
                f"{workload} was re-armed {rearmed} times; operators were told of {told_of} and asked for {len(asked)}"
            )
            self.findings.add(f"{LOST} WRK-GEN-02", workload, text)
        cancels = [deed for deed in story if deed.call == "cancel" and deed.possible]
        cancelled = any(event.to_state in ("CANCELLED", "CANCELLATION_REQUESTED") for event in history)
        if cancelled and not cancels:
            self.findings.add("WRK-GEN-02", workload, f"{workload} was cancelled, and nobody asked for that")
        if not cancelled and any(deed.ok for deed in cancels):
            self.findings.add(LOST, workload, f"the cancellation of {workload} was accepted and is not in the record")


def _ends(why: Deed, token: int, claims: Mapping[int, Deed]) -> bool:
    if not why.ok:
        return False
    if why.call == "claim":
        return bool(why.answer[1] > token)
    if why.call in ("fail", "complete", "acknowledge_cancel"):
        return bool(why.about["token"] == token)
    # A pass ends whatever claim there was: that of this token, if it had been given by then.
    return why.call in PASSES and token in claims and claims[token].before(why)
