"""Everything that a run needs to go on, in one file.

What is on the device lies there as arrays, and all the rest, the *snapshot*, as a text among them: the file is replaced
as a whole, so the two always belong together.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

import numpy as np

from rewardmachines.core.errors import RewardMachineError, SyntaxProblem
from rewardmachines.runs.records import from_plain, to_plain
from rewardmachines.runs.tensors import Arrays, pack, read_arrays, unpack, write_arrays

FORMAT: Final = 2
STATE: Final = "state"
"""The name of everything that is on the device."""
HOST: Final = "host"
"""The name of the text."""
NETWORKS: Final = "online"
"""Part of the name of every array that a policy needs to act."""

S = TypeVar("S")


@dataclass(frozen=True)
class Marks:
    """How far the other files of the run had come when the checkpoint was written."""

    metrics: int = 0
    """The length of `metrics.jsonl` in bytes."""
    timing: int = 0
    """The length of `timing.jsonl` in bytes."""
    seconds: float = 0.0
    """How long the run had taken."""


@dataclass(frozen=True)
class Checkpoint(Generic[S]):
    """The content of a checkpoint."""

    marks: Marks
    snapshot: S
    """All that is not on the device."""
    arrays: Arrays
    where: str
    """What errors say first."""

    def device_state(self, like: Any) -> Any:
        """What was on the device, in a tree of the shapes and types of `like`.

        Raises:
            RewardMachineError: An array is missing or has another shape.
        """
        return unpack(like, self.arrays, STATE, self.where)


def write_checkpoint(path: Path, device_state: Any, snapshot: object, marks: Marks) -> None:
    """Replaces the checkpoint of a run."""
    write_with_snapshot(path, pack(device_state, STATE), snapshot, marks)


def read_checkpoint(path: Path, kind: type[S]) -> Checkpoint[S]:
    """The whole checkpoint.

    Args:
        path: The file.
        kind: The dataclass of the snapshot.

    Raises:
        RewardMachineError: The file is damaged, or of another version.
    """
    arrays, notes = read_arrays(path)
    if (found := notes.get("format")) != FORMAT:
        raise RewardMachineError(
            f"{path}: a checkpoint of {'an earlier' if found == 1 else 'another'} version (format {found}), which this "
            f"version (format {FORMAT}) cannot go on from; what was learned can still be looked at"
        )
    marks, snapshot = _read_text(arrays, path, kind)
    return Checkpoint(marks, snapshot, arrays, str(path))


def write_with_snapshot(path: Path, arrays: Arrays, snapshot: object, marks: Marks) -> None:
    """Replaces a file of arrays that has a snapshot among them."""
    text = json.dumps({"marks": to_plain(marks), "snapshot": to_plain(snapshot)})
    write_arrays(path, {**arrays, HOST: np.frombuffer(text.encode(), np.uint8)}, {"format": FORMAT})


def read_snapshot(path: Path, kind: type[S]) -> S:
    """The snapshot alone, which takes no time."""
    arrays, _ = read_arrays(path, lambda name: name == HOST)
    return _read_text(arrays, path, kind)[1]


def _read_text(arrays: Arrays, path: Path, kind: type[S]) -> tuple[Marks, S]:
    if HOST not in arrays:
        raise RewardMachineError(f"{path}: damaged, or of another version: '{HOST}' is missing")
    try:
        content = json.loads(arrays[HOST].tobytes().decode())
    except (ValueError, RecursionError):
        raise SyntaxProblem(f"{path}: damaged, '{HOST}' is not JSON") from None
    if not isinstance(content, dict):
        raise SyntaxProblem(f"{path}: damaged, '{HOST}' must be a mapping of keys to values")
    for name in ("marks", "snapshot"):
        if name not in content:
            raise SyntaxProblem(f"{path}: damaged, or of another version: '{name}' is missing")
    marks = from_plain(Marks, content["marks"], f"{path}, marks")
    return marks, from_plain(kind, content["snapshot"], f"{path}, snapshot")


def is_network(name: str) -> bool:
    """Whether an array of this name is needed to act."""
    return NETWORKS in name.split("/")
