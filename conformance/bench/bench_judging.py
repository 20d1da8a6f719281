"""What judging costs: the stateful machine with judging on and off, in turns, on each backend.

Off means that nothing is read back and nothing compared; the model still follows the calls, because the machine
draws from its state. Bar: at most 1.6 times. Run: ``python conformance/bench/bench_judging.py [backend ...]``.
"""

from __future__ import annotations

import statistics
import sys
import time
from typing import Final

from workcert.backends.registry import find
from workcert.run.campaign import Campaign
from workcert.run.engine import Options
from workcert.run.events import silent
from workcert.run.stateful import drive
from workcert.run.store import StoreUnderTest

BAR: Final = 1.6
ROUNDS: Final = 5
EXAMPLES: Final = 60


def seconds_per_step(name: str, *, judged: bool) -> float:
    with StoreUnderTest.of(find(name)[0]) as store:
        campaign = Campaign(store, Options(examples=EXAMPLES, seed=1), silent, "stateful", judged=judged)
        began = time.perf_counter()
        drive(campaign, EXAMPLES)
        assert campaign.failed is None, campaign.failed
        return (time.perf_counter() - began) / campaign.steps


def main(names: list[str]) -> int:
    worst = 0.0
    for name in names:
        pairs = [(seconds_per_step(name, judged=True), seconds_per_step(name, judged=False)) for _ in range(ROUNDS)]
        on, off = (statistics.median(column) for column in zip(*pairs, strict=True))
        ratio = statistics.median(a / b for a, b in pairs)
        worst = max(worst, ratio)
        print(f"{name:15} judged {on * 1e6:7.0f} us a step, not judged {off * 1e6:7.0f} us, ratio {ratio:.2f}")
    print(f"bar {BAR}: {'met' if worst <= BAR else 'missed'}")
    return 0 if worst <= BAR else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or ["memory", "sqlite"]))
