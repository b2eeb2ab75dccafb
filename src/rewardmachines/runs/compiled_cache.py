"""The folder in which compiled programs are kept, so that no other process has to compile them again."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import jax


def keep_compiled() -> None:
    """Programs are compiled once on a machine, not once in a process; whoever has chosen a place keeps it."""
    settings: Any = jax.config
    if settings.jax_compilation_cache_dir is not None:
        return
    caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    settings.update("jax_compilation_cache_dir", str(Path(caches) / "rewardmachines" / "jax"))
