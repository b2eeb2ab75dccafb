"""Labels of episodes are counted."""

from __future__ import annotations

from rewardmachines.envs.label_statistics import label_statistics

NOTHING, A, AB = frozenset[str](), frozenset("a"), frozenset("ab")


def test_steps_events_and_episodes_are_counted() -> None:
    counts = label_statistics([[NOTHING, A, A, NOTHING, A], [AB, A]])
    assert (counts.episode_count, counts.step_count) == (2, 7)
    assert counts.steps == {A: 4, NOTHING: 2, AB: 1}
    assert counts.events == {A: 3, NOTHING: 2, AB: 1}
    assert counts.episodes == {A: 2, NOTHING: 1, AB: 1}
    assert (counts.steps_with("a"), counts.events_with("a"), counts.steps_with("b")) == (5, 4, 1)
    assert counts.never_observed(["a", "c", "b", "d"]) == ["c", "d"]


def test_plain_data_lists_the_commonest_labels_first() -> None:
    plain = label_statistics([[NOTHING, A, A]]).plain(["a", "b"], ["b", "c"])
    assert plain == {
        "episodes": 1,
        "steps": 3,
        "propositions": {"a": {"steps": 2, "events": 1}, "b": {"steps": 0, "events": 0}},
        "labels": [
            {"label": ["a"], "steps": 2, "events": 1, "episodes": 1},
            {"label": [], "steps": 1, "events": 1, "episodes": 1},
        ],
        "never_seen": ["b"],
        "needed_but_never_seen": ["b", "c"],
    }
