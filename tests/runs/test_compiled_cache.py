"""Where programs are compiled for, and which of them are kept."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import jax
import pytest

from rewardmachines.runs.compiled_cache import computing_on_the_host

ON_TWO_DEVICES = """
import jax
import numpy as np
from rewardmachines.runs.compiled_cache import computing_on_the_host

host, other = jax.devices("cpu")
jax.config.update("jax_default_device", other)  # as a GPU would be
numbers, double = jax.device_put(np.arange(3.0)), jax.jit(lambda x: 2 * x)
assert double(numbers).devices() == {other}
with computing_on_the_host():
    assert double(numbers).devices() == {host}
    assert jax.device_put(np.arange(3.0)).devices() == {host}
assert double(numbers).devices() == {other}
"""


def test_on_the_host_programs_run_there_wherever_their_arrays_are() -> None:
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=2", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, "-c", ON_TWO_DEVICES], env={**os.environ, **flags}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_where_jax_knows_no_host_programs_run_where_they_did(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(_: str) -> list[jax.Device]:
        raise RuntimeError("Unknown backend cpu")

    before = jax.jit(lambda x: x)(1.0).devices()
    monkeypatch.setattr(jax, "devices", none)
    with computing_on_the_host():
        assert jax.jit(lambda x: x)(1.0).devices() == before


KEPT = """
import jax
from rewardmachines.runs.compiled_cache import keep_compiled

keep_compiled()
jax.jit(lambda x: x * 3 + 1)(2.0)
"""


def test_small_programs_are_kept_as_well(tmp_path: Path) -> None:
    chosen = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")}
    chosen |= {"XDG_CACHE_HOME": str(tmp_path), "JAX_PLATFORMS": "cpu"}
    subprocess.run([sys.executable, "-c", KEPT], env=chosen, check=True)
    assert [path for path in (tmp_path / "rewardmachines" / "jax").iterdir() if "lambda" in path.name]
