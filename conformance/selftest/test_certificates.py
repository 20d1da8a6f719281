"""The certificates that are checked in: of this specification, whole, and linked by the index."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from workcert.binding import bindings
from workcert.certificates import FILE, FOLDER, DamagedCertificate, certificates
from workcert.report.json_report import schema
from workcert.tables import check_index, write_index
from workspec.core.contract import digest

REPORTS = Path(__file__).parents[2] / "reports"
STORES = ("memory", "sqlite")
PARTS = [(store, contract) for store in STORES for contract in bindings()]


def certificate(store: str) -> Any:
    return json.loads((REPORTS / FOLDER / store / FILE).read_text(encoding="utf-8"))


@pytest.mark.parametrize("store", STORES)
def test_it_is_a_certificate_of_both_contracts(store: str) -> None:
    document = certificate(store)
    jsonschema.validate(document, schema())
    assert document["header"]["kind"] == "certificate"
    assert [part["contract"] for part in document["contracts"]] == list(bindings())


@pytest.mark.parametrize(("store", "contract"), PARTS)
def test_it_speaks_of_this_specification(store: str, contract: str) -> None:
    (part,) = (each for each in certificate(store)["contracts"] if each["contract"] == contract)
    how = f"the rules changed; make it anew: workcert certify {store} --out reports/{FOLDER}/{store}"
    assert part["digest"] == digest(bindings()[contract].contract), how
    assert (part["backend"], part["verdict"]) == (store, "conformant")
    assert (part["run"]["seed"], part["run"]["effort"], part["run"]["narrowed"]) == (0, "ci", False)
    left = {each["id"] for each in part["requirements"] if each["status"] == "not_exercised"}
    assert left == set()


def test_every_requirement_has_its_result() -> None:
    for part in certificate("sqlite")["contracts"]:
        named = [each["id"] for each in part["requirements"]]
        assert named == [requirement.id for requirement in bindings()[part["contract"]].contract.catalogue]


def test_the_index_names_them_and_says_which_are_old(tmp_path: Path) -> None:
    target = tmp_path / FOLDER / "mine"
    target.mkdir(parents=True)
    parts = [
        {"contract": "workload", "version": "1.0", "verdict": "conformant", "tier": "complete", "digest": "0" * 16},
        {"contract": "jobs", "version": "1.0", "verdict": "incomplete", "tier": None, "digest": "1" * 16},
    ]
    (target / FILE).write_text(json.dumps({"contracts": parts}))
    write_index(tmp_path)
    text = (tmp_path / "index.md").read_text()
    assert "[mine](certificates/mine/certificate.md) | workload 1.0 | conformant | complete" in text
    assert text.count("of an older text") == 2
    assert check_index(tmp_path) == []
    parts[0]["verdict"] = "not conformant"
    (target / FILE).write_text(json.dumps({"contracts": parts}))
    assert [difference.problem for difference in check_index(tmp_path)] == ["differs"]


@pytest.mark.parametrize("text", ["", "[]", '{"contracts": [{}]}', '{"contracts": 3}'])
def test_what_is_no_certificate_is_named(tmp_path: Path, text: str) -> None:
    target = tmp_path / FOLDER / "mine"
    target.mkdir(parents=True)
    (target / FILE).write_text(text)
    with pytest.raises(DamagedCertificate, match=r"certificate\.json is no certificate"):
        certificates(tmp_path)
