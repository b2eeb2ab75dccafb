"""Training in Gymnasium environments that is killed and resumed."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from agents.yard_runs import STEPS, folder_of, kept, train
from lhrm import yards
from lhrm.yards import Yard
from rewardmachines.agents.algorithms import crm_settings
from rewardmachines.agents.gymnasium.episode_records import ReplayWarning
from rewardmachines.agents.gymnasium.trained import Trained
from runs.killing import Kill, folders_left_by


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """Trained without a break."""
    return train(tmp_path_factory.mktemp("runs") / "whole")


_CHILD = """
from agents.yard_runs import train
train(FOLDER)
"""
KILLS = {
    Kill("machines/ab.json", "half"): False,
    Kill("config.json", "half"): False,
    Kill("metrics.jsonl", "half", 2): True,
    Kill("timing.jsonl", "half", 7): True,
    Kill("ab-3-best.safetensors", "half", 2): True,
    Kill("ab-3-best.safetensors", "after", 3): True,
    Kill("/ab-3.safetensors", "half", 9): True,
    Kill("checkpoint.safetensors", "before", 1): True,
    Kill("checkpoint.safetensors", "half", 4): True,
    Kill("checkpoint.safetensors", "after", 5): True,
    Kill("checkpoint.safetensors", "before", 11): True,
    Kill("checkpoint.safetensors", "after", 14): True,
}
"""And whether there is a run by then."""


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is left of a run that is killed."""
    return folders_left_by(list(KILLS), train, _CHILD, tmp_path_factory)


@pytest.mark.parametrize(("kill", "has_begun"), KILLS.items(), ids=str)
def test_a_run_that_is_killed_goes_on_as_if_nothing_had_happened(
    whole: Trained, copies: Path, kill: Kill, has_begun: bool
) -> None:
    folder = copies / kill.folder
    assert (folder / "config.json").exists() == has_begun
    with warnings.catch_warnings():
        warnings.simplefilter("error", ReplayWarning)
        resumed = train(folder, steps=None, resume=True) if has_begun else train(folder)
    assert resumed.rows == whole.rows
    assert kept(folder) == kept(folder_of(whole))
    assert not list(folder.rglob("*.part"))
    assert Yard.open == 0


def test_a_process_that_is_killed_goes_on_as_if_nothing_had_happened(whole: Trained, tmp_path: Path) -> None:
    Kill("checkpoint.safetensors", "after", 6).run(tmp_path / "run", _CHILD)
    assert train(tmp_path / "run", steps=None, resume=True).rows == whole.rows
    assert kept(tmp_path / "run") == kept(folder_of(whole))


@pytest.mark.parametrize("algorithm", ["hrl", "crm"])
def test_a_run_without_instances_that_is_resumed_learns_on(tmp_path: Path, algorithm: str) -> None:
    config = crm_settings(yards.FEW.agent) if algorithm == "crm" else yards.FEW.agent
    options = {"instances": None, "algorithm": algorithm, "config": config}
    train(tmp_path / "run", steps=3 * STEPS, **options)
    longer = train(tmp_path / "run", steps=5 * STEPS, resume=True)
    assert longer.rows == train(None, steps=5 * STEPS, **options).rows
    assert {len(row.returns) for row in longer.rows if row.returns is not None} == {10}


def test_episodes_that_cannot_be_replayed_are_given_up_with_one_warning(tmp_path: Path) -> None:
    before = train(tmp_path / "run", envs=yards.make_moody, steps=3 * STEPS)
    with pytest.warns(ReplayWarning, match=r"\d+ of 20 episodes could not be replayed") as told:
        after = train(tmp_path / "run", steps=5 * STEPS, resume=True)
    assert len([one for one in told if one.category is ReplayWarning]) == 1
    assert after.rows[: len(before.rows)] == before.rows
    assert after.rows[-1].steps == 5 * STEPS
