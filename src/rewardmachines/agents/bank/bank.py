"""The bank as a value: what was learned, and what the numbers in its networks mean."""

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
"""A label that was seen or a formula that a policy was learned for, as a formula tree is told them."""
AnyConfig = TypeVar("AnyConfig", bound=AgentConfig)


@dataclass(frozen=True)
class BankInterface:
    """What policies see and do: it must be the same wherever they act."""

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
        """What policies see and do in a scenario, which shows an observation of that name."""
        environment = scenario.environment
        return BankInterface(
            propositions=tuple(environment.propositions),
            actions=tuple(environment.action_names),
            observation=observation,
            shape=tuple(environment.observation_shape),
        )


@dataclass(frozen=True)
class NetworkSizes:
    """What the networks of a bank look like."""

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
    """The networks themselves."""

    formulas: Any
    """Those of formulas, stacked along a leading axis or with heads for all slots."""
    calls: Any
    """Those of machines, stacked in the order of the machines."""


@dataclass(frozen=True)
class Bank:
    """What a run has learned, to be used in new tasks. Banks with equal digests are equal."""

    domain: str
    """The name of the domain in which it was learned."""
    setting: str
    """The setting of the domain."""
    interface: BankInterface
    """What its policies see and do."""
    sizes: NetworkSizes
    """What its networks look like."""
    formulas: Mapping[Conjunction, int]
    """The number of the Q-function of each formula that has a policy."""
    changes: tuple[Change, ...]
    """The labels that were seen and the formulas, in the order in which they came up."""
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
        """The hierarchy of a machine: it and what it calls.

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
        """The number of the Q-function whose policy makes a formula true; None if there is none.

        A formula that is not in the bank is one of the bank's if no label that was seen tells them apart.
        """
        if formula in self.formulas:
            return self.formulas[formula]
        if not any(formula.holds(label) for label in self.labels):
            return None
        return next((slot for known, slot in self.formulas.items() if self.agree(known, formula)), None)

    def agree(self, one: Conjunction, other: Conjunction) -> bool:
        """Whether no label that was seen tells two formulas apart."""
        return all(one.holds(label) == other.holds(label) for label in self.labels)

    def has_machine(self, machine: RewardMachine) -> bool:
        """Whether this very machine is in the bank."""
        return machine in self.machines

    # -- where it can be used

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
            RewardMachineError: They differ; the message names what does.
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
            other: What policies see and do there.
            where: What messages call the scenario.

        Raises:
            RewardMachineError: Something differs; the message names it.
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
    """In which way two values differ, in words: what is missing from one of two lists, or both values."""
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
