"""Mistakes in commands that train, learn and look at runs: one line for each, exit status 2, and nothing is written."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn

import pytest

from cli.commands import Hrm
from cli.corridor import SMALL, TRAIN
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.runs import orders
from rewardmachines.runs.orders import RunOrder
from rewardmachines.runs.stopping import RunBudget

MAKE = "cli.corridor:make"
TASK = "left ; right"
CRAFT = ["train", "craftworld", "bucket"]
MISTAKES = [
    # where
    (["train"], "say where to act (hrm train craftworld cake), or --resume -o FOLDER"),
    (["learn"], "say where to act (hrm learn craftworld), or --resume -o FOLDER"),
    (["train", "craftwrld", "cake"], "there is no domain 'craftwrld', and no environment"),
    (["learn", "craftwrld"], "did you mean 'craftworld'?"),
    (["learn", "craftworld", "waterworld"], "a domain stands alone"),
    (["learn", "a=b=c"], "write [TASK=]MODULE:FUNCTION[@LEVEL]"),
    (["learn", f"a={MAKE}_out", f"a={MAKE}_back"], "two tasks are called 'a'"),
    (["learn", f"{MAKE}_out@0"], "'out': levels count from 1, not 0"),
    (["learn", f"{MAKE}_it"], f"cannot be found as {MAKE}_it"),
    # what
    (["train", "craftworld"], "say what to learn"),
    (["train", MAKE], "say what to learn"),
    (["train", "craftworld", "bukket"], "no task 'bukket'; did you mean 'bucket'?"),
    (["learn", "craftworld", "--tasks", "bukket"], "no task 'bukket'; did you mean 'bucket'?"),
    (["train", "craftworld", "--hierarchy", "waterworld/rg"], "speaks of '"),
    (["train", "craftworld", "--hierarchy", "none.yaml"], "none.yaml"),
    (["train", MAKE, "left ; moon"], "mentions 'moon', but the environment only knows left"),
    (["train", MAKE, "left ;"], "but the text ends (in 'left ;')"),
    (["learn", "craftworld", "--quick", "--tasks", "book"], "--quick chooses the tasks by itself"),
    (["learn", f"{MAKE}_out", "--quick"], "only domains have"),
    (["learn", "craftworld", "--callables", "restricted", "--tasks", "book"], "'book' may call 'leather'"),
    # how
    ([*CRAFT, "--setting", "opp"], "no setting 'opp'"),
    (["learn", "craftworld", "--setting", "opp"], "no setting 'opp'; did you mean 'op'?"),
    ([*CRAFT, "--agent", "hlr"], "there is no agent 'hlr'; did you mean 'hrl'?"),
    (["learn", "craftworld", "--learner", "exat"], "there is no learner of machines 'exat'; did you mean 'exact'?"),
    ([*CRAFT, "--set", "batch"], "write NAME=VALUE"),
    ([*CRAFT, "--set", "bach=3"], "did you mean 'batch'?"),
    ([*CRAFT, "--set", "batch.size=3"], "no such setting"),
    (["learn", "craftworld", "--set", "bach=3"], "did you mean 'batch'?"),
    (["learn", "craftworld", "--set", "goals=[3]"], "a first machine is learned from at least one and at most 3"),
    (["learn", "craftworld", "--set", f"batch={'9' * 5000}"], "batch: must be a whole number, not 999"),
    ([*TRAIN[:3], "--set", "bach=3"], "did you mean 'batch'?"),
    (["train", "envs.painted:make", TASK, "--set", "network.body=pooled-cnn", "--set", "network.filters=[1,1,1,1,1]"],
     "too small"),
    ([*CRAFT, "--instances", "fresch"], "--instances fresch: write a number, or fresh"),
    ([*CRAFT, "--own-instances", "--instance-seed", "5"], "no common seed of instances"),
    (["learn", "craftworld", "--own-instances", "--seeds", "2", "--instances", "fresh"], "fresh instances are common"),
    (["learn", "craftworld", "--instance-seed", "-1"], "a seed cannot be negative, as -1 is"),
    ([*CRAFT, "--encode", "channels-first"], "encode: only Gymnasium environments have it"),
    # seeds
    *(
        ([*command, *words], message)
        for command in (CRAFT, ["learn", "craftworld"])
        for words, message in (
            (["--seeds", "0"], "at least one seed is needed, not 0"),
            (["--seed", "-1"], "a seed lies between 0 and 4,294,967,295, not -1"),
            (["--seed", "9" * 30], "between 0 and 4,294,967,295, not"),
            (["--seed", "4294967295", "--seeds", "2"], "between 0 and 4,294,967,295, not 4294967296"),
        )
    ),
    # limits
    ([*CRAFT, "--steps", "0"], "at least one step"),
    ([*CRAFT, "--steps", "5", "--budget", "5"], "--steps and --budget both say how many steps"),
    (["learn", "craftworld", "--budget", "soon"], "write a number of steps, such as 500000 or 1e6, or a time"),
    (["learn", "craftworld", "--episodes", "0"], "at least one episode"),
    (["learn", "craftworld", "--stop-at", "2"], "lies between 0 and 1, not 2"),
    (["learn", "craftworld", "--stop-at", "0"], "it would never end"),
    (["learn", f"{MAKE}_out", "--stop-at", "0"], "it would never end"),
    # environments of one's own
    (["train", MAKE, TASK, "--max-steps", "0"], "an episode has at least one step, not 0"),
    (["train", MAKE, TASK, "--seeds", "2"], "only runs in domains go side by side"),
    (["train", MAKE, TASK, "--own-instances"], "only"),
    (["train", MAKE, TASK, "--instances", "fresh"], "only domains have them"),
    (["learn", f"{MAKE}_out", "--instances", "fresh"], "only domains have them"),
    (["train", MAKE, TASK, "--instances", "0"], "at least one instance, not 0"),
    (["train", MAKE, TASK, "--instance-seed", "4"], "instance_seed: only domains have it"),
    (["train", MAKE, TASK, "--preset", "paper"], "preset: only domains have it"),
    (["train", MAKE, TASK, "--setting", "op"], "setting: only domains have it"),
    (["learn", f"{MAKE}_out", "--tasks", "out"], "tasks: only domains have it"),
    (["train", "envs.painted:make_picture", TASK], "seem to have their channels last"),
    (["train", MAKE, TASK, "--encode", "envs.painted:flatt"], "encode cannot be found as envs.painted:flatt"),
    # runs that are not there
    ([*CRAFT, "--resume"], "nothing to resume"),
    (["learn", "craftworld", "--resume", "--seeds", "2"], "nothing to resume"),
    (["train", "--resume", "-o", "nowhere"], "nothing to resume"),
    (["learn", "--resume", "-o", "nowhere"], "nothing to resume"),
    *(([command, "nowhere"], "there is no run") for command in ("evaluate", "show")),
]  # fmt: skip
"""What is typed, and what the answer says."""


@pytest.mark.parametrize(
    ("words", "message"), MISTAKES, ids=lambda value: " ".join(value)[:60] if isinstance(value, list) else ""
)
def test_a_mistake_gets_one_line_and_exit_status_2(
    hrm: Hrm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    hrm.check_refused(words, message)
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "message"),
    [(["plot"], "say which runs to plot"), (["report"], "say which runs"),
     (["plot", "nowhere"], "there is no run"), (["report", "nowhere"], "there is no run")],
)  # fmt: skip
def test_runs_that_are_drawn_must_be_there(
    hrm: Hrm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    hrm.check_refused(words, message)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("nowhere:make", "cannot be found as nowhere:make (ModuleNotFoundError: No module named 'nowhere')"),
        ("envs.painted:mak", "cannot be found as envs.painted:mak (AttributeError: "),
        ("envs.painted:paint", "cannot be made: envs.painted:paint is not a function"),
        ("envs.painted:make_nothing", "cannot be made: ValueError: out of paint"),
        ("envs.painted:make_number", "3 is no Gymnasium environment"),
        ("envs.painted:make_bare", "is not labelled"),
        ("FrozenLake-v1", "is not labelled"),
    ],
)
def test_functions_that_make_no_environment(
    hrm: Hrm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for words in (["train", function, TASK, *SMALL], ["learn", function], ["labels", function]):
        hrm.check_refused(words, message)
    assert not any(tmp_path.iterdir())


# -- limits that are usual


class _Refused(RewardMachineError):
    """No run is made."""


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[RunOrder]:
    """The orders that commands would carry out; none is."""
    monkeypatch.chdir(tmp_path)
    seen: list[RunOrder] = []

    def refuse(wanted: list[RunOrder], **_: Any) -> NoReturn:
        seen.extend(wanted)
        raise _Refused("not today")

    monkeypatch.setattr(orders, "carry_out", refuse)
    return seen


@pytest.mark.parametrize(
    ("words", "budget", "stop_at"),
    [
        ([*CRAFT, "--preset", "paper"], RunBudget(episodes=100_000), 0.0),
        ([*CRAFT, "--preset", "paper", "--setting", "frl"], RunBudget(episodes=200_000), 0.0),
        (["train", "waterworld", "rg", "--setting", "wd", "--preset", "paper"], RunBudget(episodes=200_000), 0.0),
        ([*CRAFT, "--preset", "paper", "--steps", "7"], RunBudget(7), 0.0),
        ([*CRAFT, "--episodes", "7", "--budget", "2m"], RunBudget(episodes=7, seconds=120), 0.95),
        (CRAFT, RunBudget(2_000_000), 0.95),
        (["train", MAKE, TASK], RunBudget(2_000_000), 0.95),
        (["learn", "craftworld"], RunBudget(), 0.95),
        (["learn", "craftworld", "--preset", "paper"], RunBudget(episodes=150_000), 0.0),
        (["learn", "craftworld", "--quick"], RunBudget(1_000_000), 0.95),
        (["learn", f"{MAKE}_out", "--budget", "1e6", "--stop-at", "0.5"], RunBudget(1_000_000), 0.5),
    ],
)
def test_runs_end_as_usual_unless_something_else_is_asked_for(
    hrm: Hrm, asked: list[RunOrder], words: list[str], budget: RunBudget, stop_at: float
) -> None:
    assert hrm(*words) == 2
    assert "not today" in hrm.err
    assert [(order.config.budget, order.config.stop_at) for order in asked] == [(budget, stop_at)]


def test_fresh_instances_are_asked_for_by_a_word(hrm: Hrm, asked: list[RunOrder]) -> None:
    for words in (CRAFT, ["learn", "craftworld"]):
        assert hrm(*words, "--instances", "fresh") == 2
    assert all(order.config.domain is not None and order.config.domain.fresh > 0 for order in asked)
    names = [order.folder.path.name for order in asked]
    assert names == ["craftworld-op-bucket-hrl-fresh-0", "learn-craftworld-op-fresh-0"]
