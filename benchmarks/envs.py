"""Speed of the environments, with everything that a training run needs of them.

    python benchmarks/envs.py
    python benchmarks/envs.py observations

A step is: a random action, the dynamics, the label, the task's hierarchy, reward, termination or truncation, the next
episode where one ends, and the observation, which is folded into a sum so that it cannot be optimized away. The
authors' figures are the best that their code reached with random actions on two CPU cores.

The second table is about the Gymnasium faces, driven from Python: `gymnasium.make` as everybody uses it, and
`gymnasium.make_vec` with many episodes in lockstep. Actions are drawn beforehand, and `info` is complete in every step.

With `observations`, only the observations of CraftWorld are compared: how long it takes to make those of many states.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
from record import Figures
from rich.console import Console
from rich.table import Table

from rewardmachines.envs import Scenario, advance_or_begin, begin, scenario
from rewardmachines.library import task
from rewardmachines.lowered import initial_state, lower, step, verdict

AUTHORS = {("craftworld", "op"): 12_800, ("craftworld", "frl"): 6_200, ("waterworld", "wod"): 4_800}
AUTHORS_TRAVERSAL = 160_000
CASES = [
    ("craftworld", "op", "cake", "published"),
    ("craftworld", "op", "cake", "one-hot"),
    ("craftworld", "frl", "cake", "published"),
    ("craftworld", "frl", "cake", "one-hot"),
    ("waterworld", "wod", "rgb&cmy", "published"),
]

GYMNASIUM = [
    ("rewardmachines/CraftWorld-OP-v0", "cake", AUTHORS["craftworld", "op"]),
    ("rewardmachines/CraftWorld-FRL-v0", "cake", AUTHORS["craftworld", "frl"]),
    ("rewardmachines/WaterWorld-WOD-v0", "rgb&cmy", AUTHORS["waterworld", "wod"]),
]
SINGLE_STEPS = 2_000
SIDE_BY_SIDE = 1024
VECTOR_STEPS = 50
figures = Figures("envs")


def rate(work: Callable[[Any], Any], steps: int) -> tuple[float, float]:
    """Seconds to compile, and steps a second in the best of five runs."""
    start = time.perf_counter()
    _ = float(work(jax.random.key(0)))
    first = time.perf_counter() - start
    best = float("inf")
    for seed in range(1, 6):
        start = time.perf_counter()
        _ = float(work(jax.random.key(seed)))  # waits for the result
        best = min(best, time.perf_counter() - start)
    return first - best, steps / best


def environment_steps(place: Scenario, task_name: str, batch: int, length: int) -> Callable[[Any], Any]:
    lowered = place.lower(place.task(task_name))
    environment, root = place.environment, lowered.root

    @jax.jit
    def run(world: Any, tables: Any, key: Any) -> Any:
        instances = jnp.arange(batch) % len(place.instances)
        episodes = jax.vmap(lambda i: begin(environment, world, tables, i, root))(instances)

        def body(carry: Any, key: Any) -> Any:
            episodes, total = carry
            actions = jax.random.randint(key, (batch,), 0, environment.actions)
            episodes, result, after = jax.vmap(
                lambda e, a, i: advance_or_begin(
                    environment, world, tables, e, a, instance=i, root=root, max_steps=place.max_steps
                )
            )(episodes, actions, instances)
            seen = jax.vmap(lambda s: environment.observe(world, s))(after.state)
            return (episodes, total + seen.sum() + result.reward.sum() + result.done.sum()), None

        return jax.lax.scan(body, (episodes, 0.0), jax.random.split(key, length))[0][1]

    return lambda key: run(place.world, lowered.tables, key)


def traversal_steps(batch: int, length: int) -> Callable[[Any], Any]:
    cake = task("craftworld", "cake")
    lowered = lower(cake)
    labels = jnp.asarray(lowered.bits.encode_all([(), *((p,) for p in cake.propositions)]))

    @jax.jit
    def run(tables: Any, key: Any) -> Any:
        states = jax.vmap(lambda _: initial_state(tables, lowered.root))(jnp.arange(batch))

        def body(carry: Any, key: Any) -> Any:
            states, accepted = carry
            chosen = labels[jax.random.randint(key, (batch,), 0, len(labels))]
            states = jax.vmap(step, in_axes=(None, 0, 0))(tables, states, chosen)
            return (states, accepted + (jax.vmap(verdict, in_axes=(None, 0))(tables, states) == 0).sum()), None

        return jax.lax.scan(body, (states, 0), jax.random.split(key, length))[0][1]

    return lambda key: run(lowered.tables, key)


def single_steps(identifier: str, task_name: str) -> float:
    """Steps a second of one Gymnasium environment, in the best of many runs."""
    env = gymnasium.make(identifier, task=task_name)
    env.action_space.seed(0)
    actions = [env.action_space.sample() for _ in range(SINGLE_STEPS)]

    def run() -> None:
        env.reset(seed=0)
        for action in actions:
            _, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                env.reset()

    return SINGLE_STEPS / best_seconds(run)


def vector_steps(identifier: str, task_name: str) -> float:
    """Steps a second of all episodes of a vector environment together, in the best of many runs."""
    env = gymnasium.make_vec(identifier, SIDE_BY_SIDE, "vector_entry_point", task=task_name)
    env.action_space.seed(0)
    actions = [env.action_space.sample() for _ in range(VECTOR_STEPS)]
    env.reset(seed=0)  # episodes go on from run to run, so that some end in one or another of them

    def run() -> None:
        for action in actions:
            env.step(action)

    return SIDE_BY_SIDE * VECTOR_STEPS / best_seconds(run)


def best_seconds(work: Callable[[], Any]) -> float:
    """The shortest of twenty runs, after one that compiles."""
    seconds = []
    for _ in range(21):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds[1:])


def observations_table() -> Table:
    """Milliseconds to make the observations of random states of 1,000 instances, in the best of many runs."""
    table = Table("setting", "observation", "shape", f"{SIDE_BY_SIDE:,} states, ms")
    for setting in ("op", "frl"):
        for observation in ("published", "one-hot", "egocentric"):
            place = scenario("craftworld", setting, instances=1_000, observation=observation)
            environment, world = place.environment, place.world
            numbers = jax.random.randint(jax.random.key(0), (SIDE_BY_SIDE,), 0, len(place.instances))
            states = jax.vmap(lambda i: environment.reset(world, i))(numbers)  # noqa: B023
            observe = jax.jit(jax.vmap(environment.observe, in_axes=(None, 0)))
            seconds = best_seconds(lambda: observe(world, states).block_until_ready())  # noqa: B023
            table.add_row(setting, observation, str(environment.observation_shape), f"{1_000 * seconds:.2f}")
    return table


def gymnasium_table() -> Table:
    table = Table("Gymnasium", "one, steps/s", "authors", "ratio", f"{SIDE_BY_SIDE:,}, steps/s", "ratio")
    for identifier, task_name, theirs in GYMNASIUM:
        one, many = single_steps(identifier, task_name), vector_steps(identifier, task_name)
        ratios = f"{one / theirs:.1f}", f"{many / theirs:,.0f}"
        work = f"{identifier.removeprefix('rewardmachines/')}, {task_name}"
        figures.add("gymnasium", work, "one", one, "steps/s", (theirs, "authors"))
        figures.add("gymnasium", work, f"{SIDE_BY_SIDE:,}", many, "steps/s", (theirs, "authors"))
        table.add_row(f"{identifier}, {task_name}", f"{one:,.0f}", f"{theirs:,}", ratios[0], f"{many:,.0f}", ratios[1])
    return table


def main() -> None:
    console = Console(width=120, highlight=False)
    if sys.argv[1:] == ["observations"]:
        console.print(observations_table())
        return
    device = jax.devices()[0]
    fast = device.platform != "cpu"
    batch, length = (65_536, 100) if fast else (4_096, 100)
    title = f"{device.device_kind} ({device.platform}), {batch:,} environments in lockstep"
    table = Table("work", "compile s", "steps/s", "authors", "ratio", title=title)
    for name, setting, task_name, observation in CASES:
        place = scenario(name, setting, observation=observation)
        compiling, steps = rate(environment_steps(place, task_name, batch, length), batch * length)
        theirs = AUTHORS[name, setting]
        work = f"{place.domain.title} {setting.upper()}, {task_name}, {observation}"
        table.add_row(work, f"{compiling:.1f}", f"{steps:,.0f}", f"{theirs:,}", f"{steps / theirs:,.0f}")
        figures.add("compiled", work, "", steps, "steps/s", (theirs, "authors"))
    compiling, steps = rate(traversal_steps(4 * batch, length), 4 * batch * length)
    row = (f"{compiling:.1f}", f"{steps:,.0f}", f"{AUTHORS_TRAVERSAL:,}", f"{steps / AUTHORS_TRAVERSAL:,.0f}")
    table.add_row("traversal of Cake, random labels", *row)
    figures.add("compiled", "traversal of Cake, random labels", "", steps, "steps/s", (AUTHORS_TRAVERSAL, "authors"))
    console.print(table)
    console.print(gymnasium_table())


if __name__ == "__main__":
    main()
