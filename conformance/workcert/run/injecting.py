"""A record that is put into the store as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workcert.cases.model import Inject
from workcert.codec import CodecError, structure
from workcert.judge.verdict import StepRun
from workcert.references import ReferenceFault, resolve
from workcert.run.reading import Unreadable

if TYPE_CHECKING:
    from workcert.run.execution import Execution


def run_inject(execution: Execution, step: Inject) -> StepRun:
    try:
        record = structure(execution.binding.record, resolve(step.record, execution.answers), "record")
    except (ReferenceFault, CodecError) as fault:
        return execution.left_out(step, str(fault))
    why = execution.binding.injectable(record)
    if why:
        return execution.left_out(step, why)
    with execution.store.ability("inject"):
        execution.store.handle(step.on).inject(record=record, version=step.version)
    key = execution.binding.key_of(record)
    execution.rows.clear()
    row = execution.read(key)
    legible = execution.judge.legible(key)
    if row is None and legible and not execution.store.reads:
        raise Unreadable(f"no record was ever read back, nor is {key} found after handle.inject()")
    if row is None and legible:
        execution.store.accuse("inject", f"a read finds no record of {key} after handle.inject()")
    execution.judge.inject(execution.binding.contract.absorb(record, step.version), step.version)
    if step.version is not None and row is not None:
        # The numbers of versions are the store's own.
        execution.judge.versions[key] = row.version
    execution.history.append(execution.judge.state)
    execution.answers.put(step.id, record)
    return StepRun(step.id, step.on, None, "inject", {"record": record}, None, None, note=step.note or "")
