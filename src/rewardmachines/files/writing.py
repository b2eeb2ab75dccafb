"""Writing files so that nothing is ever lost: aside first, then renamed."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_aside(path: str | Path, content: str | bytes) -> None:
    """Replaces the file's content at once: whoever looks sees the old content or the new, never a part."""
    path = Path(path)
    data = content.encode() if isinstance(content, str) else content
    handle, aside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(aside, _permissions(path))
        os.replace(aside, path)
    except BaseException:
        Path(aside).unlink(missing_ok=True)
        raise


def _permissions(path: Path) -> int:
    """Those of the file that is replaced, or what a new file would get."""
    if path.exists():
        return path.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
