"""The values of a case, each with its place and its type, so that a smaller one can be put there.

A type is what the port says (`workcert.structuring`); where nothing is known it is `AnyJson`, and every
simpler value may be tried.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, Union, get_args, get_origin

import attrs
from attrs import frozen

from workcert.cases.contracts import Contract, contracts
from workcert.cases.model import Call, Case, Inject
from workcert.ordinary import OMITTED
from workcert.references import JsonBytes
from workcert.shrink.edits import Leaf, find, leaves, with_leaf
from workcert.structuring import AnyJson, hints_of

Path: TypeAlias = tuple[Any, ...]


@frozen
class Place:
    """``path`` leads through member names and positions from the arguments of a leaf to the value.

    ``may_be_absent``: the member may be left out, and so become null or its default.
    """

    leaf: str
    path: Path
    value: Any
    wanted: Any
    may_be_absent: bool


def places(case: Case) -> Iterator[Place]:
    """Every value of every leaf, a whole before its parts."""
    contract = contracts().get(case.header.contract)
    for leaf in leaves(case.steps):
        match leaf:
            case Call():
                yield from _of_call(contract, leaf)
            case Inject():
                wanted = AnyJson if contract is None else contract.record
                yield from _walk(leaf.id, (), leaf.record, wanted, False)


def put(case: Case, place: Place, value: Any) -> Case | None:
    """The case with another value there, or a new member; None when its step is gone."""
    return _rewritten(case, place, lambda values: _put(values, place.path, value))


def removed(case: Case, place: Place) -> Case | None:
    """The case without the member or element there; None when its step is gone."""
    return _rewritten(case, place, lambda values: _removed(values, place.path))


def present(case: Case, place: Place) -> Any:
    """What stands there now; None when nothing does."""
    leaf = find(case, place.leaf)
    value: Any = None if leaf is None else _values(leaf)
    for key in place.path:
        try:
            value = value.value if isinstance(value, JsonBytes) else value[key]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def _rewritten(case: Case, place: Place, rewrite: Callable[[Any], Any]) -> Case | None:
    leaf = find(case, place.leaf)
    return None if leaf is None else with_leaf(case, _with_values(leaf, rewrite(_values(leaf))))


def _values(leaf: Leaf) -> Any:
    return leaf.args if isinstance(leaf, Call) else leaf.record if isinstance(leaf, Inject) else {}


def _with_values(leaf: Leaf, values: Any) -> Leaf:
    if isinstance(leaf, Call):
        return attrs.evolve(leaf, args=values)
    return attrs.evolve(leaf, record=values) if isinstance(leaf, Inject) else leaf


def _of_call(contract: Contract | None, call: Call) -> Iterator[Place]:
    signature = None if contract is None else contract.calls.get(call.call)
    for name, value in call.args.items():
        wanted = AnyJson if signature is None else signature.arguments.get(name, AnyJson)
        may_be_absent = signature is not None and name in signature.optional
        yield from _walk(call.id, (name,), value, wanted, may_be_absent)


def _walk(leaf: str, path: Path, value: Any, wanted: Any, may_be_absent: bool) -> Iterator[Place]:
    wanted, _ = _inner(wanted)
    yield Place(leaf, path, value, wanted, may_be_absent)
    if isinstance(value, JsonBytes):
        yield from _walk(leaf, (*path, None), value.value, AnyJson, False)
    elif isinstance(value, list):
        element = get_args(wanted)[0] if get_args(wanted) else AnyJson
        for position, each in enumerate(value):
            yield from _walk(leaf, (*path, position), each, element, False)
    elif isinstance(value, dict):
        hints = hints_of(wanted) if attrs.has(wanted) else {}
        omitted = OMITTED.get(wanted.__name__, {}) if hints else {}
        member = get_args(wanted)[1] if get_args(wanted) else AnyJson
        for name, each in value.items():
            optional = name not in hints or _inner(hints[name])[1] or name in omitted
            yield from _walk(leaf, (*path, name), each, hints.get(name, member), optional)


def _inner(wanted: Any) -> tuple[Any, bool]:
    """The type without its None, and whether it had one."""
    if wanted is Any or wanted is object:
        return AnyJson, False
    if get_origin(wanted) not in (Union, types.UnionType):
        return wanted, False
    rest = [option for option in get_args(wanted) if option is not type(None)]
    return (rest[0] if len(rest) == 1 else AnyJson), True


def _put(values: Any, path: Path, value: Any) -> Any:
    if not path:
        return value
    key, *rest = path
    if isinstance(values, JsonBytes):
        return JsonBytes(_put(values.value, tuple(rest), value))
    if isinstance(values, Mapping):
        if not rest:
            return {**values, key: value}
        return {n: _put(each, tuple(rest), value) if n == key else each for n, each in values.items()}
    return [_put(each, tuple(rest), value) if n == key else each for n, each in enumerate(_elements(values))]


def _removed(values: Any, path: Path) -> Any:
    key, *rest = path
    if isinstance(values, JsonBytes):
        return JsonBytes(_removed(values.value, tuple(rest)))
    if isinstance(values, Mapping):
        if rest:
            return {n: _removed(v, tuple(rest)) if n == key else v for n, v in values.items()}
        return {name: each for name, each in values.items() if name != key}
    if rest:
        return [_removed(v, tuple(rest)) if n == key else v for n, v in enumerate(_elements(values))]
    return [each for n, each in enumerate(_elements(values)) if n != key]


def _elements(values: Any) -> Sequence[Any]:
    return values if isinstance(values, list) else ()
