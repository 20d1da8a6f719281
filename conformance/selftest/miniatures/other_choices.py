"""Right stores that take what the contract leaves open otherwise than the reference does. None may be accused."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

import attrs
from attrs import evolve, frozen

from workcert import NOT_SHOWN
from workcert.backends.specification import of
from workcert.binding import bindings
from workcert.faults.changes import with_operation
from workcert.judge.sameness import LEAVES
from workspec.core.choice import OTHER, Choice
from workspec.core.orders import may_come_first
from workspec.core.scope import Scope
from workspec.workload.operations import CLAIM
from workspec.workload.rules import scope_of
from workspec.workload.vocabulary import ErrorCode, WorkloadError

from .handles import Answering, Around, Deciding, Wrapped
from .wrong_values import whole

Choices = Mapping[str, Callable[[Scope], Any]]


@frozen
class Variant:
    name: str
    make: Callable[[], Any]


def choosing(name: str, **choices: Callable[[Scope], Any]) -> Variant:
    """Free choices, by the last part of their id."""

    class Choosing(Deciding):
        def __getattr__(self, member: str) -> Any:
            self.view = self.state
            return super().__getattr__(member)

        def choose(self, choice: Choice, scope: Scope) -> Any:
            chosen = choices.get(choice.id.partition(".")[2].replace("-", "_"))
            return super().choose(choice, scope) if chosen is None else chosen(scope)

    return Variant(name, lambda: Wrapped(Choosing))


def declaring(identifier: str, value: str) -> Variant:
    """A declared choice, which the store keeps to."""
    variant = choosing("", **{identifier.partition(".")[2].replace("-", "_"): lambda _scope: value})

    def make() -> Wrapped:
        return evolve(variant.make(), choices={identifier: value})

    return Variant(f"{identifier} is {value}", make)


def opaque(_scope: Scope) -> str:
    return uuid.uuid4().hex


def of_scope(scope: Scope) -> str:
    """Derived from the scope like the reference's, in another way: two requests of one scope must meet."""
    return "job-" + uuid.uuid5(uuid.NAMESPACE_OID, repr(scope_of(scope.call["request"]))).hex


def elsewhere(identifier: str, value: str) -> Variant:
    """A store that goes a way of its own, and declares it as `OTHER` in place of the value."""
    variant = declaring(identifier, value)
    return Variant(f"{identifier} is not asserted", lambda: evolve(variant.make(), choices={identifier: OTHER}))


class Forgetful(Around):
    """References mean nothing to it, and its results have one schema."""

    def complete(self, **arguments: Any) -> Any:
        return self.inner.complete(**{**arguments, "references": (), "schema_version": 1})


class Choosy(Around):
    """References are names of something that has to be there, and schemas are numbered from 0."""

    def complete(self, **arguments: Any) -> Any:
        if arguments["references"] or arguments["schema_version"] > 1:
            raise WorkloadError(ErrorCode.INVALID)
        return self.inner.complete(**{**arguments, "schema_version": 1})


class OneKindOfNumber(Around):
    """It keeps JSON in a library that knows one kind of number."""

    def admit(self, **arguments: Any) -> Any:
        request = arguments["request"]
        return self.inner.admit(request=evolve(request, input=whole(request.input)))

    def checkpoint(self, **arguments: Any) -> Any:
        return self.inner.checkpoint(**{**arguments, "state": whole(arguments["state"])})

    def complete(self, **arguments: Any) -> Any:
        return self.inner.complete(**{**arguments, "output": whole(arguments["output"])})


class PlainTypes(Answering):
    """Lists for tuples, texts for enumerations."""

    def shown(self, value: Any) -> Any:
        if type(value) in LEAVES:
            return value
        if isinstance(value, Enum):
            return str(value.value)
        if isinstance(value, tuple | list):
            return [self.shown(item) for item in value]
        if attrs.has(type(value)):
            members = {f.name: self.shown(getattr(value, f.name)) for f in attrs.fields(type(value))}
            return evolve(value, **members)
        return value


class LongSteps(Answering):
    """Row versions in steps of five."""

    def shown(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self.shown(item) for item in value]
        if not hasattr(value, "workload") or not hasattr(value, "version"):
            return value
        row = self.state[value.workload.workload_id]
        return evolve(value, version=1 if row.version is None else 5 * row.version + 2)

    def snapshot(self) -> Mapping[str, int | None]:
        rows = self.inner.snapshot()
        return {key: None if version is None else 5 * version + 2 for key, version in rows.items()}


class NumbersOfItsOwn(Answering):
    """Events are numbered with gaps, or not at all."""

    def shown(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self.shown(item) for item in value]
        if not hasattr(value, "workload"):
            return value
        history = tuple(
            evolve(event, sequence=7 * event.sequence if number else NOT_SHOWN)
            for number, event in enumerate(value.workload.execution_history)
        )
        return evolve(value, workload=evolve(value.workload, execution_history=history))


class Reticent(Answering):
    """Attempts and history are not shown."""

    def shown(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self.shown(item) for item in value]
        if hasattr(value, "workload"):
            return evolve(value, workload=evolve(value.workload, attempts=NOT_SHOWN, execution_history=NOT_SHOWN))
        return value


def readiness_reversed() -> Variant:
    """The three questions of readiness, whose order is open, from the last to the first."""

    class Reversed(Deciding):
        contract = with_operation("claim", checks=(*CLAIM.checks[:-3], *CLAIM.checks[:-4:-1]))(Deciding.contract)

        def __getattr__(self, member: str) -> Any:
            self.view = self.state
            return super().__getattr__(member)

    return Variant("readiness in another order", lambda: Wrapped(Reversed))


def in_order(name: str, place: Callable[[Any], bool]) -> Variant:
    """The checks of each operation sorted by this, False first."""
    contract = bindings()["workload"].contract
    operations = (evolve(each, checks=tuple(sorted(each.checks, key=place))) for each in contract.operations)
    changed = evolve(contract, operations=tuple(operations))
    return Variant(name, lambda: of(bindings()["workload"], changed))


def is_open(check: Any) -> bool:
    return getattr(check, "unordered", False)


VARIANTS = (
    Variant("lists for tuples, texts for enumerations", lambda: Wrapped(PlainTypes)),
    Variant("row versions in steps of five", lambda: Wrapped(LongSteps)),
    Variant("events numbered with gaps, the first not at all", lambda: Wrapped(NumbersOfItsOwn)),
    Variant("attempts and history not shown", lambda: Wrapped(Reticent)),
    readiness_reversed(),
    in_order("checks whose place is open stand last", is_open),
    in_order("arguments are looked at before all else", lambda check: not may_come_first(check)),
    choosing("opaque ids", workload_id=of_scope, claim_id=opaque, attempt_id=opaque),
    choosing("tokens in steps of seven", fencing_token=lambda scope: scope.facts.last_token + 7),
    choosing("other hashes", input_hash=opaque, output_hash=opaque),
    choosing(
        "other actors",
        creation_actor=lambda _s: "system",
        follow_up_actor=lambda _s: "authority.timeout",
        event_actor=lambda _s: "system",
    ),
    choosing("further evidence", open_evidence=lambda scope: {"host": "h1", "since": str(scope.now)}),
    choosing(
        "the other fence codes",
        fence_code=lambda _s: ErrorCode.STALE_FENCE,
        other_token=lambda _s: ErrorCode.CLAIM_INVALID,
    ),
    choosing(
        "other statuses of attempts",
        claimed_status=lambda _s: "HELD",
        running_status=lambda _s: "WORKING",
        cancelled_status=lambda _s: "STOPPED",
    ),
    choosing("a claim clears the due time", next_attempt_at=lambda _s: None),
    choosing(
        "longer error texts",
        expiry=lambda scope: f"timeout: the {scope.settled['passed deadline']} deadline passed",
        loss=lambda _s: "worker_lost: nobody renewed the lease",
    ),
    declaring("G-22.first-delay", "double"),
    declaring("G-11.lease-rounding", "down"),
    declaring("G-11.shorter-lease", "kept"),
    declaring("G-12.repeated-cancel", "refused"),
    declaring("G-24.checkpoint-heartbeat", "yes"),
    declaring("G-06.grant-application", "free"),
    Variant("references are dropped", lambda: Wrapped(Forgetful, choices={"G-17.completion-references": OTHER})),
    Variant("references are looked up", lambda: Wrapped(Choosy, choices={"G-17.completion-references": OTHER})),
    Variant("one kind of number", lambda: Wrapped(OneKindOfNumber, choices={"G-08.number-form": OTHER})),
    elsewhere("G-24.checkpoint-heartbeat", "yes"),
    elsewhere("G-12.repeated-cancel", "refused"),
    elsewhere("G-12.reports-while-requested", "refused"),
)
