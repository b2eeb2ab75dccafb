"""The worlds of tasks in Gymnasium environments of one's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import jax.numpy as jnp
import numpy as np

from rewardmachines.agents.gymnasium.environments import Environments, Numbers, check_longest
from rewardmachines.agents.gymnasium.episode_records import are_playable
from rewardmachines.agents.gymnasium.observations import Encode
from rewardmachines.agents.gymnasium.senses import Senses, senses_of
from rewardmachines.agents.hierarchical_dqn.agent import HierarchicalAgent
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs.gymnasium.checks.making import make_checked
from rewardmachines.envs.gymnasium.checks.single import CheckedEnv
from rewardmachines.lhrm.config import LhrmConfig
from rewardmachines.lhrm.interaction import Stepper
from rewardmachines.lhrm.machine_pool import ranked
from rewardmachines.lhrm.worlds.gymnasium.dead_ends import DeadEnds, Sight
from rewardmachines.lhrm.worlds.gymnasium.driver import GymnasiumDriver
from rewardmachines.lhrm.worlds.gymnasium.evaluation import Evaluation
from rewardmachines.lhrm.worlds.gymnasium.programs import compiled_programs
from rewardmachines.lhrm.worlds.gymnasium.records import SightRecord, WorldsRecord
from rewardmachines.lhrm.worlds.gymnasium.tasks import GymTask, check_names
from rewardmachines.runs.random_state import set_state, state_text


class GymnasiumWorlds:
    """Tasks in Gymnasium environments, which keep their state to themselves: a run replays episodes to go on with them.

    Environments belong to the worlds, not to a driver: all drivers for equally many environments get the same ones.
    Each is made when it is first needed, and stays open until the worlds are closed. So are those for evaluations,
    which are used for nothing else.
    """

    def __init__(
        self, tasks: Sequence[GymTask], *, encode: Encode | None = None, max_steps: int = 1000, seed: int = 0
    ) -> None:
        """Makes an environment of each task once, to see what they have in common.

        Args:
            tasks: What is to be learned.
            encode: Makes an array of an observation that is none; or `"channels-first"`, for pictures.
            max_steps: After which an episode is cut off.
            seed: Of the environments, and of the tasks and instances that are drawn.

        Raises:
            RewardMachineError: There is no task, two have the same name, or their environments do not fit together.
        """
        check_names(tasks)
        check_longest(max_steps)
        self.tasks = ranked({task.name: task.level for task in tasks})
        named = {task.name: task for task in tasks}
        self.gym_tasks = tuple(named[task.name] for task in self.tasks)
        self.max_steps, self.seed = max_steps, seed
        self.senses = self._checked(encode)
        self.propositions = self.senses.propositions
        self.instances = self.curriculum_instances = max(task.instances or 1 for task in tasks)
        self.world = jnp.int32(0)
        self.shape = self.senses.reading.shape
        self.actions = int(self.senses.actions.n)
        self.dead_ends = DeadEnds()
        self._chance = np.random.default_rng([seed, 1])
        self._environments: dict[int, Environments] = {}
        """By how many there are."""
        self._evaluation = Evaluation(
            self.gym_tasks, self.instances, lambda count: self.make_environments(count, seed + 1)
        )

    def _checked(self, encode: Encode | None) -> Senses:
        envs = list[CheckedEnv]()
        try:
            for task in self.gym_tasks:  # those that were made are closed, come what may
                envs.append(make_checked(task.make_env, task=task.name))
            return senses_of(self.gym_tasks, envs, encode)
        finally:
            for env in envs:
                env.close()

    @property
    def dependencies(self) -> Mapping[str, tuple[str, ...]]:
        """Nothing: what the tasks of these environments are made of is not known."""
        return {}

    @property
    def cut_off(self) -> int:
        """How many episodes were cut off by a limit of steps since the worlds were made."""
        return sum(environments.cut_off for environments in self._environments.values())

    def driver(self, config: LhrmConfig, depth: int) -> GymnasiumDriver:
        count = config.agent.environments
        if count not in self._environments:
            self._environments[count] = self.make_environments(count, self.seed)
        agent = HierarchicalAgent(config.agent, self.shape, self.actions, depth, self.senses.reading.recall)
        return GymnasiumDriver(
            programs=compiled_programs(Stepper(agent, self.max_steps, config.patience, config.digressions)),
            environments=self._environments[count],
            evaluation=self._evaluation,
            dead_ends=self.dead_ends,
            tasks=tuple(task.name for task in self.tasks),
            instances=self.instances,
            chance=self._chance,
        )

    def make_environments(self, count: int, seed: int) -> Environments:
        """So many environments side by side; none is opened yet."""
        return Environments(self.gym_tasks, self.senses, count, self.max_steps, seed)

    # -- what is kept of a run

    def record(self) -> WorldsRecord:
        """All that changes here, between two chunks of a run that has begun."""
        (environments,) = self._environments.values()
        return WorldsRecord(
            chance=state_text(self._chance),
            episodes=environments.records(),
            evaluations=self._evaluation.begun,
            sights=tuple(
                SightRecord(task, tuple(sorted(label)), what.value, times)
                for (task, label, what), times in self.dead_ends.counts.items()
            ),
        )

    def restore(self, record: WorldsRecord, where: str) -> Numbers:
        """Goes back to where a record was made. Episodes are replayed.

        Args:
            record: The record.
            where: The text with which error messages begin.

        Returns:
            A mask [N] of the environments whose episodes could not be replayed. They must begin others.

        Raises:
            RewardMachineError: The record is damaged, or belongs to another run.
        """
        (environments,) = self._environments.values()
        self._check(record, where)
        set_state(self._chance, record.chance, where)
        self._evaluation.begun = record.evaluations
        for sight in record.sights:
            self.dead_ends.see(sight.task, frozenset(sight.label), Sight(sight.sight), sight.times)
        self.dead_ends.news()  # was reported before
        return environments.replay(record.episodes)

    def _check(self, record: WorldsRecord, where: str) -> None:
        (environments,) = self._environments.values()
        counts = len(environments.task), len(self._evaluation.begun)
        if (
            (len(record.episodes), len(record.evaluations)) != counts
            or not are_playable(record.episodes, tasks=len(self.tasks), actions=self.actions)
            or not {sight.sight for sight in record.sights} <= {sight.value for sight in Sight}
        ):
            raise RewardMachineError(f"{where}: damaged, its episodes are not those of the run")

    def close(self) -> None:
        """Closes all environments. A driver that goes on begins its next episodes in new ones."""
        self._evaluation.close()
        for environments in self._environments.values():
            environments.close()
