"""What a run of LHRM knows, written as arrays, and the driver that acts on it."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import numpy as np
from jaxtyping import Array, Float

from rewardmachines.agents.config import Layout
from rewardmachines.lhrm.config import LhrmConfig
from rewardmachines.lhrm.crew import Knowledge
from rewardmachines.lhrm.curriculum import Curriculum
from rewardmachines.lhrm.doubts import doubted_tasks
from rewardmachines.lhrm.induction import Machines
from rewardmachines.lhrm.machine_pool import TaskSpec
from rewardmachines.lhrm.option_registry import OptionRegistry
from rewardmachines.lhrm.worlds.protocol import Driver, TaskWorlds

Equipment = tuple[Knowledge, Driver]
"""What is known as arrays, and who acts on it."""


def equip(
    worlds: TaskWorlds, config: LhrmConfig, machines: Machines, registry: OptionRegistry, curriculum: Curriculum
) -> Equipment:
    """Writes what is known as arrays, and finds a driver for hierarchies as high as there is room for in them.

    Args:
        worlds: The tasks, and where they are learned.
        config: All settings.
        machines: The machines that were learned.
        registry: What options depend on. It makes more room if something has outgrown its arrays.
        curriculum: The present level, and which tasks are mastered.
    """
    tasks = [task.name for task in worlds.tasks]
    mastered = [name for name, is_done in zip(tasks, curriculum.is_mastered, strict=True) if is_done]
    trained = _trained(worlds.tasks, curriculum.level, config.agent.layout)
    wanders = config.digressions > 0
    written = registry.write(machines.pool, mastered, config.explores_with, trained, wanders=wanders)
    judged = [name in machines.pool.learned and machines.learnings[name].problem is None for name in tasks]
    knowledge = Knowledge(
        world=worlds.world,
        chances=drawing_chances(machines, curriculum, config),
        is_learned=jax.device_put(np.asarray(judged)),
        **written.arrays._asdict(),
    )
    return knowledge, worlds.driver(config, registry.room.depth + 1)


def _trained(tasks: Sequence[TaskSpec], level: int, layout: Layout) -> list[str] | None:
    """The names of the tasks whose formulas learn; None for all.

    As published, those up to the present level, which may have been higher before. Formulas that share a network learn
    all the same: its body changes with the others, and would leave them behind.
    """
    return None if layout is Layout.SHARED else [task.name for task in tasks if task.level <= level]


def drawing_chances(machines: Machines, curriculum: Curriculum, config: LhrmConfig) -> Float[Array, "T I"]:
    """How likely each pair of a task and an instance is drawn, as an array of the device.

    Args:
        machines: The machines that were learned, some of which may be in doubt.
        curriculum: Which tasks are trained on, and what they return.
        config: All settings.
    """
    drawn = curriculum.chances(doubted_tasks(machines, curriculum, config))
    chances: Float[Array, "T I"] = jax.device_put(np.asarray(drawn, np.float32))
    return chances
