"""The settings of presets, from the TOML file of a setting of a domain and a preset.

`paper` is as published, `fast` is tuned for wall-clock time, and `table` has the agents of `fast`, which learn machines
by the rules of `paper`. Each has a complete file here, in `settings`, and domains have files of the settings that
differ there (`rewardmachines.envs.domain.Presets`). A file has these parts:

    extends = "fast"    the complete file that it extends; that of its preset if it does not say
    [agent]             the settings of the hierarchical agent; other agents take those that they have in common
    [crm]               the settings that differ for CRM; likewise for other agents, by their names
    [learn]             the settings of LHRM, and in `agent` those that differ for its agent
    [cpu.agent]         the settings that differ on a computer without a GPU; likewise `[cpu.crm]`, `[cpu.learn]`
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any, Final

import jax

from rewardmachines.agents.choices import Preset as Preset
from rewardmachines.agents.config import AgentConfig
from rewardmachines.agents.hierarchical_dqn.config import HierarchicalDqnConfig
from rewardmachines.agents.networks import Body
from rewardmachines.agents.registry import agent_kind, agent_names
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import suggestion
from rewardmachines.envs.domain import PUBLISHED, Domain
from rewardmachines.envs.registry import domain as find_domain
from rewardmachines.envs.registry import domain_of
from rewardmachines.files.overrides import merged, with_values

SOLVED_RETURN: Final = 0.95
"""The mean return in three consecutive evaluations with which a task is solved."""


def preset(name: Preset | str, domain: str, setting: str, agent: str = "hrl", *, fresh: bool = False) -> AgentConfig:
    """The settings of an agent for a domain in one of its settings.

    Args:
        name: The preset.
        domain: The domain's name.
        setting: One of the domain's settings.
        agent: The name of the agent.
        fresh: Whether the agent is trained in fresh instances.

    Raises:
        RewardMachineError: The domain or the setting does not exist, or a file has settings that agents do not have.
    """
    known, values = find_domain(domain), preset_values(name, domain, setting, fresh=fresh)
    config = agent_kind(agent).settings(hierarchical_settings(values["agent"], known, known.setting_name(setting)))
    return with_values(config, values.get(agent, {}), f"settings of {known.title}, {agent}")


def hierarchical_settings(values: Mapping[str, Any], domain: Domain, setting: str) -> HierarchicalDqnConfig:
    """The settings of the hierarchical agent; networks fit observations if the values do not say.

    Args:
        values: Some of the settings, those of inner records in mappings of their own.
        domain: The domain.
        setting: One of the domain's settings.
    """
    body = values.get("network", {}).get("body", _body(domain, setting).value)
    usual = {"network": {"body": body}, "calls": {"network": {"body": body}}}
    return with_values(HierarchicalDqnConfig(), merged(usual, values), f"settings of {domain.title}, agent")


def preset_values(name: Preset | str, domain: str, setting: str, *, fresh: bool = False) -> dict[str, Any]:
    """The values of settings by the parts of a file, on the device that there is. Arguments as for `preset`."""
    known, chosen = find_domain(domain), Preset(name).value
    setting = known.setting_name(setting)
    names = [f"{setting}-{chosen}-fresh"] * fresh + [f"{setting}-{chosen}", setting]
    content = next((found for each in names if (found := _content(known.presets, each)) is not None), {})
    values = extended({"extends": chosen, **content}, f"settings of {known.title}")
    cpu = values.pop("cpu", {})
    return merged(values, cpu) if jax.default_backend() == "cpu" else values


def base_values(name: str) -> dict[str, Any]:
    """The values of a file of this package: a preset in any domain, or `gymnasium` for Gymnasium environments.

    Raises:
        RewardMachineError: There is no such file.
    """
    content = _content(files(__package__) / "settings", name)
    if content is None:
        raise RewardMachineError(f"there are no settings '{name}' to extend")
    return dict(content)


def extended(content: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The content of a file, with that of the file that it extends.

    Raises:
        RewardMachineError: There is no such file, or the file has parts that mean nothing.
    """
    parts = ("extends", "agent", "learn", "cpu", *agent_names())
    if odd := next((part for part in content if part not in parts), None):
        raise RewardMachineError(f"{where}: '{odd}' means nothing there{suggestion(odd, parts)}")
    return merged(base_values(content["extends"]), {part: content[part] for part in content if part != "extends"})


def _content(presets: Traversable | Mapping[str, Mapping[str, Any]], name: str) -> Mapping[str, Any] | None:
    """The content of the file of a name, if the file exists."""
    if isinstance(presets, Mapping):
        return presets.get(name)
    file = presets / f"{name}.toml"
    return tomllib.loads(file.read_text(encoding="utf-8")) if file.is_file() else None


def solved_return(name: Preset | str) -> float:
    """The mean return at which training ends by default.

    Args:
        name: The preset. Runs as published go on to their last episode, whatever they return: 0.
    """
    return 0.0 if Preset(name) is Preset.PAPER else SOLVED_RETURN


def published_episodes(setting: str, domain: str | None = None) -> int:
    """The number of episodes for which the paper trains with a given hierarchy.

    Args:
        setting: A setting of a domain.
        domain: The domain's name; the first that has such a setting if not given.

    >>> published_episodes("op"), published_episodes("frl"), published_episodes("wd")
    (100000, 200000, 200000)
    """
    known = find_domain(domain_of(setting) if domain is None else domain)
    return known.settings[known.setting_name(setting)].episodes


def _body(domain: Domain, setting: str) -> Body:
    """The network's body unless a file says otherwise: convolutions for grids, none for vectors."""
    shape = domain.environment(setting, PUBLISHED).observation_shape
    return Body.CNN if len(shape) == 3 else Body.MLP
