"""Job stores that are wrong in admission, fairness, routes, rates and pauses: the in-memory one with a line that reads
otherwise."""

from __future__ import annotations

from workstore.memory.jobs import admission, buckets, index, operators, outcomes
from workstore.memory.jobs.workers import Workers

from .jobs_model import Edit, JobMiniature, edited
from .model import STATEFUL


def placed(name: str, right: str, place: str) -> JobMiniature:
    """Rows of a partition in another order."""
    return edited(name, right, Edit(index._place, "(-row.envelope.priority, row.due_ms, row.id)", place))


CANDIDATES = (
    edited(
        "a blocked head blocks its partition",
        "ADM-09 ADM-05",
        Edit(
            admission._draw,
            "next((candidate for candidate in candidates if passes(candidate)), None)",
            "next((c if passes(c) else list(candidates).clear() for c in candidates), None)",
        ),
    ),
    edited(
        "an admission promotes what is due",
        "ADM-04 ADM-03",
        Edit(
            Workers.admit,
            "    request = ",
            "    self.promote_due(limit=capacity)\n    request = ",
        ),
    ),
    edited(
        "the capacity is each queue's",
        "ADM-02",
        Edit(admission.admit, "request.capacity - len(units)", "request.capacity"),
    ),
    edited(
        "a repeated queue is visited twice",
        "ADM-14",
        Edit(admission.admit, "dict.fromkeys(request.queues)", "request.queues"),
    ),
    edited(
        "queues are served by name",
        "ADM-14",
        Edit(admission.admit, "dict.fromkeys(request.queues)", "sorted(set(request.queues))"),
    ),
    edited(
        "a lease is cut to seconds",
        "ADM-06 ADM-07",
        Edit(admission._claim, "plus(now_ms, request.lease_ms)", "plus(now_ms, request.lease_ms // 1000 * 1000)"),
        suite=STATEFUL,
    ),
    edited(
        "a claim carries an empty checkpoint",
        "ADM-08 CKP-02",
        Edit(
            admission._claim,
            "checkpoint=row.checkpoint",
            "checkpoint=evolve(row.checkpoint, in_progress_step=None, cursor=None, completed_steps=())",
        ),
    ),
    edited(
        "the fence stays where a run was not finished",
        "GEN-07 ADM-06",
        Edit(admission._claim, "row.fence + 1", "row.fence + (row.envelope.crash_attempt == 0 or row.fence == 0)"),
    ),
    placed("the due time outranks the priority", "ADM-11", "(row.due_ms, -row.envelope.priority, row.id)"),
    placed("the least priority is first", "ADM-11", "(row.envelope.priority, row.due_ms, row.id)"),
    placed("the due time is not looked at", "ADM-11 ADM-12", "(-row.envelope.priority, 0, row.id)"),
)
FAIRNESS = (
    edited(
        "the draw never rotates",
        "FAIR-03",
        Edit(admission._drawn_from, "view.cursors.put(queue, cursor + 1)", "pass"),
    ),
    edited(
        "an admission that finds nothing turns the cursor",
        "FAIR-03",
        Edit(
            admission._drawn_from,
            "    if not partitions:",
            "    if not partitions:\n"
            "        view.cursors.put(queue, (view.cursors.get(queue) or 0) + 1)\n"
            "    if not partitions:",
        ),
    ),
    edited(
        "a paused queue turns its cursor",
        "PAU-01 FAIR-03",
        Edit(
            admission.admit,
            "            continue",
            "            view.cursors.put(queue, (view.cursors.get(queue) or 0) + 1)\n            continue",
        ),
    ),
    edited(
        "the cursor moves only where something was admitted",
        "FAIR-03",
        Edit(
            admission._drawn_from,
            "    return _draw(partitions[start:] + partitions[:start], room, passes)",
            "    drawn = _draw(partitions[start:] + partitions[:start], room, passes)\n"
            "    view.cursors.put(queue, cursor + bool(drawn))\n"
            "    return drawn",
        ),
    ),
    edited(
        "a partition is drained before the next",
        "FAIR-01",
        Edit(
            admission._draw,
            "for candidates in partitions:",
            "for candidates in (each for each in partitions for _ in range(room)):",
        ),
    ),
    edited(
        "a draw looks at no more rows than twice its capacity",
        "FAIR-02 ADM-13",
        Edit(
            admission._candidates,
            "first = next(candidates, None)",
            "places = (view.index.places(queue, each, worker) for each in view.index.partitions(queue))\n"
            "        window = sorted(place for each in places for place in each)[:4]\n"
            "        candidates = (row for row in candidates if any(row.id == place[2] for place in window))\n"
            "        first = next(candidates, None)",
        ),
    ),
)
ROUTES = (
    edited(
        "routes are compared without case",
        "STK-01",
        Edit(
            index.Index.places,
            'routes[route] for route in {"", worker} if route in routes',
            'routes[route] for route in routes if route.lower() in ("", worker.lower())',
        ),
    ),
    edited(
        "any worker takes routed rows",
        "STK-01",
        Edit(index.Index.places, 'for route in {"", worker} if route in routes', "for route in routes"),
        suite=STATEFUL,
    ),
    edited(
        "rows of other workers fill the window of a draw",
        "STK-03",
        Edit(
            index.Index.places,
            "    mine = ",
            "    seen = sorted((place, route) for route, places in routes.items() for place in places)[:3]\n"
            '    if all(route not in ("", worker) for _, route in seen):\n'
            "        return iter(())\n"
            "    mine = ",
        ),
    ),
    edited(
        "unrouted rows come first",
        "STK-04 ADM-11",
        Edit(
            index.Index.places,
            "merge(*mine)",
            'iter([*routes.get("", ()), *(routes.get(worker, ()) if worker else ())])',
        ),
    ),
    edited(
        "a retried job loses its route",
        "STK-02",
        Edit(outcomes._retried, "attempt=attempt))", "attempt=attempt, sticky_worker=''))"),
    ),
)
RATES = (
    edited(
        "a cost equal to the tokens is too dear",
        "RATE-01",
        Edit(admission.Gate.passes, "cost > bucket", "cost >= bucket"),
    ),
    edited(
        "each job costs one token",
        "RATE-01",
        Edit(admission.Gate.passes, "effective_weight(row)", "1"),
        suite=STATEFUL,
    ),
    edited(
        "tokens are taken for candidates that are not admitted",
        "GEN-11 RATE-01 ADM-05",
        Edit(
            admission.Gate.passes,
            "        return False\n    self._spent",
            "        self._spent[rate_class] = spent + min(cost, bucket.tokens - spent)\n"
            "        return False\n"
            "    self._spent",
        ),
    ),
    edited(
        "a quarantined candidate is charged",
        "GEN-11 ADM-05",
        Edit(
            admission.Gate.passes,
            "        return False\n    bucket = ",
            "        if self._bucket(row):\n"
            "            cost = effective_weight(row)\n"
            "            self._spent[row.envelope.rate_class] = self._spent.get(row.envelope.rate_class, 0) + cost\n"
            "        return False\n"
            "    bucket = ",
        ),
    ),
    edited(
        "every poll restamps the refill",
        "RATE-05",
        Edit(buckets.refilled, "        return bucket", "        return evolve(bucket, refilled_at_ms=now_ms)"),
    ),
    edited(
        "a full bucket keeps its old stamp",
        "RATE-05 RATE-06",
        Edit(buckets.refilled, "    if gain(", "    if bucket.tokens >= bucket.burst or gain("),
    ),
    edited(
        "a refill goes above the burst",
        "RATE-06",
        Edit(
            buckets.available_tokens,
            "min(bucket.burst, bucket.tokens + gain(bucket, now_ms))",
            "bucket.tokens + gain(bucket, now_ms)",
        ),
    ),
    edited(
        "a refund goes above the burst",
        "RATE-06 RATE-08",
        Edit(buckets.settled, "min(bucket.burst, tokens)", "tokens"),
    ),
    edited(
        "a debt is forgiven",
        "RATE-10 RATE-08",
        Edit(buckets.settled, "min(bucket.burst, tokens)", "max(0, min(bucket.burst, tokens))"),
    ),
    edited(
        "a settlement keeps the fraction",
        "RATE-05",
        Edit(
            buckets.settled,
            "refilled_at_ms=now_ms",
            "refilled_at_ms=now_ms if gain(bucket, now_ms) else bucket.refilled_at_ms",
        ),
    ),
    edited(
        "a settlement is booked twice",
        "RATE-08",
        Edit(buckets.settled, "charge - actual_weight", "2 * (charge - actual_weight)"),
        suite=STATEFUL,
    ),
    edited(
        "an actual weight of 0 settles nothing",
        "RATE-08",
        Edit(outcomes._settled, "actual_weight is None", "not actual_weight"),
    ),
    edited(
        "success alone settles",
        "RATE-09",
        Edit(
            outcomes.ack,
            "report.actual_weight, now_ms",
            "report.actual_weight if report.outcome == 'success' else None, now_ms",
        ),
    ),
    edited(
        "a stale ack settles",
        "RATE-12",
        Edit(
            outcomes.ack,
            "    row = _settled(view, ",
            "    if (r := view.jobs.get(ref.job_id)) and r.lease and not is_held(r, ref):\n"
            "        view.put(_settled(view, r, report.actual_weight, now_ms))\n"
            "        view._below.apply(view)\n"
            "    row = _settled(view, ",
        ),
    ),
    edited(
        "a class without a bucket is charged all the same",
        "RATE-11 RATE-04",
        Edit(
            admission.Gate.charge_of,
            "0 if self._bucket(row) is None else effective_weight(row)",
            "effective_weight(row)",
        ),
    ),
    edited(
        "an operator's upsert fills the bucket",
        "RATE-16",
        Edit(buckets.configured, "burst if bucket is None else min(bucket.tokens, burst)", "burst"),
    ),
    edited(
        "an upsert keeps tokens above the new burst",
        "RATE-16",
        Edit(buckets.configured, "min(bucket.tokens, burst)", "bucket.tokens"),
    ),
    edited("a paused class gains tokens", "PRT-03", Edit(buckets.gain, "bucket.paused or ", "")),
    edited(
        "cancelling a runner gives the tokens back",
        "RATE-13 OPR-02",
        Edit(
            operators.cancel,
            "    view.put(",
            "    from workstore.memory.jobs.outcomes import _settled\n"
            "    row = _settled(view, row, 0, now_ms) if row.lease else row\n"
            "    view.put(",
        ),
    ),
    edited(
        "a limit counts for each queue",
        "RATE-03",
        Edit(
            admission.Gate.passes,
            "spent = self._spent.get(rate_class, 0)",
            "rate_class = (rate_class, row.queue)\n    spent = self._spent.get(rate_class, 0)",
        ),
        Edit(
            admission.Gate.charge,
            "    for rate_class, spent in self._spent.items():",
            "    for (rate_class, _), spent in self._spent.items():",
        ),
    ),
)

WRONG_ADMISSION = (*CANDIDATES, *FAIRNESS, *ROUTES, *RATES)
