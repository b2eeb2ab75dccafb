"""Films of episodes in Gymnasium environments: what they render, with the state of the hierarchy written beside it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from PIL import Image

from rewardmachines.agents.gymnasium.policy import GymnasiumPolicy
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.events import move_on_event
from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.traversal import Verdict, initial_state, show_label, verdict_of
from rewardmachines.envs.animation import Pixels, beside, save_gif
from rewardmachines.envs.gymnasium.checks.making import make_checked
from rewardmachines.envs.gymnasium.checks.single import CheckedEnv
from rewardmachines.envs.hierarchy_text import stack_lines
from rewardmachines.envs.pictures import PICTURE_SIZE
from rewardmachines.reports.film import DEAD_END, GOAL, LAST, MISTAKEN, OUT_OF_STEPS, STEPS
from rewardmachines.traces import Outcome

RENDER_MODE: Final = "rgb_array"
"""The render mode of environments that are filmed."""
_TEXT_WIDTH: Final = 330
_ENDS: Final = {Outcome.GOAL.value: GOAL, Outcome.DEAD_END.value: DEAD_END}
_OTHERS: Final = {True: OUT_OF_STEPS, False: MISTAKEN}
"""How other episodes end, by whether the environment has ended them."""


@dataclass(frozen=True, eq=False)
class RenderedEpisode:
    """An episode that was rendered, frame by frame."""

    frames: tuple[Pixels, ...]
    steps: int
    """The number of steps that were recorded."""
    end: str
    """How the episode ended, in words."""

    def save(self, path: Path) -> None:
        """Writes the episode as a GIF that is repeated endlessly."""
        save_gif([*self.frames, *self.frames[-1:] * LAST], path)


def film_gymnasium(
    make_env: Callable[..., Any],
    policy: GymnasiumPolicy,
    hierarchy: Hierarchy,
    task: str,
    *,
    is_task: bool,
    seed: int = 0,
    steps: int = STEPS,
) -> RenderedEpisode:
    """Renders an episode.

    Args:
        make_env: Makes the environment, with labels. If it takes `render_mode`, it is called with `"rgb_array"`.
        policy: The policy that acts in it.
        hierarchy: The hierarchy that the policy follows.
        task: The name of the task, which is written beside every frame.
        is_task: Whether the hierarchy is the task itself, and not what was learned of it.
        seed: With which the episode begins.
        steps: The largest number of steps; longer episodes are cut off.

    Raises:
        RewardMachineError: The environment renders no pictures.
    """
    env = _rendering(make_env, task, policy)
    try:
        return _filmed(env, policy, hierarchy, task, seed, steps, is_task=is_task)
    finally:
        env.close()


def _filmed(
    env: CheckedEnv,
    policy: GymnasiumPolicy,
    hierarchy: Hierarchy,
    task: str,
    seed: int,
    steps: int,
    *,
    is_task: bool,
) -> RenderedEpisode:  # fmt: skip
    observation, info = env.reset(seed=seed)
    label: Label = info["label"]
    policy.reset(label)
    state = move_on_event(hierarchy, initial_state(hierarchy), None, label)
    frames, done, number, end = list[Pixels](), False, 0, "and so on"
    while not done and number < steps:
        shown = (f"task: {task}", f"label: {show_label(label)}", f"step: {number}", "", "hierarchy")
        frames.append(_frame(env, task, (*shown, *(f"  {line}" for line in stack_lines(state)))))
        observation, _, terminated, truncated, info = env.step(policy.act(observation, label))
        number, done = number + 1, terminated or truncated
        state = move_on_event(hierarchy, state, label, info["label"])
        label = info["label"]
        verdict = verdict_of(hierarchy, state)
        if done or verdict is not Verdict.NEITHER:
            outcome = str(info.get("outcome")) if done else ""
            end = _end_of_task(verdict, terminated=terminated) if is_task else _ENDS.get(outcome, _OTHERS[done])
            done = True
    frames.append(_frame(env, task, (f"task: {task}", f"label: {show_label(label)}", f"step: {number}", "", end)))
    return RenderedEpisode(tuple(frames), number, end)


def _end_of_task(verdict: Verdict, *, terminated: bool) -> str:
    """How an episode ended whose hierarchy is the task itself."""
    if verdict is Verdict.ACCEPT:
        return GOAL
    return DEAD_END if terminated or verdict is Verdict.REJECT else OUT_OF_STEPS


def _rendering(make_env: Callable[..., Any], task: str, policy: GymnasiumPolicy) -> CheckedEnv:
    """An environment that renders pictures."""
    try:
        takes_mode = "render_mode" in inspect.signature(make_env).parameters
    except (TypeError, ValueError):  # of some functions that are not written in Python
        takes_mode = False
    env = make_checked(
        (lambda: make_env(render_mode=RENDER_MODE)) if takes_mode else make_env,
        task=task,
        propositions=policy.codes.propositions,
    )
    if (mode := env.env.render_mode) != RENDER_MODE:
        env.close()
        raise RewardMachineError(
            f"the environment of '{task}' cannot be filmed: its render_mode is {mode}, not '{RENDER_MODE}'; let the "
            "function that makes it take render_mode, and hand it to the environment"
        )
    return env


def _frame(env: CheckedEnv, task: str, lines: tuple[str, ...]) -> Pixels:
    """What the environment renders now, with text beside it."""
    rendered: Any = env.env.render()
    picture = np.asarray(rendered)
    if picture.ndim != 3 or picture.shape[2] != 3 or picture.dtype != np.uint8:
        raise RewardMachineError(
            f"the environment of '{task}' cannot be filmed: it renders {picture.dtype}{list(picture.shape)}, "
            "not pixels with red, green and blue"
        )
    height = picture.shape[0]
    scale = PICTURE_SIZE / height
    if scale >= 2 or scale < 1:  # small pictures grow by whole numbers, so that pixels stay squares
        factor = int(scale) if scale >= 2 else scale
        size = round(picture.shape[1] * factor), round(height * factor)
        filter_ = Image.Resampling.NEAREST if scale >= 2 else Image.Resampling.BOX
        picture = np.asarray(Image.fromarray(picture).resize(size, filter_))
    return beside(picture, lines, width=_TEXT_WIDTH)
