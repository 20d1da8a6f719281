"""Miniature stores: wrong ones that grade the kit, right ones that it must not accuse, and adapters that lie.

Each wrong one is the specification as a store with one thing made wrong, by a changed rule or by handles that go
around the right ones.
"""

from .catching import Caught, accusations, caught, replay
from .liars import LIARS, Liar
from .model import SCENARIOS, STATEFUL, WORKLOAD, Miniature
from .other_choices import VARIANTS, Variant
from .wrong_handles import WRONG_HANDLES
from .wrong_rules import WRONG_RULES
from .wrong_values import WRONG_VALUES

MINIATURES = (*WRONG_RULES, *WRONG_HANDLES, *WRONG_VALUES)

__all__ = [
    "LIARS",
    "MINIATURES",
    "SCENARIOS",
    "STATEFUL",
    "VARIANTS",
    "WORKLOAD",
    "Caught",
    "Liar",
    "Miniature",
    "Variant",
    "accusations",
    "caught",
    "replay",
]
