"""Several seeds side by side, each in a folder of its own: every one is a run like any other."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from agents.tiny import CONFIG as TINY
from rewardmachines.agents.registry import CRM
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs.scenarios import PAPER_INSTANCE_SEEDS, instance_seed_of
from rewardmachines.rollout.algorithm import RunsSideBySide
from rewardmachines.rollout.rows import Row
from rewardmachines.runs import journal
from rewardmachines.runs.folder import RunFolder
from rewardmachines.runs.journal import Chunk
from rewardmachines.runs.orders import RunOrder, carry_out, orders_of_seeds
from rewardmachines.runs.run import Run, open_run
from rewardmachines.runs.verbs import train
from runs.kinds import LEARN_DOMAIN, TRAIN_DOMAIN, Kind, kept

DOMAINS = [TRAIN_DOMAIN, LEARN_DOMAIN]


def rounded(row: Row) -> Row:
    """Without the last digits of means over a batch, which a program for many runs may sum in another order."""
    rates = {name: round(getattr(row, name), 4) for name in ("formula_loss", "call_loss", "exploration")}
    return replace(row, **rates)


class Pairs:
    """Two seeds of each kind, learned or trained side by side without a break."""

    def __init__(self, places: pytest.TempPathFactory) -> None:
        self._places, self._made = places, dict[str, list[Run]]()

    def __getitem__(self, kind: Kind) -> list[Run]:
        if kind.name not in self._made:
            self._made[kind.name] = self._runs(kind)
        return self._made[kind.name]

    def _runs(self, kind: Kind) -> list[Run]:
        found: Any = kind.run(self._places.mktemp("seeds") / kind.name, seeds=2)
        runs: list[Run] = found
        return runs


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Pairs:
    return Pairs(tmp_path_factory)


@pytest.mark.parametrize("kind", DOMAINS, ids=str)
def test_each_seed_is_a_run_like_any_other_and_ends_by_itself(kind: Kind, pairs: Pairs, whole: Run) -> None:
    runs = pairs[kind]
    assert [run.config.seed for run in runs] == [0, 1]
    assert [run.folder.name for run in runs] == [f"{kind.name}-{seed}" for seed in range(2)]
    assert replace(runs[1].config, seed=0) == runs[0].config == whole.config
    assert [rounded(row) for row in runs[0].rows[:8]] == [rounded(row) for row in whole.rows[:8]], "as alone"
    assert (len(runs[0].rows) != len(runs[1].rows)) == kind.learns
    for run in runs:
        assert [row.chunk for row in run.rows] == [*range(1, len(run.rows) + 1)]
        assert [row.steps for row in run.timing] == [row.steps for row in run.rows]
        assert run.missing == {}
        last = next(row for row in reversed(run.rows) if row.returns is not None)
        assert [one.returns for one in run.evaluate()] == [*(last.returns or ())]


@pytest.mark.parametrize("kind", DOMAINS, ids=str)
def test_seeds_that_were_broken_off_go_on_together_as_if_nothing_had_happened(
    kind: Kind, pairs: Pairs, tmp_path: Path
) -> None:
    orders = orders_of_seeds(kind.order(RunFolder(tmp_path / "run")), 2)
    with closing(carry_out(orders)) as chunks:
        assert [number for number, _ in islice(chunks, 7)] == [0, 1] * 3 + [0]
    assert [len(open_run(order.folder.path).rows) for order in orders] == [4, 4], "a round is recorded as a whole"
    orders[1].folder.checkpoint.unlink()  # it begins anew, beside chunk 5 of the first
    runs = kind.resume(tmp_path / "run", seeds=2)
    assert isinstance(runs, list)
    for run, expected in zip(runs, pairs[kind], strict=True):
        assert kept(run.folder) == kept(expected.folder)


@pytest.mark.parametrize("kind", DOMAINS, ids=str)
def test_a_seed_goes_on_alone_and_the_others_stay_as_they_are(kind: Kind, tmp_path: Path) -> None:
    kind.run(tmp_path / "run", seeds=2, steps=3 * kind.chunk)
    other = kept(tmp_path / "run-0")
    assert kind.resume(tmp_path / "run-1", steps=5 * kind.chunk).rows[-1].steps >= 5 * kind.chunk
    assert kept(tmp_path / "run-0") == other


@pytest.mark.parametrize("kind", DOMAINS, ids=str)
def test_seeds_are_resumed_if_they_are_all_there(kind: Kind, tmp_path: Path) -> None:
    kind.run(tmp_path / "run [1]*", seeds=2, seed=9, steps=kind.chunk)
    (tmp_path / "run [1]*-report").mkdir()
    (tmp_path / "run [1]*-x").mkdir()
    (tmp_path / "run [1]*-x" / "config.json").write_text("{")
    resumed: Any = kind.resume(tmp_path / "run [1]*", seeds=2, steps=2 * kind.chunk)
    assert [run.config.seed for run in resumed] == [9, 10], "in the order of numbers, not of letters"
    last: Any = kind.resume(tmp_path / "run [1]*", seeds=1, seed=10)
    assert [run.config.seed for run in last] == [10]
    for options, message in (
        ({"seeds": 3}, "there are 2 runs to resume, not 3"),
        ({"seeds": 2, "seed": 10}, "there are 1 runs to resume, not 2"),
        ({"seeds": 2, "own_instances": True}, "instance_seed is"),
    ):
        with pytest.raises(RewardMachineError, match=message):
            kind.resume(tmp_path / "run [1]*", **options)
    with pytest.raises(RewardMachineError, match="there is no run to resume, not 2"):
        kind.resume(tmp_path / "nothing", seeds=2)
    with pytest.raises(RewardMachineError, match="there is no run to resume"):
        kind.resume(tmp_path / "no" / "thing", seeds=2)


@pytest.mark.parametrize("kind", DOMAINS, ids=str)
def test_nothing_is_begun_if_one_of_the_folders_is_taken(kind: Kind, tmp_path: Path) -> None:
    kind.run(tmp_path / "run-1", steps=1)
    with pytest.raises(RewardMachineError, match="run-1: there is a run already"):
        kind.run(tmp_path / "run", seeds=2)
    assert not (tmp_path / "run-0").exists()


def test_what_cannot_go_side_by_side_is_told_before_anything_is_written(tmp_path: Path) -> None:
    def order(name: str, **options: Any) -> RunOrder:
        made: RunOrder = LEARN_DOMAIN.order(RunFolder(tmp_path / name), **options)
        return made

    for other in ({"tasks": ["fetch"]}, {"max_steps": 61}):
        with pytest.raises(RewardMachineError, match="have the same tasks and settings"):
            list(carry_out([order("one"), order("two", **other)]))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", DOMAINS, ids=str)
def test_ctrl_c_leaves_checkpoints_of_all(kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders, advance = [tmp_path / f"run-{seed}" for seed in range(2)], RunsSideBySide.advance

    def stop(chunk: Chunk) -> None:
        if (chunk.session.config.seed, chunk.row.chunk) == (0, 3):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        kind.run(tmp_path / "run", seeds=2, callbacks=[stop])
    for folder in folders:
        assert [row.chunk for row in open_run(folder).rows] == [1, 2, 3]
        assert (folder / "checkpoint.safetensors").exists()

    def broken(together: RunsSideBySide, numbers: Sequence[int] | None = None) -> list[Row]:
        rows = advance(together, numbers)
        if rows[0].chunk == 5:  # in the middle of a chunk: nothing of it was recorded
            raise KeyboardInterrupt
        return rows

    before = [(folder / "checkpoint.safetensors").read_bytes() for folder in folders]
    monkeypatch.setattr(RunsSideBySide, "advance", broken)
    with pytest.raises(KeyboardInterrupt):
        kind.resume(tmp_path / "run", seeds=2)
    assert [(folder / "checkpoint.safetensors").read_bytes() for folder in folders] == before


@pytest.mark.parametrize("kind", DOMAINS, ids=str)
@pytest.mark.parametrize(("seconds", "is_written"), [(0, True), (99, False)])
def test_checkpoints_are_written_on_the_way_and_when_one_of_the_runs_is_over(
    kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float, is_written: bool
) -> None:
    monkeypatch.setattr(journal, "CHECKPOINT_SECONDS", seconds)
    one, two = orders_of_seeds(kind.order(RunFolder(tmp_path / "run")), 2)
    short = replace(one, config=replace(one.config, budget=replace(one.config.budget, steps=2 * kind.chunk)))
    with closing(carry_out([short, two])) as chunks:
        next(chunks)
        assert [order.folder.checkpoint.exists() for order in (one, two)] == [is_written] * 2
        while next(chunks)[1].row.chunk < 6:
            pass
        assert one.folder.checkpoint.exists()
        assert two.folder.checkpoint.exists() == is_written
    assert two.folder.checkpoint.exists()


# -- instances of their own


_CALLS = replace(TINY.calls, replay_start=TINY.calls.replay_size)
STILL = replace(TINY, replay_start=TINY.replay_size, calls=_CALLS)
"""Settings with which nothing is learned: a sum over a batch may be another in the last digit side by side."""
CHUNK = TINY.chunk * TINY.environments


def in_craftworld(folder: Path | None, **options: Any) -> Any:
    usual = {"setting": "opl", "instances": 2, "max_steps": 60, "settings": STILL, "stop_at": 0, "steps": 4 * CHUNK}
    return train("craftworld", "bucket", folder=folder, **{**usual, **options})


@pytest.mark.parametrize("agent", ["hrl", "crm"])
def test_a_seed_does_the_same_beside_another_and_alone_in_its_instances(agent: str) -> None:
    usual = STILL if agent == "hrl" else replace(STILL, evaluate_every="10 episodes")
    settings = usual if agent == "hrl" else CRM.settings(usual)
    asked: dict[str, Any] = {"agent": agent, "settings": settings, "steps": 8 * CHUNK}
    both = in_craftworld(None, seeds=2, own_instances=True, **asked)
    alone = in_craftworld(None, seed=1, instance_seed=PAPER_INSTANCE_SEEDS[1], **asked)
    assert both[1].config == alone.config
    assert any(row.returns for row in alone.rows)
    assert [rounded(row) for row in both[1].rows] == [rounded(row) for row in alone.rows]


def test_the_worlds_of_seeds_are_those_of_the_papers_runs(tmp_path: Path) -> None:
    runs = in_craftworld(tmp_path / "run", seeds=2, own_instances=True)
    for seed, run in enumerate(runs):
        assert run.config.domain.instance_seed == PAPER_INSTANCE_SEEDS[seed] == instance_seed_of(seed)
        assert run.environment(instance=1).reset()[1]["instance"] == 1
        last = [row for row in run.rows if row.returns is not None][-1]
        assert [(one.returns, one.lengths) for one in run.evaluate()] == [(last.returns[0], last.lengths[0])]
    first, second = (run.environment(instance=0).reset()[0] for run in runs)
    assert not np.array_equal(first, second)
    worlds = [jax.tree.leaves(run.scenario.training_world) for run in runs]
    assert not all(np.array_equal(a, b) for a, b in zip(*worlds, strict=True))
    again = train(folder=tmp_path / "run", resume=True, seeds=2, own_instances=True, steps=5 * CHUNK)
    assert [len(run.rows) for run in again] == [5, 5]


def test_seeds_have_disjoint_instances() -> None:
    seeds = [instance_seed_of(run) for run in range(50)]
    assert tuple(seeds[:5]) == PAPER_INSTANCE_SEEDS
    assert np.diff(sorted(seeds)).min() >= 10_000
    for run in (-1, 10**6):
        with pytest.raises(RewardMachineError, match=re.escape("have numbers from 0 to")):
            instance_seed_of(run)
