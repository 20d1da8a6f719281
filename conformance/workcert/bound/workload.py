"""The workload contract as the kit sees it."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from attrs import evolve

from workcert.binding import Binding, Found
from workcert.cases.contracts import contracts
from workcert.ordinary import WORKLOAD_REQUEST
from workspec.core.choice import UNSEEN
from workspec.core.record import replaced
from workspec.core.scope import Call, Scope
from workspec.workload import facts, legacy, profiles, vocabulary
from workspec.workload.contract import CONTRACT
from workspec.workload.rules import scope_of, scope_of_terms


def workload() -> Binding:
    return Binding(
        contract=CONTRACT,
        calls=contracts()["workload"],
        error=vocabulary.WorkloadError,
        unavailable=vocabulary.StoreUnavailable,
        record=vocabulary.Workload,
        present=CONTRACT.present,
        read=_read,
        reading=("get",),
        reads=frozenset({"get", "list_workloads"}),
        profile_abilities={profile.name: profile.abilities for profile in profiles.PROFILES},
        profile_methods={profiles.MIGRATION: ("migrate",)},
        tier_of=_tier_name,
        key_of=lambda shown: str(shown.workload_id),
        key_of_id=lambda workload_id: workload_id,
        fence=("workload_id", "claim_id", "worker_id", "fencing_token"),
        ordinary={"request": WORKLOAD_REQUEST},
        omitted={},
        comparable=_unversioned,
        unordered=frozenset({"list_workloads"}),
        may_be_stale=lambda call: call.arguments.get("fresh") is False,
        unversioned=("WRK-ROW-02", "WRK-ROW-01"),
        injectable=_claim_without_attempt,
        impossible=_in_its_file,
        asked_by=_asked_by,
        kept=(facts.Facts,),
        killed=("WRK-GEN-01", "WRK-INV-14"),
        durable=("WRK-GEN-01", "WRK-INV-14"),
        damaged=("WRK-PRT-12", "WRK-INV-14"),
        creating=lambda name, record: vocabulary.Admitted(record, True) if name == "admit" else None,
        touched=_touched,
        linked=lambda record: frozenset(_names_of(record.facts)),
        creates=frozenset({"admit"}),
        made_by=lambda answer: (answer.workload.workload_id,) if isinstance(answer, vocabulary.Admitted) else (),
        moment=_attempts_so_far,
        as_it_was=_as_it_was,
        referred={"admit": ("workload.workload_id",), "claim": ("claim_id", "fencing_token")},
    )


def _touched(call: Call, answer: Any) -> frozenset[str] | None:
    """A claim reads what its work depends on as well: that hangs together with it since its admission."""
    arguments = call.arguments
    if call.name == "admit":
        request, admitted = arguments["request"], getattr(answer, "workload", None)
        names = [_scope_name(*scope_of(request)), *(each.workload_id for each in request.dependencies or ())]
        if isinstance(admitted, vocabulary.Workload):
            names.append(admitted.workload_id)
        return frozenset(names)
    if "workload_id" not in arguments:
        return None
    names = [arguments["workload_id"]]
    return frozenset([*names, _result_name(arguments["result_id"])] if "result_id" in arguments else names)


def _names_of(known: facts.Facts) -> Iterator[str]:
    yield known.workload_id
    yield _scope_name(*scope_of_terms(known.terms))
    yield from (each.workload_id for each in known.terms.dependencies)
    if known.result is not None:
        yield _result_name(known.result.result_id)


def _scope_name(*scope: str) -> str:
    return f"scope {scope!r}"


def _result_name(result_id: str) -> str:
    return f"result {result_id!r}"


def _attempts_so_far(scope: Scope) -> int | None:
    return None if scope.facts is None else int(scope.facts.attempt_count)


def _as_it_was(record: Any, count: Hashable) -> Any:
    """Attempts up to the one that a call begins or is about, for later ones belong to later claims; without what is
    written over: the status of an attempt, and when the next is due."""
    if not isinstance(record, vocabulary.Workload) or not isinstance(record.attempts, (list, tuple, Sequence)):
        return record
    if not isinstance(count, int):
        return record
    hidden: Any = UNSEEN
    attempts = tuple(evolve(each, status=hidden) for each in record.attempts[:count][-1:])
    return replaced(record, {"attempts": attempts, "next_attempt_at": UNSEEN})


def _read(handle: Any, key: str) -> Any:
    found = handle.get(workload_id=key, fresh=True)
    record = getattr(found, "workload", None)
    return found if record is None else Found(found.version, record)


def _unversioned(value: Any) -> Any:
    """Row numbers are the store's own; only whether they move is judged."""
    if isinstance(value, list | tuple) and value and hasattr(value[0], "version"):
        # The contract lists a tenant's work and says nothing of its order.
        return sorted((_unversioned(item) for item in value), key=_id_of)
    if hasattr(value, "version") and hasattr(value, "workload"):
        return evolve(value, version=UNSEEN)
    return value


def _id_of(row: vocabulary.Versioned) -> str:
    """Empty where not even the record is shown."""
    return str(getattr(row.workload, "workload_id", ""))


def _tier_name(passed: frozenset[str]) -> str | None:
    tier = profiles.tier_of(passed)
    return None if tier is None else tier.name


def _claim_without_attempt(record: vocabulary.Workload) -> str:
    lacking = record.current_claim is not None and not record.attempts
    return "the record holds a claim without an attempt" if lacking else ""


def _in_its_file(call: Call) -> str:
    """A legacy file is looked through; one that cannot be read is the store's to refuse."""
    return _in_file(call.arguments["source"]) if call.name == "migrate" else ""


@lru_cache(maxsize=16)
def _in_file(source: bytes) -> str:
    try:
        records = legacy.read(source).records.values()
    except legacy.MalformedFile:
        return ""
    return next(filter(None, (_claim_without_attempt(CONTRACT.present(record)) for record in records)), "")


def _asked_by(call: Call) -> frozenset[str]:
    request = call.arguments.get("request")
    depends = {profiles.DEPENDENCIES} if getattr(request, "dependencies", None) else set()
    return frozenset(depends | ({profiles.SECRETS} if call.arguments.get("secret_references") else set()))
