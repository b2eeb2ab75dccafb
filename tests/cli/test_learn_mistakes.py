"""Mistakes in `hrm learn`: one line for each, and nothing is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.commands import Hrm
from rewardmachines.cli.run_options import read_budget
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.runs.budget import Budget


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["learn"], "say where to act"),
        (["learn", "craftworld", "--tasks", "bukket"], "no task 'bukket'; did you mean 'bucket'?"),
        (["learn", "craftworld", "--setting", "opp"], "no setting 'opp'; did you mean 'op'?"),
        (["learn", "craftworld", "--quick", "--tasks", "book"], "--quick chooses the tasks by itself"),
        (["learn", "craftworld", "--callables", "restricted", "--tasks", "book"], "'book' may call 'leather'"),
        (["learn", "craftworld", "--budget", "soon"], "write a number of steps, such as 500000 or 1e6, or a time"),
        (["learn", "craftworld", "--budget", "0"], "write a number of steps"),
        (["learn", "craftworld", "--stop-at", "2"], "lies between 0 and 1, not 2"),
        (["learn", "craftworld", "--stop-at", "0"], "it would never end"),
        (["learn", "craftworld", "--set", "bach=3"], "did you mean 'batch'?"),
        (["learn", "craftworld", "--set", "goals=3"], "a first machine is learned from at least one and at most 3"),
        (["learn", "craftworld", "--seed", "-1"], "a seed lies between 0 and 4,294,967,295, not -1"),
        (["learn", "craftworld", "--seed", "4294967296"], "a seed lies between 0 and 4,294,967,295, not 4294967296"),
        (["learn", "craftworld", "--seed", "9" * 30], "a seed lies between 0 and 4,294,967,295, not one of so many"),
        (["learn", "craftworld", "--instance-seed", "-1"], "a seed cannot be negative, as -1 is"),
        (["learn", "craftworld", "--set", f"batch={'9' * 5000}"], "batch: must be a whole number, not 999"),
        (["learn", "craftworld", "--resume"], "nothing to resume"),
        (["learn", "--resume", "-o", "nowhere"], "nothing to resume"),
    ],
)
def test_mistakes_get_one_line_and_exit_status_2(
    hrm: Hrm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    hrm.check_refused(arguments, message)
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("text", "budget"),
    [
        ("500000", Budget(steps=500_000)),
        ("500_000", Budget(steps=500_000)),
        ("90s", Budget(seconds=90)),
        ("30m", Budget(seconds=1800)),
        ("1.5h", Budget(seconds=5400)),
    ],
)
def test_a_budget_is_steps_or_time(text: str, budget: Budget) -> None:
    assert read_budget(text) == budget


@pytest.mark.parametrize("text", ["", "h", "-5", "1.5", "2d", "5 apples", "0s", "1e-6", "1.5e0", "0e6", "1m30s"])
def test_other_budgets_are_refused(text: str) -> None:
    with pytest.raises(RewardMachineError, match="write a number of steps"):
        read_budget(text)
