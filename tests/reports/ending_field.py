"""A field that ends at either side, and pays at the right one."""

from __future__ import annotations

from typing import Any

import gymnasium

from envs import painted
from rewardmachines.envs import LabelingWrapper

PROPOSITIONS = ("left", "right")


class Ending(gymnasium.Wrapper[Any, Any, Any, Any]):
    """The field of `painted`, whose sides end an episode."""

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        planes, _, _, truncated, info = self.env.step(action)
        return planes, float(planes[0, 0, -1]), bool(planes[0, 0, [0, -1]].any()), truncated, info


def make(render_mode: str | None = None) -> Any:
    field = gymnasium.wrappers.TimeLimit(Ending(painted.Field(render_mode)), 20)
    return LabelingWrapper(field, labels=painted._labels, propositions=PROPOSITIONS)
