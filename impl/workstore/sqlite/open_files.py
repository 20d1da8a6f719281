"""Whether the files that a connection opened are still the ones under their names.

A file that is removed or replaced stays open: SQLite goes on writing to what has no name any more, and all of it is
lost with the last handle. In WAL mode SQLite itself looks only when it closes, where it then neither moves the log
into the file nor deletes the log of whatever lies under the name now.
"""

from __future__ import annotations

import os
from typing import Final, TypeAlias

from attrs import frozen

Identity: TypeAlias = tuple[int, int]

CAN_VANISH: Final = os.name != "nt"
"""Windows refuses to remove or rename a file that SQLite has open, and a look at it costs more there."""


LOG_IS_GONE: Final = (
    "Its -wal file, a part of the database, was removed while handles have it open. Put it back, or close every handle "
    "on the database and only then open the store anew: the last one to close moves what was committed into the main "
    "file."
)


class LostFileError(Exception):
    """A file is not under its name any more; nothing was written, and the text says what to do."""


def identity_of(path: str) -> Identity | None:
    """Device and inode of the file under this name; None when none can be reached."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


@frozen
class MainFile:
    """The database itself, by an absolute path, since the process may change its directory.

    No other file gets the inode of one that is still open. Where a file system gives 0 to every file, only whether
    there is one can be told.
    """

    path: str
    identity: Identity

    def refuse_loss(self) -> None:
        """Raises:
        LostFileError: the name leads to no file, or to another one.
        """
        # Not by `identity_of`: the reason belongs into the text, and this runs before each read and each commit.
        try:
            found = os.stat(self.path)
        except OSError as error:
            event = f"was removed or renamed while this handle had it open ({error.strerror})"
        else:
            if (found.st_dev, found.st_ino) == self.identity:
                return
            event = "was replaced by another file while this handle had it open"
        raise LostFileError(
            f"{self.path} {event}. Nothing was written. What was answered before is in the old file and its -wal: "
            "put both back under their names to go on. To go on without them, close every handle on the old file, "
            "see that no -wal or -shm of it lies beside a new one, and open the store anew."
        )


@frozen
class Log:
    """The write-ahead log, which SQLite keeps under its name for as long as a connection is open.

    Known limit: only whether there is one is looked at, before each commit. One that was removed and made anew by
    another process since the last commit is not told from the old one. To ask for its inode is to ask for its times
    too, and where the kernel then keeps finer ones, a full synchronous commit costs a third more (Linux 6.18).
    """

    path: str

    def is_there(self) -> bool:
        return os.access(self.path, os.F_OK)

    def refuse_loss(self) -> None:
        """Raises:
        LostFileError: there is no log under its name any more.
        """
        # Not by `is_there`: this runs before each commit.
        if not os.access(self.path, os.F_OK):
            raise LostFileError(
                f"{self.path}, which is a part of the database, was removed or renamed while this handle had it "
                "open. Nothing was written. Put it back to go on. Else close every handle on the database, and only "
                "then open the store anew: the last one to close moves what was committed into the main file."
            )


def lacks_its_log(path: str) -> bool:
    """Whether others have the database open, by its shared memory, and its log is not under its name."""
    real = os.path.realpath(path)
    return os.path.exists(real + "-shm") and not os.path.exists(real + "-wal")


def log_of(path: str) -> Log | None:
    """The log of this open database; None where it has another name than usual, and cannot be watched."""
    # SQLite follows links before it names the log.
    log = Log(os.path.realpath(path) + "-wal")
    return log if log.is_there() else None
