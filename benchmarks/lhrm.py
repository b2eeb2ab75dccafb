"""Time until all machines and policies of a domain are learned from interaction alone.

    python benchmarks/lhrm.py                           CraftWorld OP, all 13 tasks
    python benchmarks/lhrm.py frl wod seconds=480       other settings, each at most so long
    python benchmarks/lhrm.py op outcomes=0.01 noise=0.01   one outcome of a hundred is wrong, and the learner knows
    python benchmarks/lhrm.py explore opl level=2       goal traces: options against primitive actions
    python benchmarks/lhrm.py wander frl level=2        goal traces: primitive actions alone, nothing learned

A run is done when, for all tasks at once, the mean of three consecutive greedy evaluations over the ten instances is at
least 0.95 (CraftWorld) or 0.75 (WaterWorld). Compilation is included. Settings of the preset can be changed, such as
batch=64; seed=1 is another run.
"""

from __future__ import annotations

import resource
import sys
import time
from dataclasses import replace

import jax
import jax.numpy as jnp
from record import Figures
from rich.console import Console
from rich.table import Table

from rewardmachines.core.equivalence import difference
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.traversal import show_label
from rewardmachines.envs.noise import NO_NOISE, WorldNoise
from rewardmachines.envs.recording import Recorder
from rewardmachines.envs.registry import domain, domain_of
from rewardmachines.envs.scenarios import scenario
from rewardmachines.files.overrides import changed
from rewardmachines.learning import Solvers
from rewardmachines.lhrm.algorithm import Lhrm
from rewardmachines.lhrm.config import Exploration, LhrmConfig
from rewardmachines.lhrm.presets import lhrm_preset
from rewardmachines.library.published import PublishedTable, PublishedTask, published_tasks, published_totals
from rewardmachines.rollout.jax_driver import JaxSuite
from rewardmachines.runs.stopping import is_learned
from rewardmachines.traces import Outcome, Trace

REACH = {"op": "12 min on 2 cores, 3 on one H200", "frl": "8 min on one H200", "wod": "8 min on one H200"}
GOALS = 150
"""Different goal traces that the paper collects above the first level."""
OWN = ("seconds", "seed", "level", "outcomes", "labels")
"""The arguments of the benchmark; everything else is a setting."""
figures = Figures("lhrm")
console = Console(width=170, highlight=False, emoji=False)


def settings(setting: str, options: dict[str, str]) -> LhrmConfig:
    """The fast preset, with what was said on the command line."""
    changes = tuple(f"{name}={value}" for name, value in options.items() if name not in OWN)
    return changed(lhrm_preset("fast", domain_of(setting), setting), changes, within="agent")


def task_suite(
    setting: str, config: LhrmConfig, tasks: list[str] | None = None, noise: WorldNoise = NO_NOISE
) -> JaxSuite:
    return JaxSuite(scenario(domain_of(setting), setting, observation=config.agent.observation, noise=noise), tasks)


def learn(setting: str, options: dict[str, str]) -> None:
    config, seconds = settings(setting, options), float(options.get("seconds", 900))
    enough = domain(domain_of(setting)).solved_return
    started = time.perf_counter()
    noise = WorldNoise(float(options.get("labels", 0)), float(options.get("outcomes", 0)))
    suite = task_suite(setting, config, noise=noise)
    with Solvers() as solvers:
        run = Lhrm(suite, config, solvers, seed=int(options.get("seed", 0)))
        while not is_learned(run, enough) and not run.is_stuck and time.perf_counter() - started < seconds:
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
    exact = report(run, suite)
    inside = run.learner_seconds
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    verdict = "done" if is_learned(run, enough) else "NOT done"
    name = ", ".join(
        [setting.upper(), *(f"{option}={value}" for option, value in options.items() if option != "seconds")]
    )
    totals = published_totals(PublishedTable.DEFAULT, domain_of(setting), setting)
    theirs = None if totals is None else (totals.time_s.value, "the paper")
    figures.add("learn", name, "done after", round(took) if is_learned(run, enough) else f"not after {took:.0f}", "s")
    figures.add("learn", name, "steps", run.counters.steps)
    figures.add("learn", name, "episodes", run.counters.episodes)
    figures.add("learn", name, "in the learner", inside, "s", theirs)
    figures.add("learn", name, "memory", memory, "GiB")
    figures.add("learn", name, "exactly right", f"{exact} of {len(run.tasks)}")
    console.print(
        f"{setting.upper()}: {verdict} after {took:.0f} s, {run.counters.steps:,} steps, "
        f"{run.counters.episodes:,} episodes; learner {inside:.2f} s ({100 * inside / took:.1f} %); peak memory "
        f"{memory:.2f} GiB ({jax.devices()[0].device_kind}); "
        f"to reach: {REACH.get(setting, 'report')}"
    )


def report(run: Lhrm, suite: JaxSuite) -> int:
    """Prints every task beside the paper's. Returns how many hierarchies are right over the label events."""
    paper = published_tasks(PublishedTable.DEFAULT, suite.scenario.domain.name, suite.scenario.setting)
    table = Table(
        "task", "level", "states", "edges", "calls", "(paper)", "learned", "G D I", "(paper)", "first ep.", "(paper)",
        "learner s", "(paper)", "return", "difference",
    )  # fmt: skip
    exact = 0
    for i, name in enumerate(run.tasks):
        learning, machine = run.progress[name], run.pool.learned.get(name)
        theirs = paper.get(name)
        if machine is None:
            missing = learning.problem or f"{len(learning.examples.goals)} goal traces"
            table.add_row(name, str(run.pool.level(name)), *["-"] * 12, missing)
            continue
        word = told_apart(run, suite, name)
        exact += word == "none"
        counted = learning.examples.counted
        table.add_row(
            name, str(run.pool.level(name)), str(len(machine.states)), str(len(machine.edges)), str(learning.calls),
            said(theirs, "calls"), str(learning.learned),
            " ".join(str(counted(o)) for o in (Outcome.GOAL, Outcome.DEAD_END, Outcome.INCOMPLETE)),
            " ".join(said(theirs, f"examples_{o}") for o in ("goal", "deadend", "incomplete")),
            str(run.first.get(name, "-")), said(theirs, "first_hrm_episodes"),
            f"{learning.seconds:.2f}", said(theirs, "time_s"),
            f"{run.recent[-1][i].mean():.2f}" if run.recent else "-", word,
        )  # fmt: skip
    console.print(table)
    console.print(f"  {exact} of {len(run.tasks)} hierarchies without difference over the label events")
    return exact


def told_apart(run: Lhrm, suite: JaxSuite, name: str) -> str:
    """The shortest trace of label events on which the learned hierarchy differs from the true one."""
    domain = suite.scenario.domain
    labels = domain.labels(dead_ends=suite.scenario.dead_ends) if domain.name == "craftworld" else run.registry.labels
    try:
        word = difference(run.pool.hierarchy(name), suite.scenario.task(name), labels=labels, events=True)
    except RewardMachineError as problem:
        return str(problem)
    return "none" if word is None else " ".join(map(show_label, word))


def said(task: PublishedTask | None, column: str) -> str:
    """The paper's mean."""
    found = None if task is None else task.numbers.get(column)
    return "-" if found is None else f"{found.value:g}"


def explore(setting: str, options: dict[str, str]) -> None:
    """Episodes to collect the paper's 150 goal traces of the tasks of a level, from when it begins, in three ways.

    What is below is learned once; the three ways go on from there with the same machines and policies.
    """
    level, limit = int(options.get("level", 2)), float(options.get("seconds", 180))
    config = replace(settings(setting, options), goals=(GOALS,))
    every = task_suite(setting, config)
    suite = task_suite(setting, config, [task.name for task in every.tasks if task.level <= level])
    with Solvers() as solvers:
        below = Lhrm(suite, config, solvers, seed=int(options.get("seed", 0)))
        while below.curriculum.level < level:
            below.advance()
        console.print(f"  level {level} of {setting.upper()} begins after {below.counters.episodes:,} episodes")
        found = {way: collected(below, replace(config, explores_with=way), solvers, limit) for way in Exploration}
    names = [task.name for task in suite.tasks if task.level == level]
    exploration_table(setting, names, found)


def collected(below: Lhrm, config: LhrmConfig, solvers: Solvers, limit: float) -> Lhrm:
    """A copy of the run, until it has the first machines of its level or the time is up."""
    run = Lhrm(below.suite, config, solvers, seed=below.seed)
    run.restore(below.host_state(), "the copy")
    run.state = jax.tree.map(jnp.copy, below.state)
    began = time.perf_counter()
    while len(run.first) < len(run.tasks) and time.perf_counter() - began < limit:
        run.advance()
    console.print(
        f"  {config.explores_with.value}: {len(run.first)} of {len(run.tasks)} first machines, "
        f"{run.counters.episodes - below.counters.episodes:,} episodes, "
        f"{run.counters.steps - below.counters.steps:,} steps, {time.perf_counter() - began:.0f} s"
    )
    return run


def exploration_table(setting: str, names: list[str], found: dict[Exploration, Lhrm]) -> None:
    table = Table("task", *(way.value for way in found), "actions / options", "(paper)", title="episodes")
    ours = {w: {n: run.first.get(n, run.counters.episodes - begun(run, n)) for n in names} for w, run in found.items()}
    paper = [
        published_tasks(t, domain_of(setting), setting) for t in (PublishedTable.PRIMITIVE, PublishedTable.DEFAULT)
    ]
    for name in names:
        theirs = [rows[name].numbers["first_hrm_episodes"].value for rows in paper if "calls" in rows[name].numbers]
        numbers = [f"{ours[way][name]:,}{'' if name in found[way].first else ' or more'}" for way in found]
        for way, run in found.items():
            episodes = ours[way][name] if name in run.first else f"not after {ours[way][name]:,}"
            figures.add("exploration", f"{setting.upper()} {name}", way.value, episodes, "episodes")
        ratio = ours[Exploration.ACTIONS][name] / max(ours[Exploration.OPTIONS][name], 1)
        more = "" if name in found[Exploration.ACTIONS].first else " or more"
        paper_ratio = f"{theirs[0] / theirs[1]:.1f}" if len(theirs) == 2 else "-"
        table.add_row(name, *numbers, f"{ratio:.1f}{more}", paper_ratio)
        beside = (paper_ratio, "the paper")
        figures.add("exploration", f"{setting.upper()} {name}", "actions / options", f"{ratio:.1f}{more}", "", beside)
    console.print(table)


def wander(setting: str, options: dict[str, str]) -> None:
    """Episodes of each task of a level, with actions at random, until the paper's 150 different goal traces are there.

    Nothing has to be learned for that, so it can go on for far longer than a run.
    """
    level, limit = int(options.get("level", 2)), float(options.get("seconds", 180))
    chosen = scenario(domain_of(setting), setting)
    for name, tree in ((name, chosen.task(name)) for name in chosen.domain.tasks):
        if tree.height != level:
            continue
        goals: set[Trace] = set()
        count, began = 0, time.perf_counter()
        episodes = Recorder(chosen, tree).traces()
        while len(goals) < GOALS and time.perf_counter() - began < limit:
            trace, count = next(episodes), count + 1
            if trace.outcome is Outcome.GOAL:
                goals.add(trace)
        console.print(f"  {setting.upper()} {name}: {len(goals)} goal traces in {count:,} episodes")
        figures.add("wander", f"{setting.upper()} {name}", "goal traces", f"{len(goals)} of {GOALS}")
        figures.add("wander", f"{setting.upper()} {name}", "episodes", count)


def begun(run: Lhrm, name: str) -> int:
    return run.activated[run.pool.level(name)]


def main(words: list[str]) -> None:
    options = dict(w.split("=", 1) for w in words if "=" in w)
    names = [w for w in words if "=" not in w] or ["op"]
    verbs = {"explore": explore, "wander": wander}
    work = verbs.get(names[0], learn)
    for setting in names if work is learn else names[1:]:
        work(setting, options)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except RewardMachineError as problem:
        raise SystemExit(str(problem)) from None
