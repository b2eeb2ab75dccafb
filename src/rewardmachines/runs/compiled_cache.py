"""The device of compiled programs, and the folder that caches them, so that no process compiles them again."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jax


def keep_compiled() -> None:
    """Keeps compiled programs on disk, once for a machine, unless another folder was chosen."""
    settings: Any = jax.config
    if settings.jax_compilation_cache_dir is not None:
        return
    caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    settings.update("jax_compilation_cache_dir", str(Path(caches) / "rewardmachines" / "jax"))
    # Small programs, too: a run has dozens that take tenths of a second each, in all more than a large one.
    settings.update("jax_persistent_cache_min_compile_time_secs", 0.0)


@contextmanager
def computing_on_the_host() -> Iterator[None]:
    """Within, programs are compiled for the CPU, and run there, wherever their arrays are.

    A policy that acts in a single environment gains nothing from a GPU, whose compiler takes several times as long.
    Where JAX was asked to use a GPU alone, it does.
    """
    try:
        host = jax.devices("cpu")[0]
    except RuntimeError:
        host = None
    with jax.default_device(host):
        yield
