"""The journal of a run: when checkpoints are written, what they hold, and how time is counted."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rewardmachines.agents.tensors import read_arrays, write_arrays
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.learning import Solvers
from rewardmachines.rollout.algorithm import Algorithm
from rewardmachines.rollout.rows import MachineUpdate, Trigger
from rewardmachines.rollout.training import Training
from rewardmachines.runs import journal
from rewardmachines.runs.checkpoint import FORMAT, HOST, read_checkpoint
from rewardmachines.runs.folder import RunFolder
from rewardmachines.runs.journal import Journal
from rewardmachines.runs.run import Run, open_run
from rewardmachines.runs.session import Given, Session
from rewardmachines.runs.stopping import RunBudget
from runs.kinds import GYM, LEARNING, TRAIN_DOMAIN, Kind, metrics


def opened(folder: Path, **options: Any) -> Journal:
    """The journal of a run that trains in two rooms."""
    config = TRAIN_DOMAIN.order(RunFolder(folder / "never")).config
    folder.mkdir(exist_ok=True)
    for name in ("machines", "examples"):
        (folder / name).mkdir(exist_ok=True)
    trees = {config.task: TRAIN_DOMAIN.order(RunFolder(folder / "never")).hierarchies[config.task]}
    return Journal(RunFolder(folder), Session(config, trees, Given(), Solvers()), **options)


def test_a_process_that_is_killed_loses_what_came_after_its_checkpoint(tmp_path: Path) -> None:
    with closing(opened(tmp_path)) as killed:
        killed.advance()
        killed.checkpoint()
        first = metrics(tmp_path)
        second = killed.advance().row
        killed.advance()  # and dies: no further checkpoint
    assert metrics(tmp_path).count(b"\n") == 3
    with closing(opened(tmp_path)) as again:
        assert again.session.algorithm.counters.chunks == 1
        assert metrics(tmp_path) == first
        assert again.advance().row == second


@pytest.mark.parametrize(
    ("has_news", "usual", "news", "is_written"),
    [(False, 0, 99, True), (False, 99, 0, False), (True, 99, 0, True), (True, 0, 99, False)],
)
def test_checkpoints_are_written_when_they_are_due(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_news: bool, usual: int, news: int, is_written: bool
) -> None:
    """A machine whose search may have taken long is kept earlier."""
    monkeypatch.setattr(journal, "CHECKPOINT_SECONDS", usual)
    monkeypatch.setattr(journal, "NEWS_SECONDS", news)
    conclude, update = Training.conclude, MachineUpdate("all", Trigger.GOALS, 2, 1, 1, 1, 0, 0)

    def concluded(run: Training, *arguments: Any) -> Any:
        row = conclude(run, *arguments)
        object.__setattr__(row, "learned", (update,) if has_news else ())
        return row

    monkeypatch.setattr(Training, "conclude", concluded)
    with closing(opened(tmp_path)) as one:
        one.advance()
        assert RunFolder(tmp_path).checkpoint.exists() == is_written


def test_checkpoints_of_several_runs_are_as_many_times_rarer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten seconds after the last one, of which eight are enough for one run and not for two."""
    monkeypatch.setattr(journal, "CHECKPOINT_SECONDS", 8)
    for runs, is_written in ((1, True), (2, False)):
        folder = tmp_path / str(runs)
        with closing(opened(folder, runs=runs)) as one:
            one._saved_at -= 10
            one.advance()
            assert RunFolder(folder).checkpoint.exists() == is_written


class Clock:
    """A clock that stands still unless it is moved."""

    def __init__(self) -> None:
        self.now = 5_000.0

    def monotonic(self) -> float:
        return self.now


def test_the_clock_goes_on_when_a_run_is_resumed_and_pauses_do_not_count(
    kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A budget of 100 seconds, of which every chunk takes 20: two before the pause, three after it."""
    clock = Clock()
    monkeypatch.setattr(journal, "time", clock)

    advance = Algorithm.advance

    def slow(run: Any) -> Any:
        clock.now += 20
        return advance(run)

    monkeypatch.setattr(Algorithm, "advance", slow)

    def stop(chunk: journal.Chunk) -> None:
        if chunk.row.chunk == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        kind.run(tmp_path / "run", steps=None, seconds=100, callbacks=[stop])
    assert [row.seconds for row in open_run(tmp_path / "run").timing] == [20, 40]
    clock.now += 1_000
    assert [row.seconds for row in kind.resume(tmp_path / "run").timing] == [20, 40, 60, 80, 100]
    clock.now += 1_000
    assert len(kind.resume(tmp_path / "run").timing) == 5


def test_a_checkpoint_holds_both_halves_of_the_state(kind: Kind, whole: Run) -> None:
    checkpoint = read_checkpoint(whole.files.checkpoint)
    assert checkpoint.marks.metrics == whole.files.metrics.stat().st_size
    assert checkpoint.marks.timing == whole.files.timing.stat().st_size
    assert checkpoint.marks.seconds >= whole.timing[-1].seconds
    state = checkpoint.state
    assert ("curriculum" in state.algorithm) == kind.learns
    assert (state.suite is not None, state.best is not None) == (kind.is_gym, kind.is_gym)
    assert any(name.startswith("state/agent/replay") for name in checkpoint.arrays)
    session = open_run(whole.folder).last
    restored = session.algorithm_state()
    assert restored.algorithm == state.algorithm


# -- damage


def _text(change: Callable[[Any], object]) -> Callable[[Path], None]:
    """Damages the half of a checkpoint that is text."""

    def damage(path: Path) -> None:
        arrays, notes = read_arrays(path)
        content = json.loads(arrays[HOST].tobytes())
        changed = change(content)
        text = changed if isinstance(changed, str) else json.dumps(content)
        write_arrays(path, {**arrays, HOST: np.frombuffer(text.encode(), np.uint8)}, notes)

    return damage


def _without(first: str) -> Callable[[Path], None]:
    """Takes the arrays away whose names begin so."""

    def damage(path: Path) -> None:
        arrays, notes = read_arrays(path, lambda name: not name.startswith(first))
        write_arrays(path, arrays, notes)

    return damage


def _misshape(path: Path) -> None:
    arrays, notes = read_arrays(path)
    write_arrays(path, {name: array if name == HOST else array[None] for name, array in arrays.items()}, notes)


DAMAGES: list[tuple[Callable[[Path], Any], str]] = [
    (lambda path: path.write_bytes(path.read_bytes()[:-100]), "damaged, this is not a whole safetensors file"),
    (lambda path: path.write_bytes(b""), "damaged, this is not a whole safetensors file"),
    (lambda path: path.write_bytes(b"hello " * 1000), "damaged, this is not a whole safetensors file"),
    (lambda path: write_arrays(path, {}, {"format": FORMAT}), f"'{HOST}' is missing"),
    (lambda path: write_arrays(path, read_arrays(path)[0], {}), "another version"),
    (lambda path: write_arrays(path, read_arrays(path)[0], {"format": FORMAT + 1}), f"in format {FORMAT + 1}, not"),
    (_without(HOST), f"'{HOST}' is missing"),
    (_without("state/agent"), "'state/agent/.*' is missing"),
    (_misshape, "misshapen|is .*, not "),
    (_text(lambda _: "{"), "damaged, this is not JSON"),
    (_text(lambda _: "[]"), "must be a mapping"),
    (_text(lambda content: content.pop("state")), "'state' is missing"),
    (_text(lambda content: content["marks"].pop("metrics")), "marks: 'metrics' is missing"),
    (_text(lambda content: content["state"].update(algorithm={})), "'counters' is missing"),
]


@pytest.mark.parametrize(("damage", "message"), DAMAGES)
def test_damaged_checkpoints_are_named_and_nothing_is_changed(
    kind: Kind, copy: Path, damage: Callable[[Path], Any], message: str
) -> None:
    damage(copy / "checkpoint.safetensors")
    before = {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()}
    with pytest.raises(RewardMachineError, match=f"checkpoint.safetensors.*({message}).*without this file") as problem:
        kind.resume(copy, steps=10**6)
    assert "\n" not in str(problem.value)
    assert {path: path.read_bytes() for path in before} == before


_LHRM: dict[str, Callable[[Any], object]] = {
    "'curriculum' is missing": lambda state: state.pop("curriculum"),
    "speaks of other tasks or instances": lambda state: state["curriculum"].update(running=[[0.0]]),
    "speaks of other tasks": lambda state: state.update(progress={}),
    "the state of its chance cannot be read": lambda state: state.update(chance="{}"),
    r"traces\[0\]": lambda state: next(iter(state["progress"].values()))["examples"].update(traces=["{"]),
    "machines": lambda state: state["pool"].update(machines="{"),
    "or instances than the run": lambda state: state["pool"].update(learned=["cake"]),
}


@pytest.mark.parametrize("kind", LEARNING, ids=str)
@pytest.mark.parametrize("message", _LHRM)
def test_a_damaged_state_of_lhrm_is_named(kind: Kind, copy: Path, message: str) -> None:
    _text(lambda content: _LHRM[message](content["state"]["algorithm"]) and None)(copy / "checkpoint.safetensors")
    with pytest.raises(RewardMachineError, match=f"checkpoint.safetensors.*{message}.*without this file"):
        kind.resume(copy)


_GYM: dict[str, dict[str, Any]] = {
    "its episodes are not those of the run": {"evaluations": [1]},
    "the state of its chance cannot be read": {"chance": "{}"},
}


@pytest.mark.parametrize("kind", GYM, ids=str)
@pytest.mark.parametrize("message", _GYM)
def test_a_damaged_record_of_gymnasium_environments_is_named(kind: Kind, copy: Path, message: str) -> None:
    _text(lambda content: content["state"]["suite"].update(_GYM[message]))(copy / "checkpoint.safetensors")
    with pytest.raises(RewardMachineError, match=f"checkpoint.safetensors: damaged, .*{message}"):
        kind.resume(copy)


def test_damaged_policies_are_named(kind: Kind, copy: Path) -> None:
    whole = (copy / "policies.safetensors").read_bytes()
    for damage, message in DAMAGES:
        if "state/" in message:
            continue
        (copy / "policies.safetensors").write_bytes(whole)
        damage(copy / "policies.safetensors")
        with pytest.raises(RewardMachineError, match=f"policies.safetensors.*({message})"):
            open_run(copy).evaluate()
    (copy / "policies.safetensors").unlink()
    with pytest.raises(RewardMachineError, match="there are no policies yet"):
        open_run(copy).evaluate()


# -- limits


@pytest.mark.parametrize(
    ("budget", "spent"),
    [
        (RunBudget(), False),
        (RunBudget(steps=100), True),
        (RunBudget(steps=101), False),
        (RunBudget(steps=101, episodes=10), True),
        (RunBudget(episodes=11, seconds=1.5), True),
        (RunBudget(seconds=1.6), False),
    ],
)
def test_what_is_reached_first_ends_a_run(budget: RunBudget, spent: bool) -> None:
    assert budget.is_spent(steps=100, episodes=10, seconds=1.5) == spent
    assert budget.is_limited == (budget != RunBudget())


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"steps": 0}, "at least one step"),
        ({"episodes": -1}, "at least one episode"),
        ({"seconds": 0.0}, "more than 0 seconds"),
        ({"seconds": float("nan")}, "more than nan seconds"),
    ],
)
def test_limits_that_make_no_sense_are_refused(limits: dict[str, Any], message: str) -> None:
    with pytest.raises(RewardMachineError, match=message):
        RunBudget(**limits)
