"""A domain as one value: tasks, settings, environments, pictures and keys.

A new domain is one `Domain` that is registered (`rewardmachines.envs.registry`); no other file knows it by name. The
settings of agents are plain data here, names and values, because domains know nothing of agents.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources.abc import Traversable
from typing import Any, Final

import numpy as np

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy, suggestion
from rewardmachines.envs.interface import AnyEnvironment
from rewardmachines.library import TaskSet

INSTANCES: Final = 10
"""The number of instances in a run of the paper."""
BASE_SEED: Final = 25101993
"""The seed of the first instance of the paper's first run."""
PUBLISHED: Final = "published"
"""The observation of an environment unless another is asked for."""

Presets = Traversable | Mapping[str, Mapping[str, Any]]
"""A folder of TOML files, or what they would say, as nested mappings by their names without `.toml`.

A file is named after the setting of the domain and the preset: `short-fast.toml`, for fresh instances
`short-fast-fresh.toml`. Without the latter, the former applies to fresh instances, too; without both, `short.toml`, to
all presets. `rewardmachines.agents.presets` says what is in a file."""
Pixels = np.ndarray[Any, np.dtype[np.uint8]]
"""Red, green and blue of every pixel: height by width by 3."""


@dataclass(frozen=True)
class FreshInstances:
    """The instances of agents that learn to act in any: each episode takes place in one of very many that are drawn."""

    drawn: int = 16_384
    """How many instances are drawn to be trained on."""
    held_out: int = 64
    """The number of held-out instances: evaluation takes place in them, training never."""
    solved_return: float = 0.95
    """The mean return of a task in the instances that are held out, over three evaluations, with which it is
    learned."""


@dataclass(frozen=True)
class DomainSetting:
    """One of the forms that a domain comes in, such as open plan with lava."""

    description: str
    dead_ends: bool = False
    """Whether the proposition of dead ends can be observed."""
    episodes: int = 100_000
    """How many episodes a policy is trained for with the preset `paper`, if nothing else is asked for."""
    fresh: FreshInstances = field(default_factory=FreshInstances)
    """The instances of agents that learn to act in any."""


@dataclass(frozen=True)
class Keys:
    """The keyboard of `hrm play`."""

    actions: Mapping[str, int]
    """Numbers of actions by keys: letters, a space, and `left`, `right`, `up`, `down` for the arrows."""
    help: str
    """The help line of the keys."""


@dataclass(frozen=True)
class Guide:
    """A scripted policy that knows a shortest way to each proposition, to record traces that reach goals."""

    ways: Callable[[Any], np.ndarray[Any, np.dtype[np.int8]]]
    """Makes the table of ways of an instance. The tables of all instances of a setting have one shape."""
    action: Callable[[Any, Any, Any], Any]
    """The action that leads towards a proposition, or −1 where the proposition is true already or cannot be reached.
    Its arguments are the tables of all instances, stacked, a state, and the proposition's number; it is compiled."""


@dataclass(frozen=True)
class Domain:
    """A domain: its tasks, settings, environments and renderings."""

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
    """Makes the arrays that describe these instances, for episodes of at most the given number of steps, if any."""
    draw: Callable[[str, int, int, int], Any] | None = None
    """Draws the world of many instances at once, from the setting, a seed, the number of instances, and the number of
    steps of the longest episodes. It is what `world` makes, for other instances that are as likely as those of
    `instances`. Every leaf of the world has the instances along its first axis, so that worlds can be joined and
    instances replaced. Equal arguments give equal worlds. Without it, fresh instances are made by `instances`."""
    quick_tasks: tuple[str, ...] = ()
    """The tasks of `hrm learn --quick`: two levels, and a machine that calls another; all tasks if not given."""
    presets: Presets = field(default_factory=dict)
    """The settings of agents that differ from those that presets have for any domain."""
    solved_return: float = 0.95
    """The mean return of a task, over three evaluations, with which it is learned."""
    picture: Callable[[Any, Any, Any, int | None], Pixels] | None = None
    """Draws a state, given its instance, the world, the state, and about how many pixels wide and high to draw it."""
    text: Callable[[Any, Any, Any, bool], str] | None = None
    """Writes a state for a terminal; the last argument says whether the text may use colours."""
    legend: Callable[[], Mapping[str, str]] | None = None
    """The legend of that text, by sign."""
    keys: Keys | None = None
    """The keyboard of `hrm play`; the digits, if not given."""
    guide: Guide | None = None
    """The scripted policy that records traces; without one, they are recorded at random."""
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
        """The name of the domain in commands and files, in lower case."""
        return self.task_set.name

    @property
    def title(self) -> str:
        """The title of the domain in texts."""
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
        """The canonical name of a task, which may be given as in the paper and in any case."""
        return self.task_set.task_name(name)

    def hierarchy(self, name: str, *, dead_ends: bool = False) -> Hierarchy:
        """The hierarchy of a task."""
        return self.task_set.hierarchy(name, dead_ends=dead_ends)

    def labels(self, *, dead_ends: bool = False) -> tuple[Label, ...] | None:
        """The labels that can occur; None for all sets of propositions."""
        return self.task_set.labels(dead_ends=dead_ends)

    def setting_name(self, name: str) -> str:
        """The canonical name of a setting, which may be given in any case.

        Raises:
            RewardMachineError: There is no such setting.
        """
        if name.casefold() not in self.settings:
            hint = suggestion(name.casefold(), self.settings) or f"; there are {', '.join(self.settings)}"
            raise RewardMachineError(f"{self.title} has no setting '{name}'{hint}")
        return name.casefold()
