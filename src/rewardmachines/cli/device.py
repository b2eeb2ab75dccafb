"""The device of computations, and the search path of modules with environments."""

from __future__ import annotations

import os
import sys
from typing import Any, Final, Literal, TypeAlias

from rewardmachines.core.errors import RewardMachineError

Device: TypeAlias = Literal["gpu", "cpu"]
"""The device."""
_PLATFORMS: Final = "JAX_PLATFORMS"
"""The environment variable by which JAX chooses its device."""


def prepare_device(wanted: Device | None = None) -> None:
    """Makes sure that JAX computes where it was asked to, and that programs are compiled once on a machine.

    Args:
        wanted: The device; a GPU if there is one, or what JAX_PLATFORMS says, if not given.

    Raises:
        RewardMachineError: There is no such device.
    """
    import jax

    from rewardmachines.runs.compiled_cache import keep_compiled

    if wanted == "cpu":
        os.environ[_PLATFORMS] = "cpu"  # for processes that are started later
        settings: Any = jax.config
        settings.update("jax_platforms", "cpu")
    try:
        backend = jax.default_backend()
    except (RuntimeError, AssertionError):  # JAX asserts that the platform is there that it must use
        asked = os.environ.get(_PLATFORMS, "")
        raise RewardMachineError(f"JAX finds no device for {_PLATFORMS}={asked}; leave it out, or write cpu") from None
    if wanted is not None and backend != wanted:
        known = f"JAX computes on {backend} here"
        raise RewardMachineError(f"--device {wanted}: there is none, {known}; leave it out to use what there is")
    keep_compiled()


def find_modules_here() -> None:
    """Lets modules of the present folder be imported, as Python does for scripts: they may hold environments."""
    if "" not in sys.path:
        sys.path.insert(0, "")
