"""A runner of exported vectors as somebody would write it in another language: JSON, references and matchers alone.

It knows nothing of the kit; the store that it runs on is an object with the five methods of `VectorStore`.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable
from typing import Any, Protocol


class VectorStore(Protocol):
    """An empty store; what it answers is ``{"ok": JSON}`` or ``{"error": code, "details": JSON}``; anything
    else is a crash."""

    def call(self, on: str, name: str, args: Any, at: int | None, transaction: Any = None) -> Any: ...
    def restart(self) -> None: ...
    def inject(self, on: str, record: Any, version: int | None) -> None: ...
    def read(self, row: str) -> tuple[int | None, Any] | None: ...
    def begin(self, on: str, at: int) -> Any: ...


class VectorFailed(Exception):  # noqa: N818 - a verdict
    pass


class Runner:
    def __init__(self, store: VectorStore) -> None:
        self.store = store
        self.answers: dict[str, Any] = {}
        self.kept: dict[str, Any] = {}
        self.rows: dict[str, Any] = {}
        self.versions: dict[str, int | None] = {}

    def run(self, lines: Iterable[str]) -> None:
        _header, *steps, end = map(json.loads, lines)
        self.check(end == {"end": len(steps)}, "the file was cut")
        for step in steps:
            if "restart" in step:
                self.store.restart()
            elif "inject" in step:
                self.store.inject(step["on"], self.value(step["inject"]), step["version"])
            elif "call" in step:
                self.make(step, step["on"], step.get("at_s", step.get("at_ms")))
            else:
                self.transaction(step)
            self.compare_rows(step["rows"], step["id"])

    def transaction(self, step: Any) -> None:
        transaction = self.store.begin(step["on"], step["at_ms"])
        for call in step["tx"]:
            self.make(call, step["on"], None, transaction)
        self.compare_rows([], f"{step['id']} before its end")
        getattr(transaction, step["end"])()
        for call in step["after"]:
            self.make(call, step["on"], None, transaction)

    def make(self, step: Any, on: str, at: Any, transaction: Any = None) -> None:
        seen = self.store.call(on, step["call"], self.value(step["args"]), self.value(at), transaction)
        self.answers[step["id"]] = seen.get("ok")
        expect = step.get("expect", {})
        allowed = expect.get("one_of", [expect])
        self.check(any(self.match(each, seen) for each in allowed), f"{step['id']}: {seen} is not {expect}")

    def compare_rows(self, changed: Any, step: str) -> None:
        moved = [self.value(each["id"]) for each in changed]
        for row, each in zip(moved, changed, strict=True):
            self.rows[row] = None if each["has"] is None else {**(self.rows.get(row) or {}), **each["has"]}
        for row, members in self.rows.items():
            version, seen = self.store.read(row) or (None, None)
            self.check((seen is None) == (members is None), f"{step}: row {row} is {seen}")
            for name in members or {}:
                # A store that has no reader for a member leaves it out.
                fits = name not in seen or self.match(members[name], seen[name])
                self.check(fits, f"{step}: {name} of {row} is {seen.get(name)}, not {members[name]}")
            if version is not None:
                told = (self.versions.get(row) != version) == (row in moved)
                self.check(told, f"{step}: row {row} has version {version} after {self.versions.get(row)}")
            self.versions[row] = version

    def check(self, right: bool, text: str) -> None:
        if not right:
            raise VectorFailed(text[:2000])

    # Values and matchers -------------------------------------------------------------------------------------------

    def value(self, node: Any) -> Any:
        """A value of a call, or of a matcher that is one."""
        if isinstance(node, list):
            return [self.value(each) for each in node]
        if not isinstance(node, dict):
            return node
        match next((name for name in node if name.startswith("$")), None):
            case None:
                return {name: self.value(each) for name, each in node.items()}
            case "$value":
                return {name: self.value(each) for name, each in node["$value"].items()}
            case "$ref":
                found = self.referred(node["$ref"])
                return found if len(node) == 1 else found + node.get("plus", node.get("append"))
            case "$keep":
                return self.kept[node["$keep"]]
            case "$int":
                return int(node["$int"])
            case "$bytes":
                return base64.b64decode(node["$bytes"])
            case "$utf8":
                return self.value(node["$utf8"]).encode()
            case "$repeat":
                return node["$repeat"]["text"] * node["$repeat"]["count"]
            case "$text":
                return "".join(str(self.value(part)) for part in node["$text"])
            case "$copies":
                body = node["$copies"]
                of, member = self.value(body["of"]), body["member"]
                numbers = range(body["first"], body["first"] + body["count"])
                return [{**of, member: f"{of[member]}{number:0{body['digits']}d}"} for number in numbers]
        raise VectorFailed(f"an unknown form: {node}")

    def referred(self, path: str) -> Any:
        step, rest = re.fullmatch(r"([\w#-]+)(.*)", path).groups()  # type: ignore[union-attr]
        found = self.answers[step]
        for name, index in re.findall(r"\.([^.\[\]]+)|\[(-?\d+)\]", rest):
            found = found[name] if name else found[int(index)]
        return found

    def match(self, wanted: Any, seen: Any) -> bool:
        if isinstance(wanted, list):
            return isinstance(seen, list) and len(seen) == len(wanted) and all(map(self.match, wanted, seen))
        if not isinstance(wanted, dict):
            return type(wanted) is type(seen) and bool(wanted == seen)
        match next((name for name in wanted if name.startswith("$")), None):
            case None:
                return isinstance(seen, dict) and all(self.match(each, seen.get(n)) for n, each in wanted.items())
            case "$keep":
                if wanted["$keep"] not in self.kept and self.match(wanted["if"], seen):
                    self.kept[wanted["$keep"]] = seen
                return wanted["$keep"] in self.kept and self.same(self.kept[wanted["$keep"]], seen)
            case "$any":
                return seen is not None
            case "$one_of":
                return any(self.match(each, seen) for each in wanted["$one_of"])
            case "$none_of":
                return not any(self.match(each, seen) for each in wanted["$none_of"])
            case "$all":
                return all(self.match(each, seen) for each in wanted["$all"])
            case "$starts_with":
                return isinstance(seen, str) and seen.startswith(wanted["$starts_with"])
            case "$contains":
                return isinstance(seen, str) and wanted["$contains"] in seen
            case "$greater":
                return type(seen) is int and seen > self.value(wanted["$greater"])
            case "$exactly":
                members = wanted["$exactly"].get("$value", wanted["$exactly"])
                whole = isinstance(seen, dict) and seen.keys() == members.keys()
                return whole and all(self.match(each, seen[name]) for name, each in members.items())
            case "$unordered":
                return isinstance(seen, list) and self.pairs(wanted["$unordered"], list(seen))
            case "$rising":
                return isinstance(seen, list) and self.pairs(wanted["$rising"], list(seen)) and seen == sorted(seen)
            case "$list":
                left = [each for each in seen if not self.match(wanted["passing"], each)]
                return self.match(wanted["$list"], left)
            case "$sample":
                fits = len(seen) <= wanted["$sample"]["at_most"] and len(set(seen)) == len(seen)
                return fits and set(seen) <= set(wanted["$sample"]["of"])
            case "$reason":
                return bool(wanted["$reason"] == seen)
        return self.same(self.value(wanted), seen)

    def pairs(self, wanted: list[Any], left: list[Any]) -> bool:
        for each in wanted:
            place = next((index for index, seen in enumerate(left) if self.match(each, seen)), None)
            if place is None:
                return False
            left.pop(place)
        return not left

    def same(self, wanted: Any, seen: Any) -> bool:
        return type(wanted) is type(seen) and bool(wanted == seen)
