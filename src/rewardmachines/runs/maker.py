"""The record of what made a run: versions, device and date. It is written for people; no program depends on it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import jax

from rewardmachines.files.version import PACKAGE, package_version

MADE_BY: Final = "made_by"
"""The key of the record in `config.json`."""


def this_maker() -> dict[str, str]:
    """Describes the software and the device that make a run in this process.

    Returns:
        The versions of this package and of JAX, the device that JAX computes on, and the present date and time.
    """
    return {
        PACKAGE: package_version(),
        "jax": jax.__version__,
        "device": jax.devices()[0].device_kind,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def makers_so_far(config: Path) -> list[Any]:
    """Reads what was recorded each time that a run was begun or resumed.

    Args:
        config: The file of the run's settings.

    Returns:
        The records, oldest first. There are none if there is no run, or if they cannot be read: a damaged record must
        not keep a run from going on.
    """
    try:
        content = json.loads(config.read_bytes())
    except (OSError, ValueError, RecursionError):
        return []
    makers = content.get(MADE_BY) if isinstance(content, dict) else None
    return makers if isinstance(makers, list) else []
