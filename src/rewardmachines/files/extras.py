"""The extras of this package, by the modules that they bring.

The core needs few libraries: it writes, analyzes, draws and learns machines. Agents and environments need the extra
`train`, and worlds of others need extras of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from rewardmachines.core.errors import MissingExtraError

TRAINING: Final = frozenset(
    {"PIL", "equinox", "gymnasium", "jax", "jaxlib", "jaxtyping", "numpy", "optax", "safetensors", "tensorboardX"}
)
"""The modules that the extra `train` brings; `gym` brings Gymnasium and NumPy alone, for the wrappers."""

_EXTRAS: Final = dict.fromkeys(TRAINING, "train") | {
    "Box2D": "box2d",
    "imageio_ffmpeg": "video",
    "minigrid": "minigrid",
    "pygame": "human",
    "ray": "ray",
    "stable_baselines3": "sb3",
    "starlette": "studio",
    "uvicorn": "studio",
    "xminigrid": "xland",
}


def to_install(extra: str) -> str:
    """The command that installs an extra, from a package index or from a clone.

    >>> to_install("ray")
    "pip install 'rewardmachines[ray]' (in a clone: pip install '.[ray]')"
    """
    return f"pip install 'rewardmachines[{extra}]' (in a clone: pip install '.[{extra}]')"


@contextmanager
def explain_missing(what: str) -> Iterator[None]:
    """Says which extra is missing where a module of one cannot be found; other missing modules are left alone.

    Args:
        what: What is being loaded or run, such as `hrm train`.

    Raises:
        MissingExtraError: A module was missing that an extra brings.
    """
    try:
        yield
    except ModuleNotFoundError as missing:
        extra = _EXTRAS.get((missing.name or "").partition(".")[0])
        if extra is None:
            raise
        raise MissingExtraError(f"{what} needs the extra '{extra}': {to_install(extra)}") from missing
