"""Ordinary values where they do not matter: what is left out of the ordinary is then what the case is about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any, Final

import attrs

from workcert.cases.model import Call, Case
from workcert.shrink.attempt import Attempt
from workcert.shrink.edits import leaves, with_leaf
from workcert.shrink.timing import INSTANTS

MOST_KEPT: Final = 2


def settle(attempt: Attempt, ordinary: Mapping[str, Mapping[str, Any]]) -> None:
    """Each large argument as it ordinarily is, but for the one or two members that matter.

    All at once, since members belong together: a requester and the grant that names it. Instants stay as they are:
    they belong to the times of the case.
    """
    for leaf in leaves(attempt.case.steps):
        if not isinstance(leaf, Call):
            continue
        for name in ordinary.keys() & leaf.args.keys():
            any(attempt.take(_put(attempt.case, leaf.id, name, members)) for members in _candidates(ordinary[name]))


def _candidates(usual: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    members = {member: value for member, value in usual.items() if member not in INSTANTS}
    for kept in range(MOST_KEPT + 1):
        for own in combinations(members, kept):
            yield {member: value for member, value in members.items() if member not in own}


def _put(case: Case, step: str, name: str, members: Mapping[str, Any]) -> Case | None:
    leaf = next((each for each in leaves(case.steps) if each.id == step), None)
    if not isinstance(leaf, Call) or not isinstance(leaf.args.get(name), dict):
        return None
    return with_leaf(case, attrs.evolve(leaf, args={**leaf.args, name: {**leaf.args[name], **members}}))
