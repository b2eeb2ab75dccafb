"""Whatever can be resumed is written down, killed and resumed in one way: shown with a computation that counts."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.runs import journal
from rewardmachines.runs.budget import Budget
from rewardmachines.runs.checkpoint import HOST, read_checkpoint
from rewardmachines.runs.config_file import save_settings
from rewardmachines.runs.journal import Journal, Urgency
from rewardmachines.runs.loop import chunks_in_folder
from rewardmachines.runs.tensors import read_arrays, write_arrays
from runs.counting import STEPS, Count, Counting, CountingFolder, CountingSnapshot, policy


def totals(folder: Path) -> list[int]:
    return [json.loads(line)["total"] for line in (folder / "metrics.jsonl").read_text().splitlines()]


def counted(folder: Path, chunks: int, *, resume: bool = False) -> Generator[list[Count]]:
    """Counts in a folder until there are so many chunks."""
    files = CountingFolder(folder)
    run = Counting(files)
    steps = Budget(steps=STEPS * chunks)
    for rows, _ in chunks_in_folder(
        files,
        run,
        lambda: save_settings(files.config, "count", steps),
        lambda seconds: steps.is_spent(run.steps, 0, seconds),
        resume=resume,
    ):
        yield list(rows)


def test_a_run_that_is_stopped_goes_on_as_if_nothing_had_happened(tmp_path: Path) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    assert len(list(counted(whole, 6))) == 6
    assert (totals(whole), policy(whole)) == ([1, 3, 6, 10, 15, 21], 21)
    with closing(counted(broken, 6)) as chunks:
        assert [rows[0].total for rows in islice(chunks, 2)] == [1, 3]
    assert (totals(broken), policy(broken)) == ([1, 3], 3)
    assert [rows[0].total for rows in counted(broken, 6, resume=True)] == [6, 10, 15, 21]
    assert totals(broken) == totals(whole)
    assert list(counted(broken, 6, resume=True)) == []


class BrokenOff(Counting):
    """A count that is broken off in the middle of its third chunk, when half of its state has changed."""

    def advance(self) -> Sequence[Count]:
        if self.chunks == 2:
            self._chunks += 1
            raise KeyboardInterrupt
        return super().advance()


@pytest.mark.parametrize("is_saved", [True, False])
def test_a_chunk_that_is_broken_off_in_the_middle_leaves_no_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_saved: bool
) -> None:
    """There is the one from before the chunk, or none. Either way the run goes on as if nothing had happened."""
    files, budget = CountingFolder(tmp_path), Budget(steps=STEPS * 5)
    chunks = chunks_in_folder(
        files,
        BrokenOff(files, urgency=Urgency.NEWS if is_saved else Urgency.NONE),
        lambda: save_settings(files.config, "count", budget),
        lambda _: False,
        resume=False,
    )
    monkeypatch.setattr(journal, "NEWS_SECONDS", 0)
    with closing(chunks), pytest.raises(KeyboardInterrupt):
        list(chunks)
    assert files.checkpoint.exists() == is_saved
    if is_saved:
        assert read_checkpoint(files.checkpoint, CountingSnapshot).snapshot.chunks == 2
    list(counted(tmp_path, 5, resume=True))
    assert totals(tmp_path) == [1, 3, 6, 10, 15]


class Clock:
    """A clock that stands still unless it is moved."""

    def __init__(self) -> None:
        self.now = 5_000.0

    def monotonic(self) -> float:
        return self.now


class Slow(Counting):
    """A count whose chunks take 20 seconds each by the clock."""

    def __init__(self, folder: CountingFolder, clock: Clock) -> None:
        super().__init__(folder)
        self._clock = clock

    def advance(self) -> Sequence[Count]:
        self._clock.now += 20
        return super().advance()


def test_the_clock_goes_on_when_a_run_is_resumed_and_pauses_do_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A budget of 100 seconds, of which every chunk takes 20: two before the pause, three after it."""
    clock, files, budget = Clock(), CountingFolder(tmp_path), Budget(seconds=100)
    monkeypatch.setattr(journal, "time", clock)

    def seconds(*, resume: bool) -> Generator[float]:
        run = Slow(files, clock)
        for _, moment in chunks_in_folder(
            files,
            run,
            lambda: save_settings(files.config, "count", budget),
            lambda seconds: budget.is_spent(run.steps, 0, seconds),
            resume=resume,
        ):
            yield moment.seconds

    with closing(seconds(resume=False)) as first:
        assert list(islice(first, 2)) == [20, 40]
    clock.now += 1_000
    assert list(seconds(resume=True)) == [60, 80, 100]
    clock.now += 1_000
    assert list(seconds(resume=True)) == []


def test_a_process_that_is_killed_loses_what_came_after_its_checkpoint(tmp_path: Path) -> None:
    files = CountingFolder(tmp_path)
    with closing(Journal(files, Counting(files))) as killed:
        killed.advance()
        killed.checkpoint()
        killed.advance()
        killed.advance()  # and dies: no further checkpoint
    again = Counting(files)
    with closing(Journal(files, again)) as opened:
        assert (again.chunks, int(again.total), totals(tmp_path)) == (1, 1, [1])
        opened.advance()
    assert totals(tmp_path) == [1, 3]
    assert again.machines_written == [False, True]


@pytest.mark.parametrize(
    ("urgency", "usual", "news", "is_written"),
    [
        (Urgency.NONE, 0, 0, False),
        (Urgency.USUAL, 0, 99, True),
        (Urgency.USUAL, 99, 0, False),
        (Urgency.NEWS, 99, 0, True),
        (Urgency.NEWS, 0, 99, False),
    ],
)
def test_checkpoints_are_written_when_they_are_due(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, urgency: Urgency, usual: int, news: int, is_written: bool
) -> None:
    monkeypatch.setattr(journal, "CHECKPOINT_SECONDS", usual)
    monkeypatch.setattr(journal, "NEWS_SECONDS", news)
    files = CountingFolder(tmp_path)
    with closing(Journal(files, Counting(files, urgency=urgency))) as opened:
        opened.advance()
        assert files.checkpoint.exists() == is_written


def test_a_checkpoint_without_news_is_not_written_again(tmp_path: Path) -> None:
    list(counted(tmp_path, 2))
    before = CountingFolder(tmp_path).checkpoint.stat().st_mtime_ns
    assert list(counted(tmp_path, 2, resume=True)) == []
    assert CountingFolder(tmp_path).checkpoint.stat().st_mtime_ns == before


def _renumbered(path: Path) -> None:
    arrays, _ = read_arrays(path)
    write_arrays(path, arrays, {"format": 1})


def _without_text(path: Path) -> None:
    arrays, notes = read_arrays(path, lambda name: name != HOST)
    write_arrays(path, arrays, notes)


def _with_text(text: str) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        arrays, notes = read_arrays(path)
        write_arrays(path, {**arrays, HOST: np.frombuffer(text.encode(), np.uint8)}, notes)

    return damage


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (_renumbered, r"a checkpoint of an earlier version \(format 1\), which this version \(format 2\) cannot go on"),
        (lambda path: write_arrays(path, {}, {"format": 3}), r"a checkpoint of another version \(format 3\)"),
        (_without_text, "'host' is missing"),
        (_with_text("{"), "host: damaged, this is not JSON"),
        (_with_text("[]"), "'host' must be a mapping"),
        (_with_text('{"marks": {}}'), "'snapshot' is missing"),
        (_with_text('{"marks": {}, "snapshot": {}}'), "marks: 'metrics' is missing"),
        (_with_text('{"marks": {"metrics": 0, "timing": 0, "seconds": 0}, "snapshot": {"chunks": -1}}'), "negative"),
    ],
)
def test_checkpoints_that_cannot_be_read_are_named(tmp_path: Path, damage: Callable[[Path], Any], message: str) -> None:
    list(counted(tmp_path, 2))
    damage(CountingFolder(tmp_path).checkpoint)
    with pytest.raises(RewardMachineError, match=f"{message}.*without this file, the run would start from"):
        next(counted(tmp_path, 3, resume=True))


def test_a_checkpoint_holds_both_halves_of_the_state(tmp_path: Path) -> None:
    list(counted(tmp_path, 4))
    checkpoint = read_checkpoint(CountingFolder(tmp_path).checkpoint, CountingSnapshot)
    assert checkpoint.snapshot == CountingSnapshot(4)
    assert int(checkpoint.arrays["state/total"]) == 10
    assert checkpoint.marks.metrics == (tmp_path / "metrics.jsonl").stat().st_size


def test_rows_are_checked_when_a_run_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    list(counted(tmp_path, 3))
    path = tmp_path / "metrics.jsonl"
    path.write_text(path.read_text().replace('"total": 3', '"total": -3'))
    list(counted(tmp_path, 4, resume=True))
    assert totals(tmp_path) == [1, 6, 10]
    assert "1 of 3 lines are lost" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("budget", "spent"),
    [
        (Budget(), False),
        (Budget(steps=100), True),
        (Budget(steps=101), False),
        (Budget(steps=101, episodes=10), True),
        (Budget(episodes=11, seconds=1.5), True),
        (Budget(seconds=1.6), False),
    ],
)
def test_what_is_reached_first_ends_a_run(budget: Budget, spent: bool) -> None:
    assert budget.is_spent(steps=100, episodes=10, seconds=1.5) == spent
    assert budget.is_limited == (budget != Budget())


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
        Budget(**limits)
