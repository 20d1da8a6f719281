"""Admission: leasing available jobs to a worker (contract, 6)."""

from __future__ import annotations

import sqlite3
from typing import Final

from attrs import frozen

from workspec.jobs.vocabulary import AdmissionUnit, Claim

from . import checkpoints, rows
from .buckets import Ledger
from .clock import Clock
from .draw import Candidate, Queue, drawn
from .numbers import within_instants

_TURN: Final = (
    "UPDATE queues SET cursor = cursor + 1, available = available - ?1, running = running + ?1 WHERE name = ?2"
)
_LEASE: Final = (
    "UPDATE jobs SET state = 'running', fence = fence + 1, lease_id = ?, lease_expires_at_ms = ?, claimed_at_ms = ?, "
    "charge = ? WHERE row_id = ?"
)


@frozen
class Request:
    """Who asks, for which queues in which order, and for how many at most."""

    worker: str
    lease_id: str
    queues: tuple[str, ...]
    capacity: int
    lease_ms: int


def admit(connection: sqlite3.Connection, clock: Clock, request: Request) -> list[AdmissionUnit]:
    """Lease up to ``capacity`` jobs, queue by queue in the order of the request (JOB-ADM-02, JOB-ADM-06, A-20)."""
    system_ms = clock.system_ms()
    ledger = Ledger(connection)
    units: list[AdmissionUnit] = []
    for name in dict.fromkeys(request.queues):
        room = request.capacity - len(units)
        if room <= 0:
            break
        units += _visit(connection, system_ms, name, room, request, ledger)
    ledger.settle_up()
    return units


def _visit(
    connection: sqlite3.Connection, system_ms: int, name: str, room: int, request: Request, ledger: Ledger
) -> list[AdmissionUnit]:
    """Lease up to ``room`` jobs of one queue. The turn goes on where there was any candidate, even if a policy held
    back each of them (6.1)."""
    queue = Queue(connection, name, request.worker)
    turn = queue.turn(system_ms, room)
    if turn is None:
        return []
    taken = drawn(queue, turn, room, ledger)
    connection.execute(_TURN, (len(taken), name))
    lease_id, expires_at = request.lease_id, within_instants(turn.now + request.lease_ms)
    leases = [(lease_id, expires_at, turn.now, charge, candidate.row_id) for candidate, charge in taken]
    connection.executemany(_LEASE, leases)
    return [AdmissionUnit((_claim(connection, candidate, lease_id, expires_at),)) for candidate, _ in taken]


def _claim(connection: sqlite3.Connection, candidate: Candidate, lease_id: str, expires_at: int) -> Claim:
    """What the worker is given, checkpoint of earlier runs included (JOB-ADM-08)."""
    # The one was read before the lease was written, the other is read after it.
    stored, leases = candidate.stored, 1
    if not stored:
        stored, leases = connection.execute(rows.FIND_FOR_CLAIM, (candidate.row_id,)).fetchone(), 0
    _row_id, fence, document, cursor, *envelope = stored
    return Claim(rows.envelope_of(envelope), lease_id, fence + leases, expires_at, checkpoints.decode(document, cursor))
