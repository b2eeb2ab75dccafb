"""A learned policy outside the loop that trained it: given observations and labels, it chooses actions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Protocol

import jax
import numpy as np

from rewardmachines.agents.options.menu import TRUE, Menu, joined
from rewardmachines.agents.protocol import AnyAgent, Recall, Step, Task
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import LEAF
from rewardmachines.core.traversal import HierarchyState, Verdict
from rewardmachines.lowered import LoweredHierarchy, initial_state, lift, move_on_event, step, verdict
from rewardmachines.lowered.traversal import NEITHER, VERDICTS
from rewardmachines.rollout.compile_ahead import KEPT


@dataclass(frozen=True)
class FollowedHierarchy:
    """The hierarchy that a policy follows, and what its numbers mean."""

    hierarchy: Hierarchy
    lowered: LoweredHierarchy
    """The machines by their numbers. Its root is that of the task."""
    menu: Menu | None = None
    """The options of each machine, for agents that have options."""


class Encoding(Protocol):
    """How a policy takes observations and labels."""

    def observation(self, given: Any) -> Any:
        """What is stored of an observation, or the observation itself.

        Raises:
            RewardMachineError: It is none of those that the policy was trained with.
        """

    def label(self, given: Iterable[str]) -> Any:
        """The bits of a label.

        Raises:
            RewardMachineError: It has unknown propositions.
        """


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
        recall: Recall | None = None,
        first_action: int = 0,
        seed: int = 0,
    ) -> None:
        """Begins no episode yet.

        Args:
            agent: The functions of the agent.
            learned: What the agent has learned.
            task: The task as arrays.
            followed: The hierarchy that the policy follows.
            encoding: How observations and labels are taken.
            recall: Computes an observation of what is stored of it; None where observations are taken as they are.
            first_action: The least action of the environment; the agent counts its actions from 0.
            seed: Of what is left to chance where no option can be chosen.
        """
        self._agent, self._learned, self._task = agent, learned, task
        self._followed, self._encoding, self._first_action = followed, encoding, first_action
        self._programs = _programs(agent, recall)
        self._first_key = jax.random.key(seed)
        self._states: Any = None

    def reset(self, label: Iterable[str] = ()) -> None:
        """Begins an episode.

        Args:
            label: The propositions that hold in its first moment.
        """
        self._label = self._encoding.label(label)
        root = np.int32(self._followed.lowered.root)
        self._states, self._plans = self._programs.begin(self._task, root, self._label, self._first_key)
        self._action: Any = None
        self._key = self._first_key

    def act(self, observation: Any, label: Iterable[str]) -> int:
        """The action for the present moment, which the last action has led to.

        Args:
            observation: What the environment shows.
            label: The propositions that hold.

        Raises:
            RewardMachineError: The policy was not reset, the observation is none of those that it was trained with, or
                the task is over.
        """
        if self._states is None:
            raise RewardMachineError("reset the policy, with the first label, before it acts")
        seen, bits = self._encoding.observation(observation), self._encoding.label(label)
        self._key, act_key, follow_key = self._programs.keys(self._key)
        if self._action is not None:
            self._states, self._plans = self._programs.follow(
                self._task, self._states, self._plans, self._action, self._label, bits, follow_key
            )
        self._label = bits
        if self.verdict is not Verdict.NEITHER:
            raise RewardMachineError("the task is over: reset the policy before it acts again")
        self._action, self._plans = self._programs.act(
            self._task, self._learned, self._states, self._plans, seen[None], act_key
        )
        return int(np.asarray(self._action)[0]) + self._first_action

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
        """Where its hierarchy stands."""
        followed = self._followed
        return lift(followed.lowered, followed.hierarchy, jax.tree.map(lambda x: np.asarray(x)[0], self._states))

    @property
    def verdict(self) -> Verdict:
        """Whether the task is accepted, rejected, or still under way."""
        return VERDICTS[int(np.asarray(self._programs.verdict(self._task, self._states))[0])]

    @property
    def options(self) -> tuple[str, ...]:
        """The options that are running, from the outermost to the innermost; CRM has none."""
        menu, lowered = self._followed.menu, self._followed.lowered
        if menu is None:
            return ()
        stack = jax.tree.map(lambda x: np.asarray(x)[0], self._plans)
        names = []
        for i in range(int(stack.first), int(stack.size)):
            machine = lowered.machines[stack.machine[i]]
            callee, disjunct = menu.outputs[machine][stack.output[i]]
            aim = joined(menu.contexts[stack.context[i]], disjunct)
            parts = ("" if callee == LEAF else f"call {callee}", "" if aim == TRUE else str(aim))
            names.append(f"{machine}: {' when '.join(filter(None, parts))}")
        return tuple(names)


class _Programs:
    """Compiled functions for a batch of one environment.

    What a replay memory would hold of moments serves learning only, so a zero stands for it here.
    """

    def __init__(self, agent: AnyAgent, recall: Recall | None) -> None:
        # Unlike `jnp.zeros`, it compiles nothing.
        nothing, yes = jax.device_put((np.zeros(1, np.int32), np.ones(1, bool)))

        def keys(key: Any) -> tuple[Any, Any, Any]:
            kept, act_key, follow_key = jax.random.split(key, 3)
            return kept, act_key, follow_key

        def begin(task: Task, root: Any, label: Any, key: Any) -> tuple[Any, Any]:
            state = step(task.tables, initial_state(task.tables, root), label)
            states = jax.tree.map(lambda x: x[None], state)
            return states, agent.begin_plans(task, states, nothing, key)

        def act(task: Task, learned: Any, states: Any, plans: Any, seen: Any, key: Any) -> tuple[Any, Any]:
            observations = seen if recall is None else jax.vmap(partial(recall, task.world))(seen)
            action, _, plans = agent.act(task, learned, plans, states, observations, nothing, False, key)
            return action, plans

        def follow(
            task: Task, states: Any, plans: Any, action: Any, before: Any, label: Any, key: Any
        ) -> tuple[Any, Any]:
            move = jax.vmap(partial(move_on_event, task.tables), in_axes=(0, None, None))
            is_event, called, after = move(states, before, label)
            taken = Step(
                before=nothing,
                action=action,
                after=nothing,
                label=label[None],
                is_event=is_event,
                from_state=states,
                called=called,
                to_state=after,
                is_over=verdicts(task, after) != NEITHER,
                is_dead_end=~yes,
                is_valid=yes,
            )
            return after, agent.follow(task, plans, taken, key)

        def verdicts(task: Task, states: Any) -> Any:
            return jax.vmap(partial(verdict, task.tables))(states)

        self.keys, self.begin, self.act = jax.jit(keys), jax.jit(begin), jax.jit(act)
        self.follow, self.verdict = jax.jit(follow), jax.jit(verdicts)


_programs = lru_cache(KEPT)(_Programs)
"""The same programs for equal agents, so that nothing is compiled twice."""


@dataclass(frozen=True)
class PlainEncoding:
    """Observations of a domain, which are taken as they are."""

    shape: tuple[int, ...]
    encode_label: Callable[[Iterable[str]], Any]

    def observation(self, given: Any) -> Any:
        if np.shape(given) != self.shape:
            raise RewardMachineError(f"the policy knows observations of shape {self.shape}, not {np.shape(given)}")
        return np.asarray(given, np.float32)

    def label(self, given: Iterable[str]) -> Any:
        return self.encode_label(given)
