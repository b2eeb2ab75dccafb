"""`hrm train --env`: policies in an environment of somebody else, without a script, and what is made of the folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from cli.commands import Hrm
from rewardmachines.agents.gymnasium.runs.run import load_gymnasium_training
from rewardmachines.agents.networks import Body
from rewardmachines.envs.filming.caption import HEIGHT
from rewardmachines.envs.filming.hierarchy_view import WIDTHS

ENV = "envs.painted:make"
_SETTINGS = (
    "chunk=20", "environments=10", "batch=32", "evaluate_every=2", "network.hidden=[32]", "network.filters=[8]",
    "call_network.hidden=[16]", "call_network.filters=[8]", "learning_rate=0.003", "replay_size=2000",
    "replay_start=200", "annealing_steps=600", "call_annealing=20",
)  # fmt: skip
STEPS = 20 * 10
"""Of a chunk."""


def typed(folder: Path, *words: object) -> list[object]:
    """A command that trains to walk to one end and then to the other."""
    settings = [part for setting in _SETTINGS for part in ("--set", setting)]
    return ["train", "--env", ENV, "--task", "left ; right", "--seed", 3, *settings, "-o", folder, *words]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "painted"
    from rewardmachines.cli import main  # the fixture of commands lives for one test only

    assert main([str(word) for word in typed(folder, "--budget", 12 * STEPS, "--instances", 3)]) == 0
    return folder


def test_a_task_is_trained_without_a_script_and_resumed(hrm: Hrm, trained: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    assert hrm(*typed(folder, "--budget", 5 * STEPS, "--instances", 3, "--no-report")) == 0
    assert "1,000 steps" in hrm.err
    assert "return" in hrm.out
    assert not (folder / "report").exists()
    assert hrm("train", "--resume", "-o", folder) == 0
    assert "nothing left to do" in hrm.err
    assert hrm("train", "--resume", "-o", folder, "--budget", 12 * STEPS) == 0
    assert (folder / "metrics.jsonl").read_bytes() == (trained / "metrics.jsonl").read_bytes()
    assert (folder / "report" / "index.html").exists()


def test_settings_that_are_given_leave_the_network_to_the_observations(trained: Path) -> None:
    config: Any = load_gymnasium_training(trained).spec.config
    assert (config.network.body, config.call_network.body) == (Body.CNN, Body.CNN)
    assert (config.network.hidden, config.network.filters, config.batch) == ((32,), (8,), 32)


def test_a_machine_file_says_what_is_to_be_done(hrm: Hrm, tmp_path: Path) -> None:
    assert hrm("compile", "right ; left", "-o", tmp_path / "back.yaml") == 0
    words = typed(tmp_path / "run", "--hierarchy", tmp_path / "back.yaml", "--budget", STEPS, "--algorithm", "flat-hrl")
    words[words.index("--task") + 1] = "back"
    assert hrm(*words) == 0
    run = load_gymnasium_training(tmp_path / "run")
    assert (run.spec.task, run.spec.algorithm.value, run.spec.instances) == ("back", "flat-hrl", None)
    assert run.hierarchy.used_propositions == ("left", "right")


@pytest.mark.parametrize(
    ("encode", "shape", "body"),
    [("channels-first", (3, 5, 5), Body.CNN), ("envs.painted:flat", (75,), Body.MLP)],
)
def test_pictures_are_encoded(hrm: Hrm, tmp_path: Path, encode: str, shape: tuple[int, ...], body: Body) -> None:
    words = typed(tmp_path / "run", "--budget", STEPS, "--encode", encode)
    words[words.index(ENV)] = "envs.painted:make_picture"
    assert hrm(*words) == 0
    spec = load_gymnasium_training(tmp_path / "run").spec
    assert (spec.senses.observations.shape, spec.config.network.body) == (shape, body)
    assert len(hrm.json("evaluate", tmp_path / "run")) == 1  # type: ignore[arg-type]
    assert hrm("train", "--resume", "-o", tmp_path / "run", "--budget", 2 * STEPS) == 0
    assert "400 steps" in hrm.err


def test_the_policy_acts_again_and_is_drawn(hrm: Hrm, trained: Path, tmp_path: Path) -> None:
    for words in ([], ["--best"], ["--task", "left ; right"], ["--seed", 3]):
        rows: Any = hrm.json("evaluate", trained, *words)
        assert [(row["seed"], len(row["returns"])) for row in rows] == [(3, 3)]
    for axis in ("steps", "episodes", "seconds"):
        assert hrm("plot", trained, "-o", tmp_path / f"{axis}.png", "--x", axis) == 0
    assert hrm("plot", trained, trained, "-o", tmp_path / "both.svg") == 0
    assert "envs.painted:make · left ; right · hrl" in (tmp_path / "both.svg").read_text()


def test_a_report_is_written(hrm: Hrm, trained: Path) -> None:
    assert hrm("report", trained) == 0
    assert f"wrote {trained}/report/index.html" in hrm.err
    page = (trained / "report" / "index.html").read_text()
    for words in ("left ; right in envs.painted:make", "2,400", "spec.config.batch", "evaluations.csv"):
        assert words in page
    names = {path.name for path in (trained / "report").iterdir()}
    assert names == {
        "index.html", "evaluations.csv", "curve.svg", "curve.png", "hierarchy.svg", "hierarchy.png",
    }  # fmt: skip
    head, *lines = (trained / "report" / "evaluations.csv").read_text().splitlines()
    assert head.startswith("seed,steps,episodes,return,length")
    assert len(lines) == 6


def test_what_the_environment_renders_is_filmed(hrm: Hrm, trained: Path, tmp_path: Path) -> None:
    assert hrm("evaluate", trained, "--gif", tmp_path / "film.gif", "--instance", 2) == 0
    assert f"wrote {tmp_path}/film.gif: " in hrm.err
    with Image.open(tmp_path / "film.gif") as film:
        # Each of 5 x 5 pixels 89 times as large, the hierarchy beside it, the caption below.
        assert (film.size[0] - 445 in WIDTHS, film.size[1]) == (True, 445 + HEIGHT)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("make_unseen", "cannot be filmed: its render_mode is None, not 'rgb_array'; let the function that makes it"),
        ("make_spoken", "cannot be filmed: its render_mode is ansi, not 'rgb_array'"),
    ],
)
def test_what_cannot_be_filmed_is_one_line(
    hrm: Hrm, trained: Path, tmp_path: Path, function: str, message: str
) -> None:
    config = trained / "config.json"
    before = config.read_text()
    content = json.loads(before)
    content["spec"]["env"] = f"envs.painted:{function}"
    config.write_text(json.dumps(content))
    try:
        assert hrm("evaluate", trained, "--gif", tmp_path / "film.gif") == 2
    finally:
        config.write_text(before)
    assert message in hrm.err
    assert hrm.err.count("\n") == 1
    assert not (tmp_path / "film.gif").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--task", "right"], "this run is about 'left ; right', not 'right'"),
        (["--seed", 0], "there is no seed 0; there is 3"),
        (["--instances", 5], "an environment of your own has no other instances to act in"),
    ],
)
def test_what_cannot_be_evaluated_is_one_line(hrm: Hrm, trained: Path, words: list[object], message: str) -> None:
    assert hrm("evaluate", trained, *words) == 2
    assert message in hrm.err
    assert hrm.err.count("\n") == 1
