"""The conformance kit: certifies any store of durable work against the executable specification."""

from workspec.core.choice import UNSEEN as NOT_SHOWN

__version__ = "0.1.0"

__all__ = ["NOT_SHOWN", "__version__"]
