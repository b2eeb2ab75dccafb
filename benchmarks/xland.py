"""Steps a second in XLand-MiniGrid: our loop, with labels and a task, beside the suite's own step.

    pip install "rewardmachines[xland]"
    python benchmarks/xland.py                    1 and 128 environments
    python benchmarks/xland.py --environments 1024

Ours is a random action, the suite's `take_action`, the label, the task's hierarchy, reward, end, the next episode where
one ends, and the whole grid as planes. The reference is the suite's `step` with a random action and its own view,
reward and end, in its wrapper that begins the next episode. Observations are folded into a sum in both.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any, Final

import jax
import jax.numpy as jnp
import xminigrid
from record import Figures
from rich.console import Console
from rich.table import Table
from xminigrid.wrappers import GymAutoResetWrapper

import rewardmachines as rm
from rewardmachines.envs import Scenario, advance_or_begin, begin, scenario
from rewardmachines.envs.xland.domain import xland_domain

DOORKEY: Final = xland_domain(
    "doorkey",
    "DoorKey",
    settings={"5x5": "MiniGrid-DoorKey-5x5"},
    propositions={"key": "key-carried", "door": "door-open", "goal": "goal-here"},
    tasks={"leave": "key ; door ; goal"},
)
CASES: Final = (
    ("doorkey", "5x5", "leave", "MiniGrid-DoorKey-5x5"),
    ("xland", "r1", "tidy", "XLand-MiniGrid-R1-9x9"),
    ("xland", "r4", "tidy", "XLand-MiniGrid-R4-9x9"),
)
figures = Figures("xland")
console = Console(width=120, highlight=False, emoji=False)


def our_steps(place: Scenario, task: str, batch: int, length: int) -> Callable[[Any], Any]:
    """Random steps in our loop, with a task."""
    lowered, environment = place.lower(place.task(task)), place.environment
    root, instances = lowered.root, jnp.arange(batch) % len(place.instances)

    def first(world: Any, tables: Any, instance: Any) -> Any:
        return begin(environment, world, tables, instance, root)

    def next_one(world: Any, tables: Any, episode: Any, action: Any, instance: Any) -> Any:
        limit = place.max_steps
        return advance_or_begin(
            environment, world, tables, episode, action, instance=instance, root=root, max_steps=limit
        )

    @jax.jit
    def run(world: Any, tables: Any, key: Any) -> Any:
        episodes = jax.vmap(first, in_axes=(None, None, 0))(world, tables, instances)

        def body(carry: Any, key: Any) -> Any:
            episodes, total = carry
            chosen = jax.random.randint(key, (batch,), 0, environment.actions)
            step = jax.vmap(next_one, in_axes=(None, None, 0, 0, 0))
            episodes, result, after = step(world, tables, episodes, chosen, instances)
            seen = jax.vmap(environment.observe, in_axes=(None, 0))(world, after.state)
            return (episodes, total + seen.sum() + result.reward.sum()), None

        return jax.lax.scan(body, (episodes, 0.0), jax.random.split(key, length))[0][1]

    return lambda key: run(place.world, lowered.tables, key)


def suite_steps(identifier: str, batch: int, length: int) -> Callable[[Any], Any]:
    """Random steps of the suite by itself."""
    plain, parameters = xminigrid.make(identifier)
    environment = GymAutoResetWrapper(plain)
    actions = environment.num_actions(parameters)

    @jax.jit
    def run(key: Any) -> Any:
        key_begin, key_act = jax.random.split(key)
        begun = jax.vmap(environment.reset, in_axes=(None, 0))(parameters, jax.random.split(key_begin, batch))

        def body(carry: Any, key: Any) -> Any:
            steps, total = carry
            chosen = jax.random.randint(key, (batch,), 0, actions)
            steps = jax.vmap(environment.step, in_axes=(None, 0, 0))(parameters, steps, chosen)
            return (steps, total + jnp.sum(steps.observation, dtype=jnp.float32) + steps.reward.sum()), None

        return jax.lax.scan(body, (begun, 0.0), jax.random.split(key_act, length))[0][1]

    return run


def rate(work: Callable[[Any], Any], steps: int) -> float:
    """Steps a second in the best of five runs, after one that compiles."""
    seconds = []
    for seed in range(6):
        began = time.perf_counter()
        float(work(jax.random.key(seed)))  # waits for the result
        seconds.append(time.perf_counter() - began)
    return steps / min(seconds[1:])


def main() -> None:
    """Measures all cases."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--environments", type=int, nargs="+", default=[1, 128], help="how many step side by side")
    parser.add_argument("--steps", type=int, default=128_000, help="of all together in a run (default: %(default)s)")
    asked = parser.parse_args()
    rm.register_domain(DOORKEY)
    table = Table("world", "environments", "ours", "the suite alone", "ratio", title="Steps a second, best of five")
    for domain, setting, task, identifier in CASES:
        for batch in asked.environments:
            length = max(asked.steps // batch // (50 if batch == 1 else 1), 1)
            ours = rate(our_steps(scenario(domain, setting), task, batch, length), batch * length)
            theirs = rate(suite_steps(identifier, batch, length), batch * length)
            table.add_row(identifier, f"{batch:,}", f"{ours:,.0f}", f"{theirs:,.0f}", f"{ours / theirs:.2f}")
            figures.add("steps", f"{identifier}, {batch:,}", "", ours, "steps/s", (theirs, "the suite alone"))
    console.print(table)


if __name__ == "__main__":
    main()
