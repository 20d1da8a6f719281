"""Requirements: the numbered sentences of a contract, and the catalogue that holds them all.

Everything else names a requirement by its id: a check, a row of the transition table, an invariant, a finding
in a report. The catalogue is the one place that knows what an id says, so an id that it does not hold is an
error wherever it is written.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from enum import StrEnum

from attrs import field, frozen

IDENTIFIER = re.compile(r"[A-Z]{3}-[A-Z]{2,4}-[0-9]{2}")


class Kind(StrEnum):
    """How a requirement can be shown to hold or to be broken."""

    RULE = "rule"
    """A check, an effect or a row of the transition table enforces it whenever an operation runs."""
    INVARIANT = "invariant"
    """It holds in each committed state, or between each state and the next."""
    SCENARIO = "scenario"
    """Only a directed case, a crash or a race shows it."""
    DEFINITION = "definition"
    """It explains; there is nothing to test. Printed, never counted."""


def _tuple(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(values)


@frozen
class Requirement:
    """One numbered sentence of a contract.

    ``abilities`` are what a backend must let the kit do, beyond what the profile needs, before the
    requirement can be observed at all. ``not_asserted`` says why the kit asserts nothing although the text is
    normative.
    """

    id: str
    text: str
    kind: Kind
    profile: str
    abilities: tuple[str, ...] = field(default=(), converter=_tuple)
    provisional: bool = False
    not_asserted: str | None = None

    @property
    def digest(self) -> str:
        """First 16 hex digits of SHA-256 over what the requirement demands: id, text, kind and profile."""
        parts = [self.id, self.text, self.kind.value, self.profile]
        encoded = json.dumps(parts, separators=(",", ":"), ensure_ascii=False).encode("utf-8")
        return hashlib.sha256(encoded).hexdigest()[:16]

    @property
    def prefix(self) -> str:
        """The family part of the id: ``WRK-CLM`` of ``WRK-CLM-02``."""
        return self.id.rpartition("-")[0]

    @property
    def counted(self) -> bool:
        """Whether a certificate counts it: not a definition, and something is asserted."""
        return self.kind is not Kind.DEFINITION and self.not_asserted is None


@frozen
class Family:
    """Requirements that share a prefix: ``Family("WRK-CLM", "claim", "Claim")``."""

    prefix: str
    name: str
    """The short name that a selection may use instead of the prefix."""
    title: str


@frozen
class Catalogue:
    """All requirements of one contract in one version, in the order in which they are printed.

    Raises:
        ValueError: a malformed or repeated id, a family given twice, or a requirement outside the families.
    """

    contract: str
    version: str
    requirements: tuple[Requirement, ...]
    families: tuple[Family, ...] = ()
    _by_id: dict[str, Requirement] = field(init=False, repr=False, eq=False, factory=dict)

    def __attrs_post_init__(self) -> None:
        for name in ("prefix", "name"):
            _refuse_repetition(f"family {name}", (getattr(family, name) for family in self.families))
        prefixes = {family.prefix for family in self.families}
        for requirement in self.requirements:
            if IDENTIFIER.fullmatch(requirement.id) is None:
                raise ValueError(f"{requirement.id!r} is no requirement id: write it like WRK-ABC-12")
            if self.families and requirement.prefix not in prefixes:
                raise ValueError(f"{requirement.id} belongs to no family: add one for {requirement.prefix}")
        _refuse_repetition("requirement id", (requirement.id for requirement in self.requirements))
        self._by_id.update((requirement.id, requirement) for requirement in self.requirements)

    def __getitem__(self, id: str) -> Requirement:  # noqa: A002 - the name of the field
        """The requirement of this id.

        Raises:
            KeyError: there is none; the text names ids that look alike.
        """
        try:
            return self._by_id[id]
        except KeyError:
            raise KeyError(self._unknown(id, self._by_id)) from None

    def __contains__(self, id: object) -> bool:  # noqa: A002 - the name of the field
        return id in self._by_id

    def __iter__(self) -> Iterator[Requirement]:
        return iter(self.requirements)

    def __len__(self) -> int:
        return len(self.requirements)

    def family_of(self, id: str) -> Family:  # noqa: A002 - the name of the field
        """The family of this requirement.

        Raises:
            KeyError: no such requirement, or the catalogue was given no family for it.
        """
        prefix = self[id].prefix
        for family in self.families:
            if family.prefix == prefix:
                return family
        raise KeyError(f"the {self.contract} catalogue has no family for {prefix}")

    def matching(self, patterns: Iterable[str]) -> tuple[Requirement, ...]:
        """The requirements that any of the patterns selects, each once, in the catalogue's order.

        A pattern is an id (``WRK-CLM-02``), the beginning of ids up to a dash (``WRK-CLM``, ``WRK``) or the
        name of a family (``claim``). Case does not matter. No pattern selects nothing.

        Raises:
            TypeError: one string where a collection of patterns belongs.
            KeyError: a pattern selects nothing; the text names what looks alike.
        """
        if isinstance(patterns, str):
            raise TypeError(f"patterns is a collection of strings: write [{patterns!r}]")
        selected: set[str] = set()
        for pattern in patterns:
            selected |= self._selected_by(pattern)
        return tuple(requirement for requirement in self.requirements if requirement.id in selected)

    def _selected_by(self, pattern: str) -> set[str]:
        wanted = pattern.strip()
        for family in self.families:
            if wanted.lower() == family.name.lower():
                wanted = family.prefix
        wanted = wanted.upper().removesuffix("-")
        found = {known for known in self._by_id if wanted and f"{known}-".startswith(f"{wanted}-")}
        if not found:
            prefixes = [requirement.prefix for requirement in self.requirements]
            names = [family.name for family in self.families]
            raise KeyError(self._unknown(pattern, [*self._by_id, *prefixes, *names]))
        return found

    def _unknown(self, wanted: str, known: Iterable[str]) -> str:
        by_lower = {name.lower(): name for name in known}
        close = [by_lower[name] for name in get_close_matches(str(wanted).lower(), by_lower, n=3)]
        text = f"the {self.contract} contract {self.version} has no requirement {wanted!r}"
        return f"{text}; did you mean {', '.join(close)}?" if close else text


def _refuse_repetition(what: str, values: Iterable[str]) -> None:
    seen: set[str] = set()
    for value in values:
        if value in seen:
            raise ValueError(f"{what} {value} is given twice")
        seen.add(value)
