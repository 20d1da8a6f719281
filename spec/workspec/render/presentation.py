"""What the generated pages need to know of a contract beyond its rules: ports, wordings, the layout of its diagram."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import field, frozen

from workspec.core.contract import Contract
from workspec.core.rule import Refuse


@frozen
class Port:
    """Where an edge meets a box: on which side, and ``shift`` pixels from its middle. ``at`` names the column or
    row instead, for boxes of groups, whose middle says nothing."""

    side: str
    shift: float = 0
    at: float | None = None


def top(shift: float = 0, at: float | None = None) -> Port:
    return Port("top", shift, at)


def bottom(shift: float = 0, at: float | None = None) -> Port:
    return Port("bottom", shift, at)


def left(shift: float = 0, at: float | None = None) -> Port:
    return Port("left", shift, at)


def right(shift: float = 0, at: float | None = None) -> Port:
    return Port("right", shift, at)


@frozen
class LabelAt:
    """The label stands beside this segment of its edge, ``along`` it from 0 to 1, on the named side."""

    side: str
    segment: int = 0
    along: float = 0.5


@frozen
class Route:
    """The way of the edge from ``source`` to ``target`` (states, or titles of groups), at right angles.

    ``turns`` are the places at which it turns, by turns a row and a column, beginning with the one along which it
    leaves; the last turn follows from ``arrive``.
    """

    source: str
    target: str
    leave: Port
    arrive: Port
    turns: tuple[float, ...] = ()
    label: LabelAt = LabelAt("above")


@frozen
class Group:
    """States drawn in one frame. What all of them do alike, by the same events, is drawn once, from the frame."""

    title: str
    states: tuple[str, ...]


@frozen
class Diagram:
    """``tones``: state to the tone of its box and of all edges that lead to it (``good``, ``bad``, ``returns``,
    ``quiet``). ``size`` is the picture's, in pixels.

    An edge without a route is drawn between the facing sides, whatever stands there: enough for a draft, no more.
    """

    column_px: float = 200
    row_px: float = 150
    origin: tuple[float, float] = (70, 90)
    size: tuple[float, float] = (1200, 650)
    groups: tuple[Group, ...] = ()
    routes: tuple[Route, ...] = ()
    tones: Mapping[str, str] = field(factory=dict)
    notes: tuple[str, ...] = ()
    short: Mapping[str, str] = field(factory=dict)
    """Text of a guard to what its label says instead."""
    kinds: Mapping[str, str] = field(factory=dict)
    """Kind of a state to how its box is drawn (``passed``, ``only``, ``final``), where its first word does not say."""


@frozen
class ExtraPage:
    """A page that only this contract has: file name, what the index says of it, title, and its blocks of Markdown."""

    name: str
    summary: str
    title: str
    blocks: Callable[[Contract], tuple[str, ...]]


def no_reason(_check: Refuse) -> str:
    return ""


@frozen
class Presentation:
    """``ports``: the Protocols from which signatures are read. ``details``: for each code that has them, the keys of
    the error's details, which a rule computes and so cannot print.

    ``title``: what the contract is about, for the index of all contracts. ``preface``: what the contract's own index
    says first. ``reason``: what a refusal says beside its code, where a code has several. ``methods``: for an
    operation that is no method of a port by itself, the method that comes to it. ``records``: for an effect that
    changes another record than the addressed one, which.

    ``events``: whether a state change appends an event with actor and evidence; without, nothing is said of these.
    ``overtaken``: what becomes of a call when another commit came between, where the contract has no code for it.
    ``unstored``: states in which no record ever rests, before it is there and after. ``properties``: questions to
    each state, by their headers.
    """

    ports: tuple[type[Any], ...] = ()
    details: Mapping[str, str] = field(factory=dict)
    pages: tuple[ExtraPage, ...] = ()
    diagram: Diagram = Diagram()
    title: str = ""
    preface: tuple[str, ...] = ()
    reason: Callable[[Refuse], str] = no_reason
    methods: Mapping[str, str] = field(factory=dict)
    records: Mapping[str, str] = field(factory=dict)
    events: bool = True
    overtaken: str = ""
    unstored: frozenset[str] = frozenset()
    properties: Mapping[str, Callable[[str], bool]] = field(factory=dict)
