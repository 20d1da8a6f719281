"""Effects on private copies: what one decision does to the records that it changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from attrs import define, field

from workspec.core.choice import Choice
from workspec.core.contract import Contract
from workspec.core.outcome import Change, Part
from workspec.core.record import Record, replaced
from workspec.core.rule import Effect, Move, On, Procedure, Step, Transition, When
from workspec.core.scope import Scope


class RuleError(Exception):
    """The specification contradicts itself: a move without a row, or with two. A lint should have found it."""


@define(eq=False)
class Draft:
    """Private copies of the records that one decision changes; ``scope.facts`` follows the addressed one."""

    contract: Contract
    scope: Scope
    operation: str
    facts: dict[str, Any] = field(factory=dict)
    logs: dict[str, Any] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        self.scope.drafted = self.facts

    def turn_to(self, key: str) -> None:
        """Make another record the addressed one."""
        record = self.scope.state.get(key)
        self.scope.key = key
        before = None if record is None else record.facts
        self.scope.before = before
        self.scope.facts = self.facts.get(key, before)

    def take(self, steps: Iterable[Step]) -> None:
        for step in steps:
            if isinstance(step, Effect):
                self._apply(step)
            elif isinstance(step, Move):
                self._move(step)
            elif isinstance(step, Procedure):
                self.take(step.steps)
            elif isinstance(step, On):
                self._take_on(step)
            else:
                self._apply_when(step)

    def _take_on(self, step: On) -> None:
        home = self.scope.key
        self.turn_to(step.target(self.scope))
        self.take(step.steps)
        if home is not None:
            self.turn_to(home)

    def _apply_when(self, step: When) -> None:
        self.scope.owner = f"{self.operation}: when"
        if step.condition.decide(self.scope):
            self.take(step.steps)

    def _apply(self, effect: Effect) -> None:
        scope = self.scope
        if effect.target is not None:
            home = scope.key
            self.turn_to(effect.target(scope))
            self._write(effect.apply(scope))
            if home is not None:
                self.turn_to(home)
        else:
            self._write(effect.apply(scope))
        scope.trace.fired.append(effect.name)
        scope.trace.requirements.extend(effect.requirements)

    def _write(self, changes: Mapping[str, Any]) -> None:
        scope = self.scope
        key = scope.key
        if not changes:
            return
        if key is None:
            raise RuleError("an effect without an addressed record")
        facts = changes.get("*", scope.facts)
        plain = {name: value for name, value in changes.items() if name != "*" and name[:3] != "log"}
        if plain:
            facts = replaced(facts, plain)
        scope.facts = self.facts[key] = facts
        if "log" in changes:
            self.logs[key] = changes["log"]
        for name, value in changes.items():
            if name[:4] == "log.":
                self._append(key, name[4:], value)

    def _append(self, key: str, part: str, value: Any) -> None:
        log = self.logs.get(key)
        if log is None:
            record = self.scope.state.get(key)
            log = self.contract.empty_log if record is None else record.log
        self.logs[key] = replaced(log, {part: (*getattr(log, part), value)})

    def _move(self, move: Move) -> None:
        scope = self.scope
        state = scope.facts.state
        rows = [row for row in self.contract.transitions.of(state, move.event) if self._guard_holds(row)]
        if len(rows) != 1:
            raise RuleError(f"{len(rows)} transitions for {state} and {move.event!r}")
        row = rows[0]
        actor = scope.choose(move.actor, scope) if isinstance(move.actor, Choice) else move.actor.read(scope)
        evidence = {}
        for item in move.evidence:
            value = item.value.read(scope)
            if value is not None:
                evidence[item.key] = str(value)
        if move.open_evidence is not None:
            evidence = {**scope.choose(move.open_evidence, scope), **evidence}
        self._write(scope.facts.moved(row.target, scope.now, actor, evidence))
        scope.trace.fired.append(row.key)
        scope.trace.requirements.extend((*row.requirements, *move.requirements))

    def _guard_holds(self, row: Transition) -> bool:
        self.scope.owner = row.key
        return row.guard.decide(self.scope)

    def changes(self) -> tuple[Change, ...]:
        state = self.scope.state
        changes = []
        for key, facts in self.facts.items():
            base = state.get(key)
            log = self.logs.get(key, self.contract.empty_log if base is None else base.log)
            version = 1 if base is None else (base.version or 1) + 1
            changes.append(Change(key, base, None if facts is None else Record(version, facts, log)))
        return tuple(changes)

    def parts(self, element: Any) -> tuple[Part, ...]:
        changes = self.changes()
        return (Part(element, changes),) if changes else ()
