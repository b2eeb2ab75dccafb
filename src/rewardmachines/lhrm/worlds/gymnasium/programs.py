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
from rewardmachines.lhrm.interaction import NOTHING, Knowledge, Seen, Stepper, Workers
from rewardmachines.lhrm.worlds.gymnasium.environments import Ends, Worlds
from rewardmachines.lhrm.worlds.protocol import RunState
from rewardmachines.lowered.traversal import NEITHER

TASK, INSTANCE, END, IS_CUT, COLUMNS = 0, 1, 2, 3, 4


class News(NamedTuple):
    """What N environments show, in as few arrays as possible."""

    memory: Any
    numbers: Any
    """[N C]: task, instance, end and whether it is cut, then the bits of the label."""


def tell(worlds: Worlds, ends: Ends | None = None) -> News:
    """The present moment. Without ends, that of a beginning."""
    count = len(worlds.task)
    end, is_cut = (np.full(count, NEITHER), np.zeros(count)) if ends is None else ends
    numbers = np.column_stack([worlds.task, worlds.instance, end, is_cut, worlds.bits.view(np.int32)])
    return News(worlds.memory, numbers.astype(np.int32))


def _seen(news: News) -> Seen:
    label = jax.lax.bitcast_convert_type(news.numbers[:, COLUMNS:], jnp.uint32)
    return Seen(news.memory, label, news.numbers[:, END], news.numbers[:, IS_CUT] > 0)


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

    def _begin(self, knowledge: Knowledge, news: News, key: PRNGKeyArray) -> Workers:
        """The key may be one that is used elsewhere: another is made of it."""
        task, instance = news.numbers[:, TASK], news.numbers[:, INSTANCE]
        return self.stepper.begun(knowledge, task, instance, _seen(news), jax.random.fold_in(key, 1))

    def _restart(
        self, knowledge: Knowledge, workers: Workers, which: Bool[Array, " N"], news: News, key: PRNGKeyArray
    ) -> Workers:
        restarted: Workers = where_rows(which, self._begin(knowledge, news, key), workers)
        return restarted

    def _explore(self, knowledge: Knowledge, state: RunState) -> tuple[Int32[Array, "2 N"], RunState]:
        """Actions, and whether they are to be done."""
        key, explore_key = jax.random.split(state.key)
        actions, agent, workers = self.stepper.explore(knowledge, state.agent, state.workers, explore_key)
        is_live = (workers.waiting == NOTHING).astype(jnp.int32)
        return jnp.stack([actions, is_live]), state._replace(agent=agent, workers=workers, key=key)

    def _learn(self, knowledge: Knowledge, state: RunState, ready: Ready) -> tuple[RunState, Losses]:
        key, learn_key = jax.random.split(state.key)
        agent, losses = self.stepper.agent.learn(knowledge.task, state.agent, learn_key, ready)
        return state._replace(agent=agent, key=key), losses

    def _take(
        self, knowledge: Knowledge, state: RunState, chosen: Int32[Array, "2 N"], news: News
    ) -> tuple[RunState, Bool[Array, " N"]]:
        """What came of the actions; whose episode is over, so that the next can begin."""
        key, take_key = jax.random.split(state.key)
        agent, workers, taken = self.stepper.take(
            knowledge, state.agent, state.workers, chosen[0], _seen(news), take_key
        )
        return state._replace(agent=agent, workers=workers, key=key), taken.is_over

    def _exploit(
        self, knowledge: Knowledge, agent: AgentState, workers: Workers, key: PRNGKeyArray
    ) -> tuple[Int32[Array, " E"], Workers, PRNGKeyArray]:
        key, act_key = jax.random.split(key)
        return *self.stepper.exploit(knowledge, agent, workers, act_key), key

    def _follow(
        self, knowledge: Knowledge, workers: Workers, actions: Int32[Array, " E"], news: News, key: PRNGKeyArray
    ) -> tuple[Bool[Array, "2 E"], Workers, PRNGKeyArray]:
        """Whose episode is over, and who has won."""
        key, follow_key = jax.random.split(key)
        after, is_over, won = self.stepper.follow(knowledge, workers, actions, _seen(news), follow_key)
        return jnp.stack([is_over, won]), after, key


programs = cache(Programs)
"""The same for equal steppers: nothing is compiled twice."""
