"""The embedded, durable store: one SQLite file, many threads and processes of one machine."""

from .store import WorkloadStore

__all__ = ["WorkloadStore"]
