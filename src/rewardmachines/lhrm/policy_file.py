"""The file of policies: the networks of all options of a run, and the machines and options that they belong to."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from rewardmachines.agents.config import AgentConfig
from rewardmachines.agents.hierarchical_dqn.state import as_kept, to_be_kept
from rewardmachines.lhrm.snapshot import Snapshot
from rewardmachines.runs.checkpoint import Marks, is_network, write_with_snapshot
from rewardmachines.runs.tensors import pack, read_arrays, unpack, with_zeros

AGENT: Final = "agent"
"""The first part of the names of all networks."""


def write_policies(path: Path, config: AgentConfig, agent: Any, snapshot: Snapshot, marks: Marks) -> None:
    """Writes the networks that act in greedy episodes.

    Args:
        path: The file.
        config: The agent's settings.
        agent: The state of the agent.
        snapshot: The state of the algorithm, with its machines and options.
        marks: The lengths of the other files of the run.
    """
    arrays = {name: array for name, array in pack(to_be_kept(config, agent), AGENT).items() if is_network(name)}
    write_with_snapshot(path, arrays, snapshot, marks)


def read_policies(path: Path, agent: Any) -> Any:
    """Reads the networks of an agent.

    Args:
        path: The file.
        agent: The shapes and types of the agent's state.

    Returns:
        The state of the agent. It can act, but has no experiences to learn from.

    Raises:
        RewardMachineError: The file is damaged, or belongs to an agent of other sizes.
    """
    arrays, _ = read_arrays(path, is_network)
    return with_zeros(as_kept(unpack(agent, arrays, AGENT, str(path), is_network)))
