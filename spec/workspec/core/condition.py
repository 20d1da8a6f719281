"""Terms and conditions: the questions that rules ask, as data.

A *term* is a named value with a unit. A *condition* is a comparison of two terms or a combination of conditions.
Because it is data, a condition decides a state, prints itself, says on which side of its bound a state lies, and,
when one side is ``NOW``, gives the instant at which it turns.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, Final

from attrs import field, frozen

from workspec.core.scope import Scope

Reader = Callable[[Scope], Any]
Decide = Callable[[Scope], bool]

BELOW, AT, ABOVE, ABSENT = "below", "at", "above", "absent"


@frozen(eq=False)
class Term:
    """A named value.

    ``unit``: ``s``, ``ms``, ``attempts``, ``text``, ``state``, ... ``source``: what it reads, ``facts``, ``call``,
    ``store`` (other records), ``now`` or ``constant``; a term of ``facts`` must not be asked of an unknown record.
    None means that the value is absent.
    """

    name: str
    unit: str
    source: str
    read: Reader
    opposite: str = ""
    """For a flag: how its negation reads."""
    of: type | None = None
    """The kind of facts that it reads, where a store keeps several."""

    def __lt__(self, other: Term | int) -> Comparison:
        return Comparison(self, "<", _as_term(other, self.unit))

    def __le__(self, other: Term | int) -> Comparison:
        return Comparison(self, "<=", _as_term(other, self.unit))

    def __gt__(self, other: Term | int) -> Comparison:
        return Comparison(self, ">", _as_term(other, self.unit))

    def __ge__(self, other: Term | int) -> Comparison:
        return Comparison(self, ">=", _as_term(other, self.unit))

    def equals(self, other: Term) -> Comparison:
        return Comparison(self, "=", other)

    def differs(self, other: Term) -> Comparison:
        """Both are there and are not equal."""
        return Comparison(self, "!=", other)

    def is_(self, *values: Any) -> Member:
        """True when the value is one of these."""
        return Member(self, values)

    def holds(self) -> Member:
        """For a term of yes or no: the condition that it is yes."""
        return Member(self, (True,))


def term(name: str, unit: str, source: str = "facts") -> Callable[[Reader], Term]:
    """Decorate a reader: ``@term("attempt budget", unit="attempts")``."""
    return lambda read: Term(name, unit, source, read)


def flag(name: str, source: str = "facts", opposite: str = "") -> Callable[[Decide], Member]:
    """Decorate a yes-or-no reader; the result is the condition that it is yes."""
    return lambda read: Term(name, "flag", source, read, opposite).holds()


def argument(name: str, unit: str) -> Term:
    """An argument of the call."""
    return Term(name, unit, "call", lambda scope: scope.call[name])


def constant(value: Any, unit: str, name: str | None = None) -> Term:
    return Term(str(value) if name is None else name, unit, "constant", lambda _scope: value)


def _as_term(value: Term | int, unit: str) -> Term:
    return value if isinstance(value, Term) else constant(value, unit)


NOW: Final = Term("now", "s", "now", lambda scope: scope.now)


class Condition:
    """Base of the closed set below; combine with ``&``, ``|`` and ``~``.

    ``decide``: whether it holds of a scope. Each class makes this function once, of what its parts read: rules ask
    hundreds of conditions in a decision.
    """

    __slots__ = ()
    decide: Decide

    def __and__(self, other: Condition) -> Condition:
        return Every((*_parts(self, Every), *_parts(other, Every)))

    def __or__(self, other: Condition) -> Condition:
        return Any_((*_parts(self, Any_), *_parts(other, Any_)))

    def __invert__(self) -> Condition:
        return self.part if isinstance(self, Not) else Not(self)

    @property
    def text(self) -> str:
        raise AssertionError("a condition is one of the classes below")

    def leaves(self) -> Iterator[Comparison | Member]:
        raise AssertionError("a condition is one of the classes below")

    def sources(self) -> frozenset[str]:
        """What an answer needs; see `Term.source`."""
        return frozenset(term.source for leaf in self.leaves() for term in leaf.terms)


def _parts(condition: Condition, kind: type) -> tuple[Condition, ...]:
    if isinstance(condition, kind):
        parts: tuple[Condition, ...] = condition.parts  # type: ignore[attr-defined]
        return parts
    return (condition,)


@frozen(eq=False)
class Comparison(Condition):
    """``left relation right``. False when either side is absent."""

    left: Term
    relation: str
    right: Term
    decide: Decide = field(init=False, repr=False)

    RELATIONS: ClassVar[Mapping[str, Callable[[Any, Any], bool]]] = {
        "<": operator.lt,
        "<=": operator.le,
        ">": operator.gt,
        ">=": operator.ge,
        "=": operator.eq,
        "!=": operator.ne,
    }

    @decide.default
    def _decides(self) -> Decide:
        test, said = self.RELATIONS[self.relation], self.text
        read_left, read_right = self.left.read, self.right.read
        # By owner, what the trace calls it: made once, since most decisions ask several comparisons.
        keys: dict[str, str] = {}

        def decide(scope: Scope) -> bool:
            left, right = read_left(scope), read_right(scope)
            if left is None or right is None:
                return False
            side = AT if left == right else BELOW if left < right else ABOVE
            key = keys.get(scope.owner)
            if key is None:
                key = keys[scope.owner] = f"{scope.owner} | {said}"
            scope.trace.sides.append((key, side))
            return test(left, right)

        return decide

    @property
    def terms(self) -> tuple[Term, ...]:
        return (self.left, self.right)

    @property
    def text(self) -> str:
        return f"{self.left.name} {self.relation} {self.right.name}"

    def leaves(self) -> Iterator[Comparison | Member]:
        yield self

    def turning_instant(self, scope: Scope) -> int | None:
        """When one side is the instant of the call: the instant at the bound, if there is one; otherwise None."""
        if "now" not in (self.left.source, self.right.source):
            return None
        other = self.right if self.left.source == "now" else self.left
        if other.of is not None and not isinstance(scope.facts, other.of):
            return None
        instant: int | None = other.read(scope)
        return instant


@frozen(eq=False)
class Member(Condition):
    """The term's value is one of ``values``."""

    of: Term
    values: tuple[Any, ...]
    decide: Decide = field(init=False, repr=False)

    @decide.default
    def _decides(self) -> Decide:
        read, values = self.of.read, self.values
        # What a flag reads is yes or no already.
        return read if values == (True,) else lambda scope: read(scope) in values

    @property
    def terms(self) -> tuple[Term, ...]:
        return (self.of,)

    @property
    def text(self) -> str:
        return self.phrase("is", "in")

    def phrase(self, one: str, several: str) -> str:
        """In words, with the verbs for one value and for several."""
        if self.of.unit == "flag":
            return self.of.name
        names = [
            "absent" if value is None else value if isinstance(value, str) else repr(value) for value in self.values
        ]
        if len(names) == 1:
            return f"{self.of.name} {one} {names[0]}"
        return f"{self.of.name} {several} ({', '.join(names)})"

    def leaves(self) -> Iterator[Comparison | Member]:
        yield self


@frozen(eq=False)
class Not(Condition):
    part: Condition
    decide: Decide = field(init=False, repr=False)

    @decide.default
    def _decides(self) -> Decide:
        part = self.part.decide
        return lambda scope: not part(scope)

    @property
    def text(self) -> str:
        part = self.part
        if not isinstance(part, Member):
            return f"not ({part.text})"
        if part.of.unit == "flag":
            return part.of.opposite or f"not: {part.of.name}"
        return part.phrase("is not", "not in")

    def leaves(self) -> Iterator[Comparison | Member]:
        return self.part.leaves()


@frozen(eq=False)
class Every(Condition):
    """All parts hold; asked from left to right until one does not."""

    parts: tuple[Condition, ...]
    decide: Decide = field(init=False, repr=False)

    @decide.default
    def _decides(self) -> Decide:
        parts = tuple(part.decide for part in self.parts)

        def decide(scope: Scope) -> bool:
            for part in parts:  # noqa: SIM110 - a generator expression costs twice as much here
                if not part(scope):
                    return False
            return True

        return decide

    @property
    def text(self) -> str:
        return " and ".join(f"({p.text})" if isinstance(p, Any_) else p.text for p in self.parts)

    def leaves(self) -> Iterator[Comparison | Member]:
        for part in self.parts:
            yield from part.leaves()


@frozen(eq=False)
class Any_(Condition):  # noqa: N801 - Any is taken by typing
    """One part at least holds; asked from left to right until one does."""

    parts: tuple[Condition, ...]
    decide: Decide = field(init=False, repr=False)

    @decide.default
    def _decides(self) -> Decide:
        parts = tuple(part.decide for part in self.parts)

        def decide(scope: Scope) -> bool:
            for part in parts:  # noqa: SIM110 - as above
                if part(scope):
                    return True
            return False

        return decide

    @property
    def text(self) -> str:
        return " or ".join(p.text for p in self.parts)

    def leaves(self) -> Iterator[Comparison | Member]:
        for part in self.parts:
            yield from part.leaves()


ALWAYS: Final = Every(())
