"""Messages to people: lines on standard error, and warnings that point at the user's own line of code."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Final

_PACKAGE: Final = str(Path(__file__).parents[1])


def tell(message: str) -> None:
    """Prints a line to standard error."""
    print(message, file=sys.stderr, flush=True)


def warn_user(message: str, category: type[Warning]) -> None:
    """Warns at the innermost line of code outside of this package."""
    level, frame = 1, sys._getframe(0)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
