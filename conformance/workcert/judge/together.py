"""Judging calls that ran at once: some serial order must explain every answer and every record.

A call that lost its guard may have answered with the contract's conflict code; it then did nothing, and some other
call of the group must have committed. The orders of the few calls of one block are all tried.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

from workcert.judge.judge import Judge
from workcert.judge.ledger import Read
from workcert.judge.verdict import Failure, Kind
from workcert.run.calling import Crashed, Observed, Refusal, Unavailable
from workspec.core.scope import Call, Trace

Made = tuple[Call, int]


def judge_together(judge: Judge, calls: Sequence[Made], observed: Sequence[Observed], read: Read) -> Failure | None:
    """None if some order fits, else the failure of the order that came furthest."""
    contract = judge.binding.contract
    for seen in observed:
        if isinstance(seen, Crashed | Unavailable):
            ids = contract.conflict_requirements
            return Failure(ids, Kind.CRASH, f"a call at once with others: {seen.text}")
    losers = {i for i, seen in enumerate(observed) if isinstance(seen, Refusal) and seen.code == contract.conflict_code}
    winners = [index for index in range(len(calls)) if index not in losers]
    if losers and not winners:
        text = f"every call was refused with {contract.conflict_code}; nobody can have won"
        return Failure(contract.conflict_requirements, Kind.ORDER, text)
    state, versions = judge.state, dict(judge.versions)
    best: tuple[int, Failure] | None = None
    for order in permutations(winners):
        judge.state, judge.versions = state, dict(versions)
        reached, failure = _try(judge, order, calls, observed, read)
        if failure is None:
            return None
        if best is None or reached > best[0]:
            best = (reached, failure)
    assert best is not None
    cause = best[1]
    text = f"no serial order of the calls explains what was seen; the best fails with: {cause.text}"
    return Failure(cause.requirements, Kind.ORDER, text, cause.differences)


def _try(
    judge: Judge, order: Sequence[int], calls: Sequence[Made], observed: Sequence[Observed], read: Read
) -> tuple[int, Failure | None]:
    """Apply the calls in this order; answers are compared at each, records when all have run."""
    traces: list[Trace] = []
    for reached, index in enumerate(order):
        call, now_s = calls[index]
        committed, failure = judge.answer_only(call, now_s, observed[index], read)
        if failure is not None:
            return reached, failure
        traces.append(committed.decision.trace)
    ids = tuple(i for trace in traces for i in trace.requirements)
    failure = judge.everything(read, ids or judge.binding.contract.comparisons["others"], Kind.RECORD, "at the end")
    if failure is None:
        for key in judge.state:
            row = read(key)
            if row is not None:
                judge.versions[key] = row.version
    return len(order), failure
