"""Training in Gymnasium environments in folders: what is in them, budgets, and what cannot be resumed."""

from __future__ import annotations

import json
import shutil
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from safetensors.numpy import load_file, save_file

from agents.yard_runs import STEPS, TASK, folder_of, train
from lhrm import yards
from lhrm.yards import Yard
from rewardmachines.agents.gymnasium.runs.run import load_gymnasium_training
from rewardmachines.agents.gymnasium.train import train_gymnasium, vectorize
from rewardmachines.agents.gymnasium.trained import Trained
from rewardmachines.agents.training.run import load_run
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs import HierarchyWrapper
from rewardmachines.language import compile_task
from rewardmachines.lhrm.gymnasium_runs.run import load_gymnasium_run


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """Trained without a break."""
    return train(tmp_path_factory.mktemp("runs") / "whole")


@pytest.fixture
def copy(whole: Trained, tmp_path: Path) -> Path:
    """To be changed."""
    return Path(shutil.copytree(folder_of(whole), tmp_path / "copy"))


def test_the_folder_has_what_that_of_hrm_train_has(whole: Trained) -> None:
    folder = folder_of(whole)
    names = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert names >= {"config.json", "metrics.jsonl", "timing.jsonl", "checkpoint.safetensors", "machines/ab.json"}
    assert names >= {"policies/ab-3.safetensors", "policies/ab-3-best.safetensors"}
    assert any(name.startswith("events/") for name in names)
    run = load_gymnasium_training(folder)
    assert tuple(run.rows()) == whole.rows
    assert len(run.moments()) == len(whole.rows) == 16
    assert run.hierarchy == TASK
    assert (run.spec.task, run.spec.env, run.spec.instances) == ("ab", "lhrm.yards:make_ab", 3)
    assert whole.rows[-1].goals > 0
    assert [row.chunk for row in whole.rows if row.returns is not None] == list(range(2, 17, 2))
    assert Yard.open == 0


def test_a_run_in_a_folder_is_the_run_in_memory(whole: Trained) -> None:
    few = train(None, steps=4 * STEPS)
    assert few.rows == whole.rows[: len(few.rows)]
    assert few.files is None


def test_callbacks_are_given_every_chunk_and_the_budget_holds(tmp_path: Path) -> None:
    rows: list[Any] = []
    seen: list[Any] = []
    options: dict[str, Any] = {"callbacks": [rows.append], "progress": seen.append}
    assert train(tmp_path / "run", steps=None, seconds=1e-6, **options).rows == ()
    trained = train(tmp_path / "run", steps=2 * STEPS, resume=True, **options)
    assert rows == list(trained.rows)
    assert [one.steps for one in seen] == [STEPS, 2 * STEPS]
    trained = train(tmp_path / "run", steps=None, episodes=trained.episodes + 1, resume=True)
    assert len(trained.rows) == 3


def test_it_ends_when_it_is_good_enough_also_after_a_break(whole: Trained, copy: Path) -> None:
    means = [row.mean_return for row in whole.rows if row.mean_return is not None]
    good = max(sum(means[i : i + 3]) / 3 for i in range(len(means) - 2))
    assert good > 0
    early = train(None, stop_at=good - 1e-9)
    assert early.rows == whole.rows[: len(early.rows)]
    assert early.rows[-1].mean_return is not None
    again = train(copy, steps=40 * STEPS, stop_at=good - 1e-9, resume=True)
    assert again.rows == whole.rows


def test_evaluations_come_after_so_many_episodes_if_asked_for() -> None:
    config = yards.FEW.agent.__class__(**{**yards.FEW.agent.__dict__, "evaluate_episodes": 50})
    rows = train(None, steps=6 * STEPS, config=config).rows
    evaluated = [row.episodes for row in rows if row.returns is not None]
    assert evaluated
    assert all(now // 50 > before // 50 for before, now in zip([0, *evaluated], evaluated, strict=False))


# -- other environments


def test_environments_side_by_side_are_taken_apart(tmp_path: Path, whole: Trained) -> None:
    envs = vectorize(yards.make_ab, 20)
    trained = train(tmp_path / "run", envs=envs, steps=2 * STEPS)
    envs.close()
    assert trained.rows == whole.rows[:2]
    others = SyncVectorEnv([yards.make_ab, yards.make_bc], autoreset_mode=AutoresetMode.SAME_STEP)
    with pytest.raises(RewardMachineError, match=r"cannot be begun one by one.* pass a function that makes one"):
        train(tmp_path / "other", envs=others)
    others.close()
    assert Yard.open == 0


def test_an_environment_may_follow_the_hierarchy_already_but_no_other(whole: Trained) -> None:
    wrapped = partial(HierarchyWrapper, hierarchy=TASK)
    assert train(None, steps=STEPS, envs=lambda: wrapped(yards.make_ab())).rows == whole.rows[:1]
    with pytest.raises(RewardMachineError, match="the environment of 'ab' follows another hierarchy already"):
        train(None, hierarchy=compile_task("b ; a"), envs=lambda: wrapped(yards.make_ab()))
    assert Yard.open == 0


def test_an_environment_without_a_name_is_given_again(tmp_path: Path) -> None:
    begun = train(tmp_path / "run", envs=lambda: yards.make_ab(), steps=2 * STEPS)  # noqa: PLW0108
    with pytest.raises(RewardMachineError, match="the environment was given as an object that cannot be found"):
        train(tmp_path / "run", resume=True)
    with pytest.raises(RewardMachineError, match="the environment was given as an object that cannot be found"):
        load_gymnasium_training(tmp_path / "run").evaluate()
    again = train(tmp_path / "run", envs=yards.make_ab, steps=3 * STEPS, resume=True)
    assert again.rows[:2] == begun.rows
    assert load_gymnasium_training(tmp_path / "run").spec.env == "lhrm.yards:make_ab"


# -- what is refused


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seed": 4}, "the run was begun with other settings: seed is 3, not 4"),
        ({"max_steps": 61}, "the run was begun with other settings: max_steps is 60, not 61"),
        ({"instances": 2}, "the run was begun with other settings: instances is 3, not 2"),
        ({"task": "other"}, "the run was begun with other settings: task is ab, not other"),
        ({"envs": yards.make_bc}, "begun with other settings: env is lhrm.yards:make_ab, not lhrm.yards:make_bc"),
        ({"encode": yards.encode}, r"begun with other settings: senses\.observations\.dtype is int32, not float32"),
        ({"hierarchy": compile_task("b ; a")}, "the run was begun with another hierarchy"),
        ({"algorithm": "flat-hrl"}, "begun with other settings: algorithm is hrl, not flat-hrl"),
    ],
)
def test_a_run_is_resumed_with_what_it_was_begun_with(copy: Path, options: dict[str, Any], message: str) -> None:
    before = (copy / "config.json").read_bytes()
    with pytest.raises(RewardMachineError, match=message):
        train(copy, resume=True, **options)
    assert (copy / "config.json").read_bytes() == before
    assert Yard.open == 0


def test_folders_of_others_are_refused(copy: Path, tmp_path: Path) -> None:
    message = (
        "copy: there is a run already; choose another folder, or --resume it: it is of 'rm.train_gymnasium', task ab, "
        r"seed 3, 6,400 steps so far; to go on with it, pass resume=True, or type: hrm train --resume -o \S+$"
    )
    with pytest.raises(RewardMachineError, match=message):
        train(copy)
    with pytest.raises(RewardMachineError, match="there is no run"):
        train(tmp_path / "nothing", resume=True)
    with pytest.raises(RewardMachineError, match="say which folder holds the run to resume"):
        train_gymnasium(resume=True)
    with pytest.raises(RewardMachineError, match=r"this is a run of 'rm.train_gymnasium', not of 'hrm train'"):
        load_run(copy)
    with pytest.raises(RewardMachineError, match=r"a run of 'rm.train_gymnasium', not of 'rm.learn_gymnasium'"):
        load_gymnasium_run(copy)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"steps": None}, "it would never end"),
        ({"stop_at": 2.0}, "a return that is good enough lies between 0 and 1, not 2"),
        ({"instances": 0}, "at least one instance, not 0"),
        ({"max_steps": 0}, "an episode has at least one step, not 0"),
        ({"hierarchy": compile_task("a ; moon")}, "the hierarchy mentions 'moon', but the environment only knows"),
        ({"hierarchy": None}, "say where to act, and what is to be done"),
        ({"envs": Yard}, "the environment cannot be made: TypeError"),
        ({"envs": lambda: Yard("ab")}, "the environment is not labelled"),
        ({"envs": lambda: 3}, "task 'ab': 3 is no Gymnasium environment"),
        ({"algorithm": "crm"}, "the settings of crm are a CrmConfig"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_written(
    tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(RewardMachineError, match=message):
        train(tmp_path / "run", **options)
    assert not (tmp_path / "run").exists()
    assert Yard.open == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"evaluations": [1]}, "its episodes are not those of the run"),
        ({"returns": [0.5]}, "its episodes are not those of the run"),
        ({"chance": "{}"}, "the state of its chance cannot be read"),
    ],
)
def test_damaged_checkpoints_are_named(copy: Path, change: dict[str, Any], message: str) -> None:
    path = copy / "checkpoint.safetensors"
    arrays = load_file(path)
    content = json.loads(arrays["host"].tobytes())
    content["snapshot"] |= change
    arrays["host"] = np.frombuffer(json.dumps(content).encode(), np.uint8)
    save_file(arrays, path, {"rewardmachines": json.dumps({"format": 2})})
    with pytest.raises(RewardMachineError, match=f"checkpoint.safetensors: damaged, {message}"):
        train(copy, resume=True)
    assert Yard.open == 0
