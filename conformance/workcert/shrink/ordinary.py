"""Ordinary values where they do not matter: what is left out of the ordinary is then what the case is about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any, Final, TypeAlias

import attrs

from workcert.cases.model import Call, Case
from workcert.shrink.attempt import Attempt
from workcert.shrink.edits import leaves, with_leaf
from workcert.shrink.timing import INSTANTS

MOST_KEPT: Final = 2
NAME: Final = "id"
"""What tells one element of a list from another stays as it is."""
Path: TypeAlias = tuple[Any, ...]


def settle(attempt: Attempt, ordinary: Mapping[str, Mapping[str, Any]]) -> None:
    """Each large argument as it ordinarily is, but for the one or two members that matter.

    All at once, since members belong together: a requester and the grant that names it. Instants stay as they are:
    they belong to the times of the case.
    """
    for leaf in leaves(attempt.case.steps):
        if not isinstance(leaf, Call):
            continue
        for name in ordinary.keys() & leaf.args.keys():
            for path in _places(name, leaf.args[name]):
                any(attempt.take(_put(attempt.case, leaf.id, path, members)) for members in _candidates(ordinary[name]))


def _places(name: str, value: Any) -> Iterator[Path]:
    """Where the large objects of an argument stand: it is one, or holds some."""
    if isinstance(value, list):
        yield from ((name, position) for position, each in enumerate(value) if isinstance(each, dict))
    elif isinstance(value, dict):
        yield (name,)


def _candidates(usual: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    members = {member: value for member, value in usual.items() if member not in INSTANTS and member != NAME}
    for kept in range(MOST_KEPT + 1):
        for own in combinations(members, kept):
            yield {member: value for member, value in members.items() if member not in own}


def _put(case: Case, step: str, path: Path, members: Mapping[str, Any]) -> Case | None:
    leaf = next((each for each in leaves(case.steps) if each.id == step), None)
    if not isinstance(leaf, Call) or leaf.args.get(path[0]) is None:
        return None
    name, *position = path
    value = leaf.args[name]
    if not position:
        whole: Any = {**value, **members}
    else:
        whole = [{**each, **members} if index == position[0] else each for index, each in enumerate(value)]
    return with_leaf(case, attrs.evolve(leaf, args={**leaf.args, name: whole}))
