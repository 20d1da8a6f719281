"""What a store may do that concerns the whole process, and how the command stays in charge of it."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import NoReturn


@contextlib.contextmanager
def among_strangers() -> Iterator[None]:
    """Around a command: a number of any size can be told, and `os._exit` of a store ends its call, not the run, which
    would end with an exit code of the store's choice. In a process made by fork it ends that process."""
    process, really, digits = os.getpid(), os._exit, sys.get_int_max_str_digits()

    def ended(status: int) -> NoReturn:
        if os.getpid() != process:
            really(status)
        raise SystemExit(f"os._exit({status}) was called, which would have ended the run")

    os._exit = ended
    sys.set_int_max_str_digits(0)
    try:
        yield
    finally:
        os._exit = really
        sys.set_int_max_str_digits(digits)
