"""Films of episodes in Gymnasium environments: what they render, with the hierarchy drawn beside it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from PIL import Image

from rewardmachines.agents.gymnasium.policy import GymnasiumPolicy
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.traversal import Verdict, initial_state, move_on_event, verdict_of
from rewardmachines.envs.domain import Pixels
from rewardmachines.envs.filming import Caption, Film, Shot
from rewardmachines.envs.gymnasium.checks.making import make_checked
from rewardmachines.envs.gymnasium.checks.single import CheckedEnv
from rewardmachines.envs.hierarchy_text import what_moves_on
from rewardmachines.envs.pictures import PICTURE_SIZE
from rewardmachines.reports.film import CUT, DEAD_END, GOAL, MISTAKEN, OUT_OF_STEPS, STEPS, FilmedEpisode
from rewardmachines.traces import Outcome

RENDER_MODE: Final = "rgb_array"
"""The render mode of environments that are filmed."""
_ENDS: Final = {Outcome.GOAL.value: GOAL, Outcome.DEAD_END.value: DEAD_END}
_OTHERS: Final = {True: OUT_OF_STEPS, False: MISTAKEN}
"""How other episodes end, by whether the environment has ended them."""


def film_gymnasium(
    make_env: Callable[..., Any],
    policy: GymnasiumPolicy,
    hierarchy: Hierarchy,
    task: str,
    *,
    is_task: bool,
    seed: int = 0,
    steps: int = STEPS,
) -> FilmedEpisode:
    """Records an episode, rendered as it takes place. The rest is drawn when it is saved.

    Args:
        make_env: Makes the environment, with labels. If it takes `render_mode`, it is called with `"rgb_array"`.
        policy: The policy that acts in it.
        hierarchy: The hierarchy that the policy follows.
        task: The name of the task, which is written below every frame.
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
) -> FilmedEpisode:  # fmt: skip
    observation, info = env.reset(seed=seed)
    label: Label = info["label"]
    policy.reset(label)
    state = move_on_event(hierarchy, initial_state(hierarchy), None, label)
    shots, done, number, end, reward = list[Shot](), False, 0, CUT, 0.0

    def shoot(condition: str = "", end: str = "") -> None:
        world, pursued = _rendered(env, task), (condition,) if condition else ()
        told = Caption(task, number, label, reward, pursued, verb="moves on:", end=end)
        shots.append(Shot(lambda: world, state, told))

    while not done and number < steps:
        shoot(what_moves_on(hierarchy, state))
        observation, given, terminated, truncated, info = env.step(policy.act(observation, label))
        number, reward, done = number + 1, float(given), terminated or truncated
        state = move_on_event(hierarchy, state, label, info["label"])
        label = info["label"]
        verdict = verdict_of(hierarchy, state)
        if done or verdict is not Verdict.NEITHER:
            outcome = str(info.get("outcome")) if done else ""
            end = _end_of_task(verdict, terminated=terminated) if is_task else _ENDS.get(outcome, _OTHERS[done])
            done = True
    shoot(end=end)
    return FilmedEpisode(Film(hierarchy, tuple(shots)), number, end)


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


def _rendered(env: CheckedEnv, task: str) -> Pixels:
    """What the environment renders now, about as large as pictures of domains."""
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
    return picture
