"""Runs of LHRM side by side: each does what it would do alone, and nothing while it waits for the others."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import rewardmachines as rm
from lhrm.toy import LABELS, MAX_STEPS, SMALL, TOY, TREES, TWO_ROOMS, quickly
from rewardmachines.core.equivalence import difference
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.learning import Solvers
from rewardmachines.lhrm.algorithm import Lhrm
from rewardmachines.lhrm.chunk_metrics import Row
from rewardmachines.lhrm.config import Exploration, LhrmConfig
from rewardmachines.lhrm.learn import learn
from rewardmachines.lhrm.learn_many import learn_many, learning_rows_of_many
from rewardmachines.lhrm.run import load_learning
from rewardmachines.lhrm.side_by_side import RunsSideBySide
from rewardmachines.lhrm.spec import LearnSpec, specs_of_seeds
from rewardmachines.lhrm.worlds.compiled import CompiledWorlds

pytestmark = pytest.mark.usefixtures("two_rooms_domain")

ENOUGH = 0.95
CONFIG = quickly(explores_with=Exploration.PROPOSITIONS)
SPEC = LearnSpec(TWO_ROOMS.name, "plain", tuple(TREES), CONFIG, instances=1, max_steps=MAX_STEPS)


def run_of(seed: int, config: LhrmConfig = SMALL, tasks: tuple[str, ...] = tuple(TREES)) -> Lhrm:
    return Lhrm(CompiledWorlds(TOY, tasks), config, Solvers(cores=1), seed=seed)


def device(run: Lhrm) -> list[bytes]:
    """All that is on the device, bit for bit."""
    state = run.state._replace(key=jax.random.key_data(run.state.key))
    return [np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(state)]


def rounded(row: Row) -> Row:
    """Without the last digits of losses: a sum over a batch may be another in the last digit."""
    return replace(row, formula_loss=round(row.formula_loss, 4), call_loss=round(row.call_loss, 4))


def test_runs_side_by_side_learn_what_they_learn_alone() -> None:
    """To the end, although the rounding of sums differs: the toy domain leaves little to it."""
    together = RunsSideBySide([run_of(seed) for seed in (0, 1)])
    told: list[list[Row]] = [[], []]
    while going := [n for n, run in enumerate(together.runs) if not run.is_done(ENOUGH)]:
        for number, row in zip(going, together.advance(going), strict=True):
            told[number].append(row)
        assert len(told[going[0]]) < 300
    assert len({len(rows) for rows in told}) > 1, "all runs have ended together"
    for seed, run in enumerate(together.runs):
        for name, tree in TREES.items():
            assert difference(run.pool.hierarchy(name), tree, labels=LABELS, events=True) is None
        alone = run_of(seed)
        first = [rounded(alone.advance()) for _ in range(12)]
        assert [rounded(row) for row in told[seed][:12]] == first
        assert any(row.learned for row in first)


def test_nothing_happens_to_a_run_that_does_not_go_on() -> None:
    together = RunsSideBySide([run_of(0), run_of(1)])
    together.advance()
    before, tally = device(together.runs[0]), replace(together.runs[0].tally)
    for _ in range(2):
        (row,) = together.advance([1])
    assert row.chunk == 3
    assert device(together.runs[0]) == before
    assert together.runs[0].tally == tally


def test_a_run_whose_chunk_is_over_waits_for_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """The chunk of the first ends with its first episode, that of the second does not."""
    together, alone = RunsSideBySide([run_of(0), run_of(1)]), run_of(0)
    together.advance(), alone.advance()
    monkeypatch.setattr(Lhrm, "most_episodes", property(lambda run: 1 if run.seed == 0 else 10**6))
    before = together.runs[1].tally.steps - together.runs[0].tally.steps
    rows = together.advance()
    assert rows[1].steps - rows[0].steps > before + 100
    assert rounded(rows[0]) == rounded(alone.advance())
    # Nothing is learned yet, so that all arrays are equal.
    assert not alone.learns
    assert device(together.runs[0]) == device(alone)


def test_runs_whose_arrays_have_other_sizes_go_on_beside_each_other() -> None:
    together = RunsSideBySide([run_of(0), run_of(1)])
    larger = together.runs[1].registry
    larger.option_room = replace(larger.option_room, slots=32)
    alone = run_of(1)
    alone.registry.option_room = larger.option_room
    for _ in range(3):
        rows = together.advance()
        assert rounded(rows[1]) == rounded(alone.advance())
    assert together.runs[0].registry.sizes != together.runs[1].registry.sizes


def test_runs_with_other_tasks_or_settings_do_not_go_side_by_side() -> None:
    for other in (run_of(1, tasks=("fetch", "press")), run_of(1, quickly(goals=13))):
        with pytest.raises(RewardMachineError, match="have the same tasks and settings"):
            RunsSideBySide([run_of(0), other])


# -- in folders


def kept(folder: Path) -> dict[str, bytes]:
    """What depends on the specs alone."""
    files = [folder / "metrics.jsonl", *(folder / "machines").iterdir(), *(folder / "examples").iterdir()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Learned side by side without a break."""
    folders = [tmp_path_factory.mktemp("runs") / f"whole-{seed}" for seed in range(2)]
    learn_many(folders, specs_of_seeds(SPEC, 2))
    return folders


def test_the_package_offers_it() -> None:
    assert (rm.learn_many, rm.specs_of_seeds) == (learn_many, specs_of_seeds)


def test_each_run_is_one_like_any_other_and_ends_by_itself(whole: list[Path]) -> None:
    runs = [load_learning(folder) for folder in whole]
    assert [run.spec.seed for run in runs] == [0, 1]
    assert all(run.missing() == {} for run in runs)
    assert len(runs[0].rows()) != len(runs[1].rows())
    for run in runs:
        assert [row.chunk for row in run.rows()] == [*range(1, len(run.rows()) + 1)]
        assert [moment.steps for moment in run.moments()] == [row.steps for row in run.rows()]
        assert all(min(evaluation.returns) >= ENOUGH for evaluation in run.evaluate())


def test_runs_that_were_broken_off_go_on_together_as_if_nothing_had_happened(whole: list[Path], tmp_path: Path) -> None:
    folders = [tmp_path / f"broken-{seed}" for seed in range(2)]
    with closing(learning_rows_of_many(folders, specs_of_seeds(SPEC, 2))) as chunks:
        told = [number for number, _ in islice(chunks, 15)]
    assert told == [0, 1] * 7 + [0]
    assert [len(load_learning(folder).rows()) for folder in folders] == [8, 8]
    (folders[1] / "checkpoint.safetensors").unlink()  # it begins anew, beside chunk 9 of the first
    learn_many(folders, resume=True, steps=15_000)
    for folder, expected in zip(folders, whole, strict=True):
        again = (folder / "metrics.jsonl").read_bytes()
        assert again.count(b"\n") > 16
        assert (expected / "metrics.jsonl").read_bytes().startswith(again)


def test_a_run_goes_on_alone(tmp_path: Path) -> None:
    folders = [tmp_path / f"run-{seed}" for seed in range(2)]
    learn_many(folders, specs_of_seeds(SPEC, 2), steps=3000)
    others = kept(folders[0])
    assert learn(folders[1], resume=True, steps=6000).rows()[-1].steps >= 6000
    assert kept(folders[0]) == others


def test_ctrl_c_leaves_checkpoints_of_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders, advance = [tmp_path / f"run-{seed}" for seed in range(2)], RunsSideBySide.advance

    def broken(together: RunsSideBySide, numbers: Any) -> list[Row]:
        if together.runs[0].tally.chunks == 3:
            together.runs[0].tally.chunks += 1  # in the middle of a chunk
            raise KeyboardInterrupt
        return advance(together, numbers)

    def stop(number: int, chunk: Any) -> None:
        if (number, chunk.row.chunk) == (0, 3):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        learn_many(folders, specs_of_seeds(SPEC, 2), callbacks=[stop])
    for folder in folders:
        assert [row.chunk for row in load_learning(folder).rows()] == [1, 2, 3]
        assert (folder / "checkpoint.safetensors").exists()
    before = [(folder / "checkpoint.safetensors").read_bytes() for folder in folders]
    monkeypatch.setattr(RunsSideBySide, "advance", broken)
    with pytest.raises(KeyboardInterrupt):
        learn_many(folders, resume=True)
    assert [(folder / "checkpoint.safetensors").read_bytes() for folder in folders] == before


def test_what_cannot_go_side_by_side_is_told_before_anything_is_written(tmp_path: Path) -> None:
    folders = [tmp_path / "one", tmp_path / "two"]
    with pytest.raises(RewardMachineError, match="as many specs as folders"):
        learn_many(folders, [SPEC])
    with pytest.raises(RewardMachineError, match="have the same tasks and settings"):
        learn_many(folders, [SPEC, replace(SPEC, tasks=("fetch",))])
    with pytest.raises(RewardMachineError, match="at least one seed is needed"):
        specs_of_seeds(SPEC, 0)
    with pytest.raises(RewardMachineError, match="no common seed of instances"):
        specs_of_seeds(replace(SPEC, instance_seed=5), 2, own_instances=True)
    assert not any(folder.exists() for folder in folders)


def test_seeds_have_the_instances_of_the_papers_runs_if_they_are_to_have_their_own() -> None:
    own = specs_of_seeds(replace(SPEC, seed=3), 3, own_instances=True)
    assert [(spec.seed, spec.instance_seed) for spec in own] == [(3, 20091953), (4, 30422020), (5, 1000050000)]
    assert [spec.instance_seed for spec in specs_of_seeds(SPEC, 2)] == [SPEC.instance_seed] * 2
