"""Several runs that advance together are written down each in its folder: shown with computations that count."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing
from functools import partial
from itertools import islice
from pathlib import Path

import pytest

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.runs import journal
from rewardmachines.runs.budget import Budget
from rewardmachines.runs.config_file import save_settings
from rewardmachines.runs.loop import RunInFolder, chunks_in_folders
from runs.counting import STEPS, Count, Counting, CountingFolder
from runs.test_journal import totals


def counted(folders: Sequence[Path], chunks: Sequence[int], *, resume: bool = False) -> Generator[tuple[int, int]]:
    """Counts in folders until each has so many chunks; yields the number of a run and its total."""
    runs = [Counting(CountingFolder(folder)) for folder in folders]

    def part(run: Counting, most: int) -> RunInFolder[Count]:
        budget = Budget(steps=STEPS * most)
        return RunInFolder(
            folder=run.folder,
            run=run,
            write_settings=lambda: save_settings(run.folder.config, "count", budget),
            is_over=lambda seconds: budget.is_spent(run.steps, 0, seconds),
        )

    def advance(numbers: Sequence[int]) -> list[Count]:
        return [runs[number].advance()[0] for number in numbers]

    parts = [part(run, most) for run, most in zip(runs, chunks, strict=True)]
    for number, row, _ in chunks_in_folders(parts, advance, resume=resume):
        yield number, row.total


def folders_in(path: Path) -> list[Path]:
    return [path / "one", path / "two"]


def test_each_run_ends_by_itself_and_the_others_go_on(tmp_path: Path) -> None:
    told = list(counted(folders_in(tmp_path), [2, 4]))
    assert told == [(0, 1), (1, 1), (0, 3), (1, 3), (1, 6), (1, 10)]
    assert [totals(folder) for folder in folders_in(tmp_path)] == [[1, 3], [1, 3, 6, 10]]


def test_a_run_that_is_over_has_a_checkpoint_while_the_others_go_on(tmp_path: Path) -> None:
    one, two = (CountingFolder(folder) for folder in folders_in(tmp_path))
    with closing(counted(folders_in(tmp_path), [1, 9])) as chunks:
        list(islice(chunks, 4))
        assert one.checkpoint.exists()
        assert not two.checkpoint.exists()
    assert two.checkpoint.exists()


def test_runs_that_were_broken_off_go_on_where_each_was(tmp_path: Path) -> None:
    folders = folders_in(tmp_path)
    with closing(counted(folders, [9, 9])) as chunks:
        assert len(list(islice(chunks, 5))) == 5
    assert [totals(folder) for folder in folders] == [[1, 3, 6]] * 2
    CountingFolder(folders[0]).checkpoint.unlink()
    assert list(counted(folders, [2, 4], resume=True)) == [(0, 1), (1, 10), (0, 3)]
    assert [totals(folder) for folder in folders] == [[1, 3], [1, 3, 6, 10]]


def test_runs_that_are_broken_off_in_the_middle_of_a_chunk_leave_no_checkpoint(tmp_path: Path) -> None:
    runs = [Counting(CountingFolder(folder)) for folder in folders_in(tmp_path)]

    def broken_off(numbers: Sequence[int]) -> list[Count]:
        rows = [runs[number].advance()[0] for number in numbers]
        if rows[0].chunk == 2:
            raise KeyboardInterrupt
        return rows

    parts = [
        RunInFolder(run.folder, run, partial(save_settings, run.folder.config, "count", Budget()), lambda _: False)
        for run in runs
    ]
    with pytest.raises(KeyboardInterrupt):
        list(chunks_in_folders(parts, broken_off, resume=False))
    assert not any(run.folder.checkpoint.exists() for run in runs)


@pytest.mark.parametrize(("seconds", "is_written"), [(0, True), (99, False)])
def test_checkpoints_are_written_on_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float, is_written: bool
) -> None:
    monkeypatch.setattr(journal, "CHECKPOINT_SECONDS", seconds)
    with closing(counted(folders_in(tmp_path), [9, 9])) as chunks:
        next(chunks)
        assert [CountingFolder(folder).checkpoint.exists() for folder in folders_in(tmp_path)] == [is_written] * 2


def test_checkpoints_of_several_runs_are_as_many_times_rarer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten seconds after the last one, of which eight are enough for one run and not for two."""
    monkeypatch.setattr(journal, "CHECKPOINT_SECONDS", 8)
    for runs, is_written in ((1, True), (2, False)):
        files = CountingFolder(tmp_path / str(runs))
        files.path.mkdir()
        with closing(journal.Journal(files, Counting(files), runs=runs)) as opened:
            opened._saved_at -= 10
            opened.advance()
            assert files.checkpoint.exists() == is_written


def test_nothing_is_begun_if_one_of_the_folders_is_taken(tmp_path: Path) -> None:
    one, two = folders_in(tmp_path)
    list(counted([two, tmp_path / "three"], [1, 1]))
    with pytest.raises(RewardMachineError, match="two: there is a run already"):
        list(counted([one, two], [1, 1]))
    assert not CountingFolder(one).config.exists()
