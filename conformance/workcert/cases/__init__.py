"""Case files: calls, times, restarts and interleavings with what they must show (FORMAT.md)."""

from workcert.cases.contracts import Contract, Signature, contracts
from workcert.cases.library import builtin_cases, builtin_names, load_case
from workcert.cases.matcher import Difference, match
from workcert.cases.model import (
    FORMAT,
    UNCHANGED,
    Call,
    Case,
    Crash,
    Expectation,
    Frozen,
    Header,
    Inject,
    Ok,
    Plain,
    Refusal,
    Reopen,
    Repeat,
    Restart,
    Step,
    Together,
    calls_of,
    every_step,
    required_abilities,
    unrolled,
    within,
)
from workcert.cases.parse import parse
from workcert.cases.reading import CaseError
from workcert.cases.write import write

__all__ = [
    "FORMAT",
    "UNCHANGED",
    "Call",
    "Case",
    "CaseError",
    "Contract",
    "Crash",
    "Difference",
    "Expectation",
    "Frozen",
    "Header",
    "Inject",
    "Ok",
    "Plain",
    "Refusal",
    "Reopen",
    "Repeat",
    "Restart",
    "Signature",
    "Step",
    "Together",
    "builtin_cases",
    "builtin_names",
    "calls_of",
    "contracts",
    "every_step",
    "load_case",
    "match",
    "parse",
    "required_abilities",
    "unrolled",
    "within",
    "write",
]
