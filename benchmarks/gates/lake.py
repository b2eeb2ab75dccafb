"""A frozen lake whose places are propositions: the environment of the tiny runs in `gates.py`."""

from __future__ import annotations

from typing import Any

import gymnasium

from rewardmachines.envs import LabelingWrapper

LAKE = ["SFFFF", "FFFFF", "FFHFF", "FFFFF", "FFFFF"]
PLACES = {0: "home", 4: "hut", 20: "buoy", 12: "hole"}


class Visit(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Ends with reward 1 when places have been visited in their order."""

    def __init__(self, env: gymnasium.Env[Any, Any], *places: str) -> None:
        super().__init__(env)
        self.places = places

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        self.left = list(self.places)
        return self.env.reset(**options)

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        cell, _, is_over, is_cut, info = self.env.step(action)
        if self.left[0] == PLACES.get(int(cell)):
            self.left.pop(0)
        return cell, float(not self.left), is_over or not self.left, is_cut, info


def labels(cell: int) -> set[str]:
    return {PLACES[cell]} if cell in PLACES else set()


def labelled(*places: str) -> LabelingWrapper:
    """The lake, whose episodes end when these places have been visited; with none, only in the hole."""
    lake = gymnasium.make("FrozenLake-v1", desc=LAKE, is_slippery=False, max_episode_steps=100)
    visit = Visit(lake, *places) if places else lake
    return LabelingWrapper(visit, labels=labels, propositions=PLACES.values())


def make() -> LabelingWrapper:
    """The lake without a goal of its own: a hierarchy says what to do."""
    return labelled()


def make_hut() -> LabelingWrapper:
    return labelled("hut")


def make_buoy() -> LabelingWrapper:
    return labelled("hut", "buoy")
