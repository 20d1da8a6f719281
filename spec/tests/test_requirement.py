import hashlib

import pytest

from workspec.core.requirement import Catalogue, Family, Kind, Requirement


def requirement(id: str, text: str = "It holds.", kind: Kind = Kind.RULE) -> Requirement:  # noqa: A002
    return Requirement(id, text, kind, "CORE")


CATALOGUE = Catalogue(
    "workload",
    "1.0",
    (
        requirement("WRK-CLM-01"),
        requirement("WRK-CLM-02"),
        requirement("WRK-FAL-01"),
        requirement("WRK-FAL-12", kind=Kind.DEFINITION),
    ),
    (Family("WRK-CLM", "claim", "Claim"), Family("WRK-FAL", "fail", "Failure report")),
)


def ids(patterns: list[str]) -> list[str]:
    return [found.id for found in CATALOGUE.matching(patterns)]


def test_an_id_finds_its_requirement() -> None:
    assert CATALOGUE["WRK-CLM-02"] is CATALOGUE.requirements[1]
    assert "WRK-CLM-02" in CATALOGUE
    assert "WRK-CLM-03" not in CATALOGUE
    assert [found.id for found in CATALOGUE] == ["WRK-CLM-01", "WRK-CLM-02", "WRK-FAL-01", "WRK-FAL-12"]
    assert len(CATALOGUE) == 4


@pytest.mark.parametrize("wanted", ["WRK-CLM-03", "wrk-clm-02", "WRK-CML-02"])
def test_an_unknown_id_names_those_that_look_alike(wanted: str) -> None:
    with pytest.raises(KeyError, match=r"did you mean .*WRK-CLM-02"):
        CATALOGUE[wanted]


def test_an_id_like_no_other_names_none() -> None:
    with pytest.raises(KeyError, match=r"has no requirement 'banana'\"?$"):
        CATALOGUE["banana"]


@pytest.mark.parametrize(
    ("patterns", "selected"),
    [
        ([], []),
        (["WRK-FAL-01"], ["WRK-FAL-01"]),
        (["WRK-CLM"], ["WRK-CLM-01", "WRK-CLM-02"]),
        (["WRK-CLM-"], ["WRK-CLM-01", "WRK-CLM-02"]),
        (["claim"], ["WRK-CLM-01", "WRK-CLM-02"]),
        (["Claim", "WRK-CLM-02"], ["WRK-CLM-01", "WRK-CLM-02"]),
        (["fail", "wrk-clm-01"], ["WRK-CLM-01", "WRK-FAL-01", "WRK-FAL-12"]),
        (["WRK"], ["WRK-CLM-01", "WRK-CLM-02", "WRK-FAL-01", "WRK-FAL-12"]),
    ],
)
def test_selection(patterns: list[str], selected: list[str]) -> None:
    assert ids(patterns) == selected


@pytest.mark.parametrize("pattern", ["", "-", "WRK-CL", "WRK-CLM-0", "clai", "fal", "*"])
def test_a_pattern_that_selects_nothing_is_refused(pattern: str) -> None:
    with pytest.raises(KeyError, match="has no requirement"):
        CATALOGUE.matching([pattern])


def test_a_mistyped_family_name_is_suggested() -> None:
    with pytest.raises(KeyError, match="claim"):
        CATALOGUE.matching(["clami"])


def test_one_string_is_no_collection_of_patterns() -> None:
    with pytest.raises(TypeError, match=r"write \['claim'\]"):
        CATALOGUE.matching("claim")


@pytest.mark.parametrize(
    "malformed",
    ["", "WRK-CLM", "WRK-CLM-1", "WRK-CLM-001", "wrk-clm-01", "WRK-CLM-01b", "WRK-CLM-٠١", "WRK-C-01"],
)
def test_a_malformed_id_is_refused(malformed: str) -> None:
    with pytest.raises(ValueError, match="WRK-ABC-12"):
        Catalogue("workload", "1.0", (requirement(malformed),))


@pytest.mark.parametrize("well_formed", ["WRK-CLM-01", "JOB-FAIR-20", "JOB-RO-01"])
def test_a_family_has_two_to_four_letters(well_formed: str) -> None:
    assert well_formed in Catalogue("jobs", "1.0", (requirement(well_formed),))


def test_a_repeated_id_is_refused() -> None:
    with pytest.raises(ValueError, match="WRK-CLM-01 is given twice"):
        Catalogue("workload", "1.0", (requirement("WRK-CLM-01"), requirement("WRK-CLM-01", "Another.")))


def test_a_requirement_outside_the_families_is_refused() -> None:
    with pytest.raises(ValueError, match="WRK-FAL-01 belongs to no family"):
        Catalogue("workload", "1.0", (requirement("WRK-FAL-01"),), (Family("WRK-CLM", "claim", "Claim"),))


def test_a_repeated_family_is_refused() -> None:
    families = (Family("WRK-CLM", "claim", "Claim"), Family("WRK-CLN", "claim", "Claim"))
    with pytest.raises(ValueError, match="family name claim is given twice"):
        Catalogue("workload", "1.0", (), families)


def test_a_requirement_knows_its_family() -> None:
    assert CATALOGUE.family_of("WRK-FAL-12").title == "Failure report"
    with pytest.raises(KeyError, match="did you mean"):
        CATALOGUE.family_of("WRK-FAL-13")
    with pytest.raises(KeyError, match="no family for WRK-CLM"):
        Catalogue("workload", "1.0", (requirement("WRK-CLM-01"),)).family_of("WRK-CLM-01")


def test_the_digest_covers_what_is_demanded() -> None:
    base = Requirement("WRK-CLM-01", "Ends at “end”.", Kind.RULE, "CORE")
    text = '["WRK-CLM-01","Ends at “end”.","rule","CORE"]'
    assert base.digest == hashlib.sha256(text.encode()).hexdigest()[:16]
    same = Requirement("WRK-CLM-01", "Ends at “end”.", Kind.RULE, "CORE", ("inject",), True, "no clock")
    assert same.digest == base.digest
    others = {
        Requirement("WRK-CLM-02", "Ends at “end”.", Kind.RULE, "CORE").digest,
        Requirement("WRK-CLM-01", "Ends.", Kind.RULE, "CORE").digest,
        Requirement("WRK-CLM-01", "Ends at “end”.", Kind.SCENARIO, "CORE").digest,
        Requirement("WRK-CLM-01", "Ends at “end”.", Kind.RULE, "DURABLE").digest,
    }
    assert len(others | {base.digest}) == 5


def test_only_what_can_be_shown_is_counted() -> None:
    assert CATALOGUE["WRK-CLM-01"].counted
    assert not CATALOGUE["WRK-FAL-12"].counted
    silent = Requirement("WRK-CLM-01", "Soon.", Kind.RULE, "CORE", not_asserted="no rate is asserted")
    assert not silent.counted


def test_values_are_frozen_and_comparable() -> None:
    assert requirement("WRK-CLM-01") == requirement("WRK-CLM-01")
    assert hash(requirement("WRK-CLM-01")) == hash(requirement("WRK-CLM-01"))
    assert hash(CATALOGUE) == hash(Catalogue("workload", "1.0", CATALOGUE.requirements, CATALOGUE.families))
    with pytest.raises(AttributeError):
        CATALOGUE["WRK-CLM-01"].text = "no"  # type: ignore[misc]
