"""The config of a run in its file: it is read as it was written, and what is wrong with it is named."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax
import pytest

from lhrm import yards
from lhrm.toy import TWO_ROOMS
from rewardmachines.agents.presets import Preset, preset
from rewardmachines.agents.registry import agent_names
from rewardmachines.core.errors import RewardMachineError, SyntaxProblem
from rewardmachines.envs.registry import BUILT_IN, unregister_domain
from rewardmachines.files.records import difference
from rewardmachines.lhrm.presets import lhrm_preset
from rewardmachines.runs.config import DomainPlace, RunConfig
from rewardmachines.runs.config_file import FORMAT, check_same, load_config, save_config
from rewardmachines.runs.folder import RunFolder
from rewardmachines.runs.run import Run, open_run
from rewardmachines.runs.stopping import RunBudget
from runs.conftest import Wholes
from runs.kinds import KINDS, TRAIN_DOMAIN, Kind

OLDER = {"rewardmachines": "0.0.1", "jax": "0.0.2", "device": "abacus", "date": "1202-01-01T00:00:00+00:00"}


@pytest.mark.parametrize("name", Preset)
def test_presets_of_all_domains_are_read_as_they_were_written(tmp_path: Path, name: Preset) -> None:
    tree = {"a task": yards.TASK}
    for domain, known in BUILT_IN.items():
        for setting in known.settings:
            for agent in (*agent_names(), None):
                settings = lhrm_preset(name, domain, setting) if agent is None else preset(name, domain, setting, agent)
                config = RunConfig(
                    ("a task",), DomainPlace(domain, setting), None, "exact" if agent is None else None,
                    agent or "hrl", settings, seed=3, budget=RunBudget(1000), stop_at=0.1 + 0.2,
                )  # fmt: skip
                save_config(tmp_path / "config.json", config, {} if agent is None else tree)
                assert load_config(tmp_path / "config.json") == (config, {} if agent is None else tree)


def test_configs_of_each_kind_are_read_as_they_were_written(kind: Kind, whole: Run, tmp_path: Path) -> None:
    order = kind.order(RunFolder(tmp_path / "run"))
    assert (order.config, order.hierarchies) == (whole.config, whole.given_hierarchies)
    assert difference(whole.config, open_run(whole.folder).config) is None


DAMAGES: list[tuple[Callable[[Any], object], str]] = [
    (lambda c: c.update(format=99), "written by another version .*, in format 99; this is version"),
    (lambda c: c.update(format="1"), "does not say which format"),
    (lambda c: c.pop("format"), "does not say which format"),
    (lambda c: c.update(colour="red"), "'colour' means nothing there"),
    (lambda c: c.pop("tasks"), "'tasks' is missing"),
    (lambda c: c.update(tasks=[]), "there is no task to learn"),
    (lambda c: c.update(tasks="all"), "tasks: must be a list"),
    (lambda c: c.update(agent="ppo"), "agent.*'ppo'"),
    (lambda c: c.update(agent=["crm"]), "agent: must be a text"),
    (lambda c: c.pop("agent"), "'agent' is missing"),
    (lambda c: c.update(seed=2**32), "a seed lies between 0 and"),
    (lambda c: c.update(stop_at=2.0), "between 0 and 1, not 2"),
    (lambda c: c["budget"].update(steps=0), "at least one step"),
    (lambda c: c.update(budget={"steps": None, "episodes": None, "seconds": None}, stop_at=0.0), "would never end"),
    (lambda c: c.update(domain=None, gym=None), "in a domain, or in Gymnasium environments"),
    (lambda c: c.update(settings=[]), "settings: must be a mapping of keys to values"),
    (lambda c: c.update(hierarchies=[]), "'hierarchies' must be a mapping"),
]


@pytest.mark.parametrize(("change", "message"), DAMAGES)
def test_damaged_configs_are_named_in_one_line(
    kind: Kind, copy: Path, change: Callable[[Any], object], message: str
) -> None:
    content = json.loads((copy / "config.json").read_text())
    change(content)
    (copy / "config.json").write_text(json.dumps(content))
    for use in (open_run, kind.resume):
        with pytest.raises(SyntaxProblem, match=f"config.json.*{message}") as problem:
            use(copy)
        assert "\n" not in str(problem.value)


@pytest.mark.parametrize("kind", [TRAIN_DOMAIN], ids=str)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s: s.update(bach=3), "'bach' means nothing there; did you mean 'batch'"),
        (lambda s: s.pop("batch"), "settings: 'batch' is missing"),
        (lambda s: s.update(batch="many"), "settings, batch: must be a whole number, not many"),
        (lambda s: s.update(batch=True), "must be a whole number, not True"),
        (lambda s: s.update(discount=None), "must be a number, not None"),
        (lambda s: s.update(network=[]), "must be a mapping of keys to values"),
        (lambda s: s["network"].update(hidden=[1, "x"]), r"hidden\[1\]: must be a whole number"),
        (lambda s: s["network"].update(hidden=1), "hidden: must be a list, not 1"),
        (lambda s: s.update(optimizer="sgd"), "must be one of adam, rmsprop, not sgd"),
    ],
)
def test_damaged_settings_are_named(copy: Path, change: Callable[[Any], object], message: str) -> None:
    content = json.loads((copy / "config.json").read_text())
    change(content["settings"])
    (copy / "config.json").write_text(json.dumps(content))
    with pytest.raises(SyntaxProblem, match=message):
        open_run(copy)


@pytest.mark.parametrize("kind", [TRAIN_DOMAIN], ids=str)
def test_a_damaged_hierarchy_is_named_and_so_is_one_that_is_missing(copy: Path) -> None:
    content = json.loads((copy / "config.json").read_text())
    for hierarchies, message in (({"all": "{"}, "hierarchy of 'all'"), ({}, "the hierarchy of 'all' is missing")):
        (copy / "config.json").write_text(json.dumps({**content, "hierarchies": hierarchies}))
        with pytest.raises(RewardMachineError, match=message):
            open_run(copy)


def test_a_domain_that_is_not_known_is_named(wholes: Wholes) -> None:
    opened = [open_run(wholes[kind].folder) for kind in KINDS.values() if not kind.is_gym]
    unregister_domain(TWO_ROOMS.name)
    for run in opened:
        assert "two-rooms PLAIN" in repr(run)
        assert run.rows
        with pytest.raises(RewardMachineError, match="two-rooms"):
            run.evaluate()


# -- differences


def test_the_first_setting_that_differs_is_said() -> None:
    config = TRAIN_DOMAIN.order(RunFolder(Path("never"))).config
    for changes, message in (
        ({"seed": 1}, "seed is 0, not 1"),
        ({"settings": replace(config.settings, batch=3)}, r"settings\.batch is 64, not 3"),
        ({"domain": replace(config.domain, max_steps=7)}, r"domain\.max_steps is 60, not 7"),
    ):
        with pytest.raises(RewardMachineError, match=f"begun with other settings: {message}$"):
            check_same(replace(config, **changes), config, "there")
    check_same(replace(config, budget=RunBudget(7), stop_at=1.0), config, "there")


# -- what made a run


def makers(config: Path) -> list[dict[str, str]]:
    found: list[dict[str, str]] = json.loads(config.read_text())["made_by"]
    return found


def change(config: Path, **changes: Any) -> None:
    config.write_text(json.dumps(json.loads(config.read_text()) | changes))


def test_configs_record_versions_device_and_date(kind: Kind, whole: Run) -> None:
    (maker,) = makers(whole.files.config)
    age = datetime.now(UTC) - datetime.fromisoformat(maker.pop("date"))
    assert timedelta(seconds=-1) < age < timedelta(hours=2)
    device = jax.devices()[0].device_kind
    assert maker == {"rewardmachines": version("rewardmachines"), "jax": jax.__version__, "device": device}


@pytest.mark.parametrize("damaged", [None, 3, "yesterday", {"jax": "1"}])
def test_runs_of_other_makers_are_resumed_and_damaged_records_begun_afresh(
    kind: Kind, copy: Path, damaged: Any
) -> None:
    config = copy / "config.json"
    change(config, made_by=[OLDER])
    kind.resume(copy)
    assert [maker["device"] for maker in makers(config)] == ["abacus", jax.devices()[0].device_kind]
    change(config, made_by=damaged)
    kind.resume(copy)
    assert len(makers(config)) == 1


@pytest.mark.parametrize("text", ["{", "[]", '"', "\x00"])
def test_configs_are_written_over_a_file_that_cannot_be_read(tmp_path: Path, text: str) -> None:
    path, order = tmp_path / "config.json", TRAIN_DOMAIN.order(RunFolder(tmp_path / "never"))
    path.write_text(text)
    save_config(path, order.config, order.hierarchies)
    assert load_config(path) == (order.config, order.hierarchies)
    assert json.loads(path.read_text())["format"] == FORMAT == 1
