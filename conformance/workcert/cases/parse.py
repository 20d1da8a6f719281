"""Text to case. Whatever is wrong with a file is found here, with its line, before any store is opened."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from attrs import define

from workcert.backends.protocol import Ability
from workcert.cases.adverse_steps import AdverseSteps
from workcert.cases.contracts import Contract, contracts
from workcert.cases.model import (
    FORMAT,
    OPENING,
    UNCHANGED,
    Call,
    Case,
    Damage,
    Expectation,
    Frozen,
    Header,
    Reopen,
    Repeat,
    Restart,
    Step,
    Together,
    Transaction,
    every_step,
    required_abilities,
    runs_back,
)
from workcert.cases.reading import listed
from workcert.codec import CodecError, parse_json

_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]*(/[a-z0-9][a-z0-9._-]*)*")
_KINDS: Final = (
    "call",
    "restart",
    "inject",
    "together",
    "frozen",
    "tx",
    "crash",
    "damage",
    "misuse",
    "repeat",
    "reopen",
)
_HEADER: Final = frozenset(
    {"format", "contract", "name", "title", "requirements", "profiles", "abilities"} | {"config", "handles", "digest"}
)
_MEMBERS: Final[Mapping[str, frozenset[str]]] = {
    "call": frozenset({"id", "on", "call", "args", "expect", "record", "of", "version", "note"}),
    "restart": frozenset({"id", "restart", "note"}),
    "inject": frozenset({"id", "on", "inject", "version", "note"}),
    "together": frozenset({"id", "together", "rounds", "expect_one_of", "shared", "apart", "note"}),
    "frozen": frozenset({"id", "frozen", "during", "point", "note"}),
    "tx": frozenset({"id", "on", "tx", "end", "after", "note"}),
    "crash": frozenset({"id", "crash", "point", "disk", "note"}),
    "damage": frozenset({"id", "damage", "how", "at", "length", "note"}),
    "misuse": frozenset({"id", "misuse", "way", "note"}),
    "repeat": frozenset({"id", "repeat", "steps", "note"}),
    "reopen": frozenset({"id", "on", "reopen", "note"}),
}
MOST_REPEATS: Final = 10_000
_CUT_SHORT: Final = "the file was cut short; get it whole, or close it with an end line"


def parse(text: str, source: str = "<case>", known: Mapping[str, Contract] | None = None) -> Case:
    """Read a case.

    Args:
        text: the whole file.
        source: where it came from, for messages.
        known: the contracts by name; those of this kit if None.

    Raises:
        CaseError: the first fault found.
    """
    # Not splitlines: a text may hold U+2028 and its like, which are no ends of lines in JSON.
    lines = text.removesuffix("\n").split("\n")
    reader = _Steps(source, contracts() if known is None else known)
    if not text:
        raise reader.fault("the file is empty", _CUT_SHORT)
    header = reader.header(lines[0])
    end = _end_of(reader, lines)
    steps: list[Step] = []
    for number, line in enumerate(lines[1:-1], start=2):
        reader.line = number
        steps.append(reader.step(reader.raw(line), inside=""))
    reader.line = len(lines)
    if end != len(steps):
        raise reader.fault(f"the end line says {end} steps, the file has {len(steps)}", _CUT_SHORT)
    case = Case(header, tuple(steps))
    if any(isinstance(step, Damage) for step in every_step(tuple(steps[:-1]))):
        raise reader.fault("a step after a damage step", "nothing is asked of a store whose files are damaged")
    missing = sorted(required_abilities(case) - set(header.abilities))
    if missing:
        reader.line = 1
        raise reader.fault(f"the steps need the ability {missing[0]!r}", "add it to abilities in the header")
    return case


def _end_of(reader: _Steps, lines: list[str]) -> int:
    reader.line = len(lines)
    if len(lines) < 2:
        raise reader.fault("no end line", _CUT_SHORT)
    try:
        last = parse_json(lines[-1])
    except CodecError:
        raise reader.fault("the last line is no end line", _CUT_SHORT) from None
    if not isinstance(last, dict) or last.keys() != {"end"} or type(last["end"]) is not int:
        raise reader.fault("the last line is no end line", _CUT_SHORT)
    return last["end"]


@define
class _Steps(AdverseSteps):
    """Header and steps."""

    def header(self, line: str) -> Header:
        raw = self.raw(line)
        if "format" not in raw:
            raise self.fault("the first line is no header", 'begin the file with {"format": 1, ...}')
        if raw["format"] != FORMAT or type(raw["format"]) is not int:
            cause = f"format {raw['format']!r}, and this kit reads format {FORMAT}"
            raise self.fault(cause, "use the version of workcert that wrote the file")
        self.only(raw, _HEADER, "the header")
        name = self.need(raw, "contract", str, "the header")
        if name not in self.known:
            raise self.fault(f"unknown contract {name!r}", f"known are {listed(self.known)}")
        self.contract = self.known[name]
        self.handles = self.texts(raw, "handles")
        if not self.handles:
            raise self.fault("no handle", 'name at least one, "A"')
        title = self.need(raw, "title", str, "the header")
        case_name = self.need(raw, "name", str, "the header")
        if not _NAME.fullmatch(case_name):
            raise self.fault(f"name {case_name!r}", "use lower-case words with - between, folders with /")
        digest = raw.get("digest")
        if digest is not None and not isinstance(digest, str):
            raise self.fault("'digest' is no text", "write the digest of the specification, or null")
        config = self.value(self.need(raw, "config", dict, "the header"), "config")
        return Header(
            contract=name,
            name=case_name,
            title=title,
            requirements=self.texts(raw, "requirements"),
            profiles=self.among(self.texts(raw, "profiles"), self.contract.profiles, "profile"),
            abilities=self.among(self.texts(raw, "abilities"), frozenset(Ability), "ability"),
            config=config,
            handles=self.handles,
            digest=digest,
        )

    def among(self, found: tuple[str, ...], known: frozenset[str], what: str) -> tuple[str, ...]:
        for each in found:
            if each not in known:
                raise self.fault(f"unknown {what} {each!r}", f"known are {listed(known)}")
        return found

    # ------------------------------------------------------------------------------------- steps

    def step(self, raw: dict[str, Any], inside: str) -> Any:
        """One step. ``inside`` names the step around it, or is empty."""
        kinds = [kind for kind in _KINDS if kind in raw]
        if len(kinds) != 1:
            found = listed(kinds) if kinds else "none"
            raise self.fault(f"a step is exactly one of {listed(_KINDS)}, this one has {found}", "write one")
        kind = kinds[0]
        if kind == "reopen" and inside != "during":
            raise self.fault("a reopen step outside of 'during'", 'make it while a call is held at a "point"')
        if inside in ("together", "frozen", "during", "tx") and kind not in ("call", "reopen"):
            raise self.fault(f"a {kind} step inside a {inside} step", "put only calls there")
        if inside == "crash" and kind not in ("call", "tx"):
            raise self.fault(f"a {kind} step inside a crash step", f'put a call or a tx there, or "{OPENING}"')
        if inside == "misuse" and kind not in ("call", "tx"):
            raise self.fault(f"a {kind} step inside a misuse step", "put a call or a tx there")
        if inside == "repeat" and kind == "repeat":
            raise self.fault("a repeat inside a repeat", "write the inner one out")
        timed = {self.contract.time} if kind in ("call", "tx") else set()
        self.only(raw, _MEMBERS[kind] | timed, f"a {kind} step")
        note = self.need(raw, "note", str, "a step") if "note" in raw else None
        step_id = self.new_id(raw)
        match kind:
            case "call":
                return self.call(raw, step_id, note, inside)
            case "restart":
                if raw["restart"] is not True:
                    raise self.fault("'restart' is not true", 'write "restart": true')
                return Restart(step_id, note)
            case "reopen":
                if raw["reopen"] is not True:
                    raise self.fault("'reopen' is not true", 'write "reopen": true')
                return Reopen(step_id, self.handle(raw), note)
            case "inject":
                return self.inject(raw, step_id, note)
            case "together":
                return self.together(raw, step_id, note)
            case "frozen":
                return self.frozen(raw, step_id, note)
            case "tx":
                return self.transaction(raw, step_id, note)
            case "crash":
                return self.crash(raw, step_id, note)
            case "misuse":
                return self.misuse(raw, step_id, note)
            case "damage":
                return self.damage(raw, step_id, note)
        return self.repeat(raw, step_id, note)

    def together(self, raw: dict[str, Any], step_id: str, note: str | None) -> Together:
        before = set(self.answered)
        calls: list[Call] = []
        own: dict[str, set[str]] = {}
        for each in self.need(raw, "together", list, "a step"):
            inner = self.object(each, "a step of together")
            # They run at once, so that none can wait for the answer of another caller; only for its own.
            self.answered = before | (set() if raw.get("shared") else own.get(str(inner.get("on")), set()))
            calls.append(self.bare(self.step(inner, inside="together"), ("expect", "record", "version")))
            own.setdefault(calls[-1].on, set()).add(calls[-1].id)
        shared = raw.get("shared", False)
        if type(shared) is not bool:
            raise self.fault("'shared' is neither true nor false", "leave it out, or write true")
        if len(calls) < 2 or (len(own) != 1 if shared else len(own) < 2):
            cause = "together needs calls on two handles or more, or two calls on one that is shared"
            raise self.fault(cause, "name one handle" if shared else "name more handles")
        if self.contract.instant is None and len({call.at for call in calls}) > 1:
            raise self.fault("calls at once with different times", "a store has one clock; give them all one instant")
        self.answered = before | {call.id for call in calls}
        rounds = raw.get("rounds", 1)
        if type(rounds) is not int or rounds < 1:
            raise self.fault(f"rounds {rounds!r}", "write an integer from 1")
        apart = raw.get("apart", False)
        if type(apart) is not bool:
            raise self.fault(f"apart {apart!r}", "write true, or leave it out")
        if apart and shared:
            raise self.fault("calls on one handle that is in several processes", "write shared or apart")
        allowed = self.allowed(raw["expect_one_of"], len(calls)) if "expect_one_of" in raw else None
        return Together(step_id, tuple(calls), rounds, allowed, note, shared, apart)

    def allowed(self, raw: Any, width: int) -> tuple[tuple[Expectation, ...], ...]:
        rows = raw if isinstance(raw, list) else []
        if not rows or not all(isinstance(row, list) and len(row) == width for row in rows):
            remedy = f"write one row per outcome, each of {width} expectations"
            raise self.fault("'expect_one_of' is no array of rows", remedy)
        return tuple(tuple(self.expectation(each) for each in row) for row in rows)

    def frozen(self, raw: dict[str, Any], step_id: str, note: str | None) -> Frozen:
        inner = self.object(raw["frozen"], "the frozen step")
        before = set(self.answered)
        held: Call = self.step(inner, inside="frozen")
        held = self.bare(held, ("version",))
        if held.record == UNCHANGED:
            raise self.fault("'unchanged' on a frozen call", "others change the record meanwhile; match it")
        self.answered = before
        point = raw.get("point")
        if "point" in raw and (type(point) is not int or point < 1):
            raise self.fault(f"point {point!r}", "write an integer from 1, or leave it out")
        during = [self.object(each, "a step of during") for each in self.need(raw, "during", list, "a step")]
        if not during:
            raise self.fault("'during' is empty", "write the calls that commit meanwhile")
        steps = tuple(self.step(each, inside="during") for each in during)
        if any(each.on == held.on for each in steps):
            raise self.fault(f"a call of 'during' on the frozen handle {held.on!r}", "use another handle")
        calls = [each for each in steps if isinstance(each, Call)]
        if point is None and len(calls) < len(steps):
            raise self.fault("a reopen step without a point", 'say where the call is held: "point": 1')
        if point is not None:
            self._at_a_point(held, calls)
        self.answered.add(held.id)
        return Frozen(step_id, held, steps, note, point)

    def _at_a_point(self, held: Call, calls: Sequence[Call]) -> None:
        """Which of the calls takes effect first is the store's, so that nothing is written of one alone."""
        for call in (held, *calls):
            self.bare(call, ("expect", "record", "version"))
        if self.contract.instant is None and runs_back([held, *calls]):
            remedy = "a store has one clock, which does not run back; give each the instant of the one before, or later"
            raise self.fault("a call during another at an earlier time than it, or than one before", remedy)

    def transaction(self, raw: dict[str, Any], step_id: str, note: str | None) -> Transaction:
        if not any(signature.inside for signature in self.contract.calls.values()):
            raise self.fault(
                f"a transaction in the contract {self.contract.name}", "it has none; write the calls alone"
            )
        time = self.contract.time
        if time not in raw:
            raise self.fault(f"a transaction needs {time}", "all its calls happen at one instant")
        end = raw.get("end")
        if end not in ("commit", "rollback"):
            raise self.fault(f"'end' of a transaction is {end!r}", 'write "commit" or "rollback"')
        calls = self._inside(raw, "tx")
        after = self._inside(raw, "after") if "after" in raw else ()
        return Transaction(step_id, self.handle(raw), self.instant(raw[time]), calls, end, after, note)

    def _inside(self, raw: dict[str, Any], member: str) -> tuple[Call, ...]:
        found: list[Call] = []
        for each in self.need(raw, member, list, "a step"):
            inner = self.object(each, "a call of a transaction")
            found.append(self.bare(self.step({**inner, "on": raw.get("on")}, inside="tx"), ("record", "version")))
            if "on" in inner:
                raise self.fault("a handle of a call inside a transaction", "the transaction has one for all")
        return tuple(found)

    def repeat(self, raw: dict[str, Any], step_id: str, note: str | None) -> Repeat:
        times = self.need(raw, "repeat", int, "a step")
        bodies = [self.object(each, "a step of repeat") for each in self.need(raw, "steps", list, "a step")]
        if times < 1 or not bodies:
            raise self.fault("a repeat of nothing", "write a count from 1 and at least one step")
        if times > MOST_REPEATS:
            raise self.fault(f"a repeat of {times} times", f"{MOST_REPEATS} is the most, for every iteration has ids")
        before = set(self.answered)
        steps = tuple(self.step(each, inside="repeat") for each in bodies)
        inside = {step.id for step in every_step(steps)}
        # From outside an iteration has to be named, else a reference would have several answers.
        self.repeated |= dict.fromkeys(inside, times)
        gained = self.answered - before
        self.answered = before | {f"{name}#{n}" for name in gained for n in range(1, times + 1)}
        return Repeat(step_id, times, steps, note)
