"""Everything that a run needs to go on, in one file, and what its policies need, in another.

What is on the device lies there as arrays, and all the rest as a text among them: the file is replaced as a whole, so
the two always belong together.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from rewardmachines.agents.training.checkpoint import AGENT, STATE, Marks, is_network
from rewardmachines.core.errors import RewardMachineError, SyntaxProblem
from rewardmachines.lhrm.algorithm import Lhrm
from rewardmachines.lhrm.snapshot import Snapshot, put_back, take_snapshot
from rewardmachines.runs.records import from_plain, to_plain
from rewardmachines.runs.tensors import Arrays, pack, read_arrays, unpack, write_arrays

FORMAT: Final = 1
HOST: Final = "host"
"""The name of the text."""


@dataclass(frozen=True)
class Saved:
    """What the text says."""

    marks: Marks
    snapshot: Snapshot


def write_checkpoint(path: Path, run: Lhrm, marks: Marks) -> None:
    _write(path, run, marks, pack(run.state, STATE))


def write_policies(path: Path, run: Lhrm, marks: Marks) -> None:
    """The networks of all options, and what they belong to."""
    _write(path, run, marks, {name: x for name, x in pack(run.state.agent, AGENT).items() if is_network(name)})


def _write(path: Path, run: Lhrm, marks: Marks, arrays: Arrays) -> None:
    text = json.dumps(to_plain(Saved(marks, take_snapshot(run))))
    host = np.frombuffer(text.encode(), np.uint8)
    write_arrays(path, {**arrays, HOST: host}, {"format": FORMAT, "chunks": run.tally.chunks})


def read_saved(path: Path) -> Saved:
    """The text alone, which takes no time."""
    arrays, _ = read_arrays(path, lambda name: name == HOST)
    return _saved(arrays, path)


def _saved(arrays: Arrays, path: Path) -> Saved:
    if HOST not in arrays:
        raise RewardMachineError(f"{path}: damaged, or of another version: '{HOST}' is missing")
    try:
        content = json.loads(arrays[HOST].tobytes().decode())
    except (ValueError, RecursionError):
        raise SyntaxProblem(f"{path}: damaged, '{HOST}' is not JSON") from None
    saved: Saved = from_plain(Saved, content, str(path))
    return saved


def read_checkpoint(path: Path, run: Lhrm) -> Marks:
    """Puts a run that has just begun where it was. One in which everything was given up does not go on."""
    arrays, _ = read_arrays(path)
    saved = _saved(arrays, path)
    put_back(run, saved.snapshot, str(path))
    if not run.is_stuck:
        run.state = unpack(_shapes(run), arrays, STATE, str(path))
    return saved.marks


def _shapes(run: Lhrm) -> Any:
    """Of the arrays of a run; nothing is computed, and its own generator stays where it is."""
    knowledge, driver = run.knowledge, run.driver
    return jax.eval_shape(lambda: driver.create(knowledge, np.random.default_rng(0), jax.random.key(0)))


def read_policies(path: Path, agent: Any) -> Any:
    """An agent of these shapes with the networks of the file: it can act, but has nothing to learn from."""
    arrays, _ = read_arrays(path, is_network)
    found = unpack(agent, arrays, AGENT, str(path), is_network)
    return jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype) if isinstance(x, jax.ShapeDtypeStruct) else x, found)
