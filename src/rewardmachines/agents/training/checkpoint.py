"""Everything that a run needs to go on, in one file, and what its policies need, in a file for each seed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from rewardmachines.agents.training.session import Session, Tally
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.runs.tensors import Arrays, Notes, named, pack, read_arrays, unpack, write_arrays

FORMAT: Final = 1
STATE: Final = "state"
AGENT: Final = "agent"
NETWORKS: Final = "online"
"""Part of the name of every array that a policy needs to act."""
COUNTED: Final = ("steps", "episodes", "evaluated", "returns")
"""What is counted for each seed."""


@dataclass(frozen=True)
class Marks:
    """How far the files of the run had come."""

    metrics: int = 0
    timing: int = 0
    seconds: float = 0.0


def write_checkpoint(path: Path, session: Session, marks: Marks) -> None:
    notes = {"format": FORMAT, "chunks": session.tally.chunks, "metrics": marks.metrics, "timing": marks.timing}
    write_arrays(path, {**pack(session.state, STATE), **_counted(session.tally, marks.seconds)}, notes)


def read_checkpoint(path: Path, session: Session) -> Marks:
    """Puts the session where it was."""
    arrays, notes = read_arrays(path)
    state = unpack(session.state, arrays, STATE, str(path))
    for name, like in _counted(session.tally, 0).items():
        if name not in arrays or arrays[name].shape != like.shape or arrays[name].dtype != like.dtype:
            raise RewardMachineError(f"{path}: damaged, or of another version: '{name}' is missing or misshapen")
    chunks, metrics, timing = (_whole_number(notes, name, path) for name in ("chunks", "metrics", "timing"))
    session.state = state
    session.tally = Tally(chunks, **{name: arrays[f"tally/{name}"].copy() for name in COUNTED})
    return Marks(metrics, timing, float(arrays["seconds"]))


def _counted(tally: Tally, seconds: float) -> Arrays:
    counted = {f"tally/{name}": getattr(tally, name) for name in COUNTED}
    return {**counted, "seconds": np.array(seconds, np.float64)}


def _whole_number(notes: Notes, name: str, path: Path) -> int:
    found = notes.get(name)
    if type(found) is not int or found < 0:
        raise RewardMachineError(f"{path}: damaged, or of another version: it does not tell '{name}'")
    return found


def write_policy(path: Path, session: Session, number: int) -> None:
    """The networks of one seed, the `number`-th."""
    leaves = {name: leaf for name, leaf in named(session.state.agent, AGENT).items() if is_network(name)}
    many = session.spec.seeds > 1
    arrays = {name: np.array(leaf[number] if many else leaf, order="C") for name, leaf in leaves.items()}
    write_arrays(path, arrays, {"format": FORMAT, "chunks": session.tally.chunks})


def read_policy(path: Path, agent: Any) -> tuple[Any, int]:
    """The agent of one seed with the networks of the file, and for how many chunks they have learned."""
    arrays, notes = read_arrays(path)
    return unpack(agent, arrays, AGENT, str(path), is_network), _whole_number(notes, "chunks", path)


def is_network(name: str) -> bool:
    return NETWORKS in name.split("/")
