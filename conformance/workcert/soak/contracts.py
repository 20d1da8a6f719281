"""What a soak knows of each contract: who acts in it, and how its jobs are accounted for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from attrs import frozen

from workcert.backends.registry import LoadedBackend
from workcert.soak import jobs_account, jobs_actor, workload_account, workload_actor
from workcert.soak.accounts import Account
from workcert.soak.actor import Actor
from workcert.soak.notes import Deed


@frozen
class SoakedContract:
    """``submits``: the call that submits jobs; ``repeatable``: one of these may be made again. ``reports``: the calls
    by which workers end a run, for the lines of a soak. ``reading``: the methods that the account needs."""

    actor: Callable[..., Actor]
    account: Callable[[LoadedBackend, Any, Sequence[Deed]], Account]
    submits: str
    reports: tuple[str, ...]
    repeatable: Callable[[Deed], bool]
    reading: tuple[str, ...]


@cache
def contract_of(name: str) -> SoakedContract:
    """By the name of a contract."""
    return {
        "jobs": SoakedContract(
            jobs_actor.JobsActor,
            jobs_account.account,
            "enqueue",
            ("ack", "ack_success_with_result"),
            jobs_actor.repeatable,
            ("get_job",),
        ),
        "workload": SoakedContract(
            workload_actor.WorkloadActor,
            workload_account.account,
            "admit",
            ("complete", "fail"),
            lambda _deed: True,
            ("list_workloads",),
        ),
    }[name]
