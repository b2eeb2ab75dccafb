"""The presets of LHRM, which are settings of the same code.

`paper` is as published. `fast` takes the least time. `table` has the agents of `fast` and learns machines by the rules
of `paper`, so that what is counted can be set beside the paper's tables.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from rewardmachines.agents.hierarchical_dqn.config import HierarchicalDqnConfig
from rewardmachines.agents.presets import (
    Preset,
    fresh_sizes,
    hierarchical_preset,
    preset_sizes,
    published_episodes,
    with_sizes,
)
from rewardmachines.envs.domain import Domain
from rewardmachines.envs.registry import domain as find_domain
from rewardmachines.lhrm.config import Exploration, LhrmConfig
from rewardmachines.rollout.gym_settings import GYMNASIUM

LHRM_GYMNASIUM: Final = LhrmConfig(
    agent=replace(
        GYMNASIUM,
        annealing_steps=3_000,
        call_replay_size=1_000,
        call_replay_start=50,
        call_annealing=50,
        curriculum_weight=0.5,
    ),
    threshold=0.85,
    goals=50,
    explores_with=Exploration.PROPOSITIONS,
    learner_seconds=120.0,
)
"""Settings for small problems in Gymnasium environments, which are learned in a minute or two."""
DETOUR_RATE: Final = 0.004
"""The probability of a detour at every step, in the presets `table` and `fast`.

The paper's agents explore for millions of steps before a level is mastered, and come upon what a machine gets wrong.
Those of `table` and `fast` master a level in a tenth of the episodes and would build on machines that are wrong."""
TWO_HOURS: Final = 7200.0
"""Seconds that the paper gives all searches of a run together, and so each of them at most."""


def lhrm_preset(name: Preset | str, domain: str, setting: str, *, fresh: bool = False) -> LhrmConfig:
    """The settings of LHRM for a domain in one of its settings.

    Args:
        name: The preset.
        domain: The domain's name.
        setting: One of the domain's settings.
        fresh: Whether the agent is trained in fresh instances.

    Raises:
        RewardMachineError: The domain or the setting does not exist.
    """
    known = find_domain(domain)
    setting = known.setting_name(setting)
    agent = hierarchical_preset(name, domain, setting, fresh=fresh)
    sizes = preset_sizes(name, known, setting).lhrm
    if fresh:  # the agent has these already, but the settings of LHRM below would change some of them back
        sizes = {**sizes, **fresh_sizes(known, setting).agent, **fresh_sizes(known, setting).lhrm}
    if Preset(name) is Preset.PAPER:
        return _published_rules(with_sizes(agent, sizes, known), known)
    agent = replace(agent, chunk=100, evaluate_every=5, call_annealing=100, curriculum_weight=0.5)
    agent = with_sizes(agent, sizes, known)
    if Preset(name) is Preset.TABLE:
        return replace(_published_rules(agent, known), detour_rate=DETOUR_RATE)
    return LhrmConfig(
        agent=agent,
        threshold=known.threshold,
        goals=50,
        explores_with=Exploration.PROPOSITIONS,
        detour_rate=DETOUR_RATE,
        confirm_episodes=known.settings[setting].confirm_episodes,
    )


def _published_rules(agent: HierarchicalDqnConfig, domain: Domain) -> LhrmConfig:
    """The paper's numbers of goal traces, exploration with options, threshold and learner.

    Its learner has two hours for a run, and does not know that prefixes of examples are incomplete.
    """
    return LhrmConfig(
        agent=agent,
        threshold=domain.threshold,
        learner_seconds=TWO_HOURS,
        run_learner_seconds=TWO_HOURS,
        prefixes=False,
    )


def published_learning_episodes(setting: str, domain: str | None = None) -> int:
    """For how many episodes the paper learns hierarchies, of all tasks together.

    Args:
        setting: A setting of a domain.
        domain: The domain's name; the first that has such a setting if not given.

    >>> published_learning_episodes("op"), published_learning_episodes("frl")
    (150000, 300000)
    """
    return 3 * published_episodes(setting, domain) // 2
