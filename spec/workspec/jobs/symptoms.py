"""What nobody can read shows itself later, under the id of another rule.

Tokens, held keys, slots, the register, duties and cursors are kept by a store and shown by none of its rows: a fault
in them is seen when an admission, an enqueue or a reading goes wrong because of it. By the id of what is then seen, the
ids of what may have caused it. A case that was written for one of those is about it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from workspec.core.rule import ids


def _all(text: str) -> tuple[str, ...]:
    return ids(" ".join(f"JOB-{each}" for each in text.split()))


TOKENS: Final = _all(
    "RATE-01 RATE-02 RATE-03 RATE-04 RATE-05 RATE-06 RATE-07 RATE-08 RATE-09 RATE-10 RATE-11 RATE-12 RATE-13 RATE-14 "
    "RATE-15 RATE-16 PRT-03 RCL-07 GEN-11 TXN-03"
)
KEYS: Final = _all("UNQ-01 UNQ-03 UNQ-04 UNQ-06 UNQ-07 UNQ-08 UNQ-11 UNQ-13 OPR-05 OPR-11 TXN-01 TXN-02")
SLOTS: Final = _all("BPR-02 BPR-04 BPR-07 BPR-08 BPR-09 BPR-12 PRT-13 QUA-04 UNQ-27 OPR-02")
REGISTER: Final = _all("QUA-01 QUA-02 QUA-03 QUA-05 RCL-03")

SYMPTOMS: Final[Mapping[str, tuple[str, ...]]] = {
    "JOB-RATE-17": TOKENS,
    "JOB-ADM-13": TOKENS,
    "JOB-ADM-02": TOKENS,
    "JOB-ADM-05": (*TOKENS, *REGISTER),
    "JOB-UNQ-02": KEYS,
    "JOB-UNQ-05": KEYS,
    "JOB-UNQ-09": KEYS,
    "JOB-UNQ-20": KEYS,
    "JOB-BPR-02": SLOTS,
    "JOB-BPR-03": SLOTS,
    "JOB-BPR-11": SLOTS,
    "JOB-INS-06": SLOTS,
    "JOB-ENQ-09": REGISTER,
    "JOB-QUA-07": REGISTER,
    "JOB-DTY-01": _all("DTY-02 DTY-03 DTY-04"),
    "JOB-ADM-06": _all("GEN-07 OPR-04 ADM-08 CKP-02"),
    "JOB-ADM-12": _all("STK-02"),
    "JOB-FAIR-03": _all("PAU-01 ADM-14 FAIR-04 FAIR-01 FAIR-02 ADM-13"),
    "JOB-EVT-01": _all("EVT-03 EVT-04 QUA-08"),
    "JOB-ENQ-02": _all("ENQ-10 TYP-01 TYP-02"),
    "JOB-VAL-21": _all("ENQ-05 ENQ-07"),
    "JOB-UNQ-31": _all("ENQ-10 UNQ-23 UNQ-34 UNQ-35"),
    "JOB-ACK-05": _all("ACK-15"),
    "JOB-RCL-02": _all("ACK-15"),
    "JOB-TXN-04": _all("TXN-01"),
    "JOB-GEN-01": _all("ADM-10 RCL-08 UNQ-12 BPR-06"),
}
