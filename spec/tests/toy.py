"""A small contract that uses everything that rules can be made of: tickets in a queue, and a bucket of tokens.

A ticket waits, is taken while there are tokens, and is finished, given back or dropped when it lapses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import evolve, frozen

from workspec.core.choice import UNSEEN, Choice, ChoiceKind
from workspec.core.condition import NOW, Term, argument, flag, term
from workspec.core.contract import Contract, Invariant, StateNote, Unique
from workspec.core.record import Record, State
from workspec.core.requirement import Catalogue, Kind, Requirement
from workspec.core.rule import (
    Batch,
    DecisionTable,
    Draw,
    Evidence,
    Move,
    Operation,
    Phase,
    Procedure,
    Refuse,
    Reply,
    Skip,
    TableRow,
    Transition,
    TransitionTable,
    When,
    effect,
    ids,
)
from workspec.core.scope import Call, Scope

BUCKET = "bucket"


@frozen(slots=False)
class Ticket:
    state: str
    lapses_at: int | None
    due_at: int = 0
    tries: int = 0
    touched: int = 0
    serial: str | None = None
    receipt: str | None = None

    def moved(self, target: str, now_s: int, actor: str, evidence: Mapping[str, str]) -> dict[str, Any]:
        return {"state": target, "log.history": (self.state, target, actor, now_s, dict(evidence))}


@frozen(slots=False)
class Bucket:
    tokens: int
    state: str = "BUCKET"
    lapses_at: None = None
    due_at: None = None


@frozen(slots=False)
class Log:
    history: tuple[Any, ...] = ()
    charges: tuple[int, ...] = ()


EMPTY_LOG = Log()
START: State = {BUCKET: Record(1, Bucket(tokens=3), EMPTY_LOG)}

# Choices

SERIAL = Choice(
    "serial",
    ChoiceKind.FREE,
    "The serial number of a finished ticket.",
    ids("TOY-FIN-05"),
    default=lambda scope: f"{scope.key}-1",
    legal=lambda value, _scope: isinstance(value, str) and value != "",
    legal_text="a text that is not empty",
    observe=lambda seen, _scope: UNSEEN if seen.answer is None else seen.answer,
)
STRIDE = Choice("stride", ChoiceKind.DECLARED, "How much a touch counts.", ids("TOY-TCH-01"), default=1, options=(1, 2))
GIVER = Choice("giver", ChoiceKind.FREE, "Who gives back.", ids("TOY-GIV-01"), default=lambda scope: scope.call["who"])
REMARKS = Choice(
    "remarks", ChoiceKind.FREE, "Further evidence.", ids("TOY-FIN-04"), default=lambda _scope: {"remark": "none"}
)
LATE_CODE = Choice(
    "late-code",
    ChoiceKind.FREE,
    "What a late finish is called.",
    ids("TOY-FIN-02"),
    default="LAPSED",
    options=("LAPSED", "GONE"),
)

# Terms and conditions

unknown = Term("the ticket is unknown", "flag", "store", lambda scope: scope.facts is None).holds()
state = Term("state", "state", "facts", lambda scope: scope.facts.state)
tries = Term("tries", "tries", "facts", lambda scope: scope.facts.tries)
limit = argument("limit", "tickets")
receipt = argument("receipt", "text")
taken = Term("taken", "tickets", "call", lambda scope: scope.index)
tokens = Term("tokens", "tickets", "store", lambda scope: scope.state[BUCKET].facts.tokens)


@term("lapse", unit="s")
def lapses_at(scope: Scope) -> int | None:
    return scope.facts.lapses_at


@term("due time", unit="s")
def due_at(scope: Scope) -> int | None:
    return scope.facts.due_at


lapsed = NOW >= lapses_at
waiting_or_taken = state.is_("WAITING", "TAKEN")


@flag("the name is blank", source="call")
def blank_name(scope: Scope) -> bool:
    return not scope.element.strip()


@flag("the name stands earlier in this batch", source="call")
def seen_earlier(scope: Scope) -> bool:
    return scope.element in scope.call["names"][: scope.index]


@flag("the receipt is the recorded one")
def same_receipt(scope: Scope) -> bool:
    return scope.facts.receipt is not None and scope.facts.receipt == scope.call["receipt"]


# Effects


@effect("TOY-ADD-04", writes="* log", text="a new ticket")
def create(scope: Scope) -> Mapping[str, Any]:
    return {"*": Ticket("NEW", scope.call["lapses_at"]), "log": EMPTY_LOG}


@effect("TOY-TAK-04", writes="tokens log.charges", text="one token less")
def charge(scope: Scope) -> Mapping[str, Any]:
    return {"tokens": scope.facts.tokens - 1, "log.charges": scope.now}


charge = evolve(charge, target=lambda _scope: BUCKET)


@effect("TOY-FIN-05", writes="receipt serial", text="the receipt and a serial number")
def record_receipt(scope: Scope) -> Mapping[str, Any]:
    return {"receipt": scope.call["receipt"], "serial": scope.choose(SERIAL, scope)}


@effect("TOY-GIV-02", writes="tries", text="tries + 1")
def count_try(scope: Scope) -> Mapping[str, Any]:
    return {"tries": scope.facts.tries + 1}


@effect("TOY-GIV-03", writes="due_at", text="due in ten seconds")
def delay(scope: Scope) -> Mapping[str, Any]:
    return {"due_at": scope.now + 10}


@effect("TOY-TCH-01", writes="touched", text="touched + stride")
def touch(scope: Scope) -> Mapping[str, Any]:
    return {"touched": scope.facts.touched + scope.choose(STRIDE, scope)}


# Tables

GIVING = DecisionTable(
    "what becomes of a returned ticket",
    "decision",
    rows=(
        TableRow(ids("TOY-DEC-01"), tries >= 1, "drop"),
        TableRow(ids("TOY-DEC-02"), tries < 2, "again"),
    ),
    otherwise="drop",
    order=ids("TOY-DEC-03"),
)
again = GIVING.term.is_("again")

TRANSITIONS = TransitionTable(
    (
        Transition("NEW", "add", "WAITING", ids("TOY-ADD-04")),
        Transition("WAITING", "take", "TAKEN", ids("TOY-TAK-04")),
        Transition("TAKEN", "finish", "DONE", ids("TOY-FIN-04")),
        Transition("TAKEN", "give back", "WAITING", ids("TOY-GIV-01"), again),
        Transition("TAKEN", "give back", "DROPPED", ids("TOY-GIV-01"), ~again),
        Transition("WAITING", "lapse", "DROPPED", ids("TOY-SWP-01")),
        Transition("TAKEN", "lapse", "DROPPED", ids("TOY-SWP-01")),
    )
)
STATES = (
    StateNote("NEW", "only the source of the first event", (0, 0)),
    StateNote("WAITING", "waiting", (1, 0)),
    StateNote("TAKEN", "active", (2, 0)),
    StateNote("DONE", "final", (3, 0)),
    StateNote("DROPPED", "final", (3, 1)),
    StateNote("BUCKET", "no ticket: the tokens", (0, 1)),
)

# Operations

nobody = Term("nobody", "text", "constant", lambda _scope: "nobody")
caller = argument("who", "text")
LAPSE = Procedure("lapse", (Move("lapse", nobody, ids("TOY-SWP-01")),))
UNKNOWN = Refuse(ids("TOY-GEN-01"), "UNKNOWN", when=unknown)


def _by_name(scope: Scope) -> str:
    return str(scope.call["name"])


def _by_element(scope: Scope) -> str:
    return str(scope.element)


def _held(_scope: Scope, held: Sequence[Any], _after: State) -> list[Any]:
    return list(held)


def _tickets(scope: Scope) -> list[str]:
    return sorted(key for key in scope.state if key != BUCKET)


ADD = Batch(
    "add",
    elements=lambda scope: scope.call["names"],
    locate=_by_element,
    phases=(
        Phase((Refuse(ids("TOY-ADD-01"), "INVALID", when=blank_name),)),
        Phase((Skip(ids("TOY-ADD-02"), when=~unknown), Skip(ids("TOY-ADD-03"), when=seen_earlier))),
    ),
    steps=(create, Move("add", caller, ids("TOY-ADD-04"))),
    answer=_held,
    atomic=True,
)
TAKE = Draw(
    "take",
    order=_tickets,
    checks=(Refuse(ids("TOY-TAK-01"), "INVALID", when=limit < 1),),
    gate=(
        Skip(ids("TOY-TAK-02"), when=~state.is_("WAITING")),
        Skip(ids("TOY-SWP-01"), when=lapsed, committing=(LAPSE,)),
        Skip(ids("TOY-TAK-03"), when=NOW < due_at),
    ),
    steps=(charge, Move("take", caller, ids("TOY-TAK-04"))),
    until=(taken >= limit) | (taken >= tokens),
    answer=_held,
)
FINISH = Operation(
    "finish",
    locate=_by_name,
    order=ids("TOY-FIN-06"),
    checks=(
        UNKNOWN,
        Reply(ids("TOY-FIN-01"), when=same_receipt, answer=lambda scope: scope.facts.serial),
        Refuse(
            ids("TOY-FIN-02"),
            LATE_CODE,
            when=waiting_or_taken & lapsed,
            committing=(LAPSE,),
            details=lambda scope: {"lapsed_at": scope.before.lapses_at},
        ),
        Refuse(ids("TOY-FIN-03"), "STATE", when=TRANSITIONS.illegal("finish")),
    ),
    steps=(
        When(~receipt.is_(None), (record_receipt,)),
        Move("finish", caller, ids("TOY-FIN-04"), (Evidence("receipt", receipt),), REMARKS),
    ),
    answer=lambda scope, after: after[scope.key or ""].facts.serial,
)
GIVE_BACK = Operation(
    "give_back",
    locate=_by_name,
    checks=(UNKNOWN, Refuse(ids("TOY-FIN-03"), "STATE", when=TRANSITIONS.illegal("give back"))),
    steps=(
        When(again, (delay,)),
        count_try,
        Move("give back", GIVER, ids("TOY-GIV-01"), (Evidence("decision", GIVING.term),)),
    ),
    answer=lambda scope, after: after[scope.key or ""].facts.state,
)
TOUCH = Operation(
    "touch",
    locate=_by_name,
    checks=(UNKNOWN, Refuse(ids("TOY-FIN-03"), "STATE", when=~waiting_or_taken)),
    steps=(touch,),
    answer=lambda scope, after: after[scope.key or ""].facts.touched,
    requirements=ids("TOY-TCH-01"),
    again=True,
)
SWEEP = Batch(
    "sweep",
    elements=_tickets,
    locate=_by_element,
    phases=(Phase((Skip(ids("TOY-SWP-01"), when=~waiting_or_taken), Skip(ids("TOY-SWP-01"), when=~lapsed))),),
    steps=(LAPSE,),
    answer=_held,
    atomic=False,
    requirements=ids("TOY-SWP-01"),
)
SHOW = Operation(
    "show",
    locate=_by_name,
    checks=(),
    steps=(),
    answer=lambda scope, after: after[scope.key or ""].log.history,
)

RULES = (
    "TOY-GEN-01 TOY-ADD-01 TOY-ADD-02 TOY-ADD-03 TOY-ADD-04 TOY-TAK-01 TOY-TAK-02 TOY-TAK-03 TOY-TAK-04 "
    "TOY-FIN-01 TOY-FIN-02 TOY-FIN-03 TOY-FIN-04 TOY-FIN-05 TOY-FIN-06 TOY-FIN-07 TOY-GIV-01 TOY-GIV-02 "
    "TOY-GIV-03 TOY-DEC-01 TOY-DEC-02 TOY-DEC-03 TOY-TCH-01 TOY-SWP-01 TOY-MWR-01 TOY-INV-01"
)
CONTRACT = Contract(
    name="toy",
    version="1.0",
    catalogue=Catalogue(
        "toy",
        "1.0",
        (
            *(Requirement(name, "It holds.", Kind.RULE, "CORE") for name in ids(RULES)),
            Requirement("TOY-GEN-02", "Words.", Kind.DEFINITION, "CORE"),
            Requirement("TOY-GEN-03", "A refusal changes nothing.", Kind.SCENARIO, "CORE"),
        ),
    ),
    operations=(ADD, TAKE, FINISH, GIVE_BACK, TOUCH, SWEEP, SHOW),
    transitions=TRANSITIONS,
    tables=(GIVING,),
    choices=(SERIAL, STRIDE, GIVER, REMARKS, LATE_CODE),
    invariants=(
        Invariant("TOY-INV-01", "record", "tries are not negative", lambda facts: facts.tries >= 0, ("tries",)),
    ),
    uniques=(Unique(ids("TOY-FIN-07"), lambda facts: getattr(facts, "receipt", None), "DUPLICATE"),),
    states=STATES,
    conflict_code="CONFLICT",
    conflict_requirements=ids("TOY-MWR-01"),
    start_state="NEW",
    empty_log=EMPTY_LOG,
    present=lambda record: record.facts,
    absorb=lambda facts, version: Record(version, facts, EMPTY_LOG),
    instants={Ticket: ("lapses_at", "due_at")},
    instant=lambda _call, at_s: 0 if at_s is None else at_s,
    comparisons={"refusal": ids("TOY-GEN-03")},
    shown_as={},
)

NAMES = ("one", "two", "three")


def call(name: str, /, **arguments: Any) -> Call:
    return Call(name, arguments)


def propose(_state: State, now_s: int, pick: Any) -> Call:
    """A call for the sampling walk."""
    name = pick(NAMES)
    return pick(
        (
            call(
                "add",
                names=pick(((name,), NAMES, (name, name), (name, " "))),
                lapses_at=pick((None, now_s + 5)),
                who="me",
            ),
            call("take", limit=pick((0, 1, 2, 3)), who="me"),
            call("finish", name=name, receipt=pick((None, "r1", "r2")), who="me"),
            call("give_back", name=name, who="me"),
            call("touch", name=name),
            call("sweep"),
        )
    )
