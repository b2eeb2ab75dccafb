"""How the agent explores where no machine says what to do: one function for each strategy (Section 5).

A strategy names *guides*: what may be followed for a while instead of a single action at random. To add a strategy,
write its function here, give it a member of `Exploration`, and put both into `STRATEGIES`. Which guide is followed when
is left to chance in the same way for all strategies: see `draw_guides`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int32, PRNGKeyArray

from rewardmachines.core.formula import Conjunction, Label
from rewardmachines.core.machine import RewardMachine
from rewardmachines.lhrm.config import Exploration


@dataclass(frozen=True)
class Experience:
    """What was seen and learned so far, as far as a strategy may depend on it."""

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
class Guides:
    """What may be followed where no machine says what to do, beside actions at random."""

    machines: tuple[str, ...] = ()
    """Mastered machines that are followed from their beginning to their end."""
    formulas: tuple[Conjunction, ...] = ()
    """Formulas that mastered machines know how to satisfy."""
    scouts: tuple[Conjunction, ...] = ()
    """Formulas that it is still being learned how to satisfy: an attempt explores on its own, and may be given up."""


Strategy = Callable[[Experience], Guides]


def primitive_actions(_: Experience) -> Guides:
    """Explores with actions at random alone."""
    return Guides()


def mastered_options(experience: Experience) -> Guides:
    """Explores also with what is mastered: machines of lower levels, and the formulas on their edges, as in the paper.

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
    return Guides(tuple(machine.name for machine in experience.mastered), tuple(formulas))


def seen_propositions(experience: Experience) -> Guides:
    """Explores also with a scout for each proposition that was seen, unless it was seen alone at a dead end.

    Scouts learn from the first step on how to make their proposition true. Before there is any machine, this is the
    only strategy with which anything is learned.
    """
    known = mastered_options(experience)
    seen = sorted({proposition for label in experience.labels for proposition in label})
    scouts = (frozenset({proposition}) for proposition in seen)
    return Guides(known.machines, known.formulas, tuple(Conjunction(s) for s in scouts if s not in experience.fatal))


STRATEGIES: Final[Mapping[Exploration, Strategy]] = {
    Exploration.ACTIONS: primitive_actions,
    Exploration.OPTIONS: mastered_options,
    Exploration.PROPOSITIONS: seen_propositions,
}


def draw_guides(can_follow: Bool[Array, "N G"], actions: int, key: PRNGKeyArray) -> Int32[Array, " N"]:
    """Draws what to do next where no machine says it: every action and every guide is equally likely.

    Args:
        can_follow: Which of G guides each of N environments can follow.
        actions: How many different actions there are.
        key: For the draw.

    Returns:
        The number of a guide for each environment; below 0, it takes an action at random.
    """
    # One draw decides for all: columns of weight 0 for the actions come first, then one for each guide, where -inf
    # leaves it out. Thus the number of a guide is that of its column, less the actions.
    weight = jnp.concatenate([jnp.zeros((len(can_follow), actions)), jnp.where(can_follow, 0.0, -jnp.inf)], axis=1)
    return jax.random.categorical(key, weight, axis=-1) - actions
