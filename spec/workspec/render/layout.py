"""Where everything in a state diagram stands: boxes, edges at right angles, labels. All in pixels.

Nothing is placed by an algorithm that could change its mind: places and routes are declared, this module only does
the sums, so that a picture changes exactly when its contract or its layout does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Final, TypeAlias

from attrs import frozen

from workspec.core.condition import Condition, Member, Not
from workspec.core.contract import Contract
from workspec.core.rule import Transition
from workspec.render.presentation import Diagram, Group, LabelAt, Port, Route

Point: TypeAlias = "tuple[float, float]"

BOX_HEIGHT, BOX_PADDING = 38.0, 14.0
NAME_SIZE, LABEL_SIZE, LINE_HEIGHT = 13.0, 12.5, 15.0
GROUP_SIDE, GROUP_TOP, GROUP_BOTTOM = 26.0, 46.0, 42.0
LABEL_GAP, APART, LOOP_DEPTH = 6.0, 9.0, 18.0

NO_WORDS: Final[Mapping[str, str]] = {}
NARROW, WIDE = frozenset("ijlft.,:;'|![]() I-"), frozenset("mwMW@%")


@frozen
class Box:
    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> Point:
        return self.x + self.width / 2, self.y + self.height / 2

    def overlaps(self, other: Box) -> bool:
        return (
            self.x < other.x + other.width
            and other.x < self.x + self.width
            and self.y < other.y + other.height
            and other.y < self.y + self.height
        )

    def crossed_by(self, start: Point, end: Point) -> bool:
        """Whether a level or upright line runs through."""
        (x1, x2), (y1, y2) = sorted((start[0], end[0])), sorted((start[1], end[1]))
        return x1 < self.x + self.width and x2 > self.x and y1 < self.y + self.height and y2 > self.y


@frozen
class Label:
    """Lines of text in a box; ``anchor`` is SVG's ``text-anchor``."""

    lines: tuple[str, ...]
    box: Box
    anchor: str


@frozen
class Edge:
    source: str
    target: str
    points: tuple[Point, ...]
    label: Label

    def segments(self) -> Iterator[tuple[Point, Point]]:
        return iter(pairwise(self.points))


@frozen
class Layout:
    boxes: Mapping[str, Box]
    """States by name."""
    frames: Mapping[str, Box]
    """Groups by title."""
    edges: tuple[Edge, ...]


def text_width(text: str, size: float) -> float:
    """A width that no usual sans-serif font exceeds by much; there is no font at hand to ask."""
    return size * sum(_em(mark) for mark in text)


def _em(mark: str) -> float:
    if mark in NARROW:
        return 0.34
    if mark in WIDE:
        return 0.9
    return 0.7 if mark.isupper() or mark == "_" else 0.57


def layout(contract: Contract, diagram: Diagram) -> Layout:
    """Everything in its place.

    Raises:
        ValueError: a route that belongs to no edge, or that cannot be drawn at right angles.
    """
    boxes = {note.name: _state_box(note.name, note.place, diagram) for note in contract.states}
    frames = {group.title: _frame(group, boxes) for group in diagram.groups}
    routes = {(route.source, route.target): route for route in diagram.routes}
    ends = {**boxes, **frames}
    labelled = edges_of(contract, diagram.groups, diagram.short)
    edges = []
    for (source, target), lines in labelled.items():
        apart = APART if (target, source) in labelled else 0.0
        route = routes.pop((source, target), None) or _unrouted(source, target, ends, diagram, apart)
        edges.append(_edge(route, ends, lines, diagram))
    if routes:
        raise ValueError(f"no such edge in the {contract.name} contract: {sorted(routes)}")
    return Layout(boxes, frames, tuple(edges))


def edges_of(
    contract: Contract, groups: Iterable[Group], short: Mapping[str, str] = NO_WORDS
) -> dict[tuple[str, str], tuple[str, ...]]:
    """(from, to) to the lines of the edge's label. What all states of a group do alike stands for the group.

    ``short``: see `Diagram.short`.
    """
    lines: dict[tuple[str, str], list[str]] = {}
    for row in contract.transitions.rows:
        line = _event_text(row, contract, short)
        for source in (row.source, *(group.title for group in groups if row.source in group.states)):
            known = lines.setdefault((source, row.target), [])
            if line not in known:
                known.append(line)
    for group in groups:
        for target in dict.fromkeys(target for source, target in lines if source == group.title):
            shared = [
                line
                for line in lines[group.title, target]
                if all(line in lines.get((state, target), ()) for state in group.states)
            ]
            lines[group.title, target] = shared
            for state in group.states:
                own = lines.get((state, target), [])
                own[:] = [line for line in own if line not in shared]
    return {ends: tuple(said) for ends, said in lines.items() if said}


def _event_text(row: Transition, contract: Contract, short: Mapping[str, str]) -> str:
    """The event, and in brackets what its guard asks in a word; the last of two complementary rows says *else*."""
    guard = row.guard
    if guard.text in short:
        return f"{row.event} [{short[guard.text]}]"
    if isinstance(guard, Not) and any(
        twin.guard.text == guard.part.text for twin in contract.transitions.of(row.source, row.event)
    ):
        return f"{row.event} [else]"
    return f"{row.event} [{_short(guard)}]" if guard.text else row.event


def _short(guard: Condition) -> str:
    if isinstance(guard, Member) and guard.of.unit != "flag":
        return " or ".join(str(value) for value in guard.values)
    return guard.text


def _place(diagram: Diagram, column: float, row: float) -> Point:
    return diagram.origin[0] + column * diagram.column_px, diagram.origin[1] + row * diagram.row_px


def _state_box(name: str, place: Point, diagram: Diagram) -> Box:
    x, y = _place(diagram, *place)
    width = max(text_width(name, NAME_SIZE) + 2 * BOX_PADDING, 90.0)
    return Box(x - width / 2, y - BOX_HEIGHT / 2, width, BOX_HEIGHT)


def _frame(group: Group, boxes: Mapping[str, Box]) -> Box:
    inside = [boxes[state] for state in group.states]
    x, y = min(box.x for box in inside) - GROUP_SIDE, min(box.y for box in inside) - GROUP_TOP
    right = max(box.x + box.width for box in inside) + GROUP_SIDE
    bottom = max(box.y + box.height for box in inside) + GROUP_BOTTOM
    return Box(x, y, right - x, bottom - y)


def _unrouted(source: str, target: str, ends: Mapping[str, Box], diagram: Diagram, apart: float) -> Route:
    """Between the facing sides, with a bend half way where they do not face squarely; or a loop below the box.

    An edge and the one back keep ``apart`` from the middle, each on its own side.
    """
    (x1, y1), (x2, y2) = ends[source].middle, ends[target].middle
    if source == target:
        return Route(source, target, Port("bottom", -15), Port("bottom", 15), (), LabelAt("below", 1))
    if abs(x2 - x1) >= abs(y2 - y1):
        sides, shift = (("right", "left"), -apart) if x2 > x1 else (("left", "right"), apart)
        half = ((x1 + x2) / 2 - diagram.origin[0]) / diagram.column_px
        bends, label = y1 != y2, LabelAt("above" if x2 > x1 else "below")
    else:
        sides, shift = (("bottom", "top"), apart) if y2 > y1 else (("top", "bottom"), -apart)
        half = ((y1 + y2) / 2 - diagram.origin[1]) / diagram.row_px
        bends, label = x1 != x2, LabelAt("right" if y2 > y1 else "left")
    return Route(source, target, Port(sides[0], shift), Port(sides[1], shift), (half,) if bends else (), label)


def _edge(route: Route, ends: Mapping[str, Box], lines: tuple[str, ...], diagram: Diagram) -> Edge:
    start = _port(ends[route.source], route.leave, diagram)
    end = _port(ends[route.target], route.arrive, diagram)
    points = _points(route, start, end, diagram)
    shown = _wrapped(lines)
    return Edge(route.source, route.target, points, _label(shown, points, route.label))


def _wrapped(lines: tuple[str, ...]) -> tuple[str, ...]:
    """One event alone gets a line of its own for its guard, which keeps the label narrow."""
    if len(lines) == 1 and " [" in lines[0]:
        event, _, guard = lines[0].partition(" [")
        return event, f"[{guard}"
    return lines


def _port(box: Box, port: Port, diagram: Diagram) -> Point:
    x, y = box.middle
    if port.at is not None:
        x, y = _place(diagram, port.at, port.at)
    if port.side in ("top", "bottom"):
        return x + port.shift, box.y if port.side == "top" else box.y + box.height
    return box.x if port.side == "left" else box.x + box.width, y + port.shift


def _points(route: Route, start: Point, end: Point, diagram: Diagram) -> tuple[Point, ...]:
    upright = route.leave.side in ("top", "bottom")
    ends_upright = route.arrive.side in ("top", "bottom")
    points = [start]
    x, y = start
    for turn in route.turns:
        if upright:
            y = _place(diagram, 0, turn)[1]
        else:
            x = _place(diagram, turn, 0)[0]
        points.append((x, y))
        upright = not upright
    if route.source == route.target and not route.turns:
        y += LOOP_DEPTH if route.leave.side == "bottom" else -LOOP_DEPTH
        points += [(x, y), (end[0], y)]
    elif upright and not ends_upright:
        points.append((x, end[1]))
    elif not upright and ends_upright:
        points.append((end[0], y))
    points.append(end)
    return _checked(tuple(points), route)


def _checked(points: tuple[Point, ...], route: Route) -> tuple[Point, ...]:
    for (x1, y1), (x2, y2) in pairwise(points):
        if abs(x1 - x2) > 0.01 and abs(y1 - y2) > 0.01:
            raise ValueError(f"the route from {route.source} to {route.target} needs another turn")
    return points


def _label(lines: tuple[str, ...], points: tuple[Point, ...], place: LabelAt) -> Label:
    start, end = points[place.segment], points[place.segment + 1]
    x = start[0] + (end[0] - start[0]) * place.along
    y = start[1] + (end[1] - start[1]) * place.along
    width = max(text_width(line, LABEL_SIZE) for line in lines)
    height = LINE_HEIGHT * len(lines)
    if place.side in ("above", "below"):
        top = y - LABEL_GAP - height if place.side == "above" else y + LABEL_GAP
        return Label(lines, Box(x - width / 2, top, width, height), "middle")
    if place.side == "left":
        return Label(lines, Box(x - LABEL_GAP - width, y - height / 2, width, height), "end")
    return Label(lines, Box(x + LABEL_GAP, y - height / 2, width, height), "start")
