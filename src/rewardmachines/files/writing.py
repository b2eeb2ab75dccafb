"""Writing files so that nothing is ever lost: aside first, then renamed. What is no file is written to."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

_SHOWN: Final = 16
"""How much of its name a file lends to the one that is written aside, which must not become too long a name."""


def write_aside(path: str | Path, content: str | bytes) -> None:
    """Replaces a file's content at once: whoever looks sees the old content or the new, never a part.

    A link stays a link, and the file that it leads to is replaced. Devices, pipes and descriptors such as `/dev/stdout`
    cannot be replaced without harm, so they are written to.

    Args:
        path: The file to replace or to make; its folder exists.
        content: All that the file is to hold; texts are written as UTF-8.

    Raises:
        OSError: It cannot be written. The error names `path`, never the file that was to be renamed.
    """
    path = Path(path)
    data = content.encode() if isinstance(content, str) else content
    try:
        if _is_written_through(path):
            _write_through(path, data)
        else:
            _replace(Path(os.path.realpath(path)), data)
    except OSError as problem:
        if problem.errno is None:
            raise
        raise OSError(problem.errno, os.strerror(problem.errno), str(path)) from None


def _is_written_through(path: Path) -> bool:
    """Whether the path leads to something that is no regular file, or to one only by way of an open descriptor."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return False
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    return not stat.S_ISREG(mode) or _is_descriptor(path)


def _is_descriptor(path: Path) -> bool:
    folder = Path(os.path.realpath(path.parent))
    return folder == Path("/dev") or (folder.parts[:2] == ("/", "proc") and folder.name == "fd")


def _write_through(path: Path, data: bytes) -> None:
    # Appending matters to descriptors alone: what is already in the file behind one stays there.
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND), "wb") as file:
        file.write(data)


def _replace(path: Path, data: bytes) -> None:
    before = path.stat() if path.exists() else None
    if before is not None and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    handle, aside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:_SHOWN]}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        _hand_down(before, aside)
        os.replace(aside, path)
    except BaseException:
        Path(aside).unlink(missing_ok=True)
        raise


def _hand_down(before: os.stat_result | None, aside: str) -> None:
    """Gives a file the owner and permissions of the one that it replaces, or those that a new file would get."""
    if before is None:
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(aside, 0o666 & ~mask)
        return
    with suppress(OSError):  # only the administrator may give files away
        os.chown(aside, before.st_uid, before.st_gid)
    os.chmod(aside, before.st_mode & 0o777)
