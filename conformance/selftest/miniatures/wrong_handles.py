"""Stores whose rules are right and that lose, show or guard something wrongly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attrs import evolve

from workspec.core.interpreter import Refused
from workspec.core.record import State, replaced
from workspec.workload.vocabulary import ErrorCode, WorkloadError

from .handles import Around, Deciding, Wrapped, wrapped
from .model import STATEFUL, Miniature, _ids


class RewritingReplay(Around):
    """A replayed admission rewrites the record."""

    def admit(self, **arguments: Any) -> Any:
        admitted = self.inner.admit(**arguments)
        if not admitted.created:
            self.rewrite(admitted.workload.workload_id, last_failure="admitted again")
        return admitted


class RearmingReplay(Around):
    """A replayed admission re-arms finished work."""

    def admit(self, **arguments: Any) -> Any:
        admitted = self.inner.admit(**arguments)
        if not admitted.created and admitted.workload.state in ("DEAD_LETTER", "CANCELLED"):
            self.rewrite(admitted.workload.workload_id, state="READY")
        return admitted


class RecoveryLosesCheckpoints(Around):
    """Recovery loses the checkpoints."""

    def recover_expired(self, **arguments: Any) -> Any:
        found = self.inner.recover_expired(**arguments)
        for key in found:
            self.rewrite_log(key, checkpoints=())
        return found


class RestartLosesCheckpoints(Around):
    """A restart loses the last checkpoint."""

    def restarted(self) -> None:
        for key, record in self.state.items():
            self.rewrite_log(key, checkpoints=record.log.checkpoints[:-1])


class RestartForgetsTokens(Around):
    """A restart resets the fencing tokens."""

    def restarted(self) -> None:
        for key in self.state:
            self.rewrite(key, moved=False, last_token=0)


class RestartForgetsScopes(Around):
    """A restart loses what has been admitted and not yet claimed."""

    def restarted(self) -> None:
        kept = {key: record for key, record in self.state.items() if record.facts.attempt_count}
        self.inner._shelf.state = kept


class RestartRenewsLeases(Around):
    """A restart sets every lease back to its full length."""

    def restarted(self) -> None:
        for key, record in self.state.items():
            claim = record.facts.claim
            if claim is not None:
                longer = evolve(claim, expires_at=2 * claim.expires_at - claim.last_heartbeat)
                self.rewrite(key, moved=False, claim=longer)


class StaleWriter(Deciding):
    """A writer decides on what it saw last."""

    def inject(self, **arguments: Any) -> None:
        self.inner.inject(**arguments)
        self.view = self.state


class KeepsLoserView(Deciding):
    """A writer that lost keeps its old view."""

    def __getattr__(self, name: str) -> Any:
        if "kept" not in self.__dict__:
            self.view = self.state
        return super().__getattr__(name)

    def committed(self, done: Any) -> None:
        self.inner._shelf.state = done.state
        if done.lost:
            self.kept = True
        elif not isinstance(done.outcome, Refused):
            self.__dict__.pop("kept", None)

    def reset(self) -> None:
        super().reset()
        self.__dict__.pop("kept", None)


class Unguarded(Deciding):
    """A write is not guarded by the version that was read."""

    def __getattr__(self, name: str) -> Any:
        self.view = self.state
        return super().__getattr__(name)

    def base(self, decision: Any) -> State:
        bases = {change.key: change.base for part in decision.parts for change in part.changes}
        return {**self.state, **{key: base for key, base in bases.items() if base is not None}}


class CachingReader(Around):
    """A handle answers fresh reads from what it read first."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.cache: dict[str, Any] = {}

    def get(self, **arguments: Any) -> Any:
        key = arguments["workload_id"]
        if key not in self.cache:
            self.cache[key] = self.inner.get(**arguments)
        return self.cache[key]

    def reset(self) -> None:
        self.inner.reset()
        self.cache.clear()


class LateOutputWins(Around):
    """A late completion overwrites the result."""

    def complete(self, **arguments: Any) -> Any:
        try:
            return self.inner.complete(**arguments)
        except WorkloadError as refused:
            if refused.code != ErrorCode.RESULT_CONFLICT:
                raise
        key = arguments["workload_id"]
        result = evolve(self.state[key].facts.result, output=arguments["output"])
        self.rewrite(key, result=result)
        return result


class LateCompletion(Around):
    """Work that has failed can still be completed."""

    def complete(self, **arguments: Any) -> Any:
        key = arguments["workload_id"]
        record = self.state.get(key)
        attempts = record.log.attempts if record is not None else ()
        if not attempts or attempts[-1].claim_id != arguments["claim_id"] or attempts[-1].status != "FAILED":
            return self.inner.complete(**arguments)
        facts = replaced(record.facts, {"claim": None, "state": "SUCCEEDED"})
        self.put(key, evolve(record, version=(record.version or 1) + 1, facts=facts))
        return self.inner.get(workload_id=key).workload.result


class SilentHeartbeat(Around):
    """A heartbeat does not move the row version."""

    def heartbeat(self, **arguments: Any) -> Any:
        before = self.state.get(arguments["workload_id"])
        claim = self.inner.heartbeat(**arguments)
        key = arguments["workload_id"]
        self.put(key, evolve(self.state[key], version=before.version))
        return claim


class RepairingRead(Around):
    """Listing repairs what it shows."""

    def list_workloads(self, **arguments: Any) -> Any:
        for key in self.state:
            self.rewrite(key, last_failure="repaired")
        return self.inner.list_workloads(**arguments)


class ExpiringClaim(Around):
    """A claim that expires work takes it at once."""

    def claim(self, **arguments: Any) -> Any:
        try:
            return self.inner.claim(**arguments)
        except WorkloadError as refused:
            if refused.code != ErrorCode.TIMED_OUT:
                raise
        key = arguments["workload_id"]
        if self.state[key].facts.state != "READY":
            raise WorkloadError(ErrorCode.NOT_READY)
        self.rewrite(key, moved=False, next_attempt_at=arguments["now_s"])
        return self.inner.claim(**arguments)


class BoastfulPass(Around):
    """The deadline pass names work that it did not expire."""

    def enforce_deadlines(self, **arguments: Any) -> Any:
        found = self.inner.enforce_deadlines(**arguments)
        ended = [key for key, record in self.state.items() if record.facts.state == "DEAD_LETTER"]
        return sorted({*found, *ended})


class RepeatingPass(Around):
    """The deadline pass names expired work twice."""

    def enforce_deadlines(self, **arguments: Any) -> Any:
        return sorted(2 * self.inner.enforce_deadlines(**arguments))


class UnsortedRecovery(Around):
    """Recovery answers in no order of ids."""

    def recover_expired(self, **arguments: Any) -> Any:
        return self.inner.recover_expired(**arguments)[::-1]


class NumberedEvidence(Around):
    """Numbers in evidence are numbers."""

    def get(self, **arguments: Any) -> Any:
        found = self.inner.get(**arguments)
        if found is None:
            return None
        history = tuple(
            evolve(event, evidence={k: int(v) if v.isdecimal() else v for k, v in event.evidence.items()})
            for event in found.workload.execution_history
        )
        return evolve(found, workload=evolve(found.workload, execution_history=history))


class EventsNumberedAlike(Around):
    """Every event is shown as the first."""

    def get(self, **arguments: Any) -> Any:
        found = self.inner.get(**arguments)
        if found is None:
            return None
        history = tuple(evolve(event, sequence=1) for event in found.workload.execution_history)
        return evolve(found, workload=evolve(found.workload, execution_history=history))


class RaisingRead(Around):
    """A read of unknown work raises."""

    def get(self, **arguments: Any) -> Any:
        found = self.inner.get(**arguments)
        if found is None:
            raise KeyError(arguments["workload_id"])
        return found


class ThreeExpired(Around):
    """A deadline pass expires three at most."""

    def enforce_deadlines(self, **arguments: Any) -> Any:
        return first_three(self, self.inner.enforce_deadlines, arguments)


class ThreeRecovered(Around):
    """A recovery takes three leases at most."""

    def recover_expired(self, **arguments: Any) -> Any:
        return first_three(self, self.inner.recover_expired, arguments)


def first_three(handle: Around, call: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    before = handle.state
    found = call(**arguments)
    for key in found[3:]:
        handle.put(key, before[key])
    return found[:3]


class EagerMigration(Around):
    """A second migration writes the rows again."""

    def migrate(self, **arguments: Any) -> Any:
        before = set(self.state)
        count = self.inner.migrate(**arguments)
        for key in before:
            self.rewrite(key)
        return count + len(before)


class StuckRow(Around):
    """A row without a version is never updated."""

    def __getattr__(self, name: str) -> Any:
        call = getattr(self.inner, name)
        if name not in ("claim", "start", "cancel", "time_out", "retry", "heartbeat"):
            return call

        def guarded(**arguments: Any) -> Any:
            record = self.state.get(arguments["workload_id"])
            done = call(**arguments)
            if record is not None and record.version is None:
                self.put(arguments["workload_id"], record)
                raise WorkloadError(ErrorCode.CONFLICT)
            return done

        return guarded


class VersionlessRow(Around):
    """A row without a version stays without one."""

    def __getattr__(self, name: str) -> Any:
        call = getattr(self.inner, name)
        if name not in ("claim", "start", "cancel", "time_out", "retry", "heartbeat"):
            return call

        def versionless(**arguments: Any) -> Any:
            key = arguments["workload_id"]
            before = self.state.get(key)
            done = call(**arguments)
            if before is not None and before.version is None:
                self.put(key, evolve(self.state[key], version=None))
            return done

        return versionless


def declaring_only(identifier: str, value: str, right: str) -> Miniature:
    """The reference behind a declaration that it does not keep to."""
    choices = {identifier: value}
    return Miniature(f"{identifier} is declared as {value} and is not", lambda: Wrapped(Around, choices), _ids(right))


WRONG_HANDLES = (
    wrapped(RewritingReplay, "REP-05", STATEFUL),
    wrapped(RearmingReplay, "REP-05"),
    wrapped(RecoveryLosesCheckpoints, "CKP-02"),
    wrapped(RestartLosesCheckpoints, "INV-14"),
    wrapped(RestartForgetsTokens, "CLM-10"),
    wrapped(RestartForgetsScopes, "INV-14", STATEFUL),
    wrapped(RestartRenewsLeases, "INV-14", STATEFUL),
    wrapped(StaleWriter, "MWR-04"),
    wrapped(KeepsLoserView, "MWR-05"),
    wrapped(Unguarded, "MWR-05"),
    wrapped(CachingReader, "MWR-04 PRT-06", STATEFUL),
    wrapped(LateOutputWins, "CMP-03"),
    wrapped(LateCompletion, "CMP-08 FNC-01"),
    wrapped(SilentHeartbeat, "GEN-04 INV-11", STATEFUL),
    wrapped(RepairingRead, "GEN-04 INV-11 PRT-06", STATEFUL),
    wrapped(ExpiringClaim, "CLM-02"),
    wrapped(BoastfulPass, "EDL-01"),
    wrapped(RepeatingPass, "EDL-01 EDL-02"),
    wrapped(UnsortedRecovery, "REC-01"),
    wrapped(EventsNumberedAlike, "INV-01"),
    wrapped(NumberedEvidence, "GEN-05"),
    wrapped(RaisingRead, "PRT-12 PRT-06"),
    wrapped(ThreeExpired, "EDL-01"),
    wrapped(ThreeRecovered, "REC-01"),
    declaring_only("G-06.grant-application", "free", "ADM-06"),
    declaring_only("G-11.lease-rounding", "down", "CLM-09 HBT-02 ART-06"),
    declaring_only("G-11.shorter-lease", "kept", "HBT-02"),
    wrapped(EagerMigration, "MIG-01"),
    wrapped(StuckRow, "ROW-01 ROW-02"),
    wrapped(VersionlessRow, "ROW-01 ROW-02"),
)
