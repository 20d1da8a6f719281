"""``reports/faults.md``: what the suites say of the seeded faults, from the grades that are kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from statistics import median
from typing import Final

from workcert.faults.grades import EQUIVALENT, SURVIVED, Grade, Grades
from workspec.render.markdown import GENERATED, code, plain, table

FIELD: Final = "seen in the field"
NAME: Final = "faults.md"


def page(kept: Sequence[Grades]) -> str:
    """One section for each contract."""
    blocks = [
        GENERATED,
        "# Seeded faults",
        "A pass is worth what it would have found. Each rule of a contract was made wrong in every way that its form "
        "allows, and faults that stores have in the field were made by hand. Each wrong store was tried by the tours "
        "and by the scenarios. What these leave standing is laid beside the right rules by search, within "
        "configurations that are named; what can be told apart there is tried by the scenarios of volume and by the "
        "walk. Nothing else may survive; of what no call can tell at all the argument is given.",
        *(block for grades in kept for block in _contract(grades)),
    ]
    return "\n\n".join(blocks) + "\n"


def _contract(grades: Grades) -> Iterator[str]:
    yield f"## {grades.contract} {grades.version}"
    yield (
        f"Specification {code(grades.digest)}, effort {plain(grades.effort)}, seed {grades.seed}. "
        f"To grade anew: {code(f'workcert faults {grades.contract} --write')}."
    )
    yield _by_kind(grades.faults)
    yield _by_suite(grades.faults)
    field = [grade for grade in grades.faults if grade.kind == FIELD]
    if field:
        yield "### Seen in the field"
        yield table(
            ("fault", "needs", "fate", "named as", "steps"),
            [(plain(_bare(g)), plain(g.tier), plain(g.fate), _named(g), str(g.length)) for g in field],
        )
    yield from _listed("### Survived", "needs", [(g.name, g.tier) for g in grades.of((SURVIVED,))])
    alike = [(g.name, g.proof) for g in grades.of((EQUIVALENT,))]
    yield from _listed("### Cannot be told from the right store", "shown in", alike)
    yield "### All that were caught"
    caught = [grade for grade in grades.faults if grade.caught]
    yield table(
        ("fault", "suite", "named as", "calls", "steps"),
        [(plain(g.name), plain(g.suite), _named(g), str(g.calls), str(g.length)) for g in caught],
    )


def _named(grade: Grade) -> str:
    """A store that is called a liar about an ability breaks no requirement."""
    return code(grade.requirement) if grade.length else plain(grade.fate)


def _bare(grade: Grade) -> str:
    return grade.name.removeprefix(f"{grade.kind}: ")


def _by_kind(faults: Iterable[Grade]) -> str:
    kinds: dict[str, list[Grade]] = {}
    for grade in faults:
        kinds.setdefault(grade.kind, []).append(grade)
    every = [grade for grades in kinds.values() for grade in grades]
    rows = [_counts(plain(kind), grades) for kind, grades in kinds.items()]
    headers = (
        "kind of fault",
        "seeded",
        "caught",
        "equivalent",
        "survived",
        "steps: median",
        "most",
        "named by the rule",
    )
    return table(headers, [*rows, _counts("all", every)])


def _counts(kind: str, grades: Sequence[Grade]) -> tuple[str, ...]:
    caught = [grade for grade in grades if grade.caught]
    lengths = [grade.length for grade in caught if grade.length] or [0]
    fates = Counter(grade.fate for grade in grades)
    named = sum(grade.named for grade in caught)
    numbers = (
        len(grades),
        len(caught),
        fates[EQUIVALENT],
        fates[SURVIVED],
        f"{median(lengths):g}",
        max(lengths),
        named,
    )
    return (kind, *map(str, numbers))


def _by_suite(faults: Iterable[Grade]) -> str:
    suites = Counter(grade.suite for grade in faults if grade.caught)
    return "First caught by " + ", ".join(f"{plain(name)} ({number})" for name, number in suites.most_common()) + "."


def _listed(title: str, header: str, rows: Sequence[tuple[str, str]]) -> Iterator[str]:
    if rows:
        yield title
        yield table(("fault", header), [(plain(name), plain(said)) for name, said in rows])
