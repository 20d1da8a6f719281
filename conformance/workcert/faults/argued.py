"""Faults of which no call can tell, for a reason that no search has to look for.

They leave other records behind, or are none, so that a comparison of decisions does not show it. A reason is asked for
last: what any suite catches is caught, whatever stands here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from workcert.faults.fault import Fault

ARGUED: Final[Mapping[str, Mapping[str, str]]] = {
    "jobs": {
        "a refusal commits an effect: claim_effect: JOB-TXN-04 JOB-PRT-01, bytes of the key < 1": (
            "a claim of the empty key is always refused, so that nobody can ask whether it is held"
        ),
        "a call works on a stale view: claim_effect": "a call inside a transaction has the view of that, which is new",
        "a call works on a stale view: set_rate_limit": "it writes a whole class, whatever was there",
    }
}
"""By contract and name of the fault."""


def argued(contract: str, faults: Iterable[Fault]) -> Mapping[str, str]:
    """Which of these nobody can see, each with the reason."""
    reasons = ARGUED.get(contract, {})
    return {fault.name: f"by argument: {reasons[fault.name]}" for fault in faults if fault.name in reasons}
