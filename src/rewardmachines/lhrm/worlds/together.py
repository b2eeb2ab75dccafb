"""Several runs in compiled worlds, moved by one program: their arrays are stacked along a leading axis.

One run with small batches leaves most of a GPU idle. Runs side by side share its time: the program makes a vector step
of all of them at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from rewardmachines.agents.hierarchical_dqn.agent import AgentState
from rewardmachines.lhrm.crew import Knowledge
from rewardmachines.lhrm.worlds.compiled import CompiledDriver
from rewardmachines.lhrm.worlds.protocol import Counts, RunState
from rewardmachines.lhrm.worlds.rollout import Rollout
from rewardmachines.runs.compile_ahead import KEPT, Program

T = TypeVar("T")


class Acting(NamedTuple):
    """What a run is to do in a chunk. The fields are the arguments of `Driver.chunk`."""

    knowledge: Knowledge
    state: RunState
    learns: bool
    most: int


class Judging(NamedTuple):
    """The greedy episodes that a run asks for. The fields are the arguments of `Driver.evaluate`."""

    knowledge: Knowledge
    agent: AgentState
    wanted: Any
    seed: int


class _Programs:
    """The functions of a rollout for a number of runs, each compiled once."""

    def __init__(self, rollout: Rollout, lanes: int) -> None:
        self.chunk = Program(rollout.chunk_of_many, donate=[2])
        self.evaluate = Program(jax.vmap(rollout.evaluate, in_axes=(0, None, 0, None, None, 0, 0)))
        self.join = jax.jit(lambda trees: jax.tree.map(lambda *each: jnp.stack(each), *trees))
        self.split = jax.jit(lambda tree: [jax.tree.map(lambda x, lane=lane: x[lane], tree) for lane in range(lanes)])


_programs = lru_cache(KEPT)(_Programs)


class Lanes:
    """Room for a number of runs side by side, all with the same tasks and settings.

    There are as many lanes whether all are in use or not, so that programs are compiled once, and the arithmetic of a
    run does not depend on how many others are under way. In a lane that is not in use, a copy of another run waits.
    """

    def __init__(self, count: int) -> None:
        self._count = count

    def act(self, driver: CompiledDriver, runs: Sequence[Acting]) -> list[tuple[RunState, Counts]]:
        """Makes a chunk of some runs, as `Driver.chunk` would of each alone.

        Args:
            driver: The driver of any of the runs; all have equal programs and true hierarchies.
            runs: What the runs are to do. Their arrays have the same shapes.

        Returns:
            For each run the state afterwards, and what was counted, as arrays of the host.
        """
        programs = _programs(driver.rollout, self._count)
        if not programs.evaluate.is_expected:  # it is compiled beside the first chunk, not after it
            nobody = np.zeros(driver.tasks, bool)
            programs.evaluate.expect(*self._judged(driver, [Judging(r[0], r[1].agent, nobody, 0) for r in runs]))
        knowledge, state = programs.join(self._filled(runs, lambda run: (run.knowledge, run.state)))
        most = np.zeros(self._count, np.int32)  # a copy that fills a lane takes no step
        most[: len(runs)] = [run.most for run in runs]
        learns = np.array(self._filled(runs, lambda run: run.learns))
        state, counts = programs.chunk(knowledge, driver.truth, state, learns, most)
        host: Counts = jax.tree.map(np.asarray, counts)
        counted: list[Counts] = [jax.tree.map(lambda x, lane=lane: x[lane], host) for lane in range(len(runs))]
        return list(zip(programs.split(state), counted, strict=False))

    def evaluate(self, driver: CompiledDriver, runs: Sequence[Judging]) -> list[Any]:
        """Runs greedy episodes of some runs, as `Driver.evaluate` would of each alone. Arguments as for `act`.

        Returns:
            The returns [T, I] of each run.
        """
        returns, _ = _programs(driver.rollout, self._count).evaluate(*self._judged(driver, runs))
        shape = -1, driver.tasks, driver.instances
        return list(np.asarray(returns, np.float64).reshape(shape)[: len(runs)])

    def _judged(self, driver: CompiledDriver, runs: Sequence[Judging]) -> tuple[Any, ...]:
        """The arguments of the compiled evaluation."""
        programs = _programs(driver.rollout, self._count)
        # What is remembered is not needed to act, and would only be copied.
        nothing: Any = None
        agents = [run.agent._replace(replay=nothing, call_replay=nothing) for run in runs]
        pairs = [driver.evaluation(*run._replace(agent=agent)) for run, agent in zip(runs, agents, strict=True)]
        knowledge, truth, _, task, instance, _, _ = pairs[0]
        joined = programs.join(self._filled(pairs, lambda pair: (pair[0], pair[2], pair[5], pair[6])))
        knowledge, agent, wanted, key = joined
        is_used = np.arange(self._count)[:, None] < len(runs)
        return knowledge, truth, agent, task, instance, wanted & is_used, key

    def _filled(self, runs: Sequence[Any], part: Callable[[Any], T]) -> list[T]:
        """A part of each run, and of the first one again for lanes that are not in use."""
        return [part(runs[lane] if lane < len(runs) else runs[0]) for lane in range(self._count)]
