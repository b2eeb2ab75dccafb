"""Costs of a wrong machine of a lower level, and the episodes that show that it is wrong.

    python benchmarks/wrong_callee.py episodes    the episodes that refute a Quill of one order, with two ways to act
    python benchmarks/wrong_callee.py searches    BookQuill, learned beside that Quill and beside the right one

In CraftWorld FRL, Quill needs a chicken and a squid in any order, and then a table. The wrong machine knows one of the
two orders. An agent that follows it succeeds, and thus meets its mistake in rare detours only. In suspect tasks, LHRM
follows exploration options one after the other instead.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, islice
from statistics import mean
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
from record import Figures
from rich.console import Console
from rich.table import Table

from rewardmachines.core.equivalence import difference
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import RewardMachine
from rewardmachines.envs.episodes import advance, begin
from rewardmachines.envs.recording import Recorder, Walker
from rewardmachines.envs.scenarios import Scenario, scenario
from rewardmachines.learning import (
    Budget,
    Induction,
    Learned,
    Learner,
    Oracle,
    Solvers,
    ask_until_right,
    first_error,
    learning_task,
    shortest,
)
from rewardmachines.lhrm.presets import lhrm_preset
from rewardmachines.rollout.interaction import PATIENCE, SUSPECT_RATE
from rewardmachines.traces import Outcome, Trace

RUNS: Final = 5
"""Runs whose instances are taken, ten of each, as many as the paper's."""
BATCH: Final = 256
FOLLOWS, WALKS = -1, -2
"""The policy without a target proposition: it follows the machine, or acts at random."""
figures = Figures("wrong_callee")
console = Console(width=110)


def place(seed: int) -> Scenario:
    """The instances of one run."""
    return scenario("craftworld", "frl", seed=seed)


def of_one_order(quill: RewardMachine, first: str) -> RewardMachine:
    """The machine without the edge of its initial state that the other thing takes, and what only that one reaches."""
    kept = [e for e in quill.edges if e.source != quill.initial or e.target in quill.rejecting or first in positive(e)]
    reached = {quill.initial, *(edge.target for edge in kept if edge.source == quill.initial)}
    for _ in quill.states:
        reached |= {edge.target for edge in kept if edge.source in reached}
    edges = tuple(edge for edge in kept if edge.source in reached)
    return replace(quill, states=tuple(state for state in quill.states if state in reached), edges=edges)


def positive(edge: Any) -> list[str]:
    """The propositions that the formula of an edge requires."""
    return [proposition for disjunct in edge.formula.ordered() for proposition in sorted(disjunct.required)]


def traces(where: Scenario, truth: Hierarchy, belief: Hierarchy, option_rate: float, seed: int) -> Iterator[Trace]:
    """Episodes of an agent that follows its machine on shortest ways, and takes detours.

    Args:
        where: The instances.
        truth: The task, which ends episodes.
        belief: The machine that the agent follows.
        option_rate: The probability, at every step, of following an exploration option: to a random proposition.
        seed: Of everything random.
    """
    config = lhrm_preset("fast", "craftworld", "frl")
    environment, guide, steps = where.environment, where.domain.guide, where.max_steps
    assert guide is not None
    ways = jnp.asarray(np.stack([guide.ways(instance) for instance in where.instances]))
    names, machine = where.domain.task_set.propositions, belief[belief.root]
    safe = jnp.asarray([names.index(name) for name in names if name != "lava"])
    # What the machine suggests in each of its states: a thing that leads on, and not into its dead end.
    suggested = [
        next((positive(e)[0] for e in machine.edges if e.source == s and e.target not in machine.rejecting), names[0])
        for s in machine.states
    ]
    wanted = jnp.asarray([names.index(name) for name in suggested])
    known, believed = where.lower(truth), where.lower(belief)

    def act(episode: Any, target: Any, key: Any) -> tuple[Any, Any]:
        detour, walk, option, which, tire, random = jax.random.split(key, 6)
        arrived = (target >= 0) & (guide.action(ways, episode.state, jnp.maximum(target, 0)) < 0)
        tired = (target == WALKS) & (jax.random.uniform(tire) < 1 / PATIENCE)
        target = jnp.where(arrived | tired, FOLLOWS, target)
        thing = jax.random.choice(which, safe)
        detoured = jnp.where(jax.random.uniform(walk) < 0.5, WALKS, thing)
        leaves = jnp.where(jax.random.uniform(detour) < config.detour_rate, detoured, FOLLOWS)
        leaves = jnp.where(jax.random.uniform(option) < option_rate, thing, leaves)
        target = jnp.where(target == FOLLOWS, leaves, target)
        heads_for = jnp.where(target >= 0, target, wanted[episode.task.state])
        way = guide.action(ways, episode.state, heads_for)
        anything = jax.random.randint(random, (), 0, environment.actions)
        return target, jnp.where((target == WALKS) | (way < 0), anything, way)

    def record(instance: Any, key: Any) -> Any:
        def body(carry: Any, key: Any) -> Any:
            episode, follower, target, is_over = carry
            target, action = act(follower, target, key)
            after, outcome = advance(environment, where.world, known.tables, episode, action, max_steps=steps)
            follower, _ = advance(environment, where.world, believed.tables, follower, action, max_steps=steps)
            seen = (after.label, outcome.is_event & ~is_over, outcome.goal & ~is_over, outcome.terminated & ~is_over)
            return (after, follower, target, is_over | outcome.done), seen

        start = begin(environment, where.world, known.tables, instance, known.root)
        follower = begin(environment, where.world, believed.tables, instance, believed.root)
        carry = (start, follower, jnp.int32(FOLLOWS), jnp.bool_(False))
        _, seen = jax.lax.scan(body, carry, jax.random.split(key, steps))
        return start.label, *seen

    record_batch = jax.jit(jax.vmap(record))
    key = jax.random.key(seed)
    for batch in range(1_000_000):
        instances = (np.arange(BATCH) + batch * BATCH) % len(where.instances)
        keys = jax.random.split(jax.random.fold_in(key, batch), BATCH)
        first, labels, events, goals, ends = map(np.asarray, record_batch(instances, keys))
        for i in range(BATCH):
            word = [first[i], *labels[i][events[i]]]
            outcome = Outcome.GOAL if goals[i].any() else Outcome.DEAD_END if ends[i].any() else Outcome.INCOMPLETE
            yield Trace(tuple(map(environment.bits.decode, word)), outcome)


def count_episodes(episodes: int) -> None:
    """Counts the episodes that refute a Quill of either order, in the instances of five runs."""
    table = Table(title=f"CraftWorld FRL, Quill of one order, {2 * RUNS * episodes:,} episodes each")
    for column in ("the agent", "goals", "refuted by", "300 episodes miss it", "in the median case"):
        table.add_column(column, justify="left" if column == "the agent" else "right")
    for title, rate in (("follows the machine, with detours", 0.0), ("follows exploration options", SUSPECT_RATE)):
        goals, refuting = 0, list[float]()
        for seed in range(RUNS):
            where = place(seed)
            truth = where.task("quill")
            for first in ("chicken", "squid"):
                wrong = replace(truth, machines=(of_one_order(truth[truth.root], first),))
                acted = list(islice(traces(where, truth, wrong, rate, seed), episodes))
                goals += sum(trace.outcome is Outcome.GOAL for trace in acted)
                refuting.append(sum(first_error(wrong, trace) is not None for trace in acted))
        missed = sorted((1 - count / episodes) ** 300 for count in refuting)
        total, whole = 2 * RUNS * episodes, sum(refuting)
        row = [f"{goals / total:.2f}", f"{whole:,.0f}", f"{mean(missed):.0%}", f"{missed[len(missed) // 2]:.0%}"]
        table.add_row(title, *row)
        for measure, value in zip(("goals", "refuted by", "missed", "missed, median"), row, strict=True):
            figures.add("episodes", title, measure, value)
    console.print(table)


class Counterexamples(Oracle):
    """Episodes of a task, and the first of them that refutes a hierarchy, up to a number of times."""

    def __init__(self, where: Scenario, truth: Hierarchy, most: int) -> None:
        plain = Recorder(where, truth, Walker.RANDOM).traces()
        self.episodes = chain.from_iterable(zip(plain, Recorder(where, truth, Walker.GUIDED).traces(), strict=True))
        self.left = most
        goals: set[Trace] = set()
        while len(goals) < 150:
            trace = next(self.episodes)
            if trace.outcome is Outcome.GOAL:
                goals.add(trace)
        self.goals = shortest(goals)

    def goal_traces(self) -> list[Trace]:
        return self.goals

    def counterexamples(self, hierarchy: Hierarchy) -> list[Trace]:
        if not self.left:
            return []
        self.left -= 1
        errors = (first_error(hierarchy, trace) for trace in islice(self.episodes, 6_000))
        return [error for error in [next(filter(None, errors), None)] if error]


def compare_searches(most: int) -> None:
    """Learns BookQuill beside a Quill of one order, and then goes on with the right one and the same examples."""
    where = place(0)
    truth, quill = where.task("book-quill"), where.task("quill")
    wrong = replace(quill, machines=(of_one_order(quill[quill.root], "chicken"),))
    others = [where.task(name) for name in where.domain.tasks if name != "quill"]
    lower = [tree for tree in others if tree.height < truth.height]
    oracle, labels = Counterexamples(where, truth, most), where.domain.labels(dead_ends=where.dead_ends)
    table = Table(title=f"BookQuill in CraftWorld FRL, at most {most} counterexamples")
    for column in ("Quill", "examples", "calls", "seconds", "slowest call", "states", "edges", "right"):
        table.add_column(column, justify="left" if column == "Quill" else "right")
    examples: list[Trace] = oracle.goals
    with Solvers() as solvers:
        for title, callee in (("of one order", wrong), ("right, the same examples", quill)):
            task = learning_task(examples, where.environment.propositions, [*lower, callee])
            # One counterexample more: that which shows the machine of before to be wrong.
            oracle.left = oracle.left if callee is wrong else most
            learned: Induction = ask_until_right(Learner(solvers), task, oracle, Budget(seconds=600))
            result, examples = learned.result, list(learned.task.traces)
            machine = result.machine if isinstance(result, Learned) else None
            is_right = isinstance(result, Learned) and not difference(
                result.hierarchy, truth, labels=labels, events=True
            )
            size = (str(len(machine.states)), str(len(machine.edges))) if machine else ("-", "-")
            slowest = max(attempt.seconds for attempt in learned.attempts)
            row = [
                str(len(examples)), str(result.calls), f"{result.seconds:.2f}", f"{slowest:.2f}", *size,
                "yes" if is_right else "no",
            ]  # fmt: skip
            table.add_row(title, *row)
            figures.add("searches", title, "time", result.seconds, "s")
            figures.add("searches", title, "calls", result.calls)
            figures.add("searches", title, "right", row[-1])
    console.print(table)


def main() -> None:
    """Counts refuting episodes, or compares searches."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True, metavar="episodes | searches")
    counting = commands.add_parser("episodes", help="the episodes that refute a Quill of one order")
    counting.add_argument("--episodes", type=int, default=1_280, help="for each run and order (default: 1280)")
    counting.set_defaults(carry_out=lambda given: count_episodes(given.episodes))
    searching = commands.add_parser("searches", help="BookQuill beside a wrong Quill and beside the right one")
    searching.add_argument("--most", type=int, default=22, help="counterexamples (default: 22, the most of one run)")
    searching.set_defaults(carry_out=lambda given: compare_searches(given.most))
    given = parser.parse_args()
    given.carry_out(given)


if __name__ == "__main__":
    main()
