"""Failures that share a cause, under the one that shows it best.

The rule is that of `workcert.judge.cause.Cause`: the same operation, the same refusal that should have been given, the
same that was seen instead, the same members that differ. It is taken from the failures as they were found, before
shrinking, so that those which were not shrunk compare with those which were; and where two causes shrink to cases of
one cause, they are one. Counts of requirements know no groups.
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve, frozen

from workcert.judge.cause import Cause
from workcert.report.model import FailureReport


@frozen
class Group:
    """``others`` in the order in which they were found."""

    lead: FailureReport
    others: tuple[FailureReport, ...]


@frozen
class Causes:
    """Of a failure as it was ``found``, and as it was ``shrunk``; None where nobody knows, or it was not."""

    found: Cause | None
    shrunk: Cause | None = None


def named(failures: Sequence[FailureReport], causes: Sequence[Causes]) -> tuple[FailureReport, ...]:
    """The failures, each with the name of its group; one without a cause stands alone."""
    became: dict[Cause, Cause] = {}
    for each in causes:
        if each.found is not None and each.shrunk is not None:
            became.setdefault(each.found, each.shrunk)
    last = [None if each.found is None else became.get(each.found, each.found) for each in causes]
    members: dict[Cause, list[FailureReport]] = {}
    for failure, cause in zip(failures, last, strict=True):
        if cause is not None:
            members.setdefault(cause, []).append(failure)
    leads = {cause: _lead(group).name for cause, group in members.items()}
    return tuple(
        evolve(failure, group=failure.name if cause is None else leads[cause])
        for failure, cause in zip(failures, last, strict=True)
    )


def groups(failures: Sequence[FailureReport]) -> tuple[Group, ...]:
    """The groups of a report, in the order in which the first of each was found."""
    members: dict[str, list[FailureReport]] = {}
    for failure in failures:
        members.setdefault(failure.group or failure.name, []).append(failure)
    return tuple(_group(group) for group in members.values())


def _group(members: Sequence[FailureReport]) -> Group:
    lead = next((failure for failure in members if failure.leads), members[0])
    return Group(lead, tuple(failure for failure in members if failure is not lead))


def _lead(members: Sequence[FailureReport]) -> FailureReport:
    """The first that was shrunk; a failure that does not show each time only where there is no other."""
    return min(members, key=lambda failure: (failure.flaky, failure.executions == 0))
