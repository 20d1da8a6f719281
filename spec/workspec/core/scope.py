"""What a rule may read while one call is being decided, and the trace of what took part."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from attrs import define, field, frozen

if TYPE_CHECKING:
    from workspec.core.choice import Chooser
    from workspec.core.record import Record


@frozen
class Call:
    """One call at the port: the operation's name and every argument by name."""

    name: str
    arguments: Mapping[str, Any]


@define
class Trace:
    """Evidence of one decision, in the order in which it was found.

    ``fired``: keys of the checks, rows, effects and moves that decided or acted. ``passed``: keys of the checks
    that were asked and let the call through. ``requirements``: ids of all that fired. ``sides``: for each
    comparison that was asked, its key and *below*, *at* or *above*. ``met``: for each record that the call came to,
    its key and the key of the check that decided on it, empty where every check let it through.
    """

    fired: list[str] = field(factory=list)
    passed: list[str] = field(factory=list)
    requirements: list[str] = field(factory=list)
    sides: list[tuple[str, str]] = field(factory=list)
    met: list[tuple[str | None, str]] = field(factory=list)


@define
class Scope:
    """The reading side of one decision. The interpreter changes ``facts`` between effects; rules only read.

    ``facts`` are those of the addressed record as effects have left them so far, ``before`` as they were when the
    decision began; both None when there is no such record. The log of a record is out of reach on purpose.
    """

    now: int
    call: Mapping[str, Any]
    state: Mapping[str, Record]
    key: str | None
    facts: Any
    before: Any
    choose: Chooser
    trace: Trace
    owner: str = ""
    element: Any = None
    index: int = 0
    settled: dict[str, Any] = field(factory=dict)
    drafted: Mapping[str, Any] = field(factory=dict)
    """Facts of the records that effects of this decision have changed so far, by key."""

    def facts_of(self, key: str) -> Any:
        """The facts of any record as effects have left them so far, None if there is none."""
        if key in self.drafted:
            return self.drafted[key]
        record = self.state.get(key)
        return None if record is None else record.facts

    def others(self) -> Mapping[str, Any]:
        """Facts of all records by key: what a rule may know of the rest of the store."""
        return {key: record.facts for key, record in self.state.items()}
