"""Gymnasium environments as the worlds of tasks: the same compiled functions as everywhere, with Python between them.

A vector step is a few programs: one chooses actions, one learns while the environments are stepped, one takes what they
showed, and where episodes are over, one begins others. Two arrays go to the device for it, and one comes back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from rewardmachines.agents.gymnasium.observations import Encode
from rewardmachines.agents.hierarchical_dqn.agent import AgentState, HierarchicalAgent
from rewardmachines.agents.networks import Chance
from rewardmachines.agents.protocol import Losses
from rewardmachines.core.events import is_event
from rewardmachines.lhrm.config import LhrmConfig
from rewardmachines.lhrm.interaction import Knowledge, Stepper
from rewardmachines.lhrm.machine_pool import ranked
from rewardmachines.lhrm.worlds.gymnasium.dead_ends import DeadEnds, sight
from rewardmachines.lhrm.worlds.gymnasium.environments import Ends, Environments, Numbers
from rewardmachines.lhrm.worlds.gymnasium.evaluation import Evaluation
from rewardmachines.lhrm.worlds.gymnasium.programs import PackedStepResult, Programs, programs, tell
from rewardmachines.lhrm.worlds.gymnasium.tasks import GymTask, Senses, check_names, senses_of
from rewardmachines.lhrm.worlds.protocol import Counts, RunState
from rewardmachines.lowered.traversal import ACCEPT, REJECT


class GymnasiumWorlds:
    """Tasks in environments of one's own. What they are like is their business, so a run cannot be stored."""

    def __init__(
        self, tasks: Sequence[GymTask], *, encode: Encode | None = None, max_steps: int = 1000, seed: int = 0
    ) -> None:
        check_names(tasks)
        self.tasks = ranked({task.name: task.level for task in tasks})
        named = {task.name: task for task in tasks}
        self.gym_tasks = tuple(named[task.name] for task in self.tasks)
        self.max_steps, self.seed = max_steps, seed
        self.senses = self._checked(encode)
        self.propositions = self.senses.propositions
        self.instances = max(task.instances or 1 for task in tasks)
        self.world = jnp.int32(0)
        self.shape = self.senses.reading.shape
        self.actions = int(self.senses.actions.n)
        self.dead_ends = DeadEnds()
        self._chance = np.random.default_rng([seed, 1])
        self._environments: Environments | None = None
        self._programs: Programs | None = None
        self._evaluation = Evaluation(
            self.gym_tasks, self.instances, lambda count: self.make_environments(count, seed + 1)
        )

    def _checked(self, encode: Encode | None) -> Senses:
        envs = []
        try:
            for task in self.gym_tasks:
                envs.append(task.make_env())  # noqa: PERF401  those that were made are closed, come what may
            return senses_of(self.gym_tasks, envs, encode)
        finally:
            for env in envs:
                env.close()

    @property
    def dependencies(self) -> Mapping[str, tuple[str, ...]]:
        return {}

    @property
    def _made(self) -> Environments:
        assert self._environments is not None, "create comes first"
        return self._environments

    @property
    def stepper(self) -> Stepper:
        return self._compiled.stepper

    @property
    def _compiled(self) -> Programs:
        assert self._programs is not None, "prepare comes first"
        return self._programs

    def prepare(self, config: LhrmConfig, depth: int) -> None:
        agent = HierarchicalAgent(config.agent, self.shape, self.actions, depth, self.senses.reading.recall)
        self._programs = programs(Stepper(agent, self.max_steps, config.patience))

    def close(self) -> None:
        """All environments; they are made anew if need be."""
        self._evaluation.close()
        if self._environments is not None:
            self._environments.close()

    def make_environments(self, count: int, seed: int) -> Environments:
        return Environments(self.gym_tasks, self.senses, count, self.max_steps, seed)

    # -- beginnings

    def create(self, knowledge: Knowledge, chance: Chance, key: PRNGKeyArray) -> RunState:
        if self._environments is None:
            self._environments = self.make_environments(self.stepper.agent.config.environments, self.seed)
        self._begin(self._environments, _weights(knowledge), np.ones(len(self._environments.task), bool))
        crew = self._compiled.begin(knowledge, tell(self._environments), key)
        agent = self.stepper.agent.create(knowledge.task, crew.now[0], chance)
        owned: RunState = jax.tree.map(jnp.copy, RunState(agent, crew, (), jnp.int32(0), key))
        return owned  # every array on its own, so that it can be given away

    def _begin(self, environments: Environments, weights: Numbers, which: Numbers) -> None:
        """Where the mask says so, episodes of tasks and instances that are drawn."""
        indices = np.flatnonzero(which)
        if not len(indices):
            return
        drawn = np.zeros(len(environments.task), np.int64)
        drawn[indices] = self._chance.choice(len(weights), size=len(indices), p=weights)
        environments.begin(indices.tolist(), drawn // self.instances, drawn % self.instances)

    def restart(self, knowledge: Knowledge, state: RunState, which: Any) -> RunState:
        self._begin(self._made, _weights(knowledge), np.asarray(which))
        crew = self._compiled.restart(knowledge, state.crew, np.asarray(which), tell(self._made), state.key)
        return state._replace(crew=crew)

    # -- a chunk

    def chunk(self, knowledge: Knowledge, state: RunState, *, learns: bool, most: int) -> tuple[RunState, Counts]:
        counts, steps = np.zeros((2, len(self.tasks)), np.int32), 0
        weights, losses = _weights(knowledge), list[Losses]()
        unlearned, everybody = int(state.unlearned), self.stepper.agent.config.environments
        for _ in range(self.stepper.agent.config.chunk):
            on_device, state = self._compiled.explore(knowledge, state)
            chosen = np.asarray(on_device)
            live = int(chosen[1].sum())
            if live == 0 or counts[0].sum() >= most:
                break
            steps, unlearned = steps + live, unlearned + live
            if unlearned >= everybody:
                unlearned -= everybody
                state, loss = self._compiled.learn(knowledge, state, learns)
                losses.append(loss)
            state = self._stepped(knowledge, state, chosen, weights, counts)
        total = Counts(jnp.asarray(counts[0]), jnp.asarray(counts[1]), jnp.int32(steps), _mean(losses))
        return state._replace(unlearned=jnp.int32(unlearned)), total

    def _stepped(
        self, knowledge: Knowledge, state: RunState, chosen: Any, weights: Numbers, counts: Numbers
    ) -> RunState:
        """Acts, and begins anew where episodes are over."""
        does, environments = self._compiled, self._made
        ends, packed = self._acted(chosen, counts)
        state, is_over = does.take(knowledge, state, chosen, packed)
        if not ends.is_over.any():
            return state
        self._begin(environments, weights, ends.is_over)
        return state._replace(crew=does.restart(knowledge, state.crew, is_over, tell(environments), state.key))

    def _acted(self, chosen: Numbers, counts: Numbers) -> tuple[Ends, PackedStepResult]:
        """Whoever does not wait."""
        environments, before = self._made, list(self._made.labels)
        ends = environments.step(np.flatnonzero(chosen[1]).tolist(), chosen[0])
        np.add.at(counts[0], environments.task[ends.is_over], 1)
        np.add.at(counts[1], environments.task[ends.end == ACCEPT], 1)
        self._watch(environments, before, ends)
        return ends, tell(environments, ends)

    def _watch(self, environments: Environments, before: Sequence[Any], ends: Ends) -> None:
        """What labels stood for."""
        for i, (old, new) in enumerate(zip(before, environments.labels, strict=True)):
            changed = is_event(old, new)
            if not changed and ends.end[i] != REJECT:
                continue
            what = sight(
                new, is_event=changed, is_goal=ends.end[i] == ACCEPT, is_dead_end=ends.end[i] == REJECT
            )  # fmt: skip
            if what is not None:
                self.dead_ends.see(self.tasks[environments.task[i]].name, new, what)

    # -- evaluation

    def evaluate(self, knowledge: Knowledge, agent: AgentState, wanted: Any, seed: int) -> Any:
        is_wanted = np.asarray(wanted) & np.asarray(knowledge.is_learned)
        return self._evaluation.returns(self._compiled, knowledge, agent, is_wanted, jax.random.key(seed))


def _weights(knowledge: Knowledge) -> Numbers:
    """How likely each pair is, in one row."""
    weights = np.asarray(knowledge.chances, np.float64).reshape(-1)
    drawn: Numbers = weights / weights.sum()
    return drawn


def _mean(losses: Sequence[Losses]) -> Losses:
    if not losses:
        return Losses(jnp.float32(0), jnp.float32(0))
    return Losses(*(jnp.stack(kind).mean() for kind in zip(*losses, strict=True)))
