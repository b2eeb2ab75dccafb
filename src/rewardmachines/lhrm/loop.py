"""The interleaving algorithm: act and learn policies, take traces, learn machines, climb the curriculum (Section 5)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from rewardmachines.agents.config import Config
from rewardmachines.agents.hierarchical import AgentState, HierarchicalAgent
from rewardmachines.agents.networks import Network
from rewardmachines.envs.scenario import Scenario
from rewardmachines.learning import Learned, Learner, Solvers, learning_task
from rewardmachines.lhrm.book import Book
from rewardmachines.lhrm.curriculum import Curriculum, curriculum
from rewardmachines.lhrm.examples import Examples, first_counterexample, goals_wanted
from rewardmachines.lhrm.pool import Pool, TaskSpec
from rewardmachines.lhrm.stepping import DEAD_END, GOAL, INCOMPLETE, NOTHING, Counts, Knowledge, LearnerState, Stepper
from rewardmachines.traces import Outcome, Trace

OUTCOMES = {GOAL: Outcome.GOAL, DEAD_END: Outcome.DEAD_END, INCOMPLETE: Outcome.INCOMPLETE}


@dataclass
class Learning:
    """How a task's machine came about."""

    examples: Examples
    calls: int = 0
    seconds: float = 0.0
    relearned: int = -1
    """How often after the first time."""


@dataclass
class Lhrm:
    """A run in memory. Nothing here depends on the clock."""

    place: Scenario
    tasks: Sequence[str]
    config: Config
    solvers: Solvers
    threshold: float = 0.85
    seed: int = 0
    steps: int = 0
    chunks: int = 0
    learnings: dict[str, Learning] = field(default_factory=dict)
    evaluations: list[Any] = field(default_factory=list)
    """Greedy returns by task and instance, the last evaluation last."""

    def __post_init__(self) -> None:
        trees = {name: self.place.task(name) for name in self.tasks}
        specs = tuple(TaskSpec(name, tree.height) for name, tree in trees.items())
        self._true = self.place.lower(list(trees.values()))
        self.book = Book(Pool(specs, self.place.environment.propositions))
        levels, instances = [spec.level for spec in specs], len(self.place.instances)
        self.curriculum: Curriculum = curriculum(
            levels, instances, weight=self.config.curriculum_weight, threshold=self.threshold
        )
        self.learnings = {spec.name: Learning(Examples(goals_wanted(spec.level))) for spec in specs}
        self._learner = Learner(self.solvers)
        self._chance = np.random.default_rng(self.seed)
        self._knowledge = self._written()
        self._state: LearnerState | None = None
        self.counts: Counts | None = None

    # -- what is known

    def _written(self) -> Knowledge:
        mastered = [n for n, done in zip(self.tasks, self.curriculum.is_mastered, strict=True) if done]
        written = self.book.write(mastered, alone=False)
        return Knowledge(
            world=self.place.world,
            truth=self._true.tables,
            true_root=jnp.asarray(self._true.roots, jnp.int32),
            chances=jnp.asarray(self.curriculum.chances(), jnp.float32),
            **written,
        )

    @cached_property
    def stepper(self) -> Stepper:
        environment = self.place.environment
        agent = HierarchicalAgent(
            self.config,
            environment.observation_shape,
            environment.actions,
            self.book.room.depth + 1,
            environment.recall,
        )
        return Stepper(agent, environment, self.place.max_steps)

    @cached_property
    def _programs(self) -> dict[str, Any]:
        stepper = self.stepper
        return {
            "begin": jax.jit(stepper.begin),
            "restart": jax.jit(stepper.restart),
            "warm_up": jax.jit(lambda k, s: stepper.chunk(k, s, learns=False), donate_argnums=1),
            "learn": jax.jit(lambda k, s: stepper.chunk(k, s, learns=True), donate_argnums=1),
            "evaluate": jax.jit(stepper.evaluate),
        }

    @property
    def state(self) -> LearnerState:
        if self._state is None:
            crew_key, key = jax.random.split(jax.random.key(self.seed))
            workers = self._programs["begin"](self._knowledge, crew_key)
            memory = jax.tree.map(lambda x: x[0], jax.vmap(self.place.environment.remember)(workers.state))
            agent = self.stepper.agent.create(self._knowledge.task, memory, self._chance)
            fresh = LearnerState(agent, workers, key)
            self._state = jax.tree.map(lambda x: x.copy(), fresh)
        assert self._state is not None
        return self._state

    # -- the loop

    def advance(self) -> None:
        """One chunk, then what there is to learn from it."""
        program = self._programs["learn" if self._learns else "warm_up"]
        self._state, self.counts = program(self._knowledge, self.state)
        self.steps += self.config.chunk * self.config.environments
        self.chunks += 1
        waiting, traces = self._taken()
        changed = self._learn(traces)
        is_new = self.book.see(label for trace in self._running() for label in trace)
        if self.chunks % self.config.evaluate_every == 0:
            level, returns = self.curriculum.level, self.evaluate()
            self.evaluations.append(returns)
            self.curriculum = self.curriculum.evaluated(returns)
            is_new |= level != self.curriculum.level
        if changed or is_new:
            self._knowledge = self._written()
        else:
            chances = jnp.asarray(self.curriculum.chances(), jnp.float32)
            self._knowledge = self._knowledge._replace(chances=chances)
        self._restart(waiting, changed)

    @property
    def _learns(self) -> bool:
        """Not before there are formulas: an optimizer that has only seen zeros leaps at the first gradient."""
        return self.steps >= self.config.replay_start and bool(self.book.slots)

    def _taken(self) -> tuple[Any, dict[str, list[Trace]]]:
        """The traces that wait, by task."""
        workers = self.state.workers
        waiting, length, task = (np.asarray(x) for x in (workers.waiting, workers.length, workers.task))
        found: dict[str, list[Trace]] = {}
        for i in np.flatnonzero(waiting != NOTHING):
            labels = np.asarray(workers.trace[i, : int(length[i])])
            trace = Trace(tuple(map(self._decoded, labels)), OUTCOMES[int(waiting[i])])
            found.setdefault(self.tasks[int(task[i])], []).append(trace)
        return waiting != NOTHING, found

    def _running(self) -> list[list[frozenset[str]]]:
        workers = self.state.workers
        used = np.unique(
            np.concatenate([t[:n] for t, n in zip(np.asarray(workers.trace), np.asarray(workers.length), strict=True)]),
            axis=0,
        )
        return [[self._decoded(bits) for bits in used]]

    def _decoded(self, bits: Any) -> frozenset[str]:
        return self.place.environment.bits.decode(bits)

    # -- machines

    def _learn(self, traces: dict[str, list[Trace]]) -> set[str]:
        """The machines that are new, lowest first."""
        changed: set[str] = set()
        for name in sorted(traces, key=self.tasks.index):
            learning = self.learnings[name]
            if not learning.examples.has_begun:
                for trace in sorted(set(traces[name]), key=lambda t: (len(t), str(t))):
                    learning.examples = learning.examples.collected(trace)
                if learning.examples.is_ready:
                    learning.examples = learning.examples.begun()
                    changed |= self._relearn(name)
                continue
            hierarchy = self.book.pool.hierarchy(name)
            while (wrong := first_counterexample(hierarchy, traces[name])) is not None:
                learning.examples = learning.examples.added(wrong)
                changed |= self._relearn(name)
                hierarchy = self.book.pool.hierarchy(name)
        return changed

    def _relearn(self, name: str) -> set[str]:
        """The task's machine, and those that call it, in their order."""
        dependents = self.book.pool.dependents(name)
        for one in (name, *dependents):
            self._induce(one)
        self.curriculum = self.curriculum.relearned(self.tasks.index(name))
        return {name, *dependents}

    def _induce(self, name: str) -> None:
        learning, pool = self.learnings[name], self.book.pool
        began = time.perf_counter()
        task = learning_task(learning.examples.traces, pool.propositions, pool.callables(name), name=name)
        result = self._learner.learn(task)
        learning.calls += result.calls
        learning.seconds += time.perf_counter() - began
        learning.relearned += 1
        assert isinstance(result, Learned), result
        self.book.pool = pool.with_machine(result.machine)

    # -- restarts

    def _restart(self, waiting: Any, changed: set[str]) -> None:
        workers = self.state.workers
        task, guided = np.asarray(workers.task), np.asarray(workers.is_guided)
        affected = [
            i for i, name in enumerate(self.tasks)
            if changed & {m.name for m in self.book.pool.hierarchy(name).reachable()}
        ]  # fmt: skip
        which = waiting | np.isin(task, affected) | (guided if changed else False)
        if changed:
            self._state = self.state._replace(agent=self._forgotten(self.state.agent, changed))
        if which.any():
            key, restart_key = jax.random.split(self.state.key)
            fresh = self._programs["restart"](self._knowledge, self.state.workers, jnp.asarray(which), restart_key)
            self._state = self.state._replace(workers=fresh, key=key)

    def _forgotten(self, agent: AgentState, changed: set[str]) -> AgentState:
        """The Q-functions of new machines begin afresh, with nothing to learn from."""
        calls, written = agent.calls, agent.call_replay.written
        _, states, _, outputs = self._knowledge.options.allowed.shape
        extra = states + self._knowledge.options.context.shape[1]
        shape = self.place.environment.observation_shape
        for m in sorted(map(self.tasks.index, changed)):
            new = Network(self.config.call_network, shape, extra, outputs, self._chance)
            put, clear = partial(_put, m), partial(_put, m, new=0)
            calls = calls._replace(
                online=jax.tree.map(put, calls.online, new),
                target=jax.tree.map(put, calls.target, new),
                optimizer=jax.tree.map(clear, calls.optimizer),
                updates=clear(calls.updates),
                ended=clear(calls.ended),
                owed=clear(calls.owed),
            )
            written = clear(written)
        return agent._replace(calls=calls, call_replay=agent.call_replay._replace(written=written))

    # -- evaluation

    def evaluate(self) -> Any:
        """Greedy returns of all active tasks in all instances."""
        tasks, instances = len(self.tasks), len(self.place.instances)
        task = jnp.repeat(jnp.arange(tasks, dtype=jnp.int32), instances)
        instance = jnp.tile(jnp.arange(instances, dtype=jnp.int32), tasks)
        wanted = jnp.repeat(jnp.asarray(self.curriculum.is_active), instances)
        found = self._programs["evaluate"](
            self._knowledge, self.state.agent, task, instance, wanted, jax.random.key(self.chunks)
        )
        return np.asarray(found, np.float64).reshape(tasks, instances)


def _put(row: int, old: Array, new: Any) -> Array:
    return old.at[row].set(new)
