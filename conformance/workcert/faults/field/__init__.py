"""Seeded faults after what is reported of real stores: each class of fault once for every contract that forbids it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from workcert.binding import Binding
from workcert.faults.fault import Fault
from workcert.faults.field import budgets, clocks, crashes, keys, leases, outcomes, queues, races, rates, restarts
from workcert.faults.field.model import Seen

SEEN: Final[Mapping[str, tuple[Seen, ...]]] = {
    "workload": (
        *leases.WORKLOAD,
        *budgets.WORKLOAD,
        *keys.WORKLOAD,
        *clocks.WORKLOAD,
        *outcomes.WORKLOAD,
        *restarts.WORKLOAD,
        *races.WORKLOAD,
        *crashes.WORKLOAD,
    ),
    "jobs": (
        *leases.JOBS,
        *budgets.JOBS,
        *keys.JOBS,
        *rates.JOBS,
        *queues.JOBS,
        *clocks.JOBS,
        *outcomes.JOBS,
        *restarts.JOBS,
        *races.JOBS,
        *crashes.JOBS,
    ),
}
"""By contract, its faults by area."""

NOT_APPLICABLE: Final = (
    (
        "a cap on running jobs that is worked out from a list, or from a memory that a restart has emptied",
        "the profile CONCURRENCY is not built",
    ),
    (
        "a place under a cap on running jobs that is not given back",
        "the profile CONCURRENCY is not built; slots of a backlog are seeded instead",
    ),
    (
        "a cap on running jobs that is not asked where a rate has let a job through",
        "the profile CONCURRENCY is not built; quarantine beside a rate is seeded instead",
    ),
)
"""Classes of faults that no store of a built profile can have, each with the reason."""


def field_faults(binding: Binding) -> tuple[Fault, ...]:
    """Every fault of the field that a contract forbids, in a fixed order."""
    return tuple(seen.bound_to(binding) for seen in SEEN.get(binding.name, ()))
