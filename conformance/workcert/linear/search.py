"""The search of an order, depth first: the next act is one that began before the earliest return of those left.

After Wing and Gong, with Lowe's memory of what was tried (which acts are placed, and the state that they led to). What
shortens it beside that:

- Acts with a lower rank are tried first. With the order of commits for a rank the first path is the order itself.
- A reading, and a refusal that commits nothing, fits wherever it fits first: nothing else has to be tried there. That
  a call changes nothing *there* is not enough: made later it may change something.
- Of calls that differ in names alone that nobody else uses (`workcert.judge.alike`), the one that returned first.

Neither of the last two holds of a call that may not have happened. A test compares all of this with plain search.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence

from attrs import define, field, frozen

from workcert.linear.acts import Act, Way
from workcert.linear.applying import Applying
from workcert.linear.history import NEVER
from workspec.core.record import State


class GivenUp(Exception):  # noqa: N818 - no verdict, which is no error
    """The budget of visits is used up."""


@define(eq=False)
class Budget:
    """``left``: how often an act may still be decided on a state."""

    left: int
    spent: int = 0

    def visit(self) -> None:
        self.spent += 1
        if self.spent > self.left:
            raise GivenUp


@define(eq=False)
class Furthest:
    """Where the search came furthest: ``act`` returned first of those that had no place there, None at the end."""

    end: int = -1
    act: Act | None = None
    state: State = field(factory=dict)
    count: int = -1
    placed: tuple[Act, ...] | None = None
    """What stands before it; None as long as the path that led there is the present one."""


@frozen(eq=False)
class _Candidate:
    """An act to try, where it changes something, or where it changes nothing; or both."""

    act: Act
    moving: bool = True
    resting: bool = True


@define(eq=False)
class _Frame:
    """One state of a path: what was placed to come there, and what may come next."""

    state: State
    mask: int
    placed: list[Act]
    window: list[Act]
    ends: bool
    """Every call that must have happened has its place."""
    tried: list[_Candidate] = field(factory=list)
    _left: list[_Candidate] | None = None

    def next(self) -> _Candidate | None:
        """What is to be tried next, None when all was."""
        if not self.tried:
            # Mostly it is the only one that is ever asked for.
            return _Candidate(best, moving=not best.silent) if (best := self._best()) is not None else None
        if self._left is None:
            self._left = self._others()
        return self._left.pop() if self._left else None

    def _best(self) -> Act | None:
        found = [act for act in self.window if not act.idle and act.way is not Way.CONFLICT]
        return min(found, key=_sooner) if found else None

    def _others(self) -> list[_Candidate]:
        """All but the best, in the reverse order. What commits nothing rests, most likely; and one that may not have
        happened need not have, where it changes nothing."""
        found = [act for act in self.window if not act.idle and act.way is not Way.CONFLICT]
        found.sort(key=_sooner)
        rest = [_Candidate(act, resting=act.must) for act in found if not act.silent]
        moving = [_Candidate(act, resting=False) for act in found if act.silent]
        resting = [_Candidate(act, moving=False) for act in found if act.silent]
        return [*resting, *rest, *moving][:0:-1]


@define(eq=False)
class Search:
    """``acts`` hang together; ``begun`` is the state before them. ``kinds_of`` gives a value for each of these acts;
    those with equal values are interchangeable."""

    applying: Applying
    acts: Sequence[Act]
    begun: State
    budget: Budget
    kinds_of: Callable[[Sequence[Act]], Sequence[Hashable]]
    furthest: Furthest = field(factory=Furthest)
    order: list[Act] = field(factory=list)
    final: State = field(factory=dict)
    _head: Act | None = None
    _losers: list[Act] = field(factory=list)
    """Calls that may have lost a guard."""
    _failed: dict[int, list[State]] = field(factory=dict)
    _kinds: Sequence[Hashable] | None = None

    def __attrs_post_init__(self) -> None:
        before: Act | None = None
        self.acts = sorted(self.acts, key=lambda act: act.begin)
        for position, act in enumerate(self.acts):
            act.position, act.before, act.after = position, before, None
            if before is None:
                self._head = act
            else:
                before.after = act
            before = act
        self._losers = [act for act in self.acts if act.loses]

    def finds(self) -> bool:
        """Whether there is an order; `order` and `final` tell which, and where it led.

        Raises:
            GivenUp: the budget is used up.
        """
        frames = [self._enter(self.begun, 0, [])]
        if self._is_order(frames[0]):
            return True
        while frames:
            frame = frames[-1]
            candidate = None if frame is None else frame.next()
            if frame is None or candidate is None:
                frames.pop()
                if frame is not None:
                    self._failed.setdefault(frame.mask, []).append(frame.state)
                    self._leave(frame.placed)
                continue
            act = candidate.act
            if self._is_like_one_tried(frame, candidate):
                continue
            frame.tried.append(candidate)
            self.budget.visit()
            state = self.applying.after(act, frame.state)
            rests = state is frame.state
            if state is None or not (candidate.resting if rests else candidate.moving):
                continue
            placed = [act]
            self._lift(act)
            if self._losers and not rests:
                self._excuse(frame.state, state, placed)
            frames.append(self._enter(state, frame.mask, placed))
            if self._is_order(frames[-1]):
                return True
        return False

    # Frames ----------------------------------------------------------------------------------------------------------

    def _enter(self, state: State, mask: int, placed: list[Act]) -> _Frame | None:
        """The frame after these acts, with all placed that fits at once; None where it is known to lead nowhere."""
        window = self._window()
        tried: set[int] = set()
        while idle := [act for act in window if act.idle and act.position not in tried]:
            for act in idle:
                tried.add(act.position)
                self.budget.visit()
                if self.applying.after(act, state) is state:
                    self._lift(act)
                    placed.append(act)
            window = self._window()
        for act in placed:
            mask |= 1 << act.position
        if mask in self._failed and any(state == other for other in self._failed[mask]):
            self._leave(placed)
            return None
        return _Frame(state, mask, placed, window, ends=self._note(state, window))

    def _leave(self, placed: Sequence[Act]) -> None:
        if self.furthest.placed is None:
            self.furthest.placed = tuple(self.order[: self.furthest.count])
        for act in reversed(placed):
            self._put_back(act)

    def _window(self) -> list[Act]:
        """What may come next."""
        return list(self._within(NEVER))

    def _within(self, bound: int) -> Iterator[Act]:
        act = self._head
        while act is not None and act.begin <= bound:
            yield act
            bound = min(bound, act.end)
            act = act.after

    def _is_like_one_tried(self, frame: _Frame, candidate: _Candidate) -> bool:
        """One that is interchangeable with it, and returned no later, has led nowhere."""
        if not self._failed:
            # No path has led nowhere so far: it is not worth finding out.
            return False
        if self._kinds is None:
            self._kinds = self.kinds_of(self.acts)
        kind, end, where = self._kinds[candidate.act.position], candidate.act.end, (candidate.moving, candidate.resting)
        return any(
            kind == self._kinds[other.act.position] and other.act.end <= end and (other.moving, other.resting) == where
            for other in frame.tried
        )

    def _excuse(self, before: State, after: State, placed: list[Act]) -> None:
        """Calls that met this commit on their record, for they began before it and have not returned, may have lost
        their guard by it."""
        changed = {key for key in after if after[key] is not before.get(key)}
        beside = [act for act in self._within(placed[0].end) if act.loses]
        for act in beside:
            if act.key in changed or (act.key is None and self.applying.is_about(act, after, changed)):
                self._lift(act)
                placed.append(act)

    def _note(self, state: State, window: Sequence[Act]) -> bool:
        """How far this is; True where nothing is left that must have happened."""
        left = [act for act in window if act.must]
        first = min(left, key=_end) if left else None
        end, count = NEVER if first is None else first.end, len(self.order)
        if (end, count) > (self.furthest.end, self.furthest.count):
            self.furthest = Furthest(end, first, state, count)
        return first is None

    def _is_order(self, frame: _Frame | None) -> bool:
        """Every call that must have happened has its place, and what was read when all was over is what they left."""
        if frame is None or not frame.ends:
            return False
        if not self.applying.ends(frame.state, self.begun):
            return False
        self.final = frame.state
        return True

    # The list of those without a place -------------------------------------------------------------------------------

    def _lift(self, act: Act) -> None:
        self.order.append(act)
        if act.before is None:
            self._head = act.after
        else:
            act.before.after = act.after
        if act.after is not None:
            act.after.before = act.before

    def _put_back(self, act: Act) -> None:
        self.order.pop()
        if act.before is None:
            self._head = act
        else:
            act.before.after = act
        if act.after is not None:
            act.after.before = act


def _sooner(act: Act) -> tuple[bool, int]:
    """What commits nothing comes first: it rests, and is out of the way."""
    return not act.silent, act.rank


def _end(act: Act) -> int:
    return act.end
