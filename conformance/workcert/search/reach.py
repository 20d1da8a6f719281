"""The two ways in: `search` goes through one configuration, `reach` tells what all of a contract's reach together."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping

from attrs import evolve

from workcert.binding import bindings
from workcert.search.breadth import Breadth
from workcert.search.needs import Needs
from workcert.search.path import Path, case_of, path_to
from workcert.search.progress import Progress
from workcert.search.result import Reached, SearchResult, Violation
from workcert.search.targets import CELL, NO_RECORD, SIDE, SIDES, Raw, Target, kinds_of_keys, targets_of
from workspec.core.configuration import Configuration
from workspec.core.contract import Contract, digest

Told = Callable[[Progress], None]


def search(
    contract: Contract,
    configuration: Configuration,
    limit: int | None = None,
    progress: Told | None = None,
    symmetric: bool = True,
) -> SearchResult:
    """Go through every state that a configuration reaches, or through the first ``limit`` of them.

    Invariants and laws are held against every call in every state found. Each requirement is reported once, with
    the shortest sequence of calls that breaks it.

    Args:
        contract: the rules; any `Contract`, seeded faults included.
        configuration: what may be called, and how time may pass.
        limit: how many states to reach at most; None for all.
        progress: told every thousand states, and at the end.
        symmetric: states that differ only in names that the configuration may exchange are one.

    Raises:
        UndeclaredKey: a call made a record whose key the configuration does not declare.
        FoldError: the calls to a violation cannot be made again.
    """
    breadth = Breadth(contract, configuration, limit, progress, symmetric)
    breadth.run()
    return _result(breadth)


def reach(contract: Contract, configurations: Iterable[Configuration], progress: Told | None = None) -> Reached:
    """Search every configuration whole, and give paths to everything that is reached, for stores that claim little and
    for those that claim much.

    Each path has been made again from an empty store by the interpreter, and its last call shows the target.

    Args:
        contract: the rules.
        configurations: in the order in which they are named; of equally short paths of one need the first
            configuration's counts, and those of configurations that stand aside only where there is no other.
        progress: told every thousand states.

    Raises:
        UndeclaredKey: a call made a record whose key a configuration does not declare.
        FoldError: a path does not show its target: the fold of a configuration leaves out what matters.
    """
    found: dict[Raw, list[Path]] = {}
    searched = []
    ordered = tuple(configurations)
    aside = {each.name for each in ordered if each.aside}
    for configuration in ordered:
        breadth = Breadth(contract, configuration, None, progress, needs=Needs(bindings()[contract.name]))
        breadth.run()
        searched.append(_result(breadth))
        for raw, ways in breadth.found.items():
            for needs, way in ways.items():
                path = evolve(path_to(breadth, way, raw), needs=breadth.needs.names(needs))
                _keep(found.setdefault(raw, []), path, aside)
    paths = {Target(*raw): tuple(sorted(found[raw], key=lambda path: _rank(path, aside))) for raw in sorted(found)}
    return Reached(contract.name, digest(contract), tuple(searched), paths, tuple(_unreached(contract, paths)))


def _keep(known: list[Path], path: Path, aside: Container[str]) -> None:
    """Add a path, if none of those that are known serves as well, and leave out those that it serves for."""
    if any(_serves(other, path, aside) for other in known):
        return
    known[:] = [other for other in known if not _serves(path, other, aside)]
    known.append(path)


def _serves(path: Path, other: Path, aside: Container[str]) -> bool:
    """Whoever can go the other path can go this one, and goes no further."""
    lies_aside = path.configuration in aside
    if lies_aside and other.configuration not in aside:
        return False
    alike = path.needs == other.needs and lies_aside == (other.configuration in aside)
    return len(path.steps) <= len(other.steps) if alike else path.needs <= other.needs


def _rank(path: Path, aside: Container[str]) -> tuple[bool, int, int, list[str]]:
    return path.configuration in aside, len(path.needs), len(path.steps), sorted(path.needs)


def _unreached(contract: Contract, found: Mapping[Target, object]) -> Iterator[Target]:
    yield from (target for target in targets_of(contract) if target not in found)
    met = {target.name[:2] for target in found if target.kind == CELL}
    stored = {state for state, _operation in met}
    for state in (*(note.name for note in contract.states), NO_RECORD):
        # A state that records only pass through has no cells.
        for operation in contract.operations if str(state) in stored else ():
            if (str(state), operation.name) not in met:
                yield Target(CELL, (str(state), operation.name, ""))


def _result(breadth: Breadth) -> SearchResult:
    contract, configuration = breadth.contract, breadth.configuration
    fired = {names[0] for kind, names in breadth.found if kind not in (SIDE, CELL)}
    sides = {names for kind, names in breadth.found if kind == SIDE}
    asked = sorted({names[0] for names in sides})
    return SearchResult(
        contract=contract.name,
        configuration=configuration.name,
        text=configuration.text,
        states=breadth.distinct,
        transitions=breadth.transitions,
        depth=breadth.depth,
        frontier=len(breadth.states) - breadth.looked_at,
        violations=tuple(_violations(breadth)),
        never_fired=tuple(key for key in kinds_of_keys(contract) if key not in fired),
        sides={key: tuple(side for side in SIDES if (key, side) in sides) for key in asked},
    )


def _violations(breadth: Breadth) -> Iterator[Violation]:
    for broken, way in breadth.violations.values():
        case = case_of(breadth.contract, path_to(breadth, way), (broken.requirement,), broken.text)
        yield Violation(broken.requirement, broken.text, case)
