"""Random walks: the rules of a contract's machine, driven by a seeded generator and steered by the model's evidence."""

from workcert.walk.suite import run_walk

__all__ = ["run_walk"]
