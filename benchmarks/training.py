"""Speed of training, beside the authors' code, and the time until tasks are solved.

    python benchmarks/training.py speed                  steps per second at the paper's ratio of updates to steps
    python benchmarks/training.py solve op:cake          time until a task is solved, compilation included
    python benchmarks/training.py reach frl:cake         what the policies of formulas can do, against batches

A step is one step of one environment with four Q-functions updated on a batch of 32, as the authors count; theirs were
measured on two CPU cores. A task is solved when the mean of three consecutive greedy evaluations over the ten instances
is 0.95. Compile time is shown apart in `speed` and included in `solve`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from statistics import mean
from typing import Any

import jax
import jax.numpy as jnp
from in_memory import trainings
from jaxtyping import Array
from record import Figures
from rich.console import Console
from rich.table import Table

from rewardmachines.agents.config import AgentConfig
from rewardmachines.agents.hierarchical_dqn import formula_q
from rewardmachines.agents.hierarchical_dqn.formula_q import FormulaBank
from rewardmachines.agents.hierarchical_dqn.task import OptionTask
from rewardmachines.agents.presets import preset
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs.domain import INSTANCES
from rewardmachines.envs.episodes import MAX_STEPS, advance, begin
from rewardmachines.envs.registry import domain_of
from rewardmachines.files.overrides import changed
from rewardmachines.lowered.formula import holds
from rewardmachines.rollout.jax_driver import JaxDriver
from rewardmachines.rollout.rows import Row
from rewardmachines.rollout.training import Training

SPEED = [
    ("craftworld", "op", "cake", 31, 5),
    ("craftworld", "frl", "book-quill", 26, 4),
    ("waterworld", "wod", "rgb&cmy", 36, 4),
]
SOLVE = {
    "op:milk-bucket": "3 min on 2 cores", "op:cake": "8 min on 2 cores", "frl:milk-bucket": "5 min on one H200",
    "frl:book-quill": "5 min on one H200", "frl:cake": "5 min on one H200", "wod:rgb&cmy": "report, one H200",
}  # fmt: skip
SOLVED = 0.95
NEVER = 10**9
OWN = ("seconds", "agent")
"""The arguments of the benchmark; everything else is a setting of the agent."""
figures = Figures("training")
console = Console(width=150, highlight=False, emoji=False)


def parts_of(which: str) -> tuple[str, str]:
    """A setting and a task."""
    place, colon, task = which.partition(":")
    if not colon:
        raise RewardMachineError(f"{which}: say a setting and a task, such as frl:cake")
    return place, task


def speed(arguments: dict[str, str]) -> None:
    """Learning steps, after a short warm-up with nothing to learn from yet."""
    device = jax.devices()[0]
    table = Table(
        "work", "environments", "authors", "ours", "ratio", "to reach", "compile s",
        title=f"training steps per second, {device.device_kind}",
    )  # fmt: skip
    for domain, place, task, authors, reach in SPEED:
        count = int(arguments.get("environments", 8))
        config = replace(
            preset("paper", domain, place),
            environments=count,
            updates=count,
            replay_start=4000,
            chunk=2000 // count,
            evaluate_every=10,
        )
        (trained,) = trainings(place, task, "hrl", config)
        started = time.perf_counter()
        while not trained.learns:
            trained.advance()
        trained.advance()  # compiles
        compiled = time.perf_counter() - started
        best = 0.0
        for _ in range(3):
            started, before = time.perf_counter(), trained.counters.steps
            trained.advance()
            jax.tree.map(lambda x: x.block_until_ready(), trained.state)
            best = max(best, (trained.counters.steps - before) / (time.perf_counter() - started))
        table.add_row(
            f"{place.upper()} {task}", str(count), str(authors), f"{best:,.0f}", f"{best / authors:.1f}", f"{reach} ×",
            f"{compiled:.0f}",
        )  # fmt: skip
        figures.add("speed", f"{place.upper()} {task}", "", best, "steps/s", (authors, "authors"))
        console.print(f"  {place} {task}: {best:,.0f} steps/s")
    console.print(table)


def evaluations(trained: Training, seconds: float) -> Iterator[Row]:
    """Rows with an evaluation, for some time."""
    started = time.perf_counter()
    while time.perf_counter() - started < seconds:
        row = trained.advance()
        if row.returns is not None:
            yield row


def is_solved(history: list[float], threshold: float = SOLVED) -> bool:
    return len(history) >= 3 and mean(history[-3:]) >= threshold


def solve(which: str, arguments: dict[str, str]) -> None:
    place, task = parts_of(which)
    agent = arguments.get("agent", "hrl")
    config = tuned(preset("fast", domain_of(place), place, agent), arguments)
    started = time.perf_counter()
    (trained,) = trainings(place, task, agent, config)
    history: list[float] = []
    for row in evaluations(trained, float(arguments.get("seconds", 600))):
        history.append(row.mean_return or 0.0)
        console.print(
            f"  {time.perf_counter() - started:6.1f} s  {row.steps:>9,} steps  {row.episodes:>7,} episodes  "
            f"return {history[-1]:.2f}  goals {row.goals[0]} of {row.ended[0]}  exploration {row.exploration:.2f}  "
            f"losses {row.formula_loss:.5f} {row.call_loss:.5f}"
        )
        if is_solved(history):
            break
    took = round(time.perf_counter() - started)
    verdict = "solved" if is_solved(history) else "NOT solved"
    name = f"{place.upper()} {task}{'' if agent == 'hrl' else f', {agent}'}"
    figures.add("solve", name, "solved after", took if is_solved(history) else f"not after {took}", "s")
    console.print(
        f"{which}: {verdict} after {took} s, {trained.counters.steps:,} steps, "
        f"{trained.counters.episodes:,} episodes ({jax.devices()[0].device_kind}); to reach: {SOLVE.get(which, '-')}"
    )


def reach(which: str, arguments: dict[str, str]) -> None:
    """The share of its formulas that an agent can make true, from the start of each instance within 80 steps."""
    place, task = parts_of(which)
    config = replace(tuned(preset("fast", domain_of(place), place), arguments), evaluate_every=NEVER)
    (trained,) = trainings(place, task, "hrl", config)
    reached = jax.jit(partial(formulas_reached, trained))
    started = time.perf_counter()
    while (passed := time.perf_counter() - started) < float(arguments.get("seconds", 600)):
        trained.advance()
        if trained.counters.chunks % 10 == 0:
            bank = trained.state.agent.formulas
            console.print(
                f"  {passed:6.1f} s  {trained.counters.steps:>9,} steps  {int(bank.rounds):>7,} batches  "
                f"reached {float(reached(bank)):.2f}"
            )


def formulas_reached(trained: Training, bank: FormulaBank) -> Array:
    """The share of pairs of an instance and a formula in use; lava is among the formulas."""
    driver, task, config = trained.driver, trained.tables.task, trained.config
    assert isinstance(driver, JaxDriver)
    assert isinstance(task, OptionTask), "only the hierarchical agent has formulas"
    environment = driver.rollout.environment
    instances, slots = INSTANCES, task.options.is_active.shape[0]
    instance, slot = jnp.repeat(jnp.arange(instances), slots), jnp.tile(jnp.arange(slots), instances)
    start = partial(begin, environment, task.world, task.tables)
    move = partial(advance, environment, task.world, task.tables, max_steps=MAX_STEPS)
    required, forbidden = task.options.slot_required[slot][:, None], task.options.slot_forbidden[slot][:, None]

    def step(carry: Any, _: None) -> Any:
        episodes, is_there, is_over = carry
        seen = jax.vmap(partial(environment.observe, task.world))(episodes.state)
        said = formula_q.values(config.layout, environment.actions, bank.online, seen)
        after, result = jax.vmap(move)(episodes, jnp.argmax(said[slot, jnp.arange(len(slot))], axis=-1))
        is_true = jax.vmap(holds)(required, forbidden, result.label)[:, 0] & result.is_event
        is_dead = result.terminated & ~result.goal
        return (after, is_there | (is_true & ~is_over & ~is_dead), is_over | is_dead), None

    none = jnp.zeros(len(slot), bool)
    first = (jax.vmap(start)(instance, jnp.full(len(slot), trained.plan.lowered.root)), none, none)
    (_, is_there, _), _ = jax.lax.scan(step, first, None, length=80)
    active = task.options.is_active[slot]
    return jnp.sum(is_there & active) / active.sum()


def tuned(config: AgentConfig, arguments: dict[str, str]) -> AgentConfig:
    """With settings from the command line, such as batch=64 or network.hidden=[512]."""
    return changed(config, tuple(f"{name}={value}" for name, value in arguments.items() if name not in OWN))


def main(words: list[str]) -> None:
    options = {k.removeprefix("--"): v for k, v in (w.split("=", 1) for w in words if "=" in w)}
    names = [w for w in words if "=" not in w]
    what, *rest = names or ["speed"]
    if what == "speed":
        speed(options)
    elif what == "solve":
        for which in rest or SOLVE:
            solve(which, options)
    elif what == "reach":
        for which in rest or ["frl:cake"]:
            reach(which, options)
    else:
        raise SystemExit(__doc__)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except RewardMachineError as problem:
        raise SystemExit(str(problem)) from None
