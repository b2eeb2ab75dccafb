"""What Gymnasium's vector environments say, as arrays: observations, labels, and how an episode follows another."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import iterate

from rewardmachines.agents.gymnasium.driver import News
from rewardmachines.agents.gymnasium.observations import Memory, Reading
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.formula import Label
from rewardmachines.lowered import LabelBits

AnyVectorEnv: TypeAlias = VectorEnv[Any, Any, Any]

MOST_ACTIONS: Final = 256
"""They are remembered as bytes."""

WRAP_IT: Final = "wrap it: HierarchyWrapper(LabelingWrapper(env, labels=..., propositions=[...]), hierarchy)"


@dataclass(frozen=True)
class LabelCodes:
    """Labels as bits. Each is looked at once."""

    bits: LabelBits
    expected: frozenset[Label] | None = None
    """All there can be, if somebody said so."""
    _known: dict[Label, Memory] = field(default_factory=dict, compare=False)

    def one(self, label: Iterable[str]) -> Memory:
        label = frozenset(label)
        if label not in self._known:
            if self.expected is not None and label not in self.expected:
                shown = ", ".join(sorted(label))
                raise RewardMachineError(f"the label {{{shown}}} was seen, but it is not among `labels`")
            self._known[label] = self.bits.encode(label)
        return self._known[label]

    def many(self, labels: Sequence[Iterable[str]]) -> Memory:
        return np.stack([self.one(label) for label in labels])


class Moment(NamedTuple):
    """Of all environments."""

    memory: Memory
    label: Memory


@dataclass
class Sensors:
    """Steps the environments and reports. Their state is theirs; only who is still to be reset is known here."""

    envs: AnyVectorEnv
    reading: Reading
    codes: LabelCodes

    def __post_init__(self) -> None:
        self._mode = autoreset_mode(self.envs)
        self._first_action = int(action_space(self.envs).start)
        self.is_waiting = np.zeros(self.envs.num_envs, bool)

    def moment(self, observations: Any, info: dict[str, Any]) -> Moment:
        memory = self.reading.many(self.envs.observation_space, observations)
        return Moment(memory, self.codes.many(labels_in(info)))

    def step(self, actions: Memory) -> tuple[News, Memory]:
        """The news, and the rewards."""
        observations, rewards, terminated, truncated, info = self.envs.step(actions + self._first_action)
        is_over = terminated | truncated
        following = self.moment(observations, info)
        is_reset = self.is_waiting
        last, is_fresh = following, is_reset
        if self._mode is AutoresetMode.SAME_STEP:
            last, is_fresh = self._last(following, is_over, info), is_over
        else:
            self.is_waiting = is_over
        news = News(
            actions,
            last.memory,
            last.label,
            terminated,
            is_over,
            ~is_reset,
            following.memory,
            following.label,
            is_fresh,
        )
        return news, np.where(is_reset, 0, rewards)

    def _last(self, following: Moment, is_over: Memory, info: dict[str, Any]) -> Moment:
        """The last moments of episodes that ended, which have been followed by the first of others already."""
        last = Moment(following.memory.copy(), following.label.copy())
        for i in np.flatnonzero(is_over):
            last.memory[i] = self.reading.one(info["final_obs"][i])
            last.label[i] = self.codes.one(labels_in(info["final_info"])[i])
        return last


def labels_in(info: dict[str, Any]) -> Any:
    """The label of an environment, or those of several."""
    if "label" not in info:
        raise RewardMachineError(f"the environment says nothing of labels: {WRAP_IT}")
    return info["label"]


def autoreset_mode(envs: AnyVectorEnv) -> AutoresetMode:
    mode = envs.metadata.get("autoreset_mode")
    if mode not in (AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP):
        raise RewardMachineError(
            "environments that end must be reset by themselves: "
            "give the vector environment autoreset_mode=AutoresetMode.SAME_STEP or NEXT_STEP"
        )
    return AutoresetMode(mode)


def action_space(envs: AnyVectorEnv) -> spaces.Discrete:
    space = envs.single_action_space
    if not isinstance(space, spaces.Discrete):
        raise RewardMachineError(f"actions must be discrete, not {space}")
    if space.n > MOST_ACTIONS:
        raise RewardMachineError(f"{space.n} actions are too many: at most {MOST_ACTIONS}")
    return space


def propositions_of(envs: AnyVectorEnv) -> tuple[str, ...]:
    """What the environments can observe, going by the first of them."""
    try:
        found = getattr(envs, "propositions", None) or envs.get_attr("propositions")[0]  # type: ignore[attr-defined]
    except AttributeError:
        raise RewardMachineError(f"the environment is not labelled; {WRAP_IT}") from None
    return tuple(found)


def first_observation(envs: AnyVectorEnv, observations: Any) -> Any:
    return next(iter(iterate(envs.observation_space, observations)))
