"""The engine: runs cases and suites on a backend, judges each step, and emits events that reports consume."""
