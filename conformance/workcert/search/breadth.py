"""Breadth-first search of the model over a configuration, on folded facts.

The first state found of each fold stands for all of them, so every path in here is a shortest one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Final

from attrs import define, field, frozen

from workcert.search.evidence import Evidence
from workcert.search.judging import Broken, Judge
from workcert.search.path import Moved, case_of
from workcert.search.result import Progress, SearchResult, Violation
from workspec.core.configuration import Configuration, Taken
from workspec.core.contract import Contract
from workspec.core.interpreter import RuleError, apply
from workspec.core.record import State

RULES: Final = "the rules"
"""In the place of a requirement, where the specification contradicts itself."""

PROGRESS_EVERY: Final = 1000


def search(
    contract: Contract,
    configuration: Configuration,
    limit: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> SearchResult:
    """Go through every state that a configuration reaches, or through the first ``limit`` of them.

    Invariants and laws are held against every call in every state found. Each requirement is reported once, with
    the shortest sequence of calls that breaks it.

    Args:
        contract: the rules; any `Contract`, seeded faults included.
        configuration: what may be called, and how time may pass.
        limit: how many states to reach at most; None for all.
        progress: told every thousand states, and at the end.
    """
    return _Search(contract, configuration, limit, progress).run()


@frozen(eq=False)
class _Node:
    """A state to be looked at. ``folds``: for each record the number of its fold."""

    number: int
    state: State
    now_s: int
    folds: Mapping[str, int]
    depth: int


@define(eq=False)
class _Search:
    contract: Contract
    configuration: Configuration
    limit: int | None
    progress: Callable[[Progress], None] | None
    folds: dict[Hashable, int] = field(factory=dict)
    seen: set[tuple[int, ...]] = field(factory=set)
    parents: list[int] = field(factory=list)
    moves: list[Moved | None] = field(factory=list)
    frontier: deque[_Node] = field(factory=deque)
    transitions: int = 0
    depth: int = 0
    judge: Judge = field(init=False)
    evidence: Evidence = field(factory=Evidence)
    violations: dict[str, Violation] = field(factory=dict)

    @judge.default
    def _make_judge(self) -> Judge:
        return Judge(self.contract, self.configuration.laws)

    def run(self) -> SearchResult:
        self._reach(_Node(0, {}, self.configuration.start_s, {}, 0), -1, None)
        while self.frontier and not self._is_full():
            node = self.frontier.popleft()
            self._make_calls(node)
            self._let_time_pass(node)
            if node.number % PROGRESS_EVERY == 0:
                self._report()
        self._report()
        return SearchResult(
            contract=self.contract.name,
            configuration=self.configuration.name,
            states=len(self.seen),
            transitions=self.transitions,
            depth=self.depth,
            frontier=len(self.frontier),
            violations=tuple(self.violations.values()),
            never_fired=self.evidence.never_fired(self.contract),
            sides=self.evidence.seen_sides(),
        )

    def _make_calls(self, node: _Node) -> None:
        self.judge.turn_to(node.state)
        for call in self.configuration.calls(node.state, node.now_s):
            now_s = self.contract.instant(call, node.now_s)
            self.transitions += 1
            try:
                done = apply(self.contract, node.state, call, now_s)
            except RuleError as error:
                self._tell(Broken(RULES, str(error)), node, (call, now_s))
                continue
            self.evidence.take(done.decision.trace)
            taken = Taken(self.contract, node.state, call, now_s, done)
            for broken in self.judge.broken_by(taken):
                self._tell(broken, node, (call, now_s))
            if taken.changed:
                folds = self._refolded(node.folds, done.state, taken.changed, node.now_s)
                after = _Node(len(self.parents), done.state, node.now_s, folds, node.depth + 1)
                self._reach(after, node.number, (call, now_s))

    def _let_time_pass(self, node: _Node) -> None:
        for later in self.configuration.later(self.contract, node.state, node.now_s):
            self.transitions += 1
            folds = self._refolded({}, node.state, node.state, later)
            self._reach(_Node(len(self.parents), node.state, later, folds, node.depth + 1), node.number, None)

    def _refolded(self, folds: Mapping[str, int], state: State, keys: Iterable[str], now_s: int) -> Mapping[str, int]:
        after = {key: number for key, number in folds.items() if key in state}
        for key in keys:
            if key in state:
                fold = (key, self.contract.fold(state[key], now_s))
                after[key] = self.folds.setdefault(fold, len(self.folds))
        return after

    def _reach(self, node: _Node, parent: int, move: Moved | None) -> None:
        identity = tuple(sorted(node.folds.values()))
        if identity in self.seen or self._is_full():
            return
        self.seen.add(identity)
        self.parents.append(parent)
        self.moves.append(move)
        self.depth = node.depth
        self.frontier.append(node)

    def _is_full(self) -> bool:
        return self.limit is not None and len(self.seen) >= self.limit

    def _tell(self, broken: Broken, node: _Node, last: Moved) -> None:
        if broken.requirement in self.violations:
            return
        path = [last]
        number = node.number
        while number > 0:
            move = self.moves[number]
            if move is not None:
                path.append(move)
            number = self.parents[number]
        case = case_of(self.contract, self.configuration, path[::-1], broken.requirement, broken.text)
        self.violations[broken.requirement] = Violation(broken.requirement, broken.text, case)

    def _report(self) -> None:
        if self.progress is not None:
            self.progress(Progress(len(self.seen), self.transitions, len(self.frontier), self.depth))
