"""Commands on runs in environments of somebody else: learn, evaluate, plot, report."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from cli.commands import Hrm
from lhrm.yards import FEW, STEPS, Yard, learn, maker
from rewardmachines.lhrm.gymnasium_runs.run import load_gymnasium_run
from rewardmachines.lhrm.worlds.gymnasium.tasks import GymTask


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "yards"
    assert "bc" in learn(folder, steps=20 * STEPS).hierarchies
    return folder


def test_what_was_learned_acts_in_the_environments_that_the_run_names(hrm: Hrm, learned: Path) -> None:
    every = hrm.json("evaluate", learned)
    assert [row["task"] for row in every] == list(load_gymnasium_run(learned).hierarchies())  # type: ignore[attr-defined]
    best = hrm.json("evaluate", learned, "--task", "bc", "--best")
    assert best[0]["returns"] == [1.0, 1.0, 1.0]  # type: ignore[index]
    assert hrm("evaluate", learned) == 0
    assert "bc" in hrm.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--seed", 0], "a run of 'rm.learn_gymnasium' has one seed; choose a --task instead"),
        (["--task", "cake"], "there is no task 'cake' in this run"),
        (["--task", "all"], "there is no machine for 'all' yet"),
        (["--task", "bc", "--gif", "film.gif"], "the environment of 'bc' cannot be filmed: its render_mode is None"),
    ],
)
def test_what_cannot_be_done_is_one_line(hrm: Hrm, learned: Path, arguments: list[object], message: str) -> None:
    assert hrm("evaluate", learned, *arguments) == 2
    assert message in hrm.err
    assert hrm.err.count("\n") == 1


def test_what_the_environment_renders_is_filmed(
    hrm: Hrm, learned: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    monkeypatch.setattr(Yard, "render_mode", "rgb_array")
    monkeypatch.setattr(Yard, "render", lambda yard: np.full((60, 90, 3), 20 * yard.cell, np.uint8))
    assert hrm("evaluate", learned, "--task", "bc", "--best", "-o", tmp_path / "film.gif") == 0
    assert f"wrote {tmp_path}/film.gif: " in hrm.err
    assert "steps, GOAL" in hrm.err
    with Image.open(tmp_path / "film.gif") as film:
        assert film.size == (7 * 90 + 440, 7 * 60 + 60)


def test_environments_that_cannot_be_found_again_are_one_line(hrm: Hrm, tmp_path: Path) -> None:
    learn(tmp_path / "run", steps=2 * STEPS, tasks=[GymTask("ab", 1, maker("ab"))])
    assert hrm("evaluate", tmp_path / "run") == 2
    assert "the environment of 'ab' was given as an object that cannot be found again by a name" in hrm.err
    assert hrm.err.count("\n") == 1


def test_learning_curves_are_drawn(hrm: Hrm, learned: Path, tmp_path: Path) -> None:
    for axis in ("steps", "episodes", "seconds"):
        assert hrm("plot", learned, "-o", tmp_path / f"{axis}.png", "--x", axis) == 0
        assert (tmp_path / f"{axis}.png").exists()


def test_a_report_is_written(hrm: Hrm, learned: Path) -> None:
    assert hrm("report", learned) == 0
    assert f"wrote {learned}/report/index.html" in hrm.err
    page = (learned / "report" / "index.html").read_text()
    for words in (
        "What was learned in Gymnasium environments",
        "The paper has no table for these environments.",
        "There is no film: reports run no code of yours; hrm evaluate RUN -o film.html",
        "the true ones are not known",
        "preset gymnasium with",
    ):
        assert words in page
    names = {path.name for path in (learned / "report").rglob("*.*")}
    assert names >= {"bc.svg", "bc.png", "table.csv", "events.csv", "curves.svg", "overview.svg"}
    assert "hardest.gif" not in names


_MODULE = """
from lhrm.yards import make_ab


def make():
    return make_ab()
"""
_SCRIPT = """
import here
from lhrm.yards import FEW, STEPS, learn
from rewardmachines import GymTask

learn("run", steps=12 * STEPS, tasks=[GymTask("ab", 1, here.make)])
"""


def test_modules_of_the_present_folder_are_found_and_named(tmp_path: Path) -> None:
    """As a user would do it: a module and a script in a folder, and `hrm` typed there."""
    (tmp_path / "here.py").write_text(_MODULE)
    (tmp_path / "script.py").write_text(_SCRIPT)
    tests = Path(__file__).parents[1]
    paths = {**os.environ, "PYTHONPATH": f"{tests}:{os.environ.get('PYTHONPATH', '')}"}

    def typed(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *words], cwd=tmp_path, env=paths, capture_output=True, text=True, timeout=300, check=False
        )

    assert (begun := typed("script.py")).returncode == 0, begun.stderr
    program = "import sys; sys.path.remove(''); from rewardmachines.cli import main; sys.exit(main(sys.argv[1:]))"
    done = typed("-c", program, "evaluate", "run", "--json")
    assert done.returncode == 0, done.stderr
    assert '"task": "ab"' in done.stdout
    assert "importing here, for the environment of 'ab' (here:make)" in done.stderr


# -- learning without a script

_SETTINGS = (
    "chunk=20", "environments=20", "batch=64", "evaluate_every=2", "network.hidden=[32]", "call_network.hidden=[16]",
    "learning_rate=0.003", "replay_size=10000", "replay_start=500", "annealing_steps=1000", "call_annealing=30",
    "first_goals=5", "goals=20", "examples=5", "learner_seconds=5.0",
)  # fmt: skip
"""Those of `yards.FEW`, so that nothing is compiled again."""


def typed(folder: Path, *words: object) -> list[object]:
    """A command that learns three tasks, two of which have names of their own."""
    envs = ("lhrm.yards:make_ab", "bc=lhrm.yards:make_bc", "the whole=lhrm.yards:make_all@2")
    settings = [part for setting in _SETTINGS for part in ("--set", setting)]
    return ["learn", "--env", *envs, "--max-steps", 60, "--seed", 3, "--no-report", *settings, "-o", folder, *words]


def test_tasks_are_learned_without_a_script_and_resumed(hrm: Hrm, tmp_path: Path) -> None:
    folder, whole = tmp_path / "run", tmp_path / "whole"
    assert hrm(*typed(folder, "--budget", 4 * STEPS)) == 1
    assert "0 of 3 tasks learned" in hrm.err
    run = load_gymnasium_run(folder)
    assert [(task.name, task.level, task.env) for task in run.spec.tasks] == [
        ("ab", 1, "lhrm.yards:make_ab"),
        ("bc", 1, "lhrm.yards:make_bc"),
        ("the whole", 2, "lhrm.yards:make_all"),
    ]
    assert run.spec.config == FEW
    for option, value, said in (("--seed", 4, "seed is"), ("--max-steps", 7, "max_steps"), ("--instances", 3, "--env")):
        assert hrm("learn", "--resume", "-o", folder, option, value) == 2
        assert said in hrm.err
    assert hrm("learn", "--resume", "-o", folder) == 1
    assert "nothing left to do" in hrm.err
    assert hrm("learn", "--resume", "-o", folder, "--budget", 9 * STEPS) == 1
    assert (folder / "report" / "index.html").exists()
    assert hrm(*typed(whole, "--budget", 9 * STEPS)) == 1
    assert (folder / "metrics.jsonl").read_bytes() == (whole / "metrics.jsonl").read_bytes()
    assert "machines  return" in hrm.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--env", "lhrm.yards"], "--env lhrm.yards: write [TASK=]MODULE:FUNCTION[@LEVEL]"),
        (["--env", "lhrm.yards:make_it"], "the environment of 'it' cannot be found as lhrm.yards:make_it"),
        (["--env", "a=lhrm.yards:make_ab", "a=lhrm.yards:make_bc"], "two tasks are called 'a'"),
        (["--env", "lhrm.yards:make_ab@0"], "'ab': levels count from 1, not 0"),
        (["--env", "lhrm.yards:make_ab", "--learner", "nobody"], "there is no learner of machines 'nobody'"),
        (["craftworld", "--env", "lhrm.yards:make_ab"], "environments of your own go without a domain: leave it out"),
        (["--env", "lhrm.yards:make_ab", "--seeds", "2"], "environments of your own go without --seeds"),
        (["--env", "lhrm.yards:make_ab", "--set", "bach=3"], "did you mean 'batch'?"),
        (["--env", "lhrm.yards:make_ab", "--stop-at", "0"], "it would never end"),
        (["--env", "lhrm.yards:make_ab", "--max-steps", "0"], "an episode has at least one step, not 0"),
    ],
)
def test_mistakes_are_one_line_before_anything_is_written(
    hrm: Hrm, tmp_path: Path, words: list[str], message: str
) -> None:
    assert hrm("learn", *words, "-o", tmp_path / "run") == 2
    assert message in hrm.err
    assert hrm.err.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_warnings_are_plain_lines(hrm: Hrm, tmp_path: Path) -> None:
    command = ["learn", "--env", "lhrm.yards:make_moody", *typed(tmp_path / "run")[5:]]
    assert hrm(*command, "--budget", 2 * STEPS) == 1
    assert hrm("learn", "--resume", "--no-report", "-o", tmp_path / "run", "--budget", 4 * STEPS) == 1
    (line,) = [line for line in hrm.err.splitlines() if line.startswith("warning: ")]
    assert "episodes could not be replayed" in line
