"""Admission: leasing available jobs to a worker (contract, 6)."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Final

from attrs import frozen

from workspec.jobs.vocabulary import AdmissionUnit, Claim

from . import checkpoints, rows
from .buckets import Ledger
from .draw import Gate, Queue, drawn
from .numbers import within_instants
from .rows import COLUMNS, Row, row_of

_QUEUE: Final = "SELECT cursor FROM queues WHERE name = ? AND paused = 0 AND available > 0"
_TURN: Final = (
    "UPDATE queues SET cursor = cursor + 1, available = available - ?1, running = running + ?1 WHERE name = ?2"
)
_LEASE: Final = (
    "UPDATE jobs SET state = 'running', fence = fence + 1, lease_id = ?, lease_expires_at_ms = ?, claimed_at_ms = ?, "
    "charge = ? WHERE row_id = ?"
)
_CLAIMS: Final = (
    f"SELECT {COLUMNS}, contents.headers, contents.tags, contents.payload, checkpoints.document, checkpoints.cursor "
    "FROM jobs JOIN contents USING (row_id) LEFT JOIN checkpoints USING (row_id) WHERE jobs.row_id IN ({})"
)
_PIECE: Final = 200


@frozen
class Request:
    """Who asks, for which queues in which order, and for how many at most."""

    worker: str
    lease_id: str
    queues: tuple[str, ...]
    capacity: int
    lease_ms: int


def admit(connection: sqlite3.Connection, now: int, request: Request) -> list[AdmissionUnit]:
    """Lease up to ``capacity`` jobs, queue by queue in the order of the request (JOB-ADM-02, JOB-ADM-06, A-20)."""
    ledger = Ledger(connection, now)
    gate = Gate(connection, ledger)
    charges: dict[int, int] = {}
    for name in dict.fromkeys(request.queues):
        room = request.capacity - len(charges)
        if room <= 0:
            break
        charges |= _visit(connection, now, name, request.worker, room, gate)
    ledger.settle_up()
    expires_at = within_instants(now + request.lease_ms)
    connection.executemany(
        _LEASE, [(request.lease_id, expires_at, now, charge, row_id) for row_id, charge in charges.items()]
    )
    claims = _claims(connection, list(charges))
    return [AdmissionUnit((claims[row_id],)) for row_id in charges]


def _visit(connection: sqlite3.Connection, now: int, name: str, worker: str, room: int, gate: Gate) -> dict[int, int]:
    """Row numbers drawn of one queue, in order, with their charges. The turn goes on where there was any candidate,
    even if a policy held back each of them (6.1)."""
    found = connection.execute(_QUEUE, (name,)).fetchone()
    if found is None:
        return {}
    queue = Queue(connection, name, worker, now)
    partitions = queue.partitions()
    if not partitions:
        return {}
    taken = drawn(queue, partitions, found[0] % len(partitions), room, gate)
    connection.execute(_TURN, (len(taken), name))
    return {candidate.row_id: charge for candidate, charge in taken}


def _claims(connection: sqlite3.Connection, row_ids: Sequence[int]) -> dict[int, Claim]:
    claims: dict[int, Claim] = {}
    for first in range(0, len(row_ids), _PIECE):
        piece = row_ids[first : first + _PIECE]
        for found in connection.execute(_CLAIMS.format(", ".join("?" * len(piece))), piece):
            row = row_of(found)
            claims[row.row_id] = _claim(row, *found[len(Row._fields) :])
    return claims


def _claim(
    row: Row, headers: str | None, tags: str | None, payload: bytes, document: str | None, cursor: bytes | None
) -> Claim:
    """What the worker is given, checkpoint of earlier runs included (JOB-ADM-08)."""
    assert row.lease_id is not None
    assert row.lease_expires_at_ms is not None
    return Claim(
        envelope=rows.envelope_of(row, headers, tags, payload),
        lease_id=row.lease_id,
        fence=row.fence,
        expires_at_ms=row.lease_expires_at_ms,
        checkpoint=checkpoints.decode(document, cursor),
    )
