"""The verdict on a history.

Calls that know nothing of each other are judged apart: a history fits an order exactly if each part of it does, for
parts that share no record. In each part the order of commits, where the store tells it, is the first path of the
search, and checked against real time by it; if it does not hold, only this order is refuted, and the search goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final

from attrs import frozen

from workcert.judge.alike import kinds_of
from workcert.judge.judge import Judge
from workcert.judge.ledger import Read
from workcert.judge.verdict import Failure
from workcert.linear.acts import Act, Way, acts_of, by_records, keys_in
from workcert.linear.applying import Applying
from workcert.linear.cause import cause_of
from workcert.linear.history import FitsAnOrder, FitsNone, Linear, Made, Unknown
from workcert.linear.parts import merged, parts_of
from workcert.linear.search import Budget, GivenUp, Search
from workspec.core.choice import NotAsserted
from workspec.core.record import State

MOST_VISITS: Final = 20_000
"""So often an act is decided on a state before the search is given up: about a second."""


def check(
    judge: Judge,
    history: Sequence[Made],
    read: Read,
    budget: int = MOST_VISITS,
    rest: Callable[[], Failure | None] = lambda: None,
) -> Linear:
    """Whether these calls, made from the judge's state on, and the records read when all were over fit some order.

    Args:
        judge: its state, declared choices and binding are used; nothing of it changes.
        read: the rows when all was over, each read once.
        budget: how often an act of one part may be decided on a state.
        rest: why the store is not as the judge has it in what no row shows, asked where an order ends.
    """
    binding, begun = judge.binding, judge.state
    if _may_hide_a_record(judge, history):
        return Unknown("nobody knows the record that an unanswered call made, and a pass may have met it", 0)
    keys = sorted({*filter(judge.legible, begun), *keys_in(binding, history)})
    parts = parts_of(binding, acts_of(binding, history, keys), begun)
    # Where there are several parts nobody knows the whole store before all are done.
    applying = Applying(judge, read, rest if len(parts) == 1 else lambda: None)
    found: list[Search] = []
    given_up, spent = "", 0
    for part in parts:
        search = Search(applying, part.acts, part.begun, Budget(budget), _Kinds(judge, part.begun, read))
        try:
            fits = search.finds()
        except GivenUp:
            fits, given_up = True, f"no order was found among {budget} decisions"
        except NotAsserted as elsewhere:
            fits, given_up = True, str(elsewhere)
        spent += search.budget.spent
        if not fits:
            # Whatever the others do: this part alone fits no order.
            return _refused(applying, search, spent)
        found.append(search)
    if given_up:
        return Unknown(given_up, spent)
    order = dict.fromkeys(act.index for act in merged([search.order for search in found]))
    state = {key: record for search in found for key, record in search.final.items()}
    final = begun if state == begun else state
    wrong = None if len(parts) == 1 else Applying(judge, read, rest).wrong_beside(final)
    return FitsAnOrder(tuple(order), final, spent) if wrong is None else FitsNone(None, wrong, tuple(order), spent)


def _may_hide_a_record(judge: Judge, history: Sequence[Made]) -> bool:
    binding = judge.binding
    unseen = any(made.call.name in binding.creates and not (made.answered or made.never_happened) for made in history)
    return unseen and any(by_records(binding, made) for made in history)


def _refused(applying: Applying, search: Search, spent: int) -> FitsNone:
    furthest = search.furthest
    placed = tuple(dict.fromkeys(act.index for act in furthest.placed or ()))
    cause = cause_of(applying, furthest.act, furthest.state)
    return FitsNone(None if furthest.act is None else furthest.act.index, cause, placed, spent)


@frozen(eq=False)
class _Kinds:
    """Which acts of a part are interchangeable; asked only where the search takes long."""

    judge: Judge
    begun: State
    read: Read

    def __call__(self, acts: Sequence[Act]) -> Sequence[Hashable]:
        calls = [(act.call, act.now) for act in acts]
        kinds = kinds_of(calls, [act.made.seen for act in acts], self.begun, self._shown)
        alone = (act.must and act.way is Way.CALL for act in acts)
        return [kind if free else act.position for act, kind, free in zip(acts, kinds, alone, strict=True)]

    def _shown(self, name: str) -> Any:
        """The record of this id when all was over, as far as it can be read."""
        key = self.judge.binding.key_of_id(name)
        row = self.read(key) if self.judge.legible(key) else None
        return None if row is None else row.record
