"""Stores that never wait: who comes while another call is at work is turned away, rightly or not quite."""

from __future__ import annotations

import time
from typing import Any, ClassVar

from workcert.binding import bindings

from .racing import Racing, RacingBackend

WRITING = frozenset(
    {
        "enqueue",
        "claim_duty",
        "admit",
        "ack",
        "renew",
        "promote_due",
        "reclaim_expired",
        "operator_cancel",
        "operator_retry",
    }
)
AT_WORK_S = 0.0002


class TurnsAway(Racing):
    """Nothing is done for who is turned away, and it is told so."""

    calls = WRITING
    at_work_s = AT_WORK_S

    def made(self, name: str, arguments: dict[str, Any]) -> Any:
        lock = self.inner._shelf.lock
        if not lock.acquire(blocking=False):
            return self.turned_away(name, arguments)
        try:
            time.sleep(self.at_work_s)
            return getattr(self.inner, name)(**arguments)
        finally:
            lock.release()

    def turned_away(self, _name: str, _arguments: dict[str, Any]) -> Any:
        """What becomes of a call that comes too early."""
        raise bindings()["jobs"].unavailable("busy; nothing was written", True)


class TurnsNearlyAllAway(TurnsAway):
    """One call takes so long that whoever begins with it is turned away."""

    at_work_s = 0.05


class WritesAllTheSame(TurnsNearlyAllAway):
    """It says that nothing was written, and that is not so."""

    def turned_away(self, name: str, arguments: dict[str, Any]) -> Any:
        with self.inner._shelf.lock:
            getattr(self.inner, name)(**arguments)
        return super().turned_away(name, arguments)


class Unsure(TurnsNearlyAllAway):
    """It does not say whether something was written; every other time it was."""

    times = 0

    def turned_away(self, name: str, arguments: dict[str, Any]) -> Any:
        Unsure.times += 1
        if Unsure.times % 2:
            with self.inner._shelf.lock:
                getattr(self.inner, name)(**arguments)
        raise bindings()["jobs"].unavailable("the connection broke", False)


class TiredWithoutCause(Racing):
    """Every third call is turned away, whether anybody is at work or not; those that follow are answered."""

    calls = WRITING
    times = 0

    def made(self, name: str, arguments: dict[str, Any]) -> Any:
        TiredWithoutCause.times += 1
        if TiredWithoutCause.times % 3 == 0:
            raise bindings()["jobs"].unavailable("tired; nothing was written", True)
        with self.inner._shelf.lock:
            return getattr(self.inner, name)(**arguments)


class HoldsItsStore(Racing):
    """Who comes while a call is at work is turned away, also while the kit holds that between its halves."""

    calls = frozenset({"admit", "claim", "start", "heartbeat", "complete", "fail", "cancel", "recover_expired"})
    at_work: ClassVar[set[int]] = set()
    writes = False

    def made(self, name: str, arguments: dict[str, Any]) -> Any:
        shelf = id(self.inner._shelf)
        if shelf in self.at_work:
            if self.writes:
                getattr(self.inner, name)(**arguments)
            raise bindings()["workload"].unavailable("busy; nothing was written", True)
        self.at_work.add(shelf)
        try:
            return getattr(self.inner, name)(**arguments)
        finally:
            self.at_work.discard(shelf)


class HoldsAndWrites(HoldsItsStore):
    """And what it turns away is done."""

    writes = True


class GivesWay(HoldsItsStore):
    """A call that finds another one done in its midst has done nothing, and says so."""

    def made(self, name: str, arguments: dict[str, Any]) -> Any:
        try:
            return getattr(self.inner, name)(**arguments)
        except Exception as error:
            if str(getattr(error, "code", "")) != str(bindings()["workload"].contract.conflict_code):
                raise
            raise bindings()["workload"].unavailable("another call came first; nothing was written", True) from error


class PausingBackend(RacingBackend):
    """It can be held between the halves of a call."""

    @property
    def abilities(self) -> frozenset[str]:
        return self.right.abilities - {"points"}
