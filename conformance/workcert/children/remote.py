"""A handle whose calls are made by a child."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attrs import define

from workcert.backends.registry import LoadedBackend
from workcert.children.family import Child
from workcert.children.messages import Died
from workcert.run.calling import Answered, Crashed, Refusal, Unavailable


class RemoteCrash(Exception):  # noqa: N818 - a finding about the backend
    """The call raised what no store may raise, or ended its process."""


@define(eq=False)
class Remote:
    """Stands for the handle that a child has opened: answers, refusals and unavailability come out as they would of
    that."""

    _backend: LoadedBackend
    _child: Child

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_") or name not in self._child.methods:
            raise AttributeError(name)

        def made(**arguments: Any) -> Any:
            return self._answer(self._child.call(name, arguments))

        return made

    def _answer(self, ended: Any) -> Any:
        match ended:
            case Answered(value):
                return value
            case Refusal(_code, details, raw):
                raise self._backend.binding.error(raw, details)
            case Unavailable(definite, text):
                raise self._backend.binding.unavailable(text, definite=definite)
            case Crashed(text):
                raise RemoteCrash(f"it raised {text}")
            case Died(signal):
                raise RemoteCrash(f"its process ended by signal {signal}" if signal else "it ended its process")
        raise AssertionError(f"unknown answer {ended!r}")
