"""What a run says of each requirement."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from attrs import frozen

from workcert.backends.registry import LoadedBackend
from workcert.report.collector import Collector
from workcert.report.model import RequirementResult, Status
from workcert.run.case import lacking
from workcert.run.events import CaseEnded, Verdict
from workspec.core.choice import OTHER
from workspec.core.requirement import Kind as RequirementKind
from workspec.core.requirement import Requirement


@frozen
class Evidence:
    """What the cases of a run said, by requirement id: failures by the requirement that they name, the others by what
    the case shows. ``without_method``: requirements that a case would show if the store had its methods."""

    failed: Mapping[str, CaseEnded]
    flaky: Mapping[str, CaseEnded]
    skipped: Mapping[str, str]
    unknown: Mapping[str, str]
    without_method: frozenset[str]


def evidence(backend: LoadedBackend, ended: Iterable[CaseEnded]) -> Evidence:
    failed: dict[str, CaseEnded] = {}
    flaky: dict[str, CaseEnded] = {}
    skipped: dict[str, str] = {}
    unknown: dict[str, str] = {}
    without_method: set[str] = set()
    for case in ended:
        match case.verdict:
            case Verdict.FAILED | Verdict.FLAKY if case.failure is not None:
                found = failed if case.verdict is Verdict.FAILED else flaky
                found.setdefault(case.failure.requirement, case)
            case Verdict.SKIPPED:
                # A claim that suffices, and a skip all the same: a method is missing.
                if case.case is not None and not lacking(case.case, backend):
                    without_method.update(case.shown)
                for identifier in case.shown:
                    skipped.setdefault(identifier, case.reason)
            case Verdict.UNKNOWN:
                for identifier in case.shown:
                    unknown.setdefault(identifier, case.reason)
            case _:
                pass
    return Evidence(failed, flaky, skipped, unknown, frozenset(without_method))


def result_of(
    requirement: Requirement, backend: LoadedBackend, collector: Collector, found: Evidence
) -> RequirementResult:
    status, case, reason, exercised = _status(requirement, backend, collector, found)
    return RequirementResult(
        id=requirement.id,
        family=backend.binding.contract.catalogue.family_of(requirement.id).title,
        kind=str(requirement.kind),
        profile=requirement.profile,
        status=status,
        exercised=exercised,
        case=case,
        text=requirement.text,
        digest=requirement.digest,
        reason=reason,
        provisional=requirement.provisional,
    )


def _status(
    requirement: Requirement, backend: LoadedBackend, collector: Collector, found: Evidence
) -> tuple[Status, str | None, str, int]:
    """Status, case, reason, and how often it was exercised."""
    name = requirement.id
    elsewhere = _declared_elsewhere(name, backend)
    # A case that could not be made whole because the backend goes its own way shows nothing of what it is about.
    any_elsewhere = OTHER in backend.choices.values()
    exercised = collector.coverage.exercised(name, in_part=not any_elsewhere)
    if requirement.kind is RequirementKind.DEFINITION:
        return Status.DEFINITION, None, "", 0
    for status, cases in ((Status.FAILED, found.failed), (Status.FLAKY, found.flaky)):
        if name in cases:
            return status, cases[name].name, _reason_of(cases[name]), exercised
    if requirement.not_asserted is not None:
        return Status.NOT_ASSERTED, None, requirement.not_asserted, 0
    unclaimed = unclaimed_reason(requirement, backend)
    if unclaimed:
        return Status.NOT_CLAIMED, None, unclaimed, exercised
    if exercised:
        return Status.PASSED, collector.coverage.first_case.get(name), "", exercised
    if elsewhere:
        return Status.NOT_ASSERTED, None, elsewhere, 0
    if name in found.unknown:
        return Status.NOT_EXERCISED, None, found.unknown[name], 0
    if name in found.skipped:
        return Status.NOT_CLAIMED, None, found.skipped[name], 0
    return Status.NOT_EXERCISED, None, "nothing that ran came to it", 0


def unclaimed_reason(requirement: Requirement, backend: LoadedBackend) -> str:
    """Why a requirement cannot be asked of this backend; empty when it can."""
    if requirement.profile not in backend.profiles:
        return f"the backend does not claim {requirement.profile}"
    needed = {*requirement.abilities, *backend.binding.profile_abilities[requirement.profile]}
    lacked = sorted(needed - backend.abilities)
    return f"the backend lacks the ability {', '.join(lacked)}" if lacked else ""


def _declared_elsewhere(requirement: str, backend: LoadedBackend) -> str:
    for choice in backend.binding.contract.choices:
        if backend.choices.get(choice.id) == OTHER and requirement in choice.requirements:
            return f"the backend declares {choice.id} as {OTHER!r}"
    return ""


def _reason_of(ended: CaseEnded) -> str:
    if ended.verdict is Verdict.FLAKY and ended.reproduced is not None:
        failed, replays = ended.reproduced
        return f"flaky, {failed} of {replays}" if failed else f"flaky, seen once and in none of {replays} replays"
    return ""
