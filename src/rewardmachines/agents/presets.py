"""Two ways to train: `paper`, as published, and `fast`, tuned for wall clock. Both are settings of the same code."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from typing import Final

from rewardmachines.agents.config import Algorithm, Config, Layout
from rewardmachines.agents.networks import Body, NetworkConfig
from rewardmachines.library import CRAFTWORLD

LARGE_GRIDS: Final = ("fr", "frl")
EPISODES: Final = 100_000
"""That the paper trains for with a given hierarchy, in OP, OPL and WOD."""
MORE_EPISODES: Final = 200_000
"""The same in FR, FRL and WD."""


class Preset(Enum):
    """PAPER: the published settings, where the published code differs from the text its own. FAST: for wall clock."""

    PAPER = "paper"
    FAST = "fast"


def preset(name: Preset | str, domain: str, setting: str, algorithm: Algorithm = Algorithm.HRL) -> Config:
    """The settings for a domain in one of its settings."""
    make = _paper if Preset(name) is Preset.PAPER else _fast
    return make(domain, setting, algorithm)


def published_episodes(setting: str) -> int:
    """For how many episodes the paper trains with a given hierarchy.

    >>> published_episodes("op"), published_episodes("frl"), published_episodes("wd")
    (100000, 200000, 200000)
    """
    return MORE_EPISODES if setting in (*LARGE_GRIDS, "wd") else EPISODES


def _body(domain: str, setting: str) -> Body:
    if domain != CRAFTWORLD:
        return Body.MLP
    return Body.POOLED_CNN if setting in LARGE_GRIDS else Body.CNN


def _paper(domain: str, setting: str, algorithm: Algorithm) -> Config:
    """N environments in lockstep, and N batches after each vector step: the paper's ratio of updates to steps."""
    is_grid = domain == CRAFTWORLD
    body = _body(domain, setting)
    common = Config(
        environments=8,
        updates=8,
        batch=32,
        observation="published",
        layout=Layout.SEPARATE,
        network=NetworkConfig(body, hidden=(256,) if is_grid else (512, 512, 512)),
        optimizer="rmsprop",
        learning_rate=5e-4 if is_grid else 1e-5,
        discount=0.9,
        formulas=4,
        replay_size=500_000,
        replay_start=100_000,
        target_period=1500,
        annealing_steps=2_000_000 if is_grid else 5_000_000,
        event_rewards=False,
        call_network=NetworkConfig(body, hidden=(64,) if is_grid else (512, 512, 512)),
        call_learning_rate=5e-4 if is_grid else 1e-3,
        call_discount=0.99,
        call_batch=32,
        call_updates=1.0,
        call_replay_size=10_000,
        call_replay_start=1_000,
        call_target_period=500,
        call_annealing=10_000,
        curriculum_weight=0.99,
        chunk=500,
        evaluate_episodes=100,
    )
    if algorithm is Algorithm.CRM:
        return replace(
            common,
            counts_experiences=True,
            replay_size=1_000_000,
            annealing_steps=100_000_000 if is_grid else 2_000_000,
        )
    return common


def _fast(domain: str, setting: str, algorithm: Algorithm) -> Config:
    """Fewer, larger batches; heads on one body; observations that tell things apart."""
    body = _body(domain, setting)
    if domain == CRAFTWORLD and setting not in LARGE_GRIDS:
        chosen = Config(network=NetworkConfig(body), call_network=NetworkConfig(body, hidden=(64,)))
    elif domain == CRAFTWORLD:
        chosen = Config(
            environments=128,
            updates=4,
            batch=512,
            network=NetworkConfig(Body.CNN, hidden=(1024,)),
            discount=0.96,
            replay_start=20_000,
            target_period=100,
            annealing_steps=50_000,
            call_network=NetworkConfig(Body.CNN, hidden=(64,)),
            chunk=100,
            evaluate_every=4,
        )
    else:
        chosen = Config(
            environments=64,
            batch=256,
            observation="published",
            layout=Layout.SEPARATE,
            network=NetworkConfig(body, hidden=(512, 512, 512)),
            learning_rate=3e-4,
            formulas=32,
            replay_start=20_000,
            annealing_steps=200_000,
            call_network=NetworkConfig(body, hidden=(128, 128)),
            call_learning_rate=5e-4,
        )
    if algorithm is Algorithm.CRM:
        # Its discount spans the whole task, and yet one step must make a difference: less for long ways.
        discount = 0.97 if setting in LARGE_GRIDS else chosen.call_discount
        return replace(
            chosen, layout=Layout.SHARED, annealing_steps=10 * chosen.annealing_steps, call_discount=discount
        )
    return chosen
