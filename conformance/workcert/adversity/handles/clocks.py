"""A process whose system clock is ahead of that of the others, or behind."""

from __future__ import annotations

import datetime
import time
from typing import Any

from attrs import frozen

from workcert.backends.registry import LoadedBackend
from workcert.children.recipe import Recipe


@frozen
class Skewed:
    """The recipe of a backend in a process with such a clock: set before the adapter is loaded. What asks a server, or
    the library of a database, for the time is not touched by it."""

    recipe: Recipe
    ahead_s: int

    def __call__(self) -> LoadedBackend:
        shift(self.ahead_s)
        return self.recipe()


def shift(ahead_s: int) -> None:
    """Let this process see another time from now on, wherever Python tells it: `time` and `datetime`."""
    ahead_ns = ahead_s * 1_000_000_000
    real_time, real_time_ns = time.time, time.time_ns
    real_clock, real_clock_ns = time.clock_gettime, time.clock_gettime_ns
    at_epoch = {name: getattr(time, name) for name in ("gmtime", "localtime", "ctime")}

    def clock(which: int) -> float:
        return real_clock(which) + (ahead_s if which == time.CLOCK_REALTIME else 0)

    def clock_ns(which: int) -> int:
        return real_clock_ns(which) + (ahead_ns if which == time.CLOCK_REALTIME else 0)

    time.time = lambda: real_time() + ahead_s
    time.time_ns = lambda: real_time_ns() + ahead_ns
    time.clock_gettime, time.clock_gettime_ns = clock, clock_ns
    for name, real in at_epoch.items():
        setattr(time, name, _with_default(real))
    datetime.datetime, datetime.date = _shifted_types()  # type: ignore[misc]


def _with_default(real: Any) -> Any:
    def told(seconds: float | None = None) -> Any:
        return real(time.time() if seconds is None else seconds)

    return told


def _shifted_types() -> tuple[Any, Any]:
    """Types whose own idea of now is that of `time.time`; they make and accept ordinary values."""
    real, real_date = datetime.datetime, datetime.date

    class Meta(type):
        def __instancecheck__(cls, value: object) -> bool:
            return isinstance(value, real)

    class DateMeta(type):
        def __instancecheck__(cls, value: object) -> bool:
            return isinstance(value, real_date)

    class Shifted(real, metaclass=Meta):  # type: ignore[misc, valid-type]
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return real.fromtimestamp(time.time(), tz)

        @classmethod
        def utcnow(cls) -> Any:
            return real.fromtimestamp(time.time(), datetime.UTC).replace(tzinfo=None)

        @classmethod
        def today(cls) -> Any:
            return real.fromtimestamp(time.time())

    class ShiftedDate(real_date, metaclass=DateMeta):  # type: ignore[misc, valid-type]
        @classmethod
        def today(cls) -> Any:
            return real_date.fromtimestamp(time.time())

    return Shifted, ShiftedDate
