"""A handle around the right one, for stores that are wrong in what they remember, show or guard."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import define, field

from workcert.backends.protocol import Place
from workcert.backends.specification import Handle, SpecificationBackend, of
from workspec.core.choice import Choice, reference
from workspec.core.interpreter import Refused, commit, decide
from workspec.core.record import Record, State, replaced
from workspec.core.scope import Call, Scope
from workspec.workload.vocabulary import WorkloadError

from .model import SCENARIOS, WORKLOAD, Miniature, _ids


class Around:
    """What it does not say itself, the right handle does.

    ``memory`` is shared by all handles of one place and survives their closing.
    """

    def __init__(self, inner: Handle, memory: dict[str, Any]) -> None:
        self.inner, self.memory = inner, memory
        if memory.get("closed") and not memory["open"]:
            self.restarted()
        memory["open"] = memory.get("open", 0) + 1

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def close(self) -> None:
        self.inner.close()
        self.memory["open"] -= 1
        self.memory["closed"] = True

    def restarted(self) -> None:
        """The first handle after all were closed."""

    # What a fault may do behind the rules --------------------------------------------------------------------------

    @property
    def state(self) -> State:
        return self.inner._shelf.state

    def put(self, key: str, record: Record) -> None:
        self.inner._shelf.state = {**self.state, key: record}

    def rewrite(self, key: str, *, moved: bool = True, **facts: Any) -> None:
        """The row with other facts, at a new version or at the old one."""
        record = self.state[key]
        version = (record.version or 1) + 1 if moved else record.version
        self.put(key, Record(version, replaced(record.facts, facts), record.log))

    def rewrite_log(self, key: str, **parts: Any) -> None:
        record = self.state[key]
        self.put(key, Record(record.version, record.facts, replaced(record.log, parts)))


class Answering(Around):
    """Answers pass through `shown`, those of reads and of calls alike."""

    def __getattr__(self, name: str) -> Any:
        call = getattr(self.inner, name)
        return (lambda **arguments: self.shown(call(**arguments))) if self.inner._contract.has(name) else call

    def shown(self, value: Any) -> Any:
        return value


class Deciding(Around):
    """A handle that decides for itself: on a view of its own, or with choices of its own."""

    view: State
    contract = WORKLOAD.contract

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.view = self.state

    def __getattr__(self, name: str) -> Any:
        if name in ("get", "list_workloads") or not self.contract.has(name):
            return getattr(self.inner, name)
        return lambda **arguments: self.run(name, arguments)

    def run(self, name: str, arguments: dict[str, Any]) -> Any:
        call = Call(name, arguments)
        now_s = self.contract.instant(call, arguments.pop("now_s", None))
        decision = decide(self.contract, self.view, call, now_s, self.choose)
        paused, self.inner._paused = self.inner._paused, None
        if paused is not None:
            paused()
        with self.inner._shelf.lock:
            done = commit(self.contract, self.base(decision), decision)
            self.committed(done)
        if isinstance(done.outcome, Refused):
            raise WorkloadError(done.outcome.code, done.outcome.details)
        return done.outcome.value

    def choose(self, choice: Choice, scope: Scope) -> Any:
        return reference(choice, scope)

    def base(self, _decision: Any) -> State:
        return self.state

    def committed(self, done: Any) -> None:
        self.inner._shelf.state = self.view = done.state

    def reset(self) -> None:
        self.inner.reset()
        self.view = self.state


@define(eq=False)
class Wrapped:
    """A backend whose handles go around the right ones."""

    around: Callable[[Handle, dict[str, Any]], Any]
    choices: Mapping[str, Any] = field(factory=dict)
    contract: str = "workload"
    right: SpecificationBackend = field(factory=lambda: of(WORKLOAD))
    memories: dict[str, dict[str, Any]] = field(factory=dict)

    @property
    def profiles(self) -> frozenset[str]:
        return self.right.profiles

    @property
    def abilities(self) -> frozenset[str]:
        return self.right.abilities

    @property
    def configurable(self) -> frozenset[str]:
        return self.right.configurable

    def open(self, place: Place, config: Mapping[str, Any]) -> Any:
        return self.around(self.right.open(place, config), self.memories.setdefault(place.name, {}))

    def forget(self, place: Place) -> None:
        self.right.forget(place)
        self.memories.pop(place.name, None)


def wrapped(around: type[Around], right: str, suite: str = SCENARIOS) -> Miniature:
    """The right store behind wrong handles; the fault is named by the first line of the class's docstring."""
    name = (around.__doc__ or "").splitlines()[0].rstrip(".")
    return Miniature(name[0].lower() + name[1:], lambda: Wrapped(around), _ids(right), suite)
