"""What the Gymnasium environments of a scenario have in common, whether they run one episode or many side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import gymnasium
import numpy as np

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.envs.gymnasium.programs import Programs, compiled_programs
from rewardmachines.envs.interface import AnyEnvironment
from rewardmachines.envs.scenario import Scenario


class ScenarioFace:
    """A scenario and the tasks that are done in it, with the compiled functions that training uses, too."""

    metadata: dict[str, Any]

    def _prepare(
        self,
        scenario: Scenario,
        tasks: Iterable[str | Hierarchy | None],
        *,
        instance: int | None,
        render_mode: str | None,
    ) -> None:
        """Lowers the tasks and checks the rest.

        Args:
            scenario: Where to act.
            tasks: Names of tasks, hierarchies, or None for the default task of the domain.
            instance: The instance of all episodes; None for another one each time.
            render_mode: One of those in `metadata`, or None.

        Raises:
            RewardMachineError: There is no such task, instance or mode.
        """
        self.scenario = scenario
        self.hierarchies = tuple(_hierarchy(scenario, task) for task in tasks)
        self.lowered = scenario.lower(self.hierarchies)
        self.render_mode = _checked_mode(render_mode, self.metadata["render_modes"])
        self._fixed_instance = None if instance is None else self._checked_instance(instance)

    @property
    def propositions(self) -> tuple[str, ...]:
        """What can be observed."""
        return self.scenario.environment.propositions

    @property
    def _programs(self) -> Programs:
        """Looked up whenever they are needed, because compiled functions cannot be copied along with an environment."""
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

    def _label(self, bits: Any) -> Label:
        """The propositions whose bits are set."""
        return _decoded(self.scenario.environment, tuple(int(word) for word in np.asarray(bits)))


@cache
def _decoded(environment: AnyEnvironment, bits: tuple[int, ...]) -> Label:
    return environment.bits.decode(bits)


def _hierarchy(scenario: Scenario, task: str | Hierarchy | None) -> Hierarchy:
    if isinstance(task, Hierarchy):
        return task
    return scenario.task(scenario.domain.default_task if task is None else task)


def _checked_mode(mode: str | None, modes: Sequence[str]) -> str | None:
    if mode is not None and mode not in modes:
        raise RewardMachineError(f"render_mode is one of {', '.join(modes)}, not '{mode}'")
    return mode
