"""Calls of which nothing is specified, because the backend declares that it goes its own way there.

They are not made: nobody could say what the store holds after one, and every later step would be judged by a guess.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice, permutations
from typing import Any, Final

from workspec.core.choice import OTHER, Declared, NotAsserted
from workspec.core.contract import Contract
from workspec.core.interpreter import commit, decide
from workspec.core.record import State
from workspec.core.scope import Call

Made = tuple[Call, int]

MOST_ORDERS: Final = 120
"""Of the orders of calls at once; what the first of many do not come to, the others hardly will."""


def not_asserted(contract: Contract, declared: Mapping[str, Any], state: State, calls: Sequence[Made]) -> str:
    """Why nothing is specified of these calls, made on this state in some order; empty where every order is."""
    if OTHER not in declared.values():
        return ""
    choose = Declared(declared)
    try:
        for order in islice(permutations(calls), MOST_ORDERS):
            after = state
            for call, now_s in order:
                after = commit(contract, after, decide(contract, after, call, now_s, choose)).state
    except NotAsserted as elsewhere:
        return str(elsewhere)
    return ""
