from __future__ import annotations

from itertools import islice

import pytest

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.traversal import Verdict, traverse, verdict_of
from rewardmachines.envs.recording import Recorder, Walker
from rewardmachines.envs.scenarios import scenario
from rewardmachines.traces import Outcome, compress


@pytest.mark.parametrize(
    ("name", "setting", "task", "walker"),
    [
        ("craftworld", "op", "bucket", Walker.RANDOM),
        ("craftworld", "frl", "book", Walker.GUIDED),
        ("waterworld", "wd", "rg", Walker.RANDOM),
    ],
)
def test_recorded_traces_end_as_the_hierarchy_says_and_not_before(
    name: str, setting: str, task: str, walker: Walker
) -> None:
    place = scenario(name, setting, max_steps=300)
    tree = place.task(task)
    traces = list(islice(Recorder(place, tree, walker).traces(), 64))
    for trace in traces:
        assert compress(trace.labels) == trace.labels
        *before, last = (verdict_of(tree, state) for state in traverse(tree, trace.labels))
        assert last is trace.outcome.verdict
        assert all(said is Verdict.NEITHER for said in before)
    assert len({trace.outcome for trace in traces}) > 1


def test_the_same_seed_records_the_same_traces_and_another_others() -> None:
    place = scenario("craftworld", "op", max_steps=50)
    runs = [list(islice(Recorder(place, place.task("bucket"), seed=seed).traces(), 10)) for seed in (0, 0, 1)]
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]


def test_the_walker_that_knows_the_way_reaches_more_goals() -> None:
    place = scenario("craftworld", "fr", max_steps=300)
    goals = {}
    for walker in Walker:
        traces = islice(Recorder(place, place.task("milk-bucket"), walker).traces(), 64)
        goals[walker] = sum(trace.outcome is Outcome.GOAL for trace in traces)
    assert goals[Walker.GUIDED] > 2 * goals[Walker.RANDOM] + 10


def test_only_craftworld_has_a_guided_walker() -> None:
    place = scenario("waterworld", "wod")
    with pytest.raises(RewardMachineError, match="record with random actions"):
        next(Recorder(place, place.task("rg"), Walker.GUIDED).traces())
