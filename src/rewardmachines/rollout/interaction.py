"""The interaction of an agent with N environments: pure functions on batches.

The environments give labels and the ends of episodes; nothing else is known of them here. The hierarchy of a task is
given or still being learned, and its state is the *belief*. While it is learned, an exploration option is sampled where
the belief has no option, and an environment waits if the hierarchy misclassifies its trace (`rollout.tables`).

Compiled code computes all rows alike. Hence the masks: updates of some environments are computed for all, and selected
by a mask.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int32, PRNGKeyArray, UInt32

from rewardmachines.agents.batches import where_rows
from rewardmachines.agents.hierarchical_dqn.task import OptionTask
from rewardmachines.agents.options.stack import TRUE_CONTEXT, cleared
from rewardmachines.agents.protocol import AnyAgent, Step
from rewardmachines.lowered import State, Tables, initial_state, move_on_event, verdict
from rewardmachines.lowered import step as hierarchy_step
from rewardmachines.lowered.traversal import ACCEPT, NEITHER, REJECT
from rewardmachines.rollout.pairs import counted_pairs, event_of, least_tried, position_of, with_pairs
from rewardmachines.rollout.tables import (
    NOTHING,
    Endings,
    Episodes,
    ExplorationTables,
    PairCounts,
    PairTables,
    Percept,
    Search,
    TaskTables,
)

T = TypeVar("T")

PATIENCE: Final = 100
"""Steps, on average, until a proposition option or a random walk is given up."""

SUSPECT_RATE: Final = 0.3
"""The probability, at every step of a task whose machine is suspect, to follow an exploration option instead."""

TEST_RATE: Final = 0.1
"""The probability, at every step of an environment that tests machines, to pursue the label that was tried least."""
TEST_SHARE: Final = 0.5
"""The share of the environments that test machines."""


@dataclass(frozen=True)
class Interaction:
    """The agent's part of a step in N environments. All methods are pure; the fields are static settings."""

    agent: AnyAgent
    longest: int
    """Steps after which an episode is truncated."""
    learns_machines: bool = False
    """Whether hierarchies are being learned. Without it, there are no traces and no exploration options."""
    detour_rate: float = 0.0
    """The probability, at every step, of a detour from the belief's options: an exploration option or a random walk."""
    tests_machines: bool = False
    """Whether machines are tested: pairs are counted, and labels pursued where they were tried least."""
    kept_rate: float = 0.0
    """The probability that an episode which the machine explains waits in the end, so that its trace is collected."""

    def begin(
        self,
        tables: TaskTables,
        task: Int32[Array, " N"],
        instance: Int32[Array, " N"],
        percept: Percept,
        key: PRNGKeyArray,
    ) -> Episodes:
        """The beginnings of episodes. The belief processes the first label, which may start calls."""
        hierarchies = tables.task.tables
        belief = jax.vmap(lambda root, label: hierarchy_step(hierarchies, initial_state(hierarchies, root), label))(
            tables.root[task], percept.label
        )
        return Episodes(
            now=percept.memory,
            task=task,
            instance=instance,
            label=percept.label,
            belief=belief,
            plans=self.agent.begin_plans(tables.task, belief, percept.memory, key),
            search=self._begin_search(tables, task, belief, percept) if self.learns_machines else None,
        )

    def _begin_search(self, tables: TaskTables, task: Int32[Array, " N"], belief: State, percept: Percept) -> Search:
        """The search at the beginning of episodes.

        The first label may be an example already: a counterexample of the machine, or a goal trace.
        """
        nowhere, words = jnp.zeros(task.shape, bool), percept.label.shape[1]
        hierarchies = tables.task.tables
        verdicts = _verdicts(hierarchies, belief)
        tried = pursued = None
        if (pairs := self._pairs(tables)) is not None:
            starts = jax.vmap(partial(initial_state, hierarchies))(tables.root[task])
            pursued = jnp.zeros((*task.shape, pairs.effort.shape[1]), jnp.uint32)
            tried = with_pairs(pursued, position_of(pairs, task, starts), event_of(pairs, percept.label))
        return Search(
            option=belief,  # an arbitrary state: no option is followed
            is_exploring=nowhere,
            is_proposition=nowhere,
            trace=jnp.zeros((*task.shape, self.longest + 1, words), jnp.uint32).at[:, 0].set(percept.label),
            length=jnp.ones(task.shape, jnp.int32),
            waiting=example_of(_exploration(tables).is_learned[task], verdicts, _given(percept.end)),
            tried=tried,
            pursued=pursued,
        )

    def _pairs(self, tables: TaskTables) -> PairTables | None:
        """The pairs that machines are tested on, if they are."""
        return _given(_exploration(tables).pairs) if self.tests_machines else None

    # -- acting

    def explore(
        self,
        tables: TaskTables,
        agent: Any,
        episodes: Episodes,
        key: PRNGKeyArray,
        is_resting: Bool[Array, " N"] | None = None,
    ) -> tuple[Int32[Array, " N"], Any, Episodes]:
        """Exploring actions, by exploration options where the belief has no option.

        Args:
            tables: The hierarchies.
            agent: The agent's state.
            episodes: The episodes.
            key: The random key.
            is_resting: Environments that the next step only resets, so that nothing is explored there; None for none.

        Returns:
            The actions, the agent's state with the exploration counted, and the episodes with new plans.
        """
        if not self.learns_machines:
            return self._acted(tables, agent, episodes, episodes.belief, True, key, is_resting)
        option_key, act_key = jax.random.split(key)
        episodes = self._choose_options(tables, episodes, option_key)
        search = _given(episodes.search)
        # With a mastered option, or while an environment waits, actions are greedy and do not count as exploration.
        is_guided = (search.is_exploring & ~search.is_proposition) | (search.waiting != NOTHING)
        return self._acted(tables, agent, episodes, _followed(episodes), True, act_key, is_guided)

    def exploit(
        self, tables: TaskTables, agent: Any, episodes: Episodes, key: PRNGKeyArray
    ) -> tuple[Int32[Array, " N"], Episodes]:
        """Greedy actions on the belief alone, and the episodes with the agent's new plans."""
        actions, _, episodes = self._acted(tables, agent, episodes, episodes.belief, False, key)
        return actions, episodes

    def _acted(
        self,
        tables: TaskTables,
        agent: Any,
        episodes: Episodes,
        followed: State,
        explores: bool,
        key: PRNGKeyArray,
        is_guided: Bool[Array, " N"] | None = None,
    ) -> tuple[Int32[Array, " N"], Any, Episodes]:
        observations: Float[Array, "N ..."] = jax.vmap(partial(self.agent.recall, tables.task.world))(episodes.now)
        actions, agent, plans = self.agent.act(
            tables.task, agent, episodes.plans, followed, observations, episodes.now, explores, key, is_guided
        )
        return actions, agent, episodes._replace(plans=plans)

    def _choose_options(self, tables: TaskTables, episodes: Episodes, key: PRNGKeyArray) -> Episodes:
        """Samples an exploration option, or none for a random action, where the belief has no option.

        An exploration option starts in the successor of its initial state under the present label, as published: if the
        environment satisfies its first formulas already, it continues with the next. Proposition options may be given
        up before, so that another option is sampled.
        """
        known, hierarchies, shape = _exploration(tables), tables.task.tables, episodes.task.shape
        key, patience_key = jax.random.split(key)
        search = _given(episodes.search)
        gives_up = search.is_proposition & jax.random.bernoulli(patience_key, 1 / PATIENCE, shape)
        episodes = clear_options(episodes, gives_up)
        search, belief = _given(episodes.search), episodes.belief
        assert isinstance(tables.task, OptionTask), "machines are learned by an agent with options"
        has_option = tables.task.options.allowed[belief.machine, belief.state, TRUE_CONTEXT].any(axis=-1)
        is_free = ~search.is_exploring & (search.waiting == NOTHING)
        starts = jax.vmap(partial(initial_state, hierarchies))(known.machine)  # [G], the same in all environments

        def fed(label: UInt32[Array, " W"]) -> tuple[State, Bool[Array, " G"]]:
            """The options after the present label, and the mask of those that the label does not end."""
            after = jax.vmap(lambda start: hierarchy_step(hierarchies, start, label))(starts)
            return after, _verdicts(hierarchies, after) == NEITHER

        options, goes_on = jax.vmap(fed)(episodes.label)  # [N, G]
        can_follow = known.is_available & goes_on
        # Drawn in all rows, since compiled code cannot draw for some only; used where an option is needed.
        drawn = draw_options(can_follow, self.agent.actions, key)
        number = jnp.maximum(drawn, 0)  # below 0 an index would count from the end
        follows, walks, pursued = ~has_option & is_free & (drawn >= 0), None, search.pursued
        if self.detour_rate:
            is_suspect = known.is_suspect[episodes.task]
            walks, takes = self._detours(has_option & is_free, drawn, is_suspect, key)
            follows = follows | takes
        if (pairs := self._pairs(tables)) is not None:
            leaves = follows & has_option if walks is None else follows & has_option & ~walks
            event, tests = self._tests(pairs, episodes, goes_on, is_free, leaves, walks, key)
            number, follows = jnp.where(tests, pairs.option[event], number), follows | tests
            position = jnp.where(tests, position_of(pairs, episodes.task, belief), -1)
            pursued = with_pairs(_given(pursued), position, event)
        option = jax.tree.map(lambda x: x[jnp.arange(len(number)), number], options)
        is_proposition = known.is_proposition[number]
        if walks is not None:
            walk = initial_state(hierarchies, known.random_walk)
            option = where_rows(walks, jax.tree.map(lambda x: jnp.broadcast_to(x, (*shape, *x.shape)), walk), option)
            is_proposition = is_proposition | walks
        return episodes._replace(
            plans=jax.vmap(cleared)(episodes.plans, option.depth, follows),  # an option has plans of its own
            search=search._replace(
                option=where_rows(follows, option, search.option),
                is_exploring=search.is_exploring | follows,
                is_proposition=jnp.where(follows, is_proposition, search.is_proposition),
                pursued=pursued,
            ),
        )

    def _tests(
        self,
        pairs: PairTables,
        episodes: Episodes,
        goes_on: Bool[Array, "N G"],
        is_free: Bool[Array, " N"],
        leaves: Bool[Array, " N"],
        walks: Bool[Array, " N"] | None,
        key: PRNGKeyArray,
    ) -> tuple[Int32[Array, " N"], Bool[Array, " N"]]:
        """Samples the environments that test a machine: they pursue the label that was tried least.

        Detours that follow an exploration option do so as well, if there is such a label.

        Args:
            pairs: The pairs and their efforts.
            episodes: The episodes.
            goes_on: The exploration options that do not end with the present label.
            is_free: The environments that follow no exploration option yet, and do not wait.
            leaves: The environments that take a detour by an exploration option.
            walks: The environments that begin a random walk, if any may.
            key: The random key of the draw of options, of which others are made.

        Returns:
            The number of the label that each environment pursues, and the mask of those that pursue it.
        """
        tie_key, leave_key = jax.random.split(jax.random.fold_in(key, 3))
        event, can = least_tried(pairs, episodes.task, episodes.belief, _given(episodes.search), goes_on, tie_key)
        numbers = jnp.arange(len(event))
        is_tester = numbers < TEST_SHARE * len(event)
        begins = is_tester & pairs.is_tested[episodes.task] & jax.random.bernoulli(leave_key, TEST_RATE, event.shape)
        begins = begins if walks is None else begins & ~walks
        return event, can & is_free & (begins | leaves)

    def _detours(
        self, can: Bool[Array, " N"], drawn: Int32[Array, " N"], is_suspect: Bool[Array, " N"], key: PRNGKeyArray
    ) -> tuple[Bool[Array, " N"], Bool[Array, " N"]]:
        """Samples the environments that take a detour: half follow a random walk, the others an exploration option.

        With a suspect machine, exploration options are followed far more often: one after the other, in any order.

        Args:
            can: The environments that follow the belief, and may leave it.
            drawn: The exploration options that they would follow; below 0 for none, and thus a random walk.
            is_suspect: Whether the machine of the task is suspect.
            key: The random key of the draw of options; another is made of it, so that the draws are independent.

        Returns:
            A mask of the random walks, and one of all detours.
        """
        leave_key, walk_key = jax.random.split(jax.random.fold_in(key, 1))
        takes = can & jax.random.bernoulli(leave_key, self.detour_rate, can.shape)
        walks = takes & (jax.random.bernoulli(walk_key, 0.5, can.shape) | (drawn < 0))
        often = jax.random.bernoulli(jax.random.fold_in(key, 2), SUSPECT_RATE, can.shape)
        return walks, takes | (can & is_suspect & (drawn >= 0) & often)

    # -- after actions

    def observe(
        self,
        tables: TaskTables,
        agent: Any,
        episodes: Episodes,
        actions: Int32[Array, " N"],
        percept: Percept,
        key: PRNGKeyArray,
    ) -> tuple[Any, Episodes, Endings]:
        """Stores a step of exploration. Environments that wait stay unchanged."""
        after, step, end = self._move(tables, episodes, _followed(episodes), actions, percept)
        if self.kept_rate and after.search is not None:
            after = self._with_kept(tables, after, (end != NEITHER) | percept.is_cut, end, key)
        agent, plans = self.agent.observe(tables.task, agent, episodes.plans, step, key)
        is_ended = step.is_valid & ((end != NEITHER) | percept.is_cut)
        is_over, moved = is_ended, after._replace(plans=plans)
        if after.search is not None:
            before = _given(episodes.search)
            # Where an exploration option has ended, the task's own hierarchy is followed again. What it has called
            # meanwhile, or before, was not chosen by an option that is still known.
            is_back = before.is_exploring & ~after.search.is_exploring
            moved = moved._replace(plans=jax.vmap(cleared)(plans, after.belief.depth, is_back))
            is_over = is_ended & (after.search.waiting == NOTHING)
        is_goal = step.is_valid & (end == ACCEPT)
        endings = Endings(step.is_valid, is_over, is_ended, is_goal, is_goal | (step.is_valid & (end == REJECT)))
        has_rests = self.learns_machines or percept.is_live is not None
        return agent, where_rows(step.is_valid, moved, episodes) if has_rests else moved, endings

    def _with_kept(
        self,
        tables: TaskTables,
        episodes: Episodes,
        is_ended: Bool[Array, " N"],
        end: Int32[Array, " N"],
        key: PRNGKeyArray,
    ) -> Episodes:
        """The episodes after a step, of which some that their machine explains wait, too."""
        search = _given(episodes.search)
        is_explained = is_ended & _exploration(tables).is_learned[episodes.task] & (search.waiting == NOTHING)
        is_kept = is_explained & jax.random.bernoulli(jax.random.fold_in(key, 5), self.kept_rate, is_ended.shape)
        waiting = jnp.where(is_kept, 1 + end, search.waiting).astype(search.waiting.dtype)
        return episodes._replace(search=search._replace(waiting=waiting))

    def tested(self, tables: TaskTables, episodes: Episodes, endings: Endings) -> PairCounts | None:
        """The pairs that the episodes have tried which end with this step; None without tests.

        Args:
            tables: The hierarchies.
            episodes: The episodes after the step, before new ones begin.
            endings: The ends of episodes.
        """
        pairs = self._pairs(tables)
        return None if pairs is None else counted_pairs(pairs, episodes.task, _given(episodes.search), endings)

    def follow(
        self, tables: TaskTables, episodes: Episodes, actions: Int32[Array, " N"], percept: Percept, key: PRNGKeyArray
    ) -> tuple[Episodes, Bool[Array, " N"], Bool[Array, " N"]]:
        """Follows a greedy step, which is not stored.

        Returns:
            The episodes after the step, the mask of those that are over, and the mask of those that have reached the
            goal with a hierarchy that accepts there. A wrong verdict ends an episode without success.
        """
        after, step, end = self._move(tables, episodes, episodes.belief, actions, percept)
        plans = self.agent.follow(tables.task, episodes.plans, step, key)
        is_won = end == ACCEPT
        if after.search is not None:  # before the step, too: the machine may have been wrong about the first label
            is_won &= (after.search.waiting == NOTHING) & (_given(episodes.search).waiting == NOTHING)
        return after._replace(plans=plans), step.is_over, is_won

    def _move(
        self, tables: TaskTables, episodes: Episodes, followed: State, actions: Int32[Array, " N"], percept: Percept
    ) -> tuple[Episodes, Step, Int32[Array, " N"]]:
        """The transitions of beliefs and exploration options, as if no environment waited.

        Args:
            tables: The hierarchies.
            episodes: The episodes before the step.
            followed: The states of the followed hierarchies: exploration options or beliefs.
            actions: The actions that were taken.
            percept: The percept after the step.

        Returns:
            The episodes after the step, with the old plans of the agent; the step for the agent; and the endings.
        """
        hierarchies = tables.task.tables
        move = jax.vmap(partial(move_on_event, hierarchies))
        is_event, called, following = move(followed, episodes.label, percept.label)
        belief, after_search = following, None
        if self.learns_machines:
            belief = move(episodes.belief, episodes.label, percept.label).after
        end = _verdicts(hierarchies, belief) if percept.end is None else percept.end
        is_over = (end != NEITHER) | percept.is_cut
        is_valid = jnp.ones(actions.shape, bool) if percept.is_live is None else percept.is_live
        is_exploring = None
        if (search := episodes.search) is not None:
            is_learned = _exploration(tables).is_learned[episodes.task]
            example = example_of(is_learned, _verdicts(hierarchies, belief), end)
            is_exploring, is_valid = search.is_exploring, search.waiting == NOTHING
            is_option_over = is_exploring & (_verdicts(hierarchies, following) != NEITHER)
            is_over = is_over | (example != NOTHING)
            after_search = self._searched(search, following, is_event, percept, example, is_option_over | is_over)
            if (pairs := self._pairs(tables)) is not None:
                event = jnp.where(is_event, event_of(pairs, percept.label), -1)
                position = position_of(pairs, episodes.task, episodes.belief)
                after_search = after_search._replace(tried=with_pairs(_given(search.tried), position, event))
            is_over = is_over | is_option_over | ~is_valid  # all plans end, also those of an option that is done
        after = episodes._replace(now=percept.memory, label=percept.label, belief=belief, search=after_search)
        step = Step(
            before=episodes.now,
            action=actions,
            after=percept.memory,
            label=percept.label,
            is_event=is_event,
            from_state=followed,
            called=called,
            to_state=following,
            is_over=is_over,
            is_dead_end=end == REJECT,
            is_valid=is_valid,
            is_guided=is_exploring,
            reward=percept.reward,
        )
        return after, step, end

    def _searched(
        self,
        search: Search,
        following: State,
        is_event: Bool[Array, " N"],
        percept: Percept,
        example: Int32[Array, " N"],
        is_over: Bool[Array, " N"],
    ) -> Search:
        """The search after a step: its trace is one label longer where there was an event."""
        index = jnp.where(is_event, search.length, self.longest + 1)  # without an event out of bounds: not written
        return Search(
            option=where_rows(search.is_exploring, following, search.option),
            is_exploring=search.is_exploring & ~is_over,
            is_proposition=search.is_proposition & ~is_over,
            trace=search.trace.at[jnp.arange(len(index)), index].set(percept.label, mode="drop"),
            length=search.length + is_event,
            waiting=example,
            tried=search.tried,
            pursued=search.pursued,
        )


def clear_options(episodes: Episodes, which: Bool[Array, " N"]) -> Episodes:
    """Clears the exploration option of the selected environments, with its plans.

    The plans of an environment that follows its belief stay unchanged.
    """
    search = _given(episodes.search)
    is_cleared = which & search.is_exploring
    return episodes._replace(
        plans=jax.vmap(cleared)(episodes.plans, episodes.belief.depth, is_cleared),
        search=search._replace(
            is_exploring=search.is_exploring & ~is_cleared, is_proposition=search.is_proposition & ~is_cleared
        ),
    )


def clear_pairs(episodes: Episodes) -> Episodes:
    """Clears the pairs that the episodes have tried so far, as their numbers have changed."""
    search = _given(episodes.search)
    if search.tried is None or search.pursued is None:
        return episodes
    tried, pursued = jnp.zeros_like(search.tried), jnp.zeros_like(search.pursued)
    return episodes._replace(search=search._replace(tried=tried, pursued=pursued))


def draw_options(can_follow: Bool[Array, "N G"], actions: int, key: PRNGKeyArray) -> Int32[Array, " N"]:
    """Samples the next action or exploration option where no machine suggests one; all are equally likely.

    Args:
        can_follow: The mask [N G] of the exploration options that each environment can follow.
        actions: The number of different actions.
        key: The random key.

    Returns:
        The number of an option for each environment; below 0, it takes an action at random.
    """
    # One draw decides for all: columns of weight 0 for the actions come first, then one for each option, where -inf
    # leaves it out. Thus the number of an option is that of its column, less the actions.
    weight = jnp.concatenate([jnp.zeros((len(can_follow), actions)), jnp.where(can_follow, 0.0, -jnp.inf)], axis=1)
    return jax.random.categorical(key, weight, axis=-1) - actions


def example_of(
    is_learned: Bool[Array, " N"], verdicts: Int32[Array, " N"], end: Int32[Array, " N"]
) -> Int32[Array, " N"]:  # fmt: skip
    """The kind of example of each trace: counterexamples of a machine, and goal traces before the first machine.

    Args:
        is_learned: Whether there is a machine.
        verdicts: The machine's verdicts on the traces.
        end: The verdict of the environment; NEITHER while the episode goes on.

    Returns:
        GOAL, DEAD_END or INCOMPLETE; NOTHING for a trace that is not an example.
    """
    is_wrong = is_learned & (verdicts != end)
    is_first = ~is_learned & (end == ACCEPT)
    return jnp.where(is_wrong | is_first, 1 + end, NOTHING).astype(jnp.int32)


def _exploration(tables: TaskTables) -> ExplorationTables:
    return _given(tables.exploration)


def _given(part: T | None) -> T:
    assert part is not None, "machines are being learned"
    return part


def _followed(episodes: Episodes) -> State:
    """The states of the hierarchies that the plans refer to."""
    search = episodes.search
    if search is None:
        return episodes.belief
    followed: State = where_rows(search.is_exploring, search.option, episodes.belief)
    return followed


def _verdicts(tables: Tables, states: State) -> Int32[Array, " N"]:
    """The verdicts of the hierarchies in these states: ACCEPT, REJECT or NEITHER."""
    verdicts: Int32[Array, " N"] = jax.vmap(partial(verdict, tables))(states)
    return verdicts
