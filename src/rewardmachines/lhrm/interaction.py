"""What happens to the agent in N environments while machines are still being learned: pure functions on batches.

The environments show labels and say how an episode ended; nothing else is known of them here. The *belief* is where the
learned hierarchy stands. Where that knows nothing to do, the agent explores: it acts at random for a step, or follows a
*guide*, a machine that is mastered, until it is done. A *scout* is a guide that is still learning: it explores on its
own, and may give up. An environment whose trace is to be learned from waits until it has been taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Final, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int32, PRNGKeyArray, UInt32

from rewardmachines.agents.batches import where_rows
from rewardmachines.agents.hierarchical_dqn.agent import AgentState, HierarchicalAgent
from rewardmachines.agents.hierarchical_dqn.task import OptionTask
from rewardmachines.agents.options.stack import TRUE_CONTEXT, OptionStack, cleared
from rewardmachines.agents.protocol import Step
from rewardmachines.lhrm.exploration import draw_guides
from rewardmachines.lowered import State, Tables, VerdictCode, initial_state, move_on_event, verdict
from rewardmachines.lowered import step as hierarchy_step
from rewardmachines.lowered.traversal import ACCEPT, NEITHER, REJECT
from rewardmachines.traces import Outcome

NOTHING: Final = 0
"""No trace waits to be taken."""
GOAL, DEAD_END, INCOMPLETE = (1 + code for code in (ACCEPT, REJECT, NEITHER))
"""What a trace that waits is an example of: one more than the code of the verdict that a right machine gives it."""


class Knowledge(NamedTuple):
    """What is believed and to be done, as arrays of fixed shape: T tasks, I instances, G guides."""

    world: Any
    tables: Tables
    options: Any
    root: Int32[Array, " T"]
    is_learned: Bool[Array, " T"]
    """Whether there is a machine that could be wrong."""
    guide: Int32[Array, " G"]
    is_guide: Bool[Array, " G"]
    is_scout: Bool[Array, " G"]
    chances: Float[Array, "T I"]

    @property
    def task(self) -> OptionTask:
        return OptionTask(self.world, self.tables, self.options)


class StepResult(NamedTuple):
    """What N environments show."""

    memory: Any
    label: UInt32[Array, "N W"]
    end: Int32[Array, " N"]
    """ACCEPT: it has ended at the goal. REJECT: at a dead end. NEITHER: it goes on, or is cut."""
    is_cut: Bool[Array, " N"]
    """Out of steps."""

    @property
    def is_over(self) -> Bool[Array, " N"]:
        return (self.end != NEITHER) | self.is_cut


class Crew(NamedTuple):
    """Where the agent is in N environments."""

    now: Any
    """As it is remembered."""
    task: Int32[Array, " N"]
    instance: Int32[Array, " N"]
    label: UInt32[Array, "N W"]
    belief: State
    guide: State
    is_guided: Bool[Array, " N"]
    is_scouting: Bool[Array, " N"]
    """Where the guide is a scout."""
    stacks: OptionStack
    trace: UInt32[Array, "N L W"]
    length: Int32[Array, " N"]
    waiting: Int32[Array, " N"]
    """What the trace is an example of; NOTHING while the episode goes on."""


class Endings(NamedTuple):
    """What came of a step, beside the crew: whose episode has ended so that another can begin, and how."""

    is_live: Bool[Array, " N"]
    """Whether there was a step at all: an environment that waits makes none, and none is counted."""
    is_over: Bool[Array, " N"]
    """With nothing to wait for."""
    is_ended: Bool[Array, " N"]
    """By the environment, whether or not its trace waits."""
    is_goal: Bool[Array, " N"]


@dataclass(frozen=True)
class Stepper:
    """Static settings; all methods are pure."""

    agent: HierarchicalAgent
    longest: int
    """Steps that an episode may have."""
    patience: int = 100
    """Steps after which a scout gives up, on average."""

    def begun(
        self,
        knowledge: Knowledge,
        task: Int32[Array, " N"],
        instance: Int32[Array, " N"],
        result: StepResult,
        key: PRNGKeyArray,
    ) -> Crew:
        """At the beginning of episodes; the label of the first moment is fed."""
        belief = jax.vmap(
            lambda root, label: hierarchy_step(knowledge.tables, initial_state(knowledge.tables, root), label)
        )(knowledge.root[task], result.label)
        none, no = jnp.zeros(task.shape, jnp.int32), jnp.zeros(task.shape, bool)
        words = result.label.shape[1]
        trace = jnp.zeros((*task.shape, self.longest + 1, words), jnp.uint32).at[:, 0].set(result.label)
        wrong = knowledge.is_learned[task] & (_said(knowledge.tables, belief) != NEITHER)
        stacks = self.agent.begin_plans(knowledge.task, belief, result.memory, key)
        return Crew(
            result.memory, task, instance, result.label, belief, belief, no, no, stacks, trace, none + 1,
            jnp.where(wrong, INCOMPLETE, NOTHING).astype(jnp.int32),
        )  # fmt: skip

    # -- acting

    def explore(
        self, knowledge: Knowledge, agent: AgentState, crew: Crew, key: PRNGKeyArray
    ) -> tuple[Int32[Array, " N"], AgentState, Crew]:
        """Actions as long as there is something to learn."""
        guide_key, act_key = jax.random.split(key)
        crew = self._guided(knowledge, crew, guide_key)
        followed = where_rows(crew.is_guided, crew.guide, crew.belief)
        actions, agent, stacks = self.agent.act(
            knowledge.task, agent, crew.stacks, followed, self._observed(knowledge, crew), crew.now, True,
            act_key, _is_led(crew),
        )  # fmt: skip
        return actions, agent, crew._replace(stacks=stacks)

    def exploit(
        self, knowledge: Knowledge, agent: AgentState, crew: Crew, key: PRNGKeyArray
    ) -> tuple[Int32[Array, " N"], Crew]:
        """Greedy actions."""
        actions, _, stacks = self.agent.act(
            knowledge.task, agent, crew.stacks, crew.belief, self._observed(knowledge, crew), crew.now,
            False, key,
        )  # fmt: skip
        return actions, crew._replace(stacks=stacks)

    def _observed(self, knowledge: Knowledge, crew: Crew) -> Float[Array, "N ..."]:
        return jax.vmap(partial(self.agent.recall, knowledge.world))(crew.now)

    def _guided(self, knowledge: Knowledge, crew: Crew, key: PRNGKeyArray) -> Crew:
        """Where nothing is known to be done: an action at random, or somebody to follow."""
        key, patience_key = jax.random.split(key)
        gives_up = crew.is_scouting & jax.random.bernoulli(patience_key, 1 / self.patience, crew.task.shape)
        crew = clear_guides(crew, gives_up)
        belief = crew.belief
        known = knowledge.options.allowed[belief.machine, belief.state, TRUE_CONTEXT].any(axis=-1)
        is_lost = ~known & ~crew.is_guided & (crew.waiting == NOTHING)
        begun = jax.vmap(partial(initial_state, knowledge.tables))(knowledge.guide)

        def can_follow(label: UInt32[Array, " W"]) -> Bool[Array, " G"]:
            """Not those who would be done before they have begun."""
            fed = jax.vmap(lambda one: hierarchy_step(knowledge.tables, one, label))(begun)
            return knowledge.is_guide & (_said(knowledge.tables, fed) == NEITHER)

        can = jax.vmap(can_follow)(crew.label)  # [N, G]
        chosen = draw_guides(can, self.agent.actions, key)
        follows = is_lost & (chosen >= 0)
        whom = jnp.maximum(chosen, 0)
        guide = jax.tree.map(lambda x: x[whom], begun)
        return crew._replace(
            guide=where_rows(follows, guide, crew.guide),
            is_guided=crew.is_guided | follows,
            is_scouting=jnp.where(follows, knowledge.is_scout[whom], crew.is_scouting),
            stacks=jax.vmap(cleared)(crew.stacks, guide.depth, follows),  # a guide has options of its own
        )

    # -- what comes of it

    def take(
        self,
        knowledge: Knowledge,
        agent: AgentState,
        crew: Crew,
        actions: Int32[Array, " N"],
        result: StepResult,
        key: PRNGKeyArray,
    ) -> tuple[AgentState, Crew, Endings]:
        """Remembers the step; whoever waits stays as they are."""
        followed = where_rows(crew.is_guided, crew.guide, crew.belief)
        after, step = self._moved(knowledge, crew, followed, actions, result)
        agent, stacks = self.agent.observe(knowledge.task, agent, crew.stacks, step, key)
        # Where a guide has ended, the task's own hierarchy is followed again. What it has called meanwhile, or before,
        # was not chosen by an option that is still known.
        stacks = jax.vmap(cleared)(stacks, after.belief.depth, crew.is_guided & ~after.is_guided)
        is_live = crew.waiting == NOTHING
        endings = Endings(
            is_live=is_live,
            is_over=is_live & result.is_over & (after.waiting == NOTHING),
            is_ended=is_live & result.is_over,
            is_goal=is_live & (result.end == ACCEPT),
        )
        return agent, where_rows(is_live, after._replace(stacks=stacks), crew), endings

    def follow(
        self, knowledge: Knowledge, crew: Crew, actions: Int32[Array, " N"], result: StepResult, key: PRNGKeyArray
    ) -> tuple[Crew, Bool[Array, " N"], Bool[Array, " N"]]:
        """Nothing is remembered: whose episode is over, and who has won. A mistake of the machine ends an episode."""
        after, step = self._moved(knowledge, crew, crew.belief, actions, result)
        stacks = self.agent.follow(knowledge.task, crew.stacks, step, key)
        won = (result.end == ACCEPT) & (after.waiting == NOTHING)
        return after._replace(stacks=stacks), step.is_over, won

    def _moved(
        self, knowledge: Knowledge, crew: Crew, followed: State, actions: Int32[Array, " N"], result: StepResult
    ) -> tuple[Crew, Step]:
        move = jax.vmap(partial(move_on_event, knowledge.tables))
        belief = move(crew.belief, crew.label, result.label).after
        is_event, called, following = move(followed, crew.label, result.label)
        example = _example(knowledge.is_learned[crew.task], _said(knowledge.tables, belief), result.end)
        is_live = crew.waiting == NOTHING
        guide_over = crew.is_guided & (_said(knowledge.tables, following) != NEITHER)
        is_over = result.is_over | (example != NOTHING)
        index = jnp.where(is_event, crew.length, self.longest + 1)  # one that there is not, to write nothing
        trace = crew.trace.at[jnp.arange(len(index)), index].set(result.label, mode="drop")
        after = crew._replace(
            now=result.memory, label=result.label, belief=belief,
            guide=where_rows(crew.is_guided, following, crew.guide),
            is_guided=crew.is_guided & ~guide_over & ~is_over,
            is_scouting=crew.is_scouting & ~guide_over & ~is_over,
            trace=trace, length=crew.length + is_event, waiting=example,
        )  # fmt: skip
        step = Step(
            crew.now, actions, result.memory, result.label, is_event, followed, called, following,
            is_over | guide_over | ~is_live, result.end == REJECT, is_live, crew.is_guided,
        )  # fmt: skip
        return after, step


def outcome_of(waiting: int) -> Outcome:
    """What a trace that waits to be taken is an example of."""
    return Outcome.of(VerdictCode(waiting - 1).verdict)


def _is_led(crew: Crew) -> Bool[Array, " N"]:
    """Nothing is explored, and nothing counts as such: somebody who knows is followed, or it waits."""
    return (crew.is_guided & ~crew.is_scouting) | (crew.waiting != NOTHING)


def clear_guides(crew: Crew, which: Bool[Array, " N"]) -> Crew:
    """Clears the exploratory guide of the selected environments, with its options.

    What an environment without a guide is about to do stays as it is.
    """
    is_cleared = which & crew.is_guided
    return crew._replace(
        is_guided=crew.is_guided & ~is_cleared,
        is_scouting=crew.is_scouting & ~is_cleared,
        stacks=jax.vmap(cleared)(crew.stacks, crew.belief.depth, is_cleared),
    )


def _said(tables: Tables, states: State) -> Int32[Array, " N"]:
    said: Int32[Array, " N"] = jax.vmap(partial(verdict, tables))(states)
    return said


def _example(is_learned: Bool[Array, " N"], said: Int32[Array, " N"], end: Int32[Array, " N"]) -> Int32[Array, " N"]:
    """What the trace so far is an example of, if there is something to be learned from it."""
    is_wrong = is_learned & (said != end)
    is_first = ~is_learned & (end == ACCEPT)
    return jnp.where(is_wrong | is_first, 1 + end, NOTHING).astype(jnp.int32)
