"""The model's rows beside the store's: what was read last, and whether both agree."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from attrs import define, field, frozen

from workcert.binding import Binding
from workcert.judge import attribution
from workcert.judge.differences import Difference, differences
from workcert.judge.hidden import Showing, as_far_as_both, shows
from workcert.judge.unread import Unread
from workcert.judge.verdict import Failure, Kind
from workcert.run.calling import Observed, Refusal
from workspec.core.contract import Contract, Invariant
from workspec.core.interpreter import Committed, Refused
from workspec.core.record import Record, State


@frozen
class Row:
    """A row as the judge reads it: its version (None for a row without one) and its record."""

    version: int | None
    record: Any


Read = Callable[[str], Row | None]


@cache
def _invariants_of(contract: Contract, of: str) -> tuple[Invariant, ...]:
    return tuple(each for each in contract.invariants if each.of == of)


@define(eq=False)
class Ledger:
    """``state`` is the model's; ``versions`` and ``records`` are rows as last read, by key."""

    binding: Binding
    declared: Mapping[str, Any]
    legible: Callable[[str], bool]
    """Whether the record of a key can be read back from this store."""
    state: State = field(factory=dict)
    versions: dict[str, int | None] = field(factory=dict)
    records: dict[str, Any] = field(factory=dict)
    unversioned: set[str] = field(factory=set)
    """Keys of injected rows without a version that nothing has updated since."""
    exempt: set[tuple[str, str]] = field(factory=set)
    """Keys and ids of invariants that a row broke from the start: an older version's doing."""
    tells: bool = True
    """What moved is said of each step. Where nobody will read it, it need not be found out."""
    unread: Unread = field(init=False)
    _accepted: State | None = None
    """The state whose rows were all read when it was accepted."""
    _presented: dict[str, tuple[Record, Any]] = field(factory=dict)
    _glanced: dict[str, tuple[Record, Any]] = field(factory=dict)
    _shown_last: dict[str, Showing] = field(factory=dict)

    def presented(self, key: str, record: Record) -> Any:
        """What a read of this record should show, made once for each record: records are never changed in place."""
        known = self._presented.get(key)
        if known is None or known[0] is not record:
            known = self._presented[key] = (record, self.binding.present(record))
        return known[1]

    def presented_by_rules(self, key: str) -> Any:
        """As `presented`, of a record as it is now, by the contract's own `present`: what a glance shows."""
        record = self.state[key]
        known = self._glanced.get(key)
        if known is None or known[0] is not record:
            known = self._glanced[key] = (record, self.binding.contract.present(record))
        return known[1]

    @unread.default
    def _nothing_unread(self) -> Unread:
        return Unread(self.legible)

    def compare(self, committed: Committed, key: str, row: Row | None) -> Failure | None:
        """One record after a call: its content, and whether its version moved exactly if it changed."""
        if not self.legible(key):
            return None
        contract = self.binding.contract
        expected = committed.state.get(key)
        before = self.state.get(key)
        if expected is None or row is None:
            if expected is None and row is None:
                return None
            text = "the record is there and should not be" if expected is None else "the record is gone"
            return Failure(self.fallback(committed), Kind.RECORD, text)
        found = differences(self.presented(key, expected), row.record)
        if found:
            ids = self.fallback(committed)
            if expected is not before:
                broken = self._broken_by(found[0], row)
                ids = self._broken_types(found, row) or attribution.for_record(
                    contract, committed, found, ids, broken, new=before is None
                )
            return Failure(ids, Kind.RECORD, f"the record of {key} differs", found)
        if before is None or key not in self.versions or not self.binding.versioned:
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
        if any(str(d.expected) != str(d.seen) for d in found):
            return ()
        asked = (each for each in self._invariants("record") if shows(row.record, each.reads))
        return tuple(each.requirement for each in asked if not each.holds(row.record))

    def _broken_by(self, difference: Difference, row: Row) -> tuple[str, ...]:
        """The invariants on a member that the row breaks: they say what a member is that no rule writes."""
        asked = (each for each in self._invariants("record") if difference.member in each.reads)
        return tuple(each.requirement for each in asked if shows(row.record, each.reads) and not each.holds(row.record))

    def _invariants(self, of: str) -> Sequence[Invariant]:
        return _invariants_of(self.binding.contract, of)

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
        if not self.tells:
            return ()
        found: list[Difference] = []
        gone = (key for key in self.state if key not in committed.state and self.binding.legible(key))
        found += [Difference(key, self.state[key].facts.state, "(no record)") for key in gone]
        for key, record in committed.state.items():
            before = self.state.get(key)
            if record is before or not self.binding.legible(key):
                continue
            if before is None:
                found.append(Difference(key, "(no record)", record.facts.state))
                continue
            # The older one first: what is remembered of a key is the last one that was asked for.
            earlier = self.presented(key, before)
            found.extend(differences(earlier, self.presented(key, record)))
        return tuple(found)

    def accept(self, committed: Committed, observed: Observed, read: Read) -> Failure | None:
        """Take the model's new state over; the invariants across the step are asked of what was read."""
        code = observed.code if isinstance(observed, Refusal) else None
        broken: Failure | None = None
        before, records = self.state, self.records
        for key, record in () if committed.state is self._accepted else committed.state.items():
            if (key in records and record is before.get(key)) or not self.legible(key):
                continue
            row = read(key)
            if row is None:
                continue
            if key not in records:
                self._exempt(key, record)
            broken = broken or self._across(committed, key, row, code)
            self.versions[key], records[key] = row.version, row.record
            self.unversioned.discard(key)
        for key in records.keys() - committed.state.keys():
            del records[key], self.versions[key]
        self.state = self._accepted = committed.state
        self.unread.note(committed.decision)
        if committed.decision.operation.name in self.binding.reads:
            self.unread.agreed(committed.decision.scope.key)
        return broken

    def take_over(self, read: Read) -> None:
        """Take the rows as they are, after calls that were compared as a whole."""
        for key in filter(self.legible, self.state):
            row = read(key)
            if row is not None:
                self.versions[key], self.records[key] = row.version, row.record
        for key in self.records.keys() - self.state.keys():
            del self.records[key], self.versions[key]

    def note_versions(self, read: Read) -> None:
        """Take the versions of all rows as they are, after calls whose order nobody saw."""
        for key in self.state if self.binding.versioned else ():
            row = read(key)
            if row is not None:
                self.versions[key] = row.version

    def _across(self, committed: Committed, key: str, row: Row, code: str | None) -> Failure | None:
        if key != committed.decision.scope.key:
            code = None
        before = self.records.get(key)
        if before is None:
            return None
        shown_before, shown_after = self._showing(key, before), self._showing(key, row.record)
        for invariant in self._invariants("step"):
            if not shown_before(invariant.reads) or not shown_after(invariant.reads):
                continue
            # What only one of the two shows has not changed, as far as anybody can say.
            if not invariant.holds(before, row.record, code) and not invariant.holds(
                *as_far_as_both(before, row.record), code
            ):
                return Failure((invariant.requirement,), Kind.INVARIANT, f"broken: {invariant.text}")
            committed.decision.trace.requirements.append(invariant.requirement)
        return None

    def _showing(self, key: str, record: Any) -> Showing:
        """What a record shows; that of the last one of each key is known, and comes before the next one."""
        known = self._shown_last.get(key)
        if known is None or known.value is not record:
            known = self._shown_last[key] = Showing(record)
        return known

    def invariants(self, read: Read) -> tuple[Failure | None, list[str]]:
        """The invariants of every record as the store shows it, and the ids of those that were asked."""
        asked: list[str] = []
        for key in filter(self.legible, self.state):
            row = read(key)
            shown = Showing(None if row is None else row.record)
            for invariant in self._invariants("record"):
                if row is None or (key, invariant.requirement) in self.exempt or not shown(invariant.reads):
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
            if not self.legible(key):
                continue
            row = read(key)
            if row is None:
                return Failure(ids, kind, f"{text}: {key} is gone")
            found = differences(self.presented(key, record), row.record)
            if found:
                return Failure(ids, kind, f"{text}: the record of {key} differs", found)
        return None

    def inject(self, record: Record, version: int | None) -> None:
        key = str(record.facts.workload_id)
        self.state = {**self.state, key: record}
        self.versions[key] = 1 if version is None else version
        if version is None:
            self.unversioned.add(key)
        self.records[key] = self.binding.present(record)
        self._exempt(key, record)

    def _exempt(self, key: str, record: Record) -> None:
        """What a row broke when it came, injected or migrated, is not asked of it."""
        presented = self.binding.present(record)
        for invariant in self._invariants("record"):
            if not invariant.holds(presented):
                self.exempt.add((key, invariant.requirement))
