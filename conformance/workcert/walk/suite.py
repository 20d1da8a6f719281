"""The walk suite: many walks, each of a seed of its own, every step judged."""

from __future__ import annotations

import contextlib
import gc
import time
from collections.abc import Iterator
from random import Random
from typing import Any, Final

from workcert.machines.histories import history_of
from workcert.machines.rules import Rule, rules_of
from workcert.run.calling import watched
from workcert.run.campaign import Campaign, StepFailed
from workcert.run.engine import Effort, Options
from workcert.run.events import Emit, SuiteEnded, SuiteStarted
from workcert.run.store import StoreUnderTest
from workcert.walk.weights import Weights

STEPS: Final = {Effort.QUICK: 60, Effort.CI: 60, Effort.DEEP: 90}
"""Of one walk; the last rule may go a few steps beyond."""
LOOKS_EVERY: Final = 8
"""So often, in steps, a walk looks at the records that a call is not about, and at the end of it: to read all of them
takes as long as a fifth of the rest, and what goes wrong with one stays wrong until somebody looks. A walk that fails
is made again as a case, which looks at them after every step."""
IDLE: Final = "pass_turn"
"""A rule for drivers that must always be offered one; a walk passes a turn by itself."""
LEFT_BEHIND: Final = 20_000
"""So many objects are made and not freed before the collector of cycles looks at them."""
MOST_IDLE: Final = 30
"""Turns that pass with nothing to do: a store that has so few methods offers no more."""


def run_walk(store: StoreUnderTest, options: Options, emit: Emit) -> Campaign:
    """As many walks as the options ask for. Walk n of a seed is the same on any store, whatever failed before it."""
    began = time.perf_counter()
    wanted = options.walk_count(store.backend.binding)
    emit(SuiteStarted(store.backend.binding.name, "walk", wanted))
    campaign = campaign_of(store, options, emit)
    for number in range(wanted):
        if not campaign.goes_on:
            break
        walk(campaign, number)
        campaign.examine()
    campaign.conclude()
    emit(SuiteEnded("walk", time.perf_counter() - began))
    return campaign


def campaign_of(store: StoreUnderTest, options: Options, emit: Emit) -> Campaign:
    """For walks."""
    return Campaign(store, options, emit, "walk", looks_every=LOOKS_EVERY)


def walk(campaign: Campaign, number: int) -> None:
    """One walk on an empty store; a failure is left in the campaign."""
    history = history_of(campaign.store.backend.binding.name)
    random = Random(f"{campaign.options.seed}/{number}")
    try:
        with watched(), _collected_seldom():
            _walk(history, campaign, random, STEPS[campaign.options.effort])
    except StepFailed:
        return


@contextlib.contextmanager
def _collected_seldom() -> Iterator[None]:
    """Around a walk: the collector of cycles looks once in several walks, not once in twenty steps. Nearly all that a
    step leaves behind is freed without it, and each look goes through all that is kept."""
    before = gc.get_threshold()
    # A threshold of 0 means that somebody has turned it off.
    gc.set_threshold(before[0] and max(before[0], LEFT_BEHIND), *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _walk(history: type[Any], campaign: Campaign, random: Random, most: int) -> None:
    # Of one class for all walks: what the interpreter has found out about a class is lost with it.
    machine = history(campaign)
    first, rest = _beginning(history)
    weights = Weights(rest, random)
    first.run(machine, random)
    idle = 0
    while not machine.over and len(machine.made) < most and idle < MOST_IDLE:
        index = weights.draw(machine)
        made = len(machine.made)
        if index is not None:
            rest[index].run(machine, random)
        if len(machine.made) == made:
            machine.turn += 1
            idle += 1
            continue
        idle = 0
        if index is not None:
            weights.learn(index, machine.execution.runs[made:])
    machine.teardown()


def _beginning(history: type[Any]) -> tuple[Rule, tuple[Rule, ...]]:
    """The rule that begins a walk, and the others."""
    rules = rules_of(history)
    (first,) = (each for each in rules if each.first)
    return first, tuple(each for each in rules if not each.first and each.name != IDLE)
