"""Learning machines and policies together, as a person would type it."""

from __future__ import annotations

import json
import shutil
import time
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

import rewardmachines as rm
from agents.tiny import tiny_spec
from cli.commands import Hrm
from cli.small_learning import CHUNK, STEPS, small
from rewardmachines.agents.training.spec import TrainOrder, save_order
from rewardmachines.cli import main
from rewardmachines.cli.progress.learn import Display, watching_learning
from rewardmachines.learning import Solvers
from rewardmachines.lhrm.algorithm import Lhrm
from rewardmachines.lhrm.chunk_metrics import Row
from rewardmachines.lhrm.config import Callables, Exploration
from rewardmachines.lhrm.resumable import Chunk
from rewardmachines.lhrm.run import load_learning
from rewardmachines.reports.run_curves import curves
from rewardmachines.runs.budget import Budget


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With a machine, and all that was asked for."""
    folder = tmp_path_factory.mktemp("runs") / "bucket"
    assert main(small("--budget", STEPS, "--stop-at", 0, "--explore", "actions", "-o", folder)) == 0
    return folder


def test_help_teaches(hrm: Hrm) -> None:
    assert hrm("--help") == 0
    assert "machines and policies of all tasks, from interaction alone" in hrm.out
    assert hrm("learn", "--help") == 0
    assert "hrm learn craftworld --quick" in hrm.out


def test_what_is_typed_is_what_is_learned(learned: Path) -> None:
    run = load_learning(learned)
    assert run.spec.tasks == ("bucket",)
    assert (run.spec.instances, run.spec.max_steps) == (2, 200)
    assert (run.order.budget, run.order.stop_at) == (Budget(STEPS), 0)
    config = run.spec.config
    assert (config.first_goals, config.goals, config.examples) == (1, 1, 1)
    assert (config.agent.chunk, config.agent.network.hidden) == (50, (8,))
    assert (config.explores_with, config.callables) == (Exploration.ACTIONS, Callables.LOWER)


def test_what_was_learned_is_there_for_other_commands(hrm: Hrm, learned: Path, tmp_path: Path) -> None:
    machine = learned / "machines" / "bucket.json"
    assert hrm("check", machine) == 0
    assert hrm("induce", "--traces", learned / "examples" / "bucket.jsonl", "-o", tmp_path / "again.json") == 0
    assert rm.load(tmp_path / "again.json")["root"].edges == rm.load(machine)["bucket"].edges
    assert (learned / "report" / "index.html").exists()


def test_elsewhere_than_on_a_terminal_news_and_evaluations_are_lines(
    hrm: Hrm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert hrm(*small("--budget", STEPS, "--seed", 3, "--no-report", "--callables", "none")) == 1
    rows = load_learning("runs/learn-craftworld-op-3").rows()
    assert STEPS <= rows[-1].steps < STEPS + CHUNK
    evaluations = [line for line in hrm.out.splitlines() if "steps/s" in line]
    assert [line.split()[0] for line in evaluations] == [f"{row.steps:,}" for row in rows if row.returns is not None]
    assert len(evaluations) == 3
    assert "bucket: 1 goal trace → " in hrm.out
    assert "level 1 of 1" in hrm.out
    assert f"0 of 1 tasks learned: {rows[-1].steps:,} steps" in hrm.err
    assert "  bucket: returns 0.00 on average: 0.95 is asked for\n" in hrm.err
    run = load_learning("runs/learn-craftworld-op-3")
    assert run.spec.config.callables is Callables.NONE
    assert not (run.folder / "report").exists()


def test_a_run_goes_on_by_its_folder_alone(hrm: Hrm, learned: Path) -> None:
    before = load_learning(learned).rows()
    assert hrm("learn", "--resume", "-o", learned, "--no-report") == 0
    assert "nothing left to do: --budget, --episodes or --stop-at asks for more" in hrm.err
    more = ("--budget", STEPS + CHUNK, "--stop-at", 0)
    assert hrm("learn", "--resume", "-o", learned, "--no-report", *more) == 0
    assert load_learning(learned).rows()[: len(before)] == before
    assert len(load_learning(learned).rows()) == len(before) + 1
    assert hrm(*small("--resume", "-o", learned, "--seed", 4, "--explore", "actions")) == 2
    assert "begun with other settings: seed is 0, not 4" in hrm.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--tasks", "cake"), "tasks"),
        (("--setting", "opl"), "setting is op, not opl"),
        (("--seed", 4), "seed is 0, not 4"),
        (("--instances", 7), "instances is 2, not 7"),
        (("--instance-seed", 5), "instance_seed is"),
        (("--max-steps", 1000), "max_steps is 200, not 1000"),
        (("--explore", "options"), "explores_with is actions, not options"),
        (("--callables", "none"), "callables is lower, not none"),
        (("--learner", "exat"), "learner is exact, not exat"),
        (("--set", "batch=17"), "batch is 8, not 17"),
        (("--quick",), "begun with other settings"),
        (("--preset", "paper"), "begun with other settings"),
        (("--own-instances", "--seed", 1), "begun with other settings"),
    ],
)
def test_what_contradicts_the_run_that_goes_on_is_refused(
    arguments: tuple[object, ...], words: str, hrm: Hrm, learned: Path
) -> None:
    """An argument that is typed counts, also where it has the value that is usual."""
    before = (learned / "metrics.jsonl").read_bytes()
    assert hrm("learn", "--resume", "-o", learned, "--budget", 10 * STEPS, *arguments) == 2
    assert words in hrm.err
    assert (learned / "metrics.jsonl").read_bytes() == before


def test_what_agrees_with_the_run_that_goes_on_may_be_said_again(hrm: Hrm, learned: Path) -> None:
    arguments = ("--tasks", "bucket", "--seed", 0, "--callables", "lower", "--set", "batch=8", "--single-trace")
    assert hrm("learn", "--resume", "-o", learned, "--no-report", *arguments) in (0, 1)


def test_ctrl_c_tells_how_to_go_on(hrm: Hrm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    advance = Lhrm.advance

    def interrupted(run: Lhrm) -> Row:
        if run.tally.chunks == 1:
            raise KeyboardInterrupt
        return advance(run)

    monkeypatch.setattr(Lhrm, "advance", interrupted)
    assert hrm(*small("--budget", STEPS, "-o", tmp_path / "run")) == 130
    assert f"stopped; go on with: hrm learn --resume -o {tmp_path / 'run'}" in hrm.err


def test_folders_that_are_taken_or_of_another_kind_are_told(hrm: Hrm, learned: Path, tmp_path: Path) -> None:
    save_order(TrainOrder(tiny_spec(), Budget(100)), tmp_path / "config.json")
    for arguments, message in (
        (small("-o", learned), "there is a run already; choose another folder, or --resume it"),
        (["learn", "--resume", "-o", tmp_path], "this is a run of 'hrm train', not of 'hrm learn'"),
        (["evaluate", learned, "--seed", 0], "a run of 'hrm learn' has one seed; choose a --task instead"),
        (["evaluate", learned, "--best"], "only runs in environments of your own keep their best policies"),
        (
            ["evaluate", learned, "--task", "cake"],
            "there is no task 'cake' in this run",
        ),
        (["train", "--resume", "-o", learned], "this is a run of 'hrm learn', not of 'hrm train'"),
    ):
        assert hrm(*arguments) == 2
        assert message in hrm.err
        assert hrm.err.count("\n") == 1


def test_evaluate_judges_every_task_and_films_one(hrm: Hrm, learned: Path, tmp_path: Path) -> None:
    assert hrm("evaluate", learned) == 0
    assert hrm.out.split()[:4] == ["task", "return", "instances", "lengths"]
    assert "bucket" in hrm.out
    assert hrm("evaluate", learned, "--json", "--gif", tmp_path / "film.gif", "--instance", 1) == 0
    (said,) = json.loads(hrm.out)
    assert said["task"] == "bucket"
    assert len(said["returns"]) == len(said["lengths"]) == 2
    assert all(length <= 200 for length in said["lengths"])
    assert (tmp_path / "film.gif").exists()


def test_what_there_is_no_machine_for_cannot_be_evaluated(hrm: Hrm, tmp_path: Path) -> None:
    """More goal traces are asked for than can be seen in so few steps."""
    folder = tmp_path / "run"
    hrm(*small("--budget", CHUNK, "--stop-at", 0, "--explore", "actions", "--set", "first_goals=1000", "-o", folder))
    for arguments in ([], ["--task", "bucket"], ["--gif", tmp_path / "film.gif"]):
        assert hrm("evaluate", folder, *arguments) == 2
        assert "there is no machine for" in hrm.err
        assert hrm.err.count("\n") == 1
    assert not (tmp_path / "film.gif").exists()


def test_plot_draws_runs_of_both_commands(hrm: Hrm, learned: Path, tmp_path: Path) -> None:
    for axis in ("steps", "episodes", "seconds"):
        assert hrm("plot", learned, "-o", tmp_path / f"{axis}.png", "--x", axis) == 0
        assert (tmp_path / f"{axis}.png").exists()
    assert hrm("plot", learned, "-o", tmp_path / "mean.pdf", "--mean", "--window", 2, "--background", "white") == 0
    assert (tmp_path / "mean.pdf").read_bytes().startswith(b"%PDF")
    other = tmp_path / "other"
    more = ("--stop-at", 0, "--explore", "actions", "--seed", 1, "--no-report", "-o", other)
    assert main(small("--budget", STEPS, *more)) == 0
    (both,) = curves([load_learning(learned), load_learning(other)], "steps")
    assert both.seeds == 2
    assert (both.low <= both.mean).all()
    assert (both.mean <= both.high).all()


def test_a_report_can_be_written_again(hrm: Hrm, learned: Path, tmp_path: Path) -> None:
    again = shutil.copytree(learned, tmp_path / "again")
    shutil.rmtree(again / "report", ignore_errors=True)
    assert hrm("report", again) == 0
    assert (again / "report" / "index.html").exists()


def test_a_damaged_checkpoint_is_told(hrm: Hrm, learned: Path, tmp_path: Path) -> None:
    for name in ("config.json", "checkpoint.safetensors"):
        (tmp_path / name).write_bytes((learned / name).read_bytes()[: None if name == "config.json" else 1000])
    assert hrm("learn", "--resume", "-o", tmp_path, "--budget", 10 * STEPS) == 2
    assert "checkpoint.safetensors: damaged" in hrm.err
    assert "without this file, the run would start from its beginning" in hrm.err


def _shown(display: Display) -> str:
    screen = Console(width=120, file=StringIO())
    with screen.capture() as shown:
        screen.print(display.render())
    return shown.get()


def test_the_display_shows_levels_returns_machines_and_news(learned: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = load_learning(learned)
    now = run.worlds, run.spec.config
    display = Display(run.order)
    assert "craftworld op · 1 task · seed 0" in _shown(display)
    assert "compiling" in _shown(display)
    begun = Lhrm(*now, Solvers())
    display.update(Chunk(begun, run.rows()[0], run.moments()[0]))
    assert "0 of 1 goal traces" in _shown(display)
    for row, moment in zip(run.rows(), run.moments(), strict=True):
        display.update(Chunk(run._last, row, moment))
    shown = _shown(display)
    for part in (
        "level 1 of 1",
        "level 1 · now",
        "bucket",
        "states, ",
        "▁▁",
        "steps/s",
        "left at most",
        "bucket: 1 goal",
    ):
        assert part in shown
    run._last.machines.searching = "bucket"
    monkeypatch.setattr("rewardmachines.cli.progress.learn._LONG", -1)
    assert "searching for a machine of bucket" in _shown(display)


def test_a_log_has_a_line_while_a_search_holds_up_the_run(
    learned: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("rewardmachines.cli.progress.learn._SEARCH", 0.0)
    monkeypatch.setattr("rewardmachines.cli.progress.learn._LONG", 0.01)
    run = load_learning(learned)
    with watching_learning(run.order) as watch:
        watch(Chunk(run._last, run.rows()[0], run.moments()[0]))
        capsys.readouterr()
        run._last.machines.searching = "bucket"
        until = time.monotonic() + 30
        while not (shown := capsys.readouterr().out) and time.monotonic() < until:
            time.sleep(0.01)
    run._last.machines.searching = None
    assert "searching for a machine of bucket" in shown
