"""A run in memory, made of its config: the suite of tasks, and the algorithm that trains or learns there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from rewardmachines.agents.bank.bank import Bank, BankInterface
from rewardmachines.agents.hierarchical_dqn.config import HierarchicalDqnConfig, for_evaluation
from rewardmachines.agents.registry import agent_kind
from rewardmachines.agents.replay import without_memories
from rewardmachines.agents.setup import GivenBank, OptionPlan, Plan, labels_of, looks_ahead, prepare
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.envs.domain import PUBLISHED
from rewardmachines.envs.gymnasium.checks.vector import AnyVectorEnv
from rewardmachines.files.records import from_plain, to_plain
from rewardmachines.learning import Solvers
from rewardmachines.lhrm.algorithm import Lhrm
from rewardmachines.lhrm.config import Callables
from rewardmachines.lhrm.learners import MachineLearner
from rewardmachines.rollout.algorithm import ChunkedRun
from rewardmachines.rollout.gym_driver import GymRecord, GymSuite, GymTask, MakeEnv
from rewardmachines.rollout.gym_environments import ReplayWarning, lost_episodes
from rewardmachines.rollout.jax_driver import JaxSuite
from rewardmachines.rollout.observations import Encode
from rewardmachines.rollout.policy import FollowedHierarchy, PlainEncoding, Policy
from rewardmachines.rollout.suite import TaskSuite
from rewardmachines.rollout.training import Training
from rewardmachines.rollout.vector_environments import VectorSuite
from rewardmachines.runs.config import DomainPlace, GymPlace, RunConfig
from rewardmachines.runs.config_file import difference
from rewardmachines.runs.kinds import algorithm_kind
from rewardmachines.runs.messages import warn_user


@dataclass(frozen=True)
class HostState:
    """All of the state of a run that is not on the device."""

    algorithm: dict[str, Any]
    """That of the algorithm, as the plain values of its `state_type`."""
    gym: GymRecord | None
    """That of Gymnasium environments."""
    best: float | None
    """The highest mean return of an evaluation so far, whose policies were kept."""


@dataclass(frozen=True)
class Given:
    """Objects that a config only names, or that cannot be written to a file."""

    envs: Mapping[str, MakeEnv] | None = None
    """The function that makes the environment of each task; those that the config names, if not given."""
    vector: AnyVectorEnv | None = None
    """The vector environment that is stepped as it is, if one is."""
    encode: Encode | None = None
    """The function that encodes observations; the one that the config names, if not given."""
    learner: MachineLearner | None = None
    """The learner of machines; the one that the config names, if not given."""
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
            config: What the run was asked to do.
            hierarchies: The hierarchies of tasks, where they are given.
            given: Objects that the config only names.
            solvers: The solvers of the exact learner of machines; a run that is only looked at needs none.
            where: The text with which error messages begin.

        Raises:
            RewardMachineError: Hierarchies, bank, environments and settings do not fit together.
        """
        self.config, self.hierarchies, self.given, self.where = config, dict(hierarchies), given, where
        self.suite = suite_of(config, self.hierarchies, given, where)
        self.best: float | None = None
        self.algorithm: ChunkedRun
        """The run in memory."""
        if (other := algorithm_kind(config.agent)) is not None:
            self.algorithm = other.make(config, self.suite)
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
        config, place, kind = self.config, self.config.place, agent_kind(self.config.agent)
        hierarchy = self.hierarchies[config.task]
        bank = None
        if self.given.bank is not None:
            self._check_bank(self.given.bank)
            bank = GivenBank(self.given.bank, config.trains_bank)
        seen, where = place.seen if isinstance(place, GymPlace) else None, "the environment"
        if isinstance(self.suite, JaxSuite):
            seen, where = labels_of(self.suite.scenario), place.title
        ahead = looks_ahead(config.settings)
        return prepare(hierarchy, kind, self.suite.propositions, seen, where, looks_ahead=ahead, given=bank)

    def _check_bank(self, bank: Bank) -> None:
        """Checks that policies of a bank can act where the run takes place.

        Raises:
            RewardMachineError: They cannot; the message names what differs.
        """
        if not isinstance(self.suite, JaxSuite) or not isinstance(self.config.place, DomainPlace):
            raise RewardMachineError("a bank of skills was learned in a domain: it cannot be used elsewhere")
        agent = self.config.agent_settings
        bank.check_interface(BankInterface.of(self.suite.scenario, agent.observation), self.config.place.title)
        bank.check_config(agent)

    @property
    def trained(self) -> Training | Lhrm:
        """The algorithm, which trains policies.

        Raises:
            RewardMachineError: It trains none.
        """
        if isinstance(self.algorithm, (Training, Lhrm)):
            return self.algorithm
        raise RewardMachineError(f"{self.where}: {self.config.learner} learns a machine, and no policies")

    @property
    def tasks(self) -> tuple[str, ...]:
        """The names of the tasks, lowest level first, which is their order in rows."""
        return self.algorithm.tasks

    def close(self) -> None:
        """Closes the environments, if they must be, and ends the processes of the algorithm."""
        self.algorithm.close()
        if isinstance(self.suite, GymSuite):
            self.suite.close()

    # -- the state

    def host_state(self) -> HostState:
        """The state of the run that is not on the device, between two chunks."""
        gym = self.suite.record() if isinstance(self.suite, GymSuite) else None
        return replace(self.algorithm_state(), gym=gym)

    def algorithm_state(self) -> HostState:
        """The state of the algorithm alone, without that of Gymnasium environments."""
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
        run = self.algorithm
        if not isinstance(run, (Training, Lhrm)) or (isinstance(run, Lhrm) and run.is_stuck):
            return  # there are no arrays to restore
        is_lost = None
        tables, driver = run.tables, run.driver
        if isinstance(self.suite, GymSuite):
            if state.gym is None:
                raise RewardMachineError(f"{where}: damaged, its episodes are missing")
            is_lost = self.suite.restore(state.gym, where)
        run.state = arrays(self._state_shapes)
        if is_lost is not None and is_lost.any():
            warn_user(lost_episodes(is_lost), ReplayWarning)
            run.state = driver.restart(tables, run.state, is_lost)

    # -- policies

    @property
    def _state_shapes(self) -> Any:
        """The shapes and types of all arrays that change while the agent acts and learns."""
        run = self.trained
        return run.state_shapes if isinstance(run, Training) else run.driver.shapes(run.tables)

    def acting_shapes(self) -> Any:
        """The shapes of the agent's state without its replay memories, which are not needed to act."""
        return without_memories(self._state_shapes.agent)

    def policy(self, task: str, learned: Any) -> Policy:
        """The greedy policy of a task.

        Args:
            task: The name of the task.
            learned: What the agent has learned.

        Raises:
            RewardMachineError: The task has no machine yet.
        """
        run = self.trained
        agent, followed = run.driver.interaction.agent, self._followed(task)
        if isinstance(self.suite, GymSuite):
            interface, codes = self.suite.interface, self.suite.codes
            return Policy(
                agent,
                learned,
                run.tables.task,
                followed,
                GymEncoding(interface.observations.checked, codes.one),
                recall=interface.observations.recall,
                first_action=interface.first_action,
            )
        encoding = PlainEncoding(self.suite.shape, followed.lowered.bits.encode)
        return Policy(agent, learned, run.tables.task, followed, encoding)

    def _followed(self, task: str) -> FollowedHierarchy:
        run = self.trained
        if isinstance(run, Training):
            plan = run.plan
            return FollowedHierarchy(plan.hierarchy, plan.lowered, plan.menu if isinstance(plan, OptionPlan) else None)
        if task not in run.pool.learned:
            raise RewardMachineError(f"nothing can be done about '{task}' yet: there is no machine")
        written = run.written
        hierarchy = Hierarchy(task, written.menu.pool.machines, written.menu.pool.propositions)
        root = written.lowered.machines.index(task)
        return FollowedHierarchy(hierarchy, replace(written.lowered, roots=(root,)), written.menu)


@dataclass(frozen=True)
class GymEncoding:
    """Observations and labels of Gymnasium environments, which are checked."""

    observation: Callable[[Any], Any]
    label: Callable[[Iterable[str]], Any]


def suite_of(config: RunConfig, hierarchies: Mapping[str, Hierarchy], given: Given, where: str) -> TaskSuite:
    """The suite of tasks of a run. No Gymnasium environment is made, and no module imported, before one is needed.

    Args:
        config: What the run was asked to do.
        hierarchies: The hierarchies of tasks, where they are given.
        given: Environments, and the function that encodes observations.
        where: The text with which error messages begin.
    """
    place = config.place
    if isinstance(place, DomainPlace) and not config.trains_policies:
        return JaxSuite(place.scenario(PUBLISHED), config.tasks, flat=True)
    if isinstance(place, DomainPlace):
        scenario = place.scenario(config.agent_settings.observation)
        is_flat = config.learns_machines and config.settings.callables is Callables.NONE
        make = scenario.domain.suite or JaxSuite
        suite: TaskSuite = make(scenario, config.tasks, flat=is_flat, given=not config.learns_machines)
        return suite
    return gym_suite(place, hierarchies, given, config.seed, where)


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
        config: What the run was asked to do.
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


def check_environments(suite: TaskSuite, encode: Encode | None, where: str) -> None:
    """Checks that Gymnasium environments, of which one each is made and closed, are those that a run was begun in.

    Args:
        suite: The tasks, and what the run knows of their environments.
        encode: The function that encodes observations, if there is one.
        where: The text with which error messages begin.

    Raises:
        RewardMachineError: They show or accept something else.
    """
    if isinstance(suite, GymSuite):
        found, expected = suite.looked_at(encode).without_names, suite.interface.without_names
        if differs := difference(found, expected):
            raise RewardMachineError(f"{where}: the run was begun in another environment: {differs}")
