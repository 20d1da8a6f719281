"""The answers of earlier steps, as references ask for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from attrs import define, field

from workcert.codec import to_json
from workcert.references import Refused
from workspec.core.choice import UNSEEN


@define(eq=False)
class Answers(Mapping[str, Any]):
    """Answers by step id as plain JSON, made only when a reference asks for one."""

    _raw: dict[str, Any] = field(factory=dict)
    _plain: dict[str, Any] = field(factory=dict)

    def put(self, step: str, value: Any) -> None:
        self._raw[step] = value

    def __getitem__(self, step: str) -> Any:
        if step not in self._plain:
            raw = self._raw[step]
            # An answer of which nothing is shown has no members to refer to.
            self._plain[step] = raw if isinstance(raw, Refused) else {} if raw is UNSEEN else to_json(raw)
        return self._plain[step]

    def __contains__(self, step: object) -> bool:
        return step in self._raw

    def __iter__(self) -> Iterator[str]:
        return iter(self._raw)

    def __len__(self) -> int:
        return len(self._raw)
