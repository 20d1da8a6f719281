"""What the kit knows of each contract beside its rules: signatures, error types, how a record is read.

The one place to extend when a contract joins; everything else in the kit is written against a `Binding`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from attrs import frozen

from workcert.cases.contracts import Contract as CallTable
from workcert.cases.contracts import Signature, contracts
from workcert.ordinary import WORKLOAD_REQUEST
from workspec.core.contract import Contract
from workspec.core.scope import Call
from workspec.workload import legacy, profiles, vocabulary
from workspec.workload.contract import CONTRACT as WORKLOAD


@frozen(eq=False)
class Binding:
    """``read`` gets a handle and a key and gives the versioned record or None; ``profile_abilities`` what a profile
    needs of the backend; ``tier_of`` the tier of a set of passed profiles."""

    contract: Contract
    calls: CallTable
    error: type[Any]
    unavailable: type[Any]
    record: type[Any]
    read: Callable[[Any, str], Any]
    reads: frozenset[str]
    profile_abilities: Mapping[str, tuple[str, ...]]
    profile_methods: Mapping[str, tuple[str, ...]]
    tier_of: Callable[[frozenset[str]], str | None]
    key_of: Callable[[Any], str]
    may_be_stale: Callable[[Call], bool]
    """A read that may show an earlier state (P-06)."""
    unversioned: tuple[str, ...]
    """What the first update of a row without a version breaks when it does not do what any other update does."""
    injectable: Callable[[Any], str]
    """Why no version can have left this record behind; empty when one can."""
    impossible: Callable[[Call], str]
    """Why a call brings a record that no version can have left behind; empty when it does not."""
    fence: tuple[str, ...]
    """The arguments that together show which claim a call is made under."""
    ordinary: Mapping[str, Mapping[str, Any]]
    """By the name of a large argument, what it holds in an ordinary call."""

    @property
    def name(self) -> str:
        return self.contract.name

    def signature(self, call: str) -> Signature:
        return self.calls.calls[call]


def _tier_name(passed: frozenset[str]) -> str | None:
    tier = profiles.tier_of(passed)
    return None if tier is None else tier.name


def _claim_without_attempt(workload: vocabulary.Workload) -> str:
    lacking = workload.current_claim is not None and not workload.attempts
    return "the record holds a claim without an attempt" if lacking else ""


def _in_its_file(call: Call) -> str:
    """A legacy file is looked through; one that cannot be read is the store's to refuse."""
    if call.name != "migrate":
        return ""
    try:
        records = legacy.read(call.arguments["source"]).records.values()
    except legacy.MalformedFile:
        return ""
    return next(filter(None, (_claim_without_attempt(WORKLOAD.present(record)) for record in records)), "")


@cache
def bindings() -> Mapping[str, Binding]:
    """Every contract by name."""
    workload = Binding(
        contract=WORKLOAD,
        calls=contracts()["workload"],
        error=vocabulary.WorkloadError,
        unavailable=vocabulary.StoreUnavailable,
        record=vocabulary.Workload,
        read=lambda handle, key: handle.get(workload_id=key, fresh=True),
        reads=frozenset({"get", "list_workloads"}),
        profile_abilities={profile.name: profile.abilities for profile in profiles.PROFILES},
        profile_methods={profiles.MIGRATION: ("migrate",)},
        tier_of=_tier_name,
        key_of=lambda workload: str(workload.workload_id),
        may_be_stale=lambda call: call.arguments.get("fresh") is False,
        unversioned=("WRK-ROW-02", "WRK-ROW-01"),
        injectable=_claim_without_attempt,
        impossible=_in_its_file,
        fence=("workload_id", "claim_id", "worker_id", "fencing_token"),
        ordinary={"request": WORKLOAD_REQUEST},
    )
    return {workload.name: workload}
