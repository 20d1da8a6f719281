"""Crashes: every operation killed at each of its points, files that are damaged, disks that fail."""

from workcert.adversity.crashes.damages import DAMAGED_FILES
from workcert.adversity.crashes.sweep import CRASHES, FAILING_DISKS

__all__ = ["CRASHES", "DAMAGED_FILES", "FAILING_DISKS"]
