"""What a pass is worth: how many seeded faults of what a backend claims this effort catches."""

from __future__ import annotations

from workcert.backends.registry import LoadedBackend
from workcert.faults.grades import EQUIVALENT, SURVIVED, Grade, Grades
from workcert.report.model import Strength
from workcert.run.engine import SUITES, Options
from workspec.core.contract import Contract, digest


def strength_of(backend: LoadedBackend, options: Options, grades: Grades | None) -> Strength:
    """The strength of a run, from what is kept of an earlier grading of the suites.

    A fault is seeded for a backend when the rule that it makes wrong is of a profile that the backend claims. It counts
    as caught when the suite that caught it ran here. Only the first suite that catches a fault is kept, so a run of
    later suites alone may be worth more than it says.

    Args:
        grades: None where the suites were never graded.
    """
    contract = backend.binding.contract
    why = _not_comparable(contract, options, grades)
    if grades is None or why:
        return Strength(note=why)
    own = [grade for grade in grades.faults if _profile(contract, grade) in backend.profiles]
    alike = sum(grade.fate == EQUIVALENT for grade in own)
    caught = sum(grade.caught and grade.suite in options.suites for grade in own)
    in_part = set(options.suites) != set(SUITES)
    if in_part and not caught:
        return Strength(
            note="not known: of each seeded fault the first suite that catches it is kept, and others come before these"
        )
    return Strength(
        graded_effort=grades.effort,
        seeded=len(own) - alike,
        caught=caught,
        equivalent=alike,
        survived=sum(grade.fate == SURVIVED for grade in own),
        at_least=in_part,
    )


def _not_comparable(contract: Contract, options: Options, grades: Grades | None) -> str:
    """Why the grades say nothing of this run, with the command that makes such as do; empty where they do."""
    effort = str(options.effort)
    if options.examples is not None:
        return f"suites are graded at the counts of an effort, not at {options.examples} examples; leave --examples out"
    if grades is None or grades.digest != digest(contract):
        return f"not graded for this specification: {_command(contract, effort)}"
    if grades.effort != effort:
        return f"graded at effort {grades.effort}, not at {effort}: {_command(contract, effort)}"
    return ""


def _command(contract: Contract, effort: str) -> str:
    return f"workcert faults {contract.name}{'' if effort == Options().effort else f' --effort {effort}'} --write"


def _profile(contract: Contract, grade: Grade) -> str | None:
    """That of the first requirement which is in the catalogue; a fault of the field may name others."""
    known = (requirement for requirement in grade.requirements if requirement in contract.catalogue)
    first = next(known, None)
    return None if first is None else contract.catalogue[first].profile
