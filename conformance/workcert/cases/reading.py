"""Reading one line of a case file: its JSON, its members and values, and what to say when they are wrong."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from attrs import define, field

from workcert.cases.contracts import Contract
from workcert.cases.matcher import MATCHER_FORMS
from workcert.cases.model import Expectation, Ok, Refusal
from workcert.codec import CodecError, decode, parse_json, references, resolve, structure


class CaseError(ValueError):
    """A fault of a case file: ``source``, ``line`` (from 1), ``cause``, and what to do (``remedy``)."""

    def __init__(self, source: str, line: int, cause: str, remedy: str) -> None:
        super().__init__(f"{source}:{line}: {cause}; {remedy}")
        self.source = source
        self.line = line
        self.cause = cause
        self.remedy = remedy


@define
class Reader:
    """Where the reading stands: the line, and which ids exist and may be referred to."""

    source: str
    known: Mapping[str, Contract]
    line: int = 1
    contract: Contract = field(init=False)
    handles: tuple[str, ...] = ()
    ids: set[str] = field(factory=set)
    answered: set[str] = field(factory=set)
    repeated: dict[str, int] = field(factory=dict)

    def fault(self, cause: str, remedy: str) -> CaseError:
        return CaseError(self.source, self.line, cause, remedy)

    def raw(self, line: str) -> dict[str, Any]:
        if not line.strip():
            raise self.fault("an empty line", "remove it; each line is one step")
        try:
            raw = parse_json(line)
        except CodecError as fault:
            raise self.fault(str(fault), "write one JSON object per line") from None
        return self.object(raw, "a line")

    def object(self, raw: Any, what: str) -> dict[str, Any]:
        if not isinstance(raw, dict):
            raise self.fault(f"{what} is no JSON object", "write an object here")
        return raw

    def only(self, raw: Mapping[str, Any], members: frozenset[str], what: str) -> None:
        stray = [name for name in raw if name not in members]
        if stray:
            raise self.fault(f"unknown member {stray[0]!r} of {what}", f"known are {listed(members)}")

    def need(self, raw: Mapping[str, Any], name: str, kind: type[Any], what: str) -> Any:
        if name not in raw:
            raise self.fault(f"{what} has no {name!r}", "add it; FORMAT.md lists the members")
        if type(raw[name]) is not kind:
            raise self.fault(f"{name!r} of {what} is no {_KIND_NAMES[kind]}", "correct it; see FORMAT.md")
        return raw[name]

    def texts(self, raw: Mapping[str, Any], name: str) -> tuple[str, ...]:
        found = self.need(raw, name, list, "the header")
        if not all(isinstance(each, str) and each for each in found) or len(set(found)) != len(found):
            raise self.fault(f"{name!r} of the header", "write an array of texts, none empty, none twice")
        return tuple(found)

    def expectation(self, raw: Any) -> Expectation:
        raw = self.object(raw, "an expectation")
        if raw.keys() == {"ok"}:
            return Ok(self.matcher(raw["ok"], "expect"))
        if "error" not in raw or raw.keys() - {"error", "details"}:
            raise self.fault("an expectation", 'write {"ok": matcher} or {"error": CODE, "details": matcher}')
        code = self.matcher(raw["error"], "error")
        if isinstance(code, str) and code not in self.contract.codes:
            raise self.fault(f"unknown error code {code!r}", f"known are {listed(self.contract.codes)}")
        if "details" in raw and raw["details"] is None:
            raise self.fault("details null", 'write {"$absent": true} where there must be none')
        return Refusal(code, self.matcher(raw["details"], "details") if "details" in raw else None)

    def matcher(self, raw: Any, place: str) -> Any:
        if place == "record" and raw is None:
            raise self.fault("record null", 'write {"$absent": true} where there must be none')
        return self.checked(raw, place, MATCHER_FORMS)

    def value(self, raw: Any, place: str) -> Any:
        return self.checked(raw, place, None)

    def checked(self, raw: Any, place: str, forms: Any) -> Any:
        try:
            value = decode(raw, place, forms)
        except CodecError as fault:
            raise self.fault(str(fault), "see FORMAT.md, codec and matchers") from None
        for ref in references(value):
            if ref.step in self.answered:
                continue
            if ref.step in self.repeated:
                cause = f"{ref.path!r} refers to a step of a repeat"
                remedy = f"name the iteration: {ref.step}#1 to {ref.step}#{self.repeated[ref.step]}"
                raise self.fault(cause, remedy)
            cause = f"{ref.path!r} refers to {ref.step!r}, which has no answer yet"
            raise self.fault(cause, "refer to a call on an earlier line, or earlier inside the same step")
        return value

    def fits(self, wanted: Any, value: Any, place: str) -> None:
        if any(references(value)):
            return
        try:
            structure(wanted, resolve(value, {}), place)
        except CodecError as fault:
            raise self.fault(str(fault), "correct the value; the port gives its type") from None


_KIND_NAMES: Final[Mapping[type, str]] = {str: "text", int: "integer", list: "array", dict: "object"}


def listed(names: Any) -> str:
    return ", ".join(sorted(names))
