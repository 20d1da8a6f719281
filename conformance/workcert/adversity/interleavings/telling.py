"""What tells when a call was made: played on the model in every right order, and as a store makes it that is wrong.

Who has read the clock too early writes at an instant that has passed, behind a call that was made later. That tells
something where no right order looks the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import evolve, frozen

from workcert.adversity.interleavings.offering import changed_keys, shown
from workcert.binding import Binding
from workcert.cases.model import Call
from workcert.cases.playing import NoSingleCourse, Played, Player
from workcert.search.needs import profiles_needed
from workspec.core.choice import reference
from workspec.core.interpreter import Accepted, Committed, Outcome, Refused
from workspec.core.record import Record
from workspec.core.scope import Call as ModelCall

Member = tuple[str, ...]
"""The place of a member in a record or an answer, without its numbers in lists."""
_Shown = Mapping[tuple[Any, ...], Any]


@frozen(eq=False)
class Course:
    """Calls that are made one after the other on an empty store. ``made``: by their ids."""

    player: Player
    made: Mapping[str, tuple[ModelCall, Played]]

    def then(self, *calls: Call) -> Course:
        """The same with further calls, whatever their instants.

        Raises:
            NoSingleCourse: nobody can say what they come to.
        """
        player, made = self.player.copy(), dict(self.made)
        for call in calls:
            # Who has read the clock too early turns it back.
            player.at = None
            asked, _now = player.made(call)
            made[call.id] = asked, player.call(call)
        return Course(player, made)

    @property
    def needs(self) -> frozenset[str]:
        """What a store must claim for it."""
        binding = self.player.binding
        return frozenset().union(*(_needed(binding, call, played) for call, played in self.made.values()))


@frozen
class Told:
    """``members``: those that tell when the held call was made. ``needs``: what a store must claim for every right
    order of both calls, and for what is made before and afterwards."""

    members: frozenset[Member]
    needs: frozenset[str]


def beginning(binding: Binding) -> Course:
    """Before any call."""
    return Course(Player(binding, reference), {})


def told_by(ground: Course, between: Course, held: Call, other: Call, then: Sequence[Call]) -> Told | None:
    """What tells of the held call that it was made before the other, and took effect behind it.

    Args:
        ground: where both are made.
        between: the same with the other one made.
        held: at its own instant.
        other: at a later one.
        then: what is made afterwards.

    Returns:
        None where nothing does: all may have been right, in some order; or nobody can say.
    """
    try:
        return _told(ground, between, held, other, then)
    except NoSingleCourse:
        return None


def _told(ground: Course, between: Course, held: Call, other: Call, then: Sequence[Call]) -> Told | None:
    late = evolve(held, at=other.at)
    wrong, behind = between.then(held), between.then(late)
    if _is_same(wrong, behind, held.id):
        return None
    wrong, behind = wrong.then(*then), behind.then(*then)
    members = _differing(wrong, behind)
    if not members:
        return None
    right = [behind, *(ground.then(each, other, *then) for each in (held, late))]
    if not all(_differing(wrong, each) for each in right[1:]):
        return None
    return Told(members, frozenset().union(*(each.needs for each in right)))


def _is_same(one: Course, other: Course, last: str) -> bool:
    """Nothing that follows can tell them apart."""
    mine, theirs = (_outcome(each.made[last][1]) for each in (one, other))
    return mine == theirs and one.player.state == other.player.state


def _needed(binding: Binding, call: ModelCall, played: Played) -> frozenset[str]:
    assert played.decided is not None
    done = Committed(played.state, _outcome(played) or Accepted(None), played.decided)
    return profiles_needed(binding, call, played.before, done, changed_keys(played.before, played.state))


def _outcome(played: Played) -> Outcome | None:
    """None where nothing is asserted of it."""
    return played.outcomes[0] if played.outcomes else None


# What can be seen ----------------------------------------------------------------------------------------------------


def _differing(one: Course, other: Course) -> frozenset[Member]:
    """The members of answers and of records that can be read in which two courses of the same calls differ."""
    binding, states = one.player.binding, (one.player.state, other.player.state)
    outcomes = [(_outcome(played), _outcome(other.made[name][1])) for name, (_call, played) in one.made.items()]
    pairs = [(_answered(binding, mine), _answered(binding, theirs)) for mine, theirs in outcomes if mine != theirs]
    for key in filter(binding.legible, changed_keys(*states)):
        mine, theirs = (state.get(key) for state in states)
        if mine != theirs:
            pairs.append((_recorded(binding, mine), _recorded(binding, theirs)))
    nothing = object()
    return frozenset(
        tuple(each for each in place if isinstance(each, str))
        for mine, theirs in pairs
        for place in {**mine, **theirs}
        if mine.get(place, nothing) != theirs.get(place, nothing)
    )


def _answered(binding: Binding, outcome: Outcome | None) -> _Shown:
    if outcome is None:
        return {}
    return {(): outcome} if isinstance(outcome, Refused) else shown(binding, outcome.value)


def _recorded(binding: Binding, record: Record | None) -> _Shown:
    return {} if record is None else shown(binding, binding.present(record))
