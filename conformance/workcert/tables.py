"""The generated tables on disk: written into ``<out>/<contract>/``, and compared with what the rules give now.

Above them stands ``<out>/index.md``, which links the pages of every contract, whichever were asked for, and the
certificates in ``<out>/certificates/<store>/``.

`run` is the command ``workcert tables``; its answer is the exit code: 0 done or all equal, 1 a file differs, 2 could
not run.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Final

from attrs import frozen

from workcert.certificates import DamagedCertificate, certificates
from workcert.faults import page as faults
from workcert.faults.grades import CAUGHT, EQUIVALENT, SURVIVED, Grades, kept
from workcert.search import stored
from workspec.core.contract import Contract, digest
from workspec.jobs.contract import CONTRACT as JOBS
from workspec.render.markdown import GENERATED, code, plain, table
from workspec.render.pages import INDEX, overview, render
from workspec.workload.contract import CONTRACT as WORKLOAD

DEFAULT_OUT: Final = Path("reports")
CONTRACTS: Final[Mapping[str, Contract]] = {contract.name: contract for contract in (WORKLOAD, JOBS)}
"""The contracts with tables, in the order in which the index lists them."""

DIFFERS, MISSING, SUPERFLUOUS = "differs", "is missing", "is no longer generated"
STALE: Final = "is of an older specification; to search anew"


@frozen
class Difference:
    """One file that is not as generated. ``line`` counts from 1; ``found`` and ``generated`` are its text on either
    side, None past the end of one of them."""

    path: Path
    problem: str
    line: int | None = None
    found: str | None = None
    generated: str | None = None

    @property
    def text(self) -> str:
        if self.line is None:
            return f"{self.path} {self.problem}"
        return "\n".join(
            (
                f"{self.path} {self.problem}, first in line {self.line}:",
                f"  in the file: {_shown(self.found)}",
                f"  generated:   {_shown(self.generated)}",
            )
        )


LONGEST_SHOWN: Final = 160


def _shown(line: str | None) -> str:
    if line is None:
        return "(the text ends before)"
    return line if len(line) <= LONGEST_SHOWN else f"{line[:LONGEST_SHOWN]}..."


def write_tables(contract: Contract, directory: Path) -> tuple[Path, ...]:
    """Write all pages of the contract into ``directory`` and remove those that are no longer generated.

    Files without the mark of a generated one are left alone, whatever their names.

    Raises:
        OSError: the directory or a file cannot be written.
    """
    return _write_files(render(contract, searched=stored.read(directory)), directory)


def check_tables(contract: Contract, directory: Path) -> list[Difference]:
    """What in ``directory`` is not as `write_tables` would leave it; an empty list when all is.

    Raises:
        OSError: a file cannot be read.
    """
    searched = stored.read(directory)
    found = _check_files(render(contract, searched=searched), directory)
    if searched is not None and searched.digest != digest(contract):
        found.append(Difference(directory / stored.NAME, f"{STALE}: workcert search {contract.name} --all --write"))
    return found


def write_index(folder: Path) -> tuple[Path, ...]:
    """Write the page that links the pages of all contracts.

    Raises:
        OSError: the folder or the file cannot be written.
    """
    return _write_files(_index(folder), folder)


def check_index(folder: Path) -> list[Difference]:
    """What is not as `write_index` would leave it.

    Raises:
        OSError: the file cannot be read.
    """
    return _check_files(_index(folder), folder)


def _index(folder: Path) -> Mapping[str, str]:
    grades = [found for name in CONTRACTS if (found := kept(name)) is not None]
    further = (*_certificate_blocks(folder), *_fault_blocks(grades))
    pages = {faults.NAME: faults.page(grades)} if grades else {}
    return {INDEX: overview(CONTRACTS.values(), further), **pages}


def _fault_blocks(grades: Sequence[Grades]) -> tuple[str, ...]:
    """What the suites catch, in numbers, with the page that tells of each fault."""
    if not grades:
        return ()
    rows = [
        (
            plain(f"{each.contract} {each.version}"),
            *(str(len(each.of(fates))) for fates in (CAUGHT, (EQUIVALENT,), (SURVIVED,))),
            code(each.digest),
        )
        for each in grades
    ]
    headers = ("contract", "caught", "cannot be told from the right store", "survived", "digest of the specification")
    said = f"Faults that were seeded on purpose, and what became of [each of them]({faults.NAME})."
    return ("## What a pass is worth", said, table(headers, rows))


def _certificate_blocks(folder: Path) -> tuple[str, ...]:
    """The certificates that are there; one of an older specification says so."""
    found = certificates(folder)
    if not found:
        return ()
    now = {name: digest(contract) for name, contract in CONTRACTS.items()}
    rows = [
        (
            f"[{plain(each.store)}]({each.page})",
            plain(f"{each.contract} {each.version}"),
            plain(each.verdict),
            plain(each.tier),
            code(each.digest) if now.get(each.contract) == each.digest else f"{code(each.digest)}, of an older text",
        )
        for each in found
    ]
    headers = ("store", "contract", "verdict", "tier", "digest of the specification")
    return ("## Certificates", "What the kit says of the stores of this project.", table(headers, rows))


def _write_files(files: Mapping[str, str], directory: Path) -> tuple[Path, ...]:
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (directory / name).write_text(text, encoding="utf-8", newline="\n")
    for path in _superfluous(files, directory):
        path.unlink()
    return tuple(directory / name for name in files)


def _check_files(files: Mapping[str, str], directory: Path) -> list[Difference]:
    differences = [
        difference for name, text in files.items() if (difference := _compare(directory / name, text)) is not None
    ]
    return differences + [Difference(path, SUPERFLUOUS) for path in _superfluous(files, directory)]


def _compare(path: Path, generated: str) -> Difference | None:
    if not path.is_file():
        return Difference(path, MISSING)
    found = _text(path)
    if found == generated:
        return None
    pairs = zip_longest(found.split("\n"), generated.split("\n"))
    line, (left, right) = next((number, pair) for number, pair in enumerate(pairs, 1) if pair[0] != pair[1])
    return Difference(path, DIFFERS, line, left, right)


def _text(path: Path) -> str:
    """Line ends are not compared, because git may change them at a checkout; bytes that are no text just differ."""
    return path.read_text(encoding="utf-8", errors="replace")


def _superfluous(files: Iterable[str], directory: Path) -> list[Path]:
    """Generated pages that no rule asks for any more."""
    if not directory.is_dir():
        return []
    known = set(files)
    suspects = (path for path in sorted(directory.iterdir()) if path.suffix in (".md", ".svg") and path.is_file())
    return [path for path in suspects if path.name not in known and GENERATED in _text(path)]


def run(check: bool, contracts: Iterable[str] = (), out: Path | str | None = None) -> int:
    """``workcert tables [--check] [--contract C] [--out DIR]``: the exit code, after messages on standard output, or on
    standard error where it could not run.

    ``contracts`` are names, none for all; ``out`` is the folder that holds one folder for each contract.
    """
    names = tuple(dict.fromkeys(contracts)) or tuple(CONTRACTS)
    unknown = [name for name in names if name not in CONTRACTS]
    if unknown:
        return _complain(f"no such contract: {', '.join(unknown)}; there is {', '.join(CONTRACTS)}")
    folder = DEFAULT_OUT if out is None else Path(out)
    act = _check if check else _write
    try:
        return max(act(names, folder))
    except (DamagedCertificate, stored.DamagedSearch) as error:
        return _complain(str(error))
    except OSError as error:
        return _complain(f"{error}; is {folder} the right folder? Name another with --out DIR")


def _complain(text: str) -> int:
    print(f"workcert tables: {text}", file=sys.stderr)
    return 2


def _write(names: Iterable[str], folder: Path) -> Iterator[int]:
    for name in names:
        directory = folder / name
        print(f"wrote {len(write_tables(CONTRACTS[name], directory))} files into {directory}")
        yield 0
    print(f"wrote {', '.join(map(str, write_index(folder)))}")
    yield 0


def _check(names: Iterable[str], folder: Path) -> Iterator[int]:
    place = "" if folder == DEFAULT_OUT else f" --out {folder}"
    for name in names:
        directory = folder / name
        differences = check_tables(CONTRACTS[name], directory)
        yield _told(differences, directory, f"workcert tables --contract {name}{place}")
    yield _told(check_index(folder), folder / INDEX, f"workcert tables{place}")


def _told(differences: Iterable[Difference], place: Path, remedy: str) -> int:
    """Say what differs in a place and how to mend it."""
    texts = [difference.text for difference in differences]
    if not texts:
        print(f"{place}: all tables are as the specification generates them")
        return 0
    print("\n".join(texts))
    print(f"The rules or a file changed. To write the tables anew: {remedy}")
    return 1
