"""Training for a number of episodes, as a person would type it."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from agents.tiny import CONFIG, tiny_arguments, tiny_spec
from cli.commands import Hrm
from rewardmachines.agents.training.rows import Row
from rewardmachines.agents.training.run import load_run
from rewardmachines.agents.training.train import train
from rewardmachines.cli.commands import train as train_command
from rewardmachines.cli.progress import train as watching
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.reports.run_curves import curves
from rewardmachines.runs.budget import Budget

pytestmark = pytest.mark.usefixtures("shared_programs")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int | None, int | None]]:
    """Steps and episodes that runs were asked for, none of which is made."""
    seen: list[tuple[int | None, int | None]] = []

    def refuse(folder: Any, spec: Any, tree: Any, steps: int | None, *, episodes: int | None, **_: Any) -> Any:
        seen.append((steps, episodes))
        raise RewardMachineError("not today")

    monkeypatch.setattr(train_command, "training_rows", refuse)
    return seen


def test_the_preset_paper_trains_for_as_many_episodes_as_published(
    hrm: Hrm, asked: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    grid = ("train", "craftworld", "--task", "bucket")
    for words in (
        (*grid, "--preset", "paper"),
        (*grid, "--preset", "paper", "--setting", "frl"),
        ("train", "waterworld", "--task", "rg", "--setting", "wd", "--preset", "paper"),
        (*grid, "--preset", "paper", "--steps", 7),
        (*grid, "--episodes", 7),
        grid,
    ):
        assert hrm(*words) == 2
        assert "not today" in hrm.err
    assert asked == [(None, 100_000), (None, 200_000), (None, 200_000), (7, None), (None, 7), (2_000_000, None)]


def test_a_run_ends_after_so_many_episodes_and_goes_on_with_more(hrm: Hrm, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    assert hrm(*tiny_arguments(), "--episodes", 6, "--set", "evaluate_episodes=3", "-o", folder) == 0
    run = load_run(folder)
    assert run.order.budget == Budget(episodes=6)
    done = run.rows()[-1].episodes
    assert 6 <= done < 6 + CONFIG.environments
    assert f"{done} episodes" in hrm.err
    assert hrm("train", "--resume", "-o", folder) == 0
    assert "nothing left to do" in hrm.err
    assert hrm("train", "--resume", "-o", folder, "--episodes", done + 4) == 0
    assert load_run(folder).rows()[-1].episodes >= done + 4
    assert hrm(*tiny_arguments(), "--episodes", 0, "-o", tmp_path / "none") == 2
    assert "at least one episode" in hrm.err


def test_seeds_that_have_taken_different_steps_are_plotted_on_every_axis(tmp_path: Path) -> None:
    spec = tiny_spec(setting="opl", seeds=2, config=replace(CONFIG, evaluate_episodes=10))
    run = train(tmp_path / "run", spec, None, episodes=30)
    last = run.rows()[-2:]
    assert last[0].steps != last[1].steps
    for axis in ("steps", "episodes", "seconds"):
        (curve,) = curves([run], axis)
        assert curve.seeds == 2
        assert (curve.x >= 0).all()


def test_progress_is_shown_in_what_was_asked_for() -> None:
    rows = [Row(seed, 1, steps, 50, 0, 0, 0.0, 0.0, 1.0, None, None) for seed, steps in ((0, 900), (1, 800))]
    for steps, episodes, said in (
        (None, 100, "900 steps · 50 of 100 episodes"),
        (1000, None, "900 of 1,000 steps"),
        (1000, 100, "900 of 1,000 steps · 50 of 100 episodes"),
    ):
        display = watching._Display(watching.Watched("title", Budget(steps, episodes), seeds=2), watching.Speed(2))
        display.update(rows)
        shown = StringIO()
        Console(width=200, file=shown).print(display.render())
        assert said in shown.getvalue()


def test_a_run_that_ends_with_a_chunk_has_no_time_left() -> None:
    display = watching._Display(watching.Watched("title", Budget(1000), seeds=1), watching.Speed())
    for steps in (600, 1200):
        display.update([Row(0, 1, steps, 50, 0, 0, 0.0, 0.0, 1.0, None, None)])
    shown = StringIO()
    Console(width=200, file=shown).print(display.render())
    assert "0:00:00 left at most" in shown.getvalue()
