"""The checker against plain search: every order, no memory, no hints, no shortcut, over more than a thousand histories
of both contracts, right ones and spoilt ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from random import Random

import pytest
from attrs import define, evolve, field, frozen

from workcert.adversity.parallel.authors import author_of
from workcert.adversity.parallel.jobs import JobsAuthor
from workcert.adversity.parallel.programs import Shape, program
from workcert.backends.registry import describe
from workcert.backends.specification import of
from workcert.binding import Binding, bindings
from workcert.judge.differences import differences
from workcert.judge.hidden import unordered_differences
from workcert.judge.judge import Judge
from workcert.judge.ledger import Read
from workcert.linear import FitsAnOrder, Made, Unknown, check
from workcert.linear.acts import by_records
from workcert.linear.applying import HistoryChooser
from workcert.linear.history import NEVER
from workcert.run.calling import Answered, Refusal, Unavailable
from workspec.core.interpreter import Accepted, apply
from workspec.core.record import State
from workspec.workload.rules import scope_of, scope_of_terms
from workspec.workload.vocabulary import ErrorCode

from .simulated_histories import reader, simulated, without_tickets

HISTORIES = 620
"""Of each contract, at most; of which some are too long for plain search."""
ENOUGH = 510
"""Of each contract that plain search has decided."""
SWITCHES = {"claim_duty": 6, "release_duty": 6, "pause_queue": 3, "unpause_queue": 3, "admit": 2, "enqueue": 1}
"""Calls that answer alike whether they change something or not."""
MOST_PIECES = 700
"""Calls that plain search puts into some place before it is given up."""
SHAPES = (Shape(2, 3), Shape(3, 2), Shape(2, 2), Shape(2, 4))


class TooLong(Exception):  # noqa: N818 - no verdict
    """Plain search does not come to an end."""


# Plain search --------------------------------------------------------------------------------------------------------


@frozen(eq=False)
class Piece:
    """A call, or of a pass that commits record by record what it did to one of them."""

    made: Made
    key: str | None = None
    taken: bool = False

    @property
    def conflict(self) -> bool:
        guarded = self.made.call.name not in ("get", "list_workloads", "recover_expired", "enforce_deadlines")
        return guarded and isinstance(self.made.seen, Refusal) and self.made.seen.code == ErrorCode.CONFLICT

    @property
    def end(self) -> int:
        return self.made.end if self.made.answered else NEVER


@define(eq=False)
class Plain:
    """Every order that real time allows, one after the other."""

    judge: Judge
    history: Sequence[Made]
    read: Read
    pieces: list[Piece] = field(factory=list)
    tried: int = 0

    def finds(self) -> bool:
        keys = {key for key in self.judge.state if self.judge.legible(key)}
        answers = [made.seen.value for made in self.history if isinstance(made.seen, Answered)]
        keys |= {answer.workload.workload_id for answer in answers if hasattr(answer, "created")}
        for made in self.history:
            if made.never_happened:
                continue
            if by_records(self.judge.binding, made):
                named = made.seen.value if isinstance(made.seen, Answered) else ()
                self.pieces += [Piece(made, key, key in named) for key in sorted(keys)]
            else:
                self.pieces.append(Piece(made))
        return self._follows(self.judge.state, [p for p in self.pieces if not p.conflict], [])

    def _follows(self, state: State, left: list[Piece], placed: list[tuple[Piece, set[str]]]) -> bool:
        if all(self._may_be_left(piece, placed) for piece in left) and self._ends(state, placed):
            return True
        for piece in left:
            if any(other.end < piece.made.begin for other in left if not self._may_be_left(other, placed)):
                continue
            for after in self._after(piece, state):
                changed = {key for key in after if after[key] is not state.get(key)}
                changed |= {str(scope_of_terms(after[key].facts.terms)) for key in changed & self._works(after)}
                rest = [other for other in left if other is not piece]
                if self._follows(after, rest, [*placed, (piece, changed)]):
                    return True
        return False

    def _may_be_left(self, piece: Piece, placed: Sequence[tuple[Piece, set[str]]]) -> bool:
        if not piece.made.answered:
            return True
        return piece.key is not None and not piece.taken and self._excused(piece, placed)

    def _excused(self, loser: Piece, placed: Sequence[tuple[Piece, set[str]]]) -> bool:
        """Some commit on its record can have fallen between its beginning and its end."""
        arguments = loser.made.call.arguments
        request = arguments.get("request")
        # What is admitted anew under a key, or again, is known by its scope.
        key = loser.key or (str(scope_of(request)) if request else arguments.get("workload_id"))
        for place, (winner, changed) in enumerate(placed):
            if key not in changed:
                continue
            later = [piece for piece, _changed in placed[place:]]
            sooner = [piece for piece, _changed in placed[: place + 1]]
            waited = all(piece.end >= loser.made.begin for piece in later if piece is not winner)
            in_time = winner.end >= loser.made.begin and all(p.made.begin <= loser.made.end for p in sooner)
            if waited and in_time:
                return True
        return False

    def _works(self, state: State) -> set[str]:
        return set(state) if self.judge.binding.name == "workload" else set()

    def _ends(self, state: State, placed: Sequence[tuple[Piece, set[str]]]) -> bool:
        if not all(self._excused(piece, placed) for piece in self.pieces if piece.conflict and piece.made.answered):
            return False
        for key in {*state, *self.judge.state}:
            if not self.judge.legible(key):
                continue
            row, record = self.read(key), state.get(key)
            if (row is None) != (record is None):
                return False
            if row is not None and differences(self.judge.binding.present(state[key]), row.record):
                return False
        return True

    def _after(self, piece: Piece, state: State) -> Iterator[State]:
        self.tried += 1
        if self.tried > MOST_PIECES:
            raise TooLong
        binding, made, seen = self.judge.binding, piece.made, piece.made.seen
        code, answer = getattr(seen, "code", None), getattr(seen, "value", None)
        shown = lambda key: getattr(self.read(key), "record", None)  # noqa: E731
        chooser = HistoryChooser({}, code, answer, shown, binding=binding)
        if piece.key is not None:
            whole = {piece.key: state[piece.key]} if piece.key in state else {}
            done = apply(binding.contract, whole, made.call, made.now, chooser)
            if not made.answered or bool(done.decision.parts) is piece.taken:
                yield {**state, **done.state}
            return
        done = apply(binding.contract, state, made.call, made.now, chooser)
        if not made.answered:
            yield done.state
            return
        if isinstance(done.outcome, Accepted):
            compare = unordered_differences if made.call.name in binding.unordered else differences
            if isinstance(seen, Answered) and not compare(
                binding.comparable(done.outcome.value), binding.comparable(seen.value)
            ):
                yield done.state
            return
        alike = done.outcome.code == code
        if alike and isinstance(seen, Refusal) and not differences(done.outcome.details, seen.details):
            yield done.state


# Spoiling ------------------------------------------------------------------------------------------------------------

Spoilt = tuple[list[Made], Read]
Spoil = Callable[[Random, Judge, list[Made], Read], Spoilt]


def swapped(random: Random, _judge: Judge, history: list[Made], read: Read) -> Spoilt:
    """Two calls of one kind have each other's answer."""
    first = random.randrange(len(history))
    others = [i for i, made in enumerate(history) if made.call.name == history[first].call.name]
    second = random.choice(others)
    changed = list(history)
    changed[first] = evolve(history[first], seen=history[second].seen)
    changed[second] = evolve(history[second], seen=history[first].seen)
    return changed, read


def doubled(random: Random, _judge: Judge, history: list[Made], read: Read) -> Spoilt:
    """A call has the answer of another one too."""
    names = Counter(made.call.name for made in history)
    several = [i for i, made in enumerate(history) if names[made.call.name] > 1] or [0]
    first = random.choice(several)
    second = random.choice([i for i, made in enumerate(history) if made.call.name == history[first].call.name])
    changed = list(history)
    changed[second] = evolve(history[second], seen=history[first].seen)
    return changed, read


def lost(random: Random, judge: Judge, history: list[Made], read: Read) -> Spoilt:
    """A record reads as it was before all."""
    keys = [key for key in judge.state if judge.legible(key)]
    victim = random.choice(keys) if keys else ""
    old = reader(judge.binding, judge.state)
    return history, lambda key: old(key) if key == victim else read(key)


def unfinished(random: Random, _judge: Judge, history: list[Made], read: Read) -> Spoilt:
    """One or two calls were not answered, or nobody knows whether they happened."""
    changed = list(history)
    for _ in range(random.choice((1, 2))):
        index = random.randrange(len(history))
        seen = random.choice((None, None, Unavailable(False, "gone"), Unavailable(True, "busy")))
        changed[index] = evolve(history[index], seen=seen)
    return changed, read


def unfinished_and_lost(random: Random, judge: Judge, history: list[Made], read: Read) -> Spoilt:
    return lost(random, judge, *unfinished(random, judge, history, read))


def conflicting(random: Random, judge: Judge, history: list[Made], read: Read) -> Spoilt:
    """A call says that it has lost a guard."""
    if judge.binding.contract.conflict_code is None:
        return doubled(random, judge, history, read)
    index = random.randrange(len(history))
    changed = list(history)
    changed[index] = evolve(history[index], seen=Refusal(ErrorCode.CONFLICT, None, ErrorCode.CONFLICT))
    return changed, read


def right(_random: Random, _judge: Judge, history: list[Made], read: Read) -> Spoilt:
    return history, read


def differently_told(history: list[Made], random: Random) -> Iterator[list[Made]]:
    """The same history, with other orders of commits told, or none: these are hints, and change no verdict."""
    yield history
    yield without_tickets(history)
    tickets = [made.ticket for made in history]
    for _ in range(2):
        random.shuffle(tickets)
        yield [evolve(made, ticket=ticket) for made, ticket in zip(history, tickets, strict=True)]
    ranks = random.sample(range(len(history)), len(history))
    yield [evolve(made, ticket=rank) for made, rank in zip(history, ranks, strict=True)]


SPOILS: tuple[Spoil, ...] = (
    right,
    swapped,
    doubled,
    doubled,
    lost,
    unfinished,
    unfinished_and_lost,
    conflicting,
)


def histories(binding: Binding, count: int) -> Iterator[tuple[int, str, Judge, list[Made], Read]]:
    backend = describe("specification", of(binding))
    methods = frozenset(binding.calls.calls)
    for seed in range(count):
        random = Random(f"{binding.name}/{seed}")
        author = author_of(binding.name)
        if binding.name == "jobs" and seed % 2:
            author = JobsAuthor(weights=SWITCHES)
        case = program(backend, methods, author, random, random.choice(SHAPES))
        judge, history, read = simulated(binding, case, random, random.choice((0.3, 0.7, 1.0)))
        if len(history) < 2:
            continue
        spoil = SPOILS[seed % len(SPOILS)]
        history, read = spoil(random, judge, history, read)
        yield seed, spoil.__name__, judge, history, read


@pytest.mark.parametrize("contract", ["workload", "jobs"])
def test_as_plain_search_says(contract: str) -> None:
    said: Counter[bool] = Counter()
    for seed, spoil, judge, history, read in histories(bindings()[contract], HISTORIES):
        try:
            expected = Plain(judge, history, read).finds()
        except TooLong:
            continue
        for told in differently_told(history, Random(seed)):
            verdict = check(judge, told, read)
            if isinstance(verdict, Unknown) and "unanswered" in verdict.reason:
                break
            assert isinstance(verdict, FitsAnOrder) is expected, f"history {seed}, {spoil}: {verdict}"
        said[expected] += 1
        if said.total() == ENOUGH:
            break
    assert said.total() == ENOUGH
    assert said[False] >= 0.15 * ENOUGH


def test_an_order_that_is_found_holds() -> None:
    """Made one after the other, the calls answer as was seen; and no call stands before one that had returned."""
    for _seed, _spoil, judge, history, read in histories(bindings()["jobs"], 60):
        verdict = check(judge, history, read)
        if not isinstance(verdict, FitsAnOrder):
            continue
        for place, index in enumerate(verdict.order):
            later = [history[other] for other in verdict.order[place + 1 :]]
            assert not any(made.answered and made.end < history[index].begin for made in later)
