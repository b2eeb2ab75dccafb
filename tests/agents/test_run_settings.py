"""Settings of runs of training: read as they were written, and what is wrong with them is named."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rewardmachines.agents.config import Algorithm
from rewardmachines.agents.presets import Preset
from rewardmachines.agents.training.run import load_run
from rewardmachines.agents.training.spec import TrainOrder, load_order, save_order, standard_spec
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs.registry import BUILT_IN
from rewardmachines.runs.budget import Budget

pytestmark = pytest.mark.usefixtures("shared_programs")


@pytest.mark.parametrize("algorithm", Algorithm)
@pytest.mark.parametrize("preset", Preset)
def test_settings_are_read_as_they_were_written(tmp_path: Path, preset: Preset, algorithm: Algorithm) -> None:
    for domain, settings in ((name, known.settings) for name, known in BUILT_IN.items()):
        for setting in settings:
            spec = standard_spec(domain, setting, "a task", algorithm, settings=preset, seed=3, seeds=2)
            order = TrainOrder(spec, Budget(1000), 0.1 + 0.2)
            save_order(order, tmp_path / "config.json")
            assert load_order(tmp_path / "config.json") == order


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c.update(format=99), "written by a later version .*, in format 99; this is version"),
        (lambda c: c.update(colour="red"), "'colour' means nothing there"),
        (lambda c: c["spec"]["config"].update(bach=3), "'bach' means nothing there; did you mean 'batch'"),
        (lambda c: c["spec"]["config"].pop("batch"), "spec, config: 'batch' is missing"),
        (lambda c: c["spec"]["config"].update(batch="many"), "config, batch: must be a whole number, not many"),
        (lambda c: c["spec"]["config"].update(batch=True), "must be a whole number, not True"),
        (lambda c: c["spec"]["config"].update(discount=None), "must be a number, not None"),
        (lambda c: c["spec"]["config"].update(network=[]), "must be a mapping of keys to values"),
        (lambda c: c["spec"]["config"]["network"].update(hidden=[1, "x"]), r"hidden\[1\]: must be a whole number"),
        (lambda c: c["spec"]["config"]["network"].update(hidden=1), "hidden: must be a list, not 1"),
        (lambda c: c["spec"]["config"].update(optimizer="sgd"), "must be one of adam, rmsprop, not sgd"),
        (lambda c: c["spec"].update(algorithm="ppo"), "must be one of hrl, flat-hrl, crm, not ppo"),
        (lambda c: c["spec"].update(algorithm=["crm"]), "must be one of hrl, flat-hrl, crm, not"),
        (lambda c: c["spec"].update(algorithm="crm"), "spec, config: 'formulas' means nothing there"),
        (lambda c: c["spec"].pop("algorithm"), "spec: 'algorithm' is missing"),
        (lambda c: c["budget"].update(steps=0), "at least one step"),
    ],
)
def test_damaged_settings_are_named(copy: Path, change: Callable[[Any], object], message: str) -> None:
    content = json.loads((copy / "config.json").read_text())
    change(content)
    (copy / "config.json").write_text(json.dumps(content))
    with pytest.raises(RewardMachineError, match=message):
        load_run(copy)
