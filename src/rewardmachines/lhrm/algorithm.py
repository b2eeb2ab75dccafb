"""The interleaving algorithm: act and learn policies, take traces, learn machines, climb the curriculum (Section 5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from rewardmachines.agents.config import Layout
from rewardmachines.agents.hierarchical_dqn.agent import enlarged
from rewardmachines.learning import Solvers
from rewardmachines.lhrm.chunk_metrics import Row, Tally, row_of
from rewardmachines.lhrm.chunk_traces import labels_of, waiting_traces
from rewardmachines.lhrm.config import LhrmConfig
from rewardmachines.lhrm.curriculum import Curriculum, curriculum
from rewardmachines.lhrm.induction import Cause, Event, Learning, Machines, check_tasks
from rewardmachines.lhrm.interaction import Knowledge, clear_guides
from rewardmachines.lhrm.machine_learner import MachineLearner
from rewardmachines.lhrm.machine_pool import Pool
from rewardmachines.lhrm.option_registry import OptionRegistry, room_for
from rewardmachines.lhrm.renewal import with_new_formulas, with_new_machines
from rewardmachines.lhrm.worlds.protocol import Counts, RunState, TaskWorlds
from rewardmachines.lowered import LabelBits

EVALUATIONS: Final = 3
"""Whose mean says whether a task is done."""
UNLIMITED: Final = 2**31 - 1


class Lhrm:
    """A run in memory. Nothing here depends on the clock."""

    def __init__(
        self,
        worlds: TaskWorlds,
        config: LhrmConfig,
        solvers: Solvers,
        *,
        seed: int = 0,
        learner: MachineLearner | None = None,
    ) -> None:
        """Nothing is learned yet.

        Args:
            worlds: Where tasks are learned.
            config: All settings.
            solvers: What the exact learner of machines searches with.
            seed: Of all that is left to chance.
            learner: Who learns machines; the exact learner, if nobody is given.
        """
        self.worlds, self.config, self.seed = worlds, config, seed
        self.tasks = tuple(task.name for task in worlds.tasks)
        self.bits = LabelBits(worlds.propositions)
        pool = Pool(worlds.tasks, worlds.propositions)
        check_tasks(pool, worlds.dependencies, config.callables)
        self.machines = Machines(pool, config, solvers, worlds.dependencies, learner)
        self.registry = OptionRegistry(room=room_for(worlds.tasks, worlds.propositions))
        self.curriculum: Curriculum = curriculum(
            [task.level for task in worlds.tasks],
            worlds.instances,
            weight=config.agent.curriculum_weight,
            threshold=config.threshold,
        )
        self.tally = Tally()
        self.recent: list[Any] = []
        """The last evaluations, by task and instance."""
        self.activated = {1: 0}
        """The episode at which each level began."""
        self.first: dict[str, int] = {}
        """Episodes from the beginning of its level to the first machine of a task."""
        self.chance = np.random.default_rng(seed)
        self._knowledge: Knowledge | None = None
        self._state: RunState | None = None

    # -- what is known

    @property
    def pool(self) -> Pool:
        return self.machines.pool

    @property
    def learnings(self) -> dict[str, Learning]:
        return self.machines.learnings

    @property
    def knowledge(self) -> Knowledge:
        if self._knowledge is None:
            self._knowledge = self._written()
        return self._knowledge

    def _written(self) -> Knowledge:
        mastered = [n for n, done in zip(self.tasks, self.curriculum.is_mastered, strict=True) if done]
        written = self.registry.write(self.pool, mastered, self.config.explores_with, self._trained)
        judged = [
            name in self.pool.learned and self.learnings[name].problem is None for name in self.tasks
        ]  # fmt: skip
        self.worlds.prepare(self.config, self.registry.room.depth + 1)
        return Knowledge(world=self.worlds.world, chances=self._chances(), is_learned=jnp.asarray(judged), **written)

    @property
    def _trained(self) -> list[str] | None:
        """The tasks whose formulas learn; None for all.

        As published, those up to the present level, which may have been higher before. Formulas that share a network
        learn all the same: its body changes with the others, and would leave them behind.
        """
        if self.config.agent.layout is Layout.SHARED:
            return None
        return [task.name for task in self.worlds.tasks if task.level <= self.curriculum.level]

    def _chances(self) -> Array:
        return jnp.asarray(self.curriculum.chances(), jnp.float32)

    @property
    def state(self) -> RunState:
        if self._state is None:
            self._state = self.worlds.create(self.knowledge, self.chance, jax.random.key(self.seed))
        return self._state

    @state.setter
    def state(self, new: RunState) -> None:
        self._state = new

    # -- the loop

    @property
    def is_stuck(self) -> bool:
        """Whether every task was given up."""
        return bool(self.curriculum.is_dropped.all())

    def is_done(self, at: float) -> bool:
        """Whether all tasks, but for those given up, have returned so much on average in the last evaluations."""
        if self.is_stuck or len(self.recent) < EVALUATIONS:
            return False
        return bool((np.mean(self.recent, axis=(0, 2)) >= at)[~self.curriculum.is_dropped].all())

    def advance(self) -> Row:
        """One chunk: act and learn policies, take traces, learn machines, climb the curriculum."""
        counts = self._act_and_learn()
        waiting, traces = waiting_traces(self.state.crew, self.tasks, self.bits)
        events = self.machines.take(traces)
        self._follow(events)
        level, is_new = self.curriculum.level, self._notices()
        returns = self._evaluated() if not self.is_stuck and self._is_due else None
        if not self.is_stuck:
            self._apply(waiting, events, is_new=is_new or level != self.curriculum.level)
        examples = [self.learnings[name].examples for name in self.tasks]
        return row_of(self.tally, self.curriculum, counts, examples, events, returns)

    # -- acting, and learning policies

    def _act_and_learn(self) -> Counts:
        """Acts in all environments for a chunk, while Q-functions learn from what is remembered."""
        self._state, counts = self.worlds.chunk(
            self.knowledge, self.state, learns=self._learns, most=self._most_episodes
        )
        self.tally.add(counts)
        return counts

    @property
    def _learns(self) -> bool:
        """Not before there are formulas: an optimizer that has only seen zeros leaps at the first gradient."""
        return self.tally.steps >= self.config.agent.replay_start and bool(self.registry.slots)

    @property
    def _is_due(self) -> bool:
        episodes = self.config.agent.evaluate_episodes
        if episodes is None:
            return self.tally.chunks % self.config.agent.evaluate_every == 0
        return self.tally.episodes - self.tally.evaluated_at >= episodes

    @property
    def _most_episodes(self) -> int:
        """Until the next evaluation."""
        episodes = self.config.agent.evaluate_episodes
        return UNLIMITED if episodes is None else max(1, self.tally.evaluated_at + episodes - self.tally.episodes)

    def _notices(self) -> bool:
        """Takes note of the labels of the chunk; whether there was anything new."""
        agent = self.config.agent
        return self.registry.see(*labels_of(self.state, agent.chunk * agent.environments, self.bits))

    # -- climbing the curriculum

    def _follow(self, events: Sequence[Event]) -> None:
        """What new machines mean for the curriculum."""
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

    def _is_back(self, task: int) -> bool:
        """Whether a task that was given up has a machine again."""
        return task in self.curriculum.dropped and self.learnings[self.tasks[task]].setback is None

    def _note_level(self) -> None:
        for level in range(1, self.curriculum.level + 1):
            self.activated.setdefault(level, self.tally.episodes)

    def _evaluated(self) -> Any:
        returns = self.worlds.evaluate(self.knowledge, self.state.agent, self.curriculum.is_active, self.tally.chunks)
        self.curriculum = self.curriculum.evaluated(returns)
        self.recent = [*self.recent, returns][-EVALUATIONS:]
        self.tally.evaluated_at = self.tally.episodes
        self._note_level()
        return returns

    # -- what is new takes effect

    def _apply(self, waiting: Any, events: Sequence[Event], *, is_new: bool) -> None:
        """New machines, labels and chances take effect, for everybody at once."""
        changed = {event.task for event in events}
        before = self._sizes()
        if changed or is_new:
            self._knowledge = self._written()
            # Guides are numbered anew. All other options go on: of machines that did not change, numbers stay the same.
            everybody = jnp.ones(self.config.agent.environments, bool)
            self._state = self.state._replace(crew=clear_guides(self.state.crew, everybody))
        else:
            self._knowledge = self.knowledge._replace(chances=self._chances())
        if has_grown := self._sizes() != before:
            self._grow()
        self._renew({event.task for event in events if event.cause is not Cause.PROBLEM})
        which = waiting | self._is_affected(changed)
        if which.any() and not has_grown:
            self._state = self.worlds.restart(self.knowledge, self.state, which)

    def _sizes(self) -> tuple[Any, Any]:
        return self.registry.room, self.registry.option_room

    def _is_affected(self, changed: set[str]) -> Any:
        """Whose hierarchy is no longer the same, or whose task was given up."""
        task = np.asarray(self.state.crew.task)
        affected = [
            i for i, name in enumerate(self.tasks)
            if changed & {m.name for m in self.pool.hierarchy(name).reachable()}
        ]  # fmt: skip
        return np.isin(task, affected)

    def _renew(self, learned: set[str]) -> None:
        """Q-functions of new machines and of formulas in the place of others begin afresh."""
        config, worlds, chance = self.config, self.worlds, self.chance
        agent = with_new_formulas(self.state.agent, sorted(self.registry.renewed), config, worlds, chance)
        self.registry.renewed.clear()
        machines = sorted(map(self.tasks.index, learned))
        agent = with_new_machines(agent, machines, self.knowledge, config, worlds, chance)
        self._state = self.state._replace(agent=agent)

    def _grow(self) -> None:
        """The arrays have become too small: larger ones keep what is known, and all episodes begin afresh."""
        fresh = self.worlds.create(self.knowledge, self.chance, self.state.key)
        self._state = fresh._replace(agent=enlarged(fresh.agent, self.state.agent))
