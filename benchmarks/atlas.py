"""Problems of the `atlas` collection, hierarchies over XLand-MiniGrid, with our options: a first try.

    git clone https://github.com/spike-imperial/atlas
    python benchmarks/atlas.py atlas --list
    python benchmarks/atlas.py atlas myopic --random
    python benchmarks/atlas.py atlas myopic --lookahead 1 --seconds 600
    python benchmarks/atlas.py atlas 1r-key_swap-front_red_green 2r-locked_choice-choose

A problem is a level and a hierarchy (needs `rewardmachines[xland]`). A policy is trained for this problem alone, in ten
initial states: that of the level, and nine with the agent on other cells. Then it acts greedily in the level, and in 20
further initial states that it has never seen. Docs: docs/atlas.md.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
import yaml
from jaxtyping import Array, Bool, UInt8, UInt32
from rich.console import Console
from rich.table import Table
from xminigrid.core.constants import DIRECTIONS, Colors, Tiles
from xminigrid.core.observation import transparent_field_of_view
from xminigrid.types import AgentState

import rewardmachines as rm
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs import advance_or_begin, begin, scenario
from rewardmachines.envs.domain import BASE_SEED, Domain, DomainSetting
from rewardmachines.envs.xland.environment import XLandArrays, XLandEnvironment, XLandInstance, XLandState, build_world
from rewardmachines.library import TaskSet
from rewardmachines.lowered.formula import WORD

SET: Final = Path("problems/03-hand-designed/eval.yaml")
"""The list of the problems that were written by hand."""
VIEW: Final = 5
"""The cells that their agent sees ahead and across, in which things can be next to each other."""
MAX_STEPS: Final = 512
KINDS: Final = {
    "#": Tiles.WALL, "o": Tiles.BALL, "k": Tiles.KEY, "s": Tiles.SQUARE, "h": Tiles.HEX, "p": Tiles.PYRAMID,
    "*": Tiles.STAR, "-": Tiles.DOOR_CLOSED, "+": Tiles.DOOR_OPEN, "x": Tiles.DOOR_LOCKED,
}  # fmt: skip
COLOURS: Final = {
    "#": Colors.GREY, "r": Colors.RED, "g": Colors.GREEN, "b": Colors.BLUE, "p": Colors.PURPLE, "y": Colors.YELLOW,
    "n": Colors.BROWN, "o": Colors.ORANGE, "k": Colors.PINK, "w": Colors.WHITE,
}  # fmt: skip
DOORS: Final = {"locked": Tiles.DOOR_LOCKED, "closed": Tiles.DOOR_CLOSED, "open": Tiles.DOOR_OPEN}
console = Console(width=120, highlight=False, emoji=False)


@dataclass(frozen=True)
class Thing:
    """The meaning of a word such as `door_red_open`: numbers of kinds and of colours in a grid."""

    kinds: tuple[int, ...]
    colours: tuple[int, ...]

    def is_at(self, tiles: UInt8[Array, "... 2"]) -> Bool[Array, " ..."]:
        """The cells of such a thing."""
        return jnp.isin(tiles[..., 0], jnp.asarray(self.kinds)) & jnp.isin(tiles[..., 1], jnp.asarray(self.colours))


def read_things(words: str) -> list[Thing]:
    """The things that a proposition speaks of, behind its first word: kind, colour if any, state if any."""
    things: list[list[str]] = []
    for word in words.split("_"):
        if word == "door" or hasattr(Tiles, word.upper()):
            things.append([])
        things[-1].append(word)
    return [_thing(*parts) for parts in things]


def _thing(kind: str, *others: str) -> Thing:
    doors = [DOORS[word] for word in others if word in DOORS] or list(DOORS.values())
    colours = [getattr(Colors, word.upper()) for word in others if word not in DOORS] or list(COLOURS.values())
    return Thing(tuple(doors) if kind == "door" else (getattr(Tiles, kind.upper()),), tuple(colours))


@dataclass(frozen=True)
class AtlasEnvironment(XLandEnvironment):
    """A level, with the propositions of the collection: `front_…`, `carrying_…` and `next_…`."""

    size: tuple[int, int] = (0, 0)
    shown_colours: tuple[int, ...] = ()

    @property
    def observation_shape(self) -> tuple[int, ...]:
        """Planes of the whole grid. Their agent sees five by five cells instead, and remembers."""
        return (len(self._shown_kinds) + len(self._shown_colours) + 4, *self.size)

    @property
    def _shown_colours(self) -> tuple[int, ...]:
        return self.shown_colours

    def label(self, world: XLandArrays, state: XLandState) -> UInt32[Array, " W"]:  # noqa: ARG002
        """The propositions that are true, as bits."""
        true = jnp.stack([self._holds(name, state) for name in self.propositions])
        true = jnp.pad(true, (0, self.bits.words * WORD - len(true)))
        bits = jnp.left_shift(jnp.uint32(1), jnp.arange(WORD, dtype=jnp.uint32))
        return jnp.where(true.reshape(-1, WORD), bits, 0).sum(axis=1, dtype=jnp.uint32)

    def _holds(self, proposition: str, state: XLandState) -> Bool[Array, ""]:
        relation, _, words = proposition.partition("_")
        first, *second = read_things(words)
        if relation == "carrying":
            return first.is_at(state.pocket)
        if relation == "front":
            row, column = state.position + DIRECTIONS[state.direction]
            return first.is_at(state.grid[row, column])
        agent = AgentState(position=state.position, direction=state.direction, pocket=state.pocket)
        view = transparent_field_of_view(state.grid, agent, VIEW, VIEW).at[VIEW - 1, VIEW // 2].set(0)
        one, other = first.is_at(view), second[0].is_at(view)
        beside = [one[1:] & other[:-1], one[:-1] & other[1:], one[:, 1:] & other[:, :-1], one[:, :-1] & other[:, 1:]]
        return jnp.stack([pair.any() for pair in beside]).any()


@dataclass(frozen=True)
class Problem:
    """A level and a task."""

    name: str
    level: Path
    task: Path

    @cached_property
    def instance(self) -> XLandInstance:
        """The level as it is written."""
        plain = yaml.safe_load(self.level.read_text())
        if plain.get("obj_pocket"):
            raise RewardMachineError(
                f"{self.name}: the agent carries something from the beginning, which we cannot yet"
            )
        kinds, colours = plain["obj_grid"].split(), plain["col_grid"].split()
        grid = np.full((len(kinds), len(kinds[0]), 2), (Tiles.FLOOR, Colors.BLACK), np.uint8)
        for (row, column), kind in np.ndenumerate([list(line) for line in kinds]):
            if kind in KINDS:
                grid[row, column] = KINDS[kind], COLOURS[colours[row][column]]
            elif kind in "^>v<":
                agent = np.array([row, column], np.int32), "^>v<".index(kind)
        return XLandInstance(grid, *agent)

    def with_moved_agent(self, seed: int) -> XLandInstance:
        """The level with the agent on another cell, to which it could walk without moving anything."""
        grid, position, _ = self.instance
        free, reached = grid[..., 0] == Tiles.FLOOR, np.zeros(grid.shape[:2], bool)
        reached[tuple(position)] = True
        for _ in range(reached.size):  # every cell that is reached reaches its neighbours
            wider = reached.copy()
            wider[1:] |= reached[:-1]
            wider[:-1] |= reached[1:]
            wider[:, 1:] |= reached[:, :-1]
            wider[:, :-1] |= reached[:, 1:]
            reached = wider & free
        chance = np.random.default_rng(seed)
        return XLandInstance(grid, chance.choice(np.argwhere(reached)).astype(np.int32), int(chance.integers(4)))

    @cached_property
    def hierarchy(self) -> rm.Hierarchy:
        """The task, with our formulas: `-p` is `!p`, and several edges between two states are disjuncts."""
        plain = yaml.safe_load(self.task.read_text())
        machines = {name: {"edges": list(_edges(states))} for name, states in plain["transitions"].items()}
        return rm.loads(json.dumps({"root": plain["root"], "machines": machines}), str(self.task))

    @cached_property
    def domain(self) -> Domain:
        """A domain with this level in many beginnings, and the propositions of the task."""
        names, (grid, _, _) = self.hierarchy.propositions, self.instance
        colours = tuple(int(number) for number in np.unique(grid[grid[..., 0] > Tiles.WALL][..., 1]))
        environment = AtlasEnvironment(
            self.name, tuple((name, name) for name in names), size=grid.shape[:2], shown_colours=colours
        )
        return Domain(
            # Tasks of a domain are expressions; the hierarchy is given beside it.
            TaskSet(self.name, self.name, propositions=names, tasks={"task": names[0]}),
            settings={"level": DomainSetting(str(self.level))},
            presets={"level": {"agent": {"target": 200, "environments": 32}}},
            environment=lambda _setting, _observation: environment,
            instances=lambda _setting, seed, count: tuple(
                self.instance if seed + k == BASE_SEED else self.with_moved_agent(seed + k) for k in range(count)
            ),
            world=lambda instances, _steps: build_world(instances),
        )


def _edges(states: Any) -> Any:
    for source, targets in states.items():
        for target, described in targets.items():
            for edge in described["edges"]:
                formula = " & ".join(literal.replace("-", "!") for literal in edge["formula"]) or "true"
                callee = {} if edge["call"] == "leaf" else {"call": edge["call"]}
                yield {"from": source, "to": target, "when": formula, **callee}


def read_problems(folder: Path) -> dict[str, Problem]:
    """The problems that were written by hand, by their names."""
    return {
        (name := row["name"].removeprefix("hc-")): Problem(
            name.casefold(), folder / row["level_path"], folder / row["hrm_path"]
        )
        for row in yaml.safe_load((folder / SET).read_text())
    }


def solve(problem: Problem, asked: argparse.Namespace) -> list[str]:
    """Trains options for a problem, and says what came of it."""
    rm.register_domain(problem.domain)
    began = time.monotonic()
    run = rm.train(
        problem.domain.name,
        problem.hierarchy,
        setting="level",
        settings=lambda usual: replace(usual, lookahead=asked.lookahead, discount=asked.discount),
        seed=asked.seed,
        max_steps=MAX_STEPS,
        seconds=asked.seconds,
        stop_at=0.95,
    )
    seconds, steps = time.monotonic() - began, run.rows[-1].steps
    known, unseen = run.evaluate()[0].returns, run.evaluate(20, 1_000)[0].returns
    means = [f"{known[0]:.2f}", f"{sum(known) / len(known):.2f}", f"{sum(unseen) / len(unseen):.2f}"]
    return [problem.name, f"{asked.lookahead:g}", f"{steps:,}", f"{seconds:.0f}", *means]


def random_counts(problem: Problem, batch: int = 64, length: int = 4_000) -> list[str]:
    """The rates at which random steps reach the goal, and make each proposition true, in 100,000 steps."""
    rm.register_domain(problem.domain)
    place = scenario(problem.domain.name, "level", max_steps=MAX_STEPS)
    environment, world, lowered = place.environment, place.world, place.lower(problem.hierarchy)
    tables, instances = lowered.tables, jnp.arange(batch) % len(place.instances)
    numbers = jnp.arange(len(environment.propositions), dtype=jnp.uint32)

    def first(instance: Any) -> Any:
        return begin(environment, world, tables, instance, lowered.root)

    def step(episode: Any, action: Any, instance: Any) -> Any:
        here = {"instance": instance, "root": lowered.root, "max_steps": MAX_STEPS}
        following, result, _ = advance_or_begin(environment, world, tables, episode, action, **here)
        fresh = result.label & ~episode.label  # what was not true before
        return following, (result.reward, fresh[numbers // WORD] >> (numbers % WORD) & 1)

    def body(episodes: Any, key: Any) -> Any:
        actions = jax.random.randint(key, (batch,), 0, environment.actions)
        following, (rewards, fresh) = jax.vmap(step)(episodes, actions, instances)
        return following, (rewards.sum(), fresh.sum(axis=0))

    keys = jax.random.split(jax.random.key(0), length)
    goals, fresh = jax.jit(lambda: jax.lax.scan(body, jax.vmap(first)(instances), keys)[1])()
    scale = 100_000 / (batch * length)
    each = zip(environment.propositions, fresh.sum(axis=0) * scale, strict=True)
    return [problem.name, f"{goals.sum() * scale:.0f}", ", ".join(f"{name} {count:.0f}" for name, count in each)]


def main() -> None:
    """Lists problems, or tries some."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="a copy of the collection")
    parser.add_argument("problems", nargs="*", help="names of problems")
    parser.add_argument("--list", action="store_true", help="names all problems")
    parser.add_argument("--random", action="store_true", help="counts goals of random steps instead of training")
    parser.add_argument("--seconds", type=float, default=600, help="for each problem (default: %(default)s)")
    parser.add_argument("--lookahead", type=float, default=0.0, help="how much options look ahead, from 0 to 1")
    parser.add_argument("--discount", type=float, default=0.95, help="of the policies of formulas")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    known = read_problems(asked.folder)
    if asked.list or not asked.problems:
        console.print("\n".join(known))
        return
    trained = ("lookahead", "steps", "seconds", "the level", "ten beginnings", "twenty unseen")
    table = Table("problem", *(("goals", "each becomes true") if asked.random else trained))
    for name in asked.problems:
        cells = random_counts(known[name]) if asked.random else solve(known[name], asked)
        table.add_row(*cells)
        console.print("  ".join(cells))
    console.print(table)


if __name__ == "__main__":
    main()
