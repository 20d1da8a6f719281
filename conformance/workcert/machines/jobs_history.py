"""The history of one example of the jobs machine: what was made, what may come next, and making it.

Jobs and leases have names that their callers gave, so that a seed repeats a run on any store.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from attrs import frozen

from workcert.cases.model import Call, Plain, Restart, Transaction
from workcert.machines.envelopes import IDS, dated
from workcert.machines.jobs_state import TURNS_OF_TIME, Present
from workcert.references import Ref
from workcert.run.calling import Answered
from workspec.core.interpreter import Accepted
from workspec.core.record import State as Records
from workspec.jobs.facts import EVICTABLE, UNFINISHED, WAITING, JobFacts

if TYPE_CHECKING:
    from workcert.run.campaign import Campaign
    from workcert.run.execution import Execution

HANDLES: Final = ("A", "B")
TURNS: Final = 6
BEGINNING_MS: Final = 10_000
MOST_MOMENTS: Final = 9
"""Of the instants that turn only the nearest are tried: a job that is always late never gets done."""
WHICH_FOR: Final[Mapping[str, tuple[str, ...]]] = {
    "operator_cancel": UNFINISHED,
    "operator_retry": ("archived", "cancelled", "undecodable"),
    "promote_job": ("pending",),
    "schedule_pending_job": ("pending",),
    "reschedule_job": ("scheduled", "retryable"),
    "edit_payload": (*WAITING, *EVICTABLE, "quarantined"),
    "delete_job": (*WAITING, *EVICTABLE, "quarantined"),
}
"""By the verb of an operator, the states in which it may be used."""
PROFILES_OF: Final[Mapping[str, frozenset[str]]] = {
    "upsert_rate_class": frozenset({"INSPECT", "RATE"}),
    "get_rate_class": frozenset({"INSPECT", "RATE"}),
}
"""Methods that show something only where several profiles are claimed."""


@frozen
class Held:
    """One claim: the admission that made it, and the position of its unit there. Without a step it was never made."""

    step: str
    position: int
    job: str
    lease_id: str
    fence: int


FORGED_FENCES: Final = {"fence - 1": -1, "fence + 1": 1}
FORGED_LEASE_IDS: Final = {"lower lease id": "k", "higher lease id": "m"}
FORGED: Final = (*FORGED_FENCES, *FORGED_LEASE_IDS, "job")
"""What may be wrong with the reference of a claim."""
NEVER_HELD: Final = Held("", 0, "nobody", "l1", 1)


class JobsHistory:
    """What the rules of the machine draw from and do; they stand in the modules that derive from it."""

    campaign: Campaign
    execution: Execution
    begun = False

    def __init__(self, campaign: Campaign | None = None) -> None:
        """A driver that makes no machine itself, as Hypothesis, has the campaign in a class of its own."""
        super().__init__()
        if campaign is not None:
            self.campaign = campaign
        self.made: list[Plain] = []
        self.over = False
        self.turn = 0
        self.now_ms = BEGINNING_MS
        self.claims: list[Held] = []
        self.requests: dict[str, dict[str, Any]] = {}
        self._seen: tuple[Records, Present] | None = None

    def begin(self, config: Mapping[str, int]) -> None:
        """Open the store; what it claims and has decides which rules may run."""
        store = self.campaign.store
        backend = store.backend
        self.execution = self.campaign.begin({name: config[name] for name in config if name in backend.configurable})
        self.begun = True
        first = store.handle(HANDLES[0])
        self.profiles = backend.profiles
        self.methods = {name for name in backend.binding.calls.calls if self._has(first, name)}
        self.partial = len(self.methods) < len(backend.binding.calls.calls)
        self.transacts = "TXN" in self.profiles and hasattr(first, "begin")
        self.readable = store.can_read()
        for name in self.handles():
            # Opened before the first step, as in a case: one that is opened later has seen all.
            store.handle(name)

    def _has(self, handle: Any, name: str) -> bool:
        owners = {profile for profile, methods in self._profile_methods().items() if name in methods}
        return hasattr(handle, name) and self.profiles.issuperset(PROFILES_OF.get(name, owners))

    def _profile_methods(self) -> Mapping[str, tuple[str, ...]]:
        return self.campaign.store.backend.binding.profile_methods

    # What rules may draw from ------------------------------------------------------------------------------------

    @property
    def present(self) -> Present:
        state = self.execution.judge.state
        if self._seen is None or self._seen[0] is not state:
            self._seen = (state, Present.of(state))
        return self._seen[1]

    def handles(self) -> tuple[str, ...]:
        return HANDLES if "WRITERS" in self.profiles else HANDLES[:1]

    def ids(self) -> list[str]:
        """Ids without a row, and now and then one that has a row."""
        taken = self.present.rows
        free = [name for name in IDS if name not in taken]
        return free * (1 + 3 * len(IDS) // max(len(free), 1)) + list(IDS)

    def jobs(self) -> list[str]:
        """Ids of rows, and of no row."""
        return [*self.present.rows, *self.present.rows, "nobody"]

    def jobs_for(self, verb: str) -> list[str]:
        """Mostly such as the verb may be used on."""
        meant = [row.id for row in self.present.in_states(*WHICH_FOR[verb])]
        return meant * (1 + 9 // len(meant)) + self.jobs() if meant else self.jobs()

    def requested(self) -> list[dict[str, Any]]:
        """Envelopes that became rows, the newest first."""
        return list(self.requests.values())[::-1]

    def keyed(self) -> list[dict[str, Any]]:
        """Those that hold a key now; waiting ones, which a replacement may edit, and those that are over three times
        as likely."""
        holders = self.present.holders(self.now_ms)
        held = [request for name, request in self.requests.items() if name in holders and "unique_key" in request]
        rows = self.present.rows
        running = {name for name, row in rows.items() if row.state in ("running", "pending")}
        return held + [request for request in held if request["id"] not in running] * 2

    def throttling(self) -> list[dict[str, Any]]:
        """Those that hold a key in throttle mode now."""
        holders = {hold.holder for hold in self.present.holds if hold.until_ms > self.now_ms}
        return [request for name, request in self.requests.items() if name in holders and "unique_key" in request]

    def displaced(self) -> list[JobFacts]:
        """Finished rows that have held a key, of which another one may be the holder by now."""
        rows = self.present.in_states(*EVICTABLE, "quarantined")
        return [row for row in rows if row.unique_key is not None and row.id in self.requests]

    def current(self) -> list[Held]:
        """The claims that hold now, the newest first."""
        rows = self.present.rows
        return [held for held in self.claims[::-1] if _holds(held, rows.get(held.job))]

    def leases(self) -> list[Held]:
        """Claims, those that hold three times as likely as late ones, and one that was never made."""
        current = self.current()
        return current[:1] * 3 + current * 3 + self.claims[:-9:-1] + [NEVER_HELD]

    def admissible(self) -> list[JobFacts]:
        return self.present.admissible(self.now_ms)

    def available(self) -> list[JobFacts]:
        """Rows that may be admitted, and less often such as a pause or a quarantine holds back."""
        free = self.admissible()
        return free * 3 + self.present.in_states("available")

    def times(self, kind: str) -> list[int]:
        """Now, or just before, at and after an instant at which something of this kind turns."""
        later = self.present.around(kind, self.now_ms)[:MOST_MOMENTS]
        return [self.now_ms] * (2 + len(later)) + later

    def any_time(self) -> list[int]:
        """Mostly now; else the next instant, or about one of the next ones at which anything turns."""
        later = {instant for kind in TURNS_OF_TIME for instant in self.present.around(kind, self.now_ms)}
        nearest = sorted(later)[:MOST_MOMENTS]
        return [self.now_ms] * (6 + 4 * len(nearest)) + [self.now_ms + 1] + nearest

    def fingerprints(self) -> list[str]:
        registered = [entry.fingerprint for entry in self.present.fingerprints]
        return registered * 6 + ["f1", "f2", "f9"]

    def limits(self) -> list[int]:
        """Of a sweep. Where rows cannot be read nobody sees which ones it took, so that none may be left."""
        return [100, 100, 100, 1, 2, 0, -1] if self.readable else [100, 100, 100, 100, 0, -1]

    def enqueue_limits(self) -> list[int | None]:
        """Of a queue: about what it holds."""
        held = [sum(row.queue == name for row in self.present.in_states(*UNFINISHED)) for name in ("q", "p")]
        return [None, None, 0, *held, *(number + 1 for number in held), -1, 2**63 - 1, 2**63]

    def delays(self) -> list[int | None]:
        """Of a retry. Without a delay a store may add to the back-off, which only a row shows."""
        return [None, None, 500, 1500, 0, -1] if self.readable else [500, 1500]

    def each_handle(self, operation: str, at: int | None = None, /, **args: Any) -> None:
        """A read through every handle: what one has kept of an earlier answer is out of date by now."""
        for on in self.handles():
            self.do(on, operation, at, **args)

    def look_at_tokens(self, rate_class: str) -> None:
        """How many tokens there are shows only when somebody asks, or when a job is not admitted later."""
        if rate_class and self.can("get_rate_class"):
            self.do(HANDLES[0], "get_rate_class", name=rate_class)

    def steps_since_restart(self) -> int:
        last = max((i for i, step in enumerate(self.made) if isinstance(step, Restart)), default=-1)
        return len(self.made) - 1 - last

    # Making steps --------------------------------------------------------------------------------------------------

    def can(self, name: str, *turns: int) -> bool:
        """The store has the operation, the example is not over, and, for one that would otherwise take up too many of
        the steps, it is its turn: one or some of `TURNS`."""
        return not self.over and name in self.methods and (not turns or self.turn % TURNS in turns)

    def make(self, step: Plain) -> None:
        if self.over:
            return
        self.turn += 1
        self.over = self.campaign.step(self.execution, self.made, step)

    def next_id(self) -> str:
        return f"s{len(self.made) + 1}"

    def call(self, on: str, name: str, at: int | None = None, /, **args: Any) -> Call:
        self.now_ms = self.now_ms if at is None else at
        return Call(self.next_id(), on, name, args, self.now_ms)

    def do(self, on: str, name: str, at: int | None = None, /, **args: Any) -> Any:
        """Make a call; what was answered, None if it was refused, or is where the example ended."""
        if self.over:
            return None
        step = self.call(on, name, at, **args)
        self.make(step)
        return None if self.over else self.answer()

    def answer(self) -> Any:
        """Of the last step, as the model has it where the model was asked."""
        run = self.execution.runs[-1]
        if not isinstance(run.observed, Answered):
            return None
        return run.expected.value if isinstance(run.expected, Accepted) else run.observed.value

    def fenced(
        self, on: str, operation: str, at: int | None, held: Held, forged: tuple[str, ...], /, **args: Any
    ) -> Any:
        """Make a call under a claim, before it with references that miss that of the claim in one member."""
        for twist in forged:
            self.do(on, operation, at, lease=self.lease(held, twist), **args)
        return self.do(on, operation, at, lease=self.lease(held), **args)

    def lease(self, held: Held, twist: str = "") -> dict[str, Any]:
        """The reference of a claim: as given out, or with one of its members forged.

        The fence of a first claim is written as it is: then steps about other jobs can go when a case is shrunk. A
        later one is referred to, so that the claims before it can go.
        """
        lease_id: Any = held.lease_id
        fence: Any = held.fence + FORGED_FENCES.get(twist, 0)
        if held.fence > 1:
            unit = f"{held.step}[{held.position}].claims[0]"
            lease_id = Ref(f"{unit}.lease_id")
            fence = Ref(f"{unit}.fence", plus=FORGED_FENCES.get(twist))
        lease_id = FORGED_LEASE_IDS.get(twist, lease_id)
        job = next(name for name in IDS if name != held.job) if twist == "job" else held.job
        return {"job_id": job, "lease_id": lease_id, "fence": fence}

    def enqueue(self, on: str, batch: list[dict[str, Any]], at: int | None, name: str = "enqueue") -> None:
        before = self.present.rows
        self.now_ms = self.now_ms if at is None else at
        envelopes = [dated(parts, self.now_ms) for parts in batch]
        self.do(on, name, envelopes=envelopes)
        self._note_requests(before, envelopes)

    def enqueue_rival(self, on: str, request: Mapping[str, Any], name: str, changes: Mapping[str, Any]) -> None:
        """Another job wants the key of an earlier request."""
        plain = {"unique_debounce_ms": 0, "unique_replace": 0, "pending": False, "scheduled_at_ms": 0}
        self.enqueue(on, [{**request, **plain, **changes, "id": name}], None)

    def _note_requests(self, before: Mapping[str, JobFacts], envelopes: list[dict[str, Any]]) -> None:
        if self.over:
            return
        rows = self.present.rows
        for envelope in envelopes:
            row = rows.get(envelope["id"])
            if row is not None and row is not before.get(row.id) and row.row != _row(before.get(row.id)):
                # Moved to the end: the newest is drawn more often.
                self.requests.pop(row.id, None)
                self.requests[row.id] = envelope

    def admit(
        self, on: str, worker: str, lease_id: str, queues: list[str], capacity: int, lease_ms: int, at: int
    ) -> list[Held]:
        """Admit; the claims that it made."""
        step = self.next_id()
        units = self.do(
            on,
            "admit",
            at,
            worker=worker,
            lease_id=lease_id,
            queues=queues,
            capacity=capacity,
            lease_ms=lease_ms,
            quantum=1,
        )
        made = [
            Held(step, position, claim.envelope.id, claim.lease_id, claim.fence)
            for position, unit in enumerate(units or ())
            for claim in unit.claims[:1]
        ]
        self.claims += made
        return made

    def transaction(self, on: str, calls: list[tuple[str, dict[str, Any]]], end: Any, after: int, at: int) -> None:
        """Calls inside one transaction; ``after`` of those that are sound are made again when it has ended.

        Of an unsound one nobody can say whether its arguments or its transaction are refused first.
        """
        if self.over:
            return
        self.now_ms, before, step = at, self.present.rows, self.next_id()
        inner = [Call(f"{step}_{i}", on, name, args) for i, (name, args) in enumerate(calls, 1)]
        sound = [call for call in inner if _is_sound(call.args)]
        again = [Call(f"{call.id}_again", on, call.call, call.args) for call in sound[:after]]
        self.make(Transaction(step, on, at, tuple(inner), end, tuple(again)))
        asked = [envelope for call in inner for envelope in call.args.get("envelopes", ())]
        self._note_requests(before, asked)

    def teardown(self) -> None:
        if self.begun:
            self.campaign.end(self.execution, self.made)


def _is_sound(args: Mapping[str, Any]) -> bool:
    return args.get("key") != "" and len(args.get("envelopes", ())) < 2


def _row(facts: JobFacts | None) -> int | None:
    return None if facts is None else facts.row


def _holds(held: Held, row: JobFacts | None) -> bool:
    return row is not None and row.state == "running" and (row.lease_id, row.fence) == (held.lease_id, held.fence)
