"""A corridor with a coin at one end and a door at the other: a domain that the package knows nothing of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int32, UInt32

from rewardmachines.envs import Environment
from rewardmachines.envs.domain import Domain, DomainSetting, Keys
from rewardmachines.library import TaskSet

PROPOSITIONS = ("coin", "bell", "door")
LENGTHS = {"short": 5, "long": 9}


class State(NamedTuple):
    instance: Int32[Array, ""]
    cell: Int32[Array, ""]


@dataclass(frozen=True)
class Corridor(Environment[Any, State, State]):
    """The coin lies in the first cell, the bell beside the middle, the door at the end; `world` is where one starts."""

    length: int

    @property
    def propositions(self) -> tuple[str, ...]:
        return PROPOSITIONS

    @property
    def action_names(self) -> tuple[str, ...]:
        return ("left", "right")

    @property
    def observation_shape(self) -> tuple[int, ...]:
        return (self.length,)

    @property
    def observation_bounds(self) -> tuple[float, float]:
        return 0.0, 1.0

    def reset(self, world: Any, instance: Int32[Array, ""] | int) -> State:
        instance = jnp.asarray(instance, jnp.int32)
        return State(instance, world[instance])

    def step(self, world: Any, state: State, action: Int32[Array, ""] | int) -> State:
        return state._replace(cell=jnp.clip(state.cell + jnp.where(action == 0, -1, 1), 0, self.length - 1))

    def label(self, world: Any, state: State) -> UInt32[Array, " W"]:
        landmarks = jnp.array([0, self.length // 2 + 1, self.length - 1])
        bits = jnp.left_shift(jnp.uint32(1), jnp.arange(len(PROPOSITIONS), dtype=jnp.uint32))
        return jnp.where(landmarks == state.cell, bits, jnp.uint32(0)).sum(dtype=jnp.uint32)[None]

    def observe(self, world: Any, state: State) -> Float[Array, " N"]:
        return self.recall(world, state)

    def remember(self, state: State) -> State:
        return state

    def recall(self, world: Any, memory: State) -> Float[Array, " N"]:
        return jax.nn.one_hot(memory.cell, self.length)


def make_environment(setting: str, _observation: str) -> Corridor:
    return Corridor(LENGTHS[setting])


def make_instances(setting: str, seed: int, count: int) -> tuple[int, ...]:
    """The cells in which episodes begin, one for each seed."""
    return tuple((seed + i) % (LENGTHS[setting] - 2) + 1 for i in range(count))


def make_world(instances: Any, _max_steps: int) -> Any:
    return jnp.array(instances, jnp.int32)


def picture(_instance: int, _world: Any, state: State, size: int | None) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """A row of grey cells, the agent's red."""
    row = np.full((1, max(LENGTHS.values()), 3), 200, np.uint8)
    row[0, int(state.cell)] = (200, 0, 0)
    tile = max(1, (size or 180) // row.shape[1])
    return row.repeat(tile, axis=0).repeat(tile, axis=1)


CORRIDOR = Domain(
    task_set=TaskSet(
        name="corridor",
        title="Corridor",
        propositions=PROPOSITIONS,
        tasks={"leave": "coin ; door", "ring": "bell ; door", "both": "leave ; ring"},
        shows_one_at_a_time=True,
    ),
    settings={
        "short": DomainSetting("five cells"),
        "long": DomainSetting("nine cells"),
    },
    environment=make_environment,
    instances=make_instances,
    world=make_world,
    presets={"short": {"agent": {"network": {"hidden": [32]}}, "learn": {"agent": {"environments": 16}}}},
    quick_tasks=("leave", "ring", "both"),
    picture=picture,
    keys=Keys({"a": 0, "d": 1, "left": 0, "right": 1}, "a/← left, d/→ right"),
)
