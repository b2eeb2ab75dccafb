"""How soon all machines and policies of a domain are learned from interaction alone.

    python benchmarks/lhrm.py                           CraftWorld OP, all 13 tasks
    python benchmarks/lhrm.py frl wod seconds=480       other settings, each at most so long
    python benchmarks/lhrm.py explore frl milk-bucket   goal traces: options against primitive actions

A run is done when, for all tasks at once, the mean of three consecutive greedy evaluations over the ten instances is at
least 0.95 (CraftWorld) or 0.75 (WaterWorld). Compilation is included. Settings of the preset can be changed, such as
batch=64; seed=1 is another run.
"""

from __future__ import annotations

import csv
import resource
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
from rich.console import Console
from rich.table import Table

from rewardmachines.core.equivalence import difference
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.traversal import show_label
from rewardmachines.envs.scenario import scenario
from rewardmachines.learning import Solvers
from rewardmachines.lhrm.config import Exploration, LhrmConfig
from rewardmachines.lhrm.loop import Lhrm
from rewardmachines.lhrm.presets import lhrm_preset
from rewardmachines.lhrm.scenarios import ScenarioGround
from rewardmachines.traces import Outcome

DONE = {"craftworld": 0.95, "waterworld": 0.75}
REACH = {"op": "12 min on 2 cores, 3 on one H200", "frl": "8 min on one H200", "wod": "8 min on one H200"}
PAPER = Path(__file__).parent / "paper" / "nonflat_default.csv"
PRIMITIVE = {"milk-bucket": 128.1}
"""How many times the episodes that options need, in FRL, according to the paper."""
console = Console(width=170, highlight=False, emoji=False)


def domain_of(setting: str) -> str:
    return "waterworld" if setting in ("wod", "wd") else "craftworld"


def settings(setting: str, options: dict[str, str]) -> LhrmConfig:
    """The fast preset, with what was said on the command line."""
    config = lhrm_preset("fast", domain_of(setting), setting)
    known = {name: value for name, value in options.items() if hasattr(config.agent, name)}
    changes: dict[str, Any] = {name: type(getattr(config.agent, name))(value) for name, value in known.items()}
    return replace(config, agent=replace(config.agent, **changes))


def ground(setting: str, config: LhrmConfig, tasks: list[str] | None = None) -> ScenarioGround:
    return ScenarioGround(scenario(domain_of(setting), setting, observation=config.agent.observation), tasks)


def learn(setting: str, options: dict[str, str]) -> None:
    config, seconds = settings(setting, options), float(options.get("seconds", 900))
    enough = DONE[domain_of(setting)]
    started = time.perf_counter()
    place = ground(setting, config)
    with Solvers() as solvers:
        run = Lhrm(place, config, solvers, seed=int(options.get("seed", 0)))
        while not run.is_done(enough) and not run.is_stuck and time.perf_counter() - started < seconds:
            row = run.advance()
            for event in row.learned:
                if event.message is not None:
                    console.print(f"  {event.message}")
            if row.chunk % 25 == 0:
                console.print(
                    f"  {time.perf_counter() - started:5.0f} s  {row.steps:>9,} steps  {row.episodes:>7,} episodes  "
                    f"level {row.level}  {len(run.pool.learned)} machines  {sum(row.collected)} traces  returns "
                    + " ".join(f"{r:.2f}" for r in row.running)
                )
    took = time.perf_counter() - started
    report(run, place)
    inside = sum(learning.seconds for learning in run.learnings.values())
    verdict = "done" if run.is_done(enough) else "NOT done"
    console.print(
        f"{setting.upper()}: {verdict} after {took:.0f} s, {run.tally.steps:,} steps, {run.tally.episodes:,} episodes; "
        f"learner {inside:.2f} s ({100 * inside / took:.1f} %); peak memory "
        f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB ({jax.devices()[0].device_kind}); "
        f"to reach: {REACH.get(setting, 'report')}"
    )


def report(run: Lhrm, place: ScenarioGround) -> None:
    """Every task beside the paper's; whether its hierarchy is right over the label events."""
    paper = published(place.place.setting)
    table = Table(
        "task", "level", "states", "edges", "calls", "(paper)", "learned", "G D I", "(paper)", "first ep.", "(paper)",
        "learner s", "(paper)", "return", "difference",
    )  # fmt: skip
    exact = 0
    for i, name in enumerate(run.tasks):
        learning, machine = run.learnings[name], run.pool.learned.get(name)
        theirs = paper.get(name.replace("-", "").lower(), {})
        if machine is None:
            missing = learning.problem or f"{len(learning.examples.goals)} goal traces"
            table.add_row(name, str(run.pool.level(name)), *["-"] * 12, missing)
            continue
        word = told_apart(run, place, name)
        exact += word == "none"
        counted = learning.examples.counted
        table.add_row(
            name, str(run.pool.level(name)), str(len(machine.states)), str(len(machine.edges)), str(learning.calls),
            theirs.get("calls_mean", ""), str(learning.learned),
            " ".join(str(counted(o)) for o in (Outcome.GOAL, Outcome.DEAD_END, Outcome.INCOMPLETE)),
            " ".join(theirs.get(f"examples_{o}_mean") or "-" for o in ("goal", "deadend", "incomplete")),
            str(run.first.get(name, "-")), theirs.get("first_hrm_episodes_mean", ""),
            f"{learning.seconds:.2f}", theirs.get("time_s_mean", ""),
            f"{run.recent[-1][i].mean():.2f}" if run.recent else "-", word,
        )  # fmt: skip
    console.print(table)
    console.print(f"  {exact} of {len(run.tasks)} hierarchies without difference over the label events")


def told_apart(run: Lhrm, place: ScenarioGround, name: str) -> str:
    """The shortest trace of label events on which the learned hierarchy differs from the true one."""
    domain = place.place.domain
    labels = domain.labels(dead_ends=place.place.dead_ends) if domain.name == "craftworld" else run.book.labels
    try:
        word = difference(run.pool.hierarchy(name), place.tree(name), labels=labels, events=True)
    except RewardMachineError as problem:
        return str(problem)
    return "none" if word is None else " ".join(map(show_label, word))


def published(setting: str) -> dict[str, dict[str, str]]:
    """The paper's table, by task."""
    with PAPER.open() as file:
        rows = [row for row in csv.DictReader(file) if row["setting"].lower() == setting]
    return {row["task"].replace("MilkB.", "MilkBucket").lower(): row for row in rows}


def explore(setting: str, task: str, options: dict[str, str]) -> None:
    """Episodes to collect the goal traces of a task once its level has begun, with options and without."""
    found: dict[Exploration, int] = {}
    for way in Exploration:
        config = replace(settings(setting, options), explores_with=way)
        place = scenario(domain_of(setting), setting)
        needed = [m.name for m in place.task(task).reachable() if m.name in place.domain.tasks]
        began, seconds = time.perf_counter(), float(options.get("seconds", 280))
        with Solvers() as solvers:
            run = Lhrm(ground(setting, config, needed), config, solvers, seed=int(options.get("seed", 0)))
            while task not in run.first and time.perf_counter() - began < seconds:
                run.advance()
        level = run.pool.level(task)
        since = run.tally.episodes - run.activated.get(level, run.tally.episodes)
        found[way] = run.first.get(task, since)
        collected = len(run.learnings[task].examples.goals)
        ended = "" if task in run.first else f" (NOT all: {collected} traces so far)"
        console.print(
            f"{setting.upper()} {task}, {way.value}: {found[way]:,} episodes{ended}, "
            f"{time.perf_counter() - began:.0f} s, {run.tally.steps:,} steps"
        )
    ratio = found[Exploration.ACTIONS] / max(found[Exploration.OPTIONS], 1)
    console.print(f"primitive actions need {ratio:.1f} times the episodes (paper: {PRIMITIVE.get(task, '-')})")


def main(words: list[str]) -> None:
    options = dict(w.split("=", 1) for w in words if "=" in w)
    names = [w for w in words if "=" not in w] or ["op"]
    if names[0] == "explore":
        setting, task = names[1:]
        explore(setting, task, options)
        return
    for setting in names:
        learn(setting, options)


if __name__ == "__main__":
    main(sys.argv[1:])
