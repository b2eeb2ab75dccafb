"""Statistics of labels and propositions over episodes, such as random ones in a labelled environment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.formula import Label
from rewardmachines.envs.gymnasium.checked_envs import checked
from rewardmachines.envs.gymnasium.wrappers import AnyEnv
from rewardmachines.envs.registry import domains
from rewardmachines.traces import compress


@dataclass(frozen=True)
class LabelStatistics:
    """Counts of labels over a number of episodes."""

    episode_count: int
    steps: Counter[Label]
    """The steps with the label, the first step of each episode included."""
    events: Counter[Label]
    """The label events with the label: it was the first of its episode, or differed from the one before."""
    episodes: Counter[Label]
    """The episodes with the label."""

    @property
    def step_count(self) -> int:
        """The number of labels in all."""
        return self.steps.total()

    def steps_with(self, proposition: str) -> int:
        """The number of steps in which the proposition was true."""
        return _count(self.steps, proposition)

    def events_with(self, proposition: str) -> int:
        """The number of label events in which the proposition was true."""
        return _count(self.events, proposition)

    def never_observed(self, propositions: Iterable[str]) -> list[str]:
        """The propositions that were never true."""
        return [proposition for proposition in propositions if not self.steps_with(proposition)]

    def plain(self, propositions: Sequence[str], needed: Sequence[str]) -> dict[str, Any]:
        """The statistics as JSON can hold them, the commonest labels first.

        Args:
            propositions: The propositions of the environment.
            needed: The propositions of the task.
        """
        return {
            "episodes": self.episode_count,
            "steps": self.step_count,
            "propositions": {p: {"steps": self.steps_with(p), "events": self.events_with(p)} for p in propositions},
            "labels": [
                {"label": sorted(label), "steps": count, "events": self.events[label], "episodes": self.episodes[label]}
                for label, count in self.steps.most_common()
            ],
            "never_seen": self.never_observed(propositions),
            "needed_but_never_seen": self.never_observed(needed),
        }


def label_statistics(episodes: Iterable[Sequence[Label]]) -> LabelStatistics:
    """Counts the labels of episodes.

    Args:
        episodes: The labels of each episode, one for each moment.

    >>> counts = label_statistics([[frozenset(), frozenset("a"), frozenset("a")], [frozenset("a")]])
    >>> counts.steps_with("a"), counts.events_with("a"), counts.episodes[frozenset("a")]
    (3, 2, 2)
    """
    count = 0
    steps, events, by_episode = Counter[Label](), Counter[Label](), Counter[Label]()
    for labels in episodes:
        count += 1
        steps.update(labels)
        events.update(compress(labels))
        by_episode.update(set(labels))
    return LabelStatistics(count, steps, events, by_episode)


def _count(counts: Counter[Label], proposition: str) -> int:
    return sum(count for label, count in counts.items() if proposition in label)


def make_by_id(identifier: str) -> AnyEnv:
    """Makes an environment by its Gymnasium id.

    Raises:
        RewardMachineError: There is no such environment.
    """
    if identifier.startswith("rewardmachines/") and identifier not in gymnasium.registry:
        domains()  # a domain of another package has no ids before it is loaded
    try:
        return gymnasium.make(identifier)
    except (gymnasium.error.Error, ImportError, TypeError, ValueError) as problem:
        raise RewardMachineError(f"{identifier}: {problem}") from None


def check_labelled(env: AnyEnv, name: str) -> None:
    """Checks that the states of an environment are labelled.

    Args:
        env: The environment.
        name: The name of the environment, for the error.

    Raises:
        RewardMachineError: They are not.
    """
    if not env.has_wrapper_attr("propositions"):
        raise RewardMachineError(
            f"{name} is not labelled: wrap it in LabelingWrapper(env, labels=..., propositions=[...]) in a function of "
            "yours, and give MODULE:FUNCTION"
        )


def random_episodes(env: AnyEnv, seeds: Iterable[int], max_steps: int) -> Iterator[list[Label]]:
    """The labels of episodes in which actions are drawn from the action space.

    Args:
        env: A labelled environment.
        seeds: A seed for each episode.
        max_steps: Steps after which an episode is truncated.

    Raises:
        EnvironmentFault: The environment or its labels are not what they must be.
    """
    safe = checked(env, env.get_wrapper_attr("propositions"))
    for seed in seeds:
        _, info = safe.reset(seed=seed)
        labels: list[Label] = [info["label"]]
        is_over = False
        while not is_over and len(labels) <= max_steps:
            *_, terminated, truncated, info = safe.step(env.action_space.sample())
            labels.append(info["label"])
            is_over = terminated or truncated
        yield labels
