"""A run in memory, made of its config: the suite of tasks, and the algorithm that trains or learns there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from rewardmachines.agents.bank.bank import Bank, BankInterface
from rewardmachines.agents.hierarchical_dqn.config import HierarchicalDqnConfig, for_evaluation
from rewardmachines.agents.registry import agent_kind
from rewardmachines.agents.replay import without_memories
from rewardmachines.agents.setup import GivenBank, Plan, labels_of, looks_ahead, prepare
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.envs.gymnasium.checked_envs import AnyVectorEnv
from rewardmachines.envs.scenarios import Scenario
from rewardmachines.files.records import from_plain, to_plain
from rewardmachines.learning import Solvers
from rewardmachines.lhrm.algorithm import Lhrm
from rewardmachines.lhrm.config import Callables
from rewardmachines.lhrm.learners import MachineLearner
from rewardmachines.rollout.algorithm import Algorithm, ChunkedRun
from rewardmachines.rollout.gym_driver import GymSuite, GymTask, MakeEnv
from rewardmachines.rollout.gym_environments import ReplayWarning, lost_episodes
from rewardmachines.rollout.interface import Encode
from rewardmachines.rollout.jax_driver import JaxSuite
from rewardmachines.rollout.policy import Policy
from rewardmachines.rollout.suite import TaskSuite
from rewardmachines.rollout.training import Training
from rewardmachines.rollout.vector_environments import VectorSuite
from rewardmachines.runs.config import GymPlace, RunConfig
from rewardmachines.runs.kinds import algorithm_kind
from rewardmachines.runs.messages import warn_user


@dataclass(frozen=True)
class HostState:
    """All of the state of a run that is not on the device."""

    algorithm: dict[str, Any]
    """That of the algorithm, as the plain values of its `state_type`."""
    suite: Any
    """That of the environments, as plain values; None if all of it is on the device."""
    best: float | None
    """The highest mean return of an evaluation so far, whose policies were saved."""


@dataclass(frozen=True)
class Given:
    """Objects that a config only names, or that cannot be written to a file."""

    envs: Mapping[str, MakeEnv] | None = None
    """The function that makes the environment of each task; those that the config names, if not given."""
    vector: AnyVectorEnv | None = None
    """The vector environment that is stepped as it is, if one is."""
    encode: Encode | None = None
    """The function that encodes observations; that of the config, if not given."""
    learner: MachineLearner | None = None
    """The learner of machines; that of the config, if not given."""
    bank: Bank | None = None
    """The bank of skills whose digest the config has."""


class Session:
    """The suite of tasks of a run, and the algorithm that trains or learns there."""

    def __init__(
        self,
        config: RunConfig,
        hierarchies: Mapping[str, Hierarchy],
        given: Given,
        solvers: Solvers | None = None,
        *,
        where: str = "the run",
    ) -> None:
        """Prepares everything, so that mistakes are found before anything is written. No step is taken.

        Args:
            config: The config of the run.
            hierarchies: The hierarchies of tasks, where they are given.
            given: Objects that the config only names.
            solvers: The solvers of the exact learner of machines; a run that is only looked at needs none.
            where: The text with which error messages begin.

        Raises:
            RewardMachineError: Hierarchies, bank, environments and settings do not fit together.
        """
        self.config, self.hierarchies, self.given, self.where = config, dict(hierarchies), given, where
        self.scenario = config.scenario()
        """The domain in its setting, with its instances; None in Gymnasium environments."""
        self.suite = suite_of(config, self.scenario, self.hierarchies, given, where)
        self.best: float | None = None
        self.algorithm: ChunkedRun
        """The run in memory."""
        if (other := algorithm_kind(config.agent)) is not None:
            self.algorithm = other.make(config, self.scenario)
            return
        if config.learns_machines:
            bank = given.bank
            if bank is not None:
                self._check_bank(bank)
            self.algorithm = Lhrm(
                self.suite,
                config.settings,
                solvers or Solvers(),
                seed=config.seed,
                learner=given.learner,
                bank=bank,
                episodes=config.budget.episodes,
            )
            return
        kind = agent_kind(config.agent)
        self.algorithm = Training(
            self.suite, kind, self._plan(), config.settings, seed=config.seed, episodes=config.budget.episodes
        )

    def _plan(self) -> Plan:
        """The hierarchy of the task as the agent uses it."""
        config, kind = self.config, agent_kind(self.config.agent)
        hierarchy = self.hierarchies[config.task]
        bank = None
        if self.given.bank is not None:
            self._check_bank(self.given.bank)
            bank = GivenBank(self.given.bank, config.trains_bank)
        seen, where = None if config.gym is None else config.gym.seen, "the environment"
        if self.scenario is not None:
            seen, where = labels_of(self.scenario), config.place.title
        ahead = looks_ahead(config.settings)
        return prepare(hierarchy, kind, self.suite.propositions, seen, where, looks_ahead=ahead, given=bank)

    def _check_bank(self, bank: Bank) -> None:
        """Checks that policies of a bank can act where the run takes place.

        Raises:
            RewardMachineError: They cannot; the message names what differs.
        """
        if self.scenario is None:
            raise RewardMachineError("a bank of skills was learned in a domain: it cannot be used elsewhere")
        agent = self.config.agent_settings
        bank.check_interface(BankInterface.of(self.scenario, agent.observation), self.config.place.title)
        bank.check_config(agent)

    @property
    def trained(self) -> Algorithm:
        """The algorithm, which trains policies.

        Raises:
            RewardMachineError: It trains none.
        """
        if isinstance(self.algorithm, Algorithm):
            return self.algorithm
        raise RewardMachineError(f"{self.where}: {self.config.learner} learns a machine, and no policies")

    @property
    def lhrm(self) -> Lhrm | None:
        """LHRM, if it is the algorithm."""
        return self.algorithm if isinstance(self.algorithm, Lhrm) else None

    @property
    def tasks(self) -> tuple[str, ...]:
        """The names of the tasks, lowest level first, which is their order in rows."""
        return self.algorithm.tasks

    def close(self) -> None:
        """Closes the environments, if they must be, and ends the processes of the algorithm."""
        self.algorithm.close()
        self.suite.close()

    # -- the state

    def host_state(self) -> HostState:
        """The state of the run that is not on the device, between two chunks."""
        return replace(self.algorithm_state(), suite=self.suite.record())

    def algorithm_state(self) -> HostState:
        """The state of the algorithm alone, without that of the environments."""
        return HostState(to_plain(self.algorithm.host_state()), None, self.best)

    def device_state(self) -> Any:
        """The state of the run on the device; nothing, if the algorithm trains no policies."""
        return self.trained.state if self.config.trains_policies else {}

    def restore_algorithm(self, state: HostState, where: str) -> None:
        """Restores the state of the algorithm alone, as it is enough to look at what was learned.

        Raises:
            RewardMachineError: The state is damaged, or belongs to another run.
        """
        run = self.algorithm
        run.restore(from_plain(run.state_type, state.algorithm, where), where)
        self.best = state.best

    def restore(self, state: HostState, arrays: Callable[[Any], Any], where: str) -> None:
        """Restores all of the state. Episodes in Gymnasium environments are replayed.

        Args:
            state: The state that is not on the device.
            arrays: Reads the state on the device, given its shapes.
            where: The text with which error messages begin.

        Raises:
            RewardMachineError: The state is damaged, or belongs to another run.
        """
        self.restore_algorithm(state, where)
        if not self.config.trains_policies or self.trained.is_stuck:
            return  # there are no arrays to restore
        run = self.trained
        tables, driver = run.tables, run.driver
        is_lost = self.suite.restore(state.suite, where)
        run.state = arrays(run.state_shapes)
        if is_lost is not None and is_lost.any():
            warn_user(lost_episodes(is_lost), ReplayWarning)
            run.state = driver.restart(tables, run.state, is_lost)

    # -- policies

    def acting_shapes(self) -> Any:
        """The shapes of the agent's state without its replay memories, which are not needed to act."""
        return without_memories(self.trained.state_shapes.agent)

    def policy(self, task: str, learned: Any) -> Policy:
        """The greedy policy of a task.

        Args:
            task: The name of the task.
            learned: The networks of the agent.

        Raises:
            RewardMachineError: The task has no machine yet.
        """
        run = self.trained
        agent = run.driver.interaction.agent
        return Policy(agent, learned, run.tables.task, run.followed(task), self.suite.encoding)


def suite_of(
    config: RunConfig, scenario: Scenario | None, hierarchies: Mapping[str, Hierarchy], given: Given, where: str
) -> TaskSuite:  # fmt: skip
    """The suite of tasks of a run. No Gymnasium environment is made, and no module imported, before one is needed.

    Args:
        config: The config of the run.
        scenario: The scenario of the config, if it takes place in a domain.
        hierarchies: The hierarchies of tasks, where they are given.
        given: Environments, and the function that encodes observations.
        where: The text with which error messages begin.
    """
    if scenario is None:
        assert config.gym is not None
        return gym_suite(config.gym, hierarchies, given, config.seed, where)
    is_flat = config.learns_machines and (not config.trains_policies or config.settings.callables is Callables.NONE)
    make: Callable[..., TaskSuite] = scenario.domain.suite or JaxSuite
    return make(scenario, config.tasks, flat=is_flat, given=not config.learns_machines)


def gym_suite(
    place: GymPlace, hierarchies: Mapping[str, Hierarchy], given: Given, seed: int, where: str
) -> GymSuite:  # fmt: skip
    """The suite of tasks in Gymnasium environments, as a config describes it. Arguments as for `suite_of`."""
    envs = given.envs or {}

    def maker(task: str) -> MakeEnv:
        def make(**options: Any) -> Any:  # imported only when an environment is made
            return (envs.get(task) or place.make_env(task, where))(**options)

        return make

    tasks = [
        GymTask(record.task, record.level, maker(record.task), record.instances, hierarchies.get(record.task))
        for record in place.environments
    ]
    interface = place.interface
    if given.encode is not None or not interface.observations.is_encoded:
        interface = interface.with_encode(given.encode)
    if given.vector is not None:
        return VectorSuite(given.vector, tasks[0], seed=seed, interface=interface, labels=place.seen)
    return GymSuite(tasks, max_steps=place.max_steps, seed=seed, interface=interface, labels=place.seen)


def evaluated_config(config: RunConfig, instances: int | None, instance_seed: int | None) -> RunConfig:
    """The config of a run whose greedy episodes have their full length, in other instances of its domain.

    Args:
        config: The config of the run.
        instances: The number of instances; as many as the run was evaluated in, if not given.
        instance_seed: The seed of the first; that of the run, if not given.

    Raises:
        RewardMachineError: Gymnasium environments have no other instances.
    """
    if config.domain is None:
        if instances is not None or instance_seed is not None:
            raise RewardMachineError("Gymnasium environments have the instances that they were trained in, no others")
        episodes, changed = config.place.greedy_episodes * len(config.tasks), config  # type: ignore[union-attr]
    else:
        place = config.domain.with_instances(instances, instance_seed)
        episodes, changed = len(config.tasks) * place.instances, replace(config, domain=place)
    agent = config.agent_settings
    if isinstance(agent, HierarchicalDqnConfig):
        agent = for_evaluation(agent, episodes)
    else:
        agent = replace(agent, evaluate_steps=None)
    settings = replace(config.settings, agent=agent) if config.learns_machines else agent
    return replace(changed, settings=settings)
