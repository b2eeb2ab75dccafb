"""The interleaving algorithm: policies and machines are learned in turns, from simple tasks to harder ones (Section 5).

`Lhrm.advance` is the algorithm, and the methods below it are its parts in the order of their use. Once in a chunk

1. the agent acts in N environments, each on a task and an instance that the curriculum has drawn, and learns policies
   on the hierarchies that it believes in. An environment whose trace its hierarchy gets wrong, or whose goal trace is
   collected for a first machine, waits meanwhile;
2. the traces that wait are taken, and machines are learned from them, which may call those of lower levels;
3. a task with a new machine has everything to show again: its returns become 0 and its level the present one;
4. now and then greedy episodes are run. Once all returns of a level exceed a threshold, the next level begins;
5. what is new takes effect: hierarchies, labels, and how likely each task and instance is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from rewardmachines.agents.bank.bank import Bank
from rewardmachines.learning import Solvers
from rewardmachines.lhrm.beginning import first_curriculum, first_pool, first_registry, first_state, grown_state
from rewardmachines.lhrm.chunk_metrics import Row, Tally, row_of
from rewardmachines.lhrm.chunk_traces import Findings, labels_of, waiting_traces
from rewardmachines.lhrm.config import LhrmConfig
from rewardmachines.lhrm.crew import Knowledge, clear_guides
from rewardmachines.lhrm.curriculum import Curriculum
from rewardmachines.lhrm.equipment import Equipment, drawing_chances, equip
from rewardmachines.lhrm.induction import Learning, Machines
from rewardmachines.lhrm.machine_learner import MachineLearner
from rewardmachines.lhrm.machine_pool import Pool, check_tasks
from rewardmachines.lhrm.renewal import with_new_formulas, with_new_machines
from rewardmachines.lhrm.setbacks import Cause, Event
from rewardmachines.lhrm.worlds.protocol import Counts, Driver, RunState, TaskWorlds
from rewardmachines.lowered import LabelBits
from rewardmachines.runs.budget import EVALUATIONS

UNLIMITED: Final = 2**31 - 1


class Lhrm:
    """A run in memory. What it does depends on its settings and its seed, never on the clock."""

    def __init__(
        self,
        worlds: TaskWorlds,
        config: LhrmConfig,
        solvers: Solvers,
        *,
        seed: int = 0,
        learner: MachineLearner | None = None,
        bank: Bank | None = None,
    ) -> None:
        """Begins with a machine for each task that accepts and rejects nothing, on the first level.

        Args:
            worlds: The tasks, and where they are learned.
            config: All settings.
            solvers: What the exact learner of machines searches with.
            seed: Of all that is left to chance.
            learner: Who learns machines; the exact learner, if nobody is given.
            bank: Machines and policies that are there from the beginning.
        """
        self.worlds, self.config, self.seed, self.bank = worlds, config, seed, bank
        self.tasks = tuple(task.name for task in worlds.tasks)
        self.bits = LabelBits(worlds.propositions)
        pool = first_pool(worlds, bank)
        check_tasks(pool, worlds.dependencies, config.callables)
        self.machines = Machines(pool, config, solvers, worlds.dependencies, learner)
        self.registry = first_registry(worlds, bank)
        self.curriculum: Curriculum = first_curriculum(worlds, config)
        self.tally = Tally()
        self.recent: list[Any] = []
        """The returns of the last evaluations, each by task and instance; 0 where a task was not evaluated, or has
        another machine by now."""
        self.activated = {1: 0}
        """The episode at which each level first began."""
        self.first: dict[str, int] = {}
        """Episodes from the beginning of its level to the first machine of a task."""
        self.chance = np.random.default_rng(seed)
        self._equipment: Equipment | None = None
        self._state: RunState | None = None

    # -- the algorithm

    def advance(self) -> Row:
        """Runs one chunk of the algorithm, and says what it brought.

        The device acts and runs greedy episodes, the host does the rest. `lhrm.side_by_side` has the same steps, but
        the device acts for several runs at once.
        """
        knowledge, driver = self._equipped()
        state, counts = driver.chunk(knowledge, self.state, learns=self.learns, most=self.most_episodes)
        findings = self.learn_machines(state, counts)
        returns = None
        if self.is_due:
            returns = driver.evaluate(knowledge, state.agent, findings.evaluated, self.tally.chunks)
        return self.conclude(findings, returns)

    def learn_machines(self, state: RunState, counts: Counts) -> Findings:
        """Takes in what acting brought: counts it, learns machines from the traces, and notes the labels.

        Args:
            state: The state after a chunk.
            counts: What was counted in it.
        """
        self._state = state
        self.tally.add(counts)
        self.machines.count(counts.episodes.tolist())
        waiting, traces = waiting_traces(state.crew, self.tasks, self.bits)
        events = self.machines.take(traces)
        self._return_to_new_machines(events)
        agent, changed = self.config.agent, self._tasks_with({event.task for event in events})
        self.recent = [np.where(changed[:, None], 0.0, returns) for returns in self.recent]
        return Findings(
            counts=counts,
            waiting=waiting,
            events=tuple(events),
            evaluated=self.curriculum.is_active & ~changed,
            has_new_labels=self.registry.see(*labels_of(state, agent.chunk * agent.environments, self.bits)),
            level=self.curriculum.level,
        )

    def conclude(self, findings: Findings, returns: Any) -> Row:
        """Ends a chunk: what is new takes effect. Returns what the chunk brought.

        Args:
            findings: What was found in the chunk.
            returns: The returns of greedy episodes after it by task and instance; None if there were none. Only those
                of `findings.evaluated` count: the others would be returns of machines that are no longer there.
        """
        if returns is not None:
            self._note_returns(returns, findings.evaluated)
        if not self.is_stuck:
            self._take_effect(findings)
        examples, events = [self.learnings[name].examples for name in self.tasks], findings.events
        return row_of(self.tally, self.curriculum, findings.counts, examples=examples, events=events, returns=returns)

    @property
    def is_stuck(self) -> bool:
        """Whether every task was given up."""
        return bool(self.curriculum.is_dropped.all())

    def is_done(self, at: float) -> bool:
        """Whether all tasks, but for those given up, have confirmed machines and have lately returned so much."""
        if self.is_stuck or len(self.recent) < EVALUATIONS:
            return False
        is_learned = (np.mean(self.recent, axis=(0, 2)) >= at) & list(map(self.machines.is_confirmed, self.tasks))
        return bool(is_learned[~self.curriculum.is_dropped].all())

    # -- 1. the agent acts and learns policies (`Driver.chunk`)

    @property
    def learns(self) -> bool:
        """Whether formulas learn. Not before there are any: after nothing but zeros, an optimizer leaps."""
        return self.tally.steps >= self.config.agent.replay_start and bool(self.registry.slots)

    @property
    def most_episodes(self) -> int:
        """The number of ended episodes with which a chunk ends, so that evaluations come when they are due."""
        every = self.config.agent.evaluate_episodes
        return UNLIMITED if every is None else every - self.tally.episodes % every

    # -- 2. machines are learned (`Machines.take`), and 3. the curriculum returns to their tasks

    def _return_to_new_machines(self, events: Sequence[Event]) -> None:
        """Sets the curriculum back for tasks with new machines, and leaves out those that were given up.

        A machine that was relearned only because it calls a new one keeps its returns, as in the paper.
        """
        for event in events:
            task = self.tasks.index(event.task)
            if event.cause is Cause.PROBLEM:
                setback = self.learnings[event.task].setback
                self.curriculum = self.curriculum.given_up(task, for_good=setback is None or setback.is_final)
            elif event.cause is not Cause.CALLEE or self._is_back(task):
                self.curriculum = self.curriculum.relearned(task)
            if event.cause is Cause.GOALS and event.task not in self.first:
                began = self.activated.get(self.pool.level(event.task), 0)
                self.first[event.task] = self.tally.episodes - began
        self._note_level()

    def _tasks_with(self, machines: set[str]) -> Any:
        """A mask [T] of the tasks whose hierarchies contain one of these machines."""
        return np.array([not machines.isdisjoint(self.pool.needed_by(name)) for name in self.tasks])

    def _is_back(self, task: int) -> bool:
        """Whether a task that was given up has a machine again."""
        return task in self.curriculum.dropped and self.learnings[self.tasks[task]].setback is None

    def _note_level(self) -> None:
        for level in range(1, self.curriculum.level + 1):
            self.activated.setdefault(level, self.tally.episodes)

    # -- 4. greedy episodes (`Driver.evaluate`) decide on the level

    @property
    def is_due(self) -> bool:
        """Whether an evaluation is due: past a multiple of a number of episodes or, without one, of chunks."""
        every = self.config.agent.evaluate_episodes
        if self.is_stuck or every is None:
            return not self.is_stuck and self.tally.chunks % self.config.agent.evaluate_every == 0
        return self.tally.episodes // every > self.tally.evaluated_at // every

    def _note_returns(self, returns: Any, evaluated: Any) -> None:
        """Notes the returns of greedy episodes, which may begin the next levels.

        Of a sample of instances, the curriculum gets the mean return.

        Args:
            returns: The returns by task and instance; 0 for the tasks that were not evaluated.
            evaluated: A mask [T] of the tasks that were.
        """
        is_sample = self.worlds.curriculum_instances < self.worlds.instances
        means = returns.mean(axis=1, keepdims=True) if is_sample else returns
        self.curriculum = self.curriculum.evaluated(means, self.machines.unconfirmed, evaluated)
        self.recent = [*self.recent, returns][-EVALUATIONS:]
        self.tally.evaluated_at = self.tally.episodes
        self._note_level()

    # -- 5. what is new takes effect

    def _take_effect(self, findings: Findings) -> None:
        """Writes what has changed as arrays, in all environments at once, and lets those that waited go on.

        When a level begins, so do new episodes in all environments: tasks of the new level are drawn from there on, and
        no episode of before counts for them.
        """
        changed, before = {event.task for event in findings.events}, self.registry.sizes
        if changed or findings.has_new_labels or findings.level != self.curriculum.level:
            self._equipment = self._prepared()
            # Guides are numbered anew. Other options go on: those of machines that did not change keep their numbers.
            crew = clear_guides(self.state.crew, jnp.ones(self.config.agent.environments, bool))
            self._state = self.state._replace(crew=crew)
        else:
            chances = drawing_chances(self.machines, self.curriculum, self.config)
            self._equipment = self.knowledge._replace(chances=chances), self.driver
        if has_grown := self.registry.sizes != before:
            self._grow()
        self._renew({event.task for event in findings.events if event.cause is not Cause.PROBLEM})
        which = findings.waiting | self._is_affected(changed) | (self.curriculum.level > findings.level)
        if which.any() and not has_grown:
            self._state = self.driver.restart(self.knowledge, self.state, which)

    def _grow(self) -> None:
        """Makes larger arrays, since something has outgrown them, and begins new episodes in all environments."""
        knowledge, driver = self._equipped()
        self._state = grown_state(driver, knowledge, self.chance, self.state, self.config, self.bank)

    def _renew(self, learned: set[str]) -> None:
        """Lets Q-functions begin afresh: those of new machines, and those of formulas that took over a slot."""
        config, worlds, chance = self.config, self.worlds, self.chance
        agent = with_new_formulas(self.state.agent, sorted(self.registry.renewed), config, worlds, chance)
        self.registry.renewed.clear()
        machines = sorted(map(self.tasks.index, learned))
        agent = with_new_machines(agent, machines, self.knowledge, config, worlds, chance)
        self._state = self.state._replace(agent=agent)

    def _is_affected(self, changed: set[str]) -> Any:
        """A mask [N] of the environments whose hierarchy has changed, or whose task was given up."""
        return self._tasks_with(changed)[np.asarray(self.state.crew.task)]

    # -- what is known, and what acts on it

    @property
    def pool(self) -> Pool:
        """The machines of all tasks: the paper's bank of hierarchies."""
        return self.machines.pool

    @property
    def learnings(self) -> dict[str, Learning]:
        """How the machine of each task came about."""
        return self.machines.learnings

    @property
    def knowledge(self) -> Knowledge:
        """Hierarchies, options and the curriculum's chances as arrays."""
        return self._equipped()[0]

    @property
    def driver(self) -> Driver:
        """What acts with the present knowledge."""
        return self._equipped()[1]

    @property
    def state(self) -> RunState:
        """All arrays that change while the agent acts and learns."""
        if self._state is None:
            knowledge, driver = self._equipped()
            key = jax.random.key(self.seed)
            self._state = first_state(driver, knowledge, self.chance, key, self.config, self.bank)
        return self._state

    @state.setter
    def state(self, new: RunState) -> None:
        self._state = new

    def _equipped(self) -> Equipment:
        """Written when it is first needed: a run that is only looked at needs no arrays."""
        if self._equipment is None:
            self._equipment = self._prepared()
        return self._equipment

    def _prepared(self) -> Equipment:
        return equip(self.worlds, self.config, self.machines, self.registry, self.curriculum)
