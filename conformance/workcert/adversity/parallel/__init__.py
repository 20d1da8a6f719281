"""Callers at once: programs drawn from a seed, run by threads and by processes, judged for linearizability."""

from workcert.adversity.parallel.suite import NAME, PART

__all__ = ["NAME", "PART"]
