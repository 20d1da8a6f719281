"""Crashes: every operation killed at each of its points, files that are damaged, disks that fail."""

from workcert.adversity.crashes.sweep import CRASHES

__all__ = ["CRASHES"]
