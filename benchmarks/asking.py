"""Machines that ask, beside L* and L# of AALpy: the number of questions on the same tasks, with the same answers.

    python benchmarks/asking.py                              ours alone
    python benchmarks/asking.py --aalpy VENV/bin/python      AALpy beside it, from an environment of its own
    python benchmarks/asking.py book rg --limit 120          some tasks, at most so many seconds for each of ours

The tasks of CraftWorld OP and WaterWorld of levels 1 and 2, over the empty label and single propositions. Ours learns
each flat, nothing callable, and again with all tasks of lower levels callable; AALpy learns a Moore machine with the
outputs neither, goal and dead end, with its default settings.

Two kinds of question are counted. A *trace* is asked for the outcome of an episode with these labels. A *machine* is
asked for a shortest trace on which it is wrong, also when there is none. A trace that AALpy asks tells it the outcomes
of all prefixes, ours that of the whole trace alone, so that the *outcomes* that were told are counted as well. AALpy is
not charged for what follows from earlier answers: prefixes, episodes that have ended, and counterexamples. Ours knows
more of the machine beforehand: it has no cycles, and between two states there is a conjunction with a positive literal,
so that {} changes nothing.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Final

from record import Figures
from rich.console import Console
from rich.table import Table

from rewardmachines.core.equivalence import Word, difference
from rewardmachines.core.flattening import flatten
from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.minimization import minimize
from rewardmachines.core.traversal import Verdict
from rewardmachines.learning import HierarchyOracle, Learned, induce
from rewardmachines.learning.limits import SearchLimits
from rewardmachines.learning.rivals import Paths
from rewardmachines.library import task, task_set
from rewardmachines.traces import Outcome, Trace, singletons

LEVELS: Final = 2
figures = Figures("asking", on_cpu=True)
console = Console(width=150, highlight=False)


@dataclass(frozen=True)
class Questions:
    """The questions that led to a machine that is right."""

    traces: int
    labels: int
    """The number of labels of all traces together."""
    outcomes: int
    """The number of traces and prefixes whose outcome was told."""
    machines: int

    def __str__(self) -> str:
        outcomes = "" if self.outcomes == self.traces else f" ({self.outcomes})"
        return f"{self.traces}{outcomes} / {self.machines}"


@dataclass
class CountingOracle:
    """The truth, and the labels that it was asked about."""

    truth: HierarchyOracle
    labels: int = field(default=0, init=False)

    def membership(self, labels: Word) -> Outcome:
        self.labels += len(labels)
        return self.truth.membership(labels)

    def equivalence(self, hierarchy: Hierarchy) -> Trace | None:
        return self.truth.equivalence(hierarchy)


def ours(tree: Hierarchy, labels: Sequence[Label], callables: Sequence[Hierarchy], limit: float) -> Questions | str:
    """The questions of `rm.induce`, or the bound that was reached within the limit."""
    oracle = CountingOracle(HierarchyOracle(tree, labels, events=False))
    result = induce((), tree.propositions, callables, oracle=oracle, alphabet=labels, timeout=limit)
    if not isinstance(result, Learned):
        return f"not in {limit:g} s"
    assert difference(tree, result.hierarchy, labels=labels) is None
    assert result.asked is not None
    asked = result.asked
    return Questions(asked.membership, oracle.labels, asked.membership, asked.equivalence)


AALPY: Final = """
import json, random, sys
from collections import deque
from aalpy.base import SUL, Oracle
from aalpy.learning_algs import run_Lsharp, run_Lstar
random.seed(0)
rows, outputs, algorithm = json.load(sys.stdin)
alphabet = list(range(len(rows[0])))
class Episodes(SUL):
    traces = labels = outcomes = 0
    def __init__(self):
        super().__init__()
        self.known = {()}
    def learn(self, word):
        self.known.update(word[:end] for end in range(len(word) + 1))
    def pre(self):
        self.state, self.word = 0, ()
    def step(self, letter):
        if letter is not None and rows[self.state]:
            self.state, self.word = rows[self.state][letter], (*self.word, letter)
        return outputs[self.state]
    def post(self):
        if self.word not in self.known:
            self.traces, self.labels = self.traces + 1, self.labels + len(self.word)
            known = len(self.known)
            self.learn(self.word)
            self.outcomes += len(self.known) - known
class Truth(Oracle):
    def find_cex(self, hypothesis):
        self.num_queries += 1
        waiting, seen = deque([(0, hypothesis.initial_state, ())]), set()
        while waiting:
            state, other, word = waiting.popleft()
            if outputs[state] != other.output:
                episodes.learn(word)
                return word
            for letter in alphabet if rows[state] else ():
                pair = rows[state][letter], other.transitions[letter]
                if (pair[0], pair[1].state_id) not in seen:
                    seen.add((pair[0], pair[1].state_id))
                    waiting.append((*pair, (*word, letter)))
        return None
episodes = Episodes()
truth = Truth(alphabet, episodes)
learn = {"L*": run_Lstar, "L#": run_Lsharp}[algorithm]
learn(alphabet, episodes, truth, "moore", print_level=0)
print(json.dumps([episodes.traces, episodes.labels, episodes.outcomes, truth.num_queries]))
"""


def aalpy(python: str, algorithm: str, tree: Hierarchy, labels: Sequence[Label]) -> Questions:
    """The questions of an algorithm of AALpy, in a process of its own."""
    rows, outputs = moore_machine(tree, labels)
    done = subprocess.run(
        [python, "-c", AALPY], input=json.dumps([rows, outputs, algorithm]), capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        sys.exit(f"AALpy failed on {tree.root}: {done.stderr.strip().rpartition(chr(10))[2]}")
    return Questions(*json.loads(done.stdout))


def moore_machine(tree: Hierarchy, labels: Sequence[Label]) -> tuple[list[list[int]], list[str]]:
    """The next states and outputs of a hierarchy. In states without next ones, episodes have ended."""
    paths = Paths.of(tree, labels, SearchLimits())
    outputs = [Verdict.NEITHER.value] * len(paths.rows)
    for row in paths.rows:
        for state, verdict in row:
            outputs[state] = verdict.value
    return [[state for state, _ in row] for row in paths.rows], outputs


def compare(chosen: Sequence[str], limit: float, python: str | None) -> None:
    """Asks about all tasks, prints a row for each, and the medians of the ratios to ours without calls."""
    algorithms = [] if python is None else ["L*", "L#"]
    columns = ["ours, flat", "ours, with callables", *algorithms]
    table = Table(
        "task",
        "states",
        *columns,
        *(f"{name} / ours, flat" for name in algorithms),
        title="traces (outcomes) / machines",
    )
    ratios: dict[str, list[float]] = {name: [] for name in columns}
    for domain in ("craftworld", "waterworld"):
        known = task_set(domain)
        labels = known.labels() or singletons(known.propositions)
        trees = {name: task(domain, name) for name in known.tasks}
        for name, tree in trees.items():
            if tree.height > LEVELS or (chosen and name not in chosen):
                continue
            states = len(minimize(flatten(tree), labels=labels)[tree.root].states)
            lower = [other for other in trees.values() if other.height < tree.height]
            asked = {"ours, flat": ours(tree, labels, (), limit)}
            if lower:
                asked["ours, with callables"] = ours(tree, labels, lower, limit)
            if python is not None:
                asked |= {algorithm: aalpy(python, algorithm, tree, labels) for algorithm in algorithms}
            what = f"{name} ({states} states)"
            for column, questions in asked.items():
                _keep(what, column, questions)
            these = {column: _ratio(asked.get(column), asked["ours, flat"]) for column in columns}
            for column, ratio in these.items():
                ratios[column] += [] if ratio is None else [ratio]
            last = ("" if these[name] is None else f"{these[name]:.2f}" for name in algorithms)
            table.add_row(name, str(states), *(str(asked.get(column, "")) for column in columns), *last)
            console.print(name, states, asked)
    console.print(table)
    for column in [] if python is None or chosen else columns[1:]:
        number, least, most = len(ratios[column]), min(ratios[column]), max(ratios[column])
        console.print(f"{column}: {median(ratios[column]):.2f} times the traces of ours, flat (median of {number})")
        figures.add("ratios", column, "median", median(ratios[column]))
        figures.add("ratios", column, "range", f"{least:.2f} to {most:.2f}")
        figures.add("ratios", column, "tasks", number)


def _keep(what: str, column: str, questions: Questions | str) -> None:
    if isinstance(questions, str):
        figures.add("questions", what, f"{column}: traces", questions)
        return
    figures.add("questions", what, f"{column}: traces", questions.traces)
    figures.add("questions", what, f"{column}: machines", questions.machines)
    figures.add("labels", what, f"{column}: labels", questions.labels)
    figures.add("labels", what, f"{column}: outcomes", questions.outcomes)


def _ratio(questions: Questions | str | None, reference: Questions | str) -> float | None:
    if isinstance(questions, Questions) and isinstance(reference, Questions):
        return questions.traces / reference.traces
    return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*", help="names of tasks; all by default")
    parser.add_argument("--limit", type=float, default=60, help="seconds for each task of ours")
    parser.add_argument("--aalpy", metavar="PYTHON", help="a Python with the package aalpy")
    asked = parser.parse_args()
    compare(asked.tasks, asked.limit, asked.aalpy)


if __name__ == "__main__":
    main()
