"""Stores of the workload contract that keep a value otherwise than it was sent: cut, folded, rounded, left out."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import Any

from attrs import evolve

from workspec.workload.facts import Facts
from workspec.workload.vocabulary import ErrorCode, WorkloadError

from .handles import Answering, Around, wrapped
from .model import FENCED, STATEFUL, Miniature


def each_leaf(change: Callable[[Any], Any], value: Any) -> Any:
    """A JSON value with its scalars changed; the names of members stay."""
    if isinstance(value, dict):
        return {name: each_leaf(change, member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [each_leaf(change, member) for member in value]
    return change(value)


def whole(value: Any) -> Any:
    """The value as a JSON library keeps it that has one kind of number."""
    return each_leaf(lambda leaf: int(leaf) if isinstance(leaf, float) and leaf.is_integer() else leaf, value)


def doubled(value: Any) -> Any:
    """The value with its integers passed through a double."""
    return each_leaf(lambda leaf: int(float(leaf)) if type(leaf) is int else leaf, value)


def composed(value: Any) -> Any:
    return each_leaf(lambda leaf: unicodedata.normalize("NFC", leaf) if isinstance(leaf, str) else leaf, value)


class LostOutput(Around):
    """A completion stores no output."""

    def complete(self, **arguments: Any) -> Any:
        return self.inner.complete(**{**arguments, "output": None})


class DictResult(Around):
    """A completion answers with another type."""

    def complete(self, **arguments: Any) -> Any:
        return {"result_id": self.inner.complete(**arguments).result_id}


class TruthAsNumber(Answering):
    """True and false in an input come back as 1 and 0."""

    def shown(self, value: Any) -> Any:
        if isinstance(value, bool):
            return int(value)
        if isinstance(value, dict):
            return {name: self.shown(member) for name, member in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(self.shown(member) for member in value)
        if hasattr(value, "workload"):
            return evolve(value, workload=self.shown(value.workload))
        return evolve(value, input=self.shown(value.input)) if hasattr(value, "input") else value


class LostReferences(Around):
    """A completion drops its references."""

    def complete(self, **arguments: Any) -> Any:
        return self.inner.complete(**{**arguments, "references": ()})


class FirstSchema(Around):
    """The schema version of a result is always 1."""

    def complete(self, **arguments: Any) -> Any:
        version = arguments["schema_version"]
        return self.inner.complete(**{**arguments, "schema_version": min(version, 1)})


class ReferencesCompared(Around):
    """A repeated completion with other references is a conflict."""

    def complete(self, **arguments: Any) -> Any:
        record = self.state.get(arguments["workload_id"])
        result = None if record is None else record.facts.result
        repeated = result is not None and result.result_id == arguments["result_id"]
        if repeated and result.references != tuple(arguments["references"]):
            raise WorkloadError(ErrorCode.RESULT_CONFLICT)
        return self.inner.complete(**arguments)


class Rewording(Around):
    """Values pass through `kept` before they are kept."""

    kept: Callable[[Any], Any]

    def admit(self, **arguments: Any) -> Any:
        request = arguments["request"]
        return self.inner.admit(request=evolve(request, input=self.kept(request.input)))

    def checkpoint(self, **arguments: Any) -> Any:
        return self.inner.checkpoint(**{**arguments, "state": self.kept(arguments["state"])})

    def complete(self, **arguments: Any) -> Any:
        return self.inner.complete(**{**arguments, "output": self.kept(arguments["output"])})


def rewording(call: str, kept: Callable[[Any], Any], name: str, right: str) -> Miniature:
    """One call alone keeps its value otherwise than it was sent."""
    members = {"__doc__": f"{name}.", "kept": staticmethod(kept), call: getattr(Rewording, call)}
    return wrapped(type("Reworded", (Around,), members), right)


class EqualCheckpoints(Around):
    """A checkpoint equal to the last one is not kept."""

    def checkpoint(self, **arguments: Any) -> Any:
        checkpoint = self.inner.checkpoint(**arguments)
        kept = self.state[arguments["workload_id"]].log.checkpoints
        if len(kept) > 1 and kept[-1] == kept[-2]:
            self.rewrite_log(arguments["workload_id"], checkpoints=kept[:-1])
        return checkpoint


class TenCheckpoints(Around):
    """Ten checkpoints are kept, the last ones."""

    def checkpoint(self, **arguments: Any) -> Any:
        checkpoint = self.inner.checkpoint(**arguments)
        kept = self.state[arguments["workload_id"]].log.checkpoints
        self.rewrite_log(arguments["workload_id"], checkpoints=kept[-10:])
        return checkpoint


class LowerKinds(Around):
    """Failure kinds are kept in lower case."""

    def fail(self, **arguments: Any) -> Any:
        return self.inner.fail(**{**arguments, "kind": arguments["kind"].lower()})


class TrimmedWorkers(Around):
    """Worker ids are trimmed."""

    def __getattr__(self, name: str) -> Any:
        call = getattr(self.inner, name)
        if name not in FENCED and name != "claim":
            return call
        return lambda **arguments: call(**{**arguments, "worker_id": arguments["worker_id"].strip()})


class SmallLetters(Around):
    """A claim may have what it can do in capitals."""

    def claim(self, **arguments: Any) -> Any:
        can = arguments["capabilities"]
        return self.inner.claim(**{**arguments, "capabilities": [*can, *(each.lower() for each in can)]})


class ComposedKeys(Around):
    """Idempotency keys are composed."""

    def admit(self, **arguments: Any) -> Any:
        request = arguments["request"]
        return self.inner.admit(request=evolve(request, idempotency_key=composed(request.idempotency_key)))


class SecretsOnce(Around):
    """A context names each secret once."""

    def execution_context(self, **arguments: Any) -> Any:
        asked = list(dict.fromkeys(arguments["secret_references"]))
        return self.inner.execution_context(**{**arguments, "secret_references": asked})


class TrimmedActors(Around):
    """The name of an actor is trimmed."""

    def time_out(self, **arguments: Any) -> Any:
        return self.inner.time_out(**{**arguments, "actor": arguments["actor"].strip()})


class TextToken(Around):
    """A claim answers with a token that is text."""

    def claim(self, **arguments: Any) -> Any:
        claim = self.inner.claim(**arguments)
        return evolve(claim, fencing_token=str(claim.fencing_token))


class TenantPattern(Around):
    """A list takes a low line in a tenant for a wild card."""

    def list_workloads(self, *, tenant_id: str, **arguments: Any) -> Any:
        stored = {each.facts.terms.tenant_id for each in self.state.values() if isinstance(each.facts, Facts)}
        alike = (
            each
            for each in sorted(stored)
            if len(each) == len(tenant_id) and all(a in ("_", b) for a, b in zip(tenant_id, each, strict=True))
        )
        return [found for each in alike for found in self.inner.list_workloads(tenant_id=each, **arguments)]


WRONG_VALUES = (
    wrapped(TenantPattern, "PRT-12"),
    wrapped(LostOutput, "CMP-07"),
    wrapped(DictResult, "CMP-07"),
    wrapped(TruthAsNumber, "ADM-14"),
    wrapped(LostReferences, "CMP-07"),
    wrapped(FirstSchema, "CMP-07"),
    wrapped(ReferencesCompared, "CMP-02 CMP-05"),
    rewording("admit", whole, "A whole number in an input loses its fraction", "ADM-14"),
    rewording("checkpoint", whole, "A whole number in a checkpoint loses its fraction", "CKP-02"),
    rewording("complete", whole, "A whole number in an output loses its fraction", "CMP-07"),
    rewording("admit", doubled, "A long number in an input loses digits", "ADM-14"),
    rewording("checkpoint", doubled, "A long number in a checkpoint loses digits", "CKP-02"),
    rewording("complete", doubled, "A long number in an output loses digits", "CMP-07"),
    rewording("admit", composed, "Text of an input is composed", "ADM-14"),
    rewording("checkpoint", composed, "Text of a checkpoint is composed", "CKP-02"),
    rewording("complete", composed, "Text of an output is composed", "CMP-07"),
    wrapped(EqualCheckpoints, "CKP-02"),
    wrapped(TenCheckpoints, "CKP-02"),
    wrapped(LowerKinds, "FAL-06"),
    wrapped(TrimmedWorkers, "CLM-09"),
    wrapped(SmallLetters, "CLM-07"),
    wrapped(ComposedKeys, "ADM-04 REP-01 ADM-14 ADM-08"),
    wrapped(SecretsOnce, "CTX-02"),
    wrapped(TrimmedActors, "TMO-03"),
    wrapped(TextToken, "CLM-09 CLM-10", STATEFUL),
)
