"""Short names for the plugin's options, for this directory only: anywhere else they might be taken."""

from __future__ import annotations

import pytest

from workcert.plugin import add_options


def pytest_addoption(parser: pytest.Parser) -> None:
    add_options(parser.getgroup("workcert"), "--", alias=True)
