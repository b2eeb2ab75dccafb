"""The config of a run: its tasks, place, agent and settings, and the limits at which it ends.

A run follows from its `RunConfig` on any computer: equal ones give equal metrics. It is written to `config.json`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from rewardmachines.agents.registry import agent_kind
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.formula import Label
from rewardmachines.envs.domain import BASE_SEED, INSTANCES, PUBLISHED
from rewardmachines.envs.episodes import MAX_STEPS
from rewardmachines.envs.noise import NO_NOISE, WorldNoise
from rewardmachines.envs.registry import domain as find_domain
from rewardmachines.envs.scenarios import Scenario, scenario
from rewardmachines.files.writing import file_name
from rewardmachines.lhrm.config import Callables, LhrmConfig
from rewardmachines.library import domain_names
from rewardmachines.rollout.gym_driver import MakeEnv
from rewardmachines.rollout.gym_environments import EPISODES, check_longest
from rewardmachines.rollout.interface import Interface
from rewardmachines.rollout.suite import TaskSpec, ranked
from rewardmachines.runs.gym_makers import maker_of
from rewardmachines.runs.kinds import algorithm_kind
from rewardmachines.runs.seeds import check_seed
from rewardmachines.runs.stopping import RunBudget

HIERARCHICAL: Final = "hrl"
"""The agent that LHRM trains."""
LONGEST_NAME: Final = 200
"""Characters that the name of a task may have as part of the names of files."""


@dataclass(frozen=True)
class DomainPlace:
    """A domain in one of its settings, with instances."""

    domain: str
    setting: str
    instances: int = INSTANCES
    """The number of instances that policies are evaluated in, and trained in unless there are fresh ones."""
    instance_seed: int = BASE_SEED
    """The seed of the first instance; further instances have the seeds that follow."""
    fresh: int = 0
    """The number of further instances, drawn with the seed of the first, that policies are trained in. Those above are
    held out then, and their mean return decides on levels and on the end. With 0, those above are trained in, as in the
    paper."""
    max_steps: int = MAX_STEPS
    """Steps after which an episode is truncated."""
    noise: WorldNoise = NO_NOISE
    """The noise of labels and outcomes while machines are learned. Greedy episodes are without noise."""

    def __post_init__(self) -> None:
        if self.instances < 1 or self.max_steps < 1:
            message = f"not {self.instances} and {self.max_steps}"
            raise RewardMachineError(f"at least one instance and one step are needed, {message}")
        if self.fresh < 0:
            raise RewardMachineError(f"fresh instances are drawn in some number, not {self.fresh}")

    @property
    def title(self) -> str:
        """The domain and its setting, for people. A domain that is not registered here is called by its name."""
        known = next((find_domain(name).title for name in domain_names() if name == self.domain), self.domain)
        return f"{known} {self.setting.upper()}"

    def scenario(self, observation: str) -> Scenario:
        """The domain in its setting, with its instances; `observation` is the name of what agents see."""
        return scenario(
            self.domain,
            self.setting,
            seed=self.instance_seed,
            instances=self.instances,
            observation=observation,
            max_steps=self.max_steps,
            fresh=self.fresh,
            noise=self.noise,
        )

    def levels(self, tasks: Iterable[str]) -> dict[str, int]:
        """The heights of the true hierarchies of tasks, which are their levels in the curriculum."""
        known = find_domain(self.domain)
        dead_ends = known.settings[known.setting_name(self.setting)].dead_ends
        return {name: known.hierarchy(name, dead_ends=dead_ends).height for name in tasks}

    def with_instances(self, instances: int | None = None, instance_seed: int | None = None) -> DomainPlace:
        """The place with other instances to be evaluated in, and none to be trained in."""
        return replace(
            self,
            instances=self.instances if instances is None else instances,
            instance_seed=self.instance_seed if instance_seed is None else instance_seed,
            fresh=0,
        )


@dataclass(frozen=True)
class GymEnvRecord:
    """The environment of a task by the name of the function that makes it."""

    task: str
    level: int
    instances: int | None
    """The number of fixed beginnings: instance i is what `reset(seed=i)` leads to. None for any beginning."""
    env: str | None
    """The name of the function that makes the environment, `module:function`, or its id of Gymnasium; None if it has
    none."""


@dataclass(frozen=True)
class GymPlace:
    """Gymnasium environments, one for each task. A policy acts without them; to go on with the run, they are needed."""

    environments: tuple[GymEnvRecord, ...]
    """The environments, lowest level first."""
    interface: Interface
    """The interface of policies: propositions, actions and observations."""
    labels: tuple[tuple[str, ...], ...] | None = None
    """The labels that can be seen; None for all combinations of propositions."""
    max_steps: int = MAX_STEPS
    """Steps after which an episode is truncated."""
    is_vector: bool = False
    """Whether a vector environment is stepped as a whole, in place of environments that are begun one by one."""

    def __post_init__(self) -> None:
        check_longest(self.max_steps)
        for record in self.environments:
            if record.instances is not None and record.instances < 1:
                raise RewardMachineError(f"at least one instance, not {record.instances}; or None, for any beginning")

    @property
    def instances(self) -> int:
        """The number of returns of each task in a row: one for each instance."""
        return max(record.instances or 1 for record in self.environments)

    @property
    def title(self) -> str:
        """The environments, for people."""
        names = dict.fromkeys(record.env or "an environment of Python" for record in self.environments)
        return ", ".join(names)

    @property
    def seen(self) -> tuple[Label, ...] | None:
        """The labels that can be seen."""
        return None if self.labels is None else tuple(map(frozenset, self.labels))

    def make_env(self, task: str, where: str) -> MakeEnv:
        """The function that makes the environment of a task. The module that is named is imported for it.

        Args:
            task: The name of the task.
            where: The text with which error messages begin.

        Raises:
            RewardMachineError: The function has no name, or cannot be found by it.
        """
        name = next(record.env for record in self.environments if record.task == task)
        if name is None:
            raise RewardMachineError(
                f"{where}: the environment of '{task}' was given as an object that cannot be found again by a name "
                "(module:function): from Python, give it again, or act with run.policy(...)"
            )
        return maker_of(name, f"the environment of '{task}'")

    @property
    def greedy_episodes(self) -> int:
        """The number of greedy episodes of a task in an evaluation."""
        return max(record.instances or EPISODES for record in self.environments)

    @property
    def names(self) -> dict[str, str | None]:
        """The names of the functions that make environments, by task."""
        return {record.task: record.env for record in self.environments}

    def with_names_of(self, other: GymPlace) -> GymPlace:
        """The place with names of another where this one has none: the same objects may be found by them."""
        encoder = self.interface.observations.encoder or other.interface.observations.encoder
        return self._named({name: env or other.names.get(name) for name, env in self.names.items()}, encoder)

    def without_names_unknown_to(self, other: GymPlace) -> GymPlace:
        """The place without names of functions that another has without names: they may be given again as objects."""
        encoder = self.interface.observations.encoder if other.interface.observations.encoder is not None else None
        known = {name: env for name, env in self.names.items() if other.names.get(name, env) is not None}
        return self._named(known, encoder)

    def _named(self, names: Mapping[str, str | None], encoder: str | None) -> GymPlace:
        records = tuple(replace(record, env=names.get(record.task)) for record in self.environments)
        observations = replace(self.interface.observations, encoder=encoder)
        return replace(self, environments=records, interface=replace(self.interface, observations=observations))


@dataclass(frozen=True)
class RunConfig:
    """The complete order to train or to learn."""

    tasks: tuple[str, ...]
    """The names of the tasks, lowest level first, which is their order in rows."""
    domain: DomainPlace | None
    """The domain and its setting, for a run in a domain."""
    gym: GymPlace | None
    """The environments, for a run in Gymnasium environments."""
    learner: str | None
    """The name of the learner of machines; None where the hierarchies of tasks are given."""
    agent: str
    """The name of the agent, such as `hrl`."""
    settings: Any
    """The settings: those of LHRM where machines are learned, otherwise those of the agent; or of another algorithm."""
    seed: int = 0
    bank: str | None = None
    """The digest of the bank of skills that the run begins with, if there is one."""
    trains_bank: bool = False
    """Whether the policies of the bank are trained further. Otherwise they are frozen."""
    budget: RunBudget = field(default_factory=RunBudget)
    """The limits of the run."""
    stop_at: float = 0.0
    """The mean return in three consecutive evaluations with which the run ends, once all tasks have it; 0 for never."""

    def __post_init__(self) -> None:
        check_seed(self.seed)
        self._check_tasks()
        if (self.domain is None) == (self.gym is None):
            raise RewardMachineError("a run takes place in a domain, or in Gymnasium environments")
        if self.trains_bank and self.bank is None:
            raise RewardMachineError("there is no bank of skills to be trained further")
        if not isinstance(self.settings, self.settings_type(self.agent, self.learner)):
            wanted, given = self.settings_type(self.agent, self.learner).__name__, type(self.settings).__name__
            raise RewardMachineError(f"the settings of {self.agent} are a {wanted}, not a {given}")
        if not 0 <= self.stop_at <= 1:
            raise RewardMachineError(f"a return that is good enough lies between 0 and 1, not {self.stop_at:g}")
        if not self.stop_at and not self.budget.is_limited:
            raise RewardMachineError(
                "it would never end: say how many steps, episodes or seconds it may take, or what to stop at"
            )

    def _check_tasks(self) -> None:
        if not self.tasks:
            raise RewardMachineError("there is no task to learn")
        if twice := next((name for name in self.tasks if self.tasks.count(name) > 1), None):
            raise RewardMachineError(f"the task '{twice}' is there twice")
        if long := next((name for name in self.tasks if len(file_name(name)) > LONGEST_NAME), None):
            raise RewardMachineError(f"the name of the task '{long[:20]}...' is too long for files: give it another")
        if self.learns_machines and self.trains_policies and self.agent != HIERARCHICAL:
            raise RewardMachineError(f"machines are learned with the agent {HIERARCHICAL}, not with '{self.agent}'")
        if not self.learns_machines and len(self.tasks) > 1:
            raise RewardMachineError(f"hierarchies are given for one task, not for {len(self.tasks)}")
        if self.gym is not None and [record.task for record in self.gym.environments] != [*self.tasks]:
            raise RewardMachineError("there is an environment for each task, and no other")

    @staticmethod
    def settings_type(agent: str, learner: str | None) -> type[Any]:
        """The class of the settings of a run."""
        if learner is not None and (kind := algorithm_kind(agent)) is not None:
            return kind.settings(learner)
        return LhrmConfig if learner is not None else agent_kind(agent).config

    @staticmethod
    def field_types(plain: Mapping[str, Any]) -> Mapping[str, Any]:
        """The types of fields that depend on other fields."""
        if not isinstance(plain["agent"], str):
            return {}
        return {"settings": RunConfig.settings_type(plain["agent"], plain["learner"])}

    @property
    def learns_machines(self) -> bool:
        """Whether machines are learned; otherwise hierarchies are given."""
        return self.learner is not None

    @property
    def place(self) -> DomainPlace | GymPlace:
        """The place of the run: a domain or Gymnasium environments."""
        place = self.domain or self.gym
        assert place is not None
        return place

    def scenario(self) -> Scenario | None:
        """The domain in its setting, with its instances; None in Gymnasium environments."""
        if self.domain is None:
            return None
        return self.domain.scenario(self.agent_settings.observation if self.trains_policies else PUBLISHED)

    @property
    def ranked_tasks(self) -> tuple[TaskSpec, ...]:
        """The tasks with their levels in the curriculum; 1 where hierarchies are given."""
        if isinstance(place := self.place, GymPlace):
            return ranked({record.task: record.level for record in place.environments})
        is_lhrm = self.learns_machines and self.trains_policies
        is_flat = not is_lhrm or self.settings.callables is Callables.NONE
        return ranked(dict.fromkeys(self.tasks, 1) if is_flat else place.levels(self.tasks))

    @property
    def trains_policies(self) -> bool:
        """Whether an agent is trained, by training or by LHRM."""
        return algorithm_kind(self.agent) is None

    @property
    def agent_settings(self) -> Any:
        """The settings of the agent that is trained."""
        return self.settings.agent if self.learns_machines else self.settings

    @property
    def task(self) -> str:
        """The first task, which is the only one where its hierarchy is given."""
        return self.tasks[0]

    @property
    def algorithm(self) -> str:
        """The algorithm, for people: LHRM, with its learner of machines if that is not the exact one, or the agent."""
        if not self.learns_machines:
            return self.agent
        if not self.trains_policies:
            return str(self.learner)
        return "LHRM" if self.learner == "exact" else f"LHRM ({self.learner})"

    @property
    def title(self) -> str:
        """The run in a line, for people."""
        tasks = f"{len(self.tasks)} tasks" if len(self.tasks) > 1 else self.task
        return f"{self.place.title} · {tasks} · {self.algorithm} · seed {self.seed}"
