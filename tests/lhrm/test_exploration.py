"""What each strategy of exploration follows, and how it is drawn."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rewardmachines.core.machine import machine
from rewardmachines.lhrm.config import Exploration
from rewardmachines.lhrm.exploration import (
    STRATEGIES,
    ExplorationOptions,
    StrategyInputs,
    mastered_options,
    primitive_actions,
    seen_propositions,
)
from rewardmachines.rollout.interaction import draw_options

LOW = machine("low", [("u0", "u1", "a"), ("u1", "uA", "b"), ("u0", "uR", "d"), ("u1", "uR", "d"), ("u0", "u2", "c")])
HIGH = machine("high", [("u0", "u1", "b", "low"), ("u1", "uA", "b | e")])
LABELS = frozenset(map(frozenset, ("", "a", "b", "d", "be")))
SEEN = StrategyInputs((LOW, HIGH), LABELS, fatal=frozenset({frozenset("d")}))


def words(options: ExplorationOptions) -> tuple[list[str], list[str], list[str]]:
    return list(options.machines), list(map(str, options.formulas)), list(map(str, options.propositions))


def test_every_member_has_a_strategy() -> None:
    assert set(STRATEGIES) == set(Exploration)


def test_with_actions_alone_nothing_is_followed() -> None:
    assert primitive_actions(SEEN) == ExplorationOptions()


def test_options_are_mastered_machines_and_what_they_look_for_unless_it_is_fatal_or_was_never_seen() -> None:
    assert words(mastered_options(SEEN)) == (["low", "high"], ["a", "b", "e"], [])
    assert mastered_options(StrategyInputs(labels=LABELS)) == ExplorationOptions()


def test_propositions_are_looked_for_from_the_beginning_unless_they_are_fatal() -> None:
    assert words(seen_propositions(SEEN)) == (["low", "high"], ["a", "b", "e"], ["a", "b", "e"])
    assert words(seen_propositions(StrategyInputs(labels=LABELS))) == ([], [], ["a", "b", "d", "e"])
    assert seen_propositions(StrategyInputs()) == ExplorationOptions()


@pytest.mark.parametrize("options", [0, 1, 3])
def test_actions_and_options_are_equally_likely(options: int) -> None:
    can_follow = jnp.tile(jnp.arange(4) < options, (20_000, 1))
    chosen = np.asarray(draw_options(can_follow, 2, jax.random.key(0)))
    assert set(chosen) == set(range(-2, options))
    assert np.unique(chosen, return_counts=True)[1] == pytest.approx(20_000 / (2 + options), rel=0.05)
