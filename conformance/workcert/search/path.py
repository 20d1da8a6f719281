"""Paths: the calls, with their instants, that lead from an empty store to what was looked for.

A search walks on folded records; a path is told on real ones. Its calls are made again by the plain interpreter, from
an empty store, and the last of them must show what was looked for: a fold that forgets a fact is noticed here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from attrs import evolve, frozen

from workcert.cases.contracts import contracts
from workcert.cases.model import Call as CallStep
from workcert.cases.model import Case, Header, Transaction
from workcert.codec import Ref, to_json
from workcert.search.targets import Raw, kinds_of_keys, shown_by
from workspec.core.alike import renamed
from workspec.core.contract import Contract, digest
from workspec.core.interpreter import Accepted, RuleError, apply
from workspec.core.record import State
from workspec.core.scope import Call

if TYPE_CHECKING:
    from workcert.search.breadth import Breadth, Way

TIME: Final = -1
"""In the place of the place of a record: the move is a step of time."""


class FoldError(Exception):
    """The search merged two states that behave differently: what it found cannot be shown from an empty store."""


@frozen
class Step:
    """A call and its instant, in the contract's unit."""

    call: Call
    at: int


@frozen
class Path:
    """``configuration`` names where it was found. The last step shows what was looked for. ``needs``: the profiles
    beside CORE that a store must claim for it."""

    configuration: str
    steps: tuple[Step, ...]
    needs: frozenset[str] = frozenset()

    @property
    def text(self) -> str:
        """The path in one line, instants counted from its first call."""
        first = self.steps[0].at
        return ", ".join(f"{step.call.name}+{step.at - first}" for step in self.steps)


def path_to(breadth: Breadth, way: Way, sought: Raw | None = None) -> Path:
    """The path that a search took.

    Args:
        breadth: the search.
        way: the last call of the path.
        sought: what that call must show; None for what rules contradict or invariants forbid.

    Raises:
        FoldError: it does not, or the calls cannot be made again.
    """
    contract, configuration = breadth.contract, breadth.configuration
    state: State = {}
    now = configuration.start
    names: dict[str, str] = {}
    steps: list[Step] = []
    shown: set[Raw] = set()
    for number, place, which, naming in _moves(breadth, way):
        if place == TIME:
            now += which
        else:
            call = _real_call(breadth, (number, place, which), state, now, names)
            at = contract.instant(call, now)
            steps.append(Step(call, at))
            try:
                done = apply(contract, state, call, at)
            except RuleError:
                break
            shown = set(shown_by(kinds_of_keys(contract), state, done)) if sought is not None else set()
            state = done.state
        names = _renamed_back(names, configuration.renamings[naming - 1]) if naming else names
    path = Path(configuration.name, tuple(steps))
    if sought is not None and sought not in shown:
        raise FoldError(
            f"{contract.name}, configuration {configuration.name}: {sought} was found by {path.text}, and these calls "
            "do not show it: the fold of this configuration leaves out what matters here"
        )
    return path


def instant_before(breadth: Breadth, way: Way) -> int:
    """The instant at which the last call of a way is made, whatever instant it names itself."""
    passed = sum(which for _number, place, which, _naming in _moves(breadth, way)[:-1] if place == TIME)
    return breadth.configuration.start + passed


def _moves(breadth: Breadth, way: Way) -> list[tuple[int, int, int, int]]:
    """From the empty store on: the state, the place of the record, which of its calls, and the renaming after it."""
    number, place, which = way
    moves = [(number, place, which, 0)]
    while number > 0:
        place, which, naming, _depth = breadth.moves[4 * number : 4 * number + 4]
        number = breadth.parents[number]
        moves.append((number, place, which, naming))
    return moves[::-1]


def _renamed_back(names: Mapping[str, str], naming: Mapping[str, str]) -> dict[str, str]:
    """The real names, where the search calls the same things by other names from here on."""
    back = {new: old for old, new in naming.items()}
    composed = {name: names.get(back.get(name, name), back.get(name, name)) for name in {*names, *back}}
    return {name: real for name, real in composed.items() if name != real}


def _real_call(breadth: Breadth, way: Way, state: State, now: int, names: Mapping[str, str]) -> Call:
    number, place, which = way
    configuration = breadth.configuration
    key = configuration.keys[place - 1] if place else None
    record = breadth.records.record(breadth.states[number][place - 1]) if place else None
    real_key = renamed(key, names)
    if names:
        call = breadth.memo.made(key, record)[which]
        which = breadth.memo.made(real_key, renamed(record, names)).index(renamed(call, names))
    real = tuple(configuration.calls(real_key, None if key is None else state.get(real_key), now))
    if which >= len(real):
        raise FoldError(f"configuration {configuration.name}: {real_key} allows other calls than the state of its fold")
    return real[which]


# Cases -----------------------------------------------------------------------------------------------------------

NAMED_BY_CALLERS: Final = frozenset({"worker_id", "result_id", "tenant_id", "application_id", "job_id", "lease_id"})
"""Arguments that end like an id of the store's own making."""


def case_of(contract: Contract, path: Path, requirements: tuple[str, ...], text: str) -> Case:
    """The case that makes the calls of a path; what the model answered becomes a reference to the answer.

    ``text`` says what the last call shows.
    """
    state: State = {}
    answers: dict[str, Any] = {}
    steps: list[CallStep | Transaction] = []
    calls = contracts()[contract.name].calls
    for number, step in enumerate(path.steps, start=1):
        step_id, call = f"s{number}", step.call
        args = {name: to_json(value) for name, value in call.arguments.items()}
        made = CallStep(step_id, "A", call.name, _referring(args, answers), _stated(contract, step))
        steps.append(_in_transaction(made, step.at) if calls[call.name].inside else made)
        try:
            done = apply(contract, state, call, step.at)
        except RuleError:
            break
        state = done.state
        if isinstance(done.outcome, Accepted):
            answers[step_id] = to_json(done.outcome.value)
    header = Header(
        contract=contract.name,
        name=f"search/{path.configuration}",
        title=f"Found by search: {text}",
        requirements=tuple(each for each in requirements if each in contract.catalogue),
        digest=digest(contract),
    )
    return Case(header, tuple(steps))


def _in_transaction(made: CallStep, at: int) -> Transaction:
    """A call that is made inside a transaction alone, in one of its own."""
    return Transaction(f"t{made.id}", "A", at, (evolve(made, at=None),), "commit")


def _stated(contract: Contract, step: Step) -> int | None:
    """The instant of a step, None where the call has it among its arguments, or has none (P-01)."""
    return step.at if contracts()[contract.name].calls[step.call.name].timed else None


def _referring(args: Mapping[str, Any], answers: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments that an earlier answer gave under the same name, as references to it.

    The answer that gives most of them is taken for all, so that a fence comes from one claim.
    """
    found: dict[str, Mapping[str, str]] = {}
    for step_id, answer in answers.items():
        given = dict(_members(answer, step_id))
        found[step_id] = {name: given[name, value] for name, value in _opaque(args) if (name, value) in given}
    # Of equals the earliest counts: the claim itself, not a heartbeat that answered the same.
    paths: dict[str, str] = {}
    for each in sorted(found.values(), key=len, reverse=True):
        paths = {**each, **paths}
    return {name: Ref(paths[name]) if name in paths else value for name, value in args.items()}


def _opaque(args: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """What a store may choose as it likes, and a case must not spell out: ids and tokens."""
    for name, value in args.items():
        if name.endswith(("_id", "_token")) and isinstance(value, str | int) and name not in NAMED_BY_CALLERS:
            yield name, value


def _members(value: Any, path: str) -> Iterator[tuple[tuple[str, Any], str]]:
    if isinstance(value, dict):
        for name, member in value.items():
            if isinstance(member, str | int):
                yield (name, member), f"{path}.{name}"
            else:
                yield from _members(member, f"{path}.{name}")


def requirements_of(contract: Contract, path: Path) -> Sequence[str]:
    """The ids of the requirements that took part in the last call of a path."""
    state: State = {}
    found: Sequence[str] = ()
    for step in path.steps:
        done = apply(contract, state, step.call, step.at)
        state, found = done.state, done.decision.trace.requirements
    return tuple(dict.fromkeys(found))
