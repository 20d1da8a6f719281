"""The operations of the workload contract (section 3): checks in their order, then effects."""

from typing import Final

from workspec.workload.operations.admission import ADMIT
from workspec.workload.operations.migration import MIGRATE
from workspec.workload.operations.operators import ACKNOWLEDGE_CANCEL, CANCEL, RETRY, TIME_OUT
from workspec.workload.operations.passes import ENFORCE_DEADLINES, RECOVER_EXPIRED
from workspec.workload.operations.reads import GET, LIST
from workspec.workload.operations.worker import (
    CHECKPOINT,
    CLAIM,
    COMPLETE,
    EXECUTION_CONTEXT,
    FAIL,
    HEARTBEAT,
    START,
)

OPERATIONS: Final = (
    ADMIT,
    CLAIM,
    START,
    HEARTBEAT,
    EXECUTION_CONTEXT,
    CHECKPOINT,
    COMPLETE,
    FAIL,
    TIME_OUT,
    CANCEL,
    ACKNOWLEDGE_CANCEL,
    RETRY,
    ENFORCE_DEADLINES,
    RECOVER_EXPIRED,
    MIGRATE,
    GET,
    LIST,
)

__all__ = [
    "ACKNOWLEDGE_CANCEL",
    "ADMIT",
    "CANCEL",
    "CHECKPOINT",
    "CLAIM",
    "COMPLETE",
    "ENFORCE_DEADLINES",
    "EXECUTION_CONTEXT",
    "FAIL",
    "GET",
    "HEARTBEAT",
    "LIST",
    "MIGRATE",
    "OPERATIONS",
    "RECOVER_EXPIRED",
    "RETRY",
    "START",
    "TIME_OUT",
]
