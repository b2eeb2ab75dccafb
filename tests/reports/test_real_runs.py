"""Reports, curves and films of all kinds of runs: training and LHRM, in a domain and in Gymnasium environments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from reports.made_up import cells, checked
from rewardmachines.reports import plot_curves, write_report
from rewardmachines.reports.curve_plot import curves
from rewardmachines.runs.run import Run, open_run

KINDS = ("trained", "learned", "trained_in_gym", "learned_in_gym")


@pytest.fixture(params=KINDS)
def run(request: pytest.FixtureRequest) -> Run:
    made: Run = request.getfixturevalue(request.param)
    return open_run(made.folder)


def test_a_report_has_what_the_run_has_counted(run: Run, tmp_path: Path) -> None:
    found = checked(write_report(run, tmp_path))
    last = run.rows[-1]
    assert {f"{last.steps:,}", f"{last.episodes:,}", "ended"} <= set(found.text)
    judged = [row for row in run.rows if row.returns is not None]
    if not run.config.learns_machines:
        assert [int(one["steps"]) for one in cells(tmp_path / "evaluations.csv")] == [row.steps for row in judged]
        return
    assert run.machines, "or nothing could be drawn"
    assert {f"machines/{name}.svg" for name in run.machines} <= set(found.links)
    assert len(cells(tmp_path / "events.csv")) == sum(len(row.learned) for row in run.rows)
    assert (tmp_path / "hardest.gif").exists() == (run.config.domain is not None), "no code of others is run"


def test_curves_go_through_all_evaluations(run: Run, tmp_path: Path) -> None:
    judged = [row for row in run.rows if row.returns is not None]
    for axis in ("steps", "episodes", "seconds"):
        (curve,) = curves([run], axis)
        assert curve.mean.tolist() == pytest.approx([row.mean_return for row in judged])
    plot_curves([run], "steps", tmp_path / "curve.png")
    assert (tmp_path / "curve.png").stat().st_size > 10_000


def test_an_episode_is_filmed(run: Run, tmp_path: Path) -> None:
    film = run.record_film(instance=1, steps=7)
    shots = film.film.shots
    assert [shot.caption.step for shot in shots] == list(range(film.steps + 1))
    assert film.steps == 7 if film.end == "and so on" else film.steps <= 7
    assert [bool(shot.caption.end) for shot in shots] == [False] * film.steps + [True]
    verb = "pursues" if run.config.agent == "hrl" else "moves on:"  # CRM has no options
    assert {(bool(shot.caption.pursued), shot.caption.verb) for shot in shots[:-1]} == {(True, verb)}
    run.record_film(steps=1).save(tmp_path / "film.gif")
    with Image.open(tmp_path / "film.gif") as picture:
        assert getattr(picture, "n_frames", 1) == 2


def test_a_film_is_written_as_the_suffix_says(learned: Run, tmp_path: Path) -> None:
    path: Any = learned.film(tmp_path / "film.html")
    assert "<script>" in path.read_text()
