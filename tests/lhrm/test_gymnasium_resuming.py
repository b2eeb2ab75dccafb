"""Runs on Gymnasium environments that are killed and resumed."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from lhrm import yards
from lhrm.stored_yards import folder_of, kept
from lhrm.yards import STEPS, Yard, learn
from rewardmachines.agents.gymnasium.episode_records import ReplayWarning
from rewardmachines.lhrm.learn_gymnasium import LearnedTasks
from rewardmachines.lhrm.worlds.gymnasium.tasks import GymTask
from runs.killing import Kill, folders_left_by

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
