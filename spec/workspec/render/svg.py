"""The state diagram as SVG: no scripts, no fonts from elsewhere, readable in light and in dark surroundings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final
from xml.sax.saxutils import escape, quoteattr

from workspec.core.contract import Contract, StateNote
from workspec.render.layout import (
    LABEL_SIZE,
    LINE_HEIGHT,
    NAME_SIZE,
    Box,
    Edge,
    Label,
    Layout,
    Point,
    layout,
    text_width,
)
from workspec.render.markdown import GENERATED
from workspec.render.presentation import Diagram

CORNER, ARROW_LENGTH, ARROW_HALF = 8.0, 9.0, 4.5
LEGEND_HEIGHT, LEGEND_SWATCH, LEGEND_SIZE = 24.0, 30.0, 12.0

LIGHT: Final = {
    "back": "#ffffff", "ink": "#1f2328", "soft": "#59636e", "box": "#f6f8fa", "frame": "#eef5ff",
    "edge": "#59636e", "good": "#1a7f37", "bad": "#cf222e", "returns": "#0969da", "quiet": "#8250df",
}  # fmt: skip
DARK: Final = {
    "back": "#0d1117", "ink": "#e6edf3", "soft": "#9198a1", "box": "#1c2128", "frame": "#131d2e",
    "edge": "#9198a1", "good": "#3fb950", "bad": "#ff7b72", "returns": "#58a6ff", "quiet": "#bc8cff",
}  # fmt: skip
TONES: Final = ("edge", "good", "bad", "returns", "quiet")


def draw(contract: Contract, diagram: Diagram) -> str:
    """The whole picture. States stand where their notes say, edges run as the diagram declares.

    Raises:
        ValueError: see `layout`.
    """
    placed = layout(contract, diagram)
    width, height = diagram.size
    title = f"States and transitions of the {contract.name} contract"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_n(width)} {_n(height)}" width="{_n(width)}" '
        f'height="{_n(height)}" role="img" aria-label={quoteattr(title)}>',
        f"<title>{escape(title)}</title><!-- {GENERATED} -->",
        f"<style>{style(LIGHT)}@media (prefers-color-scheme: dark){{{style(DARK)}}}</style>",
        f'<rect class="back" width="{_n(width)}" height="{_n(height)}" rx="10"/>',
        *(_frame(frame_title, box) for frame_title, box in placed.frames.items()),
        *(_edge(edge, diagram.tones) for edge in placed.edges),
        *(_state(note, placed, diagram) for note in contract.states),
        *(_label(edge.label, diagram.tones.get(edge.target, "edge")) for edge in placed.edges),
        *_legend(contract.states, diagram),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def style(colours: Mapping[str, str]) -> str:
    """Plain rules for each scheme: variables would be shorter, but not every viewer of pictures knows them."""
    rules = [
        f".back{{fill:{colours['back']}}}",
        f"text{{font-family:system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif;fill:{colours['ink']}}}",
        f".frame{{fill:{colours['frame']};stroke:{colours['soft']};stroke-dasharray:2 3}}",
        f".note{{fill:{colours['soft']};font-size:{_n(LEGEND_SIZE)}px}}",
        f".box{{fill:{colours['box']};stroke:{colours['edge']};stroke-width:1.6}}",
        f".name{{font-size:{_n(NAME_SIZE)}px;font-weight:600}}",
        ".passed,.only{stroke-dasharray:5 3}.final{stroke-width:3}",
        f".label{{font-size:{_n(LABEL_SIZE)}px}}",
    ]
    for tone in TONES:
        rules += [
            f".line.{tone}{{fill:none;stroke:{colours[tone]};stroke-width:1.5}}",
            f".head.{tone},.label.{tone}{{fill:{colours[tone]}}}",
            f".box.{tone}{{stroke:{colours[tone]}}}",
        ]
    return "".join(rules)


def _n(value: float) -> str:
    """A number with one decimal at most, so that a picture does not differ by rounding."""
    return f"{value:.1f}".removesuffix(".0")


def _at(box: Box) -> str:
    return f'x="{_n(box.x)}" y="{_n(box.y)}" width="{_n(box.width)}" height="{_n(box.height)}"'


def _frame(title: str, box: Box) -> str:
    return (
        f'<rect class="frame" {_at(box)} rx="14"/>'
        f'<text class="note" x="{_n(box.x + 14)}" y="{_n(box.y + 18)}">{escape(title)}</text>'
    )


def kind_class(kind: str, diagram: Diagram) -> str:
    """How a box is drawn: as the diagram says of the state's kind, else by the first word of it."""
    if kind in diagram.kinds:
        return diagram.kinds[kind]
    return kind.split()[0].strip(",;") if kind else "plain"


def _state(note: StateNote, placed: Layout, diagram: Diagram) -> str:
    box = placed.boxes[note.name]
    tone = diagram.tones.get(note.name, "edge")
    x, y = box.middle
    return (
        f'<g class="state" id={quoteattr(f"state-{note.name}")}><title>{escape(f"{note.name}: {note.kind}")}</title>'
        f'<rect class="box {tone} {escape(kind_class(note.kind, diagram))}" {_at(box)} rx="8"/>'
        f'<text class="name" x="{_n(x)}" y="{_n(y + NAME_SIZE * 0.35)}" text-anchor="middle">{escape(note.name)}</text>'
        "</g>"
    )


def _edge(edge: Edge, tones: Mapping[str, str]) -> str:
    tone = tones.get(edge.target, "edge")
    head, base = _arrow(edge.points[-2], edge.points[-1])
    points = (*edge.points[:-1], base)
    return (
        f'<path class="line {tone}" d="{_rounded(points)}"/>'
        f'<polygon class="head {tone}" points="{" ".join(f"{_n(x)},{_n(y)}" for x, y in head)}"/>'
    )


def _unit(start: Point, end: Point) -> tuple[float, float, float]:
    """Direction and length of a level or upright line."""
    dx, dy = end[0] - start[0], end[1] - start[1]
    length = abs(dx) + abs(dy)
    return (dx / length, dy / length, length) if length else (0.0, 0.0, 0.0)


def _arrow(start: Point, tip: Point) -> tuple[tuple[Point, Point, Point], Point]:
    """The head, drawn as a shape because a marker does not take the colour of its line everywhere; and its base."""
    dx, dy, _ = _unit(start, tip)
    base = tip[0] - dx * ARROW_LENGTH, tip[1] - dy * ARROW_LENGTH
    one = base[0] - dy * ARROW_HALF, base[1] + dx * ARROW_HALF
    other = base[0] + dy * ARROW_HALF, base[1] - dx * ARROW_HALF
    return (tip, one, other), base


def _rounded(points: tuple[Point, ...]) -> str:
    """The path with its corners rounded, so that edges on one track are seen to join it, not to cross it."""
    parts = [f"M{_n(points[0][0])} {_n(points[0][1])}"]
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        dx1, dy1, length1 = _unit(before, corner)
        dx2, dy2, length2 = _unit(corner, after)
        radius = min(CORNER, length1 / 2, length2 / 2)
        enter = corner[0] - dx1 * radius, corner[1] - dy1 * radius
        leave = corner[0] + dx2 * radius, corner[1] + dy2 * radius
        parts.append(f"L{_n(enter[0])} {_n(enter[1])}Q{_n(corner[0])} {_n(corner[1])} {_n(leave[0])} {_n(leave[1])}")
    parts.append(f"L{_n(points[-1][0])} {_n(points[-1][1])}")
    return "".join(parts)


def _label(label: Label, tone: str) -> str:
    box = label.box
    x = {"start": box.x, "middle": box.x + box.width / 2, "end": box.x + box.width}[label.anchor]
    return "".join(
        f'<text class="label {tone}" x="{_n(x)}" y="{_n(box.y + LINE_HEIGHT * index + LABEL_SIZE * 0.9)}" '
        f'text-anchor="{label.anchor}">{escape(line)}</text>'
        for index, line in enumerate(label.lines)
    )


def _legend(states: Iterable[StateNote], diagram: Diagram) -> Iterator[str]:
    """The ways in which boxes are drawn, then the notes of the diagram, in lines at the foot."""
    kinds = {kind_class(note.kind, diagram): note.kind for note in reversed(tuple(states))}
    shown = [(name, kinds[name]) for name in ("passed", "final") if name in kinds]
    x, y = 24.0, diagram.size[1] - LEGEND_HEIGHT * len(diagram.notes) - 14
    for name, kind in shown:
        yield f'<rect class="box {name}" x="{_n(x)}" y="{_n(y - 11)}" width="{_n(LEGEND_SWATCH)}" height="15" rx="4"/>'
        yield f'<text class="note" x="{_n(x + LEGEND_SWATCH + 8)}" y="{_n(y)}">{escape(kind)}</text>'
        x += LEGEND_SWATCH + 32 + text_width(kind, LEGEND_SIZE)
    for index, note in enumerate(diagram.notes, 1):
        yield f'<text class="note" x="24" y="{_n(y + LEGEND_HEIGHT * index)}">{escape(note)}</text>'
