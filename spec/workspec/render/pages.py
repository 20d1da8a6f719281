"""All generated pages of a contract: `render` is a pure function from the rules to file names and texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, TypeAlias

from attrs import frozen

from workspec.core.choice import OTHER, Choice, ChoiceKind
from workspec.core.contract import Contract, digest
from workspec.core.requirement import Kind, Requirement
from workspec.core.rule import DecisionTable, TransitionTable
from workspec.render import jobs, workload
from workspec.render.cells import CELLS, Searched, cell_blocks
from workspec.render.errors import error_blocks
from workspec.render.markdown import code, codes, finished, links, plain, prose, table
from workspec.render.operations import actor_text, evidence_text, operation_blocks, when_text
from workspec.render.presentation import ExtraPage, Presentation
from workspec.render.svg import draw
from workspec.render.uses import Use, anchor, movers, uses

PRESENTATIONS: Final[Mapping[str, Presentation]] = {
    "workload": workload.PRESENTATION,
    "jobs": jobs.PRESENTATION,
}
"""The contracts that have wordings, pages or a layout of their own; any other is rendered plainly."""

DIAGRAM: Final = "diagram.svg"
INDEX: Final = "index.md"
DECISIONS, EVENTS = "decisions.md", "evidence.md"

Blocks: TypeAlias = "tuple[str, ...]"


@frozen
class Page:
    """A generated page: file name, what the index says of it, title, and its blocks of Markdown."""

    name: str
    summary: str
    title: str
    blocks: Callable[[Contract, Presentation], Blocks]


def render(
    contract: Contract, presentation: Presentation | None = None, searched: Searched | None = None
) -> dict[str, str]:
    """File name to text of every generated page, and of the diagram. ``presentation``: by default the contract's.
    ``searched``: what a search of the contract found, if one is kept."""
    shown = presentation or PRESENTATIONS.get(contract.name, Presentation())
    pages = pages_of(contract, shown, searched)
    identifiers = [requirement.id for requirement in contract.catalogue]
    name = name_of(contract)
    files = {INDEX: finished(name, _index_blocks(contract, shown, pages), identifiers, INDEX)}
    for page in pages:
        title = f"{name}: {page.title.lower()}"
        files[page.name] = finished(title, page.blocks(contract, shown), identifiers, page.name)
    files[DIAGRAM] = draw(contract, shown.diagram)
    return files


def name_of(contract: Contract) -> str:
    return f"{contract.name.capitalize()} contract"


def overview(contracts: Iterable[Contract], further: Blocks = ()) -> str:
    """The page that stands above those of all contracts and links each of them; ``further`` blocks end it."""
    blocks = ["What each contract demands, printed out of the rules that judge a store."]
    for contract in contracts:
        shown = PRESENTATIONS.get(contract.name, Presentation())
        pages = pages_of(contract, shown)
        blocks += (
            f"## [{plain(name_of(contract))}]({contract.name}/{INDEX})",
            f"{plain(shown.title)} Version {plain(contract.version)}, {len(contract.catalogue)} requirements, "
            f"{len(contract.operations)} operations, digest {code(digest(contract))}.".strip(),
            table(
                ("page", "what it says"),
                [(f"[{plain(page.title)}]({contract.name}/{page.name})", plain(page.summary)) for page in pages]
                + [(f"[Diagram]({contract.name}/{DIAGRAM})", "States and transitions, as a picture.")],
            ),
        )
    return finished("Contracts", (*blocks, *further), (), INDEX)


def pages_of(contract: Contract, presentation: Presentation, searched: Searched | None = None) -> tuple[Page, ...]:
    """The pages in the order in which the index lists them; those of the contract alone follow the decisions.

    A contract without decision tables, or without events, has no page of them.
    """
    extra = (Page(page.name, page.summary, page.title, _alone(page)) for page in presentation.pages)
    left_out = (() if contract.tables else (DECISIONS,)) + (() if presentation.events else (EVENTS,))
    cells = Page(
        CELLS,
        "What each operation does in each state, and the shortest sequence that shows it.",
        "Cells",
        lambda of, _shown: cell_blocks(of, searched),
    )
    return tuple(page for page in (*RULE_PAGES, cells, *extra, *OTHER_PAGES) if page.name not in left_out)


def _alone(page: ExtraPage) -> Callable[[Contract, Presentation], Blocks]:
    """A contract's own page knows its presentation already."""
    return lambda contract, _shown: page.blocks(contract)


def _index_blocks(contract: Contract, shown: Presentation, pages: Iterable[Page]) -> Blocks:
    catalogue = contract.catalogue
    kinds = Counter(str(requirement.kind) for requirement in catalogue)
    profiles = dict.fromkeys(requirement.profile for requirement in catalogue)
    return (
        f"Version {plain(contract.version)}, digest {code(digest(contract))}: two specifications with the same digest "
        "judge alike.",
        *shown.preface,
        f"![States and transitions]({DIAGRAM})",
        table(
            ("page", "what it says"),
            [(f"[{plain(page.title)}]({page.name})", plain(page.summary)) for page in pages],
        ),
        "## Requirements in numbers",
        table(
            ("profile", *(str(kind) for kind in Kind), "all"),
            [(code(profile), *_counts(r for r in catalogue if r.profile == profile)) for profile in profiles]
            + [("all", *(str(kinds[str(kind)]) for kind in Kind), str(len(catalogue)))],
        ),
        "A *rule* is enforced by a check, an effect or a row; an *invariant* holds in each committed state or across "
        "each step; a *scenario* is shown by a directed case; a *definition* explains and is never counted.",
    )


def _counts(requirements: Iterable[Requirement]) -> tuple[str, ...]:
    kinds = Counter(requirement.kind for requirement in requirements)
    return (*(str(kinds[kind]) for kind in Kind), str(kinds.total()))


def state_text(name: str, shown: Presentation) -> str:
    """A state as code; one in which no record rests as a word, because no store ever shows it."""
    return f"*{plain(name)}*" if name in shown.unstored else code(name)


def _state_blocks(contract: Contract, shown: Presentation) -> Blocks:
    rows = contract.transitions.rows
    unstored = [f"*{plain(note.name)}*" for note in contract.states if note.name in shown.unstored]
    return (
        table(
            ("state", "kind", "note", *shown.properties, "entered by", "left by", "requirements"),
            [
                (
                    state_text(note.name, shown),
                    plain(note.kind),
                    plain(note.text),
                    *(_answer(note.name, holds, shown) for holds in shown.properties.values()),
                    plain(", ".join(dict.fromkeys(row.event for row in rows if row.target == note.name))),
                    plain(", ".join(dict.fromkeys(row.event for row in rows if row.source == note.name))),
                    links(i for row in rows if note.name in (row.source, row.target) for i in row.requirements),
                )
                for note in contract.states
            ],
        ),
        f"{' and '.join(unstored)} are no stored states: no record is there." if unstored else "",
        f"![States and transitions]({DIAGRAM})",
    )


def _answer(state: str, holds: Callable[[str], bool], shown: Presentation) -> str:
    if state in shown.unstored:
        return "-"
    return "yes" if holds(state) else "no"


def _transition_blocks(contract: Contract, shown: Presentation) -> Blocks:
    return (
        "A state change that is not in this table is refused. The rows of one state and event exclude each other, and "
        "one of them always holds.",
        table(
            ("from", "event", "guard", "to", "note", "requirements"),
            [
                (
                    state_text(row.source, shown),
                    plain(row.event),
                    when_text(row.guard),
                    state_text(row.target, shown),
                    plain(row.text),
                    links(row.requirements),
                )
                for row in contract.transitions.rows
            ],
        ),
        "## Who moves by which event" if shown.events else "## Which operation moves by which event",
        table(
            ("event", "actor", "operations", "requirements"),
            [
                (
                    plain(mover.move.event),
                    actor_text(mover.move.actor) if shown.events else "",
                    _operation_links(mover.operations),
                    links(mover.move.requirements),
                )
                for mover in movers(contract)
            ],
        ),
    )


def _operation_links(names: Iterable[str]) -> str:
    return ", ".join(f"[{plain(name)}](operations.md#{anchor(name)})" for name in names)


def _decision_blocks(contract: Contract, _shown: Presentation) -> Blocks:
    return (
        "In each table the first row that holds gives the value. A table is asked once in a decision: what it said "
        "first stays true while steps change the record.",
        *(block for decision in contract.tables for block in _decision(decision)),
    )


def _decision(decision: DecisionTable) -> Iterator[str]:
    yield f"## {plain(decision.name)}"
    rows = [
        (str(index), when_text(row.when), code(row.value), links(row.requirements))
        for index, row in enumerate(decision.rows, 1)
    ]
    if not decision.rows or decision.rows[-1].when.text:
        otherwise = "absent" if decision.otherwise is None else code(decision.otherwise)
        rows.append(("", "otherwise", otherwise, ""))
    yield table(("#", "when", decision.unit, "requirements"), rows)
    if decision.order:
        yield f"Order of the rows: {links(decision.order)}"


def _evidence_blocks(contract: Contract, _shown: Presentation) -> Blocks:
    return (
        "Every state change appends one event. A key is left out where its value is absent; integers are written in "
        "plain decimal.",
        table(
            ("event", "state change", "operations", "actor", "evidence", "requirements"),
            [
                (
                    plain(mover.move.event),
                    _changes(contract.transitions, mover.move.event),
                    _operation_links(mover.operations),
                    actor_text(mover.move.actor),
                    evidence_text(mover.move),
                    links(mover.move.requirements),
                )
                for mover in movers(contract)
            ],
        ),
    )


def _changes(transitions: TransitionTable, event: str) -> str:
    """The sources for each target of an event."""
    sources: dict[str, list[str]] = {}
    for row in transitions.rows:
        if row.event == event:
            sources.setdefault(row.target, []).append(row.source)
    return "<br>".join(f"{codes(names)} → {code(target)}" for target, names in sources.items())


def _choice_blocks(contract: Contract, _shown: Presentation) -> Blocks:
    declared = [choice for choice in contract.choices if choice.kind is ChoiceKind.DECLARED]
    free = [choice for choice in contract.choices if choice.kind is ChoiceKind.FREE]
    headers = ("choice", "what it leaves open", "allowed", "the reference takes", "requirements")
    return (
        "The closed list of what the contract lets stores do differently.",
        "## Declared choices",
        f"One value for the whole run, stated by the store. {code(OTHER)} is allowed for each: nothing that depends on "
        "it is asserted then.",
        table(headers, map(_choice, declared)),
        "## Free choices",
        "The value may fall anew each time; it is read from what the store shows.",
        table(headers, map(_choice, free)),
    )


def _choice(choice: Choice) -> tuple[str, ...]:
    allowed = " or ".join(code(option) for option in choice.options) or plain(choice.legal_text) or "anything"
    default = "computed from the call and the record" if callable(choice.default) else code(choice.default)
    name = f'<a id="{anchor(choice.id)}"></a>{code(choice.id)}'
    return (name, prose(choice.text), allowed, default, links(choice.requirements))


def _requirement_blocks(contract: Contract, _shown: Presentation) -> Blocks:
    places = uses(contract)
    blocks: list[str] = []
    for title, members in _families(contract):
        rows = [_requirement(requirement, places.get(requirement.id, ())) for requirement in members]
        blocks += (f"## {plain(title)}", table(("requirement", "kind", "profile", "text", "where"), rows))
    return tuple(blocks)


def _families(contract: Contract) -> Iterator[tuple[str, list[Requirement]]]:
    catalogue = contract.catalogue
    if not catalogue.families:
        yield "Requirements", list(catalogue)
    for family in catalogue.families:
        yield f"{family.title} ({family.prefix})", [r for r in catalogue if r.prefix == family.prefix]


def _requirement(requirement: Requirement, places: tuple[Use, ...]) -> tuple[str, ...]:
    kind = f"{requirement.kind}, provisional" if requirement.provisional else str(requirement.kind)
    name = f'<a id="{requirement.id.lower()}"></a>{requirement.id}'
    needs = f"{code(requirement.profile)} {plain(', '.join(requirement.abilities))}".strip()
    return (name, kind, needs, prose(requirement.text), _places(requirement, places))


UNNAMED: Final = {
    Kind.RULE: "no rule names it",
    Kind.INVARIANT: "no rule names it",
    Kind.SCENARIO: "directed cases",
    Kind.DEFINITION: "explains",
}
"""What is said of a requirement that nothing names: for a rule or an invariant that is a gap, and it shows."""


def _places(requirement: Requirement, places: tuple[Use, ...]) -> str:
    """One line for each kind of rule: the owners, each with its items."""
    lines = []
    for kind in dict.fromkeys(use.kind for use in places):
        owners: dict[tuple[str, str], list[str]] = {}
        for use in places:
            if use.kind == kind:
                owners.setdefault((use.owner, use.link), []).append(use.item)
        named = [
            f"[{plain(owner)}]({link}) {plain(', '.join(items))}".strip() for (owner, link), items in owners.items()
        ]
        lines.append(f"{kind}: {'; '.join(named)}")
    if requirement.not_asserted is not None:
        lines.append(f"not asserted: {prose(requirement.not_asserted)}")
    if not lines:
        lines.append(UNNAMED[requirement.kind])
    return "<br>".join(lines)


def _invariant_blocks(contract: Contract, _shown: Presentation) -> Blocks:
    said = {"record": "in every committed record", "step": "across every step"}
    rows = [
        (str(number), said.get(each.of, plain(each.of)), plain(each.text), links((each.requirement,)))
        for number, each in enumerate(contract.invariants, 1)
    ]
    compared = [(plain(name), links(identifiers)) for name, identifiers in contract.comparisons.items()]
    return (
        table(("#", "holds", "invariant", "requirements"), rows),
        "## Shown by comparing",
        "What the kit sees by comparing records before and after a call, through one handle or several.",
        table(("comparison", "requirements"), compared),
    )


RULE_PAGES: Final = (
    Page("states.md", "Every state, what kind it is, what leads to it and out of it.", "States", _state_blocks),
    Page("transitions.md", "Every legal state change, its guard and who makes it.", "Transitions", _transition_blocks),
    Page("operations.md", "Every operation: checks in their order, then steps.", "Operations", operation_blocks),
    Page(DECISIONS, "Every decision table; the first row that holds decides.", "Decisions", _decision_blocks),
)
OTHER_PAGES: Final = (
    Page("errors.md", "Every error code: who refuses with it, and when.", "Errors", error_blocks),
    Page(EVENTS, "Every event: its actor and the keys of its evidence.", "Events", _evidence_blocks),
    Page("choices.md", "What stores may do differently, and what the reference does.", "Choices", _choice_blocks),
    Page("invariants.md", "What holds always.", "Invariants", _invariant_blocks),
    Page("requirements.md", "Every requirement, and the rules that enforce it.", "Requirements", _requirement_blocks),
)
