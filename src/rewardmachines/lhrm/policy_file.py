"""The networks of all options of a run, and what they belong to, in one file."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import jax
import jax.numpy as jnp

from rewardmachines.lhrm.snapshot import Snapshot
from rewardmachines.runs.checkpoint import Marks, is_network, write_with_snapshot
from rewardmachines.runs.tensors import pack, read_arrays, unpack

AGENT: Final = "agent"
"""The name of the agent's state."""


def write_policies(path: Path, agent: Any, snapshot: Snapshot, marks: Marks) -> None:
    """Writes what is needed to act.

    Args:
        path: The file.
        agent: The state of the agent.
        snapshot: All that is known about machines and options.
        marks: How far the other files of the run have come.
    """
    arrays = {name: array for name, array in pack(agent, AGENT).items() if is_network(name)}
    write_with_snapshot(path, arrays, snapshot, marks)


def read_policies(path: Path, agent: Any) -> Any:
    """The state of an agent with the networks of a file: it can act, but has nothing to learn from.

    Args:
        path: The file.
        agent: Shapes and types of the agent's state.

    Raises:
        RewardMachineError: The file is damaged, or belongs to an agent of other sizes.
    """
    arrays, _ = read_arrays(path, is_network)
    state = unpack(agent, arrays, AGENT, str(path), is_network)
    return jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype) if isinstance(x, jax.ShapeDtypeStruct) else x, state)
