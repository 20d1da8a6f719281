"""The model's rows beside the store's: what was read last, and whether both agree."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import define, field, fields, frozen

from workcert.binding import Binding
from workcert.judge import attribution
from workcert.judge.differences import Difference, differences
from workcert.judge.verdict import Failure, Kind
from workcert.run.calling import Observed, Refusal
from workspec.core.choice import UNSEEN
from workspec.core.interpreter import Committed, Refused
from workspec.core.record import Record, State


@frozen
class Row:
    """A row as the judge reads it: its version (None for a row without one) and its record."""

    version: int | None
    record: Any


Read = Callable[[str], Row | None]


@define(eq=False)
class Ledger:
    """``state`` is the model's; ``versions`` and ``records`` are rows as last read, by key."""

    binding: Binding
    declared: Mapping[str, Any]
    state: State = field(factory=dict)
    versions: dict[str, int | None] = field(factory=dict)
    records: dict[str, Any] = field(factory=dict)
    unversioned: set[str] = field(factory=set)
    """Keys of injected rows without a version that nothing has updated since."""
    exempt: set[tuple[str, str]] = field(factory=set)
    """Keys and ids of invariants that a row broke from the start: an older version's doing."""

    def compare(self, committed: Committed, key: str, row: Row | None) -> Failure | None:
        """One record after a call: its content, and whether its version moved exactly if it changed."""
        contract = self.binding.contract
        expected = committed.state.get(key)
        before = self.state.get(key)
        if expected is None or row is None:
            if expected is None and row is None:
                return None
            text = "the record is there and should not be" if expected is None else "the record is gone"
            return Failure(self.fallback(committed), Kind.RECORD, text)
        found = differences(contract.present(expected), row.record)
        if found:
            ids = self.fallback(committed)
            if expected is not before:
                ids = self._broken_types(found, row) or attribution.for_record(contract, committed, found, ids)
            return Failure(ids, Kind.RECORD, f"the record of {key} differs", found)
        if before is None or key not in self.versions:
            return None
        moved = row.version != self.versions[key]
        if moved != (expected is not before):
            text = (
                "the row version moved although nothing may change"
                if moved
                else "the row version stayed although the record changed"
            )
            seen = (Difference("version", self.versions[key], row.version),)
            ids = self.fallback(committed) if moved else contract.comparisons["version"]
            if key in self.unversioned:
                ids = self.binding.unversioned
            return Failure(tuple(dict.fromkeys((*ids, *contract.comparisons["version"]))), Kind.VERSION, text, seen)
        return None

    def _broken_types(self, found: Sequence[Difference], row: Row) -> tuple[str, ...]:
        """Where every text is right and only a type is wrong, an invariant on types says it best."""
        if any(str(d.expected) != str(d.seen) for d in found) or not _is_whole(row.record):
            return ()
        asked = (each for each in self.binding.contract.invariants if each.of == "record")
        return tuple(each.requirement for each in asked if not each.holds(row.record))

    def fallback(self, committed: Committed) -> tuple[str, ...]:
        """What is broken when something changed that nothing of this decision writes."""
        decision = committed.decision
        if isinstance(committed.outcome, Refused) and not decision.parts:
            return self.binding.contract.comparisons["refusal"]
        if decision.rule is not None:
            return decision.rule_requirements
        if committed.lost:
            return self.binding.contract.conflict_requirements
        return attribution.for_success(decision)

    def changed_by(self, committed: Committed) -> tuple[Difference, ...]:
        """What moved, for people: the members of every record that changed."""
        present = self.binding.contract.present
        found: list[Difference] = []
        for key, record in committed.state.items():
            before = self.state.get(key)
            if record is before:
                continue
            if before is None:
                found.append(Difference(key, "(no record)", record.facts.state))
                continue
            found.extend(differences(present(before), present(record)))
        return tuple(found)

    def accept(self, committed: Committed, observed: Observed, read: Read) -> Failure | None:
        """Take the model's new state over; the invariants across the step are asked of what was read."""
        code = observed.code if isinstance(observed, Refusal) else None
        broken: Failure | None = None
        for key, record in committed.state.items():
            if record is self.state.get(key) and key in self.records:
                continue
            row = read(key)
            if row is None:
                continue
            if key not in self.records:
                self._exempt(key, record)
            broken = broken or self._across(committed, key, row, code)
            self.versions[key], self.records[key] = row.version, row.record
            self.unversioned.discard(key)
        self.state = committed.state
        return broken

    def _across(self, committed: Committed, key: str, row: Row, code: str | None) -> Failure | None:
        if key != committed.decision.scope.key:
            code = None
        before = self.records.get(key)
        for invariant in self.binding.contract.invariants:
            if invariant.of != "step" or before is None or not _is_whole(row.record):
                continue
            if not invariant.holds(before, row.record, code):
                return Failure((invariant.requirement,), Kind.INVARIANT, f"broken: {invariant.text}")
            committed.decision.trace.requirements.append(invariant.requirement)
        return None

    def invariants(self, read: Read) -> tuple[Failure | None, list[str]]:
        """The invariants of every record as the store shows it, and the ids of those that were asked."""
        asked: list[str] = []
        for key in self.state:
            row = read(key)
            for invariant in self.binding.contract.invariants:
                if invariant.of != "record" or row is None or (key, invariant.requirement) in self.exempt:
                    continue
                if not _is_whole(row.record):
                    continue
                if not invariant.holds(row.record):
                    text = f"the record of {key} breaks: {invariant.text}"
                    return Failure((invariant.requirement,), Kind.INVARIANT, text), asked
                asked.append(invariant.requirement)
        return None, asked

    def others(self, snapshot: Mapping[str, int | None], read_only: bool = False) -> Failure | None:
        """After an accepted step: the committed rows are the model's, at the versions last read."""
        if len(snapshot) != len(self.state) or any(key not in self.state for key in snapshot):
            found = tuple(Difference(key, "(absent)", v) for key, v in snapshot.items() if key not in self.state)
            gone = tuple(Difference(key, "present", "(absent)") for key in self.state if key not in snapshot)
            text = "the store holds other rows than it should"
            return Failure(self.binding.contract.comparisons["others"], Kind.OTHERS, text, (*found, *gone))
        moved = tuple(
            Difference(f"version of {key}", self.versions[key], version)
            for key, version in snapshot.items()
            if key in self.versions and (version or 1) != (self.versions[key] or 1)
        )
        if not moved:
            return None
        if read_only:
            return Failure(self.binding.contract.comparisons["version"], Kind.OTHERS, "a read moved a row", moved)
        text = "a record changed that this call does not name"
        return Failure(self.binding.contract.comparisons["others"], Kind.OTHERS, text, moved)

    def everything(self, read: Read, ids: tuple[str, ...], kind: Kind, text: str) -> Failure | None:
        """Every record of the model against the store's."""
        for key, record in self.state.items():
            row = read(key)
            if row is None:
                return Failure(ids, kind, f"{text}: {key} is gone")
            found = differences(self.binding.contract.present(record), row.record)
            if found:
                return Failure(ids, kind, f"{text}: the record of {key} differs", found)
        return None

    def inject(self, record: Record, version: int | None) -> None:
        key = str(record.facts.workload_id)
        self.state = {**self.state, key: record}
        self.versions[key] = 1 if version is None else version
        if version is None:
            self.unversioned.add(key)
        self.records[key] = self.binding.contract.present(record)
        self._exempt(key, record)

    def _exempt(self, key: str, record: Record) -> None:
        """What a row broke when it came, injected or migrated, is not asked of it."""
        presented = self.binding.contract.present(record)
        for invariant in self.binding.contract.invariants:
            if invariant.of == "record" and not invariant.holds(presented):
                self.exempt.add((key, invariant.requirement))


def _is_whole(record: Any) -> bool:
    """Every member is shown: an invariant may read any of them."""
    return all(getattr(record, member.name) is not UNSEEN for member in fields(type(record)))
