"""Smallest DFAs from labelled words, beside other programs on the same instances, with the same limit, in the same run.

    python benchmarks/dfa.py PATH...                     files in the Abbadingo format, or folders or archives of them
    python benchmarks/dfa.py --generated 8 10 12         random instances of these sizes, ten of each
    python benchmarks/dfa.py --generated 8 --dfa-identify VENV/bin/python --dfaminer FOLDER
    python benchmarks/dfa.py --check 1000                sizes beside a plain encoding and, of tiny samples, brute force

Generated instances are of the kind that is common in the field: a random minimal DFA over two symbols, and 50 words for
each of its states, all different within a length: 2 of length 3, then 2, 4, 8, … and the rest of length 12.

Other programs are not installed: `--dfa-identify` names a Python that has the package of this name, `--dfaminer` a
folder with `dfaminer.py`. Times of ours and of dfa-identify begin after the file is read, those of DFAMiner with its
process. An instance that is not solved counts with the limit.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final

from record import Figures
from rich.console import Console
from rich.table import Table

from rewardmachines.exchange.abbadingo import AbbadingoSample, read_abbadingo, write_abbadingo
from rewardmachines.learning import Identified, identify

figures = Figures("dfa", on_cpu=True)
console = Console(width=150, highlight=False)
BRUTE_FORCE: Final = 1000
"""Samples of which as many automata have the size are judged by brute force, too."""


@dataclass(frozen=True)
class Instance:
    """A sample, and the group whose median it belongs to."""

    name: str
    group: str
    text: str


@dataclass(frozen=True)
class Measured:
    """What a program made of an instance: the size, if it was found in time."""

    states: int | None
    seconds: float
    processor_seconds: float


Program = Callable[[Instance, float], Measured]


def ours(instance: Instance, limit: float) -> Measured:
    """`rm.identify` in this process."""
    result = identify(read_abbadingo(instance.text), timeout=limit)
    if not isinstance(result, Identified):
        return Measured(None, limit, limit)
    return Measured(result.states, result.seconds, result.processor_seconds)


DFA_IDENTIFY = """
import json, sys, time
from dfa_identify import find_dfa
rows = [line.split() for line in open(sys.argv[1])][1:]
words = {label: [tuple(row[2:]) for row in rows if row[0] == label] for label in "01"}
began, cpu = time.monotonic(), time.process_time()
dfa = find_dfa(accepting=words["1"], rejecting=words["0"])
print(json.dumps([len(dfa.states()), time.monotonic() - began, time.process_time() - cpu]))
"""


def dfa_identify(python: str) -> Program:
    """The package `dfa-identify`, in a process of its own."""

    def measure(instance: Instance, limit: float) -> Measured:
        output, *_ = _run([python, "-c", DFA_IDENTIFY], instance, limit)
        if output is None:
            return Measured(None, limit, limit)
        states, seconds, cpu = json.loads(output.splitlines()[-1])
        return Measured(states, seconds, cpu)

    return measure


def dfaminer(folder: Path) -> Program:
    """DFAMiner with its three-valued automaton, the process from its beginning."""

    def measure(instance: Instance, limit: float) -> Measured:
        with TemporaryDirectory() as scratch:
            out = Path(scratch) / "dfa.txt"
            command = [sys.executable, str(folder / "dfaminer.py"), "--sdfa", "--out", str(out), "--file"]
            output, seconds, cpu = _run(command, instance, limit)
            if output is None or not out.exists():
                return Measured(None, limit, limit)
            sizes = re.findall(r"^\s*(\d+)\s+\d+\s*$", out.read_text(), re.MULTILINE)
            return Measured(int(sizes[0]) if sizes else 0, seconds, cpu)

    return measure


def _run(command: list[str], instance: Instance, limit: float) -> tuple[str | None, float, float]:
    """The output, or None if the limit was reached; seconds, and those of the processor.

    A program that fails ends the benchmark: it would look like one that is slow.
    """
    with TemporaryDirectory() as scratch:
        path = Path(scratch) / "words.txt"
        path.write_text(instance.text)
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        process = subprocess.Popen(
            [*command, str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
        )
        try:
            output, problem = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return None, limit, limit
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        if process.returncode != 0:
            sys.exit(f"{command[0]} failed on {instance.name}: {problem.strip().rpartition(chr(10))[2]}")
        return output, time.monotonic() - began, cpu


def generated(states: int, seed: int) -> Instance:
    """A random instance."""
    rng = Random(f"{states} states, number {seed}")
    targets, outputs = _random_dfa(states, rng)
    rows: list[tuple[tuple[int, ...], int]] = []
    length = 3
    while len(rows) < 50 * states:
        left = 50 * states - len(rows)
        count = left if length >= 12 else min(left, max(2, 2 ** (length - 3)))
        words: set[tuple[int, ...]] = set()
        while len(words) < count:
            words.add(tuple(rng.randrange(2) for _ in range(length)))
        rows += [(word, outputs[_walk(targets, word)]) for word in sorted(words)]
        length += 1
    rng.shuffle(rows)
    sample = AbbadingoSample(tuple(word for word, _ in rows), tuple(output for _, output in rows), (0, 1))
    return Instance(f"{states}-{seed}", f"{states} states", write_abbadingo(sample))


def _random_dfa(states: int, rng: Random) -> tuple[list[list[int]], list[int]]:
    """Steps and outputs of a minimal DFA."""
    while True:
        targets = [[rng.randrange(states) for _ in range(2)] for _ in range(states)]
        outputs = [rng.randrange(2) for _ in range(states)]
        reached = [0]
        for state in reached:
            reached += [target for target in dict.fromkeys(targets[state]) if target not in reached]
        classes = outputs
        for _ in range(states):
            numbers: dict[tuple[int, ...], int] = {}
            keys = [(classes[s], *(classes[t] for t in targets[s])) for s in range(states)]
            classes = [numbers.setdefault(key, len(numbers)) for key in keys]
        if len(reached) == len(set(classes)) == states:
            return targets, outputs


def _walk(targets: list[list[int]], word: Iterable[int]) -> int:
    state = 0
    for symbol in word:
        state = targets[state][symbol]
    return state


def instances_in(path: Path) -> Iterator[Instance]:
    """The instances of a file, a folder or an archive, grouped by the folder or the text before the number."""
    if path.is_dir():
        for file in sorted(path.rglob("*.txt")):
            yield Instance(file.name, file.parent.name, file.read_text())
    elif tarfile.is_tarfile(path):
        with tarfile.open(path) as archive:
            for member in archive:
                content = archive.extractfile(member)
                if content is not None:
                    yield Instance(Path(member.name).name, Path(member.name).parent.name, content.read().decode())
    else:
        yield Instance(path.name, path.parent.name, path.read_text())


def _order(group: str) -> tuple[int, str]:
    number = re.search(r"\d+", group)
    return int(number[0]) if number else 0, group


def compare(instances: list[Instance], programs: dict[str, Program], limit: float) -> int:
    """Runs everything, and prints a row for each group; the number of disagreements."""
    table = Table()
    for column in ("instances", "program", "solved", "median s", "median s of processor", "largest s", "ratio to ours"):
        table.add_column(column, justify="left" if column in ("instances", "program") else "right")
    wrong = 0
    for group in sorted({i.group for i in instances}, key=_order):
        of_group = [i for i in instances if i.group == group]
        results: dict[str, list[Measured]] = {name: [] for name in programs}
        for instance in of_group:
            for name, program in programs.items():
                results[name].append(program(instance, limit))
            sizes = {measured[-1].states for measured in results.values()} - {None}
            if len(sizes) > 1:
                wrong += 1
                console.print(f"{instance.name}: sizes differ: {sizes}")
        reference = median(m.processor_seconds for m in results["ours"])
        for name, some in results.items():
            cpu, wall = median(m.processor_seconds for m in some), median(m.seconds for m in some)
            solved = sum(m.states is not None for m in some)
            least = "> " if cpu >= limit else ""
            ratio = "" if name == "ours" else f"{least}{cpu / reference:.0f} x"
            numbers = (f"{wall:.2f}", f"{cpu:.2f}", f"{max(m.seconds for m in some):.2f}", ratio)
            table.add_row(group, name, f"{solved} of {len(some)}", *numbers)
            console.print(group, name, f"{solved} of {len(some)}", *numbers)
            figures.add(name, group, "median of processor time", cpu, "s")
            figures.add(name, group, "solved", f"{solved} of {len(some)}")
    console.print(table)
    return wrong


def check(count: int) -> int:
    """Sizes beside those of a plain encoding, on small random samples, and tiny ones beside brute force.

    Returns:
        The number of samples for which one of them differs.
    """
    sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))
    from learning.plain_identification import plain_size, random_sample, some_automaton_of

    agreeing = tried = agreeing_with_brute_force = 0
    for seed in range(count):
        shape = Random(seed)
        words = random_sample(
            seed,
            states=shape.randint(1, 6),
            words=shape.randint(1, 40),
            symbols=shape.randint(1, 3),
            outputs=shape.randint(2, 4),
        )
        result = identify(words)
        assert isinstance(result, Identified)
        expected = plain_size(words)
        agreeing += result.states == expected
        if result.states != expected:
            console.print(f"sample {seed}: {result.states} states, {expected} by the plain encoding")
        symbols = len({symbol for word in words for symbol in word})
        if result.states ** (result.states * symbols) <= BRUTE_FORCE:
            tried += 1
            smallest = next((n for n in range(1, result.states + 1) if some_automaton_of(words, n)), None)
            agreeing_with_brute_force += smallest == result.states
            if smallest != result.states:
                console.print(f"sample {seed}: {result.states} states, {smallest} by brute force")
    console.print(
        f"{agreeing} of {count} sizes agree; of tiny ones with brute force, {agreeing_with_brute_force} of {tried}"
    )
    figures.add("check", "a plain encoding", "sizes that agree", f"{agreeing} of {count}")
    figures.add("check", "brute force", "sizes that agree", f"{agreeing_with_brute_force} of {tried}")
    return count - agreeing + tried - agreeing_with_brute_force


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", type=Path, help="files, folders or archives of instances")
    parser.add_argument("--generated", nargs="*", type=int, default=[], metavar="STATES", help="sizes of random DFAs")
    parser.add_argument("--count", type=int, default=10, help="generated instances of each size")
    parser.add_argument("--seed", type=int, default=1, help="number of the first generated instance")
    parser.add_argument("--limit", type=float, default=60, help="seconds for each instance")
    parser.add_argument("--dfa-identify", metavar="PYTHON", help="a Python with the package dfa-identify")
    parser.add_argument("--dfaminer", type=Path, metavar="FOLDER", help="a folder with dfaminer.py")
    parser.add_argument("--check", type=int, default=0, metavar="SAMPLES", help="compare sizes on small samples")
    asked = parser.parse_args()
    instances = [instance for path in asked.paths for instance in instances_in(path)]
    instances += [generated(n, asked.seed + k) for n in asked.generated for k in range(asked.count)]
    programs: dict[str, Program] = {"ours": ours}
    if asked.dfa_identify:
        programs["dfa-identify"] = dfa_identify(asked.dfa_identify)
    if asked.dfaminer:
        programs["DFAMiner"] = dfaminer(asked.dfaminer)
    wrong = check(asked.check) if asked.check else 0
    if instances:
        wrong += compare(instances, programs, asked.limit)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
