"""The judge's chooser: declared choices from the backend, free ones from what it showed, if that is legal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import define, field, frozen

from workcert.judge.presumed import presumed
from workspec.core.choice import OTHER, UNSEEN, Choice, ChoiceKind, NotAsserted, Seen
from workspec.core.scope import Scope


@frozen
class Illegal:
    """A free choice that fell on something the contract does not allow."""

    choice: Choice
    seen: Any
    expected: Any
    key: str | None


@define(eq=False)
class ObservingChooser:
    """``record_of`` reads the record of a key as it is after the call (cached by the caller). ``asked``: the declared
    choices that anything has hung on so far."""

    declared: Mapping[str, Any]
    code: str | None
    answer: Any
    record_of: Callable[[str | None], Any]
    illegal: list[Illegal] = field(factory=list)
    asked: set[str] = field(factory=set)

    def __call__(self, choice: Choice, scope: Scope) -> Any:
        default = choice.default_in(scope)
        if choice.kind is ChoiceKind.DECLARED:
            self.asked.add(choice.id)
            value = self.declared.get(choice.id, default)
            if value == OTHER:
                raise NotAsserted(choice)
            return value
        if choice.observe is None:
            return default
        # A record is read only where the answer does not show the value: reading costs a call on the store.
        value = choice.observe(Seen(self.code, self.answer, None, self.record_of), scope)
        if value is UNSEEN:
            value = self.shown_by_record(choice, scope)
        admitted = getattr(self.answer, "workload", None)
        if value is UNSEEN and admitted is not None:
            # What reads leave out, the answer of an admission may hold.
            value = choice.observe(Seen(self.code, self.answer, admitted, self.record_of), scope)
        if value is UNSEEN:
            return presumed(default)
        if value is None and default is None:
            return default
        if choice.allows(value, scope):
            return value
        self.illegal.append(Illegal(choice, value, default, scope.key))
        return default

    def shown_by_record(self, choice: Choice, scope: Scope) -> Any:
        """The value as the addressed record shows it, `UNSEEN` where it does not."""
        assert choice.observe is not None
        return choice.observe(Seen(self.code, self.answer, self.record_of(scope.key), self.record_of), scope)
