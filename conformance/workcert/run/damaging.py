"""A file of the store that is found damaged: what is said of it, and what is shown all the same."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from attrs import define, field

from workcert.cases.model import Damage
from workcert.children import Child, Died, Remote, RemoteCrash, cannot
from workcert.judge.differences import differences
from workcert.judge.verdict import Failure, Kind, StepRun
from workcert.raised import told
from workcert.run.calling import Answered, Crashed, Unavailable
from workspec.core.record import State
from workspec.core.scope import Trace

if TYPE_CHECKING:
    from workcert.run.execution import Execution

REFUSED: Final = "refused"
RIGHT: Final = "right"
EARLIER: Final = "an earlier state"
UNNOTICED: Final = "wrong, and nobody need notice"
OTHERS: Final = b"\xa5"
"""What stands where others are to stand."""


@define
class Seen:
    """``rows``: what was shown, None where there is no record; ``total``: how many there are, where that was told."""

    rows: dict[str, Any] = field(factory=dict)
    total: int | None = None
    refusal: str = ""
    trouble: str = ""


def run_damage(execution: Execution, step: Damage) -> StepRun:
    """Take the files as they lie, damage one, and look at what a process of its own makes of it.

    Raises:
        CallHung: the store does not answer.
        BackendError: no process of its own can be had.
    """
    why = cannot(execution.store.backend)
    place = execution.store.place.path
    kept = {} if why else _files(place)
    if not why and step.file not in kept:
        why = f"the store has no file {step.file}: it has {', '.join(sorted(kept)) or 'none'}"
    if why:
        return execution.left_out(step, why, elsewhere=True)
    execution.store.abandon()
    _put_back(place, {**kept, step.file: damaged(kept[step.file], step)})
    execution.damaged = True
    seen = _seen(execution)
    execution.history.append(execution.judge.state)
    note, failure = _judged(execution, step, seen)
    ids = execution.binding.contract.comparisons["restart"]
    name = f"damage, {step.how}"
    trace = Trace(requirements=list(ids))
    given = {"file": step.file, "at": step.at, "length": step.length}
    return StepRun(step.id, "", None, name, given, None, None, (), failure, (trace,), note=step.note or note)


def damaged(content: bytes, step: Damage) -> bytes | None:
    """The file as it is found; None where it is gone."""
    match step.how:
        case "removed":
            return None
        case "cut":
            return content[: step.at]
    end = min(step.at + step.length, len(content))
    others = (b"\0" if step.how == "zeroed" else OTHERS) * max(end - step.at, 0)
    return content[: step.at] + others + content[end:]


def _files(place: Path) -> dict[str, bytes]:
    return {
        path.relative_to(place).as_posix(): path.read_bytes() for path in sorted(place.rglob("*")) if path.is_file()
    }


def _put_back(place: Path, files: Mapping[str, bytes | None]) -> None:
    for entry in place.iterdir():
        if entry.is_dir():
            shutil.rmtree(entry)
        else:
            entry.unlink()
    for name, content in files.items():
        if content is not None:
            path = place / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


# What is shown ---------------------------------------------------------------------------------------------------


def _seen(execution: Execution) -> Seen:
    child = execution.store.child()
    try:
        return _read(execution, child)
    finally:
        child.kill()


def _read(execution: Execution, child: Child) -> Seen:
    seen = Seen()
    match child.open(execution.store.place, execution.store.config):
        case Answered():
            pass
        case Unavailable(_definite, text):
            seen.refusal = text
            return seen
        case Crashed(text):
            seen.trouble = f"opening it raised {text}"
            return seen
        case Died(signal):
            seen.trouble = f"opening it ended the process by signal {signal}"
            return seen
        case other:
            raise AssertionError(f"unknown answer {other!r}")
    backend, remote = execution.store.backend, Remote(execution.store.backend, child)
    keys = dict.fromkeys(key for state in execution.history for key in state if execution.judge.legible(key))
    for key in keys:
        try:
            found = backend.binding.read(remote, key)
        except backend.binding.unavailable as error:
            seen.refusal = str(error)
            continue
        except (RemoteCrash, TypeError, ValueError) as error:
            seen.trouble = f"reading {key}: {told(error)}"
            return seen
        seen.rows[key] = None if found is None else found.record
    _count(execution, remote, seen)
    return seen


def _count(execution: Execution, remote: Remote, seen: Seen) -> None:
    backend = execution.store.backend
    try:
        if backend.binding.total is not None:
            seen.total = backend.binding.total(remote)
        elif backend.can("snapshot"):
            seen.total = len(remote.snapshot())
    except backend.binding.unavailable as error:
        seen.refusal = str(error)
    except (RemoteCrash, TypeError, ValueError) as error:
        seen.trouble = f"counting the records: {told(error)}"


# The verdict -----------------------------------------------------------------------------------------------------


def _judged(execution: Execution, step: Damage, seen: Seen) -> tuple[str, Failure | None]:
    where = f"{step.file} was {step.how}"
    ids = execution.binding.damaged
    if seen.trouble:
        return "", Failure(
            ids, Kind.CRASH, f"{where}, and the store does not say that it is unavailable: {seen.trouble}"
        )
    if not seen.rows and seen.refusal:
        return f"{REFUSED}: {seen.refusal}", None
    present, *earlier = execution.history[::-1]
    misfit = _misfit(execution, present, seen)
    if not misfit:
        return f"{REFUSED}: {seen.refusal}" if seen.refusal else RIGHT, None
    if any(not _misfit(execution, state, seen) for state in earlier):
        if step.how == "zeroed" and step.at == 0 and execution.runs and execution.runs[-1].call == "restart":
            # Nothing was on its way to another file, and what does not begin as its file should is easily known.
            text = f"{where} at its beginning, and the store shows an earlier state as if nothing had been"
            return "", Failure(ids, Kind.RESTART, text)
        return EARLIER, None
    if step.how == "overwritten":
        return UNNOTICED, None
    text = f"{where}, and the store shows a state that it never was in: {misfit}"
    return "", Failure(ids, Kind.RESTART, text)


def _misfit(execution: Execution, state: State, seen: Seen) -> str:
    """What was shown is not of this state; empty if all of it is."""
    for key, record in seen.rows.items():
        if key not in state or record is None:
            if (key in state) != (record is not None):
                return f"{key} is {'not ' if record is None else ''}there"
            continue
        found = differences(execution.judge.presented(key, state[key]), record)
        if found:
            return f"the record of {key} differs in {found[0].path}"
    expected = sum(map(execution.binding.legible, state))
    return f"there are {seen.total} rows, not {expected}" if seen.total not in (None, expected) else ""
