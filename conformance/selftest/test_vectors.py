"""Exported vectors, proved by a runner that knows nothing of the kit: right stores pass, wrong ones do not."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from jsonschema import Draft202012Validator

from workcert.__main__ import main
from workcert.backends.registry import LoadedBackend, describe, find
from workcert.backends.specification import of
from workcert.binding import bindings
from workcert.cases import builtin_cases, load_case
from workcert.cases.model import Frozen, Together, every_step
from workcert.faults.derived import derived
from workcert.faults.fault import Fault
from workcert.tour.library import every_case, tours
from workcert.vectors import LeftOut, Vector, schema, vector_of
from workcert.vectors.choosing import OPEN
from workcert.vectors.files import export, strangers
from workspec.core.choice import ChoiceKind

from .miniatures import VARIANTS
from .miniatures.jobs_other_choices import JOB_VARIANTS
from .vector_runner import Runner, VectorFailed
from .vector_stores import opened

EVERY = {"workload": 4, "jobs": 9}
"""One case of so many is exported here: all of them take half a minute."""
FEW = ("workload/15-stale-worker", "workload/52b-frozen-second-claimer")


def sampled(contract: str) -> tuple[Vector, ...]:
    made = (vector_of(bindings()[contract], case) for case in builtin_cases(contract)[:: EVERY[contract]])
    return tuple(vector for vector in made if isinstance(vector, Vector) and len(vector.steps) < 60)


@pytest.fixture(scope="module")
def vectors() -> Mapping[str, Sequence[Vector]]:
    return {contract: sampled(contract) for contract in bindings()}


def fits(vector: Vector, backend: LoadedBackend) -> bool:
    """What the page asks of a runner before it runs a file."""
    header = vector.header
    able = backend.profiles.issuperset(header["profiles"]) and backend.abilities.issuperset(header["abilities"])
    alike = all(backend.choices.get(choice, value) == value for choice, value in header["choices"].items())
    return able and alike and backend.configurable.issuperset(header["config"])


def failures(backend: LoadedBackend, vectors: Iterable[Vector]) -> Iterator[str]:
    for vector in vectors:
        if not fits(vector, backend):
            continue
        with opened(backend, vector.header) as store:
            try:
                Runner(store).run(vector.text().removesuffix("\n").split("\n"))
            except VectorFailed as failed:
                yield f"{vector.name}: {failed}"


# Stores --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", ["workstore.backends:MEMORY", "workcert.backends.specification:SPECIFICATION"])
def test_right_stores_pass(vectors: Mapping[str, Sequence[Vector]], spec: str) -> None:
    for backend in find(spec):
        own = vectors[backend.binding.name]
        assert sum(fits(vector, backend) for vector in own) >= 0.8 * len(own) >= 16
        assert list(failures(backend, own)) == []


NOT_WHOLE = ("not shown", "of its own", "maps", "CORE alone")
"""Their adapters need what only a runner of their own would have: a map of codes, a list of what they do not keep."""


@pytest.mark.parametrize("number", range(3))
def test_stores_that_take_another_choice_pass(vectors: Mapping[str, Sequence[Vector]], number: int) -> None:
    """Each of them over some of the vectors; together they see all."""
    for variant in VARIANTS[number::3]:
        if not any(text in variant.name for text in NOT_WHOLE):
            assert list(failures(describe(variant.name, variant.make()), vectors["workload"][number::3])) == []
    for job_variant in JOB_VARIANTS[number::3]:
        if not any(text in job_variant.name for text in NOT_WHOLE):
            with job_variant.applied() as made:
                assert list(failures(describe(job_variant.name, made), vectors["jobs"][number::3])) == []


WRONG = 12


def test_wrong_stores_fail(vectors: Mapping[str, Sequence[Vector]]) -> None:
    """Faults as the rules give them, each over the vectors that make one of its calls, until there are enough."""
    faults = derived(bindings()["workload"])
    seen = (fault.name for fault in faults[:: len(faults) // 60] if shows(fault, vectors["workload"]))
    assert len(list(islice(seen, WRONG))) == WRONG


def shows(fault: Fault, vectors: Sequence[Vector]) -> bool:
    concerned = [each for each in vectors if fault.touched & {step.get("call") for step in each.steps}]
    return next(failures(describe(fault.name, fault.make()), concerned), None) is not None


def test_a_row_that_nobody_named_is_compared_too() -> None:
    """A claim that changed its row although the vector says that it does not: only the rows tell."""
    vector = vector_of(bindings()["workload"], load_case("workload/15-stale-worker"))
    assert isinstance(vector, Vector)
    first, claim, *rest = vector.steps
    assert claim["call"] == "claim"
    hushed = evolve(vector, steps=(first, {**claim, "rows": []}, *rest))
    backend = describe("right", of(bindings()["workload"]))
    assert list(failures(backend, [vector])) == []
    (found,) = failures(backend, [hushed])
    assert "c1: state of " in found
    assert "is CLAIMED, not READY" in found


# Lines ---------------------------------------------------------------------------------------------------------------


def test_every_line_fits_the_schema(vectors: Mapping[str, Sequence[Vector]]) -> None:
    Draft202012Validator.check_schema(schema())
    validator = Draft202012Validator(schema())
    for vector in (*vectors["workload"][::4], *vectors["jobs"][::3]):
        for line in vector.text().removesuffix("\n").split("\n"):
            assert validator.is_valid(json.loads(line)), line[:300]


@pytest.mark.parametrize(
    "stray",
    [
        {"record": {}},
        {"expect": {"ok": {"$anything": True}}},
        {"expect": {"error": "X"}},
        {"rows": [{"id": "x"}]},
        {"args": {"a": {"$ref": 1}}},
        {"id": ""},
    ],
)
def test_a_line_that_is_none_does_not(vectors: Mapping[str, Sequence[Vector]], stray: dict[str, Any]) -> None:
    validator = Draft202012Validator(schema())
    step = next(step for step in vectors["workload"][0].steps if "call" in step)
    assert validator.is_valid(step)
    assert not validator.is_valid({**step, **stray})


def test_what_a_store_chooses_is_no_literal(vectors: Mapping[str, Sequence[Vector]]) -> None:
    """Neither the reference's own values nor the marks of the export stand in a line as they are."""
    own = re.compile(r"/claim-\d|/attempt-\d|~[a-z]|workload_[0-9a-f]{24}")
    for vector in vectors["workload"]:
        if "migrate" not in vector.text() and "inject" not in vector.text():
            assert own.search(vector.text()) is None, vector.name


def test_every_free_choice_is_left_open_in_its_way() -> None:
    free = {c.id for b in bindings().values() for c in b.contract.choices if c.kind is ChoiceKind.FREE}
    assert free == OPEN.keys()


def test_a_vector_names_the_choice_that_it_hangs_on() -> None:
    binding = bindings()["workload"]
    held = {
        case.header.name: vector_of(binding, case) for case in builtin_cases("workload") if "hbt" in case.header.name
    }
    found = {choice for each in held.values() if isinstance(each, Vector) for choice in each.header["choices"]}
    assert "G-11.shorter-lease" in found
    assert "G-22.first-delay" not in found


def test_what_runs_at_once_is_left_out_with_a_reason() -> None:
    for contract, binding in bindings().items():
        for case in builtin_cases(contract):
            if any(isinstance(step, Together | Frozen) for step in every_step(case.steps)):
                made = vector_of(binding, case)
                assert isinstance(made, LeftOut)
                assert made.reason.startswith(("calls at once", "a call held"))


def test_what_hangs_on_the_order_of_a_sweep_is_left_out() -> None:
    made = vector_of(bindings()["jobs"], load_case("jobs/prm-03-limits-of-a-promotion"))
    assert made == LeftOut(
        "jobs/prm-03-limits-of-a-promotion", "what the contract leaves to the store decides what comes after"
    )


# Files and the command -----------------------------------------------------------------------------------------------


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = tuple(map(load_case, FEW))
    monkeypatch.setattr("workcert.vectors.files.every_case", lambda name: cases if name == "workload" else ())


def contents(directory: Path) -> dict[Path, bytes]:
    return {path.relative_to(directory): path.read_bytes() for path in directory.rglob("*.*")}


@pytest.mark.usefixtures("few")
def test_files_are_the_same_on_each_run(tmp_path: Path) -> None:
    for name in ("one", "two"):
        export(bindings().values(), tmp_path / name)
    one, two = (
        {p.relative_to(d): p.read_bytes() for p in d.rglob("*.*")} for d in (tmp_path / "one", tmp_path / "two")
    )
    assert one == two
    assert {str(path) for path in one} == {"VECTORS.md", "vectors.schema.json", "workload/15-stale-worker.jsonl"}
    assert str(tmp_path).encode() not in b"".join(one.values())
    assert "| `workload/` | 1.0 | 1 | " in one[Path("VECTORS.md")].decode()


@pytest.mark.usefixtures("few")
def test_command_counts_what_it_leaves_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = tmp_path / "workload" / "gone.jsonl"
    old.parent.mkdir()
    old.write_text("", encoding="utf-8")
    assert main(["vectors", "--contract", "workload", "--out", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "workload 1.0: 1 vector, " in said
    assert "left out: 1 case: a call held between its halves" in said
    assert f"Note: {old} was there, and no export has written it" in said


@pytest.mark.usefixtures("few")
def test_profiles_narrow_the_export(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["vectors", "--contract", "workload", "--out", str(tmp_path), "--profile", "DURABLE"]) == 0
    assert "1 case: cases of a profile that was not asked for" in capsys.readouterr().out
    assert main(["vectors", "--out", str(tmp_path), "--profile", "DURABEL"]) == 2
    assert "Did you mean DURABLE?" in capsys.readouterr().err


def test_tours_are_exported_too() -> None:
    names = {case.header.name for case in every_case("jobs")}
    assert {tour.case.header.name for tour in tours("jobs")} < names
    assert {case.header.name for case in builtin_cases("jobs")} < names
    assert not isinstance(vector_of(bindings()["jobs"], tours("jobs")[0].case), LeftOut)


@pytest.mark.usefixtures("few")
def test_what_an_earlier_export_has_left_goes_first(tmp_path: Path) -> None:
    earlier = export((bindings()["workload"],), tmp_path)
    assert list(strangers(earlier, tmp_path)) == []
    own = tmp_path / "workload" / "notes.txt"
    own.write_text("not ours", encoding="utf-8")
    assert list(tmp_path.rglob("*.jsonl"))
    later = export((bindings()["jobs"],), tmp_path)
    assert not list((tmp_path / "workload").rglob("*.jsonl"))
    assert list(strangers(later, tmp_path)) == []
    assert own.is_file()
    assert "`workload/`" not in (tmp_path / "VECTORS.md").read_text(encoding="utf-8")


@pytest.mark.usefixtures("few")
def test_an_export_that_broke_off_is_cleared_too(tmp_path: Path) -> None:
    export((bindings()["workload"],), tmp_path)
    (tmp_path / "VECTORS.md").unlink()
    export((bindings()["jobs"],), tmp_path)
    assert not list((tmp_path / "workload").rglob("*.jsonl"))
