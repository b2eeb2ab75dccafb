"""What a run was made by: versions, device and date. It is for people to read, and never compared with anything."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import jax

from rewardmachines.files.version import PACKAGE, package_version

MADE_BY: Final = "made_by"
"""Its key in `config.json`."""


def this_maker() -> dict[str, str]:
    """What would make a run here and now.

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
    """What was recorded each time that a run was begun or resumed.

    Args:
        config: The settings of the run.

    Returns:
        The records, oldest first. There are none if there is no run, if a version wrote it that kept no records, or if
        they cannot be read: a damaged record must not keep a run from going on.
    """
    try:
        content = json.loads(config.read_bytes())
    except (OSError, ValueError, RecursionError):
        return []
    makers = content.get(MADE_BY) if isinstance(content, dict) else None
    return makers if isinstance(makers, list) else []
