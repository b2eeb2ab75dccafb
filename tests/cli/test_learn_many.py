"""Several runs that learn side by side, as a person would type it."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from cli.commands import Hrm
from cli.small_learning import CHUNK, STEPS, small
from rewardmachines.cli.progress.learn_many import ManyDisplay
from rewardmachines.cli.run_options import begun_folders, common_name, folders_of_seeds
from rewardmachines.envs.scenario import PAPER_INSTANCE_SEEDS
from rewardmachines.lhrm.chunk_metrics import Row
from rewardmachines.lhrm.resumable import Chunk
from rewardmachines.lhrm.run import load_learning
from rewardmachines.lhrm.side_by_side import RunsSideBySide

FOLDERS = [Path(f"runs/learn-craftworld-op-{seed}") for seed in (1, 2)]


def test_runs_are_made_in_folders_of_their_own_and_go_on_by_their_common_name(
    hrm: Hrm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ("--budget", STEPS, "--seed", 1, "--seeds", 2, "--own-instances", "--no-report")
    assert hrm(*small(*words)) == 1
    runs = [load_learning(folder) for folder in FOLDERS]
    assert [run.spec.seed for run in runs] == [1, 2]
    assert [run.spec.instance_seed for run in runs] == list(PAPER_INSTANCE_SEEDS[1:3])
    rows = [run.rows() for run in runs]
    for seed, own in zip((1, 2), rows, strict=True):
        assert STEPS <= own[-1].steps < STEPS + CHUNK
        evaluations = [line.split() for line in hrm.out.splitlines() if "steps/s" in line]
        told = [words[2] for words in evaluations if words[:2] == ["seed", str(seed)]]
        assert told == [f"{row.steps:,}" for row in own if row.returns is not None]
    assert hrm.err.count("of 1 tasks learned: ") == 2

    assert hrm("learn", "--resume", "-o", "runs/learn-craftworld-op", "--no-report") == 1
    assert hrm.err.count("nothing left to do") == 2
    assert hrm("learn", "--resume", "-o", "runs/learn-craftworld-op", "--budget", STEPS + CHUNK, "--no-report") == 1
    assert [len(load_learning(folder).rows()) for folder in FOLDERS] == [len(own) + 1 for own in rows]
    assert hrm("learn", "--resume", "-o", FOLDERS[1], "--budget", STEPS + 2 * CHUNK, "--no-report") == 1
    assert [len(load_learning(folder).rows()) - len(own) for folder, own in zip(FOLDERS, rows, strict=True)] == [1, 2]

    _shows_a_line_for_each_run()


def _shows_a_line_for_each_run() -> None:
    runs = [load_learning(folder) for folder in FOLDERS]
    going = replace(runs[1].order, budget=replace(runs[1].order.budget, steps=10**9))
    display = ManyDisplay([runs[0].order, going])

    def shown() -> str:
        screen = Console(width=140, file=StringIO())
        with screen.capture() as capture:
            screen.print(display.render())
        return capture.get()

    assert "craftworld op · 1 task · 2 runs" in shown()
    assert "compiling" in shown()
    for number, run in enumerate(runs):
        for row, moment in zip(run.rows(), run.moments(), strict=True):
            display.update(number, Chunk(run._last, row, moment))
    lines = shown().splitlines()
    assert "1 under way" in lines[1]
    assert [line.split()[0] for line in lines[-2:]] == ["1", "2"]
    assert "the budget is spent" in lines[-2]
    assert "the budget is spent" not in lines[-1]
    assert all(f"{run.rows()[-1].steps:,}" in line for run, line in zip(runs, lines[-2:], strict=True))


def test_ctrl_c_tells_how_to_go_on_with_all(hrm: Hrm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(together: RunsSideBySide, numbers: Any) -> list[Row]:
        raise KeyboardInterrupt

    monkeypatch.setattr(RunsSideBySide, "advance", interrupted)
    assert hrm(*small("--budget", STEPS, "--seeds", 2, "-o", tmp_path / "run")) == 130
    assert f"stopped; go on with: hrm learn --resume -o {tmp_path / 'run'}\n" in hrm.err
    assert begun_folders(tmp_path / "run") == [tmp_path / "run-0", tmp_path / "run-1"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--seeds", "0"], "at least one seed is needed, not 0"),
        (["--seeds", "2", "--seed", "4294967295"], "a seed lies between 0 and 4,294,967,295"),
        (["--own-instances", "--instance-seed", "5"], "no common seed of instances"),
        (["--own-instances", "--instances", "fresh"], "fresh instances are everybody's"),
        (["--seeds", "2", "--resume"], "nothing to resume"),
    ],
)
def test_mistakes_get_one_line(
    hrm: Hrm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert hrm("learn", "craftworld", *arguments) == 2
    assert message in hrm.err
    assert hrm.err.count("\n") == 1
    assert not any(tmp_path.iterdir())


def test_folders_are_found_again_by_their_common_name(tmp_path: Path) -> None:
    base = tmp_path / "a[b]-op"
    for name in ("a[b]-op-10", "a[b]-op-9", "a[b]-op-x", "a[b]-opl-1", "ab-op-1"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").touch()
    (tmp_path / "a[b]-op-3").mkdir()
    assert [path.name for path in begun_folders(base)] == ["a[b]-op-9", "a[b]-op-10"]
    assert common_name(folders_of_seeds(base, 9, 2)) == str(base)
    assert common_name([base]) == str(base)
