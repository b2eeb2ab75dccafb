"""A learned policy outside the loop that trained it: given observations and labels, it chooses actions."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import jax
import numpy as np

from rewardmachines.agents.options.menu import TRUE, joined
from rewardmachines.agents.protocol import Step
from rewardmachines.agents.setup import OptionPlan, Problem
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import LEAF
from rewardmachines.core.traversal import HierarchyState, Verdict
from rewardmachines.lowered import initial_state, lift, move_on_event, step, verdict
from rewardmachines.lowered.traversal import NEITHER, VERDICTS


class Policy:
    """A greedy policy that keeps track of the hierarchy and of its options by itself.

    The hierarchy moves on label events only: a label that repeats the one before changes nothing.
    """

    def __init__(self, problem: Problem, agent: Any, *, seed: int = 0) -> None:
        self._problem, self._agent = problem, agent
        self._programs = _Programs(problem)
        self._first_key = jax.random.key(seed)
        self._task: Any = None

    def reset(self, label: Iterable[str] = ()) -> None:
        """Begins an episode.

        Args:
            label: The propositions that hold in its first moment.
        """
        self._label = self._problem.plan.lowered.bits.encode(label)
        self._task, self._plans = self._programs.begin(self._label, self._first_key)
        self._action: Any = None
        self._key = self._first_key

    def act(self, observation: Any, label: Iterable[str]) -> int:
        """The action for the present moment.

        Args:
            observation: What the environment shows.
            label: The propositions that hold.

        Raises:
            RewardMachineError: The policy was not reset, the observation has another shape than those that it was
                trained with, or the task is over.
        """
        self._check(observation)
        bits = self._problem.plan.lowered.bits.encode(label)
        self._key, act_key, follow_key = self._programs.keys(self._key)
        if self._action is not None:
            self._task, self._plans = self._programs.follow(
                self._task, self._plans, self._action, self._label, bits, follow_key
            )
        self._label = bits
        if self.verdict is not Verdict.NEITHER:
            raise RewardMachineError("the task is over: reset the policy before it acts again")
        seen = np.asarray(observation, np.float32)[None]
        self._action, self._plans = self._programs.act(self._agent, self._task, self._plans, seen, act_key)
        return int(np.asarray(self._action)[0])

    def _check(self, observation: Any) -> None:
        if self._task is None:
            raise RewardMachineError("reset the policy, with the first label, before it acts")
        shape = self._problem.trainer.environment.observation_shape
        if np.shape(observation) != shape:
            raise RewardMachineError(f"the policy knows observations of shape {shape}, not {np.shape(observation)}")

    @property
    def hierarchy(self) -> Hierarchy:
        """The hierarchy that the policy follows; flat algorithms have a flat one."""
        return self._problem.plan.hierarchy

    @property
    def state(self) -> HierarchyState:
        """Where its hierarchy stands."""
        plan = self._problem.plan
        return lift(plan.lowered, plan.hierarchy, jax.tree.map(lambda x: np.asarray(x)[0], self._task))

    @property
    def verdict(self) -> Verdict:
        """Whether the task is accepted, rejected, or still under way."""
        return VERDICTS[int(np.asarray(self._programs.verdict(self._task))[0])]

    @property
    def options(self) -> tuple[str, ...]:
        """The options that are running, from the outermost to the innermost; CRM has none."""
        plan = self._problem.plan
        if not isinstance(plan, OptionPlan):
            return ()
        stack = jax.tree.map(lambda x: np.asarray(x)[0], self._plans)
        names = []
        for i in range(int(stack.first), int(stack.size)):
            machine = plan.lowered.machines[stack.machine[i]]
            callee, disjunct = plan.menu.outputs[machine][stack.output[i]]
            aim = joined(plan.menu.contexts[stack.context[i]], disjunct)
            call = "" if callee == LEAF else f"call {callee}"
            names.append(
                f"{machine}: {' when '.join(part for part in (call, '' if aim == TRUE else str(aim)) if part)}"
            )
        return tuple(names)


class _Programs:
    """Compiled functions for a batch of one environment.

    What the environment remembers of moments serves learning only, so a zero stands for it here.
    """

    def __init__(self, problem: Problem) -> None:
        task, agent, root = problem.task, problem.trainer.agent, problem.plan.lowered.root
        # Unlike `jnp.zeros`, it compiles nothing.
        nothing, yes = jax.device_put((np.zeros(1, np.int32), np.ones(1, bool)))

        def keys(key: Any) -> tuple[Any, Any, Any]:
            kept, act_key, follow_key = jax.random.split(key, 3)
            return kept, act_key, follow_key

        def begin(label: Any, key: Any) -> tuple[Any, Any]:
            state = step(task.tables, initial_state(task.tables, root), label)
            states = jax.tree.map(lambda x: x[None], state)
            return states, agent.begin_plans(task, states, nothing, key)

        def act(learned: Any, states: Any, plans: Any, observations: Any, key: Any) -> tuple[Any, Any]:
            action, _, plans = agent.act(task, learned, plans, states, observations, nothing, False, key)
            return action, plans

        def follow(states: Any, plans: Any, action: Any, before: Any, label: Any, key: Any) -> tuple[Any, Any]:
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
                is_over=is_done(after),
                is_dead_end=~yes,
                is_valid=yes,
            )
            return after, agent.follow(task, plans, taken, key)

        def verdicts(states: Any) -> Any:
            return jax.vmap(partial(verdict, task.tables))(states)

        def is_done(states: Any) -> Any:
            return verdicts(states) != NEITHER

        self.keys, self.begin, self.act = jax.jit(keys), jax.jit(begin), jax.jit(act)
        self.follow, self.verdict = jax.jit(follow), jax.jit(verdicts)
