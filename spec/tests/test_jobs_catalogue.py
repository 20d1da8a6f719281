import re
from itertools import pairwise

import pytest

from workspec.core.requirement import Kind, Requirement
from workspec.jobs.profiles import ABILITIES, CORE, DURABLE, LIMITS, PROFILES, TIERS, WRITERS, tier_of
from workspec.jobs.requirements import CATALOGUE, FAMILIES
from workspec.jobs.vocabulary import ErrorCode, Outcome

# The contract's numbers: an id that goes missing, or a new one, is a change of the contract.
NUMBERS = {
    "JOB-GEN": [*range(1, 13)],
    "JOB-TYP": [*range(1, 9)],
    "JOB-KND": [1],
    "JOB-FPR": [1],
    "JOB-HLP": [*range(1, 5)],
    "JOB-TRN": [*range(1, 29), 31, 32],
    "JOB-ENQ": [*range(1, 19)],
    "JOB-VAL": [*range(23)],
    "JOB-UNQ": [*range(1, 14), *range(20, 28), *range(30, 36)],
    "JOB-BPR": [*range(1, 13)],
    "JOB-ADM": [*range(1, 15)],
    "JOB-FAIR": [*range(1, 6)],
    "JOB-STK": [*range(1, 7)],
    "JOB-RATE": [*range(1, 18)],
    "JOB-ACK": [*range(1, 19)],
    "JOB-RNW": [*range(1, 6)],
    "JOB-CKP": [*range(1, 6)],
    "JOB-RCL": [*range(1, 9)],
    "JOB-QUA": [*range(1, 9)],
    "JOB-PRM": [*range(1, 5)],
    "JOB-EVT": [*range(1, 6)],
    "JOB-DTY": [*range(1, 6)],
    "JOB-PAU": [*range(1, 4)],
    "JOB-RES": [*range(1, 6)],
    "JOB-OUT": [*range(1, 4)],
    "JOB-PRG": [*range(1, 5)],
    "JOB-RO": [1],
    "JOB-OPR": [*range(1, 13)],
    "JOB-INS": [*range(1, 9)],
    "JOB-CAP": [1, 2],
    "JOB-TXN": [*range(1, 9)],
    "JOB-CLK": [*range(1, 6)],
    "JOB-AST": [*range(1, 8)],
    "JOB-DUR": [*range(1, 4)],
    "JOB-MWR": [1, 2],
    "JOB-INV": [*range(1, 16)],
    "JOB-PRT": [*range(1, 14)],
}


def numbered(prefix: str, *numbers: int) -> set[str]:
    return {f"{prefix}-{number:02}" for number in numbers}


PROFILE_IDS = {
    "PAUSE": {"JOB-ENQ-15"} | numbered("JOB-PAU", 1, 2, 3),
    "RATE": {"JOB-RCL-07", "JOB-INV-06"} | numbered("JOB-RATE", *range(1, 16)),
    "RESULT": numbered("JOB-RES", *range(1, 6)),
    "OUTPUT": {"JOB-RO-01", "JOB-INV-12"} | numbered("JOB-OUT", 1, 2, 3),
    "PROGRESS": numbered("JOB-PRG", *range(1, 5)),
    "CLOCK": numbered("JOB-CLK", *range(1, 6)),
    "INSPECT": numbered("JOB-OPR", *range(1, 13))
    | numbered("JOB-INS", *range(1, 9))
    | numbered("JOB-TRN", 4, 5, *range(20, 26), 27, 32)
    | numbered("JOB-QUA", *range(4, 8))
    | numbered("JOB-INV", 5, 8, 10, 11, 13, 14)
    | numbered("JOB-PRT", 3, 5, 8, 9, 10, 11, 13)
    | numbered("JOB-ENQ", 17, 18)
    | numbered("JOB-ACK", 16, 17)
    | numbered("JOB-RATE", 16, 17)
    | {"JOB-CKP-05", "JOB-STK-06"},
    "BACKPRESSURE": {"JOB-UNQ-27"} | numbered("JOB-BPR", *range(1, 13)),
    "TXN": numbered("JOB-PRT", 6, 7) | numbered("JOB-TXN", *range(1, 9)),
    "LIMITS": numbered("JOB-VAL", 0, *range(3, 9)) | numbered("JOB-PRT", 4, 12),
    "DURABLE": numbered("JOB-DUR", 1, 2, 3),
    "WRITERS": {"JOB-GEN-01", "JOB-UNQ-12", "JOB-ADM-10", "JOB-RCL-08"} | numbered("JOB-MWR", 1, 2),
}

CLIENT_CODE = (
    numbered("JOB-AST", *range(1, 8))
    | numbered("JOB-HLP", *range(1, 5))
    | numbered("JOB-TXN", 6, 7, 8)
    | {"JOB-ACK-18", "JOB-CAP-02"}
)

REASONS = [
    *["batch_too_large", "empty_id", "bad_kind", "identifier_too_long", "payload_too_large", "unique_key_too_long"],
    *["too_many_headers", "headers_too_large", "batch_bytes", "negative_timeout", "negative_deadline"],
    *["negative_retention", "negative_window", "negative_debounce", "debounce_needs_lifecycle_key"],
    *["unknown_replace_bits", "replace_needs_key", "too_many_tags", "bad_tag", "repeated_tag"],
    *["pending_with_schedule", "bad_sticky_worker", "bad_periodic_pair", "replace_needs_single", "bad_lease"],
    *["lease_lost_not_ackable", "snooze_needs_delay", "unknown_outcome", "schema_zero", "schema_too_large"],
    *["too_large", "progress_zero_total", "progress_over_total", "progress_total_too_large"],
    *["progress_message_too_long", "progress_message_nul", "wrong_state", "bad_schema_version", "bad_rate_class"],
    *["bad_limit", "bad_page_limit", "foreign_transaction", "empty_effect_key"],
]

FORBIDDEN = re.compile(
    r"\bseed\b|\bupstream|\bedition|\bE[12]\b|\bmemstore\b|\bsqlite\b|\bpostgres|\bredis\b|\bsection\b|\bours\b"
    r"|\bdecision\]|\[[a-z]|\b(?:A|P|S|X|SIM)-?[0-9]+\b|  |\n|->|→|≠|≤|≥",
    re.IGNORECASE,
)


def each_requirement() -> list[object]:
    return [pytest.param(requirement, id=requirement.id) for requirement in CATALOGUE]


def test_every_number_of_every_family_is_there_once() -> None:
    wanted = [f"{family.prefix}-{n:02}" for family in FAMILIES for n in NUMBERS[family.prefix]]
    assert [requirement.id for requirement in CATALOGUE] == wanted
    assert len(CATALOGUE) == 327


def test_every_family_is_named_once_and_has_requirements() -> None:
    assert [family.prefix for family in FAMILIES] == list(NUMBERS)
    for family in FAMILIES:
        found = CATALOGUE.matching([family.name])
        assert [r.prefix for r in found] == [family.prefix] * len(NUMBERS[family.prefix])


def test_what_is_not_built_is_left_out() -> None:
    assert not any(id in CATALOGUE for id in ("JOB-ADM-20", "JOB-FAIR-20", "JOB-CON-01", "JOB-TRN-33"))  # noqa: A001
    assert not {profile.name for profile in PROFILES} & {"QUANTUM", "QWEIGHT", "CONCURRENCY", "NOTIFY"}


@pytest.mark.parametrize("requirement", each_requirement())
def test_a_text_is_a_few_whole_sentences(requirement: Requirement) -> None:
    text = requirement.text
    assert text.endswith(".")
    assert text == text.strip()
    assert text[0].isupper() or text[0] == "`"
    assert text.count("`") % 2 == 0
    assert text.count("(") == text.count(")")
    assert 1 <= len(re.findall(r"\.(?= |$)", text)) <= 3


@pytest.mark.parametrize("requirement", each_requirement())
def test_a_text_speaks_of_this_contract_only(requirement: Requirement) -> None:
    for text in (requirement.text, requirement.not_asserted or ""):
        assert FORBIDDEN.search(text) is None, FORBIDDEN.search(text)


@pytest.mark.parametrize("requirement", each_requirement())
def test_a_text_refers_to_what_exists(requirement: Requirement) -> None:
    for other in re.findall(r"JOB-[A-Z]+-[0-9]+", requirement.text):
        assert other in CATALOGUE
        assert other != requirement.id
    for code in re.findall(r"`([A-Z][A-Za-z]+)[`(]", requirement.text):
        assert code in {*ErrorCode, "K", "G"}, f"{code} is no code"
    for reason in re.findall(r"`Invalid\(([^)]*)\)`", requirement.text):
        assert reason in REASONS, f"{reason} is no reason"


def test_no_two_texts_are_equal() -> None:
    assert len({requirement.text for requirement in CATALOGUE}) == len(CATALOGUE)
    assert len({requirement.digest for requirement in CATALOGUE}) == len(CATALOGUE)


def test_every_code_reason_and_outcome_is_explained() -> None:
    texts = " ".join(requirement.text for requirement in CATALOGUE)
    assert [code for code in ErrorCode if f"`{code.value}" not in texts] == []
    unexplained = [reason for reason in REASONS if f"`Invalid({reason})`" not in texts]
    assert unexplained == []
    assert [outcome for outcome in Outcome if outcome.value.replace("_", " ") not in texts.replace("_", " ")] == []


def test_each_requirement_belongs_to_a_profile_and_needs_known_abilities() -> None:
    profiles = {profile.name: profile for profile in PROFILES}
    for requirement in CATALOGUE:
        profile = profiles[requirement.profile]
        assert set(requirement.abilities) <= ABILITIES
        assert not set(requirement.abilities) & set(profile.abilities), "the profile needs them already"
    for profile in PROFILES:
        assert set(profile.abilities) <= ABILITIES


def test_profiles_hold_what_they_are_for() -> None:
    held = {name: {r.id for r in CATALOGUE if r.profile == name} for name in PROFILE_IDS}
    assert held == PROFILE_IDS
    assert {profile.name for profile in PROFILES} == {*PROFILE_IDS, CORE}


def test_each_profile_asserts_something() -> None:
    """A profile of which nothing is counted could never be passed."""
    counted = {r.profile for r in CATALOGUE if r.counted}
    assert counted == {profile.name for profile in PROFILES}


def test_abilities() -> None:
    needed = {profile.name: profile.abilities for profile in PROFILES if profile.abilities}
    assert needed == {DURABLE: ("restart",), WRITERS: ("second_handle",)}
    assert {r.id: r.abilities for r in CATALOGUE if r.abilities} == {
        "JOB-BPR-06": ("second_handle",),
        "JOB-PRT-07": ("second_handle",),
    }


def test_kinds() -> None:
    assert {r.id for r in CATALOGUE if r.kind is Kind.DEFINITION} == {
        *("JOB-TYP-08", "JOB-FPR-01", "JOB-CLK-05", "JOB-PRT-01")
    }
    invariants = {r.id for r in CATALOGUE if r.kind is Kind.INVARIANT}
    assert numbered("JOB-INV", *range(1, 16)) <= invariants
    assert numbered("JOB-GEN", *range(5, 11)) <= invariants
    rules = {r.id for r in CATALOGUE if r.kind is Kind.RULE}
    assert {r.id for r in CATALOGUE if r.prefix in ("JOB-VAL", "JOB-TRN")} - rules == {"JOB-TRN-28"}
    assert not any(r.provisional for r in CATALOGUE)


def test_what_is_not_asserted() -> None:
    unasserted = {r.id: r.not_asserted for r in CATALOGUE if r.not_asserted}
    assert {id for id, why in unasserted.items() if why.startswith("Client code")} == CLIENT_CODE  # noqa: A001
    assert {id for id, why in unasserted.items() if why.startswith("Rates")} == {"JOB-ENQ-17", "JOB-ACK-16"}  # noqa: A001
    assert set(unasserted) - CLIENT_CODE == {"JOB-ENQ-17", "JOB-ACK-16", "JOB-TYP-06", "JOB-CAP-01", "JOB-PRT-07"}
    parts = {r.id for r in CATALOGUE if "not asserted" in r.text}
    assert parts == {"JOB-INS-06", "JOB-INS-08", "JOB-QUA-07"}


def test_sizes_are_limits_and_negatives_are_not() -> None:
    assert CATALOGUE["JOB-VAL-09"].profile == CORE
    assert CATALOGUE["JOB-VAL-19"].profile == CORE
    assert CATALOGUE["JOB-VAL-08"].profile == LIMITS


DOUBLE = ["CORE", "CLOCK", "PAUSE", "RATE", "RESULT", "OUTPUT", "PROGRESS"]


@pytest.mark.parametrize(
    ("passed", "tier"),
    [
        ([], None),
        (["DURABLE", "WRITERS"], None),
        (["CORE"], "basic"),
        (["CORE", "DURABLE", "WRITERS", "LIMITS"], "basic"),
        (DOUBLE, "double"),
        (DOUBLE[1:], None),
        ([*DOUBLE, "DURABLE", "LIMITS"], "double"),
        ([*DOUBLE, "DURABLE", "LIMITS", "WRITERS"], "durable"),
        ([*DOUBLE, "DURABLE", "LIMITS", "WRITERS", "INSPECT", "BACKPRESSURE"], "durable"),
        ([profile.name for profile in PROFILES], "complete"),
    ],
)
def test_the_tier_follows_from_what_has_passed(passed: list[str], tier: str | None) -> None:
    reached = tier_of(passed)
    assert (reached and reached.name) == tier


def test_tiers_are_nested() -> None:
    for lower, higher in pairwise(TIERS):
        assert lower.profiles < higher.profiles
    assert TIERS[-1].profiles == {profile.name for profile in PROFILES}


def test_an_unknown_profile_has_no_tier() -> None:
    with pytest.raises(ValueError, match=r"\['core'\]; it has CORE, PAUSE"):
        tier_of(["core"])
