"""The files of presets: what they say, for which domains, and what is wrong with those of others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import pytest

from envs.corridor import CORRIDOR
from rewardmachines.agents.choices import Preset
from rewardmachines.agents.hierarchical_dqn.config import HierarchicalDqnConfig
from rewardmachines.agents.presets import base_values, preset
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs.domain import Presets
from rewardmachines.envs.registry import BUILT_IN, register_domain, unregister_domain
from rewardmachines.files.records import to_plain
from rewardmachines.lhrm.config import LhrmConfig
from rewardmachines.lhrm.presets import lhrm_preset

PUBLISHED = {
    "craftworld": {
        "batch": 32, "learning_rate": 5e-4, "optimizer": "rmsprop", "discount": 0.9, "formulas": 4, "target": 1500,
        "replay_size": 500_000, "replay_start": 100_000, "exploration": (1.0, 0.1, 2_000_000),
        "curriculum_weight": 0.99, "evaluate_every": "100 episodes", "network.hidden": (256,),
        "network.filters": (16, 32, 32), "calls.learning_rate": 5e-4, "calls.discount": 0.99, "calls.target": 500,
        "calls.batch": 32, "calls.replay_size": 10_000, "calls.replay_start": 1000,
        "calls.exploration": (1.0, 0.1, 10_000), "threshold": 0.85,
    },
    "waterworld": {
        "learning_rate": 1e-5, "exploration": (1.0, 0.1, 5_000_000), "network.hidden": (512,) * 3,
        "calls.learning_rate": 1e-3, "calls.network.hidden": (512,) * 3, "threshold": 0.75,
    },
}  # fmt: skip
"""The table of hyperparameters of the paper; that of WaterWorld where it differs."""


@pytest.mark.parametrize("setting", ["op", "opl", "fr", "frl", "wod", "wd"])
def test_the_preset_paper_has_the_published_values(setting: str) -> None:
    domain = "waterworld" if setting in BUILT_IN["waterworld"].settings else "craftworld"
    config = lhrm_preset("paper", domain, setting)
    assert (config.goals, config.examples, config.run_learner_seconds) == ((25, 150), 10, 7200)
    pooled = "pooled-cnn" if setting in ("fr", "frl") else "cnn"
    assert config.agent.network.body.value == ("mlp" if domain == "waterworld" else pooled)
    for name, value in {**PUBLISHED["craftworld"], **PUBLISHED[domain]}.items():
        found: Any = config if name == "threshold" else config.agent
        for part in name.split("."):
            found = getattr(found, part)
        is_schedule = name.endswith("exploration")
        assert ((found.first, found.last, found.steps) if is_schedule else found) == value, name


@pytest.mark.parametrize("name", ["paper", "fast", "table", "gymnasium"])
def test_a_file_that_others_extend_says_every_setting_that_is_not_optional(name: str) -> None:
    values = base_values(name)
    agent = set(_names(to_plain(HierarchicalDqnConfig()))) - {"network.body", "calls.network.body", "evaluate_steps"}
    own = set(_names({k: v for k, v in to_plain(LhrmConfig()).items() if k != "agent"}))
    assert agent - set(_names(values["agent"])) == set()
    assert own - set(_names(values["learn"])) <= {"run_learner_seconds", "learner_memory"}


def test_every_file_of_a_domain_belongs_to_a_setting_and_a_preset() -> None:
    for domain in BUILT_IN.values():
        known = {f"{setting}-{each.value}" for setting in domain.settings for each in Preset}
        assert isinstance(domain.presets, Path)
        found = {file.stem for file in domain.presets.glob("*.toml")}
        assert found == known | {f"{name}-fresh" for name in known}


def test_settings_for_fresh_instances_depend_on_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for device in ("cpu", "gpu"):
        monkeypatch.setattr(jax, "default_backend", lambda device=device: device)
        agents = [lhrm_preset("fast", "craftworld", "op", fresh=fresh).agent for fresh in (True, False)]
        found.append([(agent.environments, agent.batch, agent.evaluate_every) for agent in agents])
    assert found == [[(64, 256, 3), (32, 128, 5)], [(512, 1024, 5), (32, 128, 5)]]


@pytest.fixture
def registered() -> Iterator[Any]:
    def register(presets: Presets) -> None:
        unregister_domain("corridor")
        register_domain(replace(CORRIDOR, presets=presets))

    yield register
    unregister_domain("corridor")


def test_a_domain_may_have_a_folder_or_a_mapping(registered: Any, tmp_path: Path) -> None:
    (tmp_path / "long-fast-fresh.toml").write_text('extends = "paper"\n[agent]\nnetwork.hidden = [7]\n')
    (tmp_path / "long-fast.toml").write_text("[agent]\nbatch = 7\n[crm]\nbatch = 8\n")
    (tmp_path / "long.toml").write_text("[learn]\nthreshold = 0.5\n")
    in_mapping = {"long-fast-fresh": {"extends": "paper", "agent": {"network": {"hidden": (7,)}}}}
    in_mapping |= {"long-fast": {"agent": {"batch": 7}, "crm": {"batch": 8}}, "long": {"learn": {"threshold": 0.5}}}
    for presets in (tmp_path, in_mapping):
        registered(presets)
        fresh = preset("fast", "corridor", "long", fresh=True)
        assert (fresh.network.hidden, fresh.batch, fresh.network.body.value) == ((7,), 32, "mlp")
        assert [preset("fast", "corridor", "long", agent).batch for agent in ("hrl", "crm")] == [7, 8]
        assert [lhrm_preset(name, "corridor", "long").threshold for name in ("fast", "paper")] == [0.85, 0.5]
        assert preset("fast", "corridor", "short").batch == 128


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"agent": {"btach": 3}}, "Corridor, agent: 'btach' means nothing there; did you mean 'batch'"),
        ({"agents": {}}, "'agents' means nothing there; did you mean 'agent'"),
        ({"extends": "fats"}, "no settings 'fats' to extend"),
        ({"agent": {"calls": {"target": 0.5}}}, "calls.target: a number of updates, not 0.5"),
    ],
)
def test_mistakes_in_a_file_are_named(registered: Any, content: Mapping[str, Any], message: str) -> None:
    registered({"long": content})
    with pytest.raises(RewardMachineError, match=message):
        preset("fast", "corridor", "long")


def _names(values: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    for name, value in values.items():
        yield from _names(value, f"{prefix}{name}.") if isinstance(value, dict) else [prefix + name]
