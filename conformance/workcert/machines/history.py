"""The history of one example of the workload machine: what was made, what may come next, and making it.

Work, claims and results are named by the step that made them, never by an opaque value, so that a seed repeats a run
on any store.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from attrs import frozen

from workcert.cases.model import Call, Plain, Restart
from workcert.machines import legacy_rows
from workcert.machines.requests import BASE
from workcert.references import Ref
from workcert.run.calling import Answered
from workspec.core.choice import UNSEEN
from workspec.core.record import State as Records

if TYPE_CHECKING:
    from workcert.run.campaign import Campaign
    from workcert.run.execution import Execution

HANDLES: Final = ("A", "B")
TURNS: Final = 4


@frozen
class Held:
    """One claim: the step that made it and the step that made its work."""

    step: str
    work: str
    worker: str


STARTED_DEEDS: Final = ("complete", "fail", "checkpoint", "heartbeat", "execution_context")
DEEDS: Final = {
    "CLAIMED": ("start", "start", "start", "fail", "heartbeat", "execution_context"),
    "RUNNING": STARTED_DEEDS,
    "CHECKPOINTED": STARTED_DEEDS,
    "CANCELLATION_REQUESTED": ("acknowledge_cancel", "heartbeat", "execution_context"),
}


class WorkloadHistory:
    """What the rules of the machine draw from and do; they stand in `machines.workload`."""

    campaign: Campaign

    def __init__(self, campaign: Campaign | None = None) -> None:
        """A driver that makes no machine itself, as Hypothesis, has the campaign in a class of its own."""
        super().__init__()
        if campaign is not None:
            self.campaign = campaign
        self.execution: Execution = self.campaign.begin()
        self.made: list[Plain] = []
        self.over = False
        self.turn = 0
        self.now_s = 10
        self.admitted: list[tuple[str, Any]] = []
        self.keys: dict[str, str] = {}
        self.held: list[Held] = []
        self._current: tuple[Records, int, list[Held]] | None = None
        self.reports: list[Call] = []
        self.taken_over = 0
        store = self.campaign.store
        backend = store.backend
        first = store.handle(HANDLES[0])
        self.methods = {name for name in backend.binding.calls.calls if hasattr(first, name)}
        self.partial = len(self.methods) < len(backend.binding.calls.calls)
        self.writers = "WRITERS" in backend.profiles
        self.secrets = "SECRETS" in backend.profiles
        self.durable = "DURABLE" in backend.profiles
        self.legacy = "LEGACY" in backend.profiles
        self.migrates = "MIGRATION" in backend.profiles
        for name in self.handles():
            # Opened before the first step, as in a case: one that is opened later has seen all.
            store.handle(name)

    # What rules may draw from ------------------------------------------------------------------------------------

    def work(self) -> list[str]:
        """Steps that made work, the newest first and three times as likely; the last one names none."""
        steps = [step for step, _request in self.admitted[::-1]]
        return [*steps[:1] * 3, *steps, *steps, "unknown"]

    def claims(self) -> list[Held]:
        """Claims, the newest first and three times as likely, so that most calls are by the present holder."""
        newest = self.held[-1]
        return [newest, newest, newest, *self.current(), *self.held[::-1]]

    def handles(self) -> tuple[str, ...]:
        return HANDLES if self.writers else HANDLES[:1]

    def times(self) -> list[int]:
        """Mostly now; else the next second, or just before, at and after an instant at which a rule turns: work that is
        always late never gets done."""
        turning = {i + d for i in self.execution.instants() for d in (-1, 0, 1)}
        later = sorted(instant for instant in turning if instant > self.now_s)
        return [self.now_s] * (4 + 2 * len(later)) + [self.now_s + 1] * (1 + len(later) // 2) + later

    def at(self, work: str, moment: str) -> int:
        """An instant from now on; a turn is where the next rule of this work turns, or the one after it."""
        if moment in ("now", "next second"):
            return self.now_s + (moment == "next second")
        back = int(moment.startswith("before"))
        turning = self.execution.instants_of(self.keys[work])
        later = [instant - back for instant in turning if instant - back > self.now_s]
        return later[min(int(moment.endswith("after")), len(later) - 1)] if later else self.now_s

    def ready(self) -> list[str]:
        """Steps whose work waits to be claimed and depends on nothing, the newest first."""
        steps = [step for step, _request in self.admitted[::-1]]
        return [s for s in steps if self.facts_of(s).state == "READY" and not self.facts_of(s).terms.dependencies]

    def resting(self) -> bool:
        """Some work waits for an operator."""
        return any(self.facts_of(step).state == "DEAD_LETTER" for step, _request in self.admitted)

    def facts_of(self, step: str) -> Any:
        return self.execution.judge.state[self.keys[step]].facts

    def due(self, work: str) -> int:
        """The first instant from now on at which ready work may be claimed."""
        return max(self.now_s, self.facts_of(work).next_attempt_at or self.now_s)

    def recorded(self) -> list[Call]:
        return self.reports[::-1]

    def current(self) -> list[Held]:
        """The present holder's claim of each work that is held, the newest first."""
        if not self.held:
            return []
        # Nearly every rule asks this before it may be chosen.
        state, number = self.execution.judge.state, len(self.held)
        if self._current is None or self._current[0] is not state or self._current[1] != number:
            newest = {held.work: held for held in self.held}
            found = [held for work, held in reversed(newest.items()) if self.facts_of(work).claim is not None]
            self._current = (state, number, found)
        return self._current[2]

    def deeds(self) -> list[tuple[Held, str]]:
        """What present holders may rightly do next."""
        return [
            (held, deed)
            for held in self.current()
            for deed in DEEDS.get(self.facts_of(held.work).state, ())
            if deed in self.methods
        ]

    def finishing(self) -> list[tuple[Held, str]]:
        return [deed for deed in self.deeds() if deed[1] in ("complete", "fail")]

    def has_just_read(self) -> bool:
        """The last step was a read or a restart: another one would show nothing new."""
        last = self.made[-1] if self.made else None
        return isinstance(last, Restart) or getattr(last, "call", "") in ("get", "list_workloads")

    def steps_since_restart(self) -> int:
        last = max((i for i, step in enumerate(self.made) if isinstance(step, Restart)), default=-1)
        return len(self.made) - 1 - last

    # Making steps --------------------------------------------------------------------------------------------------

    def can(self, name: str, turn: int | None = None) -> bool:
        """The store has the operation, the example is not over, and, for one that would otherwise take up too many of
        the steps, it is its turn: one step in `TURNS`."""
        return not self.over and name in self.methods and turn in (None, self.turn % TURNS)

    def holding(self, name: str) -> bool:
        """Somebody has claimed; when nobody holds anything now, late callers have their turn."""
        return bool(self.held) and self.can(name, None if self.current() else 3)

    def make(self, step: Plain) -> None:
        if self.over:
            return
        self.turn += 1
        self.over = self.campaign.step(self.execution, self.made, step)

    def call(self, on: str, name: str, at: int | None, **args: Any) -> Call:
        if at is not None:
            self.now_s = at
        return Call(f"s{len(self.made) + 1}", on, name, args, at)

    def answered(self, step: Plain) -> Any:
        """What the step was answered; None if it was refused, or is where the example ended."""
        if self.over:
            return None
        observed = self.execution.runs[-1].observed if self.execution.runs else None
        return observed.value if isinstance(observed, Answered) and self.made[-1] is step else None

    def id_of(self, work: str) -> Any:
        return "workload_unknown" if work == "unknown" else Ref(f"{work}.workload.workload_id")

    def fence(self, claim: Held, twist: str) -> dict[str, Any]:
        """The four arguments of a worker's call: as given out, or with one of them forged."""
        plus = {"token - 1": -1, "token + 1": 1}.get(twist)
        return {
            "workload_id": self.id_of(claim.work),
            "claim_id": Ref(f"{claim.step}.claim_id", append="x" if twist == "claim" else None),
            "worker_id": "z" if twist == "worker" else claim.worker,
            "fencing_token": Ref(f"{claim.step}.fencing_token", plus=plus),
        }

    def admit_request(self, on: str, request: dict[str, Any]) -> None:
        step = self.call(on, "admit", None, request=request)
        self.make(step)
        answer = self.answered(step)
        if answer is None:
            return
        key = self.campaign.store.backend.binding.key_of(answer.workload)
        # Whether an answer is the first of its work may not be shown.
        created = key not in self.keys.values() if answer.created is UNSEEN else answer.created
        if created:
            self.admitted.append((step.id, request))
            self.keys[step.id] = key

    def read_row(self, row: str) -> None:
        """Work is named by the step that made it; for a row that is there already a read stands in."""
        if f"legacy_{row}_read" in self.keys:
            return
        key = legacy_rows.ROWS[row]["workload_id"]
        read = Call(f"legacy_{row}_read", HANDLES[0], "get", {"workload_id": key})
        self.make(read)
        if self.over:
            return
        self.admitted.append((read.id, BASE))
        self.keys[read.id] = key

    def take_over(self, on: str, file: str) -> None:
        self.taken_over += 1
        step = self.call(on, "migrate", None, source=legacy_rows.FILES[file])
        self.make(step)
        if self.answered(step):
            for row in legacy_rows.OF_FILE[file]:
                self.read_row(row)

    def claimed(self, step: Call, work: str, worker: str) -> None:
        if self.answered(step) is not None:
            self.held.append(Held(step.id, work, worker))
