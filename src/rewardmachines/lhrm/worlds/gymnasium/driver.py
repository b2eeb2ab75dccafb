"""Drives an agent through Gymnasium environments: the same functions as everywhere, with Python between them.

A vector step is a few compiled programs: one chooses actions, one learns while the environments are stepped, one takes
what they showed, and where episodes are over, one begins others. Two arrays go to the device for it, and one comes
back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from rewardmachines.agents.gymnasium.environments import Environments, Numbers, PackedStepResult
from rewardmachines.agents.hierarchical_dqn.agent import AgentState, HierarchicalAgent
from rewardmachines.agents.networks import Chance
from rewardmachines.agents.protocol import Losses
from rewardmachines.core.events import is_event
from rewardmachines.core.formula import Label
from rewardmachines.lhrm.crew import Knowledge
from rewardmachines.lhrm.worlds.gymnasium.dead_ends import DeadEnds, sight
from rewardmachines.lhrm.worlds.gymnasium.evaluation import Evaluation
from rewardmachines.lhrm.worlds.gymnasium.programs import Programs
from rewardmachines.lhrm.worlds.protocol import Counts, RunState
from rewardmachines.lowered.traversal import ACCEPT, REJECT


@dataclass(frozen=True)
class GymnasiumDriver:
    """Steps environments that belong to somebody else, who closes them, with compiled programs between the steps."""

    programs: Programs
    environments: Environments
    evaluation: Evaluation
    dead_ends: DeadEnds
    """Is told what labels stood for."""
    tasks: tuple[str, ...]
    instances: int
    chance: Chance
    """Draws tasks and instances. All drivers of the same worlds share it, so that a run draws on where it was."""

    @property
    def agent(self) -> HierarchicalAgent:
        return self.programs.stepper.agent

    # -- beginnings

    def create(self, knowledge: Knowledge, chance: Chance, key: PRNGKeyArray) -> RunState:
        result = self._begin(_weights(knowledge), np.ones(self.agent.config.environments, bool))
        return self._created(knowledge, result, chance, key)

    def _created(self, knowledge: Knowledge, result: PackedStepResult, chance: Chance, key: PRNGKeyArray) -> RunState:
        crew = self.programs.begin(knowledge, result, key)
        agent = self.agent.create(knowledge.task, crew.now[0], chance)
        # Programs take the arrays of the state over, and an array that occurs twice cannot be taken over twice.
        owned: RunState = jax.device_put(RunState(agent, crew, (), jnp.int32(0), key), may_alias=False)
        return owned

    def shapes(self, knowledge: Knowledge) -> Any:
        chance, key = np.random.default_rng(0), jax.random.key(0)
        return jax.eval_shape(lambda: self._created(knowledge, self.environments.present(), chance, key))

    def _begin(self, weights: Numbers, which: Numbers) -> PackedStepResult:
        """Begins episodes of tasks and instances that are drawn, in the environments that the mask selects."""
        indices = np.flatnonzero(which)
        drawn = np.zeros(len(which), np.int64)
        if len(indices):
            drawn[indices] = self.chance.choice(len(weights), size=len(indices), p=weights)
        return self.environments.begin(indices.tolist(), drawn // self.instances, drawn % self.instances)

    def restart(self, knowledge: Knowledge, state: RunState, which: Any) -> RunState:
        result = self._begin(_weights(knowledge), np.asarray(which))
        crew = self.programs.restart(knowledge, state.crew, np.asarray(which), result, state.key)
        return state._replace(crew=crew)

    # -- a chunk

    def chunk(self, knowledge: Knowledge, state: RunState, *, learns: bool, most: int) -> tuple[RunState, Counts]:
        counts, steps = np.zeros((2, len(self.tasks)), np.int32), 0
        weights, losses = _weights(knowledge), list[Losses]()
        unlearned, everybody = int(state.unlearned), self.agent.config.environments
        for _ in range(self.agent.config.chunk):
            on_device, state = self.programs.explore(knowledge, state)
            chosen = np.asarray(on_device)
            live = int(chosen[1].sum())
            if live == 0 or counts[0].sum() >= most:
                break
            steps, unlearned = steps + live, unlearned + live
            if unlearned >= everybody:  # nobody waits for it: the device learns while the environments are stepped
                unlearned -= everybody
                state, loss = self.programs.learn(knowledge, state, learns)
                losses.append(loss)
            state = self._stepped(knowledge, state, chosen, weights, counts)
        total = Counts(jnp.asarray(counts[0]), jnp.asarray(counts[1]), jnp.int32(steps), _mean(losses))
        return state._replace(unlearned=jnp.int32(unlearned)), total

    def _stepped(
        self, knowledge: Knowledge, state: RunState, chosen: Numbers, weights: Numbers, counts: Numbers
    ) -> RunState:
        """Acts, and begins new episodes where some are over.

        Args:
            knowledge: The learned hierarchies.
            state: The state in which the actions were chosen.
            chosen: Actions, and which of them are to be done, [2, N].
            weights: How likely each pair of a task and an instance is to be drawn.
            counts: Episodes and goals by task, [2, T], which are added to.
        """
        result = self._acted(chosen, counts)
        state, is_over = self.programs.observe(knowledge, state, chosen, result)
        if not result.is_over.any():
            return state
        # An environment that has ended is reset at once, even if its trace still waits: the crew, which knows, goes on
        # only where nothing waits. Thus it need not be fetched from the device which ones wait.
        result = self._begin(weights, result.is_over)
        return state._replace(crew=self.programs.restart(knowledge, state.crew, is_over, result, state.key))

    def _acted(self, chosen: Numbers, counts: Numbers) -> PackedStepResult:
        """Steps the environments that do not wait, and counts the episodes that end."""
        environments, before = self.environments, list(self.environments.labels)
        result = environments.step(np.flatnonzero(chosen[1]).tolist(), chosen[0])
        np.add.at(counts[0], environments.task[result.is_over], 1)
        np.add.at(counts[1], environments.task[result.end == ACCEPT], 1)
        self._watch(before, result.end)
        return result

    def _watch(self, before: Sequence[Label], end: Numbers) -> None:
        """Counts what labels stood for: whether episodes went on there, or how they ended."""
        for i, (old, new) in enumerate(zip(before, self.environments.labels, strict=True)):
            changed = is_event(old, new)
            if not changed and end[i] != REJECT:
                continue
            what = sight(new, is_event=changed, is_goal=end[i] == ACCEPT, is_dead_end=end[i] == REJECT)
            if what is not None:
                self.dead_ends.see(self.tasks[self.environments.task[i]], new, what)

    # -- evaluation

    def evaluate(self, knowledge: Knowledge, agent: AgentState, wanted: Any, seed: int) -> Any:
        is_wanted = np.asarray(wanted) & np.asarray(knowledge.is_learned)
        return self.evaluation.returns(self.programs, knowledge, agent, is_wanted, jax.random.key(seed))


def _weights(knowledge: Knowledge) -> Numbers:
    """How likely each pair of a task and an instance is, in one row: the instances of a task in sequence."""
    weights = np.asarray(knowledge.chances, np.float64).reshape(-1)
    drawn: Numbers = weights / weights.sum()
    return drawn


def _mean(losses: Sequence[Losses]) -> Losses:
    """The means over a chunk; 0 if nothing was learned in it."""
    if not losses:
        return Losses(jnp.float32(0), jnp.float32(0))
    return Losses(*(jnp.stack(kind).mean() for kind in zip(*losses, strict=True)))
