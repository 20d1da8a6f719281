"""What is found out once for each state of the model, since every step asks for it."""

from __future__ import annotations

from attrs import define, field

from workcert.judge.judge import Judge
from workspec.core.interpreter import instants
from workspec.core.record import Record, State


@define(eq=False)
class PresentState:
    """The state of a judge's model as it is now; what was found out of it holds until the judge takes another over."""

    _judge: Judge
    _legible: tuple[State, list[str]] | None = None
    _turning: tuple[State, tuple[int, ...]] | None = None
    _turning_of: dict[str, tuple[Record, tuple[int, ...]]] = field(factory=dict)

    def legible_keys(self) -> list[str]:
        """The keys of the records that can be read back."""
        state = self._judge.state
        if self._legible is None or self._legible[0] is not state:
            self._legible = (state, list(filter(self._judge.legible, state)))
        return self._legible[1]

    def instants(self, now: int) -> tuple[int, ...]:
        """Every instant at which a rule on some record turns."""
        state = self._judge.state
        if self._turning is None or self._turning[0] is not state:
            self._turning = (state, tuple(sorted({each for key in state for each in self.instants_of(key, now)})))
        return self._turning[1]

    def instants_of(self, key: str, now: int) -> tuple[int, ...]:
        """Those of one record, asked of the rules once for each record: they hang on its facts alone."""
        record = self._judge.state[key]
        known = self._turning_of.get(key)
        if known is None or known[0] is not record:
            known = self._turning_of[key] = (record, instants(self._judge.binding.contract, record, now))
        return known[1]
