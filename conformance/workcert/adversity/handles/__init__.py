"""Handles: shared by threads, forked, closed, held while others restart, and clocks of processes an hour apart."""

from workcert.adversity.handles.part import HANDLES

__all__ = ["HANDLES"]
