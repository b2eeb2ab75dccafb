from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import machine
from rewardmachines.core.sizes import Size
from rewardmachines.studies.baselines.lrm.learner import LrmConfig, LrmLearner
from rewardmachines.studies.baselines.protocol import Attempt, FlatEpisode, FlatTask, Plain
from rewardmachines.traces import Outcome

LIGHT, HALL, GOLD = "light", "hall", "gold"
TASK = FlatTask("find", Hierarchy("find", (machine("find", [("u0", "uA", GOLD)]),)), (LIGHT, HALL, GOLD, "coal"))
"""The true machine has two states, which is all that is known of it."""


def episode(number: int, words: Sequence[str]) -> FlatEpisode:
    labels: tuple[Label, ...] = (frozenset(), *(frozenset({word}) for word in words))
    return FlatEpisode(number, labels, tuple(range(len(labels))), Outcome.INCOMPLETE, len(words))


DARK, BRIGHT = [HALL, "coal", HALL, "coal"], [LIGHT, HALL, GOLD, HALL, GOLD]
"""Once the light was seen, there is gold behind the hall, and coal otherwise."""


def ask(search: Callable[[Plain], Plain], problem: Plain) -> Plain:
    return search(json.loads(json.dumps(problem)))


def learner() -> LrmLearner:
    return LrmLearner(TASK, LrmConfig(first_episodes=4, steps=20, workers=1), 0, ask)


def test_a_machine_is_learned_after_the_first_episodes_and_when_something_was_not_predicted() -> None:
    lrm = learner()
    assert [lrm.take(episode(i, words)) for i, words in enumerate([DARK, BRIGHT, DARK], start=1)] == [None] * 3
    sizes = [lrm.size]
    assert lrm.take(episode(4, BRIGHT)) == Attempt.FOUND
    sizes.append(lrm.size)
    assert sizes == [None, Size(states=2, edges=1)]
    assert lrm.take(episode(5, BRIGHT)) is None
    # Coal behind the hall after the light: nothing can predict that, and it is no surprise the next time.
    surprise = [LIGHT, HALL, "coal"]
    assert lrm.take(episode(6, surprise)) is not None
    assert lrm.take(episode(7, surprise)) is None


def test_traces_begin_with_the_first_state_and_machines_have_as_many_states_as_the_true_one_at_most() -> None:
    asked: list[Plain] = []
    lrm = LrmLearner(TASK, LrmConfig(first_episodes=1), 0, lambda _, problem: asked.append(problem))
    lrm.take(episode(1, DARK))
    nothing, hall, coal = range(3)
    assert asked[0]["traces"] == [(nothing, hall, coal, hall, coal)]
    assert lrm.snapshot()["labels"] == [[], [HALL], ["coal"]]
    assert asked[0]["state_count"] == len(TASK.truth["find"].states) == 2


def test_episodes_that_were_cut_off_count() -> None:
    lrm = learner()
    for i in range(1, 5):
        lrm.take(episode(i, BRIGHT))
    assert len(lrm.snapshot()["traces"]) == 4


def test_a_snapshot_is_everything() -> None:
    words = [DARK, BRIGHT, DARK, BRIGHT, [LIGHT, HALL, "coal"], [GOLD], DARK, [HALL, GOLD, LIGHT]]
    one = learner()
    for number, word in enumerate(words[:4], start=1):
        one.take(episode(number, word))
    other = learner()
    other.restore(json.loads(json.dumps(one.snapshot())))
    later = [episode(number, word) for number, word in enumerate(words[4:], start=5)]
    assert [one.take(each) for each in later] == [other.take(each) for each in later]
    assert json.dumps(one.snapshot()) == json.dumps(other.snapshot())
