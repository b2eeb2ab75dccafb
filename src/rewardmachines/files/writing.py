"""Writing files and folders so that nothing is ever lost: aside first, then renamed. What is no file is written to."""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final
from urllib.parse import quote

_SHOWN: Final = 16
"""The number of characters of a file's name in that of its temporary file, which must not become too long."""
_ASIDE: Final = re.compile(r"\.(.+)\.[a-z0-9_]{1,8}\.part")


def write_aside(path: str | Path, content: str | bytes) -> None:
    """Replaces a file's content atomically: every reader sees the old content or the new, never a part.

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
    handle, aside = tempfile.mkstemp(dir=path.parent, prefix=_prefix(path.name), suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        _hand_down(before, aside, 0o666)
        os.replace(aside, path)
    except BaseException:
        Path(aside).unlink(missing_ok=True)
        raise


def _hand_down(before: os.stat_result | None, aside: str | Path, usual: int) -> None:
    """Gives a file or folder the owner and permissions of what it replaces, or those that a new one would get.

    Temporary files and folders are private, whatever the permissions of others.
    """
    if before is None:
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(aside, usual & ~mask)
        return
    with suppress(OSError):  # only the administrator may give files away
        os.chown(aside, before.st_uid, before.st_gid)
    os.chmod(aside, before.st_mode & 0o777)


def _prefix(name: str) -> str:
    return f".{name[:_SHOWN]}."


def is_aside(path: Path, name: str | None = None) -> bool:
    """Whether a path has a name by which files and folders are written aside.

    Args:
        path: The path of a file or folder.
        name: The name of the file or folder that is replaced; any, if not given.
    """
    match = _ASIDE.fullmatch(path.name)
    return match is not None and (name is None or match[1][:_SHOWN] == name[:_SHOWN])


@contextmanager
def folder_aside(path: Path) -> Iterator[Path]:
    """A new folder that gets its name when the block ends, so that there is never a part of its files.

    What killed processes left of such a folder is deleted; what another process is writing stays.

    Args:
        path: The folder, which must not exist, or be empty.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    for left in path.parent.iterdir():
        if is_aside(left, path.name) and left.is_dir() and not left.is_symlink():
            with _locked(left) as is_free:
                if is_free:
                    shutil.rmtree(left, ignore_errors=True)
    before = path.stat() if path.exists() else None
    aside = Path(tempfile.mkdtemp(dir=path.parent, prefix=_prefix(path.name), suffix=".part"))
    try:
        with _locked(aside):
            yield aside
            _hand_down(before, aside, 0o777)
            os.replace(aside, path)
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        raise


@contextmanager
def _locked(folder: Path) -> Iterator[bool]:
    """Locks a folder inside the block, and gives whether no other process has locked it."""
    descriptor = None
    try:
        with suppress(OSError):  # other systems than Unix do not open folders
            descriptor = os.open(folder, os.O_RDONLY)
        yield descriptor is not None and lock(descriptor)
    finally:
        if descriptor is not None:
            os.close(descriptor)


def lock(descriptor: int) -> bool:
    """Locks a file or folder until it is closed or the process ends, and returns whether that was possible."""
    try:
        import fcntl
    except ImportError:  # other systems than Unix have no such lock
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def file_name(name: str) -> str:
    """A file name that every file system accepts, different for different names.

    >>> file_name("a/b")
    'a%2Fb'
    """
    return quote(name, safe=" +&")
