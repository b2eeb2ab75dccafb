"""Counterfactual experiences (CRM) for agents of other libraries: a step as seen from other hierarchy states."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np

from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.traversal import HierarchyState, Verdict, move_on_event, verdict_of
from rewardmachines.envs.gymnasium.rewards import Potential, RewardFunction, Shaping

Numbers: TypeAlias = np.ndarray[Any, np.dtype[Any]]


class Counterfactuals(NamedTuple):
    """One step, from each of the E undecided states of a flat machine with S states."""

    task: Numbers
    """The states before the step, one-hot: E rows of S numbers, as they are appended to observations."""
    next_task: Numbers
    """The states after the step, one-hot."""
    reward: Numbers
    """E rewards, composed and shaped as the wrapper says."""
    terminated: Numbers
    """Whether the episode would have terminated: the machine has decided, or the environment has ended by itself."""


class _Moves(NamedTuple):
    """The transitions on one label from all undecided states."""

    next_state: Numbers
    is_accepted: Numbers
    is_decided: Numbers


class CounterfactualMachine:
    """The undecided states of a flat machine, and where labels lead from them."""

    def __init__(self, flat: Hierarchy, reward: RewardFunction, shaping: Shaping | None) -> None:
        """Looks at the machine.

        Args:
            flat: A hierarchy of one machine.
            reward: What a step is worth.
            shaping: What progress is worth; nothing, if not given.
        """
        self._flat, self._reward = flat, reward
        states = [HierarchyState(flat.root, name) for name in flat[flat.root].states]
        self._index = {state.state: i for i, state in enumerate(states)}
        self._open = [state for state in states if verdict_of(flat, state) is Verdict.NEITHER]
        self._before = np.array([self._index[state.state] for state in self._open], int)
        self._one_hot = np.eye(len(states), dtype=np.float32)
        self._discount, self._potential = 1.0, np.zeros(len(states))
        if shaping is not None:
            potential = Potential(flat, weight=shaping.weight, labels=shaping.labels)
            self._discount, self._potential = shaping.discount, np.array([potential.of(state) for state in states])
        self._known: dict[Label | None, _Moves] = {}

    def of(self, before: Label | None, label: Label, environment_reward: float, has_ended: bool) -> Counterfactuals:
        """The counterfactual experiences of a step.

        Args:
            before: The label before the step.
            label: The label after it.
            environment_reward: What the environment paid.
            has_ended: Whether the environment has ended by itself.
        """
        moves = self._moves(None if before == label else label)
        terminated = moves.is_decided | has_ended
        without, accepted = (self._reward(won, environment_reward) for won in (0.0, 1.0))
        shaped = np.where(terminated, 0.0, self._potential[moves.next_state]) * self._discount
        return Counterfactuals(
            task=self._one_hot[self._before],
            next_task=self._one_hot[moves.next_state],
            reward=np.where(moves.is_accepted, accepted, without) + shaped - self._potential[self._before],
            terminated=terminated,
        )

    def _moves(self, label: Label | None) -> _Moves:
        """The transitions on a label event; None stands for labels that are none."""
        if label not in self._known:
            after = [s if label is None else move_on_event(self._flat, s, None, label) for s in self._open]
            verdicts = [verdict_of(self._flat, state) for state in after]
            self._known[label] = _Moves(
                next_state=np.array([self._index[state.state] for state in after], int),
                is_accepted=np.array([v is Verdict.ACCEPT for v in verdicts], bool),
                is_decided=np.array([v is not Verdict.NEITHER for v in verdicts], bool),
            )
        return self._known[label]
