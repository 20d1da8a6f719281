"""The conformance kit: certifies any store of durable work against the executable specification."""

from __future__ import annotations

# As `workcert.__main__` says: an interrupt during an import from here would be answered with a traceback.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from workspec.core.choice import UNSEEN as NOT_SHOWN

__version__ = "0.1.0"

__all__ = ["NOT_SHOWN", "__version__"]


def __getattr__(name: str) -> Any:
    # Late: every pytest run of an environment loads the plugin, and with it this package.
    if name == "NOT_SHOWN":
        from workspec.core.choice import UNSEEN

        return UNSEEN
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
