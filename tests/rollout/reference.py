"""Episodes in two rooms in plain Python, as a judge of the drivers: they are given actions, and say what comes of them.

The reference shares nothing with the package but the definitions of `core`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final

import jax
import numpy as np

from agents.two_rooms import DOOR, PROPOSITIONS
from rewardmachines.agents.replay import size_of
from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.traversal import HierarchyState, Verdict, initial_state, step, verdict_of
from rewardmachines.lowered import LabelBits, lift
from rollout.rooms import MAX_STEPS, label_of, moved

CHUNKS: Final = 30
BITS: Final = LabelBits(PROPOSITIONS)


@dataclass(frozen=True)
class PlainStep:
    """A step of an environment, as a replay memory should hold it."""

    before: int
    action: int
    after: int
    label: Label
    is_event: bool
    is_dead_end: bool


@dataclass
class PlainEpisode:
    """An episode that is under way."""

    tree: Hierarchy
    cell: int = DOOR
    steps: int = 0
    state: HierarchyState = field(init=False)
    trace: list[Label] = field(init=False)
    """The label events so far, the first label included."""

    def __post_init__(self) -> None:
        self.state = step(self.tree, initial_state(self.tree), label_of(self.cell))
        self.trace = [label_of(self.cell)]

    def act(self, action: int) -> PlainStep:
        """Takes a step. A label that stays changes nothing."""
        before, self.cell, self.steps = self.cell, moved(self.cell, action), self.steps + 1
        is_event = label_of(self.cell) != label_of(before)
        if is_event:
            self.state = step(self.tree, self.state, label_of(self.cell))
            self.trace.append(label_of(self.cell))
        is_dead_end = self.verdict is Verdict.REJECT
        return PlainStep(before, action, self.cell, label_of(self.cell), is_event, is_dead_end)

    @property
    def verdict(self) -> Verdict:
        """What the hierarchy says of the trace so far."""
        return verdict_of(self.tree, self.state)


@dataclass
class PlainEnvironments:
    """N environments in lockstep."""

    tree: Hierarchy
    count: int
    longest: int
    rests: bool = False
    """Whether an environment whose episode has ended rests for a step, in which it is reset."""
    waits: bool = False
    """Whether an environment that has reached its goal waits, and makes no steps."""

    def __post_init__(self) -> None:
        self.episodes = [PlainEpisode(self.tree) for _ in range(self.count)]
        self.is_resting = [False] * self.count
        self.is_waiting = [False] * self.count
        self.ended = self.goals = 0

    def step(self, action: Callable[[int], int]) -> Iterator[PlainStep]:
        """Takes a step in every environment that neither rests nor waits; `action` is asked for each of them."""
        for i, episode in enumerate(self.episodes):
            if self.is_resting[i] or self.is_waiting[i]:
                self.is_resting[i] = False
                continue
            yield episode.act(action(i))
            is_goal = episode.verdict is Verdict.ACCEPT
            if episode.verdict is Verdict.NEITHER and episode.steps < self.longest:
                continue
            self.ended, self.goals = self.ended + 1, self.goals + is_goal
            if self.waits and is_goal:
                self.is_waiting[i] = True
            else:
                self.begin(i)
                self.is_resting[i] = self.rests

    def begin(self, index: int) -> None:
        """Begins another episode."""
        self.episodes[index], self.is_waiting[index] = PlainEpisode(self.tree), False


# -- runs, compared


def remembered(run: Any, since: int) -> list[PlainStep]:
    """The rows of the replay memory since so many were written, in the words of the reference."""
    ring = run.state.agent.replay
    count = int(ring.written[0])
    assert count <= size_of(ring), "older rows were overwritten"
    rows = jax.tree.map(lambda x: np.asarray(x)[since:count], ring.rows)
    return [
        PlainStep(
            int(rows.before[i]),
            int(rows.action[i]),
            int(rows.after[i]),
            BITS.decode(rows.label[i]),
            bool(rows.is_event[i]),
            bool(rows.is_dead_end[i]),
        )
        for i in range(count - since)
    ]


def check_training(run: Any, *, rests: bool = False) -> None:
    """Trains for some chunks, and compares everything that happened with the reference."""
    plain = PlainEnvironments(run.plan.hierarchy, run.config.environments, MAX_STEPS, rests=rests)
    ended = goals = read_so_far = dead_ends = 0
    for _ in range(CHUNKS):
        row = run.advance()
        ended, goals = ended + sum(row.ended), goals + sum(row.goals)
        found = remembered(run, read_so_far)
        actions = (one.action for one in found)
        steps = [one for _ in range(run.config.chunk) for one in plain.step(lambda _: next(actions))]  # noqa: B023
        assert next(actions, None) is None
        if run.agent_kind.has_options:
            assert found == steps
            assert int(run.state.agent.formulas.steps.sum()) == row.steps, "every step has explored with one formula"
        else:  # CRM computes itself where the machine rejects
            assert found == [replace(one, is_dead_end=False) for one in steps]
        dead_ends += sum(one.is_dead_end for one in steps)
        read_so_far += len(steps)
        assert row.steps == read_so_far
        assert (row.episodes, ended, goals) == (plain.ended, plain.ended, plain.goals)
        for i, episode in enumerate(plain.episodes):
            belief = jax.tree.map(lambda x, i=i: np.asarray(x)[i], run.state.episodes.belief)
            if not plain.is_resting[i]:
                assert int(run.state.episodes.now[i]) == episode.cell
                assert lift(run.plan.lowered, run.plan.hierarchy, belief) == episode.state
    assert goals, "the goal was never reached"
    assert dead_ends, "there was no dead end"
