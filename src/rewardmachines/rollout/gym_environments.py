"""Parallel Gymnasium environments, each on a task that can change from episode to episode."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

import numpy as np

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.formula import Label
from rewardmachines.core.traversal import Verdict
from rewardmachines.envs.gymnasium.checked_envs import CheckedEnv, make_checked
from rewardmachines.lowered.traversal import NEITHER, REJECT, VerdictCode
from rewardmachines.rollout.interface import WRAP_IT, AnyEnv, Interface, LabelCodes
from rewardmachines.traces import Outcome

Numbers: TypeAlias = np.ndarray[Any, np.dtype[Any]]

ENDS: Final = {outcome.value: VerdictCode.of(outcome.verdict) for outcome in Outcome}
"""The code of each outcome that an environment can name in its `info`."""
EPISODES: Final = 10
"""The least number of greedy episodes in an evaluation of a task without instances."""
EndOf: TypeAlias = Callable[[dict[str, Any]], int]
"""Reads how an episode has ended, as the number of a verdict, from the `info` of its last step."""
TASK, INSTANCE, END, IS_CUT, COLUMNS = 0, 1, 2, 3, 4
"""The columns of a packed percept, and their number before those of the label."""


def check_longest(steps: int) -> None:
    """Checks a limit of the steps of an episode.

    Raises:
        RewardMachineError: The limit is less than 1.
    """
    if steps < 1:
        raise RewardMachineError(f"an episode has at least one step, not {steps}")


def end_by_outcome(info: dict[str, Any]) -> int:
    """The verdict of an ended episode, by the outcome in the environment's `info`; NEITHER without one."""
    return ENDS.get(info.get("outcome", ""), NEITHER)


def end_by_verdict(info: dict[str, Any]) -> int:
    """The verdict of an ended episode, by its hierarchy: an end before the hierarchy has decided is a dead end."""
    verdict = Verdict(info["verdict"])
    return REJECT if verdict is Verdict.NEITHER else VerdictCode.of(verdict)


class ReplayWarning(UserWarning):
    """Episodes could not be replayed, so that a resumed run goes on with new episodes."""


@dataclass(frozen=True)
class EpisodeRecord:
    """The record of a current episode: its beginning, its actions, and digests of its observations."""

    task: int
    """The number of its task."""
    instance: int
    """The number of its instance."""
    number: int
    """The number of earlier episodes of the environment, of all tasks."""
    seed: int
    """The seed with which the environment was reset."""
    actions: tuple[int, ...]
    """The actions since, counted from 0."""
    label: tuple[str, ...]
    """The propositions that hold at the present moment, sorted."""
    observation: str
    """A digest of the present observation, as it is stored."""
    history: str
    """A digest of all labels and observations since the beginning, as other histories may lead to the same moment."""


def are_playable(records: Sequence[EpisodeRecord], *, tasks: int, actions: int) -> bool:
    """Whether the numbers in records are those of existing tasks, seeds and actions.

    Args:
        records: The records, which may be damaged.
        tasks: The number of tasks.
        actions: The number of actions.
    """
    return all(0 <= record.task < tasks and record.seed >= 0 for record in records) and all(
        0 <= action < actions for record in records for action in record.actions
    )


def lost_episodes(is_lost: Any) -> str:
    """The text of the warning for episodes that could not be replayed.

    Args:
        is_lost: A mask of them, one truth value for each environment.
    """
    return (
        f"{int(np.sum(is_lost))} of {len(is_lost)} episodes could not be replayed: after the same seed and the same "
        "actions, the environment shows something else, or it is a vector environment, which has no seeds of episodes. "
        "Others are begun, and the run will not be the same as without a break"
    )


class MadeTask(Protocol):
    """A task whose environment can be made."""

    @property
    def name(self) -> str:
        """The name of the task."""

    @property
    def instances(self) -> int | None:
        """The number of instances: instance i is the result of `reset(seed=i)`. None for sampled initial states."""

    def made(self) -> AnyEnv:
        """An environment with labels."""


class PackedPercept(NamedTuple):
    """A `Percept` of N environments with their tasks and instances, in as few arrays as possible.

    Every array that goes to the device costs time, whatever its size.
    """

    memory: Any
    numbers: Any
    """[N C]: task, instance, end, whether the episode was cut off, and then the bits of the label."""
    reward: Any = None
    """[N], the environments' own rewards; None if their weight is 0."""
    is_live: Any = None
    """[N], as in `Percept`."""

    @property
    def end(self) -> Any:
        """[N], as in `Percept`."""
        return self.numbers[:, END]

    @property
    def is_cut(self) -> Any:
        """[N], as in `Percept`."""
        return self.numbers[:, IS_CUT] > 0

    @property
    def is_over(self) -> Any:
        """[N], as in `Percept`."""
        return (self.end != NEITHER) | self.is_cut


def packed(
    memory: Any, task: Numbers, instance: Numbers, end: Numbers, is_cut: Numbers, bits: Numbers
) -> PackedPercept:
    """The percept of N environments, with the bits of their labels [N W]. All other arguments are the columns."""
    columns = [task, instance, end, is_cut, bits.view(np.int32)]  # the same bits: all numbers are of one type
    return PackedPercept(memory, np.column_stack(columns).astype(np.int32))


class Environments:
    """N environments side by side, known by their indices.

    Each index has a Gymnasium environment for each task, which is made when the index first begins an episode of the
    task, and stays open until all are closed. Every episode begins with a seed of its own, so that it can be replayed:
    environments cannot be saved.
    """

    is_resting: Numbers | None = None
    """The mask of environments that the next step only resets: none, as an episode begins with a reset of its own."""

    def __init__(
        self,
        tasks: Sequence[MadeTask],
        interface: Interface,
        codes: LabelCodes,
        count: int,
        longest: int,
        seed: int,
        end_of: EndOf = end_by_outcome,
        *,
        pays: bool = False,
    ) -> None:
        """Opens no environment yet.

        Args:
            tasks: The tasks, which are known by their numbers.
            interface: The interface of the environments.
            codes: How labels are encoded.
            count: The number of parallel environments.
            longest: Steps after which an episode is truncated.
            seed: The seed from which those of episodes follow, if tasks have no instances.
            end_of: The verdict of a terminated episode, as a function of its `info`.
            pays: Whether percepts include the environments' own rewards.
        """
        self._end_of, self._pays = end_of, pays
        self._tasks, self._interface, self._codes = tasks, interface, codes
        self._longest, self._seed = longest, seed
        self._envs: dict[tuple[int, int], CheckedEnv] = {}
        """By index and task."""
        self.begun = [0] * count
        """The number of episodes that each index has begun."""
        self._reset_seeds = [0] * count
        self._actions: list[list[int]] = [[] for _ in range(count)]
        """The actions since the last reset, counted from 0."""
        self.task, self.instance = np.zeros(count, np.int32), np.zeros(count, np.int32)
        self.labels: list[Label] = [frozenset()] * count
        self.paid = np.zeros(count, np.float32)
        """The own reward of each environment in the last step, if a hierarchy beside it decides on the task's
        reward."""
        self.cut_off = 0
        """The number of episodes that were truncated, here or by a limit of the environment."""
        self._memory: list[Numbers | None] = [None] * count
        self._histories = [hashlib.sha256() for _ in range(count)]
        """Digests of all labels and observations since the last reset."""

    @property
    def memory(self) -> Numbers:
        """The present moments, as they are stored, [N ...]; the array is a copy, which callers may keep.

        The rows of environments that have never been reset are zeros.
        """
        blank = self._interface.observations.blank
        return np.stack([blank if one is None else one for one in self._memory])

    def begin(self, indices: Iterable[int], task: Numbers, instance: Numbers) -> PackedPercept:
        """Begins new episodes.

        Args:
            indices: The environments in which an episode begins.
            task: The numbers of tasks, [N]; only those of these environments count.
            instance: The numbers of instances, likewise.

        Returns:
            The percept of all N environments. No episode has ended.
        """
        for i in indices:
            self.task[i], self.instance[i] = task[i], instance[i]
            self._see(i, *self._reset(i, self._next_seed(i)))
            self.begun[i] += 1
        return self.present()

    def present(self) -> PackedPercept:
        """The percept of all N environments. No episode has ended."""
        return self._packed(np.full(len(self.task), NEITHER), np.zeros(len(self.task)))

    def _reset(self, index: int, seed: int) -> tuple[Any, dict[str, Any]]:
        number = int(self.task[index])
        if (index, number) not in self._envs:
            task = self._tasks[number]
            self._envs[index, number] = make_checked(
                task.made, propositions=self._interface.propositions, task=task.name
            )
        self._reset_seeds[index], self._actions[index], self._histories[index] = seed, [], hashlib.sha256()
        return self._envs[index, number].reset(seed=seed)

    def _next_seed(self, index: int) -> int:
        """The seed of the next episode: its instance, or else one that no other episode of the run has."""
        task = int(self.task[index])
        if (fixed := self._tasks[task].instances) is not None:
            return int(self.instance[index]) % fixed
        return int(np.random.SeedSequence([self._seed, index, task, self.begun[index]]).generate_state(1)[0])

    def step(self, indices: Iterable[int], actions: Numbers) -> PackedPercept:
        """Steps some environments; all other environments stay unchanged.

        Args:
            indices: The environments that are stepped.
            actions: The actions of all N environments, counted from 0.

        Returns:
            The percept of all N environments, with the ends of episodes.
        """
        end, is_cut = np.full(len(self.task), NEITHER, np.int32), np.zeros(len(self.task), bool)
        for i in indices:
            terminated, truncated, observation, info = self._act(i, int(actions[i]))
            self._see(i, observation, info)
            self.paid[i] = info.get("environment_reward", 0.0)
            end[i] = self._end(i, info) if terminated else NEITHER
            is_cut[i] = truncated or len(self._actions[i]) >= self._longest
            self.cut_off += bool(is_cut[i]) and not terminated
        return self._packed(end, is_cut)

    def _act(self, index: int, action: int) -> tuple[bool, bool, Any, dict[str, Any]]:
        """The result of the action: the next moment, and whether the episode is terminated or truncated."""
        env = self._envs[index, int(self.task[index])]
        observation, _, terminated, truncated, info = env.step(self._interface.action(action))
        self._actions[index].append(action)
        return terminated, truncated, observation, info

    def _packed(self, end: Numbers, is_cut: Numbers) -> PackedPercept:
        shown = packed(self.memory, self.task, self.instance, end, is_cut, self._codes.many(self.labels))
        return shown._replace(reward=self.paid.copy()) if self._pays else shown

    def _see(self, index: int, observation: Any, info: dict[str, Any]) -> None:
        self.labels[index] = info["label"]
        self._memory[index] = memory = self._interface.observations.one(observation)
        self._histories[index].update(f"{sorted(self.labels[index])}".encode())
        self._histories[index].update(np.asarray(memory).tobytes())

    def _end(self, index: int, info: dict[str, Any]) -> int:
        end = self._end_of(info)
        if end == NEITHER:
            raise RewardMachineError(
                f"the environment of {self._name(index)} ended, but does not say whether at its goal: {WRAP_IT}"
            )
        return end

    def _name(self, index: int) -> str:
        return f"'{self._tasks[int(self.task[index])].name}'"

    # -- records of episodes

    def records(self) -> tuple[EpisodeRecord, ...]:
        """A record of the current episode of each environment, all of which must have begun one."""
        return tuple(self._record(i) for i in range(len(self.task)))

    def _record(self, index: int) -> EpisodeRecord:
        return EpisodeRecord(
            task=int(self.task[index]),
            instance=int(self.instance[index]),
            number=self.begun[index] - 1,
            seed=self._reset_seeds[index],
            actions=tuple(self._actions[index]),
            label=tuple(sorted(self.labels[index])),
            observation=hashlib.sha256(np.asarray(self._memory[index]).tobytes()).hexdigest(),
            history=self._histories[index].hexdigest(),
        )

    def replay(self, records: Sequence[EpisodeRecord]) -> Numbers:
        """Replays an episode in each environment.

        Args:
            records: A record for each environment; or none at all, of episodes in a vector environment.

        Returns:
            A mask [N] of the environments whose replay differs from the record, because they have randomness that seeds
            do not determine. They must begin a new episode.
        """
        if not records:
            return np.ones(len(self.task), bool)
        return np.array([not self._is_replayed(i, record) for i, record in enumerate(records)])

    def _is_replayed(self, index: int, record: EpisodeRecord) -> bool:
        self.task[index], self.instance[index] = record.task, record.instance
        self.begun[index] = record.number + 1
        self._see(index, *self._reset(index, record.seed))
        for action in record.actions:
            terminated, truncated, observation, info = self._act(index, action)
            self._see(index, observation, info)
            if terminated or truncated:
                return False
        return self._record(index) == record

    def close(self) -> None:
        """Closes all Gymnasium environments. The next episodes are begun in new ones."""
        while self._envs:
            self._envs.popitem()[1].close()
