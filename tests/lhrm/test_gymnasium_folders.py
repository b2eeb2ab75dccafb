"""Folders of runs on Gymnasium environments: what is in them, and when they are refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from envs import painted
from lhrm import yards
from lhrm.stored_yards import folder_of
from lhrm.yards import STEPS, TASKS, Yard, learn
from rewardmachines.agents.networks import Body, NetworkConfig
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.lhrm.gymnasium_runs.run import load_gymnasium_run
from rewardmachines.lhrm.learn import learn as learn_in_domain
from rewardmachines.lhrm.learn_gymnasium import LearnedTasks, learn_gymnasium
from rewardmachines.lhrm.run import load_learning
from rewardmachines.lhrm.worlds.gymnasium.tasks import GymTask


def test_the_folder_has_what_that_of_hrm_learn_has(whole: LearnedTasks) -> None:
    names = {path.name for path in folder_of(whole).iterdir()}
    assert names >= {"config.json", "metrics.jsonl", "timing.jsonl", "events", "checkpoint.safetensors", "machines"}
    assert names >= {"examples", "policies.safetensors", "policies-best.safetensors"}
    run = load_gymnasium_run(folder_of(whole))
    assert tuple(run.rows()) == whole.rows
    assert run.hierarchies() == {name: tree.rooted(name) for name, tree in whole.hierarchies.items()}
    assert run.examples() == {name: whole.examples(name) for name in run.hierarchies()}
    assert run.missing().keys() == {"ab", "all"}
    assert len(run.moments()) == len(whole.rows)
    assert Yard.open == 0


def test_a_run_in_a_folder_is_the_run_in_memory(whole: LearnedTasks) -> None:
    few = learn(None, steps=8 * STEPS)
    assert few.rows == whole.rows[: len(few.rows)]
    assert few.files is None


def test_callbacks_are_given_every_chunk_and_the_budget_holds(tmp_path: Path) -> None:
    seen: list[Any] = []
    rows: list[Any] = []
    learned = learn(tmp_path / "run", steps=None, seconds=1e-6, callbacks=[seen.append], progress=rows.append)
    assert (seen, rows, learned.rows) == ([], [], ())
    learned = learn(tmp_path / "run", steps=2 * STEPS, resume=True, callbacks=[seen.append], progress=rows.append)
    assert [chunk.row for chunk in seen] == rows == list(learned.rows)
    assert learned.rows[-1].steps == seen[-1].moment.steps >= 2 * STEPS
    assert seen[-1].run is learned.run


def test_environments_without_a_name_are_given_again(tmp_path: Path) -> None:
    nameless = [GymTask(task.name, task.level, lambda task=task: task.make_env(), task.instances) for task in TASKS]  # type: ignore[misc]
    begun = learn(tmp_path / "run", tasks=nameless, steps=4 * STEPS)
    assert [task.env for task in load_gymnasium_run(tmp_path / "run").spec.tasks] == [None] * 3
    with pytest.raises(RewardMachineError, match="the environment of 'ab' was given as an object that cannot be found"):
        learn(tmp_path / "run", resume=True)
    again = learn(tmp_path / "run", tasks=TASKS, steps=6 * STEPS, resume=True)
    assert again.rows[: len(begun.rows)] == begun.rows
    assert load_gymnasium_run(tmp_path / "run").spec.tasks[0].env == "lhrm.yards:make_ab"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seed": 4}, "the run was begun with other settings: seed is 3, not 4"),
        ({"max_steps": 61}, "the run was begun with other settings: max_steps is 60, not 61"),
        ({"tasks": TASKS[:2]}, "the run was begun with other settings: tasks is "),
        ({"tasks": [GymTask("ab", 1, yards.make_moody), *TASKS[1:]]}, "yards:make_ab.* not .*yards:make_moody"),
        ({"encode": yards.encode}, r"begun with other settings: senses\.observations\.dtype is int32, not float32"),
    ],
)
def test_a_run_is_resumed_with_what_it_was_begun_with(copy: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(RewardMachineError, match=message):
        learn(copy, resume=True, **options)
    assert Yard.open == 0


def test_folders_of_others_are_refused(copy: Path, tmp_path: Path) -> None:
    steps = json.loads((copy / "metrics.jsonl").read_text().splitlines()[-1])["steps"]
    message = (
        "copy: there is a run already; choose another folder, or --resume it: it is of 'rm.learn_gymnasium', tasks ab, "
        rf"bc, all, seed 3, {steps:,} steps so far; to go on with it, pass resume=True, or type: "
        r"hrm learn --resume -o \S+$"
    )
    with pytest.raises(RewardMachineError, match=message):
        learn(copy)
    with pytest.raises(RewardMachineError, match="there is no run"):
        learn(tmp_path / "nothing", resume=True)
    with pytest.raises(RewardMachineError, match="say which folder holds the run to resume"):
        learn_gymnasium(resume=True)
    with pytest.raises(RewardMachineError, match=r"this is a run of 'rm.learn_gymnasium', not of 'hrm learn'"):
        load_learning(copy)
    with pytest.raises(RewardMachineError, match=r"this is a run of 'rm.learn_gymnasium', not of 'hrm learn'"):
        learn_in_domain(copy, resume=True)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"evaluations": [1]}, "its episodes are not those of the run"),
        ({"chance": "{}"}, "the state of its chance cannot be read"),
    ],
)
def test_damaged_checkpoints_are_named(copy: Path, change: dict[str, Any], message: str) -> None:
    path = copy / "checkpoint.safetensors"
    arrays = load_file(path)
    content = json.loads(arrays["host"].tobytes())
    content["snapshot"]["worlds"] |= change
    arrays["host"] = np.frombuffer(json.dumps(content).encode(), np.uint8)
    save_file(arrays, path, {"rewardmachines": json.dumps({"format": 2})})
    with pytest.raises(RewardMachineError, match=f"checkpoint.safetensors: damaged, {message}"):
        learn(copy, resume=True)


def test_a_function_changes_the_settings_that_fit_the_observations() -> None:
    field = GymTask("walk", 1, painted.make)
    learned = learn_gymnasium([field], seconds=1e-9, config=lambda usual: replace(usual, goals=70))
    agent = learned.run.config.agent
    assert learned.run.config.goals == 70
    assert (agent.network.body, agent.call_network.body) == (Body.CNN, Body.CNN)
    mlp = NetworkConfig(Body.MLP, hidden=(8,))
    learned = learn_gymnasium([field], seconds=1e-9, network=mlp, config=lambda usual: replace(usual, goals=70))
    assert learned.run.config.agent.network == mlp
