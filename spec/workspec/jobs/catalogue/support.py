"""What tests of job handlers use: the clock and the assertions.

Families: JOB-CLK, JOB-AST.
"""

from __future__ import annotations

from typing import Final

from workspec.core.requirement import Kind, Requirement
from workspec.jobs.profiles import CLOCK, CORE

CLOCKS: Final = (
    Requirement(
        "JOB-CLK-01",
        "The clock has three verbs: stop at an instant, step by a difference, return to the time of the system.",
        Kind.RULE,
        CLOCK,
    ),
    Requirement(
        "JOB-CLK-02",
        "While the clock is stopped, now is constant across any number of operations.",
        Kind.SCENARIO,
        CLOCK,
    ),
    Requirement(
        "JOB-CLK-03",
        "Stepping a running clock first stops it at the present instant of the system and then adds; stepping "
        "a stopped clock adds to where it stands.",
        Kind.RULE,
        CLOCK,
    ),
    Requirement(
        "JOB-CLK-04",
        "Moving the clock changes no job by itself; effects appear only at the next operation or sweep.",
        Kind.SCENARIO,
        CLOCK,
    ),
    Requirement(
        "JOB-CLK-05",
        "Steps of the clock are not negative. After a step back the gain of a bucket is 0.",
        Kind.DEFINITION,
        CLOCK,
    ),
)

ASSERTIONS: Final = (
    Requirement(
        "JOB-AST-01",
        "A stored job matches a description if its kind is equal and each given matcher (queue, payload, due "
        "time, partition key) equals the stored value.",
        Kind.RULE,
        CORE,
        not_asserted="Client code; tested with the library.",
    ),
    Requirement(
        "JOB-AST-02",
        "Without a count at least one match is required; with one, exactly that many, 0 included.",
        Kind.RULE,
        CORE,
        not_asserted="Client code; tested with the library.",
    ),
    Requirement(
        "JOB-AST-03",
        "Success returns the matches in the order of their ids. Every row present counts whatever its state, "
        "and removed rows do not.",
        Kind.RULE,
        CORE,
        not_asserted="Client code; tested with the library.",
    ),
    Requirement(
        "JOB-AST-04",
        "The text of a failure restates every given matcher, the number of matches and the number of stored "
        "jobs, lists up to 20 stored jobs with id, kind, queue, partition key, due time and payload, says how "
        "many more exist, and says plainly when the store is empty.",
        Kind.RULE,
        CORE,
        not_asserted="Client code; tested with the library.",
    ),
    Requirement(
        "JOB-AST-05",
        "The form that does not raise returns the text; the form that raises raises with it.",
        Kind.RULE,
        CORE,
        not_asserted="Client code; tested with the library.",
    ),
    Requirement(
        "JOB-AST-06",
        "The state of a job is a copy of its envelope and its state, or none; its errors are listed oldest "
        "first, empty for an unknown id; counts are those of one queue or of all.",
        Kind.RULE,
        CORE,
        not_asserted="Client code; tested with the library.",
    ),
    Requirement(
        "JOB-AST-07",
        "`drain` promotes up to 10,000 due jobs, admits once with the given capacity and a lease of 30 "
        "seconds, runs each claim and acks it. `perform_job` does the same with capacity 1 and returns id, "
        "kind and outcome, or none.",
        Kind.RULE,
        CORE,
        not_asserted="Client code; tested with the library.",
    ),
)
