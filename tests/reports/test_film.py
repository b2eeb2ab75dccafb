"""Films show what happened, and say how it ended, whoever decides that: the hierarchy, the environment, or a limit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import cycle, pairwise
from typing import Any

import numpy as np
import pytest

from envs import painted
from reports import ending_field
from reports.ending_field import PROPOSITIONS
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import Hierarchy, hierarchy
from rewardmachines.core.machine import machine
from rewardmachines.core.traversal import initial_state, move_on_event
from rewardmachines.envs import LabelingWrapper
from rewardmachines.envs.filming.caption import HEIGHT
from rewardmachines.envs.gymnasium.single import ScenarioEnv
from rewardmachines.runs.config import DomainPlace
from rewardmachines.runs.film import FilmedEpisode, film_domain, film_gymnasium

LEFT, RIGHT = 0, 1
THERE_AND_BACK = [RIGHT, LEFT]
"""Between cells 1 and 2, where nothing is."""


def tree(*edges: tuple[str, str, str], rejecting: Iterable[str] = (), over: Iterable[str] = PROPOSITIONS) -> Hierarchy:
    return hierarchy(machine("m", edges, rejecting=tuple(rejecting)), propositions=tuple(over))


BOTH = tree(("u0", "u1", "left"), ("u1", "uA", "right"))
NOT_LEFT = tree(("u0", "uA", "right & !left"), ("u0", "uR", "left"), rejecting=["uR"])
AT_ONCE = tree(("u0", "uA", "!left"))


class Scripted:
    """A policy that takes given actions, again and again."""

    def __init__(self, followed: Hierarchy, actions: Iterable[int], options: tuple[str, ...] = ()) -> None:
        self.hierarchy, self.options = followed, options
        self._actions = cycle(actions)

    def reset(self, label: frozenset[str]) -> None:
        self.state = move_on_event(self.hierarchy, initial_state(self.hierarchy), None, label)

    def act(self, observation: Any, label: Any) -> int:
        return next(self._actions)


class Grey(painted.Field):
    """Renders one number for each pixel."""

    def render(self) -> Any:
        return np.zeros((5, 5), np.uint8)


def make_grey() -> Any:
    return LabelingWrapper(Grey("rgb_array"), labels=painted._labels, propositions=PROPOSITIONS)


def filmed(make: Callable[..., Any], policy: Any, *, is_task: bool, **limits: int) -> FilmedEpisode:
    return film_gymnasium(make, policy, "walk", is_task=is_task, propositions=PROPOSITIONS, **limits)


@pytest.mark.parametrize(
    ("make", "followed", "actions", "limits", "end", "steps"),
    [
        (painted.make, BOTH, [LEFT, RIGHT, RIGHT, RIGHT, RIGHT], {}, "GOAL", 5),
        (painted.make, NOT_LEFT, [LEFT], {}, "DEAD END", 1),
        (painted.make, AT_ONCE, [LEFT], {}, "GOAL", 0),
        (painted.make, BOTH, THERE_AND_BACK, {}, "out of steps", 20),
        (painted.make, BOTH, THERE_AND_BACK, {"max_steps": 6}, "out of steps", 6),
        (painted.make, BOTH, THERE_AND_BACK, {"steps": 4}, "and so on", 4),
        (painted.make, BOTH, [LEFT, RIGHT, RIGHT, RIGHT, RIGHT], {"steps": 5, "max_steps": 5}, "GOAL", 5),
        (ending_field.make, BOTH, [LEFT], {}, "DEAD END", 1),
        (ending_field.make, NOT_LEFT, [RIGHT], {}, "GOAL", 3),
    ],
)
def test_the_hierarchy_of_a_given_task_decides(
    make: Any, followed: Hierarchy, actions: Sequence[int], limits: dict[str, int], end: str, steps: int
) -> None:
    film = filmed(make, Scripted(followed, actions), is_task=True, **limits)
    assert (film.end, film.steps, film.succeeds) == (end, steps, end == "GOAL")


@pytest.mark.parametrize(
    ("followed", "actions", "limits", "end", "steps"),
    [
        (BOTH, [RIGHT], {}, "GOAL", 3),
        (NOT_LEFT, [LEFT], {}, "DEAD END", 1),
        (BOTH, [LEFT], {}, "DEAD END", 1),
        (BOTH, THERE_AND_BACK, {}, "out of steps", 20),
        (BOTH, THERE_AND_BACK, {"max_steps": 3}, "out of steps", 3),
        (BOTH, THERE_AND_BACK, {"steps": 3}, "and so on", 3),
        (AT_ONCE, [RIGHT], {}, "its machine takes the task for over", 0),
    ],
)
def test_the_environment_decides_where_a_hierarchy_was_learned(
    followed: Hierarchy, actions: Sequence[int], limits: dict[str, int], end: str, steps: int
) -> None:
    film = filmed(ending_field.make, Scripted(followed, actions), is_task=False, **limits)
    assert (film.end, film.steps, film.succeeds) == (end, steps, end == "GOAL")


ANY = ("iron", "table", "cow", "sugarcane", "wheat", "chicken", "redstone", "rabbit", "squid", "workbench")
ANYTHING = tree(("u0", "uA", " | ".join(ANY)), over=ANY)
NEVER = tree(("u0", "uA", "iron & table"), over=ANY)


@pytest.mark.parametrize(
    ("task", "followed", "steps", "end"),
    [
        (ANYTHING, ANYTHING, None, "GOAL"),
        (ANYTHING, NEVER, None, "GOAL"),
        (NEVER, ANYTHING, None, "its machine takes the task for over"),
        (NEVER, NEVER, None, "out of steps"),
        (NEVER, NEVER, 2, "and so on"),
    ],
)
def test_the_true_hierarchy_decides_in_a_domain(
    task: Hierarchy, followed: Hierarchy, steps: int | None, end: str
) -> None:
    place = DomainPlace("craftworld", "op", instances=2, max_steps=40)
    env = ScenarioEnv.of_spec(place, task, observation="one-hot", instance=0)
    actions: Any = np.random.default_rng(0).integers(env.scenario.environment.actions, size=40).tolist()
    policy: Any = Scripted(followed, actions)
    film = film_domain(env, policy, "walk", steps=steps)
    assert film.end == end
    assert film.steps == {"out of steps": 40, "and so on": 2}.get(end, film.steps)
    worlds = [shot.picture() for shot in film.film.shots]
    assert any((one != other).any() for one, other in pairwise(worlds)), "moments, not one moment"


def test_every_frame_shows_its_moment() -> None:
    film = filmed(painted.make, Scripted(BOTH, [LEFT, RIGHT, RIGHT, RIGHT, RIGHT], ("m: left & !right",)), is_task=True)
    shots = film.film.shots
    captions = [shot.caption for shot in shots]
    assert [(one.step, sorted(one.label)) for one in captions] == [
        (0, []), (1, ["left"]), (2, []), (3, []), (4, []), (5, ["right"]),
    ]  # fmt: skip
    assert [shot.state.state for shot in shots] == ["u0", "u1", "u1", "u1", "u1", "uA"]
    assert [one.pursued for one in captions] == [("m: left ∧ ¬right",)] * 5 + [()]
    assert [one.end for one in captions] == [""] * 5 + ["GOAL"]
    red = [np.flatnonzero((shot.picture() == (200, 0, 0)).all(axis=2)[0])[0] // 89 for shot in shots]
    assert red == [1, 0, 1, 2, 3, 4], "pixels of small pictures stay squares, here of 89 pixels"
    frames = film.film.frames()
    assert {frame.shape for frame in frames} == {frames[0].shape}
    assert frames[0].shape[0] == 445 + HEIGHT


def test_without_options_it_is_said_what_moves_the_hierarchy_on() -> None:
    film = filmed(painted.make, Scripted(BOTH, [LEFT, RIGHT]), is_task=True, steps=2)
    told = [(shot.caption.verb, shot.caption.pursued) for shot in film.film.shots]
    assert told[:2] == [("moves on:", ("left",)), ("moves on:", ("right",))]


def test_the_seed_of_a_reset_is_the_beginning() -> None:
    film = filmed(painted.make, Scripted(BOTH, [RIGHT]), is_task=True, seed=2, steps=1)
    assert [sorted(shot.caption.label) for shot in film.film.shots] == [[], ["right"]]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (painted.make_unseen, "its render_mode is None"),
        (painted.make_spoken, "its render_mode is ansi"),
        (make_grey, r"it renders uint8\[5, 5\], not pixels"),
    ],
)
def test_what_renders_no_pictures_cannot_be_filmed(make: Callable[..., Any], words: str) -> None:
    with pytest.raises(RewardMachineError, match=f"the environment of 'walk' cannot be filmed: {words}"):
        filmed(make, Scripted(BOTH, [LEFT]), is_task=True)
