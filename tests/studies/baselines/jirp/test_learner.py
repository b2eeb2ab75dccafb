from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import islice

import pytest

from rewardmachines.core.formula import Label
from rewardmachines.core.sizes import Size
from rewardmachines.core.traversal import Verdict, verdict
from rewardmachines.studies.baselines.jirp import JirpConfig, JirpLearner
from rewardmachines.studies.baselines.protocol import Attempt, FlatEpisode, Plain
from rewardmachines.traces import Outcome
from studies.baselines.worlds import episodes_of


class Asked:
    """Searches at once, and keeps the sizes that were asked for."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def __call__(self, search: Callable[[Plain], Plain], problem: Plain) -> Plain:
        self.sizes.append(problem["size"])
        return search(json.loads(json.dumps(problem)))


def learner(task: str, ask: object) -> JirpLearner:
    return JirpLearner(episodes_of(task).task, JirpConfig(), 0, ask)  # type: ignore[arg-type]


def taken(task: str, count: int, seed: int = 0) -> list[FlatEpisode]:
    return list(islice(episodes_of(task, seed=seed).after(0), count))


@pytest.mark.parametrize(("task", "states", "edges"), [("leave", 3, 2), ("return", 4, 8)])
def test_the_machine_of_a_task_is_learned(task: str, states: int, edges: int) -> None:
    asked = Asked()
    jirp = learner(task, asked)
    for episode in taken(task, 1000):
        attempt = jirp.take(episode)
        assert attempt is None or attempt is Attempt.FOUND
    assert jirp.size == Size(states, edges)
    assert asked.sizes == sorted(asked.sizes)
    machine = jirp.machine
    assert machine is not None
    for episode in taken(task, 100, seed=1):
        expected = Verdict.ACCEPT if episode.outcome is Outcome.GOAL else Verdict.NEITHER
        assert verdict(machine, episode.labels) is expected
        assert verdict(machine, episode.labels[:-1]) is Verdict.NEITHER


def test_the_solver_is_called_in_every_20th_episode_that_ends_the_first_included() -> None:
    jirp = learner("leave", Asked())
    episodes = taken("leave", 400)
    calls = [episode.number for episode in episodes if jirp.take(episode) is not None]
    assert calls
    assert set(calls) <= {episode.number for episode in episodes[::20] if episode.has_ended}  # 0, 20, 40, … from 0
    first = replace(next(episode for episode in episodes if episode.outcome is Outcome.GOAL), number=1)
    assert learner("leave", Asked()).take(first) is not None
    assert learner("leave", Asked()).take(replace(first, number=20)) is None


COIN, DOOR, EMPTY = frozenset({"coin"}), frozenset({"door"}), frozenset[str]()


def episode_of(number: int, *labels: Label) -> FlatEpisode:
    """An episode that reached the goal, after a first state whose label was gone after a step."""
    times = tuple(range(len(labels) + 1))
    return FlatEpisode(number, (frozenset({"bell"}), *labels), times, Outcome.GOAL, len(labels))


def test_traces_begin_with_the_label_after_the_first_step() -> None:
    jirp = learner("leave", Asked())
    jirp.take(episode_of(2, COIN, DOOR))
    assert jirp.snapshot()["labels"] == [["coin"], ["door"]]
    assert jirp.snapshot()["counterexamples"] == [[(0, 1), (0, 1)]]


def test_an_equal_sequence_of_rewards_with_another_end_is_no_counterexample() -> None:
    # A machine that is rewarded as it should be, but that never ends.
    endless: Plain = [[[0, 0], [1, 1]], [[0, 1], [0, 0]]]
    jirp = learner("leave", Asked())
    state = {"labels": [["coin"], ["door"]], "counterexamples": [], "has_news": False, "size": 2, "machine": endless}
    jirp.restore(state)
    assert jirp.take(episode_of(1, COIN, DOOR)) is None
    assert jirp.snapshot()["counterexamples"] == []
    # It gives no second reward; and it has none for a label that it does not know, not even in part.
    for other in (episode_of(2, DOOR, DOOR), episode_of(3, COIN, EMPTY, DOOR)):
        before = len(jirp.snapshot()["counterexamples"])
        jirp.take(other)
        assert len(jirp.snapshot()["counterexamples"]) == before + 1


def test_propositions_that_the_machine_has_never_seen_are_none_for_it() -> None:
    jirp = learner("leave", Asked())
    # The labels are those of coin, door and nothing; coin and then door are rewarded.
    machine: Plain = [[[1, 0, 0], [1, 2, 1]], [[0, 0, 0], [0, 1, 0]]]
    labels = [["coin"], ["door"], []]
    jirp.restore({"labels": labels, "counterexamples": [], "has_news": False, "size": 2, "machine": machine})
    bell = frozenset({"bell"})
    for number, labels_seen in enumerate([(bell, COIN, bell, DOOR), (COIN | bell, DOOR), (COIN, DOOR | bell)]):
        jirp.take(episode_of(number, *labels_seen))
    assert jirp.snapshot()["counterexamples"] == []
    jirp.take(episode_of(4, COIN | DOOR, DOOR))  # both are known, but not together
    assert len(jirp.snapshot()["counterexamples"]) == 1


def test_edges_leave_out_those_that_lead_back_to_their_state() -> None:
    jirp = learner("leave", Asked())
    targets = [[0, 1, 2], [1, 1, 2]]
    machine = [targets, [[0, 0, 1], [0, 0, 1]]]
    jirp.restore({"labels": [], "counterexamples": [], "has_news": False, "size": 2, "machine": machine})
    assert jirp.size == Size(states=3, edges=sum(q != p for p, row in enumerate(targets) for q in row))


def test_there_is_no_call_without_a_new_counterexample() -> None:
    asked = Asked()
    jirp = learner("leave", asked)
    episode = next(episode for episode in taken("leave", 400)[::20] if episode.has_ended)
    assert jirp.take(episode) is not None
    before = len(asked.sizes)
    assert jirp.take(episode) is None
    assert len(asked.sizes) == before


def test_it_fails_if_no_machine_is_as_small_as_the_true_one() -> None:
    sizes: list[int] = []
    jirp = learner("leave", lambda _, problem: sizes.append(problem["size"]))
    attempts = [attempt for episode in taken("leave", 100) if (attempt := jirp.take(episode)) is not None]
    assert attempts
    assert set(attempts) == {Attempt.FAILED}
    assert sizes == [1, 2, 3] * len(attempts)
    assert jirp.size is None
    assert jirp.machine is None


def test_a_snapshot_is_everything() -> None:
    one, other = learner("return", Asked()), learner("return", Asked())
    episodes = taken("return", 800)
    for episode in episodes[:300]:
        one.take(episode)
    other.restore(json.loads(json.dumps(one.snapshot())))
    assert [one.take(episode) for episode in episodes[300:]] == [other.take(episode) for episode in episodes[300:]]
    assert json.dumps(one.snapshot()) == json.dumps(other.snapshot())
