"""Runs of training side by side: each does what it would do alone, and nothing while it waits for the others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax
import numpy as np
import pytest

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.rollout.algorithm import RunsSideBySide
from rewardmachines.rollout.rows import Row
from rewardmachines.rollout.training import Training
from rollout.rooms import CONFIG, Case, training


def run_of(algorithm: str, seed: int, **changes: Any) -> Training:
    """Training that is evaluated after every five episodes."""
    run = training("jax", algorithm, Case("jax", algorithm).settings(), seed)
    # The agent is the same, and so are its programs.
    run.config = replace(run.config, **{"evaluate_every": "5 episodes", **changes})
    return run


def device(run: Training) -> list[bytes]:
    """All that is on the device, bit for bit."""
    state = run.state._replace(key=jax.random.key_data(run.state.key))
    return [np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(state)]


def counted(row: Row) -> Any:
    """A row without losses: a sum over a batch may be another in the last digit."""
    return replace(row, formula_loss=0.0, call_loss=0.0)


@pytest.mark.parametrize("algorithm", ["hrl", "crm"])
def test_runs_side_by_side_do_what_they_do_alone(algorithm: str) -> None:
    """As long as nothing is learned, all arrays are equal, although chunks end at different times."""
    runs, alone = ([run_of(algorithm, seed) for seed in (0, 1)] for _ in range(2))
    for run in (*runs, *alone):
        run._replay_start = 10**9
    together, rows = RunsSideBySide(runs), list[list[Row]]()
    for _ in range(4):
        rows.append(together.advance())
    assert len({row.steps for row in rows[-1]}) > 1, "no run has waited"
    for seed, run in enumerate(alone):
        assert [run.advance() for _ in range(4)] == [row[seed] for row in rows]
        assert device(run) == device(runs[seed])
        evaluated = [row[seed].episodes // 5 for row in rows if row[seed].returns is not None]
        assert evaluated == [*range(1, len(evaluated) + 1)]
    assert any(row.returns is not None for row in rows[-1])


@pytest.mark.parametrize("algorithm", ["hrl", "crm"])
def test_they_learn_what_they_learn_alone(algorithm: str) -> None:
    runs, alone = [run_of(algorithm, seed) for seed in (0, 1)], run_of(algorithm, 1)
    together = RunsSideBySide(runs)
    rows = [together.advance()[1] for _ in range(6)]
    expected = [alone.advance() for _ in range(6)]
    assert list(map(counted, rows)) == list(map(counted, expected))
    assert any(row.formula_loss for row in rows)
    for row, same in zip(rows, expected, strict=True):
        assert row.formula_loss == pytest.approx(same.formula_loss, rel=1e-3)


def test_nothing_happens_to_a_run_that_does_not_go_on() -> None:
    runs = [run_of("crm", 0), run_of("crm", 1)]
    together = RunsSideBySide(runs)
    together.advance()
    before, counters = device(runs[0]), replace(runs[0].counters)
    for _ in range(3):
        (row,) = together.advance([1])
    assert row.chunk == 4
    assert device(runs[0]) == before
    assert runs[0].counters == counters


def test_only_equal_runs_in_domains_go_side_by_side() -> None:
    with pytest.raises(RewardMachineError, match="the same tasks and settings"):
        RunsSideBySide([run_of("crm", 0), run_of("crm", 1, evaluate_every=3)])
    other = training("gym", "crm", Case("gym", "crm").settings())
    with pytest.raises(RewardMachineError, match="compiled"):
        RunsSideBySide([other, other])


def test_what_is_counted_does_not_depend_on_where_chunks_end() -> None:
    by_episodes, by_chunks = run_of("hrl", 4), training("jax", "hrl", CONFIG, 4)
    for run in (by_episodes, by_chunks):
        run._replay_start = 10**9
        while run.counters.steps < 400:
            run.advance()
    rows = [run.state.agent.replay.rows for run in (by_episodes, by_chunks)]
    for one, other in zip(*map(jax.tree.leaves, rows), strict=True):
        assert np.array_equal(np.asarray(one)[:400], np.asarray(other)[:400])
    assert by_episodes.counters.chunks > by_chunks.counters.chunks
