"""Reads what a chunk has shown from the arrays of the device: traces that wait to be taken, and labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rewardmachines.agents import replay
from rewardmachines.core.formula import Label
from rewardmachines.lhrm.crew import NOTHING, Crew, outcome_of
from rewardmachines.lhrm.setbacks import Event
from rewardmachines.lhrm.worlds.protocol import Counts, RunState
from rewardmachines.lowered import LabelBits
from rewardmachines.traces import Trace


@dataclass(frozen=True)
class Findings:
    """What was found in a chunk, before anything of it takes effect."""

    counts: Counts
    """What was counted."""
    waiting: Any
    """A mask [N] of the environments whose traces were taken, and which wait for new episodes."""
    events: tuple[Event, ...]
    """The machines that were learned from the traces, and the tasks that were given up."""
    evaluated: Any
    """A mask [T] of the tasks that greedy episodes after the chunk judge: the active ones whose hierarchies did not
    change in it. Policies of the others begin anew."""
    has_new_labels: bool
    """Whether a label was seen for the first time, or was for the first time that of a dead end."""
    level: int
    """The level of the curriculum before greedy episodes."""


def waiting_traces(crew: Crew, tasks: Sequence[str], bits: LabelBits) -> tuple[Any, dict[str, list[Trace]]]:
    """The traces that wait to be taken.

    Args:
        crew: The agent's half of the environments.
        tasks: The names of the tasks, in the order of their numbers.
        bits: How labels are encoded.

    Returns:
        A mask [N] of the environments that wait, and their traces by task.
    """
    waiting, length, task = (np.asarray(x) for x in (crew.waiting, crew.length, crew.task))
    found: dict[str, list[Trace]] = {}
    if (waiting != NOTHING).any():
        every = np.asarray(crew.trace)
        for i in np.flatnonzero(waiting != NOTHING):
            trace = Trace(tuple(map(bits.decode, every[i, : int(length[i])])), outcome_of(int(waiting[i])))
            found.setdefault(tasks[int(task[i])], []).append(trace)
    return waiting != NOTHING, found


def labels_of(state: RunState, steps: int, bits: LabelBits) -> tuple[list[Label], list[Label]]:
    """The labels of the last steps and of the beginnings of episodes, which are in no step that is remembered.

    Args:
        state: The state after a chunk.
        steps: How many of the last remembered steps are looked at.
        bits: How labels are encoded.

    Returns:
        All these labels, and those of them at which episodes ended in dead ends.
    """
    label, is_dead_end = replay.latest(state.agent.replay, steps)
    seen = np.concatenate([label, np.asarray(state.crew.trace[:, 0])])
    labels, fatal = (list(map(bits.decode, np.unique(some, axis=0))) for some in (seen, label[is_dead_end]))
    return labels, fatal
