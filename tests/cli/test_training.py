"""Training, evaluating and plotting as a person would type it."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from agents.tiny import CHUNK, CONFIG, tiny_arguments, tiny_spec
from cli.commands import Hrm
from rewardmachines.agents.training.run import load_run
from rewardmachines.cli import main
from rewardmachines.cli.progress.train import bars
from rewardmachines.reports import training_report
from rewardmachines.reports.run_curves import curves
from rewardmachines.runs.budget import Budget

pytestmark = pytest.mark.usefixtures("shared_programs")

STEPS = 4 * CHUNK


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "bucket"
    assert main([*tiny_arguments(), "--steps", str(STEPS), "-o", str(folder)]) == 0
    return folder


def test_help_teaches(hrm: Hrm) -> None:
    assert hrm("--help") == 0
    for word in ("train", "evaluate", "plot"):
        assert word in hrm.out
        assert hrm(word, "--help") == 0
        assert f"hrm {word} " in hrm.out
        hrm("--help")


def test_what_is_typed_is_what_is_trained(trained: Path) -> None:
    run = load_run(trained)
    assert run.spec == tiny_spec()
    assert run.spec.config == CONFIG
    assert (run.order.budget, run.order.stop_at) == (Budget(STEPS), 0.95)


def test_elsewhere_than_on_a_terminal_each_evaluation_is_a_line(
    hrm: Hrm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert hrm(*tiny_arguments(), "--steps", STEPS, "--seed", 5, "--stop-at", 0) == 0
    assert [line.split()[0] for line in hrm.out.splitlines()] == ["200", "400"]
    assert "return" in hrm.out
    assert "steps/s" in hrm.out
    assert "runs/craftworld-op-bucket-hrl-5" in hrm.err
    assert load_run("runs/craftworld-op-bucket-hrl-5").order.stop_at == 0


def test_a_run_goes_on_by_its_folder_alone(hrm: Hrm, trained: Path) -> None:
    assert hrm("train", "--resume", "-o", trained) == 0
    assert "nothing left to do: 400 steps are done" in hrm.err
    assert hrm("train", "--resume", "-o", trained, "--steps", STEPS + 2 * CHUNK) == 0
    assert "600 steps" in hrm.out
    assert hrm(*tiny_arguments(), "--resume", "-o", trained) == 0
    assert hrm(*tiny_arguments(), "--resume", "-o", trained, "--seed", 4) == 2
    assert "begun with other settings: seed is 0, not 4" in hrm.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--task", "cake"), "task is bucket, not cake"),
        (("--setting", "opl"), "setting is op, not opl"),
        (("--algorithm", "crm"), "algorithm is hrl, not crm"),
        (("--seed", 4), "seed is 0, not 4"),
        (("--seeds", 3), "seeds is"),
        (("--instances", 7), "instances is"),
        (("--instances", "fresh"), "fresh is 0"),
        (("--instance-seed", 5), "instance_seed is"),
        (("--max-steps", 1000), "max_steps is"),
        (("--own-instances",), "own_instances is False"),
        (("--train-bank",), "bank"),
        (("--set", "batch=17"), "batch is"),
        (("--preset", "paper"), "begun with other settings"),
        (("--hierarchy", "craftworld/cake"), "another hierarchy"),
    ],
)
def test_what_contradicts_the_run_that_goes_on_is_refused(
    arguments: tuple[object, ...], words: str, hrm: Hrm, trained: Path
) -> None:
    """An argument that is typed counts, also where it has the value that is usual."""
    before = (trained / "metrics.jsonl").read_bytes()
    assert hrm("train", "--resume", "-o", trained, "--steps", 10 * STEPS, *arguments) == 2
    assert words in hrm.err
    assert (trained / "metrics.jsonl").read_bytes() == before


def test_what_agrees_with_the_run_that_goes_on_may_be_said_again(hrm: Hrm, trained: Path) -> None:
    arguments = ("--task", "bucket", "--seed", 0, "--setting", "op", "--algorithm", "hrl")
    assert hrm("train", "--resume", "-o", trained, *arguments) == 0


def test_on_a_terminal_progress_is_shown_live(tmp_path: Path) -> None:
    arguments = [*tiny_arguments(), "--steps", str(STEPS), "-o", str(tmp_path / "run")]
    place = {**os.environ, "TERM": "xterm", "COLUMNS": "120"}
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "rewardmachines", *arguments], stdout=theirs, stderr=theirs, env=place
    ) as process:
        os.close(theirs)
        said = _said(ours)
        assert process.wait() == 0
    os.close(ours)
    for word in ("craftworld op · bucket · hrl · seed 0", "400 of 400 steps", "steps/s", "exploration", "▁"):
        assert word in said


def _said(terminal: int) -> str:
    said = b""
    while select.select([terminal], [], [], 120)[0]:
        try:
            part = os.read(terminal, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        said += part
    return said.decode(errors="replace")


def test_evaluate_tells_returns_and_films(hrm: Hrm, trained: Path, tmp_path: Path) -> None:
    assert hrm("evaluate", trained) == 0
    assert hrm.out.split()[:4] == ["seed", "return", "instances", "lengths"]
    assert hrm("evaluate", trained, "--json", "--gif", tmp_path / "film.gif", "--instance", 1) == 0
    (said,) = json.loads(hrm.out)
    assert said["seed"] == 0
    assert len(said["returns"]) == len(said["lengths"]) == 2
    with Image.open(tmp_path / "film.gif") as film:
        assert getattr(film, "n_frames", 1) > 1
    assert hrm("evaluate", trained, "--gif", tmp_path / "film.gif", "--instance", 9) == 2
    assert "there is no instance 9" in hrm.err
    assert hrm("evaluate", trained, "--task", "map") == 2
    assert "not 'map'" in hrm.err


def test_evaluate_judges_where_nobody_has_been(hrm: Hrm, trained: Path, tmp_path: Path) -> None:
    film = tmp_path / "film.gif"
    words = ("--instances", 50, "--instance-seed", 910_000_000)
    assert hrm("evaluate", trained, *words, "--gif", film, "--instance", 49) == 0
    assert hrm.out.split()[:7] == ["seed", "return", "instances", "without", "success", "mean", "length"]
    assert hrm.out.split()[9] == "50"
    assert film.exists()
    assert hrm("evaluate", trained, "--json", *words) == 0
    (said,) = json.loads(hrm.out)
    assert len(said["returns"]) == 50


def test_plot_draws_curves_against_steps_episodes_and_seconds(hrm: Hrm, trained: Path, tmp_path: Path) -> None:
    for axis in ("steps", "episodes", "seconds"):
        assert hrm("plot", trained, "-o", tmp_path / f"{axis}.png", "--x", axis) == 0
        with Image.open(tmp_path / f"{axis}.png") as picture:
            assert picture.size[0] > 800
    assert hrm("report", trained) == 0
    page = (trained / "report" / "index.html").read_text()
    assert "Learning curve" in page
    assert "hierarchy.svg" in page
    assert hrm("plot", trained, "-o", tmp_path / "curve.txt") == 2
    assert "curves are written as .png" in hrm.err


@pytest.mark.parametrize("name", ["index.html", "table.csv", "machines/mine.json"])
def test_a_report_replaces_nothing_of_others(hrm: Hrm, trained: Path, tmp_path: Path, name: str) -> None:
    mine = tmp_path / "mine" / name
    mine.parent.mkdir(parents=True)
    mine.write_text("<html>mine</html>")
    hrm.check_refused(["report", trained, "-o", tmp_path / "mine"], "choose another")
    assert [path for path in (tmp_path / "mine").rglob("*") if path.is_file()] == [mine]
    assert mine.read_text() == "<html>mine</html>"


def test_a_report_replaces_one_of_its_own_even_if_it_was_killed(
    hrm: Hrm, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "new"
    folder.mkdir()
    with monkeypatch.context() as patch:
        patch.setattr(training_report, "document", lambda *_: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            hrm("report", trained, "-o", folder)
    for _ in range(2):
        assert hrm("report", trained, "-o", folder) == 0
        assert "Learning curve" in (folder / "index.html").read_text()


def test_runs_that_differ_in_their_seeds_are_one_curve(hrm: Hrm, trained: Path, tmp_path: Path) -> None:
    others: dict[str, list[str]] = {"a": ["--seed", "1"], "b": ["--set", "evaluate_every=1"]}
    for name, changes in others.items():
        assert hrm(*tiny_arguments(), *changes, "--steps", STEPS, "-o", tmp_path / name) == 0
    runs = [load_run(folder) for folder in (trained, tmp_path / "a", tmp_path / "b")]
    many, one = curves(runs, "steps")
    assert (many.seeds, one.seeds) == (2, 1)
    assert (many.name, one.name) == ("evaluate every 2", "evaluate every 1")
    assert (many.low <= many.mean).all()
    assert (many.mean <= many.high).all()
    assert hrm("plot", *(run.folder for run in runs), "-o", tmp_path / "curve.png") == 0
    hrm.check_refused(["report", trained, tmp_path / "a", "-o", tmp_path], "which is of no report")
    assert hrm("report", trained, tmp_path / "a", "-o", tmp_path / "both") == 0
    assert hrm.err.count("wrote ") == 3
    assert "bucket in CraftWorld OP: 2 seeds" in (tmp_path / "both" / "index.html").read_text()
    assert hrm("report", trained, tmp_path / "b") == 2
    assert "differ in more than their seeds, such as config.evaluate_every: compare them with hrm plot" in hrm.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train"], "say where to act"),
        (["train", "craftworld"], "say what to learn"),
        (["train", "craftworld", "--task", "bukket"], "no task 'bukket'; did you mean 'bucket'?"),
        (["train", "craftworld", "--setting", "opp", "--task", "bucket"], "no setting 'opp'"),
        (["train", "craftworld", "--hierarchy", "waterworld/rg"], "speaks of '"),
        (["train", "craftworld", "--task", "bucket", "--steps", "0"], "at least one step"),
        (["train", "craftworld", "--task", "bucket", "--seeds", "0"], "at least one seed"),
        (
            ["train", "craftworld", "--task", "bucket", "--own-instances", "--instance-seed", "5"],
            "no common seed of instances",
        ),
        (
            ["train", "craftworld", "--task", "bucket", "--own-instances", "--instances", "fresh"],
            "fresh instances are everybody's",
        ),
        (
            ["train", "craftworld", "--task", "bucket", "--instances", "fresch"],
            "--instances fresch: write a number, or fresh",
        ),
        (
            ["train", "craftworld", "--task", "bucket", "--seed", "-1"],
            "between 0 and 4,294,967,295, not -1",
        ),
        (["train", "craftworld", "--task", "bucket", "--seed", "9" * 30], "not one of so many digits"),
        (
            ["train", "craftworld", "--task", "bucket", "--seed", "4294967295", "--seeds", "2"],
            "the last of 2, not",
        ),
        (["train", "craftworld", "--task", "bucket", "--set", "batch"], "write NAME=VALUE"),
        (["train", "craftworld", "--task", "bucket", "--set", "bach=3"], "did you mean 'batch'?"),
        (["train", "craftworld", "--task", "bucket", "--set", "batch.size=3"], "no such setting"),
        (["train", "craftworld", "--task", "bucket", "--resume"], "nothing to resume"),
        (["train", "--resume", "-o", "nowhere"], "nothing to resume"),
        (["evaluate", "nowhere"], "there is no run"),
        (["evaluate", "nowhere", "--task", "cake"], "there is no run"),
        (["plot", "nowhere"], "there is no run"),
        (["report", "nowhere"], "there is no run"),
        (["plot"], "say which runs to plot"),
    ],
)
def test_mistakes_get_one_line_and_exit_status_2(
    hrm: Hrm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    hrm.check_refused(arguments, message)
    assert not any(tmp_path.iterdir())


def test_quiet_runs_say_only_what_came_of_them(hrm: Hrm, tmp_path: Path) -> None:
    assert hrm(*tiny_arguments(), "--steps", STEPS, "--quiet", "-o", tmp_path / "run") == 0
    assert hrm.out == ""
    assert f"{STEPS:,} steps" in hrm.err
    assert hrm.err.count("\n") == 1
    assert hrm("evaluate", tmp_path / "run", "--quiet") == 0
    assert hrm.err == ""
    assert "return" in hrm.out


def test_light_commands_do_not_wait_for_jax() -> None:
    command = "from rewardmachines.cli import main; main(['stats', 'craftworld/book'])"
    code = f"import sys; {command}; assert 'jax' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_nobody_waits_for_jax_to_be_helped() -> None:
    code = """
import sys
from rewardmachines.cli import main
from rewardmachines.cli.commands import COMMANDS
for command in COMMANDS:
    for words, status in [(["--help"], 0), (["--no-such-option"], 2)]:
        assert main([command, *words]) == status
        found = {"jax", "equinox", "numpy", "matplotlib", "gymnasium"} & set(sys.modules)
        assert not found, (command, words, found)
"""
    helped = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert helped.returncode == 0, helped.stderr


def test_bars_are_as_high_as_returns() -> None:
    assert bars([0, 0.5, 1]).plain == "▁▅█"
    assert bars([0.0] * 20 + [1.0] * 20).plain == "▁" * 10 + "█" * 10
    assert bars([]).plain == ""
