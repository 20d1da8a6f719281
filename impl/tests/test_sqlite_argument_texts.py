"""What the refusals of wrong types say: the one rule that is broken, and by which of several members of one name."""

from __future__ import annotations

import re
from typing import Any

import pytest

from workspec.workload.vocabulary import Dependency


@pytest.fixture
def kind() -> str:
    return "sqlite"


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"priority": "1"}, "priority must be int or None, not str"),
        ({"trigger": 1}, "trigger must be str or None, not int"),
        ({"timeouts": {"queue_ms": True}}, "queue_ms must be int or None, not bool"),
        ({"tenant_id": 1}, "tenant_id must be str, not int"),
        ({"authorization_snapshot": {"tenant_id": 1}}, "authorization_snapshot.tenant_id must be str, not int"),
        (
            {"dependencies": (Dependency(1, "READY"),)},  # type: ignore[arg-type]
            "workload_id of a member of dependencies must be str, not int",
        ),
        (
            {"capability_snapshot": "email:send"},
            "capability_snapshot must be a sequence of str, not one str: put it into a list",
        ),
        ({"capability_snapshot": {"email:send"}}, "capability_snapshot must be a sequence of str, not set"),
    ],
)
def test_wrong_types_in_a_request(store: Any, asking: Any, changes: dict[str, Any], text: str) -> None:
    request = asking(**{"authorization_snapshot": {}, **changes})
    with pytest.raises(TypeError, match=rf"\A{re.escape(text)}\Z"):
        store.admit(request=request)
