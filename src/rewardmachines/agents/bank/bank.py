"""The bank as a value: the networks and machines of a run, and the names of their numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, cast

from rewardmachines.agents.config import AgentConfig, Layout
from rewardmachines.agents.hierarchical_dqn.config import HierarchicalDqnConfig
from rewardmachines.agents.networks import NetworkConfig
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.formula import Conjunction, Label
from rewardmachines.core.hierarchy import Hierarchy, suggestion
from rewardmachines.core.machine import RewardMachine
from rewardmachines.envs.scenarios import Scenario

Change: TypeAlias = Label | Conjunction
"""An insertion into the formula tree: an observed label, or a formula with a policy."""
AnyConfig = TypeVar("AnyConfig", bound=AgentConfig)


@dataclass(frozen=True)
class BankInterface:
    """The interface of policies, which must be the same wherever they act: propositions, actions and observations."""

    propositions: tuple[str, ...]
    """The propositions in the order of the bits of a label."""
    actions: tuple[str, ...]
    """The names of the actions in the order of their numbers."""
    observation: str
    """The name of the observation, as domains know it."""
    shape: tuple[int, ...]
    """The shape of an observation."""

    @staticmethod
    def of(scenario: Scenario, observation: str) -> BankInterface:
        """The interface of policies in a scenario with the observation of that name."""
        environment = scenario.environment
        return BankInterface(
            propositions=tuple(environment.propositions),
            actions=tuple(environment.action_names),
            observation=observation,
            shape=tuple(environment.observation_shape),
        )


@dataclass(frozen=True)
class NetworkSizes:
    """The architecture of a bank's networks."""

    layout: Layout
    """Whether formulas have networks of their own, or heads of one network."""
    network: NetworkConfig
    """The networks of formulas."""
    call_network: NetworkConfig
    """The networks of machines."""
    slots: int
    """The number of Q-functions of formulas that there is room for."""
    states: int
    """The number of states for which the networks of machines have an input."""
    outputs: int
    """The number of outputs of a machine: pairs of a callee and a disjunct."""


@dataclass(frozen=True)
class Networks:
    """The networks of a bank."""

    formulas: Any
    """The networks of formulas, stacked along a leading axis or with heads for all slots."""
    calls: Any
    """The networks of machines, stacked in the order of the machines."""


@dataclass(frozen=True)
class Bank:
    """The policies and machines that a run has learned, for use in new tasks. Banks with equal digests are equal."""

    domain: str
    """The name of the domain in which the bank was learned."""
    setting: str
    """The setting of the domain."""
    interface: BankInterface
    """The interface of the bank's policies."""
    sizes: NetworkSizes
    """The architecture of the bank's networks."""
    formulas: Mapping[Conjunction, int]
    """The number of the Q-function of each formula that has a policy."""
    changes: tuple[Change, ...]
    """The labels and formulas, in the order in which they were inserted into the formula tree."""
    fatal: frozenset[Label]
    """The labels at which episodes have ended in dead ends."""
    contexts: tuple[Conjunction, ...]
    """The contexts in which machines were called."""
    machines: tuple[RewardMachine, ...]
    """The machines, each with a policy for its calls, in the order of their networks."""
    returns: Mapping[str, float]
    """The mean return of each machine's task in the last evaluations of the run."""
    digest: str
    """The digest of all files of the bank."""
    networks: Networks = field(repr=False, compare=False)
    path: Path | None = field(default=None, compare=False)
    """Where the bank is, if it was read from a folder."""

    @property
    def propositions(self) -> tuple[str, ...]:
        """The propositions, in the order of the bits of a label."""
        return self.interface.propositions

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the machines."""
        return tuple(machine.name for machine in self.machines)

    @cached_property
    def labels(self) -> frozenset[Label]:
        """The labels that were seen while it was learned."""
        return frozenset(change for change in self.changes if not isinstance(change, Conjunction))

    def hierarchy(self, name: str | None = None) -> Hierarchy:
        """The hierarchy of a machine: the machine itself and those that it calls.

        Args:
            name: The name of the machine; without one, all machines, with the last as the root.

        Raises:
            RewardMachineError: There is no such machine in the bank.
        """
        if name is None:
            return Hierarchy(self.names[-1], self.machines, self.propositions)
        if name not in self.names:
            hint = suggestion(name, self.names) or f"; there are {', '.join(self.names)}"
            raise RewardMachineError(f"there is no machine '{name}' in the bank{hint}")
        return Hierarchy(name, self.machines, self.propositions).rooted(name)

    def slot_of(self, formula: Conjunction) -> int | None:
        """The number of the Q-function whose policy satisfies a formula; None without such a policy.

        A formula that is not in the bank shares the Q-function of a formula that agrees with it on all labels seen.
        """
        if formula in self.formulas:
            return self.formulas[formula]
        if not any(formula.holds(label) for label in self.labels):
            return None
        return next((slot for known, slot in self.formulas.items() if self.agree(known, formula)), None)

    def agree(self, one: Conjunction, other: Conjunction) -> bool:
        """Whether two formulas agree on all labels seen."""
        return all(one.holds(label) == other.holds(label) for label in self.labels)

    def has_machine(self, machine: RewardMachine) -> bool:
        """Whether this very machine is in the bank."""
        return machine in self.machines

    # -- compatibility

    def fitted(self, config: AnyConfig) -> AnyConfig:
        """The settings of an agent with the networks and the observation of the bank.

        Raises:
            RewardMachineError: The agent has no options, so that it cannot use policies of formulas.
        """
        if not isinstance(config, HierarchicalDqnConfig):
            raise RewardMachineError("a bank holds options: use it with the algorithm hrl or flat-hrl, not with crm")
        sizes = self.sizes
        return replace(
            config,
            layout=sizes.layout,
            network=sizes.network,
            calls=replace(config.calls, network=sizes.call_network),
            observation=cast("Any", self.interface.observation),
        )

    def check_config(self, config: AgentConfig) -> None:
        """Checks that an agent has the networks of the bank.

        Raises:
            RewardMachineError: The networks differ; the message names the difference.
        """
        fitted = self.fitted(config)
        for name in ("layout", "network", "calls.network", "observation"):
            if (own := attrgetter(name)(config)) != (known := attrgetter(name)(fitted)):
                raise RewardMachineError(
                    f"the bank has other networks: {name} is {_text(known)} there, not {_text(own)}"
                )
        if getattr(config, "lookahead", 0):
            raise RewardMachineError("options of a bank do not look ahead: leave lookahead at 0")

    def check_interface(self, other: BankInterface, where: str) -> None:
        """Checks that policies of the bank can act in a scenario.

        Args:
            other: The interface of policies there.
            where: The scenario's name in messages.

        Raises:
            RewardMachineError: The interfaces differ; the message names the difference.
        """
        for name in ("propositions", "actions", "observation", "shape"):
            mine, theirs = getattr(self.interface, name), getattr(other, name)
            if mine != theirs:
                what = "observation shape" if name == "shape" else name
                raise RewardMachineError(
                    f"the bank was learned in {self.domain} {self.setting.upper()} and does not fit {where}: "
                    f"{what}: {_difference(mine, theirs)}"
                )


def _difference(mine: Any, theirs: Any) -> str:
    """The difference of two values, in words: the entries that one of two lists lacks, or both values."""
    if isinstance(mine, str) or not all(isinstance(word, str) for word in (*mine, *theirs)):
        return f"{_text(mine)} in the bank, {_text(theirs)} there"
    only = [word for word in mine if word not in theirs], [word for word in theirs if word not in mine]
    parts = [f"only {place} {', '.join(words)}" for words, place in zip(only, _PLACES, strict=True) if words]
    return "; ".join(parts) or f"another order, {_text(mine)} in the bank"


_PLACES = ("in the bank", "there")


def _text(value: Any) -> str:
    if isinstance(value, Layout):
        return str(value.value)
    if isinstance(value, NetworkConfig):
        normalized = ", normalized" if value.normalizes else ""
        return f"{value.body.value} with filters {list(value.filters)} and hidden {list(value.hidden)}{normalized}"
    if isinstance(value, Iterable) and not isinstance(value, str):
        return "×".join(map(str, value)) if all(isinstance(n, int) for n in value) else ", ".join(map(str, value))
    return str(value)
