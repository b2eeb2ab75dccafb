"""Checkpoints and policies: the state of a run in files that cannot execute code when they are read.

A checkpoint holds the state on the device as arrays, and the rest of the state as a text among them. It is replaced as
a whole, so the two always belong together. A file of policies holds the networks that act in greedy episodes, with the
same text: the machines and options that they belong to.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from rewardmachines.agents.hierarchical_dqn.state import as_kept, to_be_kept
from rewardmachines.agents.tensors import Arrays, pack, read_arrays, unpack, with_zeros, write_arrays
from rewardmachines.core.errors import RewardMachineError, SyntaxProblem
from rewardmachines.files.document import parse_json
from rewardmachines.files.records import from_plain, to_plain
from rewardmachines.runs.session import HostState, Session

FORMAT: Final = 1
"""The format of the files that this version writes and reads."""
STATE: Final = "state"
"""The first part of the names of all arrays that were on the device."""
AGENT: Final = "agent"
"""The first part of the names of all networks of policies."""
HOST: Final = "host"
"""The name of the array that holds the rest of the state as text."""
NETWORKS: Final = "online"
"""The part of a name by which the arrays that a policy needs to act are recognized."""


@dataclass(frozen=True)
class Marks:
    """The lengths of the other files of the run when the checkpoint was written."""

    metrics: int = 0
    """The length of `metrics.jsonl` in bytes."""
    timing: int = 0
    """The length of `timing.jsonl` in bytes."""
    seconds: float = 0.0
    """The time that the run had taken."""


@dataclass(frozen=True)
class Checkpoint:
    """The content of a checkpoint."""

    marks: Marks
    state: HostState
    """The state of the run that was not on the device."""
    arrays: Arrays
    """The state on the device, by name."""
    where: str
    """The path of the file, with which error messages begin."""

    def device_state(self, like: Any) -> Any:
        """The state that was on the device.

        Args:
            like: A tree of arrays with the shapes and types that the state must have.

        Raises:
            RewardMachineError: An array is missing or has another shape.
        """
        return unpack(like, self.arrays, STATE, self.where)


def write_checkpoint(path: Path, session: Session, marks: Marks) -> None:
    """Replaces the checkpoint of a run, between two chunks.

    Args:
        path: The file.
        session: The run in memory.
        marks: The lengths of the other files of the run.
    """
    _write(path, pack(session.device_state(), STATE), session.host_state(), marks)


def read_checkpoint(path: Path) -> Checkpoint:
    """Reads a whole checkpoint.

    Raises:
        RewardMachineError: The file is damaged, or of another version.
    """
    arrays, notes = read_arrays(path)
    _check_format(path, notes.get("format"))
    marks, state = _read_text(arrays, path)
    return Checkpoint(marks, state, arrays, str(path))


def write_policies(path: Path, session: Session) -> None:
    """Writes the networks that act in greedy episodes, with the machines and options that they belong to.

    There is nothing to write if the algorithm trains no policies.
    """
    if not session.config.trains_policies:
        return
    kept = to_be_kept(session.config.agent_settings, session.trained.state.agent)
    arrays = {name: array for name, array in pack(kept, AGENT).items() if _is_network(name)}
    _write(path, arrays, session.host_state(), Marks())


def read_policies(path: Path, session: Session) -> Any:
    """Restores the algorithm of a run to where its policies were written, and reads their networks.

    Args:
        path: The file of policies.
        session: The run in memory, which has just begun.

    Returns:
        The state of the agent. It can act, but has no experiences to learn from.

    Raises:
        RewardMachineError: The file is damaged, or belongs to another run.
    """
    arrays, notes = read_arrays(path, lambda name: name == HOST or _is_network(name))
    _check_format(path, notes.get("format"))
    session.restore_algorithm(_read_text(arrays, path)[1], str(path))
    return with_zeros(as_kept(unpack(session.acting_shapes(), arrays, AGENT, str(path), _is_network)))


def read_host_state(path: Path) -> HostState:
    """Reads the state of a checkpoint that was not on the device, without its arrays, which is much faster.

    Raises:
        RewardMachineError: The file is damaged, or of another version.
    """
    arrays, notes = read_arrays(path, lambda name: name == HOST)
    _check_format(path, notes.get("format"))
    return _read_text(arrays, path)[1]


def _write(path: Path, arrays: Arrays, state: HostState, marks: Marks) -> None:
    text = json.dumps({"marks": to_plain(marks), "state": to_plain(state)})
    write_arrays(path, {**arrays, HOST: np.frombuffer(text.encode(), np.uint8)}, {"format": FORMAT})


def _check_format(path: Path, version: object) -> None:
    if version != FORMAT:
        raise RewardMachineError(f"{path}: written by another version, in format {version}, not {FORMAT}")


def _read_text(arrays: Arrays, path: Path) -> tuple[Marks, HostState]:
    if HOST not in arrays:
        raise RewardMachineError(f"{path}: damaged, or of another version: '{HOST}' is missing")
    content = parse_json(arrays[HOST].tobytes().decode("utf-8", "replace"), f"{path}, {HOST}")
    if not isinstance(content, dict):
        raise SyntaxProblem(f"{path}: damaged, '{HOST}' must be a mapping of keys to values")
    for name in ("marks", "state"):
        if name not in content:
            raise SyntaxProblem(f"{path}: damaged, or of another version: '{name}' is missing")
    marks = from_plain(Marks, content["marks"], f"{path}, marks")
    return marks, from_plain(HostState, content["state"], f"{path}, state")


def _is_network(name: str) -> bool:
    """Whether a policy needs the array of this name to act."""
    return NETWORKS in name.split("/")
