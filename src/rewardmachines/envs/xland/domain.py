"""Worlds of XLand-MiniGrid as domains: one that comes with the package, and those of your own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import Any, Final

import numpy as np

from rewardmachines.envs.domain import Domain, DomainSetting, Keys, Pixels
from rewardmachines.envs.grid_words import Fact
from rewardmachines.envs.xland.environment import XLandArrays, XLandEnvironment, XLandInstance, build_world
from rewardmachines.envs.xland.suite import VOCABULARY, part
from rewardmachines.library import TaskSet

_TILE: Final = 32
"""Pixels of a cell, unless a size is asked for."""
_KEYS: Final = Keys(
    {"w": 0, "d": 1, "a": 2, "e": 3, "q": 4, " ": 5, "up": 0, "right": 1, "left": 2},
    "w/↑ forward, a/← turn left, d/→ turn right, e pick up, q put down, space: open or close a door",
)


def xland_domain(
    name: str,
    title: str,
    *,
    settings: Mapping[str, str],
    propositions: Mapping[str, str] | Sequence[str],
    tasks: Mapping[str, str],
    things: Sequence[str] = (),
    agents: Mapping[str, Any] | None = None,
    quick_tasks: Sequence[str] = (),
) -> Domain:
    """A domain whose settings are worlds of XLand-MiniGrid.

    Args:
        name: The name of the domain in commands, in lower case.
        title: The title of the domain in texts.
        settings: Ids of the suite's environments by names of settings, such as `{"r4": "XLand-MiniGrid-R4-9x9"}`.
        propositions: The propositions, such as `["red-ball-ahead", "door-open"]`, or a dict of names of your own
            to such propositions.
        tasks: Task expressions by the names of tasks, easy ones first.
        things: The objects of environments of XLand, such as `["red-ball", "blue-square"]`.
        agents: The settings that a file for `fast` and `table` would hold (`rewardmachines.envs.domain.Presets`).
        quick_tasks: The tasks of `hrm learn --quick`; all tasks, if not given.

    Returns:
        The domain, to be registered with `rm.register_domain`.

    Raises:
        RewardMachineError: A proposition does not exist, or a task cannot be read.
    """
    own = propositions if isinstance(propositions, Mapping) else {name: name for name in propositions}
    facts = [VOCABULARY.read(meaning) for meaning in own.values()]
    environments = {
        setting: XLandEnvironment(identifier, tuple(own.items()), tuple(things))
        for setting, identifier in settings.items()
    }
    return Domain(
        task_set=TaskSet(
            name=name,
            title=title,
            propositions=tuple(own),
            tasks=dict(tasks),
            shows_one_at_a_time=_exclude_each_other(facts),
        ),
        settings={setting: DomainSetting(identifier) for setting, identifier in settings.items()},
        presets={f"{setting}-{preset}": agents or {} for setting in settings for preset in ("fast", "table")},
        environment=partial(_environment, environments),
        instances=partial(_instances, environments),
        world=_world,
        quick_tasks=tuple(quick_tasks),
        picture=_picture,
        text=_text,
        keys=_KEYS,
    )


def _exclude_each_other(facts: Sequence[Fact]) -> bool:
    """Whether no two of these facts can be true at once: one thing lies ahead, and one is carried."""
    if {fact.relation for fact in facts} not in ({"carried"}, {"ahead"}):
        return False
    return not any(
        one.kind == other.kind and (one.colour == other.colour or None in (one.colour, other.colour))
        for one, other in combinations(facts, 2)
    )


def _environment(environments: Mapping[str, XLandEnvironment], setting: str, _observation: str) -> XLandEnvironment:
    """There is one observation only, whatever it is called."""
    return environments[setting]


def _instances(
    environments: Mapping[str, XLandEnvironment], setting: str, seed: int, count: int
) -> tuple[XLandInstance, ...]:
    return tuple(environments[setting].instance(seed + number) for number in range(count))


def _world(instances: Sequence[XLandInstance], _max_steps: int) -> XLandArrays:
    return build_world(instances)


def _picture(_instance: XLandInstance, _world: XLandArrays, state: Any, size: int | None) -> Pixels:
    """The picture of the suite itself."""
    grid = np.asarray(state.grid)
    agent = part("types").AgentState(
        position=np.asarray(state.position), direction=np.asarray(state.direction), pocket=np.asarray(state.pocket)
    )
    tile = _TILE if size is None else max(8, size // max(grid.shape[:2]))
    pixels: Pixels = np.asarray(part("rendering.rgb_render").render(grid, agent, 1, tile), np.uint8)
    return pixels


_ARROWS: Final = "▲▶▼◀"
_ANSI: Final = {"red": 31, "green": 32, "yellow": 33, "orange": 33, "blue": 34, "purple": 35, "pink": 35, "grey": 90}


def _text(_instance: XLandInstance, _world: XLandArrays, state: Any, colour: bool) -> str:
    """The suite's own letters for things, an arrow for the agent, and below them what it carries."""
    constants, signs = part("core.constants"), part("rendering.text_render")
    names = {number: signs.COLOR_NAMES.get(number, "white") for number in range(constants.NUM_COLORS)}

    def sign(tile: Any) -> str:
        letter, name = signs.TILE_STR[int(tile[0])], names[int(tile[1])]
        return f"\x1b[{_ANSI[name]}m{letter}\x1b[0m" if colour and name in _ANSI else letter

    cells = [[sign(tile) for tile in row] for row in np.asarray(state.grid)]
    row, column = (int(number) for number in state.position)
    cells[row][column] = _ARROWS[int(state.direction)]
    return "\n".join([*(" ".join(row) for row in cells), f"carried: {sign(state.pocket)}"])


XLAND: Final = xland_domain(
    "xland",
    "XLand-MiniGrid",
    settings={f"r{rooms}": f"XLand-MiniGrid-R{rooms}-9x9" for rooms in (1, 2, 4)},
    things=("red-ball", "blue-square", "green-pyramid", "yellow-star", "purple-hex"),
    propositions={
        "ball": "red-ball-ahead",
        "square": "blue-square-ahead",
        "pyramid": "green-pyramid-ahead",
        "star": "yellow-star-ahead",
        "hex": "purple-hex-ahead",
    },
    tasks={
        "ball-square": "ball ; square",
        "star-hex": "star ; hex",
        "pyramid-ball": "pyramid ; ball",
        "tidy": "ball-square & star-hex",
        "round": "pyramid-ball ; star-hex",
    },
    agents={"agent": {"target": 200}, "learn": {"agent": {"environments": 32, "evaluate_steps": 200}}},
    quick_tasks=("ball-square", "star-hex", "tidy"),
)
"""Five things lie in one, two or four rooms, and the agent visits them in the order that a task asks for."""
