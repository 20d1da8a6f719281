"""What a process writes down before and after each of its calls, and how that is read again.

Each line is written at once and stays when the process is killed: nothing is synchronised to a disk, since only the
process dies and not the machine. Instants are those of the system's monotonic clock, which all processes share: of two
calls it is known that one had ended before the other began, and nothing else is ever concluded from them.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import attrs
from attrs import define, field, frozen

TAIL_BYTES: Final = 4096


@define(eq=False)
class Notebook:
    """The pen of one process."""

    _descriptor: int
    _number: int = 0

    @classmethod
    def at(cls, path: Path) -> Notebook:
        return cls(_appending(path))

    def ask(self, call: str, about: Mapping[str, Any]) -> int:
        """Before a call; the number by which `told` names it."""
        self._number += 1
        self._write({"n": self._number, "at": time.monotonic_ns(), "ask": call, **about})
        return self._number

    def told(self, number: int, answer: Mapping[str, Any]) -> None:
        """After it. ``answer`` is one of ``{"ok": ...}``, ``{"no": code}``, ``{"busy": text}`` (not done for certain),
        ``{"unknown": text}`` and ``{"crash": text}``."""
        self._write({"n": number, "at": time.monotonic_ns(), "told": answer})

    def broken(self, text: str) -> None:
        """The process cannot go on."""
        self._write({"broken": text})

    def _write(self, line: Mapping[str, Any]) -> None:
        os.write(self._descriptor, json.dumps(line, separators=(",", ":")).encode() + b"\n")


@define(eq=False)
class Pool:
    """Names that everybody may use: the latest of them."""

    _path: Path
    _descriptor: int

    @classmethod
    def at(cls, path: Path) -> Pool:
        return cls(path, _appending(path))

    def put(self, names: list[str]) -> None:
        os.write(self._descriptor, "".join(f"{name}\n" for name in names).encode())

    def latest(self) -> list[str]:
        with self._path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - TAIL_BYTES))
            lines = file.read().decode().split("\n")[:-1]
        return lines if size <= TAIL_BYTES else lines[1:]


def _appending(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)


@frozen
class Deed:
    """One call of one process: what it asked, and what it was told, None where it was killed before: then ``told_ns``
    is an instant at which the process was gone."""

    who: str
    number: int
    call: str
    about: Mapping[str, Any]
    asked_ns: int
    told: Mapping[str, Any] | None
    told_ns: int

    @property
    def ok(self) -> bool:
        """It was told that the call was done."""
        return self.told is not None and "ok" in self.told

    @property
    def answer(self) -> Any:
        return None if self.told is None else self.told.get("ok")

    @property
    def open(self) -> bool:
        """Nobody was told whether it was done."""
        return self.told is None or "unknown" in self.told or "crash" in self.told

    @property
    def possible(self) -> bool:
        """It may have been done."""
        return self.ok or self.open

    @property
    def crash(self) -> str:
        return "" if self.told is None else self.told.get("crash", "")

    def before(self, other: Deed) -> bool:
        """This one had ended, and its process knew it, before the other one began."""
        return self.told is not None and self.told_ns < other.asked_ns


@define(eq=False)
class Reading:
    """The notes of one process as far as they are written."""

    path: Path
    who: str
    deeds: list[Deed] = field(factory=list)
    broken: str = ""
    _offset: int = 0
    _asked: dict[int, dict[str, Any]] = field(factory=dict)

    def more(self) -> list[Deed]:
        """The calls that have come to an end since the last time."""
        found: list[Deed] = []
        for line in self._lines():
            if "broken" in line:
                self.broken = line["broken"]
            elif "ask" in line:
                self._asked[line["n"]] = line
            else:
                found.append(_deed(self.who, self._asked.pop(line["n"]), line))
        self.deeds.extend(found)
        return found

    def rest(self) -> list[Deed]:
        """When the process has ended: the call in which it was killed, if it was in one."""
        self.more()
        now_ns = time.monotonic_ns()
        left = [attrs.evolve(_deed(self.who, line, None), told_ns=now_ns) for line in self._asked.values()]
        self._asked.clear()
        self.deeds.extend(left)
        return left

    def _lines(self) -> Iterator[dict[str, Any]]:
        if not self.path.exists():
            return
        with self.path.open("rb") as file:
            file.seek(self._offset)
            for raw in file:
                if not raw.endswith(b"\n"):
                    return
                self._offset += len(raw)
                yield json.loads(raw)


def _deed(who: str, asked: Mapping[str, Any], told: Mapping[str, Any] | None) -> Deed:
    about = {name: value for name, value in asked.items() if name not in ("n", "at", "ask")}
    answer, told_ns = (None, 0) if told is None else (told["told"], told["at"])
    return Deed(who, asked["n"], asked["ask"], about, asked["at"], answer, told_ns)
