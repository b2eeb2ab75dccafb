"""The strategies for exploration where no machine has an option: one function for each (Section 5).

A strategy names *exploration options*, which may be followed for a while instead of a single action at random. To add a
strategy, write its function here, give it a member of `Exploration`, and put both into `STRATEGIES`. The option that is
followed is drawn in the same way for all strategies (`rollout.interaction.draw_options`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from rewardmachines.core.formula import Conjunction, Label
from rewardmachines.core.machine import RewardMachine
from rewardmachines.lhrm.config import Exploration


@dataclass(frozen=True)
class StrategyInputs:
    """The observed labels and mastered machines on which a strategy may depend."""

    mastered: tuple[RewardMachine, ...] = ()
    """The machines of the levels below the present one."""
    labels: frozenset[Label] = frozenset()
    """All labels that were seen."""
    fatal: frozenset[Label] = frozenset()
    """Labels at which episodes have ended in dead ends."""

    def has_seen(self, formula: Conjunction) -> bool:
        """Whether a label that was seen satisfies the formula."""
        return any(formula.holds(label) for label in self.labels)


@dataclass(frozen=True)
class ExplorationOptions:
    """The options for exploration where no machine has an option, beside random actions."""

    machines: tuple[str, ...] = ()
    """Mastered machines, which are followed from their beginning to their end."""
    formulas: tuple[Conjunction, ...] = ()
    """Formulas of mastered machines, whose policies satisfy them."""
    propositions: tuple[Conjunction, ...] = ()
    """Formulas of proposition options, whose policies are still being learned: they explore on their own, and may be
    given up."""


Strategy = Callable[[StrategyInputs], ExplorationOptions]


def primitive_actions(_: StrategyInputs) -> ExplorationOptions:
    """Exploration with random actions alone."""
    return ExplorationOptions()


def mastered_options(experience: StrategyInputs) -> ExplorationOptions:
    """Exploration also with mastered machines, of lower levels, and the formulas on their edges, as in the paper.

    A formula that leads into a rejecting state, or that no label seen so far satisfies, is left out.
    """
    formulas = dict.fromkeys(
        disjunct
        for machine in experience.mastered
        for edge in machine.edges
        if edge.calls_leaf and edge.target not in machine.rejecting
        for disjunct in edge.formula.ordered()
        if experience.has_seen(disjunct)
    )
    return ExplorationOptions(tuple(machine.name for machine in experience.mastered), tuple(formulas))


def seen_propositions(experience: StrategyInputs) -> ExplorationOptions:
    """Exploration also with an option for each observed proposition, unless it was seen alone at a dead end.

    Policies of proposition options are learned from the first step on. Before there is any machine, this is the only
    strategy with which anything is learned.
    """
    known = mastered_options(experience)
    seen = sorted({proposition for label in experience.labels for proposition in label})
    alone = (frozenset({proposition}) for proposition in seen)
    propositions = tuple(Conjunction(label) for label in alone if label not in experience.fatal)
    return ExplorationOptions(known.machines, known.formulas, propositions)


STRATEGIES: Final[Mapping[Exploration, Strategy]] = {
    Exploration.ACTIONS: primitive_actions,
    Exploration.OPTIONS: mastered_options,
    Exploration.PROPOSITIONS: seen_propositions,
}
