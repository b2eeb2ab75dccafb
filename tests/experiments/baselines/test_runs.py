from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path

import pytest

from experiments.baselines.worlds import DOMAIN, corridor_registered
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.experiments.baselines.learn import flat_rows, learn_flat
from rewardmachines.experiments.baselines.lrm.learner import LrmConfig
from rewardmachines.experiments.baselines.run import FlatRun, load_flat
from rewardmachines.experiments.baselines.spec import BaselineSpec
from rewardmachines.runs.budget import Budget

EPISODES = 350
STATES = {"jirp": 4, "lrm": 4}
"""The states of what is learned. What is seen next in a corridor hardly depends on the past: the machine of LRM has the
states with which its search began."""


@pytest.fixture(autouse=True)
def corridor() -> Iterator[None]:
    with corridor_registered():
        yield


def spec(method: str) -> BaselineSpec:
    config = LrmConfig(first_episodes=5, steps=10) if method == "lrm" else None
    return BaselineSpec(method, DOMAIN.name, "short", "return", instances=3, max_steps=60, config=config)


@pytest.fixture(scope="module", params=["jirp", "lrm"])
def whole(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> FlatRun:
    """A run without interruptions."""
    with corridor_registered():
        return learn_flat(tmp_path_factory.mktemp("whole") / "run", spec(request.param), episodes=EPISODES)


def files(folder: Path) -> dict[str, bytes]:
    """What must be the same in equal runs."""
    machines = sorted((folder / "machines").iterdir())
    return {path.name: path.read_bytes() for path in (folder / "metrics.jsonl", *machines)}


def test_a_run_takes_all_episodes_and_learns_a_machine(whole: FlatRun) -> None:
    rows = whole.rows()
    assert [row.episodes for row in rows] == [100, 200, 300, EPISODES]
    assert whole.is_finished
    assert not whole.is_interrupted
    assert rows[-1].calls > 1
    assert rows[-1].states == STATES[whole.spec.method]
    assert 0 < whole.learner_seconds < whole.order.learner_seconds
    assert (whole.machine() is not None) == (whole.spec.method == "jirp")


def test_a_run_that_is_closed_goes_on_as_if_nothing_had_happened(whole: FlatRun, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with closing(flat_rows(folder, whole.spec, Budget(episodes=EPISODES))) as chunks:
        assert [chunk.row for chunk in islice(chunks, 2)] == whole.rows()[:2]
    resumed = learn_flat(folder, resume=True)
    assert resumed.rows() == whole.rows()
    assert files(folder) == files(whole.folder)


def test_a_run_without_a_checkpoint_begins_anew(whole: FlatRun, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with closing(flat_rows(folder, whole.spec, Budget(episodes=EPISODES))) as chunks:
        next(chunks)
    (folder / "checkpoint.safetensors").unlink()
    learn_flat(folder, resume=True)
    assert files(folder) == files(whole.folder)


def test_a_run_whose_searches_take_too_long_is_interrupted_and_goes_on_with_more_time(
    whole: FlatRun, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    short = learn_flat(folder, whole.spec, episodes=EPISODES, learner_seconds=1e-6)
    assert short.is_interrupted
    assert not short.is_finished
    assert len(short.rows()) < len(whole.rows())
    assert short.rows() == whole.rows()[: len(short.rows())]
    assert learn_flat(folder, resume=True).is_interrupted
    assert learn_flat(folder, resume=True, learner_seconds=100).is_finished
    assert files(folder) == files(whole.folder)


def test_a_run_is_not_resumed_with_other_settings(whole: FlatRun) -> None:
    with pytest.raises(RewardMachineError, match="instances is 3, not 10"):
        learn_flat(whole.folder, BaselineSpec(whole.spec.method, DOMAIN.name, "short", "return"), resume=True)
    with pytest.raises(RewardMachineError, match="there is a run already"):
        learn_flat(whole.folder, whole.spec)
    assert load_flat(whole.folder) == whole


def test_a_method_that_nobody_knows_is_refused() -> None:
    with pytest.raises(RewardMachineError, match="there is no baseline 'jrp'; did you mean 'jirp'"):
        BaselineSpec("jrp", DOMAIN.name, "short", "leave")
