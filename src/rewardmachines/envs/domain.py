"""A domain as one value: everything that the package needs to know of it, from its tasks to its keys.

Whoever adds a domain makes one `Domain` and registers it (`rewardmachines.envs.registry`); no other file knows it by
name. How large agents are is plain data here, names and values, because domains know nothing of agents.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy, suggestion
from rewardmachines.envs.interface import AnyEnvironment
from rewardmachines.library import TaskSet

INSTANCES: Final = 10
"""How many instances there are in a run of the paper."""
BASE_SEED: Final = 25101993
"""The seed of the first instance of the paper's first run."""
PUBLISHED: Final = "published"
"""The observation of an environment unless another is asked for."""

Overrides = Mapping[str, Any]
"""Settings of an agent by name, such as `{"batch": 64, "network.hidden": (128,)}`."""
Pixels = np.ndarray[Any, np.dtype[np.uint8]]
"""Red, green and blue of every pixel: height by width by 3."""


@dataclass(frozen=True)
class Sizes:
    """What a preset changes for a setting, compared with what it is for any domain."""

    agent: Overrides = field(default_factory=dict)
    """Changes for every agent: fields of `rewardmachines.agents.hierarchical_dqn.config.HierarchicalDqnConfig`. Of
    these, CRM takes those that it has."""
    crm: Overrides = field(default_factory=dict)
    """Changes for CRM, applied after those for every agent: fields of `rewardmachines.agents.crm.config.CrmConfig`."""
    lhrm: Overrides = field(default_factory=dict)
    """Changes for agents that learn with LHRM, applied after those for every agent."""


@dataclass(frozen=True)
class FreshSizes:
    """How agents learn to act in any instance: every episode takes place in one of very many that are drawn."""

    drawn: int = 16_384
    """How many instances are drawn to be trained on."""
    held_out: int = 64
    """How many others are evaluated, on which nobody is trained."""
    solved_return: float = 0.95
    """The mean return of a task in the instances that are held out, over three evaluations, with which it is
    learned."""
    sizes: Sizes = field(default_factory=Sizes)
    """What changes then, compared with the preset, where there is a GPU."""
    few_cores: Sizes | None = None
    """What changes on a computer without a GPU; the same, if not given."""

    def sizes_on(self, device: str) -> Sizes:
        """What changes on a device by its name in JAX, such as `cpu`."""
        return self.few_cores if device == "cpu" and self.few_cores is not None else self.sizes


@dataclass(frozen=True)
class DomainSetting:
    """One of the forms that a domain comes in, such as open plan with lava."""

    description: str
    dead_ends: bool = False
    """Whether the proposition of dead ends can be observed."""
    episodes: int = 100_000
    """How many episodes a policy is trained for with the preset `paper`, if nothing else is asked for."""
    paper: Sizes = field(default_factory=Sizes)
    """What the preset `paper` changes."""
    fast: Sizes = field(default_factory=Sizes)
    """What the preset `fast` changes."""
    fresh: FreshSizes = field(default_factory=FreshSizes)
    """How agents learn in fresh instances."""
    confirm_episodes: int = 300
    """The episodes of a task that must not refute its machine before the next level of LHRM begins, or a run ends: the
    rarer the labels that tell machines apart, the more."""


@dataclass(frozen=True)
class Keys:
    """How people act in a terminal."""

    actions: Mapping[str, int]
    """Numbers of actions by keys: letters, a space, and `left`, `right`, `up`, `down` for the arrows."""
    help: str
    """Which key does what, in one line."""


@dataclass(frozen=True)
class Guide:
    """Someone who knows the way to each proposition, to record traces that reach goals."""

    ways: Callable[[Any], np.ndarray[Any, np.dtype[np.int8]]]
    """Makes the table of ways of an instance. The tables of all instances of a setting have one shape."""
    action: Callable[[Any, Any, Any], Any]
    """The action that leads towards a proposition, or −1 where the proposition is true already or cannot be reached.
    Its arguments are the tables of all instances, stacked, a state, and the proposition's number; it is compiled."""


@dataclass(frozen=True)
class Domain:
    """A domain: its tasks, its settings, how to act in it, and how to look at it."""

    task_set: TaskSet
    """The name, the title, the propositions, and the tasks as text."""
    settings: Mapping[str, DomainSetting]
    """The settings by their names, in lower case; the first is the default."""
    environment: Callable[[str, str], AnyEnvironment]
    """Makes the environment of a setting, with an observation by name. Equal arguments must give equal environments, so
    that nothing is compiled twice."""
    instances: Callable[[str, int, int], Sequence[Any]]
    """Makes the instances of a setting, from the seed of the first one and their number. What describes an instance is
    up to the domain."""
    world: Callable[[Sequence[Any], int], Any]
    """Makes the arrays that describe these instances, for episodes of at most so many steps, if there are any."""
    draw: Callable[[str, int, int, int], Any] | None = None
    """Draws the world of many instances at once, from the setting, a seed, the number of instances, and the number of
    steps of the longest episodes. It is what `world` makes, for other instances that are as likely as those of
    `instances`. Every leaf of the world has the instances along its first axis, so that worlds can be joined and
    instances replaced. Equal arguments give equal worlds. Without it, fresh instances are made by `instances`."""
    quick_tasks: tuple[str, ...] = ()
    """What `hrm learn --quick` learns: two levels, and a machine that calls another; all tasks if not given."""
    threshold: float = 0.85
    """What every return of a level must exceed before LHRM begins the next."""
    solved_return: float = 0.95
    """The mean return of a task, over three evaluations, with which it is learned."""
    picture: Callable[[Any, Any, Any, int | None], Pixels] | None = None
    """Draws a state, given its instance, the world, the state, and about how many pixels wide and high to draw it."""
    text: Callable[[Any, Any, Any, bool], str] | None = None
    """Writes a state for a terminal; the last argument says whether the text may use colours."""
    legend: Callable[[], Mapping[str, str]] | None = None
    """What the signs of that text mean, by the signs."""
    keys: Keys | None = None
    """How people act; with the digits, if not given."""
    guide: Guide | None = None
    """Who knows the way; nobody, if not given."""
    suite: Callable[..., Any] | None = None
    """Makes the suite of tasks that agents are trained in, with a driver of its own, as
    `rewardmachines.rollout.suite.TaskSuite` describes it. If not given, `rewardmachines.rollout.jax_driver.JaxSuite`,
    which compiles environment and agent as one program, and takes the same arguments."""

    def __post_init__(self) -> None:
        if not self.settings or not self.tasks:
            raise RewardMachineError(f"the domain '{self.name}' needs at least one setting and one task")
        if odd := next((name for name in (self.name, *self.settings) if name != name.casefold()), None):
            raise RewardMachineError(f"names of domains and settings are in lower case, unlike '{odd}'")
        for name in self.quick_tasks:
            self.task_set.task_name(name)

    @property
    def name(self) -> str:
        """What the domain is called in commands and files, in lower case."""
        return self.task_set.name

    @property
    def title(self) -> str:
        """What people call it."""
        return self.task_set.title

    @property
    def tasks(self) -> Mapping[str, str]:
        """Task expressions by the names of the tasks, easy ones first."""
        return self.task_set.tasks

    @property
    def default_setting(self) -> str:
        """The setting that is used if none is asked for."""
        return next(iter(self.settings))

    @property
    def default_task(self) -> str:
        """The first of those that are learned quickly, or of all."""
        return next(iter(self.quick_tasks or self.tasks))

    def task_name(self, name: str) -> str:
        """Our name of a task, which may be given as in the paper and in any case."""
        return self.task_set.task_name(name)

    def hierarchy(self, name: str, *, dead_ends: bool = False) -> Hierarchy:
        """The hierarchy of a task."""
        return self.task_set.hierarchy(name, dead_ends=dead_ends)

    def labels(self, *, dead_ends: bool = False) -> tuple[Label, ...] | None:
        """The labels that can occur; None for all sets of propositions."""
        return self.task_set.labels(dead_ends=dead_ends)

    def setting_name(self, name: str) -> str:
        """Our name of a setting, which may be given in any case.

        Raises:
            RewardMachineError: There is no such setting.
        """
        if name.casefold() not in self.settings:
            hint = suggestion(name.casefold(), self.settings) or f"; there are {', '.join(self.settings)}"
            raise RewardMachineError(f"{self.title} has no setting '{name}'{hint}")
        return name.casefold()
