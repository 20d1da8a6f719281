"""The orders in which draws and sweeps look at rows. Each is a generator over keys (6.1, 8.3 to 8.6)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from workspec.core.scope import Scope
from workspec.jobs import terms
from workspec.jobs.choices import DRAW, DRAWN, SWEPT
from workspec.jobs.facts import NEW_STORE, STORE_KEY, JobFacts, StoreFacts, job_key


def jobs(scope: Scope) -> list[JobFacts]:
    """Every row of the store before the call."""
    return [record.facts for record in scope.state.values() if isinstance(record.facts, JobFacts)]


def candidates(scope: Scope, queue: str) -> dict[str, list[JobFacts]]:
    """The candidates of a queue by partition, each partition in its order (JOB-ADM-03, JOB-ADM-11, JOB-STK-03)."""
    groups: dict[str, list[JobFacts]] = {}
    for facts in jobs(scope):
        if (
            facts.queue == queue
            and facts.state == "available"
            and facts.scheduled_at_ms <= scope.now
            and facts.sticky_worker in ("", scope.call["worker"])
        ):
            groups.setdefault(facts.partition_key, []).append(facts)
    for group in groups.values():
        group.sort(key=lambda facts: (-facts.priority, facts.scheduled_at_ms, facts.id.encode()))
    return groups


def requested_queues(scope: Scope) -> Sequence[str]:
    """In request order, repeats dropped (JOB-ADM-14)."""
    return tuple(dict.fromkeys(scope.call["queues"]))


def fair_draw(scope: Scope) -> Iterator[str]:
    """By plain rotation, or, where a store declares an order of its own, as that was seen (A-18)."""
    if scope.choose(DRAW, scope) == "rotation":
        return plain_rotation(scope)
    return as_drawn(scope)


def as_drawn(scope: Scope) -> Iterator[str]:
    """The partitions in the order in which rows came out of them, each in its own order; then all that is left.

    A row that was passed over comes before the later one of its partition, and rows that were left out come last: if
    they pass the policies they are taken, and then the answer differs from what was seen.
    """
    queues = [queue for queue in requested_queues(scope) if not terms.is_paused(scope, queue)]
    groups = {(queue, name): iter(rows) for queue in queues for name, rows in candidates(scope, queue).items()}
    for job_id in scope.choose(DRAWN, scope):
        record = scope.state.get(job_key(job_id))
        waiting = None if record is None else groups.get((record.facts.queue, record.facts.partition_key))
        for facts in waiting or ():
            yield job_key(facts.id)
            if facts.id == job_id:
                break
    for rest in groups.values():
        yield from (job_key(facts.id) for facts in rest)


def plain_rotation(scope: Scope) -> Iterator[str]:
    """Queue by queue; in each, round by round over the partitions, from the one that the cursor names (6.1).

    A round takes at most one candidate of each partition; those that fail a policy are passed over for this call.
    """
    for queue in requested_queues(scope):
        if scope.index >= scope.call["capacity"]:
            return
        if terms.is_paused(scope, queue):
            continue
        groups = candidates(scope, queue)
        if groups:
            yield from _rounds(scope, groups, _cursor(scope, queue))


def _rounds(scope: Scope, groups: dict[str, list[JobFacts]], cursor: int) -> Iterator[str]:
    names = sorted(groups, key=str.encode)
    start = cursor % len(names)
    waiting = {name: iter(groups[name]) for name in names}
    order = (*names[start:], *names[:start])
    while True:
        before = scope.index
        for name in order:
            taken = scope.index
            for facts in waiting[name]:
                yield job_key(facts.id)
                if scope.index > taken:
                    break
        if scope.index == before:
            return


def _cursor(scope: Scope, queue: str) -> int:
    record = scope.state.get(STORE_KEY)
    facts: StoreFacts = NEW_STORE if record is None else record.facts
    return facts.cursors.get(queue, 0)


def visited_queues(scope: Scope) -> Sequence[str]:
    """The queues whose cursor moves: those that had candidates when their turn came and capacity was left."""
    taken = [scope.facts_of(key).queue for key in scope.element]
    visited: list[str] = []
    admitted = 0
    for queue in requested_queues(scope):
        if admitted >= scope.call["capacity"]:
            break
        if not terms.is_paused(scope, queue) and candidates(scope, queue):
            visited.append(queue)
        admitted += taken.count(queue)
    return visited


def rows_in(
    *states: str,
    by: Callable[[JobFacts], Any],
    also: Callable[[Scope, JobFacts], bool] | None = None,
    free: bool = False,
) -> Callable[[Scope], Iterator[str]]:
    """The rows in these states in an order of their facts, ids last. ``free``: those that a store was seen to take come
    first (A-25)."""

    def order(scope: Scope) -> Iterator[str]:
        found = [facts for facts in jobs(scope) if facts.state in states and (also is None or also(scope, facts))]
        found.sort(key=lambda facts: (by(facts), facts.id.encode()))
        keys = [job_key(facts.id) for facts in found]
        if not free:
            return iter(keys)
        scope.settled["candidates"] = keys
        first = [key for key in scope.choose(SWEPT, scope) if key in keys]
        return iter([*first, *(key for key in keys if key not in first)] if first else keys)

    return order
