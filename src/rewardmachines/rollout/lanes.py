"""Several runs in domains that are written in JAX, moved by one program: their arrays are stacked along a leading axis.

One run with small batches leaves most of a GPU idle. Runs side by side share its time: the program makes a vector step
of all of them at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import jax
import numpy as np

from rewardmachines.agents.replay import without_memories
from rewardmachines.rollout.jax_driver import JaxDriver, compiled_programs
from rewardmachines.rollout.tables import Counts, RunState, TaskTables

T = TypeVar("T")


class Acting(NamedTuple):
    """The chunk of a run. The fields are the arguments of `Driver.chunk`."""

    tables: TaskTables
    state: RunState
    learns: bool
    most: int


class Judging(NamedTuple):
    """The greedy episodes that a run asks for. The fields are the arguments of `Driver.evaluate`."""

    tables: TaskTables
    agent: Any
    wanted: Any
    seed: int


class Lanes:
    """A fixed number of lanes for parallel runs, all with the same tasks and settings.

    The number of lanes is constant, whether all are in use or not, so that programs are compiled once, and the
    arithmetic of a run does not depend on the number of other runs. An unused lane holds a waiting copy of another run.
    """

    def __init__(self, count: int) -> None:
        self._count = count

    def act(self, driver: JaxDriver, runs: Sequence[Acting]) -> list[tuple[RunState, Counts]]:
        """Computes a chunk of some runs, as `Driver.chunk` would of each alone.

        Args:
            driver: The driver of any of the runs; all have equal programs and true hierarchies.
            runs: The chunks of the runs. Their arrays have the same shapes.

        Returns:
            For each run the state afterwards, and the counts, as arrays of the host.
        """
        programs = compiled_programs(driver.rollout, self._count)
        if not programs.evaluate.is_expected:  # it is compiled beside the first chunk, not after it
            none = np.zeros(driver.tasks, bool)
            judged = [Judging(run.tables, run.state.agent, none, 0) for run in runs]
            programs.evaluate.expect(*self._judged(driver, judged))
        tables, state = programs.join(self._filled(runs, lambda run: (run.tables, run.state)))
        most = np.zeros(self._count, np.int32)  # a copy that fills a lane takes no step
        most[: len(runs)] = [run.most for run in runs]
        learns = np.array(self._filled(runs, lambda run: run.learns))
        state, counts = programs.chunk(tables, driver.truth, state, learns, most)
        host: Counts = jax.tree.map(np.asarray, counts)
        counted: list[Counts] = [jax.tree.map(lambda x, lane=lane: x[lane], host) for lane in range(len(runs))]
        return list(zip(programs.split(state), counted, strict=False))

    def evaluate(self, driver: JaxDriver, runs: Sequence[Judging]) -> list[tuple[Any, Any]]:
        """Runs greedy episodes of some runs, as `Driver.evaluate` would of each alone. Arguments as for `act`.

        Returns:
            The returns [T, I] and lengths [T, I] of each run.
        """
        evaluated = compiled_programs(driver.rollout, self._count).evaluate(*self._judged(driver, runs))
        shape = -1, driver.tasks, driver.instances
        returns, lengths = np.asarray(evaluated[0], np.float64).reshape(shape), np.asarray(evaluated[1]).reshape(shape)
        return list(zip(returns, lengths, strict=True))[: len(runs)]

    def _judged(self, driver: JaxDriver, runs: Sequence[Judging]) -> tuple[Any, ...]:
        """The arguments of the compiled evaluation."""
        programs = compiled_programs(driver.rollout, self._count)
        _, truth, _, task, instance, _, _ = driver.evaluation(*runs[0])
        seeds = [jax.random.key(run.seed) for run in runs]
        wanted = [np.repeat(np.asarray(run.wanted), driver.instances) for run in runs]
        parts = [
            (run.tables, without_memories(run.agent), each, key)
            for run, each, key in zip(runs, wanted, seeds, strict=True)
        ]
        tables, agent, each, key = programs.join(self._filled(parts, lambda part: part))
        is_used = np.arange(self._count)[:, None] < len(runs)
        return tables, truth, agent, task, instance, each & is_used, key

    def _filled(self, runs: Sequence[Any], part: Callable[[Any], T]) -> list[T]:
        """A part of each run, and of the first run again for unused lanes."""
        return [part(runs[lane] if lane < len(runs) else runs[0]) for lane in range(self._count)]
