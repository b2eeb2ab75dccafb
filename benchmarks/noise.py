"""Machines from traces some of which are wrong: the tasks of CraftWorld OP, each from 300 episodes.

    python benchmarks/noise.py                                     all tasks, three seeds, all settings
    python benchmarks/noise.py --tasks bucket book --seeds 1       some tasks, the first seed alone
    python benchmarks/noise.py --settings outcomes-1 labels-5      some settings
    python benchmarks/noise.py --certify                           level 1, with the proof that no machine is smaller
    python benchmarks/noise.py --folder traces                     keeps the episodes, and takes those that are there

Set-up: ten instances (seed 25101993), everything of lower levels callable, as in `learner.py`. Every other episode is
acted at random, every other by a walker that heads for a random or needed thing three times out of four; of the
episodes, the first 150 that reach the goal and the first 150 that do not are taken, or as many as there are.

Then traces are made wrong. `outcomes-5`: of every trace, with a probability of 5 %, the outcome is changed, from goal
to incomplete or back. `labels-5`: every label of a trace is replaced, with a probability of 5 %, by another of those
that can occur; the rate that the search is given is the share of traces in which that happens, at most 45 %.

A machine is right if it is equivalent to the truth over all sequences of label events that can occur.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from random import Random
from typing import Final

from record import Figures
from rich.console import Console
from rich.table import Table

from rewardmachines.core.equivalence import difference
from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.envs.recording import Recorder, Walker
from rewardmachines.envs.scenarios import Scenario, scenario
from rewardmachines.files import read_traces, save_traces
from rewardmachines.learning import Learned, Result, induce
from rewardmachines.learning.limits import SearchLimits
from rewardmachines.learning.noise import Sheet
from rewardmachines.traces import Outcome, Trace, compress

EPISODES: Final = 300
MOST_RECORDED: Final = 3_000
"""The number of episodes after which a task must do with the goals or failures that there are."""
MOST_NOISE: Final = 0.45
"""The largest rate that the search is given: it takes less than a half."""
figures = Figures("noise", on_cpu=True)
console = Console(width=170, highlight=False)


@dataclass(frozen=True)
class Setting:
    """How often what is wrong, and what is to be reached."""

    what: str
    share: float
    right: int = 13
    seconds: float = 60

    def noisy(self, traces: Sequence[Trace], labels: Sequence[Label], chance: Random) -> tuple[list[Trace], float]:
        """The traces, some of them wrong, and the rate that the search is given."""
        if self.what == "outcomes":
            return [self._with_outcome(trace, chance) for trace in traces], self.share
        told = [self._with_labels(trace, labels, chance) for trace in traces]
        touched = 1 - sum((1 - self.share) ** len(trace) for trace in traces) / len(traces)
        return told, min(MOST_NOISE, touched)

    def _with_outcome(self, trace: Trace, chance: Random) -> Trace:
        if chance.random() >= self.share:
            return trace
        return Trace(trace.labels, Outcome.INCOMPLETE if trace.outcome is Outcome.GOAL else Outcome.GOAL)

    def _with_labels(self, trace: Trace, labels: Sequence[Label], chance: Random) -> Trace:
        word = [
            chance.choice([other for other in labels if other != label]) if chance.random() < self.share else label
            for label in trace.labels
        ]
        return Trace(compress(word), trace.outcome)


SETTINGS: Final = {
    "outcomes-1": Setting("outcomes", 0.01),
    "outcomes-5": Setting("outcomes", 0.05),
    "outcomes-10": Setting("outcomes", 0.1),
    "labels-1": Setting("labels", 0.01),
    "labels-5": Setting("labels", 0.05, 12, 120),
}


def recorded(place: Scenario, name: str, seed: int, folder: Path | None) -> list[Trace]:
    """As many episodes with goals as without, or as many as there are."""
    kept = folder / f"{name}-{seed}.jsonl" if folder is not None else None
    if kept is not None and kept.exists():
        return list(read_traces(kept))
    half = EPISODES // 2
    goals: list[Trace] = []
    failures: list[Trace] = []
    for _, trace in zip(range(MOST_RECORDED), episodes(place, place.task(name), seed), strict=False):
        of_kind = goals if trace.outcome is Outcome.GOAL else failures
        of_kind.append(trace)
        if min(len(goals), len(failures)) >= half:
            break
    fewer = min(len(goals), len(failures), half)
    many, few = (goals, failures) if len(goals) > len(failures) else (failures, goals)
    traces = few[:fewer] + many[: EPISODES - fewer]
    if kept is not None:
        kept.parent.mkdir(parents=True, exist_ok=True)
        save_traces(traces, kept)
    return traces


def episodes(place: Scenario, hierarchy: Hierarchy, seed: int) -> Iterator[Trace]:
    plain, guided = (Recorder(place, hierarchy, walker, seed).traces() for walker in (Walker.RANDOM, Walker.GUIDED))
    return chain.from_iterable(zip(plain, guided, strict=True))


@dataclass(frozen=True)
class Measured:
    """What came of one task with one seed."""

    result: Result
    is_right: bool
    true_mistakes: int
    """The number of traces that the truth does not explain."""
    seconds: float
    processor_seconds: float
    """The processor time of this process, in which nearly all of the search is; the certificate is in another."""

    @property
    def is_certified(self) -> bool:
        return isinstance(self.result, Learned) and self.result.noise is not None and self.result.noise.is_certified


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    place = scenario("craftworld", "op")
    parser.add_argument("--tasks", nargs="*", choices=place.domain.tasks, default=[], help="all, if none is given")
    parser.add_argument("--seeds", type=int, default=3, help="number of seeds")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--settings", nargs="*", choices=SETTINGS, default=list(SETTINGS))
    parser.add_argument("--limit", type=float, help="seconds for each task, instead of those to reach")
    parser.add_argument(
        "--certify", action="store_true", help="prove that no machine is smaller; without --tasks, level 1"
    )
    parser.add_argument("--folder", type=Path, help="a folder that keeps the episodes")
    asked = parser.parse_args()
    tasks = asked.tasks or [t for t in place.domain.tasks if not asked.certify or place.task(t).height == 1]
    for name in asked.settings:
        for seed in range(asked.first_seed, asked.first_seed + asked.seeds):
            measure_setting(place, name, tasks, seed, asked)


def measure_setting(place: Scenario, setting: str, tasks: Sequence[str], seed: int, asked: argparse.Namespace) -> None:
    table = Table(
        "task", "right", "states", "truth", "traces", "mean length", "rate", "mistakes", "of the truth", "allowed",
        "searches", "calls", "proved", "s", "s of processor", title=f"{setting}, seed {seed}"
    )  # fmt: skip
    some = []
    for name in tasks:
        measured, row = measure(place, SETTINGS[setting], name, seed, asked)
        some.append(measured)
        table.add_row(*row)
        console.print(f"  {setting}, seed {seed}: {' · '.join(row)}")
    console.print(table)
    right, slowest = sum(m.is_right for m in some), max(m.seconds for m in some)
    wanted = SETTINGS[setting]
    console.print(
        f"{setting}, seed {seed}: {right} of {len(some)} exactly right (to reach {wanted.right} of 13), "
        f"at most {slowest:.1f} s (to reach {wanted.seconds:g} s)\n"
    )
    figures.add("noise", setting, f"exactly right, seed {seed}", f"{right} of {len(some)}")
    if asked.certify:
        certified = sum(m.is_certified for m in some)
        console.print(f"{setting}, seed {seed}: {certified} of {len(some)} proved to be the smallest\n")
        figures.add("noise", setting, f"proved to be the smallest, seed {seed}", f"{certified} of {len(some)}")
    figures.add("noise", setting, f"longest time, seed {seed}", slowest, "s")


def measure(
    place: Scenario, setting: Setting, name: str, seed: int, asked: argparse.Namespace
) -> tuple[Measured, list[str]]:
    truth = place.task(name)
    lower = [t for t in map(place.task, place.domain.tasks) if t.height < truth.height]
    labels = place.domain.labels(dead_ends=place.dead_ends)
    assert labels is not None
    clean = recorded(place, name, seed, asked.folder)
    told, rate = setting.noisy(clean, labels, Random(f"{name}, seed {seed}"))
    began, cpu = time.monotonic(), time.process_time()
    result = induce(
        told, place.environment.propositions, lower, noise=rate, certify=asked.certify,
        timeout=asked.limit or setting.seconds, cores=1
    )  # fmt: skip
    seconds, cpu = time.monotonic() - began, time.process_time() - cpu
    is_right = (
        isinstance(result, Learned) and difference(result.hierarchy, truth, labels=labels, events=True) is None
    )  # fmt: skip
    of_truth = mistakes_of(truth, told)
    measured = Measured(result, is_right, of_truth, seconds, cpu)
    length = sum(map(len, told)) / len(told)
    row = [name, "yes" if is_right else "no"]
    if isinstance(result, Learned) and result.noise is not None:
        noise = result.noise
        found = [str(noise.mistakes), str(of_truth), str(noise.allowed), str(noise.restarts), str(result.calls)]
        found.append("smallest" if noise.is_certified else ", ".join(f"{b.states}: {b.mistakes}" for b in noise.bounds))
        states = str(result.states)
    else:
        found, states = ["-", str(of_truth), "-", "-", str(result.calls), "-"], type(result).__name__
    of_goal = sum(trace.outcome is Outcome.GOAL for trace in clean)
    size = len(truth[truth.root].states)
    row += [states, str(size), f"{of_goal} + {len(clean) - of_goal}", f"{length:.1f}", f"{rate:.2f}", *found]
    return measured, [*row, f"{seconds:.1f}", f"{cpu:.1f}"]


def mistakes_of(truth: Hierarchy, told: Sequence[Trace]) -> int:
    """The number of traces that the truth does not explain."""
    return sum(g.weight for g in Sheet(Counter(told), prefix_knowledge=True).mistakes(truth, SearchLimits()))


if __name__ == "__main__":
    main()
