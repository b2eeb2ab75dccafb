"""What `hrm settings` lists is what `--set` takes."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest

from cli.commands import Hrm
from rewardmachines.agents.crm.config import CrmConfig
from rewardmachines.agents.presets import Preset, preset
from rewardmachines.agents.registry import agent_names
from rewardmachines.files.overrides import changed, with_values
from rewardmachines.lhrm.config import LhrmConfig
from rewardmachines.lhrm.presets import lhrm_preset


def listed(hrm: Hrm, *words: object) -> list[dict[str, Any]]:
    content = hrm.json("settings", *words)
    assert isinstance(content, list)
    return content


@pytest.mark.parametrize("name", [each.value for each in Preset])
def test_every_setting_of_learning_is_listed_with_its_value(hrm: Hrm, name: str) -> None:
    config = lhrm_preset(name, "waterworld", "wod")
    settings = listed(hrm, "waterworld", "--setting", "wod", "--preset", name)
    assert changed(config, tuple(f"{each['name']}={json.dumps(each['value'])}" for each in settings), "agent") == config
    assert {"batch", "goals", "network.hidden", "calls.network.body"} <= {each["name"] for each in settings}


@pytest.mark.parametrize("agent", agent_names())
@pytest.mark.parametrize("fresh", [[], ["--fresh"]], ids=["ten", "fresh"])
def test_so_is_every_setting_of_training(hrm: Hrm, agent: str, fresh: list[str]) -> None:
    config = preset("fast", "craftworld", "op", agent, fresh=bool(fresh))
    settings = listed(hrm, "--of", "train", "--agent", agent, *fresh)
    assert changed(config, tuple(f"{each['name']}={json.dumps(each['value'])}" for each in settings)) == config
    names = [each["name"] for each in settings]
    assert ("counts_experiences" in names) is (agent == "crm")
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("words", [[], ["--of", "train"], ["--of", "train", "--agent", "crm"]], ids=" ".join)
def test_every_setting_has_a_meaning_and_a_kind_in_words(hrm: Hrm, words: list[str]) -> None:
    for each in listed(hrm, *words):
        assert each["meaning"].endswith("."), each
        assert each["kind"]
        assert "None" not in each["kind"]


@pytest.mark.parametrize(("preset_name", "fresh"), [("paper", []), ("fast", ["--fresh"])])
def test_the_text_is_a_toml_file_that_says_the_same(hrm: Hrm, preset_name: str, fresh: list[str]) -> None:
    assert hrm("settings", "waterworld", "--setting", "wd", "--preset", preset_name, *fresh) == 0
    values = tomllib.loads(hrm.out)
    config = lhrm_preset(preset_name, "waterworld", "wd", fresh=bool(fresh))
    assert with_values(LhrmConfig(), {"agent": values["agent"], **values["learn"]}, "the text") == config
    assert f"batch = {config.agent.batch:_}  # a whole number\n" in hrm.out
    assert hrm.out.count("next step (γ).\n") == 1


def test_so_is_the_text_of_crm(hrm: Hrm) -> None:
    assert hrm("settings", "--of", "train", "--agent", "crm") == 0
    values = tomllib.loads(hrm.out)
    assert with_values(CrmConfig(), values["crm"], "the text") == preset("fast", "craftworld", "op", "crm")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["craftwrld"], "did you mean 'craftworld'?"),
        (["craftworld", "--setting", "opp"], "did you mean"),
        (["--agent", "crm"], "--agent crm is for hrm train: add --of train"),
        (["--of", "train", "--agent", "cmr"], "there is no agent 'cmr'; did you mean 'crm'?"),
        (["--preset", "quick"], "--preset is one of fast, paper, table, not 'quick'"),
    ],
)
def test_mistakes_get_one_line(hrm: Hrm, words: list[str], message: str) -> None:
    assert hrm("settings", *words) == 2
    assert message in hrm.err
    assert hrm.err.count("\n") == 1
