"""The compiled part of a run on Gymnasium environments: everything that happens between their steps."""

from __future__ import annotations

from functools import lru_cache

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int32, PRNGKeyArray

from rewardmachines.agents.batches import where_rows
from rewardmachines.agents.gymnasium.environments import COLUMNS, INSTANCE, TASK, PackedStepResult
from rewardmachines.agents.hierarchical_dqn.agent import AgentState
from rewardmachines.agents.protocol import Losses, Ready
from rewardmachines.lhrm.crew import NOTHING, Crew, Knowledge, StepResult
from rewardmachines.lhrm.interaction import Stepper
from rewardmachines.lhrm.worlds.protocol import RunState
from rewardmachines.runs.compile_ahead import KEPT


def unpacked(packed: PackedStepResult) -> StepResult:
    """The step result as the agent takes it."""
    label = jax.lax.bitcast_convert_type(packed.numbers[:, COLUMNS:], jnp.uint32)
    return StepResult(packed.memory, label, packed.end, packed.is_cut)


class Programs:
    """What happens between the steps of environments. Several small programs are compiled faster than a large one."""

    def __init__(self, stepper: Stepper) -> None:
        self.stepper = stepper
        # Whoever hands a state over cannot use it again: its arrays are written in place.
        self.begin = jax.jit(self._begin)
        self.restart = jax.jit(self._restart, donate_argnums=1)
        self.explore = jax.jit(self._explore, donate_argnums=1)
        self.learn = jax.jit(self._learn, donate_argnums=1)
        self.observe = jax.jit(self._observe, donate_argnums=1)
        self.exploit = jax.jit(self._exploit)
        self.follow = jax.jit(self._follow)

    # -- exploring, with N environments

    def _begin(self, knowledge: Knowledge, packed: PackedStepResult, key: PRNGKeyArray) -> Crew:
        """The crew at the beginning of episodes. The key may be in use elsewhere: another one is made of it."""
        task, instance = packed.numbers[:, TASK], packed.numbers[:, INSTANCE]
        return self.stepper.begin(knowledge, task, instance, unpacked(packed), jax.random.fold_in(key, 1))

    def _restart(
        self, knowledge: Knowledge, crew: Crew, which: Bool[Array, " N"], packed: PackedStepResult, key: PRNGKeyArray
    ) -> Crew:
        """The crew with new episodes in the selected environments."""
        restarted: Crew = where_rows(which, self._begin(knowledge, packed, key), crew)
        return restarted

    def _explore(self, knowledge: Knowledge, state: RunState) -> tuple[Int32[Array, "2 N"], RunState]:
        """Actions in the first row; in the second whether they are to be done, which is 0 for those that wait."""
        key, explore_key = jax.random.split(state.key)
        actions, agent, crew = self.stepper.explore(knowledge, state.agent, state.crew, explore_key)
        is_live = (crew.waiting == NOTHING).astype(jnp.int32)
        return jnp.stack([actions, is_live]), state._replace(agent=agent, crew=crew, key=key)

    def _learn(self, knowledge: Knowledge, state: RunState, ready: Ready) -> tuple[RunState, Losses]:
        """A round of learning from what is remembered."""
        key, learn_key = jax.random.split(state.key)
        agent, losses = self.stepper.agent.learn(knowledge.task, state.agent, learn_key, ready)
        return state._replace(agent=agent, key=key), losses

    def _observe(
        self, knowledge: Knowledge, state: RunState, chosen: Int32[Array, "2 N"], packed: PackedStepResult
    ) -> tuple[RunState, Bool[Array, " N"]]:
        """The state after a step, and which episodes are over, so that others can begin."""
        key, observe_key = jax.random.split(state.key)
        agent, crew, endings = self.stepper.observe(
            knowledge, state.agent, state.crew, chosen[0], unpacked(packed), observe_key
        )
        return state._replace(agent=agent, crew=crew, key=key), endings.is_over

    # -- evaluating, with E environments

    def _exploit(
        self, knowledge: Knowledge, agent: AgentState, crew: Crew, key: PRNGKeyArray
    ) -> tuple[Int32[Array, " E"], Crew, PRNGKeyArray]:
        """Greedy actions, the crew that chose them, and the next key."""
        key, act_key = jax.random.split(key)
        return *self.stepper.exploit(knowledge, agent, crew, act_key), key

    def _follow(
        self, knowledge: Knowledge, crew: Crew, actions: Int32[Array, " E"], packed: PackedStepResult, key: PRNGKeyArray
    ) -> tuple[Bool[Array, "2 E"], Crew, PRNGKeyArray]:
        """Which episodes are over, in the first row; in the second, which reached their goal."""
        key, follow_key = jax.random.split(key)
        after, is_over, won = self.stepper.follow(knowledge, crew, actions, unpacked(packed), follow_key)
        return jnp.stack([is_over, won]), after, key


compiled_programs = lru_cache(KEPT)(Programs)
"""The programs of a stepper. Equal steppers get the same ones, so that nothing is compiled twice."""
