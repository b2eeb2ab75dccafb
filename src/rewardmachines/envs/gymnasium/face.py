"""The common part of the Gymnasium environments of a scenario, single and vectorized."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, TypedDict

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.envs.domain import PUBLISHED
from rewardmachines.envs.episodes import MAX_STEPS, Episode, EpisodeStep, advance, begin
from rewardmachines.envs.interface import AnyEnvironment
from rewardmachines.envs.scenarios import BASE_SEED, INSTANCES, Scenario, scenario


class ScenarioPrograms:
    """The compiled functions of one environment. Worlds and tasks are arguments, so that all faces share them.

    One episode at a time needs the environment's half only: a program of so few numbers spends its time on starting
    its operations, of which a traversal has many, and the core traverses in less time than one of them takes.
    """

    def __init__(self, environment: AnyEnvironment, max_steps: int) -> None:
        def seen(world: Any, state: Any) -> tuple[Any, Any, Any]:
            return state, environment.label(world, state), environment.observe(world, state)

        def begin_one(world: Any, tables: Any, instance: Any, root: Any) -> tuple[Episode, Any]:
            episode = begin(environment, world, tables, instance, root)
            return episode, environment.observe(world, episode.state)

        def advance_one(world: Any, tables: Any, episode: Episode, action: Any) -> tuple[Episode, EpisodeStep, Any]:
            after, result = advance(environment, world, tables, episode, action, max_steps=max_steps)
            return after, result, environment.observe(world, after.state)

        begin_all = jax.vmap(begin_one, in_axes=(None, None, 0, 0))

        def begin_some(
            world: Any, tables: Any, episodes: Episode, which: Any, instances: Any, roots: Any
        ) -> tuple[Episode, Any]:
            begun, observations = begin_all(world, tables, instances, roots)

            def following(one: Any, episode: Episode) -> Any:
                return jax.tree.map(lambda new, old: jnp.where(one < 0, old, new[one]), begun, episode)

            return jax.vmap(following)(which, episodes), observations

        self.first = jax.jit(lambda world, instance: seen(world, environment.reset(world, instance)))
        self.next = jax.jit(lambda world, state, action: seen(world, environment.step(world, state, action)))
        # Side by side, all act in one world and by one set of tables: only the other arguments have an axis in front.
        self.begin_all = jax.jit(begin_all)
        self.advance_all = jax.jit(jax.vmap(advance_one, in_axes=(None, None, 0, 0)))
        # Few episodes end at a time: as many new ones begin, and replace those for which `which` has their
        # numbers; it is -1 for those that go on.
        self.begin_some = jax.jit(begin_some)


@cache
def compiled_programs(environment: AnyEnvironment, max_steps: int) -> ScenarioPrograms:
    """The functions of an environment, for episodes of at most `max_steps`; equal arguments share them."""
    return ScenarioPrograms(environment, max_steps)


Words = np.ndarray[Any, np.dtype[np.uint32]]
"""The bits of a label, or of several, a row each."""


class ScenarioOptions(TypedDict, total=False):
    """The options of a scenario's Gymnasium environment, besides domain, setting and task."""

    instance: int | None
    """The instance of all episodes; None, if not given: another one each time."""
    instances: int
    """The number of instances."""
    base_seed: int
    """The seed of the first instance; the others have the seeds that follow."""
    observation: str
    """The name of what the agent observes, where the domain leaves a choice."""
    max_steps: int
    """The number of steps after which an episode is truncated."""
    render_mode: str | None
    """The render mode: one of those in `metadata`, or None."""


class ScenarioFace:
    """A scenario and the tasks that are done in it, with the compiled functions that training uses, too."""

    metadata: dict[str, Any]

    def _prepare(
        self,
        domain: str,
        setting: str,
        tasks: Iterable[str | Hierarchy | None],
        *,
        instance: int | None = None,
        instances: int = INSTANCES,
        base_seed: int = BASE_SEED,
        observation: str = PUBLISHED,
        max_steps: int = MAX_STEPS,
        render_mode: str | None = None,
    ) -> None:
        """Makes the scenario, lowers the tasks and checks the rest.

        A task is a name, a hierarchy, or None for the default task of the domain; `ScenarioOptions` explains the
        options.

        Raises:
            RewardMachineError: There is no such domain, setting, task, instance, observation or mode.
        """
        _process_of_jax()  # known from here on, because a scenario has arrays
        self.scenario = scenario(
            domain, setting, seed=base_seed, instances=instances, observation=observation, max_steps=max_steps
        )
        self.hierarchies = tuple(_hierarchy(self.scenario, task) for task in tasks)
        self.lowered = self.scenario.lower(self.hierarchies)
        self.render_mode = _checked_mode(render_mode, self.metadata["render_modes"])
        self._fixed_instance = None if instance is None else self._checked_instance(instance)
        self._labels: dict[bytes, Label] = {}

    @property
    def propositions(self) -> tuple[str, ...]:
        """The propositions of the environment."""
        return self.scenario.environment.propositions

    @property
    def _programs(self) -> ScenarioPrograms:
        """Looked up whenever they are needed, because compiled functions cannot be copied along with an environment.

        Raises:
            RewardMachineError: This process was forked from one with environments. Programs would wait in it for
                threads that only the other process has.
        """
        if os.getpid() != _process_of_jax():
            raise RewardMachineError(
                "JAX cannot go on in a forked process: with vectorization_mode='async', give "
                "vector_kwargs={'context': 'spawn'} (or leave the mode out, for one compiled batch)"
            )
        return compiled_programs(self.scenario.environment, self.scenario.max_steps)

    def _spaces(self) -> tuple[gymnasium.spaces.Box, gymnasium.spaces.Discrete]:
        """The observations and the actions of one episode."""
        environment = self.scenario.environment
        low, high = environment.observation_bounds
        observations = gymnasium.spaces.Box(low, high, environment.observation_shape, np.float32)
        return observations, gymnasium.spaces.Discrete(environment.actions)

    def _checked_instance(self, instance: int) -> int:
        count = len(self.scenario.instances)
        if not 0 <= instance < count:
            raise RewardMachineError(f"there is no instance {instance}: they are 0 to {count - 1}")
        return int(instance)

    def _label(self, bits: Words) -> Label:
        """The propositions whose bits are set. Each label is decoded once: few of them ever occur."""
        known = self._labels.get(key := bits.tobytes())
        if known is None:
            known = self._labels[key] = self.scenario.environment.bits.decode(bits)
        return known


@cache
def _process_of_jax() -> int:
    """The process in which the first environment was made. Processes that are forked from it remember it, too."""
    return os.getpid()


def _hierarchy(scenario: Scenario, task: str | Hierarchy | None) -> Hierarchy:
    if isinstance(task, Hierarchy):
        return task
    return scenario.task(scenario.domain.default_task if task is None else task)


def _checked_mode(mode: str | None, modes: Sequence[str]) -> str | None:
    if mode is not None and mode not in modes:
        raise RewardMachineError(f"render_mode is one of {', '.join(modes)}, not '{mode}'")
    return mode
