"""Why a call is Invalid: the reason that its check gives."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Final

from workspec.core.rule import (
    Refuse,
)
from workspec.jobs.vocabulary import ErrorCode

_NOTHING: Final[Any] = SimpleNamespace(facts=SimpleNamespace(state=""))
"""Stands for a scope: the reason of a check is the same in every one."""


def reason_of(check: Refuse) -> str:
    """The ``reason`` of an Invalid; empty for the other codes, which have none."""
    if check.code != ErrorCode.INVALID or check.details is None:
        return ""
    return str(check.details(_NOTHING)["reason"])
