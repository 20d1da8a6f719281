"""From the calls that lead somewhere to a case: what the model answered becomes a reference to the answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from workcert.cases.model import Call as CallStep
from workcert.cases.model import Case, Header
from workcert.codec import Ref, to_json
from workspec.core.configuration import Configuration
from workspec.core.contract import Contract, digest
from workspec.core.interpreter import Accepted, RuleError, apply
from workspec.core.record import State
from workspec.core.scope import Call

Moved: TypeAlias = tuple[Call, int]
"""A call and its instant."""

NAMED_BY_CALLERS: Final = frozenset({"worker_id", "result_id", "tenant_id", "application_id"})
"""Arguments that end like an id of the store's own making."""


def case_of(
    contract: Contract, configuration: Configuration, path: Sequence[Moved], requirement: str, text: str
) -> Case:
    """The case that makes these calls, the last of which breaks the requirement."""
    state: State = {}
    answers: dict[str, Any] = {}
    steps: list[CallStep] = []
    for number, (call, now_s) in enumerate(path, start=1):
        step_id = f"s{number}"
        args = {name: to_json(value) for name, value in call.arguments.items()}
        at = None if call.name == "admit" else now_s
        steps.append(CallStep(step_id, "A", call.name, _referring(args, answers), at))
        try:
            done = apply(contract, state, call, now_s)
        except RuleError:
            break
        state = done.state
        if isinstance(done.outcome, Accepted):
            answers[step_id] = to_json(done.outcome.value)
    header = Header(
        contract=contract.name,
        name=f"search/{configuration.name}",
        title=f"Found by search: {text}",
        requirements=(requirement,) if requirement in contract.catalogue else (),
        digest=digest(contract),
    )
    return Case(header, tuple(steps))


def _referring(args: Mapping[str, Any], answers: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments that an earlier answer gave under the same name, as references to it.

    The answer that gives most of them is taken for all, so that a fence comes from one claim.
    """
    found: dict[str, Mapping[str, str]] = {}
    for step_id, answer in answers.items():
        given = dict(_members(answer, step_id))
        found[step_id] = {name: given[name, value] for name, value in _opaque(args) if (name, value) in given}
    # Of equals the earliest counts: the claim itself, not a heartbeat that answered the same.
    paths: dict[str, str] = {}
    for each in sorted(found.values(), key=len, reverse=True):
        paths = {**each, **paths}
    return {name: Ref(paths[name]) if name in paths else value for name, value in args.items()}


def _opaque(args: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """What a store may choose as it likes, and a case must not spell out: ids and tokens."""
    for name, value in args.items():
        if name.endswith(("_id", "_token")) and isinstance(value, str | int) and name not in NAMED_BY_CALLERS:
            yield name, value


def _members(value: Any, path: str) -> Iterator[tuple[tuple[str, Any], str]]:
    if isinstance(value, dict):
        for name, member in value.items():
            if isinstance(member, str | int):
                yield (name, member), f"{path}.{name}"
            else:
                yield from _members(member, f"{path}.{name}")
