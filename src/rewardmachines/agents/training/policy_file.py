"""The networks that one seed's policy needs to act, in a file of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.runs.checkpoint import is_network
from rewardmachines.runs.tensors import named, read_arrays, unpack, write_arrays

FORMAT: Final = 1
AGENT: Final = "agent"
"""The name of the agent's state."""


def write_policy(path: Path, agent: Any, chunks: int, seed: int | None = None) -> None:
    """Writes the networks of an agent.

    Args:
        path: The file.
        agent: The state of the agent; of all agents, with a leading axis, if there are several seeds.
        chunks: For how many chunks they have learned.
        seed: The index of the one that is written, if there are several.
    """
    leaves = {name: leaf for name, leaf in named(agent, AGENT).items() if is_network(name)}
    arrays = {name: np.array(leaf if seed is None else leaf[seed], order="C") for name, leaf in leaves.items()}
    write_arrays(path, arrays, {"format": FORMAT, "chunks": chunks})


def read_policy(path: Path, agent: Any) -> tuple[Any, int]:
    """The state of an agent with the networks of a file, and for how many chunks they have learned.

    Args:
        path: The file.
        agent: The state of any agent of the same kind and sizes.

    Raises:
        RewardMachineError: The file is damaged, or belongs to an agent of another kind or size.
    """
    arrays, notes = read_arrays(path)
    chunks = notes.get("chunks")
    if type(chunks) is not int or chunks < 0:
        raise RewardMachineError(f"{path}: damaged, or of another version: it does not tell 'chunks'")
    return unpack(agent, arrays, AGENT, str(path), is_network), chunks
