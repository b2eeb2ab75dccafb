"""Films of episodes: the actions of a policy, its hierarchy drawn beside them, and its options below."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
from PIL import Image

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.traversal import HierarchyState, Verdict, initial_state, move_on_event, verdict_of
from rewardmachines.envs.domain import Pixels
from rewardmachines.envs.filming import Caption, Film, Shot
from rewardmachines.envs.gymnasium.checked_envs import CheckedEnv, make_checked
from rewardmachines.envs.gymnasium.single import ScenarioEnv
from rewardmachines.envs.hierarchy_text import ENDS, what_moves_on
from rewardmachines.envs.pictures import PICTURE_SIZE, picture
from rewardmachines.rollout.policy import Moment, Policy, moments
from rewardmachines.traces import Outcome

STEPS: Final = 300
"""The largest number of steps of a film."""
RENDER_MODE: Final = "rgb_array"
"""The render mode of environments that are filmed."""
GOAL: Final = ENDS[Verdict.ACCEPT]
"""The caption of an episode that reached its goal."""
OUT_OF_STEPS: Final = "out of steps"
"""The caption of one that was truncated."""
CUT: Final = "and so on"
"""The caption of one that goes on after the film."""
MISTAKEN: Final = "its machine takes the task for over"
"""The caption of one in which a learned machine has decided, and the environment has not."""
_OUTCOMES: Final = {Outcome.GOAL.value: Verdict.ACCEPT, Outcome.DEAD_END.value: Verdict.REJECT}
_NOT: Final = re.compile(r"(?<= )!(?=\S)")


@dataclass(frozen=True, eq=False)
class FilmedEpisode:
    """An episode that was recorded and can be drawn, frame by frame."""

    film: Film
    steps: int
    """The number of steps that were recorded."""
    end: str
    """The end of the episode, in words."""

    @property
    def succeeds(self) -> bool:
        """Whether the episode reached its goal."""
        return self.end == GOAL

    def save(self, *paths: Path) -> tuple[int, int]:
        """Draws the episode and writes it: GIFs, pages with a player, or videos, as the suffixes say.

        Returns:
            The width and the height of its frames in pixels.
        """
        return self.film.save(*paths)

    def beginning(self, steps: int) -> FilmedEpisode:
        """The episode up to a number of steps; all of it, if it has no more."""
        if self.steps <= steps:
            return self
        *shots, last = self.film.shots[: steps + 1]
        last = replace(last, caption=replace(last.caption, end=CUT))
        return FilmedEpisode(replace(self.film, shots=(*shots, last)), steps, CUT)


@dataclass(frozen=True)
class _Stage:
    """An environment that is filmed."""

    env: ScenarioEnv | CheckedEnv
    picture: Callable[[], Callable[[], Pixels]]
    """Takes the present moment, to be drawn later."""
    verdict: Callable[[dict[str, Any], Verdict, bool], Verdict]
    """The verdict on the task, given `info`, the verdict of the policy's hierarchy, and whether it is terminated."""
    max_steps: int | None = None
    """Steps after which an episode is truncated, if the environment does not do so itself."""


def film_domain(env: ScenarioEnv, policy: Policy, task: str, *, steps: int | None = None) -> FilmedEpisode:
    """Records an episode in a domain. Nothing is drawn yet.

    Args:
        env: The environment, which need not have been reset.
        policy: The policy that acts in it.
        task: The name of the task, which is written below every frame.
        steps: The largest number of steps of the film; 300, if not given.
    """
    stage = _Stage(
        env,
        lambda: partial(picture, env.scenario, env.episode.state, size=PICTURE_SIZE),
        lambda info, *_: Verdict(info["verdict"]),
    )
    return _filmed(stage, policy, task, None, steps)


def film_gymnasium(
    make_env: Callable[..., Any],
    policy: Policy,
    task: str,
    *,
    is_task: bool,
    propositions: Iterable[str],
    seed: int = 0,
    steps: int | None = None,
    max_steps: int | None = None,
) -> FilmedEpisode:
    """Records an episode in a Gymnasium environment, rendered as it takes place. The rest is drawn when it is saved.

    Args:
        make_env: Makes the environment, with labels. If it takes `render_mode`, it is called with `"rgb_array"`.
        policy: The policy that acts in it.
        task: The name of the task, which is written below every frame.
        is_task: Whether the policy's hierarchy is the task itself, and not a learned hierarchy.
        propositions: The propositions that labels are made of.
        seed: The seed of its reset.
        steps: The largest number of steps of the film; 300, if not given.
        max_steps: Steps after which an episode is truncated.

    Raises:
        RewardMachineError: The environment renders no pictures.
    """

    def render() -> Callable[[], Pixels]:
        pixels = _rendered(env, task)
        return lambda: pixels

    def verdict(info: dict[str, Any], followed: Verdict, is_terminated: bool) -> Verdict:
        if not is_task:
            return _OUTCOMES.get(str(info.get("outcome")), Verdict.NEITHER)
        return Verdict.REJECT if is_terminated and followed is Verdict.NEITHER else followed

    env = _rendering(make_env, task, propositions)
    try:
        return _filmed(_Stage(env, render, verdict, max_steps), policy, task, seed, steps)
    finally:
        env.close()


def _filmed(stage: _Stage, policy: Policy, task: str, seed: int | None, steps: int | None) -> FilmedEpisode:
    """Records an episode, until it ends or the policy's hierarchy has decided.

    Args:
        stage: The environment.
        policy: The policy.
        task: The name of the task.
        seed: The seed of the reset.
        steps: The largest number of steps.
    """
    shots, tree = list[Shot](), policy.hierarchy.rooted(policy.hierarchy.root)
    state, before, end = initial_state(tree), None, ""

    def is_last(moment: Moment) -> bool:
        nonlocal state, before, end
        label = moment.info["label"]
        state, before = move_on_event(tree, state, before, label), label
        followed, is_cut = verdict_of(tree, state), moment.number == stage.max_steps
        verdict = stage.verdict(moment.info, followed, moment.is_terminated)
        end = _end(verdict, followed, is_over=moment.is_over or is_cut)
        if not end and moment.number == (steps or STEPS):
            end = CUT
        return bool(end)

    for moment in moments(stage.env, policy, seed, is_last):
        verb, pursued = ("", ()) if end else _pursued(policy, tree, state)
        caption = Caption(task, moment.number, moment.info["label"], moment.reward, pursued, verb, end)
        shots.append(Shot(stage.picture(), state, caption))
    return FilmedEpisode(Film(tree, tuple(shots)), len(shots) - 1, end)


def _end(verdict: Verdict, followed: Verdict, *, is_over: bool) -> str:
    """The end of an episode, in words; empty while it goes on.

    Args:
        verdict: The verdict on the task.
        followed: The verdict of the hierarchy that the policy follows, which may be wrong.
        is_over: Whether the episode is terminated or truncated.
    """
    if verdict is not Verdict.NEITHER:
        return ENDS[verdict]
    if is_over:
        return OUT_OF_STEPS
    return "" if followed is Verdict.NEITHER else MISTAKEN


def _pursued(policy: Policy, tree: Hierarchy, state: HierarchyState) -> tuple[str, tuple[str, ...]]:
    """A verb and its objects: the options that are followed or, of a policy without options, what moves it on."""
    if options := policy.options:
        return "pursues", pursued_by(options)
    return "moves on:", (what_moves_on(tree, state),)


def pursued_by(options: Sequence[str]) -> tuple[str, ...]:
    """The options that are followed, with the symbols of drawings.

    >>> pursued_by(("cake: call batter", "batter: wheat & !chicken"))
    ('cake: call batter', 'batter: wheat ∧ ¬chicken')
    """
    return tuple(_NOT.sub("¬", option.replace(" & ", " ∧ ")) for option in options)


def _rendering(make_env: Callable[..., Any], task: str, propositions: Iterable[str]) -> CheckedEnv:
    """An environment that renders pictures."""
    try:
        takes_mode = "render_mode" in inspect.signature(make_env).parameters
    except (TypeError, ValueError):  # of some functions that are not written in Python
        takes_mode = False
    env = make_checked(
        (lambda: make_env(render_mode=RENDER_MODE)) if takes_mode else make_env,
        task=task,
        propositions=propositions,
    )
    if (mode := env.env.render_mode) != RENDER_MODE:
        env.close()
        raise RewardMachineError(
            f"the environment of '{task}' cannot be filmed: its render_mode is {mode}, not '{RENDER_MODE}'; let the "
            "function that makes it take render_mode, and hand it to the environment"
        )
    return env


def _rendered(env: CheckedEnv, task: str) -> Pixels:
    """The environment's rendered picture, scaled to about the size of pictures of domains."""
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
