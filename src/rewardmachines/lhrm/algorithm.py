"""The interleaving algorithm: policies and machines are learned in turns, from simple tasks to harder ones (Section 5).

`Lhrm.advance` is the algorithm, and the methods below it are its parts in the order of their use. Once in a chunk

1. the agent acts in N environments, each on a task and an instance that the curriculum has drawn, and learns policies
   on the hierarchies that it believes in. An environment waits if the hierarchy misclassifies its trace, or if its goal
   trace is collected for a first machine; 2. the waiting traces are collected, and machines are learned from them,
   which may call machines of lower levels; 3. the returns of a task with a new machine are reset to 0, and its level
   becomes the present level; 4. now and then greedy episodes are run. Once all returns of a level exceed a threshold,
   the next level begins; 5. the changes take effect: hierarchies, labels, and the sampling weights of tasks and
   instances.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from rewardmachines.agents import replay
from rewardmachines.agents.bank.bank import Bank
from rewardmachines.agents.hierarchical_dqn.config import HierarchicalDqnConfig
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.learning import Solvers
from rewardmachines.lhrm.config import LhrmConfig
from rewardmachines.lhrm.conformance import EVENTS
from rewardmachines.lhrm.curriculum import Curriculum
from rewardmachines.lhrm.host_state import LhrmState, PoolState, RegistryState
from rewardmachines.lhrm.induction import Machines, TaskProgress
from rewardmachines.lhrm.learners import MachineLearner
from rewardmachines.lhrm.machine_pool import Pool, check_tasks
from rewardmachines.lhrm.tables import (
    BuiltTables,
    WrittenOptions,
    build_tables,
    drawing_chances,
    first_curriculum,
    first_pool,
    first_registry,
    first_state,
    grown_state,
    suspects,
    with_efforts,
    with_new_formulas,
    with_new_machines,
)
from rewardmachines.lowered import LabelBits
from rewardmachines.rollout.algorithm import EVALUATIONS, Algorithm, Evaluation
from rewardmachines.rollout.interaction import clear_options, clear_pairs
from rewardmachines.rollout.policy import FollowedHierarchy
from rewardmachines.rollout.random_state import set_state, state_text
from rewardmachines.rollout.rows import MachineUpdate, Row, Trigger
from rewardmachines.rollout.suite import Driver, TaskSuite
from rewardmachines.rollout.tables import NOTHING, Counts, Episodes, RunState, TaskTables, outcome_of
from rewardmachines.traces import Trace


@dataclass(frozen=True)
class ChunkFindings:
    """The findings of a chunk, before they take effect."""

    counts: Counts
    """The counts of the chunk."""
    waiting: Any
    """A mask [N] of the environments whose traces were collected, and which wait for new episodes."""
    events: tuple[MachineUpdate, ...]
    """The machines that were learned from the traces, and the tasks that were given up."""
    evaluated: Any
    """A mask [T] of the tasks that greedy episodes after the chunk judge: the active ones whose hierarchies did not
    change in it. The policies of changed hierarchies are reset."""
    has_new_labels: bool
    """Whether a label was observed for the first time, or for the first time at a dead end."""
    level: int
    """The level of the curriculum in the chunk."""


class Lhrm(Algorithm):
    """A run of LHRM in memory. It depends on its settings and its seed, never on the clock."""

    state_type = LhrmState

    def __init__(
        self,
        suite: TaskSuite,
        config: LhrmConfig,
        solvers: Solvers,
        *,
        seed: int = 0,
        learner: MachineLearner | None = None,
        bank: Bank | None = None,
        episodes: int | None = None,
    ) -> None:
        """Begins on the first level, with an empty machine for each task, which neither accepts nor rejects.

        Args:
            suite: The tasks and their environments.
            config: All settings.
            solvers: The solvers of the exact learner.
            seed: The seed of all random choices.
            learner: The learner of machines; the exact one, if not given.
            bank: The machines and policies to begin with.
            episodes: The number of episodes at which the run ends, if it has such a limit.
        """
        super().__init__(suite, episodes)
        self.config, self.seed, self.bank = config, seed, bank
        self.bits = LabelBits(suite.propositions)
        pool = first_pool(suite, bank)
        check_tasks(pool, suite.dependencies, config.callables)
        self.machines = Machines(pool, config, solvers, suite.dependencies, learner)
        self.registry = first_registry(suite, bank)
        self.machines.testing.labels = self.registry.events[:EVENTS]
        self.curriculum: Curriculum = first_curriculum(suite, config)
        self.activated = {1: 0}
        """The episode at which each level first began."""
        self.first: dict[str, int] = {}
        """Episodes from the beginning of its level to the first machine of a task."""
        self.chance = np.random.default_rng(seed)
        self._built: BuiltTables | None = None

    @property
    def agent_config(self) -> HierarchicalDqnConfig:
        return self.config.agent

    # -- the algorithm

    def take(self, state: RunState, counts: Counts) -> ChunkFindings:
        """Processes a chunk: adds its counts, learns machines from its traces, and records its labels.

        Args:
            state: The state after a chunk.
            counts: The counts of the chunk.
        """
        self._state, level = state, self.curriculum.level
        self.counters.add(counts)
        self.machines.count(counts.episodes.tolist())
        if counts.pairs is not None:
            self.machines.count_pairs(counts.pairs)
        waiting, traces = waiting_traces(state.episodes, self.tasks, self.bits)
        events = self.machines.take(traces)
        self._return_to_new_machines(events)
        agent, changed = self.config.agent, self._tasks_with({event.task for event in events})
        self.recent = [np.where(changed[:, None], 0.0, returns) for returns in self.recent]
        has_new_labels = self.registry.see(*labels_of(state, agent.chunk * agent.environments, self.bits))
        if self.config.tests and (events or has_new_labels):
            self.machines.see(self.registry.events)
        return ChunkFindings(
            counts=counts,
            waiting=waiting,
            events=tuple(events),
            evaluated=self.curriculum.is_active & ~changed,
            has_new_labels=has_new_labels,
            level=level,
        )

    def conclude(self, findings: ChunkFindings, evaluation: Evaluation | None) -> Row:
        """Ends a chunk: its findings take effect. Returns its row.

        Args:
            findings: The findings of the chunk.
            evaluation: The returns and lengths of greedy episodes after it by task and instance; None if there were
                none. Only those of `findings.evaluated` count: all other tasks have changed machines.
        """
        if evaluation is not None:
            self._note_returns(evaluation[0], findings.evaluated)
        if not self.is_stuck:
            self._take_effect(findings)
        examples = [self.progress[name].examples for name in self.tasks]
        return self._row(
            findings.counts,
            evaluation,
            self.curriculum.returns,
            level=self.curriculum.level,
            collected=tuple(len(e.traces) if e.has_begun else len(e.goals) for e in examples),
            learned=findings.events,
        )

    @property
    def is_stuck(self) -> bool:
        """Whether every task was given up."""
        return bool(self.curriculum.is_dropped.all())

    @property
    def lowest_return(self) -> float | None:
        """The lowest mean return of a task that was not given up; None while a machine of one is unconfirmed."""
        counts = ~self.curriculum.is_dropped
        if len(self.recent) < EVALUATIONS or not counts.any():
            return None
        if not np.array(list(map(self.machines.is_confirmed, self.tasks)))[counts].all():
            return None
        return float(np.mean(self.recent, axis=(0, 2))[counts].min())

    @property
    def is_exhausted(self) -> bool:
        """Whether every task was given up, or the time for searches is over."""
        return self.is_stuck or self.machines.is_out_of_time

    @property
    def kind(self) -> Hashable:
        """Settings that runs side by side must have in common."""
        return (
            self.config,
            self.suite.tasks,
            self.suite.max_steps,
            self.suite.instances,
            self.suite.curriculum_instances,
        )

    @property
    def shapes(self) -> Hashable:
        """The sizes of the arrays of machines and options."""
        return self.registry.sizes

    # -- 1. the agent acts and learns policies (`Driver.chunk`)

    @property
    def learns(self) -> bool:
        """Whether formulas learn: not before there are any, as optimizers leap after gradients of 0."""
        return self.counters.steps >= self.config.agent.replay_start and bool(self.registry.slots)

    # -- 2. machines are learned (`Machines.take`), and 3. the curriculum returns to their tasks

    def _return_to_new_machines(self, events: Sequence[MachineUpdate]) -> None:
        """Resets the curriculum for tasks with new machines, and drops tasks that were given up.

        A machine that was relearned only because it calls a new one keeps its returns, as in the paper.
        """
        for event in events:
            task = self.tasks.index(event.task)
            if event.cause is Trigger.PROBLEM:
                failure = self.progress[event.task].failure
                self.curriculum = self.curriculum.given_up(task, for_good=failure is None or failure.is_final)
            elif event.cause is not Trigger.CALLEE or self._is_back(task):
                self.curriculum = self.curriculum.relearned(task)
            if event.cause is Trigger.GOALS and event.task not in self.first:
                began = self.activated.get(self.pool.level(event.task), 0)
                self.first[event.task] = self.counters.episodes - began
        self._note_level()

    def _tasks_with(self, machines: set[str]) -> Any:
        """A mask [T] of the tasks whose hierarchies contain one of these machines."""
        return np.array([not machines.isdisjoint(self.pool.needed_by(name)) for name in self.tasks])

    def _is_back(self, task: int) -> bool:
        """Whether a task that was given up has a machine again."""
        return task in self.curriculum.dropped and self.progress[self.tasks[task]].failure is None

    def _note_level(self) -> None:
        for level in range(1, self.curriculum.level + 1):
            self.activated.setdefault(level, self.counters.episodes)

    # -- 4. greedy episodes (`Driver.evaluate`) decide on the level

    @property
    def is_due(self) -> bool:
        return not self.is_stuck and super().is_due

    def _note_returns(self, returns: Any, evaluated: Any) -> None:
        """Records the returns of greedy episodes, which may begin the next levels.

        Args:
            returns: The returns by task and instance; 0 for the tasks that were not evaluated.
            evaluated: A mask [T] of the tasks that were evaluated.
        """
        self.curriculum = self.curriculum.evaluated(self._noted(returns), self.machines.unconfirmed, evaluated)
        self._note_level()

    # -- 5. the changes take effect

    def _take_effect(self, findings: ChunkFindings) -> None:
        """Writes changes into the arrays of all environments at once, and lets environments that waited go on.

        When a level begins, so do new episodes in all environments: tasks of the new level are then sampled, and no
        earlier episode counts for them.
        """
        changed, before = {event.task for event in findings.events}, self.registry.sizes
        if changed or findings.has_new_labels or findings.level != self.curriculum.level:
            self._built = self._rebuilt()
            # Exploration options are numbered anew. Machines that did not change keep their numbers.
            episodes = clear_options(self.state.episodes, jnp.ones(self.config.agent.environments, bool))
            if self.config.tests:  # so are labels and positions
                episodes = clear_pairs(episodes)
            self._state = self.state._replace(episodes=episodes)
        else:
            now, tables = (self.machines, self.curriculum, self.config), self.tables
            assert tables.exploration is not None
            exploration = tables.exploration._replace(is_suspect=suspects(*now))
            if exploration.pairs is not None:
                pairs = with_efforts(exploration.pairs, self.machines, self.curriculum)
                exploration = exploration._replace(pairs=pairs)
            tables = tables._replace(chances=drawing_chances(*now), exploration=exploration)
            self._built = self._tables_now()._replace(tables=tables)
        if has_grown := self.registry.sizes != before:
            self._grow()
        self._renew({event.task for event in findings.events if event.cause is not Trigger.PROBLEM})
        which = findings.waiting | self._is_affected(changed) | (self.curriculum.level > findings.level)
        if which.any() and not has_grown:
            self._state = self.driver.restart(self.tables, self.state, which)

    def _grow(self) -> None:
        """Enlarges the arrays, and begins new episodes in all environments.

        The Q-functions of machines are reset, so earlier returns no longer count.
        """
        tables, driver, _ = self._tables_now()
        self.recent = []
        self._state = grown_state(driver, tables, self.chance, self.state, self.config, self.bank)

    def _renew(self, learned: set[str]) -> None:
        """Resets the Q-functions of new machines, and of formulas that took over a slot."""
        config, suite, chance = self.config, self.suite, self.chance
        agent = with_new_formulas(self.state.agent, sorted(self.registry.renewed), config, suite, chance)
        self.registry.renewed.clear()
        machines = sorted(map(self.tasks.index, learned))
        agent = with_new_machines(agent, machines, self.tables, config, suite, chance)
        self._state = self.state._replace(agent=agent)

    def _is_affected(self, changed: set[str]) -> Any:
        """A mask [N] of the environments whose hierarchy has changed, or whose task was given up."""
        return self._tasks_with(changed)[np.asarray(self.state.episodes.task)]

    # -- the host state

    def host_state(self) -> LhrmState:
        """The host state of the run, between two chunks."""
        return LhrmState(
            counters=replace(self.counters),
            recent=tuple(tuple(tuple(map(float, row)) for row in returns) for returns in self.recent),
            activated=tuple(self.activated[level] for level in sorted(self.activated)),
            first=dict(self.first),
            curriculum=self.curriculum,
            pool=PoolState.of(self.pool),
            progress=dict(self.progress),
            registry=RegistryState.of(self.registry),
            chance=state_text(self.chance),
        )

    def restore(self, state: LhrmState, where: str) -> None:
        """Restores the host state of the run, which has just begun.

        Args:
            state: The host state.
            where: The text with which error messages begin.

        Raises:
            RewardMachineError: The state is damaged, or belongs to another run.
        """
        state.check(self.tasks, self.curriculum, self.suite.instances, where)
        self.counters = replace(state.counters)
        self.recent = [np.array(returns) for returns in state.recent]
        self.activated = dict(enumerate(state.activated, start=1))
        self.first = dict(state.first)
        self.curriculum = state.curriculum
        self.machines.pool = state.pool.pool(self.pool, where)
        self.machines.progress = dict(state.progress)
        self.registry = state.registry.registry()
        self.machines.testing.labels = self.registry.events[:EVENTS]
        set_state(self.chance, state.chance, where)
        self._built = None

    # -- machines, tables and driver

    @property
    def learner_seconds(self) -> float:
        """The time that searches for machines have taken."""
        return self.machines.seconds

    @property
    def learned_machines(self) -> dict[str, Hierarchy]:
        """The hierarchies that were learned so far, by task."""
        return {name: self.pool.hierarchy(name).rooted(name) for name in self.pool.learned}

    @property
    def learned_from(self) -> dict[str, tuple[Trace, ...]]:
        """The examples that the learned machines explain, by task."""
        return {name: self.progress[name].examples.traces for name in self.pool.learned}

    @property
    def pool(self) -> Pool:
        """The machines of all tasks: the paper's bank of hierarchies."""
        return self.machines.pool

    @property
    def progress(self) -> dict[str, TaskProgress]:
        """The progress of learning the machine of each task."""
        return self.machines.progress

    @property
    def tables(self) -> TaskTables:
        """Hierarchies, options and the curriculum's sampling weights as arrays."""
        return self._tables_now().tables

    @property
    def written(self) -> WrittenOptions:
        """Machines and options, with the names of their numbers."""
        return self._tables_now().written

    @property
    def driver(self) -> Driver:
        """The driver that acts on the present tables."""
        return self._tables_now().driver

    def _first_state(self) -> RunState:
        tables, driver, _ = self._tables_now()
        return first_state(driver, tables, self.chance, jax.random.key(self.seed), self.config, self.bank)

    @property
    def is_playable(self) -> Any:
        return np.array([name in self.pool.learned for name in self.tasks])

    def followed(self, task: str) -> FollowedHierarchy:
        if task not in self.pool.learned:
            raise RewardMachineError(f"nothing can be done about '{task}' yet: there is no machine")
        _, _, written = self._tables_now()
        hierarchy = Hierarchy(task, written.option_set.pool.machines, written.option_set.pool.propositions)
        root = written.lowered.machines.index(task)
        return FollowedHierarchy(hierarchy, replace(written.lowered, roots=(root,)), written.option_set)

    def _tables_now(self) -> BuiltTables:
        """The present tables, written when they are first needed: reading a run needs no arrays."""
        if self._built is None:
            self._built = self._rebuilt()
        return self._built

    def _rebuilt(self) -> BuiltTables:
        return build_tables(self.suite, self.config, self.machines, self.registry, self.curriculum)


# -- the results of a chunk, read from the arrays of the device


def waiting_traces(episodes: Episodes, tasks: Sequence[str], bits: LabelBits) -> tuple[Any, dict[str, list[Trace]]]:
    """The waiting traces.

    Args:
        episodes: The agent's half of the environments.
        tasks: The names of the tasks, in the order of their numbers.
        bits: The encoding of labels.

    Returns:
        A mask [N] of the environments that wait, and their traces by task.
    """
    search = episodes.search
    assert search is not None, "machines are being learned"
    waiting, length, task = (np.asarray(x) for x in (search.waiting, search.length, episodes.task))
    found: dict[str, list[Trace]] = {}
    if (waiting != NOTHING).any():
        every = np.asarray(search.trace)
        for i in np.flatnonzero(waiting != NOTHING):
            trace = Trace(tuple(map(bits.decode, every[i, : int(length[i])])), outcome_of(int(waiting[i])))
            found.setdefault(tasks[int(task[i])], []).append(trace)
    return waiting != NOTHING, found


def labels_of(state: RunState, steps: int, bits: LabelBits) -> tuple[list[Label], list[Label]]:
    """The labels of the last steps and of the beginnings of episodes, which no stored step contains.

    Args:
        state: The state after a chunk.
        steps: The number of last steps in the replay memory to read.
        bits: The encoding of labels.

    Returns:
        All these labels, and the labels at which episodes ended in dead ends.
    """
    label, is_dead_end = replay.latest(state.agent.replay, steps)
    assert state.episodes.search is not None, "machines are being learned"
    seen = np.concatenate([label, np.asarray(state.episodes.search.trace[:, 0])])
    labels, fatal = (list(map(bits.decode, np.unique(some, axis=0))) for some in (seen, label[is_dead_end]))
    return labels, fatal
