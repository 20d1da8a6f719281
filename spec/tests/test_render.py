"""The generated pages say everything that the rules say, and the diagram can be read."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import pytest
from attrs import evolve

from workspec.core.choice import Choice
from workspec.core.contract import Contract, steps_of
from workspec.core.rule import Effect, Move, Refuse, When, checks_of, walk_steps
from workspec.jobs.contract import CONTRACT as JOBS
from workspec.render import jobs
from workspec.render.errors import declared_with_details, error_codes
from workspec.render.layout import LABEL_SIZE, NAME_SIZE, Box, edges_of, layout, text_width
from workspec.render.markdown import GENERATED, code, finished, plain, prose, table
from workspec.render.operations import when_text
from workspec.render.pages import PRESENTATIONS, overview, pages_of, render, state_text
from workspec.render.presentation import Diagram, Presentation, Route, bottom, top
from workspec.render.svg import LEGEND_SIZE, draw
from workspec.render.uses import anchor, steps_heading
from workspec.render.workload import DIAGRAM, MEASURED_FROM, PRESENTATION, kinds_of_deadline
from workspec.workload.contract import CONTRACT as WORKLOAD
from workspec.workload.vocabulary import ErrorCode

from . import toy

ALL = (WORKLOAD, JOBS, toy.CONTRACT)
CONTRACTS = [pytest.param(contract, id=contract.name) for contract in ALL]
PAGES = {contract.name: render(contract) for contract in ALL}
DRAWN = [
    pytest.param(WORKLOAD, DIAGRAM, id="workload"),
    pytest.param(JOBS, jobs.PRESENTATION.diagram, id="jobs"),
]
SVG = "{http://www.w3.org/2000/svg}"


def page(contract: Contract, name: str) -> str:
    return PAGES[contract.name][name]


def shown(contract: Contract) -> Presentation:
    return PRESENTATIONS.get(contract.name, Presentation())


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def rows(text: str) -> list[list[str]]:
    """The rows of all tables in a text, without headers and rulers."""
    lines = text.splitlines()
    rulers = {number for number, line in enumerate(lines) if line.startswith("| ---")}
    heads = {number - 1 for number in rulers}
    return [
        cells(line)
        for number, line in enumerate(lines)
        if line.startswith("|") and number not in rulers and number not in heads
    ]


def section(text: str, heading: str) -> str:
    parts = re.split(r"^## ", text, flags=re.MULTILINE)
    return next(part for part in parts if part.splitlines()[0] == heading)


# Markdown --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a | b", r"a \| b"),
        ("attempt_count >= attempt_budget", "attempt_count >= attempt_budget"),
        ("now < lease end", "now < lease end"),
        ("<b>", r"\<b>"),
        ("*all* `of` [it]", r"\*all\* \`of\` \[it\]"),
        ("_x_ a_b", r"\_x\_ a_b"),
        ("a\\|b", r"a\\\|b"),
        ("&lt; & more", r"\&lt; & more"),
        ("two\nlines", "two lines"),
    ],
)
def test_plain_text_appears_as_it_is(text: str, expected: str) -> None:
    assert plain(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("`a|b` | c", r"`a\|b` \| c"),
        ("keep `<x>` but not <x>", r"keep `<x>` but not \<x>"),
        ("*stressed*\nnext", "*stressed* next"),
    ],
)
def test_prose_keeps_its_markdown(text: str, expected: str) -> None:
    assert prose(text) == expected


def test_code_with_backticks_and_bars() -> None:
    assert code("x") == "`x`"
    assert code("a|b") == r"`a\|b`"
    assert code("a`b") == "`` a`b ``"
    assert code("") == ""


def test_a_table_drops_empty_columns_and_refuses_ragged_rows() -> None:
    assert table(("a", "b", "c"), [("1", "", "3")]) == "| a | c |\n| --- | --- |\n| 1 | 3 |"
    with pytest.raises(ValueError, match="2 cells under 1 headers"):
        table(("a",), [("1", "2")])


def test_a_page_defines_the_ids_that_it_names() -> None:
    text = finished("T", ["see [WRK-GEN-01]"], ["WRK-GEN-01", "WRK-GEN-02"], "x.md")
    assert text.endswith("\n[WRK-GEN-01]: requirements.md#wrk-gen-01\n")
    assert "WRK-GEN-02" not in text


# Pages -----------------------------------------------------------------------------------------------------------


def test_rendering_does_not_depend_on_the_order_of_sets() -> None:
    script = (
        "import hashlib; from workspec.render.pages import render; from workspec.workload.contract import CONTRACT;"
        "print(hashlib.sha256(repr(render(CONTRACT)).encode()).hexdigest())"
    )
    source = str(Path(__file__).parents[1])
    seen = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": source},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(seen) == 1


@pytest.mark.parametrize("contract", CONTRACTS)
def test_every_file_is_marked_as_generated(contract: Contract) -> None:
    assert all(GENERATED in text for text in PAGES[contract.name].values())


@pytest.mark.parametrize("contract", CONTRACTS)
def test_the_index_links_every_file(contract: Contract) -> None:
    index = page(contract, "index.md")
    assert all(f"]({name})" in index for name in PAGES[contract.name] if name != "index.md")


@pytest.mark.parametrize("contract", CONTRACTS)
def test_every_table_is_rectangular(contract: Contract) -> None:
    for name, text in PAGES[contract.name].items():
        width = 0
        for line in text.splitlines():
            if not line.startswith("|"):
                width = 0
                continue
            width = width or len(cells(line))
            assert len(cells(line)) == width, f"{name}: {line}"


@pytest.mark.parametrize("contract", CONTRACTS)
def test_every_link_leads_somewhere(contract: Contract) -> None:
    pages = PAGES[contract.name]
    targets = {name: set(re.findall(r'<a id="([^"]+)"', text)) for name, text in pages.items()}
    for name, text in pages.items():
        targets[name] |= {anchor(heading) for heading in re.findall(r"^## (.*)$", text, flags=re.MULTILINE)}
    for name, text in pages.items():
        inline = re.findall(r"\]\(([^)]+)\)", text)
        defined = dict(re.findall(r"^\[([^\]]+)\]: (\S+)$", text, flags=re.MULTILINE))
        for link in (*inline, *defined.values()):
            there, _, fragment = link.partition("#")
            assert (there or name) in pages, f"{name}: {link}"
            assert not fragment or fragment in targets[there or name], f"{name}: {link}"
        named = set(re.findall(r"(?<!\\)\[([A-Z]{3}-[A-Z]{2,4}-\d\d)\](?!:)", text))
        assert named == set(defined), name


@pytest.mark.parametrize("contract", CONTRACTS)
def test_every_requirement_has_one_row_with_its_text(contract: Contract) -> None:
    found = {re.sub(r"<a .*?</a>", "", row[0]): row for row in rows(page(contract, "requirements.md"))}
    assert list(found) == [requirement.id for requirement in contract.catalogue]
    for requirement in contract.catalogue:
        assert prose(requirement.text) in found[requirement.id]
        assert found[requirement.id][-1]


@pytest.mark.parametrize("contract", CONTRACTS)
def test_every_check_stands_in_its_operation_in_order(contract: Contract) -> None:
    for operation in contract.operations:
        text = section(page(contract, "operations.md"), operation.name)
        found = [row for row in rows(text) if {"refuse", "reply", "skip"} & set(row[1:3])]
        assert len(found) == len(checks_of(operation))
        for number, (row, check) in enumerate(zip(found, checks_of(operation), strict=True), 1):
            assert row[0] == str(number)
            assert when_text(check.when) in row
            assert all(f"[{identifier}]" in " ".join(row) for identifier in check.requirements)
            if isinstance(check, Refuse):
                options = check.code.options if isinstance(check.code, Choice) else (check.code,)
                assert all(code(option) in " ".join(row) for option in options)


@pytest.mark.parametrize("contract", CONTRACTS)
def test_every_step_stands_on_the_page_of_operations(contract: Contract) -> None:
    text = page(contract, "operations.md")
    names = {cell for row in rows(text) for cell in row}
    for operation in contract.operations:
        for step in walk_steps(steps_of(operation)):
            if isinstance(step, Effect):
                assert plain(step.name) in names
                assert plain(step.text) in text
            elif isinstance(step, Move):
                assert f"event {plain(step.event)}" in names
            elif isinstance(step, When):
                assert plain(step.condition.text) in text


@pytest.mark.parametrize("contract", CONTRACTS)
def test_every_transition_row_stands_there_in_order(contract: Contract) -> None:
    text = re.split("^## ", page(contract, "transitions.md"), flags=re.MULTILINE)[0]
    assert [row[:4] for row in rows(text)] == [
        [
            state_text(row.source, shown(contract)),
            plain(row.event),
            when_text(row.guard),
            state_text(row.target, shown(contract)),
        ]
        for row in contract.transitions.rows
    ]
    assert all("[" in row[-1] for row in rows(text))


@pytest.mark.parametrize("contract", CONTRACTS)
def test_every_row_of_a_decision_table_stands_there_in_order(contract: Contract) -> None:
    for decision in contract.tables:
        found = [row for row in rows(section(page(contract, "decisions.md"), plain(decision.name))) if row[0]]
        assert [row[1:3] for row in found] == [[when_text(row.when), code(row.value)] for row in decision.rows]
        assert all("[" in row[3] for row in found)


@pytest.mark.parametrize("contract", CONTRACTS)
def test_states_choices_invariants_and_codes_are_complete(contract: Contract) -> None:
    assert [row[0] for row in rows(page(contract, "states.md"))] == [
        state_text(note.name, shown(contract)) for note in contract.states
    ]
    choices = " ".join(row[0] for row in rows(page(contract, "choices.md")))
    assert all(code(choice.id) in choices for choice in contract.choices)
    invariants = page(contract, "invariants.md")
    assert all(plain(invariant.text) in invariants for invariant in contract.invariants)
    errors = page(contract, "errors.md")
    assert all(f"## {name}\n" in errors for name in error_codes(contract))
    events = "evidence.md" if shown(contract).events else "transitions.md"
    moved = {
        row[0] for row in rows(page(contract, events).partition("operation moves by")[2] or page(contract, events))
    }
    assert moved == {plain(event) for event in contract.transitions.events()}


def test_shared_steps_are_written_once() -> None:
    text = page(WORKLOAD, "operations.md")
    assert text.count(f"## {steps_heading('expire')}") == 1
    assert text.count("| end attempt as timed out |") == 1


def test_the_presentation_of_workload_covers_what_rules_cannot_print() -> None:
    assert set(error_codes(WORKLOAD)) == set(ErrorCode)
    assert declared_with_details(WORKLOAD) == set(PRESENTATION.details)
    assert kinds_of_deadline() == set(MEASURED_FROM)
    assert [row[1] for row in rows(page(WORKLOAD, "deadlines.md"))] == list(MEASURED_FROM)


def test_every_operation_of_workload_has_its_signature() -> None:
    text = page(WORKLOAD, "operations.md")
    arguments = "workload_id: str, worker_id: str, capabilities: Sequence[str], lease_ms: int, now_s: int"
    assert f"`claim({arguments}) → Claim`" in text
    assert all(f"`{operation.name}(" in section(text, operation.name) for operation in WORKLOAD.operations)


# Diagram ---------------------------------------------------------------------------------------------------------


def tree(contract: Contract) -> ElementTree.Element:
    return ElementTree.fromstring(page(contract, "diagram.svg"))


def written(root: ElementTree.Element) -> Iterator[tuple[str, Box]]:
    """Every text of a picture with the box that it takes."""
    sizes = {"label": LABEL_SIZE, "name": NAME_SIZE, "note": LEGEND_SIZE}
    for element in root.iter(f"{SVG}text"):
        text = element.text or ""
        size = sizes[element.attrib["class"].split()[0]]
        width = text_width(text, size)
        x = float(element.attrib["x"]) - width * {"middle": 0.5, "end": 1.0}.get(
            element.attrib.get("text-anchor", "start"), 0.0
        )
        yield text, Box(x, float(element.attrib["y"]) - size * 0.8, width, size)


@pytest.mark.parametrize("contract", CONTRACTS)
def test_the_diagram_shows_every_state_and_event(contract: Contract) -> None:
    root = tree(contract)
    texts = {element.text for element in root.iter(f"{SVG}text")}
    assert {note.name for note in contract.states} <= texts
    shown = {(text or "").partition(" [")[0] for text in texts}
    assert set(contract.transitions.events()) <= shown


@pytest.mark.parametrize(("contract", "diagram"), DRAWN)
def test_no_two_texts_of_the_diagram_overlap_and_none_is_cut_off(contract: Contract, diagram: Diagram) -> None:
    texts = list(written(tree(contract)))
    width, height = diagram.size
    for text, box in texts:
        assert 0 <= box.x, text
        assert box.x + box.width <= width, text
        assert 0 <= box.y <= height - box.height, text
    assert [(one, other) for (one, a), (other, b) in combinations(texts, 2) if a.overlaps(b)] == []


@pytest.mark.parametrize(("contract", "diagram"), DRAWN)
def test_no_edge_of_the_diagram_runs_through_a_box_or_a_text(contract: Contract, diagram: Diagram) -> None:
    placed = layout(contract, diagram)
    texts = list(written(tree(contract)))
    for edge in placed.edges:
        for segment in edge.segments():
            assert [name for name, box in placed.boxes.items() if box.crossed_by(*segment)] == [], edge
            assert [text for text, box in texts if box.crossed_by(*segment)] == [], edge


@pytest.mark.parametrize(("contract", "diagram"), DRAWN)
def test_no_label_of_the_diagram_lies_on_a_box(contract: Contract, diagram: Diagram) -> None:
    placed = layout(contract, diagram)
    for edge in placed.edges:
        assert [name for name, box in placed.boxes.items() if box.overlaps(edge.label.box)] == [], edge


@pytest.mark.parametrize(("contract", "diagram"), DRAWN)
def test_the_edges_of_the_diagram_are_the_transitions(contract: Contract, diagram: Diagram) -> None:
    """An edge of a frame stands for one from each of its states."""
    members = {group.title: group.states for group in diagram.groups}
    drawn = {
        (state, target, line.partition(" [")[0])
        for (source, target), lines in edges_of(contract, diagram.groups).items()
        for line in lines
        for state in members.get(source, (source,))
    }
    assert drawn == {(row.source, row.target, row.event) for row in contract.transitions.rows}


@pytest.mark.parametrize("contract", CONTRACTS)
def test_the_diagram_needs_nothing_from_elsewhere(contract: Contract) -> None:
    text = page(contract, "diagram.svg")
    assert text.count("http") == 1
    assert not re.search(r"<script|@import|url\(|<image|@font-face", text)
    assert "prefers-color-scheme: dark" in text


@pytest.mark.parametrize(("contract", "diagram"), DRAWN)
def test_every_edge_that_is_not_straight_has_a_route(contract: Contract, diagram: Diagram) -> None:
    """Without a route an edge may run anywhere, so only those between neighbours of one line go without."""
    routed = {(route.source, route.target) for route in diagram.routes}
    places = {note.name: note.place for note in contract.states}
    for source, target in edges_of(contract, diagram.groups):
        assert (source, target) in routed or places[source][1] == places[target][1]


def test_a_route_without_an_edge_is_refused() -> None:
    stray = Route("SUCCEEDED", "READY", top(), bottom())
    with pytest.raises(ValueError, match="no such edge in the workload contract"):
        draw(WORKLOAD, evolve(DIAGRAM, routes=(*DIAGRAM.routes, stray)))


def test_a_route_that_misses_its_end_is_refused() -> None:
    routes = tuple(route for route in DIAGRAM.routes if (route.source, route.target) != ("READY", "DEAD_LETTER"))
    askew = Route("READY", "DEAD_LETTER", bottom(-45), top(-40))
    with pytest.raises(ValueError, match="READY to DEAD_LETTER needs another turn"):
        draw(WORKLOAD, evolve(DIAGRAM, routes=(*routes, askew)))


def test_each_contract_with_a_presentation_is_named_by_its_own_name() -> None:
    assert set(PRESENTATIONS) == {WORKLOAD.name, JOBS.name}


def test_the_overview_links_every_page_of_every_contract() -> None:
    text = overview((WORKLOAD, JOBS))
    assert GENERATED in text
    links = set(re.findall(r"\]\(([^)]+)\)", text))
    assert links == {f"{contract.name}/{name}" for contract in (WORKLOAD, JOBS) for name in PAGES[contract.name]}


def test_a_contract_without_tables_or_events_has_no_page_of_them() -> None:
    plainly = Presentation(events=False)
    names = {page.name for page in pages_of(evolve(toy.CONTRACT, tables=()), plainly)}
    assert {"decisions.md", "evidence.md"} & names == set()
    assert {"decisions.md", "evidence.md"} < {page.name for page in pages_of(toy.CONTRACT, Presentation())}
