"""Thin test modules over the engine; ``pytest --pyargs workcert.suites`` collects them from an installed kit."""
