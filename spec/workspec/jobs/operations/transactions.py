"""Effect keys. A transaction has no rules of its own: its calls are decided by the other operations on a private state
(10.1)."""

from __future__ import annotations

from typing import Final

from workspec.core.condition import Term
from workspec.core.rule import Operation, Reply, ids
from workspec.jobs import effects
from workspec.jobs.facts import effect_key
from workspec.jobs.operations.shared import flag, invalid

CLAIM_EFFECT: Final = Operation(
    "claim_effect",
    checks=(
        invalid(
            "JOB-TXN-04 JOB-PRT-01",
            "empty_effect_key",
            Term("bytes of the key", "bytes", "call", lambda scope: len(scope.call["key"].encode())) < 1,
        ),
        Reply(
            ids("JOB-TXN-04"),
            flag("the key is claimed", "store", lambda scope: scope.key in scope.state),
            answer=lambda _scope: False,
        ),
    ),
    steps=(effects.claim_key,),
    answer=lambda _scope, _after: True,
    locate=lambda scope: effect_key(scope.call["key"]),
    requirements=ids("JOB-TXN-04"),
)
