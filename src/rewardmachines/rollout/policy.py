"""A learned policy outside the loop that trained it: given observations and labels, it chooses actions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import numpy as np

from rewardmachines.agents.options.option_set import TRUE, OptionSet, joined
from rewardmachines.agents.protocol import AnyAgent, Recall, Task
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import LEAF
from rewardmachines.core.traversal import HierarchyState, Verdict
from rewardmachines.lowered import LabelBits, LoweredHierarchy, lift, verdict
from rewardmachines.lowered.traversal import VERDICTS
from rewardmachines.rollout.compile_ahead import KEPT
from rewardmachines.rollout.interaction import Interaction
from rewardmachines.rollout.tables import Episodes, Percept, TaskTables


@dataclass(frozen=True)
class FollowedHierarchy:
    """The hierarchy that a policy follows, with the names of its numbers."""

    hierarchy: Hierarchy
    lowered: LoweredHierarchy
    """The machines by their numbers. The root is that of the task."""
    option_set: OptionSet | None = None
    """The options of each machine, for agents that have options."""


@dataclass(frozen=True)
class Encoding:
    """The encoding of observations, labels and actions for a policy."""

    observation: Callable[[Any], Any]
    """Encodes an observation; an error, if it is not in the space that the policy was trained with."""
    label: Callable[[Iterable[str]], Any]
    """Encodes a label as bits; an error, if it has unknown propositions."""
    blank: Any
    """Zeros in the shape of a stored observation."""
    recall: Recall
    """Computes an observation from its stored form."""
    action: Callable[[int], Any] = int
    """The environment's action of a number; the agent counts its actions from 0."""


def plain_encoding(shape: tuple[int, ...], propositions: Iterable[str]) -> Encoding:
    """The encoding of a domain, whose observations of this shape are stored unchanged."""

    def checked(given: Any) -> Any:
        if np.shape(given) != shape:
            raise RewardMachineError(f"the policy knows observations of shape {shape}, not {np.shape(given)}")
        return np.asarray(given, np.float32)

    return Encoding(checked, LabelBits(tuple(propositions)).encode, np.zeros(shape, np.float32), as_it_is)


def as_it_is(world: Any, observation: Any) -> Any:  # noqa: ARG001
    """Recalls an observation that is stored as it is."""
    return observation


class Policy:
    """A greedy policy that keeps track of the hierarchy and of its options by itself.

    The hierarchy moves on label events only: a label that repeats the one before changes nothing. Every environment
    needs a policy of its own.

        policy.reset(info["label"])
        action = policy.act(observation, info["label"])
    """

    def __init__(
        self,
        agent: AnyAgent,
        learned: Any,
        task: Task,
        followed: FollowedHierarchy,
        encoding: Encoding,
        *,
        seed: int = 0,
    ) -> None:
        """Begins no episode yet.

        Args:
            agent: The functions of the agent.
            learned: The networks of the agent.
            task: The task as arrays.
            followed: The hierarchy that the policy follows.
            encoding: The encoding of observations, labels and actions.
            seed: The seed of random actions where no option can be chosen.
        """
        self._learned, self._followed, self._encoding = learned, followed, encoding
        root, even = np.asarray([followed.lowered.root], np.int32), np.ones((1, 1), np.float32)
        self._tables = TaskTables(task, *jax.device_put((root, even)))
        self._programs = _programs(agent, encoding.recall)
        self._first_key = jax.random.key(seed)
        self._episode: Episodes | None = None

    def reset(self, label: Iterable[str] = ()) -> None:
        """Begins an episode.

        Args:
            label: The propositions that hold at the beginning of the episode.
        """
        percept = _percept(self._encoding.blank, self._encoding.label(label))
        self._episode = self._programs.begin(self._tables, percept, self._first_key)
        self._action: Any = None
        self._key = self._first_key

    def act(self, observation: Any, label: Iterable[str]) -> Any:
        """The action for the present moment, which the last action has led to, as the environment takes it.

        Args:
            observation: The observation, as the environment returned it.
            label: The propositions that hold.

        Raises:
            RewardMachineError: The policy was not reset, the observation is not in the space that it was trained with,
                or the task is over.
        """
        if self._episode is None:
            raise RewardMachineError("reset the policy, with the first label, before it acts")
        percept = _percept(self._encoding.observation(observation), self._encoding.label(label))
        self._key, act_key, follow_key = self._programs.keys(self._key)
        episode = self._episode._replace(now=percept.memory)
        if self._action is not None:
            episode = self._programs.follow(self._tables, self._episode, self._action, percept, follow_key)
        self._episode = episode
        if self.verdict is not Verdict.NEITHER:
            raise RewardMachineError("the task is over: reset the policy before it acts again")
        self._action, self._episode = self._programs.exploit(self._tables, self._learned, episode, act_key)
        return self._encoding.action(int(np.asarray(self._action)[0]))

    @property
    def _now(self) -> Episodes:
        if self._episode is None:
            raise RewardMachineError("reset the policy, with the first label, before it is looked at")
        return self._episode

    @property
    def hierarchy(self) -> Hierarchy:
        """The hierarchy that the policy follows; flat algorithms have a flat one."""
        return self._followed.hierarchy

    @property
    def propositions(self) -> tuple[str, ...]:
        """The propositions that labels are made of."""
        return self._followed.lowered.bits.propositions

    @property
    def state(self) -> HierarchyState:
        """The state of the hierarchy."""
        followed = self._followed
        return lift(followed.lowered, followed.hierarchy, jax.tree.map(lambda x: np.asarray(x)[0], self._now.belief))

    @property
    def verdict(self) -> Verdict:
        """Whether the task is accepted, rejected, or still under way."""
        return VERDICTS[int(np.asarray(self._programs.verdict(self._tables, self._now.belief))[0])]

    @property
    def options(self) -> tuple[str, ...]:
        """The options that are running, from the outermost to the innermost; CRM has none."""
        option_set, lowered = self._followed.option_set, self._followed.lowered
        if option_set is None:
            return ()
        stack = jax.tree.map(lambda x: np.asarray(x)[0], self._now.plans)
        names = []
        for i in range(int(stack.first), int(stack.size)):
            machine = lowered.machines[stack.machine[i]]
            callee, disjunct = option_set.outputs[machine][stack.output[i]]
            aim = joined(option_set.contexts[stack.context[i]], disjunct)
            parts = ("" if callee == LEAF else f"call {callee}", "" if aim == TRUE else str(aim))
            names.append(f"{machine}: {' when '.join(filter(None, parts))}")
        return tuple(names)


def _percept(memory: Any, label: Any) -> Percept:
    """A moment of the only environment, whose hierarchy is the policy's own."""
    is_cut: Any = np.zeros(1, bool)
    return Percept(memory[None], label[None], end=None, is_cut=is_cut)


class _Programs:
    """Compiled functions for a batch of one environment."""

    def __init__(self, agent: Any, recall: Recall) -> None:
        interaction = Interaction(replace(agent, recall=recall), longest=0)
        first: Any = np.zeros(1, np.int32)

        def keys(key: Any) -> tuple[Any, Any, Any]:
            kept, act_key, follow_key = jax.random.split(key, 3)
            return kept, act_key, follow_key

        def begin(tables: TaskTables, percept: Percept, key: Any) -> Episodes:
            return interaction.begin(tables, first, first, percept, key)

        def follow(tables: TaskTables, episode: Episodes, action: Any, percept: Percept, key: Any) -> Episodes:
            return interaction.follow(tables, episode, action, percept, key)[0]

        def verdicts(tables: TaskTables, states: Any) -> Any:
            return jax.vmap(partial(verdict, tables.task.tables))(states)

        self.keys, self.begin, self.exploit = jax.jit(keys), jax.jit(begin), jax.jit(interaction.exploit)
        self.follow, self.verdict = jax.jit(follow), jax.jit(verdicts)


_programs = lru_cache(KEPT)(_Programs)
"""The same programs for equal agents, so that nothing is compiled twice."""


# -- episodes in an environment


class Moment(NamedTuple):
    """A moment of an episode."""

    number: int
    """The steps since its beginning."""
    info: dict[str, Any]
    reward: float
    """The reward of the last step; 0 at the beginning."""
    is_over: bool
    """Whether the episode is terminated or truncated."""
    is_terminated: bool


def moments(env: Any, policy: Policy, seed: int | None, is_last: Callable[[Moment], bool]) -> Iterator[Moment]:
    """The moments of an episode of a policy, each after the policy has chosen its action there, if it is not the last.

    Args:
        env: A Gymnasium environment with labels.
        policy: The policy.
        seed: The seed of the reset.
        is_last: Whether the episode is cut off after a moment.
    """
    observation, info = env.reset(seed=seed)
    policy.reset(info["label"])
    moment = Moment(0, info, 0.0, is_over=False, is_terminated=False)
    while not is_last(moment):
        action = policy.act(observation, moment.info["label"])
        yield moment
        observation, reward, terminated, truncated, info = env.step(action)
        moment = Moment(moment.number + 1, info, float(reward), terminated or truncated, terminated)
    yield moment
