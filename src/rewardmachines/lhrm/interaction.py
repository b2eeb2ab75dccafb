"""What the agent does in N environments while machines are still being learned: pure functions on batches.

The environments show labels and say how an episode ended; nothing else is known of them here. Where the belief knows no
option, a guide is drawn, or a single action at random. `lhrm.crew` holds the records, and tells what these words mean.

Compiled code computes all rows alike. Hence the masks: whatever concerns some environments only, those that wait or
that need a guide, is computed for all and then kept for these.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int32, PRNGKeyArray, UInt32

from rewardmachines.agents.batches import where_rows
from rewardmachines.agents.hierarchical_dqn.agent import AgentState, HierarchicalAgent
from rewardmachines.agents.options.stack import TRUE_CONTEXT, cleared
from rewardmachines.agents.protocol import Step
from rewardmachines.lhrm.crew import NOTHING, Crew, Endings, Knowledge, StepResult, clear_guides
from rewardmachines.lhrm.exploration import draw_guides
from rewardmachines.lowered import State, Tables, initial_state, move_on_event, verdict
from rewardmachines.lowered import step as hierarchy_step
from rewardmachines.lowered.traversal import ACCEPT, NEITHER, REJECT


@dataclass(frozen=True)
class Stepper:
    """The agent's part of a step in N environments. All methods are pure; the fields are static settings."""

    agent: HierarchicalAgent
    longest: int
    """How many steps an episode may have."""
    patience: int = 100
    """Steps after which a scout gives up, on average."""
    digressions: float = 0.0
    """The chance, at every step, to leave what the belief suggests."""

    def begin(
        self,
        knowledge: Knowledge,
        task: Int32[Array, " N"],
        instance: Int32[Array, " N"],
        result: StepResult,
        key: PRNGKeyArray,
    ) -> Crew:
        """The crew at the beginning of episodes. The first label is fed to the belief, as it may start calls."""
        belief = jax.vmap(
            lambda root, label: hierarchy_step(knowledge.tables, initial_state(knowledge.tables, root), label)
        )(knowledge.root[task], result.label)
        nobody = jnp.zeros(task.shape, bool)
        words = result.label.shape[1]
        trace = jnp.zeros((*task.shape, self.longest + 1, words), jnp.uint32).at[:, 0].set(result.label)
        # The first label may be an example already: of a machine that is wrong about it, or of a goal reached with it.
        example = example_of(knowledge.is_learned[task], _verdicts(knowledge.tables, belief), result.end)
        return Crew(
            now=result.memory,
            task=task,
            instance=instance,
            label=result.label,
            belief=belief,
            guide=belief,  # any state does: nobody is guided
            is_guided=nobody,
            is_scouting=nobody,
            stacks=self.agent.begin_plans(knowledge.task, belief, result.memory, key),
            trace=trace,
            length=jnp.ones(task.shape, jnp.int32),
            waiting=example,
        )

    # -- acting

    def explore(
        self, knowledge: Knowledge, agent: AgentState, crew: Crew, key: PRNGKeyArray
    ) -> tuple[Int32[Array, " N"], AgentState, Crew]:
        """Exploring actions, by guides where the belief knows no option.

        Returns:
            The actions, the agent that has counted what it explored, and the crew with the options that it chose.
        """
        guide_key, act_key = jax.random.split(key)
        crew = self._choose_guides(knowledge, crew, guide_key)
        followed = where_rows(crew.is_guided, crew.guide, crew.belief)
        actions, agent, stacks = self.agent.act(
            knowledge.task, agent, crew.stacks, followed, self._observations(knowledge, crew), crew.now, True,
            act_key, _is_led(crew),
        )  # fmt: skip
        return actions, agent, crew._replace(stacks=stacks)

    def exploit(
        self, knowledge: Knowledge, agent: AgentState, crew: Crew, key: PRNGKeyArray
    ) -> tuple[Int32[Array, " N"], Crew]:
        """Greedy actions on the belief alone, and the crew with the options that it chose."""
        actions, _, stacks = self.agent.act(
            knowledge.task, agent, crew.stacks, crew.belief, self._observations(knowledge, crew), crew.now,
            False, key,
        )  # fmt: skip
        return actions, crew._replace(stacks=stacks)

    def _observations(self, knowledge: Knowledge, crew: Crew) -> Float[Array, "N ..."]:
        return jax.vmap(partial(self.agent.recall, knowledge.world))(crew.now)

    def _choose_guides(self, knowledge: Knowledge, crew: Crew, key: PRNGKeyArray) -> Crew:
        """Draws a guide, or none and thus an action at random, where the belief knows no option.

        A guide starts in the successor of its initial state under the present label, as published: where it asks for
        what the environment shows already, it asks for what comes next. Scouts may give up before, so that another
        guide is drawn.
        """
        key, patience_key = jax.random.split(key)
        gives_up = crew.is_scouting & jax.random.bernoulli(patience_key, 1 / self.patience, crew.task.shape)
        crew = clear_guides(crew, gives_up)
        belief = crew.belief
        has_option = knowledge.options.allowed[belief.machine, belief.state, TRUE_CONTEXT].any(axis=-1)
        is_free = ~crew.is_guided & (crew.waiting == NOTHING)
        starts = jax.vmap(partial(initial_state, knowledge.tables))(knowledge.guide)  # [G], the same for everybody

        def fed(label: UInt32[Array, " W"]) -> tuple[State, Bool[Array, " G"]]:
            """The guides after the present label, and which can be followed: those that are not over with it."""
            after = jax.vmap(lambda start: hierarchy_step(knowledge.tables, start, label))(starts)
            return after, knowledge.is_guide & (_verdicts(knowledge.tables, after) == NEITHER)

        guides, can_follow = jax.vmap(fed)(crew.label)  # [N, G]
        # Drawn in all rows, since compiled code cannot draw for some only; used where a guide is needed.
        drawn = draw_guides(can_follow, self.agent.actions, key)
        number = jnp.maximum(drawn, 0)  # below 0 an index would count from the end
        guide = jax.tree.map(lambda x: x[jnp.arange(len(number)), number], guides)
        follows, is_scout = ~has_option & is_free & (drawn >= 0), knowledge.is_scout[number]
        if self.digressions:
            wanders, digresses = self._digressions(has_option & is_free, drawn, key)
            guide = where_rows(wanders, self._wandering(knowledge, wanders), guide)
            follows, is_scout = follows | digresses, is_scout | wanders
        return crew._replace(
            guide=where_rows(follows, guide, crew.guide),
            is_guided=crew.is_guided | follows,
            is_scouting=jnp.where(follows, is_scout, crew.is_scouting),
            stacks=jax.vmap(cleared)(crew.stacks, guide.depth, follows),  # a guide has options of its own
        )

    def _digressions(
        self, can: Bool[Array, " N"], drawn: Int32[Array, " N"], key: PRNGKeyArray
    ) -> tuple[Bool[Array, " N"], Bool[Array, " N"]]:
        """Draws who leaves what the belief suggests. Half of them wander, and all of those who can follow no guide.

        Args:
            can: Who follows the belief, and may leave it.
            drawn: The guides that they would follow; below 0 for none.
            key: The random key of the draw of guides; another is made of it, so that the draws are independent.

        Returns:
            Who wanders, and who digresses at all.
        """
        leave_key, wander_key = jax.random.split(jax.random.fold_in(key, 1))
        digresses = can & jax.random.bernoulli(leave_key, self.digressions, can.shape)
        return digresses & (jax.random.bernoulli(wander_key, 0.5, can.shape) | (drawn < 0)), digresses

    def _wandering(self, knowledge: Knowledge, like: Bool[Array, " N"]) -> State:
        """The initial state of the idle machine, once for each of the N rows of `like`."""
        start = initial_state(knowledge.tables, knowledge.idle)
        state: State = jax.tree.map(lambda x: jnp.broadcast_to(x, (*like.shape, *x.shape)), start)
        return state

    # -- what comes of actions

    def observe(
        self,
        knowledge: Knowledge,
        agent: AgentState,
        crew: Crew,
        actions: Int32[Array, " N"],
        result: StepResult,
        key: PRNGKeyArray,
    ) -> tuple[AgentState, Crew, Endings]:
        """Remembers a step of exploration. Members that wait stay as they are."""
        followed = where_rows(crew.is_guided, crew.guide, crew.belief)
        after, step = self._move(knowledge, crew, followed, actions, result)
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
        """Follows a greedy step; nothing is remembered.

        Returns:
            The crew after the step, which episodes are over, and which of them have reached the goal with a hierarchy
            that accepts there. A wrong verdict ends an episode without success.
        """
        after, step = self._move(knowledge, crew, crew.belief, actions, result)
        stacks = self.agent.follow(knowledge.task, crew.stacks, step, key)
        won = (result.end == ACCEPT) & (after.waiting == NOTHING)
        return after._replace(stacks=stacks), step.is_over, won

    def _move(
        self, knowledge: Knowledge, crew: Crew, followed: State, actions: Int32[Array, " N"], result: StepResult
    ) -> tuple[Crew, Step]:
        """Moves belief and guide on, as if nobody waited, and judges the belief by how the episode went.

        Args:
            knowledge: The learned hierarchies.
            crew: The crew before the step.
            followed: Where the hierarchies stand that options belong to: guides or beliefs.
            actions: What was done.
            result: What the environments showed then.

        Returns:
            The crew after the step, but for its options, and the step as the agent is told of it.
        """
        move = jax.vmap(partial(move_on_event, knowledge.tables))
        belief = move(crew.belief, crew.label, result.label).after
        is_event, called, following = move(followed, crew.label, result.label)
        example = example_of(knowledge.is_learned[crew.task], _verdicts(knowledge.tables, belief), result.end)
        is_live = crew.waiting == NOTHING
        is_guide_over = crew.is_guided & (_verdicts(knowledge.tables, following) != NEITHER)
        is_over = result.is_over | (example != NOTHING)
        index = jnp.where(is_event, crew.length, self.longest + 1)  # without an event out of bounds, to write nothing
        after = crew._replace(
            now=result.memory,
            label=result.label,
            belief=belief,
            guide=where_rows(crew.is_guided, following, crew.guide),
            is_guided=crew.is_guided & ~is_guide_over & ~is_over,
            is_scouting=crew.is_scouting & ~is_guide_over & ~is_over,
            trace=crew.trace.at[jnp.arange(len(index)), index].set(result.label, mode="drop"),
            length=crew.length + is_event,
            waiting=example,
        )
        step = Step(
            before=crew.now,
            action=actions,
            after=result.memory,
            label=result.label,
            is_event=is_event,
            from_state=followed,
            called=called,
            to_state=following,
            is_over=is_over | is_guide_over | ~is_live,  # all options end, also those of a guide that is done
            is_dead_end=result.end == REJECT,
            is_valid=is_live,
            is_guided=crew.is_guided,
        )
        return after, step


def _is_led(crew: Crew) -> Bool[Array, " N"]:
    """Where nothing is left to chance or counted as exploration: with a mastered guide, or while it waits."""
    return (crew.is_guided & ~crew.is_scouting) | (crew.waiting != NOTHING)


def _verdicts(tables: Tables, states: State) -> Int32[Array, " N"]:
    """What the hierarchies in these states say: ACCEPT, REJECT or NEITHER."""
    verdicts: Int32[Array, " N"] = jax.vmap(partial(verdict, tables))(states)
    return verdicts


def example_of(
    is_learned: Bool[Array, " N"], verdicts: Int32[Array, " N"], end: Int32[Array, " N"]
) -> Int32[Array, " N"]:  # fmt: skip
    """What the traces so far are examples of: those that a machine gets wrong, and goal traces before there is one.

    Args:
        is_learned: Whether there is a machine.
        verdicts: What it says of the trace.
        end: How the episode has ended; NEITHER while it goes on.

    Returns:
        GOAL, DEAD_END or INCOMPLETE; NOTHING where there is nothing to be learned.
    """
    is_wrong = is_learned & (verdicts != end)
    is_first = ~is_learned & (end == ACCEPT)
    return jnp.where(is_wrong | is_first, 1 + end, NOTHING).astype(jnp.int32)
