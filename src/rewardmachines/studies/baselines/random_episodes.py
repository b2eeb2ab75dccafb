"""Random episodes of a task, in the form in which baselines take them: compressed, with rewards.

All episodes of a batch are computed by one compiled program. An episode depends on the seed and on its number alone:
neither the size of the batch nor the episodes before it matter, so a run goes on anywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Final, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int32, UInt32

from rewardmachines.envs.interface import AnyEnvironment
from rewardmachines.envs.scenarios import Scenario
from rewardmachines.lowered import State, Tables, VerdictCode, initial_state, step, verdict
from rewardmachines.studies.baselines.protocol import FlatEpisode, FlatTask
from rewardmachines.traces import Outcome

BATCH: Final = 512
"""The number of episodes that are computed side by side."""


@dataclass(frozen=True)
class RandomEpisodes:
    """The episodes of a run: uniformly random actions, and the instances one after the other, again and again."""

    scenario: Scenario
    task: FlatTask
    seed: int = 0
    batch: int = BATCH

    def after(self, number: int) -> Iterator[FlatEpisode]:
        """Yields the episodes that follow that with a number, without end.

        Args:
            number: The number of the last episode that was taken; 0 to begin with the first.
        """
        first = number + 1
        waiting = self._compute(first)
        while True:
            # The next batch is computed while the caller works on this one.
            computed, waiting = waiting, self._compute(first + self.batch)
            yield from self._read(first, *map(np.asarray, computed))
            first += self.batch

    @cached_property
    def _truth(self) -> tuple[Tables, int]:
        lowered = self.scenario.lower(self.task.truth)
        return lowered.tables, lowered.root

    def _compute(self, first: int) -> Any:
        """Begins to compute a batch, and returns at once."""
        numbers = np.arange(first, first + self.batch)
        instances = ((numbers - 1) % len(self.scenario.instances)).astype(np.int32)
        program = _program(self.scenario.environment, self.scenario.max_steps)
        key = jax.random.key(self.seed)
        return program(self.scenario.world, *self._truth, instances, numbers.astype(np.uint32), key)

    def _read(self, first: int, labels: Any, steps: Any, verdicts: Any) -> Iterator[FlatEpisode]:
        """The episodes of a batch, given the labels [B, T + 1, W] of all moments, lengths and verdicts."""
        moments = np.arange(labels.shape[1])
        is_new = np.ones(labels.shape[:2], bool)
        is_new[:, 1:] = (labels[:, 1:] != labels[:, :-1]).any(axis=-1)
        is_new &= moments <= steps[:, None]  # what follows the end has no meaning
        kinds, positions = np.unique(labels[is_new], axis=0, return_inverse=True)
        bits = self.scenario.environment.bits
        known = [bits.decode(kind) for kind in kinds]
        words = np.split(positions.reshape(-1), np.cumsum(is_new.sum(axis=1))[:-1])
        for i, word in enumerate(words):
            yield FlatEpisode(
                number=first + i,
                labels=tuple([known[position] for position in word.tolist()]),
                times=tuple(np.flatnonzero(is_new[i]).tolist()),
                outcome=Outcome.of(VerdictCode(int(verdicts[i])).verdict),
                steps=int(steps[i]),
            )


class _EpisodeState(NamedTuple):
    """The state of an episode."""

    state: Any
    task: State
    heard: UInt32[Array, " W"]
    """The last label that was not empty. As published, the truth ignores empty labels: t, {}, t is one event."""
    steps: Int32[Array, ""]
    verdict: Int32[Array, ""]


def _hear(tables: Tables, task: State, heard: UInt32[Array, " W"], label: UInt32[Array, " W"]) -> tuple[State, Any]:
    """The truth after a label, and the last label that was not empty."""
    is_event: Bool[Array, ""] = jnp.any(label != 0) & jnp.any(label != heard)
    after = step(tables, task, label)
    return jax.tree.map(lambda new, old: jnp.where(is_event, new, old), (after, label), (task, heard))  # type: ignore[no-any-return]


@cache
def _program(environment: AnyEnvironment, max_steps: int) -> Any:
    """The compiled program that computes a batch of episodes: their labels, lengths and verdicts."""

    def one(world: Any, tables: Tables, root: Any, instance: Any, number: Any, key: Any) -> Any:
        # All actions are drawn at once, which is much faster than a key for each step.
        actions = jax.random.randint(jax.random.fold_in(key, number), (max_steps,), 0, environment.actions, jnp.int32)

        def body(moment: _EpisodeState, action: Any) -> Any:
            is_over = moment.verdict != VerdictCode.NEITHER
            state = environment.step(world, moment.state, action)
            label = environment.label(world, state)
            task, heard = _hear(tables, moment.task, moment.heard, label)
            judged = jnp.where(is_over, moment.verdict, verdict(tables, task))
            return _EpisodeState(state, task, heard, moment.steps + ~is_over, judged), label

        state = environment.reset(world, instance)
        label = environment.label(world, state)
        task, heard = _hear(tables, initial_state(tables, root), jnp.zeros_like(label), label)
        start = _EpisodeState(state, task, heard, jnp.int32(0), verdict(tables, task))
        end, labels = jax.lax.scan(body, start, actions)
        return jnp.concatenate([label[None], labels]), end.steps, end.verdict

    return jax.jit(jax.vmap(one, in_axes=(None, None, None, 0, 0, None)))
