"""The stores of this project for the runner of vectors: carriers on one side, plain JSON on the other."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from attrs import define, field

from workcert.backends.protocol import Place
from workcert.backends.registry import LoadedBackend
from workcert.codec import structure, to_json

SERIAL = count()
"""A place is used once."""
JOB_READERS = {
    "checkpoint": "get_checkpoint",
    "result": "get_job_result",
    "output": "get_job_output",
    "progress": "get_job_progress",
}


@define(eq=False)
class BackendStore:
    """One store of a backend, opened with the handles of a vector."""

    backend: LoadedBackend
    names: Sequence[str]
    config: Any
    place: Place
    handles: dict[str, Any] = field(factory=dict)
    at: int | None = None

    def __attrs_post_init__(self) -> None:
        self.handles = {name: self.backend.adapter.open(self.place, self.config) for name in self.names}

    def call(self, on: str, name: str, args: Any, at: int | None, transaction: Any = None) -> Any:
        binding, handle = self.backend.binding, self.handles[on]
        signature = binding.signature(name)
        typed = {each: structure(signature.arguments[each], value, each) for each, value in args.items()}
        if transaction is not None:
            typed["transaction"] = transaction
        elif binding.has_clock and at is not None:
            self.set_clock(on, at)
        elif signature.timed:
            typed["now_s"] = at
        try:
            answer = getattr(handle, name)(**typed)
        except binding.error as refusal:
            details = None if refusal.details is None else to_json(dict(refusal.details))
            return {"error": str(refusal.code), "details": details}
        except Exception as error:
            return {"crash": repr(error)}
        if name.endswith("_clock"):
            self.at = None
        return {"ok": to_json(answer)}

    def set_clock(self, on: str, at: int) -> None:
        if self.at != at:
            self.handles[on].freeze_clock(at_ms=at)
            self.at = at

    def restart(self) -> None:
        for handle in self.handles.values():
            handle.close()
        self.handles = {name: self.backend.adapter.open(self.place, self.config) for name in self.names}
        self.at = None

    def inject(self, on: str, record: Any, version: int | None) -> None:
        binding = self.backend.binding
        self.handles[on].inject(record=structure(binding.record, record, "record"), version=version)

    def begin(self, on: str, at: int) -> Any:
        self.set_clock(on, at)
        return self.handles[on].begin()

    def read(self, row: str) -> tuple[int | None, Any] | None:
        handle = next(iter(self.handles.values()))
        if self.backend.binding.versioned:
            found = handle.get(workload_id=row, fresh=True)
            return None if found is None else (found.version, to_json(found.workload))
        job = handle.get_job(job_id=row, include_payload=True)
        if job is None:
            return None
        further = {name: to_json(getattr(handle, reader)(job_id=row)) for name, reader in JOB_READERS.items()}
        return None, {**to_json(job), **further}

    def close(self) -> None:
        for handle in self.handles.values():
            handle.close()


@contextmanager
def opened(backend: LoadedBackend, header: Any) -> Iterator[BackendStore]:
    """An empty store of a backend for one vector."""
    with tempfile.TemporaryDirectory() as directory:
        store = BackendStore(backend, header["handles"], header["config"], Place(Path(directory), f"v{next(SERIAL)}"))
        try:
            yield store
        finally:
            store.close()
