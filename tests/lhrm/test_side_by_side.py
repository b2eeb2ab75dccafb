"""Runs of LHRM side by side: each does what it would do alone, and nothing while it waits for the others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax
import numpy as np
import pytest

from lhrm.toy import LABELS, SMALL, TOY, TREES, quickly
from rewardmachines.core.equivalence import difference
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.learning import Solvers
from rewardmachines.lhrm.algorithm import Lhrm
from rewardmachines.lhrm.config import LhrmConfig
from rewardmachines.rollout.algorithm import Algorithm, RunsSideBySide
from rewardmachines.rollout.jax_driver import JaxSuite
from rewardmachines.rollout.rows import Row
from rewardmachines.runs.stopping import is_learned

ENOUGH = 0.95


def run_of(seed: int, config: LhrmConfig = SMALL, tasks: tuple[str, ...] = tuple(TREES)) -> Lhrm:
    return Lhrm(JaxSuite(TOY, tasks), config, Solvers(cores=1), seed=seed)


def device(run: Any) -> list[bytes]:
    """All that is on the device, bit for bit."""
    state = run.state._replace(key=jax.random.key_data(run.state.key))
    return [np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(state)]


def lhrm(run: Algorithm) -> Lhrm:
    assert isinstance(run, Lhrm)
    return run


def rounded(row: Row) -> Row:
    """Without the last digits of losses: a sum over a batch may be another in the last digit."""
    return replace(row, formula_loss=round(row.formula_loss, 4), call_loss=round(row.call_loss, 4))


def test_runs_side_by_side_learn_what_they_learn_alone() -> None:
    """To the end, although the rounding of sums differs: the toy domain leaves little to it."""
    together = RunsSideBySide([run_of(seed) for seed in (0, 1)])
    told: list[list[Row]] = [[], []]
    while going := [n for n, run in enumerate(together.runs) if not is_learned(run, ENOUGH)]:
        for number, row in zip(going, together.advance(going), strict=True):
            told[number].append(row)
        assert len(told[going[0]]) < 300
    assert len({len(rows) for rows in told}) > 1, "all runs have ended together"
    for seed, run in enumerate(map(lhrm, together.runs)):
        for name, tree in TREES.items():
            assert difference(run.pool.hierarchy(name), tree, labels=LABELS, events=True) is None
        alone = run_of(seed)
        first = [rounded(alone.advance()) for _ in range(12)]
        assert [rounded(row) for row in told[seed][:12]] == first
        assert any(row.learned for row in first)


def test_nothing_happens_to_a_run_that_does_not_go_on() -> None:
    together = RunsSideBySide([run_of(0), run_of(1)])
    together.advance()
    before, counters = device(together.runs[0]), replace(together.runs[0].counters)
    for _ in range(2):
        (row,) = together.advance([1])
    assert row.chunk == 3
    assert device(together.runs[0]) == before
    assert together.runs[0].counters == counters


def test_a_run_whose_chunk_is_over_waits_for_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """The chunk of the first ends with its first episode, that of the second does not."""
    together, alone = RunsSideBySide([run_of(0), run_of(1)]), run_of(0)
    together.advance(), alone.advance()
    monkeypatch.setattr(Lhrm, "most_episodes", property(lambda run: 1 if run.seed == 0 else 10**6))
    before = together.runs[1].counters.steps - together.runs[0].counters.steps
    rows = together.advance()
    assert rows[1].steps - rows[0].steps > before + 100
    assert rounded(rows[0]) == rounded(alone.advance())
    # Nothing is learned yet, so that all arrays are equal.
    assert not alone.learns
    assert device(together.runs[0]) == device(alone)


def test_runs_whose_arrays_have_other_sizes_go_on_beside_each_other() -> None:
    smaller, larger, alone = run_of(0), run_of(1), run_of(1)
    for run in (larger, alone):  # before their arrays are written
        run.registry.option_room = replace(run.registry.option_room, slots=32)
    together = RunsSideBySide([smaller, larger])
    for _ in range(3):
        rows = together.advance()
        assert rounded(rows[1]) == rounded(alone.advance())
    assert smaller.registry.sizes != larger.registry.sizes


def test_runs_with_other_tasks_or_settings_do_not_go_side_by_side() -> None:
    for other in (run_of(1, tasks=("fetch", "press")), run_of(1, quickly(goals=(8, 13)))):
        with pytest.raises(RewardMachineError, match="have the same tasks and settings"):
            RunsSideBySide([run_of(0), other])
