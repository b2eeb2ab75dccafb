"""Grids drawn at random on the device, thousands at once, as likely as those of the published generator.

They are other grids than those of `instances`, which come from the published generator one by one.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int8, Int32

from rewardmachines.envs.craftworld.environment import SCENERY, CraftArrays
from rewardmachines.envs.craftworld.instances import CraftSetting, bare_grid, free_cells
from rewardmachines.envs.craftworld.things import DIRECTIONS, OBJECTS, Thing
from rewardmachines.envs.instance_keys import instance_key, key_of


def draw(setting: str, seed: int, count: int, _max_steps: int) -> CraftArrays:
    """Draws the arrays of instances.

    Args:
        setting: The name of the setting.
        seed: Equal seeds give equal instances; fewer instances are the first of many.
        count: The number of instances.

    Raises:
        RewardMachineError: There is no such seed.
    """
    world: CraftArrays = _drawn(CraftSetting(setting), count, key_of(seed))
    return world


@partial(jax.jit, static_argnums=(0, 1))
def _drawn(setting: CraftSetting, count: int, key: Any) -> CraftArrays:
    things, start = jax.vmap(lambda number: _grid(setting, instance_key(key, number)))(jnp.arange(count))
    return CraftArrays(things, start, jnp.asarray(SCENERY)[:, things.astype(jnp.int32)].swapaxes(0, 1))


def _grid(setting: CraftSetting, key: Any) -> tuple[Int8[Array, "X Y"], Int32[Array, " 3"]]:
    """Places everything on the first cells of a random order of the free ones: the start, the things, lava."""
    key_order, key_direction, key_things = jax.random.split(key, 3)
    order = jax.random.permutation(key_order, np.asarray(free_cells(setting), np.int32))
    placed = _things_to_place(setting, key_things)
    cells = order[1 : 1 + len(placed)]
    things = jnp.asarray(bare_grid(setting)).at[cells[:, 0], cells[:, 1]].set(placed, unique_indices=True)
    direction = jax.random.randint(key_direction, (1,), 0, len(DIRECTIONS))
    return things, jnp.concatenate([order[0], direction])


def _things_to_place(setting: CraftSetting, key: Any) -> Int8[Array, " N"]:
    """Each thing once or, in four rooms, once or twice; then lava.

    In four rooms there are two cells for each thing, and the second may stay empty. Leaving out cells of a random order
    leaves a random order, so that the other things are placed as if that cell had not been there.
    """
    things = jnp.asarray(OBJECTS, jnp.int8)
    if setting.has_rooms:
        second = jnp.where(jax.random.bernoulli(key, shape=things.shape), things, jnp.int8(Thing.EMPTY))
        things = jnp.stack([things, second], axis=1).reshape(-1)
    lava = [Thing.LAVA] if setting is CraftSetting.OPL else []  # that of FRL is in every grid
    return jnp.concatenate([things, jnp.asarray(lava, jnp.int8)])
