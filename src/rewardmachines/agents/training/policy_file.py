"""Policy files: the networks that the policy of one seed needs to act."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np

from rewardmachines.agents.config import AgentConfig
from rewardmachines.agents.hierarchical_dqn.state import as_kept, to_be_kept
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.runs.checkpoint import is_network
from rewardmachines.runs.tensors import named, read_arrays, unpack, write_arrays

FORMAT: Final = 1
"""The format of policy files."""
AGENT: Final = "agent"
"""The first part of the names of all arrays."""


def write_policy(path: Path, config: AgentConfig, agent: Any, chunks: int, seed: int | None = None) -> None:
    """Writes the networks of an agent that act in greedy episodes.

    Args:
        path: The file.
        config: The agent's settings.
        agent: The state of the agent; with several seeds, the states of all agents, along a leading axis.
        chunks: The number of chunks for which the agent has learned.
        seed: The index of the agent along the leading axis, if there are several.
    """
    leaves = {name: leaf for name, leaf in named(to_be_kept(config, agent), AGENT).items() if is_network(name)}
    arrays = {name: np.array(leaf if seed is None else leaf[seed], order="C") for name, leaf in leaves.items()}
    write_arrays(path, arrays, {"format": FORMAT, "chunks": chunks})


def read_policy(path: Path, agent: Any) -> tuple[Any, int]:
    """Reads the networks of a policy.

    Args:
        path: The file.
        agent: The state of any agent of the same class and sizes.

    Returns:
        The state of the agent with the networks of the file, and the number of chunks for which they have learned.

    Raises:
        RewardMachineError: The file is damaged, or belongs to an agent of another class or size.
    """
    arrays, notes = read_arrays(path)
    chunks = notes.get("chunks")
    if type(chunks) is not int or chunks < 0:
        raise RewardMachineError(f"{path}: damaged, or of another version: it does not tell 'chunks'")
    return as_kept(unpack(agent, arrays, AGENT, str(path), is_network)), chunks
