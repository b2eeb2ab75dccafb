"""How hard property tests try: HYPOTHESIS_PROFILE=thorough for a long hunt. Ctrl-C means the same everywhere.

What JAX compiles is kept on disk, so that no program is compiled twice, neither in two test files nor in two processes,
and is dropped from memory after each file: otherwise a process that runs many of them grows by gigabytes.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

CACHE = Path(tempfile.gettempdir()) / f"rewardmachines-tests-{os.getuid()}"
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(CACHE))  # before JAX is loaded
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.1")

import pytest  # noqa: E402
from hypothesis import HealthCheck, settings  # noqa: E402

settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile(
    "thorough",
    deadline=None,
    max_examples=5000,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # What a shell starts in the background ignores Ctrl-C, and tests of Ctrl-C would wait for it in vain.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="module", autouse=True)
def _small_processes() -> Iterator[None]:
    """Forgets compiled programs at the end of a file; the next one takes those that it needs from the disk."""
    yield
    if "jax" in sys.modules:
        sys.modules["jax"].clear_caches()
        gc.collect()
