"""Runs of each kind that are killed at any moment go on as if nothing had happened."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest

from lhrm import yards
from lhrm.yards import Yard
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.rollout.gym_environments import ReplayWarning
from rewardmachines.runs.run import Run, open_run
from runs.conftest import Wholes
from runs.killing import Kill, folders_left_by, killed_once
from runs.kinds import GYM, KINDS, Kind, kept, metrics


class Copies:
    """The folders that killed runs of each kind have left."""

    def __init__(self, places: pytest.TempPathFactory) -> None:
        self._places, self._made = places, dict[str, Path]()

    def __getitem__(self, kind: Kind) -> Path:
        if kind.name not in self._made:
            self._made[kind.name] = folders_left_by(list(kind.kills), kind.run, kind.code, self._places)
        return self._made[kind.name]


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Copies:
    return Copies(tmp_path_factory)


KILLS = [
    pytest.param(kind, kill, has_begun, id=f"{kind}-{kill}")
    for kind in KINDS.values()
    for kill, has_begun in kind.kills.items()
]


@pytest.mark.parametrize(("kind", "kill", "has_begun"), KILLS)
def test_a_run_that_is_killed_while_it_writes_is_begun_again_or_goes_on(
    wholes: Wholes, copies: Copies, kind: Kind, kill: Kill, has_begun: bool
) -> None:
    folder, whole = copies[kind] / kill.folder, wholes[kind]
    assert (folder / "config.json").exists() == has_begun
    with warnings.catch_warnings():
        warnings.simplefilter("error", ReplayWarning)
        resumed = kind.resume(folder) if has_begun else kind.run(folder)
    assert resumed.rows == whole.rows
    assert kept(folder) == kept(whole.folder)
    assert not list(folder.rglob("*.part"))
    assert Yard.open == 0


def test_a_process_that_is_killed_goes_on_as_if_nothing_had_happened(kind: Kind, whole: Run, tmp_path: Path) -> None:
    folder, rows = tmp_path / "killed", whole.rows
    learned = [row.chunk for row in rows if row.learned]
    enough = min(max(learned, default=3) + 1, len(rows) - 2)  # with machines, but before the end
    with (
        killed_once(lambda: rows_in(folder) >= enough, kind.slow_code, folder),
        pytest.raises(RewardMachineError, match="another process writes there right now"),
    ):
        kind.resume(folder)
    before = open_run(folder).rows
    assert enough <= len(before) < len(rows)
    assert before == rows[: len(before)]
    assert (folder / "checkpoint.safetensors").exists()
    with (folder / "metrics.jsonl").open("ab") as file:
        file.write(b'{"chunk": 7, "st')  # killed while writing
    assert open_run(folder).rows == before
    if kind.learns:  # a machine that was learned after the checkpoint, as far as anybody can tell
        (folder / "machines" / "all.json").write_bytes((whole.folder / "machines" / f"{kind.task}.json").read_bytes())
    (folder / ".checkpoint.safetensors.x.part").write_bytes(b"half")
    kind.resume(folder)
    assert kept(folder) == kept(whole.folder)
    assert not list(folder.glob(".*"))
    assert Yard.open == 0


def rows_in(folder: Path) -> int:
    return metrics(folder).count(b"\n") if (folder / "metrics.jsonl").exists() else 0


def test_without_a_checkpoint_a_run_starts_again(kind: Kind, whole: Run, copy: Path) -> None:
    (copy / "checkpoint.safetensors").unlink()
    kind.resume(copy)
    assert kept(copy) == kept(whole.folder)


@pytest.mark.parametrize("kind", GYM, ids=str)
def test_episodes_that_cannot_be_replayed_are_given_up_with_one_warning(kind: Kind, tmp_path: Path) -> None:
    where: Any = {"ab": yards.make_moody} if kind.learns else yards.make_moody
    before = kind.run(tmp_path / "run", where=where, steps=3 * kind.chunk)
    with pytest.warns(ReplayWarning, match=r"\d+ of 20 episodes could not be replayed") as told:
        after = kind.resume(tmp_path / "run", steps=5 * kind.chunk)
    (warning,) = [one for one in told if one.category is ReplayWarning]
    assert warning.filename.endswith("kinds.py"), "the line that asked for it, outside of the package"
    assert after.rows[: len(before.rows)] == before.rows
    assert after.rows[-1].steps >= 5 * kind.chunk
