"""LRM as a learner of flat machines: a first set of traces, and those that the machine does not predict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.sizes import Size
from rewardmachines.studies.baselines.lrm.cost import Predictions, predictions, steps
from rewardmachines.studies.baselines.lrm.search import search
from rewardmachines.studies.baselines.protocol import Ask, Attempt, FlatConfig, FlatEpisode, FlatTask, Plain


@dataclass(frozen=True)
class LrmConfig(FlatConfig):
    """The settings of LRM, as published except for the number of workers."""

    first_episodes: int = 1_000
    """The number of episodes after which the first machine is learned."""
    steps: int = 100
    """The number of machines that a search goes through."""
    tabu: int = 10_000
    """The number of machines that a search does not return to."""
    workers: int | None = None
    """The number of threads that evaluate machines; None for one on each core. It does not change the result. The
    published code uses 16 processes."""


class LrmLearner:
    """Keeps the first episodes, and all later ones in which something was observed that the machine did not predict."""

    def __init__(self, task: FlatTask, config: LrmConfig, seed: int, ask: Ask) -> None:
        """Begins without a machine and without traces."""
        self._task, self._config, self._seed, self._ask = task, config, seed, ask
        self._labels: dict[Label, int] = {}
        self._traces: list[tuple[int, ...]] = []
        self._searches = 0
        self._machine: dict[tuple[int, int], int] | None = None
        self._predictions: Predictions = set()

    @property
    def size(self) -> Size | None:
        """The states that the machine can be in, and its transitions."""
        if self._machine is None:
            return None
        states = {0}.union(source for source, _ in self._machine).union(self._machine.values())
        return Size(len(states), len(self._machine))

    @property
    def machine(self) -> Hierarchy | None:
        """Nothing: the machine predicts observations, and neither accepts nor rejects."""
        return None

    def take(self, episode: FlatEpisode) -> Attempt | None:
        """Keeps the episode if it is one of the first or was not predicted, and then learns unless more must come."""
        trace = tuple([self._labels.setdefault(label, len(self._labels)) for label in episode.labels])
        if episode.number <= self._config.first_episodes:
            self._traces.append(trace)
            return self._learn() if episode.number == self._config.first_episodes else None
        if self._predictions.issuperset(steps(self._machine or {}, trace)):
            return None
        self._traces.append(trace)
        return self._learn()

    def _learn(self) -> Attempt:
        """Looks for a machine that predicts all traces better than the present one."""
        machine = self._machine
        problem = {
            "traces": self._traces,
            "observation_count": len(self._labels),
            "state_count": self._task.bound,
            "steps": self._config.steps,
            "tabu": self._config.tabu,
            "seed": [self._seed, self._searches],
            "workers": self._config.workers,
            "present": None if machine is None else [[*edge, target] for edge, target in machine.items()],
        }
        found = self._ask(search, problem)
        self._searches += 1
        if found is not None:
            self._machine = _machine(found)
        self._predictions = self._expected()
        return Attempt.KEPT if found is None else Attempt.FOUND

    def _expected(self) -> Predictions:
        return predictions(self._machine or {}, self._traces, self._task.bound)

    def snapshot(self) -> Mapping[str, Plain]:
        """See `FlatLearner`."""
        machine = self._machine
        return {
            "labels": [sorted(label) for label in self._labels],
            "traces": list(self._traces),
            "searches": self._searches,
            "machine": None if machine is None else [[*edge, target] for edge, target in machine.items()],
        }

    def restore(self, state: Mapping[str, Plain]) -> None:
        """See `FlatLearner`."""
        self._labels = {frozenset(label): number for number, label in enumerate(state["labels"])}
        self._traces = [tuple(trace) for trace in state["traces"]]
        self._searches = state["searches"]
        self._machine = None if state["machine"] is None else _machine(state["machine"])
        self._predictions = set() if self._machine is None else self._expected()


def _machine(plain: Plain) -> dict[tuple[int, int], int]:
    return {(source, observation): target for source, observation, target in plain}
