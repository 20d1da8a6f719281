"""What can be wrong with a specification itself, found without any store.

A finding is a fault of the rules. Two helpers, `never_fired` and `never_written`, report data instead: a sample that
does not reach a rule proves nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NoReturn

from attrs import evolve, frozen

from workspec.core.condition import Condition
from workspec.core.contract import Contract, conditions_of, steps_of
from workspec.core.interpreter import decide
from workspec.core.record import Record, State
from workspec.core.rewrite import each_step, rewritten
from workspec.core.rule import (
    AnyOperation,
    Batch,
    Check,
    DecisionTable,
    Effect,
    Move,
    On,
    Operation,
    Procedure,
    Reply,
    Step,
    Transition,
    When,
    check_keys,
    checks_of,
    walk_steps,
)
from workspec.core.sample import Sample
from workspec.core.scope import Scope
from workspec.core.truth import Domains, satisfying, told


@frozen(order=True)
class Finding:
    """``rule`` is the lint, ``where`` the key of the faulty rule."""

    rule: str
    where: str
    text: str


def lint(
    contract: Contract,
    shown: Collection[str],
    samples: Sequence[Sample],
    *,
    log_readers: Collection[str] = (),
) -> list[Finding]:
    """Every finding of every lint.

    ``shown``: ids that case files say they show. ``log_readers``: operations whose checks compare whole records, logs
    included, on purpose.
    """
    return [
        *orphan_ids(contract, shown),
        *ambiguous_names(contract),
        *unreachable_checks(contract),
        *faulty_guards(contract),
        *undeclared_states(contract),
        *idle_events(contract),
        *illegal_moves(contract),
        *undeclared_writes(contract, samples),
        *log_readings(contract, samples, log_readers),
    ]


# Ids and names ---------------------------------------------------------------------------------------------------


def orphan_ids(contract: Contract, shown: Collection[str]) -> Iterator[Finding]:
    """Counted requirements that nothing shows, and ids that the catalogue lacks."""
    named = {name: where for where, name in [("a case file", name) for name in shown] + [*named_ids(contract)]}
    for requirement in contract.catalogue:
        if requirement.counted and requirement.id not in named:
            yield Finding("orphan id", requirement.id, "no rule names it and no case shows it")
    for name, where in named.items():
        if name not in contract.catalogue:
            yield Finding("unknown id", where, f"names {name}, which the catalogue lacks")


def named_ids(contract: Contract) -> Iterator[tuple[str, str]]:
    """Every id that a rule names, with the key of the rule."""
    for where, names in _naming(contract):
        for name in names:
            yield where, name


def _naming(contract: Contract) -> Iterator[tuple[str, Iterable[str]]]:
    for operation in contract.operations:
        yield operation.name, operation.requirements
        if isinstance(operation, Operation | Batch):
            yield operation.name, operation.order
        for key, check in _keyed(operation):
            yield key, (*check.requirements, *getattr(check, "order", ()))
        for step in walk_steps(steps_of(operation)):
            if not isinstance(step, When):
                yield f"{operation.name}: {_name(step)}", step.requirements
    for row in contract.transitions.rows:
        yield row.key, row.requirements
    for table in contract.tables:
        yield table.name, table.order
        for index, table_row in enumerate(table.rows):
            yield table.row_key(index), table_row.requirements
    for choice in contract.choices:
        yield f"choice {choice.id}", choice.requirements
    for invariant in contract.invariants:
        yield f"invariant {invariant.text}", (invariant.requirement,)
    for unique in contract.uniques:
        yield f"unique {unique.code}", unique.requirements
    for name, requirements in contract.comparisons.items():
        yield f"comparison of {name}", requirements
    yield "a lost guard", contract.conflict_requirements


def _keyed(operation: AnyOperation) -> Iterator[tuple[str, Check]]:
    return zip(check_keys(operation), checks_of(operation), strict=True)


def _name(step: Effect | Move) -> str:
    return step.name if isinstance(step, Effect) else f"move {step.event}"


def ambiguous_names(contract: Contract) -> Iterator[Finding]:
    """Two terms, or two effects, of one name: evidence could not tell them apart."""
    terms: dict[str, tuple[str, str]] = {}
    for owner, condition in conditions_of(contract):
        for term in (term for leaf in condition.leaves() for term in leaf.terms):
            kind = (term.unit, term.source)
            if term.source != "constant" and terms.setdefault(term.name, kind) != kind:
                yield Finding("ambiguous name", owner, f"two terms are called {term.name!r}")
    effects: dict[str, Effect] = {}
    for effect in _effects(contract):
        if effects.setdefault(effect.name, effect) is not effect:
            yield Finding("ambiguous name", effect.name, "two effects have this name")


def _effects(contract: Contract) -> Iterator[Effect]:
    for operation in contract.operations:
        for step in walk_steps(steps_of(operation)):
            if isinstance(step, Effect):
                yield step


# Reachability by truth assignments -------------------------------------------------------------------------------


def unreachable_checks(contract: Contract) -> Iterator[Finding]:
    """Checks, and rows of decision tables, that cannot hold unless an earlier one does."""
    known = {table.name: _values(table) for table in contract.tables}
    for operation in contract.operations:
        keys = check_keys(operation)
        conditions = [check.when for check in checks_of(operation)]
        yield from _shadowed("unreachable check", keys, conditions, known)
    for table in contract.tables:
        keys = tuple(table.row_key(index) for index in range(len(table.rows)))
        yield from _shadowed("unreachable row", keys, [row.when for row in table.rows], known)


def _shadowed(rule: str, keys: Sequence[str], conditions: list[Condition], known: Domains) -> Iterator[Finding]:
    for position, condition in enumerate(conditions):
        if satisfying([condition], conditions[:position], known) is None:
            yield Finding(rule, keys[position], f"'{condition.text}' never holds, or only where an earlier one does")


def _values(table: DecisionTable) -> tuple[Any, ...]:
    return tuple(dict.fromkeys((*(row.value for row in table.rows), table.otherwise)))


def faulty_guards(contract: Contract) -> Iterator[Finding]:
    """Rows of one state and event of which two can hold at once, or none."""
    tables = {table.name: _values(table) for table in contract.tables}
    groups: dict[tuple[str, str], list[Transition]] = {}
    for row in contract.transitions.rows:
        groups.setdefault((row.source, row.event), []).append(row)
    for (source, event), rows in groups.items():
        known = {**tables, **_in_state(contract, source)}
        where = f"{source} -[{event}]->"
        gap = satisfying([], [row.guard for row in rows], known)
        if gap is not None:
            yield Finding("gap between rows", where, f"no row holds when {told(gap)}")
        for one, other in combinations(rows, 2):
            both = satisfying([one.guard, other.guard], [], known)
            if both is not None:
                yield Finding("overlapping rows", where, f"to {one.target} and to {other.target} when {told(both)}")


def _in_state(contract: Contract, state: str) -> dict[str, tuple[Any, ...]]:
    """What is known of terms when a record is in this state."""
    known: dict[str, tuple[Any, ...]] = {
        term.name: (state,)
        for _owner, condition in conditions_of(contract)
        for leaf in condition.leaves()
        for term in leaf.terms
        if term.unit == "state"
    }
    for event in contract.transitions.events():
        known[contract.transitions.illegal(event).of.name] = (not contract.transitions.of(state, event),)
    return known


# States and moves ------------------------------------------------------------------------------------------------


def undeclared_states(contract: Contract) -> Iterator[Finding]:
    """Rows from or to a state that is not declared, or out of one that is declared final."""
    kinds = {note.name: note.kind for note in contract.states}
    for row in contract.transitions.rows:
        for state in (row.source, row.target):
            if state not in kinds:
                yield Finding("undeclared state", row.key, f"{state} is no declared state")
        if kinds.get(row.source) == "final":
            yield Finding("way out of a final state", row.key, f"{row.source} is declared final")
    if contract.start_state not in kinds:
        yield Finding("undeclared state", "start state", f"{contract.start_state} is no declared state")


def idle_events(contract: Contract) -> Iterator[Finding]:
    """Rows whose event no move makes. (The reverse is an illegal move.)"""
    made = {
        step.event
        for operation in contract.operations
        for step in walk_steps(steps_of(operation))
        if isinstance(step, Move)
    }
    for row in contract.transitions.rows:
        if row.event not in made:
            yield Finding("idle row", row.key, f"no operation moves by {row.event!r}")


def illegal_moves(contract: Contract) -> Iterator[Finding]:
    """Moves that can be made in a state without a row for them, and those for which no state remains."""
    states = {note.name: _known_before(contract, note.name) for note in contract.states}
    every = states
    for operation in contract.operations:
        given = getattr(operation, "states", ())
        states = {name: known for name, known in every.items() if not given or name in given}
        earlier: list[Condition] = []
        for key, check in _keyed(operation):
            arriving = {s for s, known in states.items() if satisfying([check.when], earlier, known) is not None}
            yield from _Follower(contract, key).findings(getattr(check, "committing", ()), arriving)
            earlier.append(check.when)
        arriving = {s for s, known in states.items() if satisfying([], earlier, known) is not None}
        yield from _Follower(contract, operation.name).findings(operation.steps, arriving)


def _known_before(contract: Contract, state: str) -> dict[str, tuple[Any, ...]]:
    """What checks may find in this state: tables give only what some row can give there."""
    known = _in_state(contract, state)
    for table in contract.tables:
        asked: list[Condition] = []
        values = []
        for row in table.rows:
            if satisfying([row.when], asked, known) is not None:
                values.append(row.value)
            asked.append(row.when)
        if satisfying([], asked, known) is not None:
            values.append(table.otherwise)
        known[table.name] = tuple(dict.fromkeys(values))
    return known


class _Follower:
    """Follows the states of the addressed record through steps, and keeps what it finds on the way."""

    def __init__(self, contract: Contract, owner: str) -> None:
        self.contract, self.owner = contract, owner
        self.found: list[Finding] = []

    def findings(self, steps: Iterable[Step], states: set[str]) -> list[Finding]:
        self.follow(steps, states)
        return self.found

    def follow(self, steps: Iterable[Step], states: set[str]) -> set[str]:
        for step in steps:
            if isinstance(step, Procedure):
                states = self.follow(step.steps, states)
            elif isinstance(step, On):
                # The other record may be in any state: its moves are asked by a search.
                continue
            elif isinstance(step, When):
                taken = self.where(states, [step.condition], [])
                states = self.follow(step.steps, taken) | self.where(states, [], [step.condition])
            elif isinstance(step, Move):
                states = self.move(step, states)
            elif "*" in step.writes and step.target is None:
                states = {self.contract.start_state}
        return states

    def where(self, states: set[str], true: list[Condition], false: list[Condition]) -> set[str]:
        """Tables may have been settled in an earlier state, so nothing is known of them here."""
        return {s for s in states if satisfying(true, false, _in_state(self.contract, s)) is not None}

    def move(self, move: Move, states: set[str]) -> set[str]:
        targets: set[str] = set()
        for state in sorted(states):
            rows = self.contract.transitions.of(state, move.event)
            targets |= {row.target for row in rows}
            if not rows:
                self.tell(move, f"can be made in {state}, which has no row for it")
        if not states:
            self.tell(move, "no state remains in which it can be made")
        return targets

    def tell(self, move: Move, text: str) -> None:
        self.found.append(Finding("illegal move", f"{self.owner}: move {move.event}", text))


# Effects and logs, by samples ------------------------------------------------------------------------------------


def undeclared_writes(contract: Contract, samples: Sequence[Sample]) -> Iterator[Finding]:
    """Effects that return a change that they do not declare."""
    written = _written(contract, samples)
    for effect in dict.fromkeys(_effects(contract)):
        extra = written.get(effect.name, set()).difference(effect.writes)
        if extra:
            yield Finding("undeclared write", effect.name, f"writes {', '.join(sorted(extra))}")


def never_written(contract: Contract, samples: Sequence[Sample]) -> list[tuple[str, str]]:
    """Effects with what they declare and wrote in no sample."""
    written = _written(contract, samples)
    effects = dict.fromkeys(_effects(contract))
    return [(e.name, name) for e in effects for name in e.writes if name not in written.get(e.name, ())]


def _written(contract: Contract, samples: Sequence[Sample]) -> dict[str, set[str]]:
    """What each effect, by name, wrote in these samples."""
    written: dict[str, set[str]] = {}

    def watched(effect: Effect) -> Callable[[Scope], Mapping[str, Any]]:
        def apply(scope: Scope) -> Mapping[str, Any]:
            changes = effect.apply(scope)
            written.setdefault(effect.name, set()).update(changes)
            return changes

        return apply

    def change(step: Effect | Move) -> tuple[Step, ...]:
        return (evolve(step, apply=watched(step)) if isinstance(step, Effect) else step,)

    watching = rewritten(contract, block=lambda steps: each_step(steps, change))
    for sample in samples:
        decide(watching, sample.state, sample.call, sample.now)
    return written


def never_fired(contract: Contract, samples: Sequence[Sample]) -> list[str]:
    """Keys of the checks, transitions, table rows and effects that took part in no sample."""
    keys = [key for operation in contract.operations for key in check_keys(operation)]
    keys += [row.key for row in contract.transitions.rows]
    keys += [table.row_key(index) for table in contract.tables for index in range(len(table.rows))]
    keys += dict.fromkeys(effect.name for effect in _effects(contract))
    fired: set[str] = set()
    for sample in samples:
        fired.update(decide(contract, sample.state, sample.call, sample.now).trace.fired)
    return [key for key in keys if key not in fired]


class LogRead(Exception):  # noqa: N818 - caught here, never seen by anyone
    """A rule asked for a part of a log."""


class _Forbidden:
    """In the place of a log."""

    def __getattr__(self, name: str) -> NoReturn:
        raise LogRead(name)


def log_readings(contract: Contract, samples: Sequence[Sample], log_readers: Collection[str] = ()) -> Iterator[Finding]:
    """Checks, tables, effects and moves that read a log, run over samples whose logs cannot be read.

    Answers may read logs, so those of replays are taken out, and the interpreter gets an empty log to append to.
    """
    blind = rewritten(contract, block=lambda steps: _on_empty_logs(contract, steps), check=_without_answer)
    found = dict[Finding, None]()
    for sample in samples:
        if sample.call.name in log_readers:
            continue
        try:
            decide(blind, _unreadable(sample.state), sample.call, sample.now)
        except LogRead as reading:
            text = f"{_reader(reading)} reads {reading.args[0]!r} of a log"
            found[Finding("rule that reads the log", sample.call.name, text)] = None
    yield from found


def _without_answer(check: Check) -> Check:
    return evolve(check, answer=lambda _scope: None) if isinstance(check, Reply) else check


def _unreadable(state: State) -> State:
    return {key: Record(record.version, record.facts, _Forbidden()) for key, record in state.items()}


def _on_empty_logs(contract: Contract, steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """The same steps, each record's log replaced by an empty one before anything can be appended to it."""

    def emptying(target: Callable[[Scope], str] | None) -> Effect:
        # What closes a draw may address nothing.
        def empty(scope: Scope) -> Mapping[str, Any]:
            return {} if scope.key is None else {"log": contract.empty_log}

        return Effect("empty log", (), ("log",), "", empty, target)

    def change(step: Effect | Move) -> tuple[Step, ...]:
        aside = isinstance(step, Effect) and step.target is not None
        return (emptying(step.target), step) if aside else (step,)  # type: ignore[union-attr]

    return (emptying(None), *each_step(steps, change)) if steps else ()


def _reader(error: LogRead) -> str:
    """The name of the function that asked."""
    names = []
    trace = error.__traceback__
    while trace is not None:
        names.append(trace.tb_frame.f_code.co_name)
        trace = trace.tb_next
    return names[-2]
