"""Curves of runs say what they are the mean of, and tasks are not mixed unless that is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from reports.made_up import MadeUpRun, made_up, made_up_training, row
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.library import task
from rewardmachines.reports.charts import Background
from rewardmachines.reports.curve_plot import caption_of, curves, plot_curves
from rewardmachines.runs.journal import TimingRow

TASKS = ("bucket", "paper", "milk-bucket")


def learning(seed: int, returns: Sequence[Sequence[float]], goals: tuple[int, ...] = (10,)) -> MadeUpRun:
    """A run of LHRM with instances of its own and an evaluation for each return of a task."""
    run = made_up(names=TASKS[: len(returns)])
    assert run.config.domain is not None
    by_time = enumerate(zip(*returns, strict=True), 1)
    rows = [row(n, returns=[(each, each) for each in now], goals=(0,) * len(returns)) for n, now in by_time]
    settings, place = replace(run.config.settings, goals=goals), replace(run.config.domain, instance_seed=seed)
    config = replace(run.config, settings=settings, domain=place, seed=seed)
    timing = [TimingRow(one.steps, 0.5 * one.chunk) for one in rows]
    return replace(run, config=config, rows=rows, timing=timing, folder=Path(f"runs/learning-{seed}"))


RUNS = [
    learning(0, ((0, 1, 1, 1), (0, 0, 0, 0), (0, 0, 0, 1))),
    learning(1, ((0, 0, 1, 1), (0, 0, 1, 0), (0, 0, 0, 1))),
]


def test_every_task_has_a_curve_of_its_own_over_all_seeds() -> None:
    bucket, paper, milk = curves(RUNS, "steps")
    assert [curve.tasks for curve in (bucket, paper, milk)] == [(name,) for name in TASKS]
    assert bucket.mean.tolist() == [0, 0.5, 1, 1]
    assert paper.mean.tolist() == [0, 0, 0.5, 0]
    assert {(curve.seeds, curve.evaluated_in) for curve in (bucket, paper, milk)} == {(2, "2 instances")}


def test_the_mean_of_all_tasks_is_drawn_if_it_is_asked_for() -> None:
    (curve,) = curves(RUNS, "steps", over_tasks=True)
    assert curve.tasks == TASKS
    assert curve.mean.tolist() == pytest.approx([0, 1 / 6, 1 / 2, 2 / 3])


def test_a_window_is_a_moving_mean_of_every_seed() -> None:
    bucket = curves(RUNS[:1], "steps", window=2)[0]
    assert bucket.mean.tolist() == [0, 0.5, 1, 1]


def test_runs_with_other_settings_are_other_curves() -> None:
    other = learning(0, ((0, 1), (0, 0), (0, 0)), goals=(99,))
    found = curves([*RUNS, other], "steps")
    assert [curve.name for curve in found] == ["goals [10]"] * 3 + ["goals [99]"] * 3
    assert [curve.seeds for curve in found] == [2] * 3 + [1] * 3


def test_the_caption_counts_instances_tasks_seeds_and_evaluations() -> None:
    told = caption_of(curves(RUNS, "steps", over_tasks=True, window=3), 3)
    assert told.startswith(
        "Greedy return: mean of 2 instances × 3 tasks (one without a machine counts as 0) × 2 seeds. "
        "Moving mean of the last 3 evaluations. Band: 95 %"
    )
    alone = caption_of(curves(RUNS[:1], "steps"), 1)
    assert alone == "Greedy return: mean of 2 instances, one seed. Every evaluation is shown as it is."


def comments(path: Path) -> str:
    """The texts of a figure, which an SVG has as comments beside the outlines of their letters."""
    return " ".join(part.split("-->")[0].strip() for part in path.read_text().split("<!--")[1:])


def test_the_figure_says_so_itself(tmp_path: Path) -> None:
    plot_curves(RUNS, "steps", tmp_path / "panels.svg")
    plot_curves(RUNS, "episodes", tmp_path / "mean.svg", over_tasks=True)
    panels, mean = comments(tmp_path / "panels.svg"), comments(tmp_path / "mean.svg")
    assert "CraftWorld OP · bucket, paper, milk-bucket · LHRM" in panels
    assert [panels.count(name) for name in TASKS] == [4, 2, 2], (
        "in the title and above a panel; a name may be part of another"
    )
    assert "2 instances × 2 seeds" in panels
    assert "mean of 3 tasks · LHRM" in mean
    assert "milk-bucket" not in mean


def test_runs_with_different_numbers_of_tasks_say_so_in_the_legend(tmp_path: Path) -> None:
    single = learning(0, ((0, 1, 1, 1),), goals=(99,))
    plot_curves([*RUNS, single], "steps", tmp_path / "mean.svg", over_tasks=True)
    told = comments(tmp_path / "mean.svg")
    assert "bucket, paper, milk-bucket, mean of 3 tasks, 2 seeds" in told
    assert "bucket, 1 seed" in told


def test_a_figure_is_opaque_unless_it_shall_not_be(tmp_path: Path) -> None:
    for background, alpha in ((Background.WHITE, 255), (Background.TRANSPARENT, 0)):
        plot_curves(RUNS[:1], "steps", tmp_path / "curve.png", background=background)
        with Image.open(tmp_path / "curve.png") as picture:
            assert np.asarray(picture.convert("RGBA"))[0, 0, 3] == alpha


def test_equal_curves_give_equal_files_whatever_the_day(tmp_path: Path) -> None:
    for suffix, magic in ((".pdf", b"%PDF"), (".svg", b"<?xml")):
        written = []
        for name in ("one", "other"):
            plot_curves(RUNS[:1], "steps", tmp_path / f"{name}{suffix}", over_tasks=True)
            written.append((tmp_path / f"{name}{suffix}").read_bytes())
        assert written[0] == written[1]
        assert written[0].startswith(magic)


def test_a_window_has_at_least_one_evaluation(tmp_path: Path) -> None:
    with pytest.raises(RewardMachineError, match="at least 1 evaluation, not 0"):
        plot_curves(RUNS, "steps", tmp_path / "curve.png", window=0)


def test_a_curve_against_time_takes_it_from_the_timing() -> None:
    assert curves(RUNS[:1], "seconds")[0].x.tolist() == [0.5, 1.0, 1.5, 2.0]
    lost = replace(RUNS[0], timing=RUNS[0].timing[1:])
    with pytest.raises(RewardMachineError, match=r"timing\.jsonl"):
        curves([lost], "seconds")


def test_agents_and_kinds_of_runs_are_told_apart() -> None:
    rows = [row(1, returns=[(0, 1)], goals=(0,))]
    agents = [made_up_training(rows, agent) for agent in ("hrl", "crm")]
    assert [curve.name for curve in curves(agents, "steps")] == ["hrl", "crm"]
    both = curves([agents[0], RUNS[0]], "steps", over_tasks=True)
    assert [curve.name for curve in both] == ["made-up", "learning-0"]


def test_equal_names_of_different_hierarchies_are_different_curves() -> None:
    one = made_up_training([row(1, returns=[(0, 1)], goals=(0,))])
    other = replace(one, given_hierarchies={"milk-bucket": task("craftworld", "bucket")}, folder=Path("runs/other"))
    assert [(curve.name, curve.seeds) for curve in curves([one, other], "steps")] == [("made-up", 1), ("other", 1)]
