"""Checkpoints: everything that a run needs to go on, in one file.

The file holds the state on the device as arrays, and the rest of the state, the *snapshot*, as a text among them. It is
replaced as a whole, so the two always belong together.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

import numpy as np

from rewardmachines.core.errors import RewardMachineError, SyntaxProblem
from rewardmachines.files.document import parse_json
from rewardmachines.runs.records import from_plain, to_plain
from rewardmachines.runs.tensors import Arrays, pack, read_arrays, unpack, write_arrays

FORMAT: Final = 2
"""The format of checkpoints that this version writes and reads."""
STATE: Final = "state"
"""The first part of the names of all arrays that were on the device."""
HOST: Final = "host"
"""The name of the array that holds the snapshot as text."""
NETWORKS: Final = "online"
"""The part of a name by which the arrays that a policy needs to act are recognized."""

S = TypeVar("S")
"""The dataclass of snapshots."""


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
class Checkpoint(Generic[S]):
    """The content of a checkpoint."""

    marks: Marks
    snapshot: S
    """The state of the run that was not on the device."""
    arrays: Arrays
    """The state on the device, and the snapshot, by name."""
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


def write_checkpoint(path: Path, device_state: Any, snapshot: object, marks: Marks) -> None:
    """Replaces the checkpoint of a run.

    Args:
        path: The file.
        device_state: The state on the device, a tree of arrays.
        snapshot: The rest of the state, a dataclass that JSON can hold.
        marks: The lengths of the other files of the run.
    """
    write_with_snapshot(path, pack(device_state, STATE), snapshot, marks)


def read_checkpoint(path: Path, kind: type[S]) -> Checkpoint[S]:
    """Reads a whole checkpoint.

    Args:
        path: The file.
        kind: The dataclass of the snapshot.

    Raises:
        RewardMachineError: The file is damaged, or of another version.
    """
    arrays, notes = read_arrays(path)
    if (version := notes.get("format")) != FORMAT:
        raise RewardMachineError(
            f"{path}: a checkpoint of {'an earlier' if version == 1 else 'another'} version (format {version}), which "
            f"this version (format {FORMAT}) cannot go on from; what was learned can still be looked at"
        )
    marks, snapshot = _read_text(arrays, path, kind)
    return Checkpoint(marks, snapshot, arrays, str(path))


def write_with_snapshot(path: Path, arrays: Arrays, snapshot: object, marks: Marks) -> None:
    """Replaces a file of arrays that has a snapshot among them.

    Args:
        path: The file.
        arrays: The arrays by name.
        snapshot: A dataclass that JSON can hold.
        marks: The lengths of the other files of the run.
    """
    text = json.dumps({"marks": to_plain(marks), "snapshot": to_plain(snapshot)})
    write_arrays(path, {**arrays, HOST: np.frombuffer(text.encode(), np.uint8)}, {"format": FORMAT})


def read_snapshot(path: Path, kind: type[S]) -> S:
    """Reads the snapshot of a file without its other arrays, which is much faster.

    Args:
        path: The file.
        kind: The dataclass of the snapshot.

    Raises:
        RewardMachineError: The file is damaged, or of another version.
    """
    arrays, _ = read_arrays(path, lambda name: name == HOST)
    return _read_text(arrays, path, kind)[1]


def _read_text(arrays: Arrays, path: Path, kind: type[S]) -> tuple[Marks, S]:
    if HOST not in arrays:
        raise RewardMachineError(f"{path}: damaged, or of another version: '{HOST}' is missing")
    content = parse_json(arrays[HOST].tobytes().decode("utf-8", "replace"), f"{path}, {HOST}")
    if not isinstance(content, dict):
        raise SyntaxProblem(f"{path}: damaged, '{HOST}' must be a mapping of keys to values")
    for name in ("marks", "snapshot"):
        if name not in content:
            raise SyntaxProblem(f"{path}: damaged, or of another version: '{name}' is missing")
    marks = from_plain(Marks, content["marks"], f"{path}, marks")
    return marks, from_plain(kind, content["snapshot"], f"{path}, snapshot")


def is_network(name: str) -> bool:
    """Whether a policy needs the array of this name to act."""
    return NETWORKS in name.split("/")
