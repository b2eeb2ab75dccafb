"""What is done where no machine says what to do: one function for each strategy (Section 5).

A strategy names *guides*: what may be followed for a while instead of a single action at random. To add one, write its
function here, give it a member of `Exploration`, and put both into `STRATEGIES`. Which guide is followed when, is left
to chance in the same way for all of them: see `draw_guides`.
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
    """What a strategy can go by."""

    mastered: tuple[RewardMachine, ...] = ()
    """The machines of the levels below the present one."""
    labels: frozenset[Label] = frozenset()
    """All that were seen."""
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
    """Actions at random, and nothing else."""
    return Guides()


def mastered_options(experience: Experience) -> Guides:
    """Also what is mastered already: the machines of lower levels, and the formulas on their edges, as in the paper.

    A formula that leads into a dead end, or that was never seen to hold, is nothing to look for.
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
    """Also each proposition that was seen, unless it was a dead end: how to get there is learned from the first step.

    Before there is any machine, this is the only way to explore that learns.
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
    """Draws what to do next where no machine says it: any action and any guide are equally likely.

    Args:
        can_follow: Which guides there are for each environment.
        actions: How many different actions there are.
        key: For the draw.

    Returns:
        The number of a guide; below 0, an action at random.
    """
    weight = jnp.concatenate([jnp.zeros((len(can_follow), actions)), jnp.where(can_follow, 0.0, -jnp.inf)], axis=1)
    return jax.random.categorical(key, weight, axis=-1) - actions
