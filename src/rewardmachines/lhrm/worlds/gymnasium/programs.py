"""What is compiled of a run on Gymnasium environments: all that happens between their steps."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int32, PRNGKeyArray

from rewardmachines.agents.hierarchical_dqn.agent import AgentState
from rewardmachines.agents.loop import where_rows
from rewardmachines.agents.protocol import Losses, Ready
from rewardmachines.lhrm.interaction import NOTHING, Crew, Knowledge, Stepper, StepResult
from rewardmachines.lhrm.worlds.gymnasium.environments import Ends, Environments
from rewardmachines.lhrm.worlds.protocol import RunState
from rewardmachines.lowered.traversal import NEITHER

TASK, INSTANCE, END, IS_CUT, COLUMNS = 0, 1, 2, 3, 4


class PackedStepResult(NamedTuple):
    """What N environments show, in as few arrays as possible."""

    memory: Any
    numbers: Any
    """[N C]: task, instance, end and whether it is cut, then the bits of the label."""


def tell(environments: Environments, ends: Ends | None = None) -> PackedStepResult:
    """The present moment. Without ends, that of a beginning."""
    count = len(environments.task)
    end, is_cut = (np.full(count, NEITHER), np.zeros(count)) if ends is None else ends
    numbers = np.column_stack([environments.task, environments.instance, end, is_cut, environments.bits.view(np.int32)])
    return PackedStepResult(environments.memory, numbers.astype(np.int32))


def _unpacked(packed: PackedStepResult) -> StepResult:
    label = jax.lax.bitcast_convert_type(packed.numbers[:, COLUMNS:], jnp.uint32)
    return StepResult(packed.memory, label, packed.numbers[:, END], packed.numbers[:, IS_CUT] > 0)


class Programs:
    """What happens between the steps of environments, each compiled once. In small pieces that takes less time."""

    def __init__(self, stepper: Stepper) -> None:
        self.stepper = stepper
        self.begin = jax.jit(self._begin)
        self.restart = jax.jit(self._restart, donate_argnums=1)
        self.explore = jax.jit(self._explore, donate_argnums=1)
        self.learn = jax.jit(self._learn, donate_argnums=1)
        self.take = jax.jit(self._take, donate_argnums=1)
        self.exploit = jax.jit(self._exploit)
        self.follow = jax.jit(self._follow)

    def _begin(self, knowledge: Knowledge, packed: PackedStepResult, key: PRNGKeyArray) -> Crew:
        """The key may be one that is used elsewhere: another is made of it."""
        task, instance = packed.numbers[:, TASK], packed.numbers[:, INSTANCE]
        return self.stepper.begun(knowledge, task, instance, _unpacked(packed), jax.random.fold_in(key, 1))

    def _restart(
        self, knowledge: Knowledge, crew: Crew, which: Bool[Array, " N"], packed: PackedStepResult, key: PRNGKeyArray
    ) -> Crew:
        restarted: Crew = where_rows(which, self._begin(knowledge, packed, key), crew)
        return restarted

    def _explore(self, knowledge: Knowledge, state: RunState) -> tuple[Int32[Array, "2 N"], RunState]:
        """Actions, and whether they are to be done."""
        key, explore_key = jax.random.split(state.key)
        actions, agent, crew = self.stepper.explore(knowledge, state.agent, state.crew, explore_key)
        is_live = (crew.waiting == NOTHING).astype(jnp.int32)
        return jnp.stack([actions, is_live]), state._replace(agent=agent, crew=crew, key=key)

    def _learn(self, knowledge: Knowledge, state: RunState, ready: Ready) -> tuple[RunState, Losses]:
        key, learn_key = jax.random.split(state.key)
        agent, losses = self.stepper.agent.learn(knowledge.task, state.agent, learn_key, ready)
        return state._replace(agent=agent, key=key), losses

    def _take(
        self, knowledge: Knowledge, state: RunState, chosen: Int32[Array, "2 N"], packed: PackedStepResult
    ) -> tuple[RunState, Bool[Array, " N"]]:
        """What came of the actions; whose episode is over, so that the next can begin."""
        key, take_key = jax.random.split(state.key)
        agent, crew, endings = self.stepper.take(
            knowledge, state.agent, state.crew, chosen[0], _unpacked(packed), take_key
        )
        return state._replace(agent=agent, crew=crew, key=key), endings.is_over

    def _exploit(
        self, knowledge: Knowledge, agent: AgentState, crew: Crew, key: PRNGKeyArray
    ) -> tuple[Int32[Array, " E"], Crew, PRNGKeyArray]:
        key, act_key = jax.random.split(key)
        return *self.stepper.exploit(knowledge, agent, crew, act_key), key

    def _follow(
        self, knowledge: Knowledge, crew: Crew, actions: Int32[Array, " E"], packed: PackedStepResult, key: PRNGKeyArray
    ) -> tuple[Bool[Array, "2 E"], Crew, PRNGKeyArray]:
        """Whose episode is over, and who has won."""
        key, follow_key = jax.random.split(key)
        after, is_over, won = self.stepper.follow(knowledge, crew, actions, _unpacked(packed), follow_key)
        return jnp.stack([is_over, won]), after, key


programs = cache(Programs)
"""The same for equal steppers: nothing is compiled twice."""
