"""Runs on Gymnasium environments in folders: killed, resumed, looked at, and acted with where nobody knows them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import warnings
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from lhrm import yards
from lhrm.test_gymnasium import Yard
from lhrm.yards import STEPS, TASKS, learn
from rewardmachines.agents.gymnasium.episode_records import ReplayWarning
from rewardmachines.agents.gymnasium.observations import Reading
from rewardmachines.agents.gymnasium.reading_record import ReadingRecord
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.lhrm.gymnasium_runs.run import load_gymnasium_run, load_policy
from rewardmachines.lhrm.learn import learn as learn_in_domain
from rewardmachines.lhrm.learn_gymnasium import LearnedTasks, learn_gymnasium
from rewardmachines.lhrm.run import load_learning
from rewardmachines.lhrm.snapshot import Snapshot
from rewardmachines.lhrm.worlds.gymnasium.tasks import GymTask
from rewardmachines.runs.checkpoint import read_snapshot
from runs.killing import Kill, folders_left_by


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> LearnedTasks:
    """Learned without a break."""
    learned = learn(tmp_path_factory.mktemp("runs") / "whole")
    assert set(learned.hierarchies) == {"ab", "bc"}
    return learned


def folder_of(learned: LearnedTasks) -> Path:
    assert learned.files is not None
    return learned.files.path


@pytest.fixture
def copy(whole: LearnedTasks, tmp_path: Path) -> Path:
    """To be changed."""
    return Path(shutil.copytree(folder_of(whole), tmp_path / "copy"))


def kept(folder: Path) -> dict[str, bytes]:
    """What depends on the settings alone."""
    files = [folder / "metrics.jsonl", *(folder / "machines").iterdir(), *(folder / "examples").iterdir()]
    networks = load_file(folder / "policies-best.safetensors")
    networks.pop("host")  # says how long searches took
    return {
        **{str(path.relative_to(folder)): path.read_bytes() for path in files},
        **{name: array.tobytes() for name, array in networks.items()},
    }


# -- the folder


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


# -- killed and resumed

_CHILD = """
from lhrm.yards import learn
learn(FOLDER)
"""
KILLS = {
    Kill("config.json", "half"): False,
    Kill("metrics.jsonl", "half", 2): True,
    Kill("machines/ab.json", "half"): True,
    Kill("examples/bc.jsonl", "after"): True,
    Kill("policies-best.safetensors", "half", 2): True,
    Kill("/policies.safetensors", "half", 9): True,
    Kill("checkpoint.safetensors", "before", 1): True,
    Kill("checkpoint.safetensors", "after", 5): True,
    Kill("checkpoint.safetensors", "before", 14): True,
    Kill("checkpoint.safetensors", "after", 23): True,
}
"""And whether there is a run by then."""


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is left of a run that is killed."""
    return folders_left_by(list(KILLS), learn, _CHILD, tmp_path_factory)


@pytest.mark.parametrize(("kill", "has_begun"), KILLS.items(), ids=str)
def test_a_run_that_is_killed_goes_on_as_if_nothing_had_happened(
    whole: LearnedTasks, copies: Path, kill: Kill, has_begun: bool
) -> None:
    folder = copies / kill.folder
    assert (folder / "config.json").exists() == has_begun
    with warnings.catch_warnings():
        warnings.simplefilter("error", ReplayWarning)
        resumed = learn(folder, steps=None, resume=True) if has_begun else learn(folder)
    assert resumed.rows == whole.rows
    assert kept(folder) == kept(folder_of(whole))
    assert not list(folder.rglob("*.part"))
    assert Yard.open == 0


def test_a_run_that_is_resumed_learns_on(copy: Path) -> None:
    longer = learn(copy, steps=34 * STEPS, resume=True)
    assert longer.rows == learn(None, steps=34 * STEPS).rows


def test_episodes_that_cannot_be_replayed_are_given_up_with_one_warning(tmp_path: Path) -> None:
    moody = [GymTask("ab", 1, yards.make_moody)]
    before = learn(tmp_path / "run", tasks=moody, steps=3 * STEPS)
    with pytest.warns(ReplayWarning, match=r"\d+ of 20 episodes could not be replayed") as told:
        after = learn(tmp_path / "run", steps=5 * STEPS, resume=True)
    assert len([one for one in told if one.category is ReplayWarning]) == 1
    assert after.rows[: len(before.rows)] == before.rows
    assert after.rows[-1].steps >= 5 * STEPS


# -- with other environments, or none


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


# -- policies


@pytest.mark.parametrize("best", [False, True])
def test_a_policy_acts_again_from_the_folder(whole: LearnedTasks, best: bool) -> None:
    folder = folder_of(whole)
    policy, trained = load_policy(folder, "bc", best=best), whole.policy("bc")
    env = yards.make_bc()
    for seed in range(5):
        observation, info = env.reset(seed=seed)
        policy.reset(info["label"])
        trained.reset(info["label"])
        done = False
        while not done:
            action = policy.act(observation, info["label"])
            assert best or action == trained.act(observation, info["label"])
            observation, _, terminated, truncated, info = env.step(action)
            done = terminated or truncated
        assert info["outcome"] == "goal"
    env.close()


def test_the_best_policies_are_those_of_the_best_evaluation(whole: LearnedTasks) -> None:
    judged = [row for row in whole.rows if row.mean_return is not None and not row.learned]
    best = max(row.mean_return or 0 for row in judged)
    last = [row.chunk for row in judged if row.mean_return == best][-1]
    assert read_snapshot(folder_of(whole) / "policies-best.safetensors", Snapshot).tally.chunks == last


_STRANGER = """
import sys
from rewardmachines import load_policy
policy = load_policy(sys.argv[1], "ab")
policy.reset(set())
print(policy.act(3, set()))
assert not [name for name in sys.modules if "yards" in name or "test_gymnasium" in name]
"""


def test_a_policy_needs_no_code_of_whoever_trained_it(whole: LearnedTasks, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _STRANGER, str(folder_of(whole))],
        check=False,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) in range(1, 5)
    assert "importing" not in done.stderr


def test_what_cannot_be_loaded_is_said(whole: LearnedTasks, tmp_path: Path) -> None:
    folder = folder_of(whole)
    with pytest.raises(RewardMachineError, match="there is no task 'abc' in this run"):
        load_policy(folder, "abc")
    with pytest.raises(RewardMachineError, match="nothing can be done about 'all' yet: there is no machine"):
        load_policy(folder, "all")
    with pytest.raises(RewardMachineError, match="observations were not encoded: leave out encode="):
        load_policy(folder, "ab", encode=yards.encode)
    learn(tmp_path / "few", steps=STEPS)
    with pytest.raises(RewardMachineError, match="no evaluation has judged policies yet"):
        load_policy(tmp_path / "few", "ab", best=True)


def test_encoded_observations_need_their_function_again(tmp_path: Path) -> None:
    run = learn(tmp_path / "run", steps=12 * STEPS, encode=yards.encode)
    assert "bc" in run.hierarchies
    observations = load_gymnasium_run(tmp_path / "run").spec.senses.observations
    assert (observations.is_encoded, observations.encode) == (True, "lhrm.yards:encode")
    with pytest.raises(RewardMachineError, match=r"observations were encoded by lhrm.yards:encode: pass it again"):
        load_policy(tmp_path / "run", "bc")
    policy = load_policy(tmp_path / "run", "bc", encode=yards.encode)
    policy.reset(set())
    assert policy.act(3, set()) in range(1, 5)
    resumed = learn(tmp_path / "run", steps=13 * STEPS, resume=True)
    assert len(resumed.rows) > len(run.rows)


def test_a_record_of_a_reading_has_all_that_a_reading_has() -> None:
    assert {field.name for field in fields(ReadingRecord)} == {field.name for field in fields(Reading)} | {"is_encoded"}


# -- evaluation


def test_policies_are_evaluated_in_the_environments_that_the_run_names(whole: LearnedTasks) -> None:
    run = load_gymnasium_run(folder_of(whole))
    for best in (False, True):
        evaluations = {evaluation.task: evaluation for evaluation in run.evaluate(best=best)}
        assert set(evaluations) == {"ab", "bc"}
        assert evaluations["bc"].returns == (1.0, 1.0, 1.0)
        assert all(1 <= length <= 60 for length in evaluations["bc"].lengths)
        assert len(evaluations["ab"].returns) == 10
    assert Yard.open == 0
