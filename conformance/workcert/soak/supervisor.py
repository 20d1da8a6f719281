"""Running a soak: processes are started, killed at random and started again, and what they noted is counted."""

from __future__ import annotations

import random
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from attrs import define, evolve, field, frozen

from workcert.backends.protocol import Ability, Place
from workcert.backends.registry import BackendError, LoadedBackend
from workcert.children import Child, Children, Died, cannot
from workcert.run import calling
from workcert.run.calling import CallHung
from workcert.run.opening import in_memory
from workcert.soak.accounts import Account, Finding, crashes
from workcert.soak.contracts import SoakedContract, contract_of
from workcert.soak.notes import Deed, Reading
from workcert.soak.opening import Limited, close, opened
from workcert.soak.plan import Assignment, Plan
from workcert.soak.process import OPENED, live

LOOK_S: Final = 0.2
"""How often the notes are read and processes looked at, between kills."""
HURRY_S: Final = 0.04
"""For how long at most a process makes one call after the other before it is killed."""
MOST_BROKEN: Final = 5
"""Processes that end by themselves before the soak is given up."""
NEEDED: Final = (Ability.KILL, Ability.SECOND_HANDLE)


@frozen
class Soaked:
    """What a soak has done. ``kept``: where store and notes are, None where they are gone. ``interrupted``: it was
    ended before its time; ``hung``: so it was, for the store did not come back from this."""

    contract: str
    account: Account
    seconds: float
    kills: int
    killed_in_a_call: int
    starts: int
    calls: Mapping[str, int]
    interrupted: bool
    kept: Path | None
    hung: str = ""

    @property
    def right(self) -> bool:
        return not self.account.findings


@frozen
class Progress:
    """So far. ``submitted`` and ``reported`` (runs that workers ended) are numbers of calls that were answered."""

    seconds: float
    kills: int
    starts: int
    calls: int
    submitted: int
    reported: int
    crashes: int


Watch = Callable[[Progress], None]


def cannot_soak(backend: LoadedBackend) -> str:
    """Why this backend cannot be soaked; empty if it can."""
    lacking = [ability.value for ability in NEEDED if not backend.can(ability.value)]
    if lacking:
        return (
            f"{backend.name} ({backend.binding.name}) has not the ability {', '.join(lacking)}: a soak opens one store "
            "in several processes and kills them"
        )
    return cannot(backend)


def run_soak(backend: LoadedBackend, plan: Plan, watch: Watch) -> Soaked:
    """Soak a store, and account for every job. An interrupt from the keyboard ends it early, and what was done until
    then is accounted for.

    Raises:
        BackendError: the store cannot be opened, or does not come back from it, or no process can be had; the text
            says why.
    """
    why = cannot_soak(backend)
    if why:
        raise BackendError(why)
    root = Path(tempfile.mkdtemp(prefix="workcert-soak-", dir=in_memory())) if plan.place is None else plan.place
    try:
        (root / "store").mkdir(parents=True)
        (root / "notes").mkdir()
        with Children(backend) as children:
            soaked = _Soak(backend, plan, children, root).run(watch)
    except BaseException:
        if plan.place is None:
            shutil.rmtree(root, ignore_errors=True)
        raise
    if soaked.right and plan.place is None:
        shutil.rmtree(root, ignore_errors=True)
        return evolve(soaked, kept=None)
    return soaked


@define
class _Slot:
    """The place of one process among the others. ``open_by``: when it shall have opened the store; ``is_open``: it has.
    ``spared``: the one before it was killed before it had, so that this one is let open it first; a store that hangs
    there would else never be seen to."""

    index: int
    child: Child | None = None
    reading: Reading | None = None
    life: int = 0
    unanswered: Mapping[str, Any] | None = None
    open_by: float = 0.0
    is_open: bool = False
    spared: bool = False


@define(eq=False)
class _Soak:
    backend: LoadedBackend
    plan: Plan
    children: Children
    root: Path
    _chance: random.Random = field(init=False)
    _slots: list[_Slot] = field(init=False)
    _contract: SoakedContract = field(init=False)
    _deeds: list[Deed] = field(factory=list)
    _counted: Counter[str] = field(factory=Counter)
    _broken: list[Finding] = field(factory=list)
    _began: float = field(factory=time.monotonic)
    kills: int = 0
    killed_in_a_call: int = 0
    starts: int = 0
    hung: str = ""

    def __attrs_post_init__(self) -> None:
        self._chance = random.Random(self.plan.seed)
        self._slots = [_Slot(index) for index in range(self.plan.processes)]
        self._contract = contract_of(self.backend.binding.name)

    @property
    def place(self) -> Place:
        return Place(self.root / "store", self.root.name)

    def run(self, watch: Watch) -> Soaked:
        interrupted = False
        # Made before anybody else opens it: to create a store is a case of its own.
        try:
            close(self.backend, opened(self.backend, self.place))
        except CallHung as hung:
            raise BackendError(f"{hung}. A soak cannot begin: mend the adapter") from hung
        try:
            for slot in self._slots:
                self._start(slot)
            self._go_on(watch)
        except KeyboardInterrupt:
            interrupted = True
        for slot in self._slots:
            self._end(slot)
        seconds = time.monotonic() - self._began
        account = self._accounted()
        calls = dict(sorted(self._counted.items()))
        return Soaked(
            self.backend.binding.name,
            account,
            seconds,
            self.kills,
            self.killed_in_a_call,
            self.starts,
            MappingProxyType(calls),
            interrupted,
            self.root,
            self.hung,
        )

    def _go_on(self, watch: Watch) -> None:
        give_up_at = self._began + self.plan.minutes * 60
        kill_at = time.monotonic() + self._until_the_next()
        while time.monotonic() < give_up_at and not self._enough():
            time.sleep(max(0.0, min(LOOK_S, kill_at - time.monotonic(), give_up_at - time.monotonic())))
            self._look()
            watch(self._progress())
            if time.monotonic() >= kill_at:
                self._kill_one()
                kill_at = time.monotonic() + self._until_the_next()

    def _enough(self) -> bool:
        kills = self.plan.kills
        return (kills is not None and self.kills >= kills) or len(self._broken) >= MOST_BROKEN or bool(self.hung)

    def _until_the_next(self) -> float:
        return self._chance.expovariate(1 / self.plan.kill_every_s)

    # Processes -------------------------------------------------------------------------------------------------------

    def _start(self, slot: _Slot) -> None:
        task = Assignment(
            self.place,
            self.root / "notes" / f"{slot.index}.{slot.life}.jsonl",
            self.root / "pool",
            slot.index,
            slot.life,
            self.plan.seed,
            self.plan.longest_pause_s,
            slot.unanswered,
        )
        slot.reading = Reading(task.notes, task.who)
        slot.life, slot.unanswered = slot.life + 1, None
        slot.child = self.children.start(live)
        slot.child.say(task)
        slot.is_open, slot.open_by = False, time.monotonic() + calling.CALL_LIMIT_S
        self.starts += 1

    def _kill_one(self) -> None:
        mortal = [slot for slot in self._slots if slot.is_open or not slot.spared]
        if mortal:
            self._kill(self._chance.choice(mortal))

    def _kill(self, slot: _Slot) -> None:
        if slot.child is not None:
            slot.child.say("hurry")
            # By then it has woken up.
            time.sleep(self.plan.longest_pause_s + self._chance.uniform(0, HURRY_S))
        slot.spared = not slot.is_open
        in_a_call = self._end(slot)
        self.kills += 1
        self.killed_in_a_call += in_a_call
        self._start(slot)

    def _end(self, slot: _Slot) -> bool:
        """Kill the process of a slot; whether it was in a call."""
        if slot.child is None or slot.reading is None:
            return False
        slot.child.kill()
        slot.child = None
        last = slot.reading.deeds
        before = len(last)
        left = slot.reading.rest()
        self._note(last[before:])
        submitted = next((deed for deed in left if deed.call == self._contract.submits), None)
        if submitted is not None and self._contract.repeatable(submitted):
            slot.unanswered = submitted.about
        return bool(left)

    def _look(self) -> None:
        """Read what was noted since; a process that ended by itself is replaced, and is a finding."""
        for slot in self._slots:
            if slot.reading is None or slot.child is None:
                continue
            self._note(slot.reading.more())
            heard = slot.child.heard()
            slot.is_open = slot.is_open or heard == OPENED
            if isinstance(heard, Died):
                self._end(slot)
                text = slot.reading.broken or "it said nothing"
                self._broken.append(Finding((), f"process {slot.reading.who} ended by itself: {text}"))
                self._start(slot)
            elif not slot.is_open and time.monotonic() > slot.open_by:
                limit_s = calling.CALL_LIMIT_S
                self.hung = f"process {slot.reading.who} has not opened the store within {limit_s:g} seconds"

    def _note(self, deeds: list[Deed]) -> None:
        self._deeds.extend(deeds)
        for deed in deeds:
            self._counted[f"{deed.call} {_outcome(deed)}"] += 1

    # The end ---------------------------------------------------------------------------------------------------------

    def _accounted(self) -> Account:
        try:
            return self._asked()
        except CallHung as hung:
            self.hung = self.hung or str(hung)
            return Account(0, {}, (*self._broken, *crashes(self._deeds, "")))

    def _asked(self) -> Account:
        try:
            handle = opened(self.backend, self.place)
        except BackendError as error:
            found = Finding(self.backend.binding.contract.comparisons["restart"], f"after {self.kills} kills: {error}")
            return Account(0, {}, (found, *self._broken))
        lacking = [name for name in self._contract.reading if not hasattr(handle, name)]
        if lacking:
            close(self.backend, handle)
            raise BackendError(f"{self.backend.name} has no {lacking[0]}: nobody can account for its jobs")
        account = self._contract.account(self.backend, Limited(handle), self._deeds)
        close(self.backend, handle)
        return evolve(account, findings=(*self._broken, *account.findings))

    def _progress(self) -> Progress:
        counted = self._counted
        reported = sum(counted[f"{call} ok"] for call in self._contract.reports)
        crashed = sum(times for name, times in counted.items() if name.endswith(" crash")) + len(self._broken)
        return Progress(
            time.monotonic() - self._began,
            self.kills,
            self.starts,
            counted.total(),
            counted[f"{self._contract.submits} ok"],
            reported,
            crashed,
        )


def _outcome(deed: Deed) -> str:
    return "killed" if deed.told is None else next(iter(deed.told))
