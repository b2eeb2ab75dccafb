"""Recording traces: episodes acted at random, or by a walker that knows the way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.envs.domain import Guide
from rewardmachines.envs.episodes import Episode, advance, begin
from rewardmachines.envs.scenarios import Scenario
from rewardmachines.lowered import Tables
from rewardmachines.traces import Outcome, Trace

BATCH: Final = 64
"""The number of episodes that are recorded side by side."""
_HEADS_ON: Final = 0.75
"""The probability of the action that leads to the walker's goal; otherwise the action is random."""
_CHANGES_MIND: Final = 0.02
"""The probability, in each step, of another goal before the last one is reached."""
_HEADS_FOR_NEEDED: Final = 0.5
"""The probability of a goal that moves the hierarchy on, rather than any proposition."""


class Walker(Enum):
    """A behaviour policy. GUIDED heads for a random or needed proposition most of the time, by the domain's guide."""

    RANDOM = "random"
    GUIDED = "guided"


@dataclass(frozen=True)
class Recorder:
    """Episodes of a task, instance after instance; the same seed gives the same traces."""

    scenario: Scenario
    hierarchy: Hierarchy
    walker: Walker = Walker.RANDOM
    seed: int = 0

    def traces(self) -> Iterator[Trace]:
        """Yields traces without end: the label events of an episode and its outcome."""
        lowered = self.scenario.lower(self.hierarchy)
        record = jax.jit(self._episodes(lowered.root))
        ways = self._ways()
        key = jax.random.key(self.seed)
        batch = 0
        while True:
            instances = (np.arange(BATCH) + batch * BATCH) % len(self.scenario.instances)
            data = record(self.scenario.world, lowered.tables, ways, instances, jax.random.fold_in(key, batch))
            yield from self._read(*map(np.asarray, data))
            batch += 1

    def _episodes(self, root: int) -> Any:
        """A function that records a batch of episodes: all labels, which of them are events, goals and ends."""
        environment, steps = self.scenario.environment, self.scenario.max_steps

        def record_one(world: Any, tables: Tables, ways: Any, instance: Any, key: Any) -> Any:
            def body(carry: tuple[Episode, Any, Any], key: Any) -> Any:
                episode, target, over = carry
                target, action = self._act(tables, ways, episode, target, key)
                after, outcome = advance(environment, world, tables, episode, action, max_steps=steps)
                # All episodes of a batch take the same number of steps: what comes after an end is masked.
                seen = (after.label, outcome.is_event & ~over, outcome.goal & ~over, outcome.terminated & ~over)
                return (after, target, over | outcome.done), seen

            start = begin(environment, world, tables, instance, root)
            carry = (start, jnp.int32(0), jnp.bool_(False))
            _, seen = jax.lax.scan(body, carry, jax.random.split(key, steps))
            return start.label, *seen

        def record_batch(world: Any, tables: Tables, ways: Any, instances: Any, key: Any) -> Any:
            keys = jax.random.split(key, BATCH)
            return jax.vmap(record_one, in_axes=(None, None, None, 0, 0))(world, tables, ways, instances, keys)

        return record_batch

    def _act(self, tables: Tables, ways: Any, episode: Episode, target: Any, key: Any) -> tuple[Any, Any]:
        """The next goal (a proposition) and action of the walker."""
        anything, whether, which, heed, needed = jax.random.split(key, 5)
        random = jax.random.randint(anything, (), 0, self.scenario.environment.actions)
        if self.walker is Walker.RANDOM:
            return target, random
        guide, targets = self._guide, len(self.scenario.domain.task_set.propositions)
        arrived = guide.action(ways, episode.state, target) < 0
        changes = (jax.random.uniform(whether) < _CHANGES_MIND) | arrived
        wanted = _wanted(tables, episode, targets, needed)
        anywhere = jax.random.randint(which, (), 0, targets)
        chosen = jnp.where(jax.random.uniform(needed) < _HEADS_FOR_NEEDED, wanted, anywhere)
        target = jnp.where(changes, chosen, target)
        way = guide.action(ways, episode.state, target)
        follows = (jax.random.uniform(heed) < _HEADS_ON) & (way >= 0)
        return target, jnp.where(follows, way, random)

    def _ways(self) -> Any:
        """The tables of ways of all instances, stacked; empty for a walker that needs none."""
        if self.walker is Walker.RANDOM:
            return jnp.zeros(0)
        return jnp.asarray(np.stack([self._guide.ways(instance) for instance in self.scenario.instances]))

    @property
    def _guide(self) -> Guide:
        guide = self.scenario.domain.guide
        if guide is None:
            title = self.scenario.domain.title
            raise RewardMachineError(f"{title} has no walker that knows the way: record with random actions")
        return guide

    def _read(self, first: Any, labels: Any, events: Any, goals: Any, ends: Any) -> Iterator[Trace]:
        """The traces of a batch: the first label of each episode, and those of later steps that are events."""
        bits = self.scenario.environment.bits
        for i in range(len(first)):
            word = [bits.decode(first[i]), *(bits.decode(label) for label in labels[i][events[i]])]
            outcome = Outcome.GOAL if goals[i].any() else Outcome.DEAD_END if ends[i].any() else Outcome.INCOMPLETE
            yield Trace(tuple(word), outcome)


def _wanted(tables: Tables, episode: Episode, targets: int, key: Any) -> Any:
    """One of the propositions that would move the hierarchy on: a positive literal of a way out of its state."""
    required = tables.required[episode.task.machine, episode.task.state]  # [C, W]
    # A chain that is padding has all bits in both masks; one that is real has no bit in both.
    real = (required & tables.forbidden[episode.task.machine, episode.task.state]) == 0
    bits = jnp.where(real, required, jnp.uint32(0))[:, 0]
    united = jax.lax.reduce(bits, jnp.uint32(0), jnp.bitwise_or, (0,))
    wanted = (united >> jnp.arange(targets, dtype=jnp.uint32)) & 1
    return jax.random.categorical(key, jnp.where(wanted > 0, 0.0, -jnp.inf)).astype(jnp.int32)
