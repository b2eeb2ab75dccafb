"""A run that takes a moment: a small network that need not learn anything, and programs that are compiled once."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
from jax.experimental.compilation_cache import compilation_cache

from rewardmachines.agents.config import Config
from rewardmachines.agents.networks import Body, NetworkConfig
from rewardmachines.agents.training.session import Spec
from rewardmachines.agents.training.spec import standard_spec

NETWORK = NetworkConfig(Body.FLAT, hidden=(8,))
CONFIG = Config(
    environments=4, batch=8, network=NETWORK, call_network=NETWORK, replay_size=2000, replay_start=200, chunk=25,
    evaluate_every=2, call_replay_size=100, call_replay_start=5, annealing_steps=500,
)  # fmt: skip
CHUNK = CONFIG.chunk * CONFIG.environments
"""Steps of one."""


def tiny_spec(**changes: Any) -> Spec:
    spec = standard_spec("craftworld", "op", "bucket", instances=2, max_steps=60)
    return replace(spec, **{"config": CONFIG, **changes})


def tiny_arguments() -> list[str]:
    """The same on the command line."""
    network = '{"body": "flat", "filters": [16, 32, 32], "hidden": [8]}'
    changes = [f"{name}={getattr(CONFIG, name)}" for name in vars(CONFIG) if isinstance(getattr(CONFIG, name), int)]
    changes = [c for c in changes if not c.endswith(("True", "False"))]
    changes += [f"network={network}", f"call_network={network}"]
    options = [word for change in changes for word in ("--set", change)]
    return ["train", "craftworld", "--task", "bucket", "--instances", "2", "--max-steps", "60", *options]


CACHE = Path(tempfile.gettempdir()) / f"rewardmachines-tests-{os.getuid()}"


def compiled_once() -> Iterator[None]:
    """For fixtures: programs come from the disk, also those of the last time."""
    settings: Any = jax.config
    names = ("jax_compilation_cache_dir", "jax_persistent_cache_min_compile_time_secs")
    before = {name: getattr(settings, name) for name in names}
    for name, value in zip(names, (str(CACHE), 0.1), strict=True):
        settings.update(name, value)
    compilation_cache.reset_cache()
    yield
    for name, value in before.items():
        settings.update(name, value)
    compilation_cache.reset_cache()
