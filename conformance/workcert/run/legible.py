"""Which records can be read back from a store."""

from __future__ import annotations

from workcert.run.store import StoreUnderTest


class Legible(dict[str, bool]):
    """By the key of a record, whether a read gives it: found out once for each key, since every step asks of many."""

    def __init__(self, store: StoreUnderTest) -> None:
        super().__init__()
        self._store = store
        self._reads: bool | None = None

    def __missing__(self, key: str) -> bool:
        binding = self._store.backend.binding
        found = self[key] = binding.legible(key) and (not binding.reading or self._can_read())
        return found

    def _can_read(self) -> bool:
        """Asked once: handles of one store have the same methods."""
        if self._reads is None:
            self._reads = self._store.can_read()
        return self._reads
