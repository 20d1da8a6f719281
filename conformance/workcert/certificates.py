"""The certificates that lie beside the tables, for the page that links both: ``<out>/certificates/<store>/``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from attrs import frozen

FOLDER: Final = "certificates"
FILE: Final = "certificate.json"


class DamagedCertificate(Exception):  # noqa: N818 - a finding about a file
    """A file of this name that is no certificate; the text says which and what to do."""


@frozen
class Certified:
    """What the certificate of a store says of one contract. ``page``: of the certificate, relative to the index."""

    store: str
    contract: str
    version: str
    verdict: str
    tier: str
    digest: str
    page: str


def certificates(folder: Path) -> tuple[Certified, ...]:
    """All certificates below a folder, by store and then in their order.

    Raises:
        OSError: a file cannot be read.
        DamagedCertificate: a file that is none.
    """
    return tuple(found for path in sorted((folder / FOLDER).glob(f"*/{FILE}")) for found in _of(path))


def _of(path: Path) -> Iterator[Certified]:
    store = path.parent.name
    try:
        document: Any = json.loads(path.read_text(encoding="utf-8"))
        for part in document["contracts"]:
            yield Certified(
                store=store,
                contract=str(part["contract"]),
                version=str(part["version"]),
                verdict=str(part["verdict"]),
                tier=str(part["tier"] or ""),
                digest=str(part["digest"]),
                page=f"{FOLDER}/{store}/{Path(FILE).with_suffix('.md')}",
            )
    except (ValueError, KeyError, TypeError) as fault:
        raise DamagedCertificate(
            f"{path} is no certificate ({type(fault).__name__}: {fault}); make it anew with "
            f"'workcert certify BACKEND --out {path.parent}', or remove it"
        ) from fault
