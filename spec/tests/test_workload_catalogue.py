import re
from itertools import pairwise

import pytest

from workspec.core.requirement import Kind, Requirement
from workspec.workload.profiles import (
    ABILITIES,
    CORE,
    INJECT,
    LEGACY,
    PROFILES,
    TIERS,
    WRITERS,
    tier_of,
)
from workspec.workload.requirements import CATALOGUE, FAMILIES
from workspec.workload.vocabulary import AttemptStatus, ErrorCode, State

# The contract's numbers: an id that goes missing, or a new one, is a change of the contract.
LENGTHS = {
    "WRK-GEN": 11,
    "WRK-ADM": 15,
    "WRK-REP": 7,
    "WRK-CLM": 11,
    "WRK-FNC": 5,
    "WRK-STR": 4,
    "WRK-HBT": 3,
    "WRK-CTX": 5,
    "WRK-CKP": 4,
    "WRK-CMP": 10,
    "WRK-FAL": 16,
    "WRK-TMO": 6,
    "WRK-CAN": 7,
    "WRK-RTY": 8,
    "WRK-DLN": 10,
    "WRK-EDL": 10,
    "WRK-REC": 9,
    "WRK-DEC": 11,
    "WRK-ART": 10,
    "WRK-MWR": 10,
    "WRK-LEG": 3,
    "WRK-MIG": 5,
    "WRK-ROW": 3,
    "WRK-INV": 15,
    "WRK-PRT": 12,
}

PROFILE_IDS = {
    "DURABLE": ["WRK-REP-06", "WRK-INV-14"],
    "DEPENDENCIES": ["WRK-CLM-08"],
    "SECRETS": ["WRK-GEN-08", "WRK-GEN-09", "WRK-ADM-03", "WRK-CTX-05", "WRK-PRT-03"],
    "LEGACY": [
        *["WRK-REP-07", "WRK-FAL-16", "WRK-DLN-01", "WRK-LEG-01", "WRK-LEG-02", "WRK-LEG-03"],
        *["WRK-ROW-01", "WRK-ROW-02", "WRK-ROW-03", "WRK-PRT-07"],
    ],
    "MIGRATION": [*[f"WRK-MIG-0{n}" for n in range(1, 6)], "WRK-PRT-04", "WRK-PRT-05"],
}

DEFINITIONS = [
    *["WRK-ADM-01", "WRK-CLM-11", "WRK-FNC-05", "WRK-FAL-01", "WRK-REC-07"],
    *["WRK-MWR-01", "WRK-MWR-10", "WRK-PRT-01", "WRK-PRT-10"],
]

FORBIDDEN = re.compile(
    r"\brust\b|\bhidden\b|\bvisible\b|\bsource\b|\bdiff\b|\bours\b|\bsection\b|\binferred\b|\brecommend"
    r"|\[[A-Z](?:\b|,)|\b[GP]-[0-9]|  |\n|→|≠|≤|≥",
    re.IGNORECASE,
)


def each_requirement() -> list[object]:
    return [pytest.param(requirement, id=requirement.id) for requirement in CATALOGUE]


def test_every_number_of_every_family_is_there() -> None:
    wanted = [f"{prefix}-{n:02}" for prefix, length in LENGTHS.items() for n in range(1, length + 1)]
    assert [requirement.id for requirement in CATALOGUE] == wanted_in_printed_order(wanted)


def wanted_in_printed_order(wanted: list[str]) -> list[str]:
    order = [family.prefix for family in FAMILIES]
    return sorted(wanted, key=lambda id: (order.index(id.rpartition("-")[0]), id))  # noqa: A006


def test_every_family_is_named_once_and_has_requirements() -> None:
    assert sorted(family.prefix for family in FAMILIES) == sorted(LENGTHS)
    for family in FAMILIES:
        assert [r.prefix for r in CATALOGUE.matching([family.name])] == [family.prefix] * LENGTHS[family.prefix]


@pytest.mark.parametrize("requirement", each_requirement())
def test_a_text_is_one_to_three_sentences(requirement: Requirement) -> None:
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
    for other in re.findall(r"WRK-[A-Z]+-[0-9]+", requirement.text):
        assert other in CATALOGUE
        assert other != requirement.id
    known = {*State, *AttemptStatus, *ErrorCode}
    for word in re.findall(r"(?<![-A-Za-z_])[A-Z]{2,}(?:_[A-Z]+)+(?![A-Za-z_])", requirement.text):
        assert word in known, f"{word} is no state, no attempt status and no code"


def test_no_two_texts_are_equal() -> None:
    assert len({requirement.text for requirement in CATALOGUE}) == len(CATALOGUE)
    assert len({requirement.digest for requirement in CATALOGUE}) == len(CATALOGUE)


def test_every_code_is_explained() -> None:
    texts = " ".join(requirement.text for requirement in CATALOGUE)
    assert [code for code in ErrorCode if f"`{code.value}`" not in texts] == []


def test_each_requirement_belongs_to_a_profile_and_needs_known_abilities() -> None:
    profiles = {profile.name: profile for profile in PROFILES}
    for requirement in CATALOGUE:
        profile = profiles[requirement.profile]
        assert set(requirement.abilities) <= ABILITIES
        assert not set(requirement.abilities) & set(profile.abilities), "the profile needs them already"


def test_profiles_hold_what_they_are_for() -> None:
    for name, wanted in PROFILE_IDS.items():
        assert {r.id for r in CATALOGUE if r.profile == name} == set(wanted)
    several_writers = {r.id for r in CATALOGUE if r.profile == WRITERS}
    assert {f"WRK-MWR-{n:02}" for n in range(1, 11)} <= several_writers
    assert {"WRK-ADM-10", "WRK-ADM-15", "WRK-CMP-10", "WRK-EDL-04", "WRK-REC-09"} <= several_writers


def test_the_core_needs_no_ability() -> None:
    """Else a store that can do nothing but open could never be certified at all."""
    assert [r.id for r in CATALOGUE if r.profile == CORE and r.abilities] == []
    assert [profile.name for profile in PROFILES if INJECT in profile.abilities] == [LEGACY]
    assert [r.id for r in CATALOGUE if INJECT in r.abilities] == []


def test_kinds() -> None:
    assert {r.id for r in CATALOGUE if r.kind is Kind.DEFINITION} == set(DEFINITIONS)
    invariants = {r.id for r in CATALOGUE if r.kind is Kind.INVARIANT}
    assert invariants == {f"WRK-INV-{n:02}" for n in range(1, 16)} | {f"WRK-GEN-0{n}" for n in range(2, 6)}
    assert {r.id for r in CATALOGUE if r.not_asserted} == {"WRK-ADM-08", "WRK-ART-08", "WRK-ART-10"}
    assert not any(r.provisional for r in CATALOGUE)


@pytest.mark.parametrize(
    ("passed", "tier"),
    [
        ([], None),
        (["DURABLE", "WRITERS"], None),
        (["CORE"], "basic"),
        (["CORE", "SECRETS", "WRITERS"], "basic"),
        (["DURABLE", "CORE"], "durable"),
        (["DURABLE", "CORE", "WRITERS", "LEGACY"], "shared"),
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
    with pytest.raises(ValueError, match=r"\['core'\]; it has CORE, DURABLE"):
        tier_of(["core"])
