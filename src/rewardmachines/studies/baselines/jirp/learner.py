"""JIRP as a learner of flat machines: counterexamples, and a machine of the least size that explains them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice

from rewardmachines.core.formula import Conjunction, Formula, Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import ACCEPTING, Edge, RewardMachine
from rewardmachines.core.sizes import Size
from rewardmachines.studies.baselines.jirp.encoding import SOLVER, MealyMachine, RewardTrace, search
from rewardmachines.studies.baselines.protocol import Ask, Attempt, FlatConfig, FlatEpisode, FlatTask, Plain
from rewardmachines.traces import Outcome


@dataclass(frozen=True)
class JirpConfig(FlatConfig):
    """The settings of JIRP, as published."""

    solver: str = SOLVER
    """The name of a solver of PySAT."""
    period: int = 20
    """A machine is learned in episodes whose number, counted from 0, is divisible by this."""


class JirpLearner:
    """Gathers episodes with other rewards than the machine gives, and asks for a larger machine when it must."""

    def __init__(self, task: FlatTask, config: JirpConfig, seed: int, ask: Ask) -> None:  # noqa: ARG002
        """Begins without a machine and without counterexamples. Nothing is random, so the seed is not used."""
        self._task, self._config, self._ask = task, config, ask
        self._labels: dict[Label, int] = {}
        self._counterexamples: dict[RewardTrace, None] = {}
        self._has_news = False
        self._size = 1
        self._machine: MealyMachine | None = None

    @property
    def size(self) -> Size | None:
        """The states with the terminal one, and the edges without those that lead back to their state."""
        if self._machine is None:
            return None
        edges = sum(target != p for p, row in enumerate(self._machine.targets) for target in row)
        return Size(self._machine.size + 1, edges)

    @property
    def machine(self) -> Hierarchy | None:
        """The machine, each of whose formulas names the whole label. Its terminal state is the accepting one."""
        if self._machine is None:
            return None
        names = (*(f"u{p}" for p in range(self._machine.size)), ACCEPTING)
        everything = frozenset(self._task.propositions)
        edges = tuple(
            Edge(names[p], names[row[number]], Formula(frozenset({Conjunction(label, everything - label)})))
            for p, row in enumerate(self._machine.targets)
            for label, number in self._labels.items()
            # Labels that were observed since the machine was found have no edges yet.
            if number < len(row) and row[number] != p
        )
        whole = RewardMachine(self._task.name, names, edges)
        return Hierarchy(self._task.name, (whole,), self._task.propositions)

    def take(self, episode: FlatEpisode) -> Attempt | None:
        """Keeps the episode if it is a counterexample; learns in every 20th episode, the first included, if it ends."""
        heard = episode.without_first_state()
        if self._is_counterexample(heard):
            numbers = tuple([self._labels.setdefault(label, len(self._labels)) for label in heard.labels])
            self._counterexamples[RewardTrace(numbers, heard.rewards, is_finished=True)] = None
            self._has_news = True
        is_due = (episode.number - 1) % self._config.period == 0 and episode.has_ended
        return self._learn() if is_due and self._has_news else None

    def _is_counterexample(self, episode: FlatEpisode) -> bool:
        """Whether an episode reached the goal with other rewards than the machine gives.

        Where the machine ends does not matter. Propositions that it has never seen are none for it; a label that is
        still unknown without them has no rewards.
        """
        if episode.outcome is not Outcome.GOAL or not episode.labels:
            return False
        if self._machine is None:
            return True
        known = dict(islice(self._labels.items(), len(self._machine.targets[0])))
        seen = frozenset[str]().union(*known)
        numbers = [known[label & seen] for label in episode.labels if label & seen in known]
        return len(numbers) < len(episode.labels) or self._machine.rewards_of(numbers) != episode.rewards

    def _learn(self) -> Attempt:
        """Looks for a machine of the size found last, and of larger ones up to that of the true flat machine."""
        for size in range(self._size, self._task.bound + 1):
            problem = {
                "size": size,
                "label_count": len(self._labels),
                "traces": [[trace.labels, trace.rewards, trace.is_finished] for trace in self._counterexamples],
                "solver": self._config.solver,
            }
            found = self._ask(search, problem)
            if found is not None:
                self._size, self._machine = size, _machine(found)
                self._has_news = False
                return Attempt.FOUND
        return Attempt.FAILED

    def snapshot(self) -> Mapping[str, Plain]:
        """See `FlatLearner`."""
        return {
            "labels": [sorted(label) for label in self._labels],
            "counterexamples": [[trace.labels, trace.rewards] for trace in self._counterexamples],
            "has_news": self._has_news,
            "size": self._size,
            "machine": None if self._machine is None else [self._machine.targets, self._machine.rewards],
        }

    def restore(self, state: Mapping[str, Plain]) -> None:
        """See `FlatLearner`."""
        self._labels = {frozenset(label): number for number, label in enumerate(state["labels"])}
        traces = (RewardTrace(tuple(labels), tuple(rewards), True) for labels, rewards in state["counterexamples"])
        self._counterexamples = dict.fromkeys(traces)
        self._has_news, self._size = state["has_news"], state["size"]
        self._machine = None if state["machine"] is None else _machine(state["machine"])


def _machine(plain: Plain) -> MealyMachine:
    targets, rewards = plain
    return MealyMachine(tuple(map(tuple, targets)), tuple(map(tuple, rewards)))
