"""From what was collected to a report: a pure function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import workcert
from workcert.backends.registry import LoadedBackend
from workcert.faults.grades import Grades, kept
from workcert.report.collector import Collector, steps_of
from workcert.report.coverage import tables
from workcert.report.failures import failures_of
from workcert.report.lookalikes import KnownFault, known_faults, look_alikes
from workcert.report.model import (
    BROKE_OFF,
    ChoiceValue,
    ContractReport,
    ContractVerdict,
    FailureReport,
    LeftOut,
    LookAlike,
    RequirementResult,
    Status,
    SuiteCounts,
    Tried,
    TriedRow,
    count,
)
from workcert.report.requirements import Evidence, evidence, result_of
from workcert.report.strength import strength_of
from workcert.report.toured import toured_of
from workcert.run.engine import Options
from workcert.run.events import Verdict
from workspec.core.choice import ChoiceKind
from workspec.core.contract import digest

TOUR: Final = "tour"


def build(
    backend: LoadedBackend,
    options: Options,
    collector: Collector,
    error: str = "",
    known: Sequence[KnownFault] | None = None,
    grades: Grades | None = None,
) -> ContractReport:
    """The report of one contract on one backend.

    Args:
        error: why the run did not come to its end; the verdict is then *could not run*, unless a failure was found.
        known: faults beside which a failing store is laid; None: those that came with the kit.
        grades: what the suites catch; None: the grades that came with the kit, if any did.
    """
    contract = backend.binding.contract
    found = evidence(backend, collector.ended)
    results = tuple(result_of(requirement, backend, collector, found) for requirement in contract.catalogue)
    shown = _of_interest(backend, options, results)
    failures = failures_of(backend.binding, collector.ended)
    profiles = tuple(name for name in backend.binding.profile_abilities if name in backend.profiles)
    passed = () if options.narrowed or error else tuple(p for p in profiles if _passed(p, results, found))
    verdict, reason = decide_verdict(
        narrowed=options.narrowed,
        error=error,
        failures=failures,
        unknown=sum(1 for case in collector.ended if case.verdict is Verdict.UNKNOWN),
        results=results,
        asked=shown,
        unshown=tuple(profile for profile in profiles if profile not in passed),
    )
    return ContractReport(
        contract=contract.name,
        version=contract.version,
        digest=digest(contract),
        kit=workcert.__version__,
        backend=base_name(backend.name),
        profiles_claimed=profiles,
        profiles_passed=passed,
        profiles_offered=tuple(tried.profile for tried in collector.tried if 0 < tried.cases == tried.passed),
        tier=backend.binding.tier_of(frozenset(passed)),
        abilities=tuple(sorted(backend.abilities)),
        choices=_choices(backend),
        seed=options.seed,
        effort=str(options.effort),
        examples_asked=options.example_count(backend.binding),
        suites_asked=tuple(options.suites),
        only=tuple(options.only),
        narrowed=options.narrowed,
        verdict=verdict,
        reason=reason,
        suites=tuple(_suite(name, collector) for name in collector.suites),
        requirements=shown,
        coverage=tables(contract, collector.coverage),
        failures=failures,
        left_out=_left_out(collector),
        looks_like=_looks_like(failures, shown, known_faults(contract.name) if known is None else known),
        toured=toured_of(backend, options, collector.ended),
        adversity=tuple(_tried(part, rows) for part, rows in collector.tallies.items()),
        broke_off=bool(error),
        strength=None if options.only or error else strength_of(backend, options, grades or kept(contract.name)),
    )


def decide_verdict(
    *,
    narrowed: bool,
    error: str,
    failures: Sequence[FailureReport],
    unknown: int,
    results: Sequence[RequirementResult],
    asked: Sequence[RequirementResult],
    unshown: Sequence[str],
) -> tuple[ContractVerdict, str]:
    """The verdict and, where it is neither a pass nor a failure, or the run broke off, why.

    A failure, flaky or not, outweighs everything: one that was found before a run broke off is found. In a narrowed
    run there is no *incomplete*: where a call hung, or nothing of what was asked for could run, nothing was certified
    and nothing failed, so it could not run. Requirements that are provisional decide nothing.

    Args:
        unknown: cases that gave no verdict in time.
        asked: those of the results that the run was narrowed to, all where it was not.
        unshown: claimed profiles that did not pass as a whole.
    """
    gating = [result for result in results if not result.provisional]
    failed = any(not failure.provisional for failure in failures)
    failed = failed or any(result.status in (Status.FAILED, Status.FLAKY) for result in gating)
    if failed:
        reason = f"{BROKE_OFF}{error}" if error else ""
        return (ContractVerdict.FAILED if narrowed else ContractVerdict.NOT_CONFORMANT), reason
    if error:
        return ContractVerdict.COULD_NOT_RUN, error
    hung = f"{unknown} {'case' if unknown == 1 else 'cases'} gave no verdict in time" if unknown else ""
    if narrowed:
        if hung or not any(result.exercised for result in asked):
            return ContractVerdict.COULD_NOT_RUN, hung or "nothing of what was asked for was exercised here"
        return ContractVerdict.PASSED_IN_PART, ""
    idle = sum(1 for result in gating if result.status is Status.NOT_EXERCISED)
    reasons = [hung] if hung else []
    if idle:
        reasons.append(f"{idle} claimed {'requirement was' if idle == 1 else 'requirements were'} not exercised")
    if unshown:
        reasons.append(f"not shown as a whole: {', '.join(unshown)}")
    if reasons:
        return ContractVerdict.INCOMPLETE, "; ".join(reasons)
    return ContractVerdict.CONFORMANT, ""


def _passed(profile: str, results: Sequence[RequirementResult], found: Evidence) -> bool:
    """Every requirement of a profile that can be asked of this backend passed, and there is one. A claimed profile of
    which the store lacks a method has not passed: the claim is wrong."""
    own = [result for result in results if result.profile == profile and result.counted and not result.provisional]
    if any(result.status is Status.NOT_CLAIMED and result.id in found.without_method for result in own):
        return False
    asked = [result for result in own if result.status is not Status.NOT_CLAIMED]
    return bool(asked) and count(tuple(asked), Status.PASSED) == len(asked)


def _of_interest(
    backend: LoadedBackend, options: Options, results: tuple[RequirementResult, ...]
) -> tuple[RequirementResult, ...]:
    """All requirements, or, of a run that was narrowed to some, those and whatever failed beside them."""
    selected: set[str] = set()
    for pattern in options.only:
        try:
            selected |= {requirement.id for requirement in backend.binding.contract.catalogue.matching((pattern,))}
        except KeyError:
            # A name that selects no requirement, an operation's for one, leaves all of them in.
            return results
    if not options.only:
        return results
    return tuple(r for r in results if r.id in selected or r.status in (Status.FAILED, Status.FLAKY))


def _suite(name: str, collector: Collector) -> SuiteCounts:
    ended = [ended for ended in collector.ended if ended.suite == name]
    # A generated suite says that all its examples passed, or that one hung, by an end without a case.
    verdicts = [each.verdict for each in ended if each.case is not None or each.verdict is Verdict.UNKNOWN]
    examples = collector.examples.get(name)
    return SuiteCounts(
        name=name,
        cases=sum(1 for each in ended if each.case is not None),
        passed=verdicts.count(Verdict.PASSED),
        failed=verdicts.count(Verdict.FAILED),
        flaky=verdicts.count(Verdict.FLAKY),
        unknown=verdicts.count(Verdict.UNKNOWN),
        skipped=verdicts.count(Verdict.SKIPPED),
        examples=0 if examples is None else examples.done,
        steps=steps_of(collector, name),
    )


def _tried(part: str, rows: Mapping[str, Mapping[str, int]]) -> Tried:
    """Rows and columns in the order in which they were first told of."""
    columns = tuple(dict.fromkeys(column for counts in rows.values() for column in counts))
    return Tried(
        part,
        columns,
        tuple(TriedRow(name, tuple(counts.get(column, 0) for column in columns)) for name, counts in rows.items()),
    )


def _left_out(collector: Collector) -> tuple[LeftOut, ...]:
    return tuple(
        LeftOut(ended.suite, ended.name, str(ended.verdict), ended.reason)
        for ended in collector.ended
        if ended.verdict in (Verdict.SKIPPED, Verdict.UNKNOWN)
    )


def _looks_like(
    failures: Sequence[FailureReport], results: Sequence[RequirementResult], known: Sequence[KnownFault]
) -> tuple[LookAlike, ...]:
    """Scenarios are the same for every store; what a random history meets first is not. A narrowed run compares by
    what it asked."""
    broken = {failure.requirement for failure in failures if failure.suite == TOUR}
    asked = {result.id for result in results if result.status in (Status.PASSED, Status.FAILED, Status.FLAKY)}
    return look_alikes(broken, known, asked) if broken else ()


def _choices(backend: LoadedBackend) -> tuple[ChoiceValue, ...]:
    """The declared choices, held for the run. Free ones are observed call by call and have no one value."""
    return tuple(
        ChoiceValue(choice.id, str(backend.choices.get(choice.id, choice.default)), choice.id in backend.choices)
        for choice in backend.binding.contract.choices
        if choice.kind is ChoiceKind.DECLARED
    )


def base_name(backend: str) -> str:
    """The name of a backend without the directories of its file."""
    return backend.replace("\\", "/").rpartition("/")[2]
