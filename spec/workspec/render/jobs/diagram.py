"""Where the states of a job stand in the diagram, and how its arrows run."""

from __future__ import annotations

from typing import Final

from workspec.jobs.tables import DELETED, NEW
from workspec.jobs.vocabulary import State
from workspec.render.jobs.matrix import SHORT
from workspec.render.presentation import (
    Diagram,
    Group,
    LabelAt,
    Route,
    bottom,
    left,
    right,
    top,
)

HELD: Final = "waiting"
SET_ASIDE: Final = "may be tried again"

DIAGRAM: Final = Diagram(
    column_px=200,
    row_px=150,
    origin=(110, 130),
    size=(1600, 800),
    groups=(
        Group(HELD, (State.PENDING, State.SCHEDULED, State.AVAILABLE, State.RETRYABLE)),
        Group(SET_ASIDE, (State.CANCELLED, State.ARCHIVED, State.UNDECODABLE)),
    ),
    tones={
        State.AVAILABLE: "returns",
        State.SCHEDULED: "returns",
        State.RETRYABLE: "returns",
        State.COMPLETED: "good",
        State.ARCHIVED: "bad",
        State.UNDECODABLE: "bad",
        State.QUARANTINED: "bad",
        State.CANCELLED: "quiet",
    },
    kinds={"no row": "passed", "finished": "final"},
    short=SHORT,
    notes=("An arrow from a frame leaves from each state in it. In the dashed states there is no row.",),
    routes=(
        Route(NEW, State.PENDING, right(), left(), (), LabelAt("above", 0, 0.4)),
        Route(NEW, State.SCHEDULED, top(), left(-10), (), LabelAt("above", 1, 0.3)),
        Route(NEW, State.AVAILABLE, bottom(), left(10), (), LabelAt("below", 1, 0.3)),
        Route(State.PENDING, State.SCHEDULED, top(), left(10), (), LabelAt("right", 0, 0.45)),
        Route(State.PENDING, State.AVAILABLE, bottom(), left(-10), (), LabelAt("right", 0, 0.5)),
        Route(State.SCHEDULED, State.AVAILABLE, bottom(9), top(9), (), LabelAt("right")),
        Route(State.AVAILABLE, State.SCHEDULED, top(-9), bottom(-9), (), LabelAt("left")),
        Route(State.SCHEDULED, State.SCHEDULED, top(-15), top(15), (), LabelAt("above", 1)),
        Route(State.RETRYABLE, State.SCHEDULED, top(), right(10), (), LabelAt("left", 0, 0.45)),
        Route(State.RETRYABLE, State.AVAILABLE, bottom(), right(-10), (), LabelAt("left", 0, 0.5)),
        Route(State.AVAILABLE, State.RUNNING, right(), bottom(-30), (), LabelAt("above", 0, 0.8)),
        Route(State.RUNNING, State.AVAILABLE, bottom(-12), right(12), (), LabelAt("below", 1, 0.2)),
        Route(State.RUNNING, State.SCHEDULED, top(-20), right(-10), (), LabelAt("above", 1, 0.2)),
        Route(State.RUNNING, State.RETRYABLE, left(), right(), (), LabelAt("above", 0, 0.45)),
        Route(State.RUNNING, State.CANCELLED, top(20), left(10), (), LabelAt("below", 1, 0.4)),
        Route(State.RUNNING, State.ARCHIVED, right(-10), left(), (5.15,), LabelAt("above", 2, 0.4)),
        Route(State.RUNNING, State.UNDECODABLE, right(), left(), (), LabelAt("above", 0, 0.6)),
        Route(State.RUNNING, State.COMPLETED, right(10), left(), (5.15,), LabelAt("above", 2, 0.45)),
        Route(State.RUNNING, State.QUARANTINED, bottom(6), top(30), (2.55,), LabelAt("below", 1, 0.45)),
        Route(State.RUNNING, DELETED, bottom(26), left(-9), (), LabelAt("above", 1, 0.4)),
        Route(HELD, State.CANCELLED, right(at=-0.3), left(), (), LabelAt("above", 0, 0.6)),
        Route(HELD, State.QUARANTINED, bottom(at=3.3), top(-40), (), LabelAt("left", 0, 0.5)),
        Route(HELD, DELETED, bottom(at=1.2), bottom(-15), (3.5,), LabelAt("above", 1, 0.5)),
        Route(State.QUARANTINED, State.AVAILABLE, left(), bottom(20), (), LabelAt("above", 0, 0.5)),
        Route(State.QUARANTINED, DELETED, right(9), left(9), (), LabelAt("below", 0, 0.5)),
        Route(State.COMPLETED, DELETED, bottom(), top(), (), LabelAt("right")),
        Route(SET_ASIDE, DELETED, right(at=0.6), right(), (6.92,), LabelAt("right", 1, 0.6)),
        Route(SET_ASIDE, State.AVAILABLE, right(at=0), bottom(-20), (7.25, 3.9), LabelAt("above", 2, 0.5)),
    ),
)
