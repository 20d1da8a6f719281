"""The answers of earlier steps, as references ask for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from attrs import define, field

from workcert.codec import to_json
from workcert.references import Refused, Shown
from workspec.core.choice import UNSEEN


@define(eq=False)
class Answers(Mapping[str, Any]):
    """Answers by step id, as `Shown` or `Refused`."""

    _raw: dict[str, Any] = field(factory=dict)

    def put(self, step: str, value: Any) -> None:
        self._raw[step] = value

    def __getitem__(self, step: str) -> Any:
        raw = self._raw[step]
        if isinstance(raw, Refused):
            return raw
        # An answer of which nothing is shown has no members to refer to.
        return Shown({} if raw is UNSEEN else raw, to_json)

    def __contains__(self, step: object) -> bool:
        return step in self._raw

    def __iter__(self) -> Iterator[str]:
        return iter(self._raw)

    def __len__(self) -> int:
        return len(self._raw)
