"""DeepSynth in the folder of a run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from itertools import islice, pairwise
from pathlib import Path

import pytest

from experiments.baselines.worlds import DOMAIN, corridor_registered, episodes_of
from rewardmachines.experiments.baselines.deepsynth.learner import DeepSynthConfig
from rewardmachines.experiments.baselines.learn import flat_rows, learn_flat
from rewardmachines.experiments.baselines.spec import BaselineSpec
from rewardmachines.runs.budget import Budget

EPISODES = 250


@pytest.fixture(autouse=True)
def corridor() -> Iterator[None]:
    with corridor_registered():
        yield


def test_a_run_learns_an_automaton_and_goes_on_after_interruptions(tmp_path: Path) -> None:
    config = DeepSynthConfig(first_call=3_000)
    spec = BaselineSpec("deepsynth", DOMAIN.name, "short", "return", instances=3, max_steps=60, config=config)
    whole = learn_flat(tmp_path / "whole", spec, episodes=EPISODES)
    rows = whole.rows()
    assert [row.states is None for row in rows] == [row.steps < 3_000 for row in rows]
    assert rows[-1].calls >= 1
    assert whole.machine() is None

    with closing(flat_rows(tmp_path / "run", spec, Budget(episodes=EPISODES))) as chunks:
        assert [chunk.row for chunk in islice(chunks, 2)] == rows[:2]
    assert learn_flat(tmp_path / "run", resume=True).rows() == rows

    # No label is entered by all that enters another one: there is a state for each, one after the start, and the
    # initial one. An edge leads from one to another where labels follow each other in some episode.
    episodes = [episode.without_first_state() for episode in islice(episodes_of("return").after(0), EPISODES)]
    pairs = {pair for episode in episodes for pair in pairwise(["start", *episode.labels])}
    assert (rows[-1].states, rows[-1].edges) == (2 + len({label for _, label in pairs}), 1 + len(pairs))
