"""A hierarchy beside a labelled Gymnasium environment: it decides what is rewarded and when an episode ends."""

from __future__ import annotations

from typing import Any

import gymnasium

from rewardmachines.core.errors import RewardMachineError, UnknownPropositionError
from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy, suggestion
from rewardmachines.core.traversal import HierarchyState, Verdict, initial_state, move_on_event, verdict_of
from rewardmachines.envs.gymnasium.checks.single import checked
from rewardmachines.envs.gymnasium.counterfactuals import CounterfactualMachine
from rewardmachines.envs.gymnasium.labeling import AnyEnv
from rewardmachines.envs.gymnasium.rewards import AnyReward, Potential, RewardSource, Shaping, reward_function
from rewardmachines.envs.gymnasium.state_encoder import StateEncoder


class HierarchyWrapper(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Lets a hierarchy decide: reward 1 and the end when it accepts, the end when it rejects.

    The environment must be labelled. The hierarchy advances on label events (docs/events.md), the first after `reset`;
    where it stands is in `info["hierarchy_state"]`. If the environment ends by itself before the hierarchy has decided,
    the episode ends without reward. What the environment pays is in `info["environment_reward"]`.
    """

    checks_what_it_wraps = True

    def __init__(
        self,
        env: AnyEnv,
        hierarchy: Hierarchy,
        *,
        append_state: bool = False,
        reward: AnyReward = RewardSource.HIERARCHY,
        shaping: Shaping | float | None = None,
        counterfactuals: bool = False,
    ) -> None:
        """Puts a hierarchy beside an environment.

        Args:
            env: A labelled environment, such as one in a `LabelingWrapper`.
            hierarchy: What is to be done.
            append_state: Whether the observation includes the hierarchy state, which makes the task Markov
                for any agent: a one-hot vector over the states of the smallest flat machine.
            reward: `"hierarchy"`, `"environment"`, or a function of both, such as `lambda task, own: task + 0.1 * own`.
                Episodes end when the hierarchy has decided, whatever is rewarded.
            shaping: Adds reward for progress in the hierarchy, which changes no optimal policy: a `Shaping`, or only
                the discount of the agent that is to learn. Agents of this package need none, and must get none.
            counterfactuals: Whether `info["counterfactuals"]` holds the step as seen from every undecided
                state of the flat machine, for replay memories that learn from it. It needs `append_state`.

        Raises:
            RewardMachineError: The environment is not labelled, or what is asked for does not fit together.
        """
        super().__init__(env)
        known = _propositions(env, hierarchy)
        self.hierarchy = hierarchy
        self._checked = checked(env, known)
        self._reward = reward_function(reward)
        self._shaping = Shaping(shaping) if isinstance(shaping, (int, float)) else shaping
        self._potential = None
        if self._shaping is not None:
            self._potential = Potential(hierarchy, weight=self._shaping.weight, labels=self._shaping.labels)
        self._encoder = StateEncoder(hierarchy, env.observation_space) if append_state else None
        if self._encoder is not None:
            self.observation_space = self._encoder.space
        self._others = self._counterfactual_machine() if counterfactuals else None
        self._state, self._phi = initial_state(hierarchy), 0.0
        self._label: Label | None = None

    def _counterfactual_machine(self) -> CounterfactualMachine:
        if self._encoder is None:
            raise RewardMachineError("counterfactuals are of agents that see the state of the task: append_state=True")
        return CounterfactualMachine(self._encoder.flat, self._reward, self._shaping)

    @property
    def hierarchy_state(self) -> HierarchyState:
        """The hierarchy state."""
        return self._state

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        observation, info = self._checked.reset(seed=seed, options=options)
        self._state, self._label = initial_state(self.hierarchy), None
        if self._encoder is not None:
            self._encoder.reset()
        self._feed(info["label"])
        self._phi = 0.0 if self._potential is None else self._potential.of(self._state)
        return self._observed(observation), self._described(info)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        observation, paid, ended, truncated, info = self._checked.step(action)
        before, own = self._label, float(paid)
        self._feed(info["label"])
        verdict = verdict_of(self.hierarchy, self._state)
        terminated = ended or verdict is not Verdict.NEITHER
        reward = self._reward(1.0 if verdict is Verdict.ACCEPT else 0.0, own) + self._shaped(terminated)
        info = {**self._described(info), "environment_reward": own}
        if self._others is not None:
            info["counterfactuals"] = self._others.of(before, info["label"], own, ended)
        return self._observed(observation), reward, terminated, truncated and not terminated, info

    def _feed(self, label: Label) -> None:
        self._state = move_on_event(self.hierarchy, self._state, self._label, label)
        if self._encoder is not None:
            self._encoder.feed(self._label, label)
        self._label = label

    def _shaped(self, terminated: bool) -> float:
        """The reward for the progress of the last step. Beyond the end of an episode there is no potential."""
        if self._potential is None or self._shaping is None:
            return 0.0
        before, self._phi = self._phi, 0.0 if terminated else self._potential.of(self._state)
        return self._shaping.discount * self._phi - before

    def _observed(self, observation: Any) -> Any:
        return observation if self._encoder is None else self._encoder.encode(observation)

    def _described(self, info: dict[str, Any]) -> dict[str, Any]:
        verdict = verdict_of(self.hierarchy, self._state)
        return {**info, "hierarchy_state": str(self._state), "verdict": verdict.value}


def _propositions(env: AnyEnv, hierarchy: Hierarchy) -> tuple[str, ...]:
    """The propositions that the environment knows, which must be all that the hierarchy mentions."""
    if not env.has_wrapper_attr("propositions"):
        raise RewardMachineError(
            "the environment is not labelled: wrap it in LabelingWrapper(env, labels=..., propositions=[...]) first"
        )
    known: tuple[str, ...] = tuple(env.get_wrapper_attr("propositions"))
    if missing := [p for p in hierarchy.used_propositions if p not in known]:
        hint = suggestion(missing[0], known)
        raise UnknownPropositionError(
            f"the hierarchy mentions '{missing[0]}', but the environment only knows {', '.join(known)}{hint}"
        )
    return known
