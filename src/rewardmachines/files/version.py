"""The version of this package, as the command prints it and the folders of runs record it."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Final

PACKAGE: Final = "rewardmachines"


def package_version() -> str:
    """The version that is installed.

    Returns:
        A version such as `0.1.0`, or `not installed` where the package is used from its sources alone.
    """
    try:
        return version(PACKAGE)
    except PackageNotFoundError:
        return "not installed"
