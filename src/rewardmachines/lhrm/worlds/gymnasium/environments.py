"""Gymnasium environments side by side, each on a task that can change from episode to episode: what they show."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from rewardmachines.agents.gymnasium.policy import AnyEnv
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.formula import Label
from rewardmachines.lhrm.worlds.gymnasium.tasks import WRAP_IT, GymTask, Senses
from rewardmachines.lowered.traversal import NEITHER, VerdictCode
from rewardmachines.traces import Outcome

Numbers: TypeAlias = np.ndarray[Any, np.dtype[Any]]

ENDS: Final = {outcome.value: VerdictCode.of(outcome.verdict) for outcome in Outcome}
"""What an environment says of its end, as arrays hold it."""


class Ends(NamedTuple):
    """What became of N episodes with a step; as in `StepResult`."""

    end: Numbers
    is_cut: Numbers

    @property
    def is_over(self) -> Numbers:
        over: Numbers = (self.end != NEITHER) | self.is_cut
        return over


class Environments:
    """N environments side by side; one is made for an index and a task when it is first needed there."""

    def __init__(self, tasks: Sequence[GymTask], senses: Senses, count: int, longest: int, seed: int) -> None:
        self._tasks, self._senses = tasks, senses
        self._longest, self._seed = longest, seed
        self._envs: dict[tuple[int, int], AnyEnv] = {}
        self._steps = [0] * count
        self.task, self.instance = np.zeros(count, np.int32), np.zeros(count, np.int32)
        self.labels: list[Label] = [frozenset()] * count
        self._memory: list[Numbers | None] = [None] * count

    @property
    def memory(self) -> Numbers:
        """Of the present moment, [N ...]; new, since whoever gets it keeps it. So are the bits of labels."""
        some = next(one for one in self._memory if one is not None)
        return np.stack([np.zeros_like(some) if one is None else one for one in self._memory])

    @property
    def bits(self) -> Numbers:
        return self._senses.codes.many(self.labels)

    def begin(self, indices: Iterable[int], task: Numbers, instance: Numbers) -> None:
        """New episodes at these indices; task and instance are those of every index."""
        for i in indices:
            self.task[i], self.instance[i], self._steps[i] = task[i], instance[i], 0
            observation, info = self._reset(i, int(task[i]), int(instance[i]))
            self._see(i, observation, info)

    def _reset(self, index: int, task: int, instance: int) -> tuple[Any, dict[str, Any]]:
        fixed, is_new = self._tasks[task].instances, (index, task) not in self._envs
        if is_new:
            self._envs[index, task] = self._tasks[task].make_env()
        if fixed is not None:
            return self._envs[index, task].reset(seed=instance % fixed)
        return self._envs[index, task].reset(seed=self._first_seed(index, task) if is_new else None)

    def _first_seed(self, index: int, task: int) -> int:
        """No two environments have the same, whatever the seed of the run; afterwards, chance is left to them."""
        return int(np.random.SeedSequence([self._seed, index, task]).generate_state(1)[0])

    def step(self, indices: Iterable[int], actions: Numbers) -> Ends:
        """Acts at these indices; elsewhere nothing happens. Actions are those of every index, counted from 0."""
        end, is_cut = np.full(len(self.task), NEITHER, np.int32), np.zeros(len(self.task), bool)
        for i in indices:
            env = self._envs[i, int(self.task[i])]
            action = int(actions[i]) + int(self._senses.actions.start)
            observation, _, terminated, truncated, info = env.step(action)
            self._steps[i] += 1
            self._see(i, observation, info)
            end[i] = self._end(i, info) if terminated else NEITHER
            is_cut[i] = truncated or self._steps[i] >= self._longest
        return Ends(end, is_cut)

    def _see(self, index: int, observation: Any, info: dict[str, Any]) -> None:
        if "label" not in info:
            raise RewardMachineError(f"the environment of {self._name(index)} does not say its label: {WRAP_IT}")
        self.labels[index] = info["label"]
        self._memory[index] = self._senses.reading.one(observation)

    def _end(self, index: int, info: dict[str, Any]) -> int:
        end = ENDS.get(info.get("outcome", ""), NEITHER)
        if end == NEITHER:
            raise RewardMachineError(
                f"the environment of {self._name(index)} ended, but does not say whether at its goal: {WRAP_IT}"
            )
        return end

    def _name(self, index: int) -> str:
        return f"'{self._tasks[int(self.task[index])].name}'"

    def close(self) -> None:
        while self._envs:
            self._envs.popitem()[1].close()
