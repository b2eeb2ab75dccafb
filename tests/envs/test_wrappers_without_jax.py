"""Wrappers for environments of users need Gymnasium alone."""

from __future__ import annotations

import subprocess
import sys

WITHOUT_JAX = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"jax", "jaxlib", "equinox", "optax", "jaxtyping", "safetensors", "tensorboardX"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
"""

WRAPPED = """
import gymnasium
import rewardmachines as rm
from rewardmachines.envs import DiscreteActions, HierarchyWrapper, LabelingWrapper

lake = gymnasium.make("FrozenLake-v1", is_slippery=False, desc=["SG"])
labelled = LabelingWrapper(lake, labels=lambda cell, info, env: {"goal"} if cell == 1 else (), propositions=["goal"])
env = HierarchyWrapper(labelled, rm.compile_task("goal"))
env.reset(seed=0)
print(env.step(2)[1])
DiscreteActions(gymnasium.make("Pendulum-v1"), levels=3)
"""

DOMAIN = """
import rewardmachines.envs
rewardmachines.envs.scenario
"""


def python(text: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", WITHOUT_JAX + text], capture_output=True, text=True, check=False)


def test_wrappers_need_no_jax() -> None:
    done = python(WRAPPED)
    assert done.stdout == "1.0\n", done.stderr


def test_a_domain_without_jax_names_the_extra_that_it_needs() -> None:
    assert "rewardmachines[train]" in python(DOMAIN).stderr
