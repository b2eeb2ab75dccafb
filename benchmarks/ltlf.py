"""LTLf to smallest machines: public formulas by family, the templates of the field, and machines beside the definition.

    python benchmarks/ltlf.py PATH                            formulas to report: every second line of a file
    python benchmarks/ltlf.py PATH --half tuning              the other lines, on which settings may be chosen
    python benchmarks/ltlf.py PATH --ltlf2dfa VENV/bin/python   LTLf2DFA with MONA on the same formulas, in the same run
    python benchmarks/ltlf.py --templates                     the 31 templates of docs/ltlf.md
    python benchmarks/ltlf.py --exact 10000                   random formulas beside the definition, 60 traces each
    python benchmarks/ltlf.py --same 500 --ltlf2dfa VENV/bin/python   random formulas beside the automata of MONA

A file has a line for each formula, `name TAB formula`, as plain text or compressed by gzip; SYNTCOMP publishes such
formulas for finite traces (tlsf-fin), in which a bare X is weak. A family is the part of a name before its last two
slashes. *Automaton* is the smallest deterministic automaton with decision diagrams for moves, which is what MONA
computes; *machine* has formulas on its edges too, and is judged at the end of a trace, which is exact for every
formula: LTLf2DFA's result has formulas on edges, so that its times stand beside those of machines. All times are
seconds of the processor, and begin with the text of a formula. A formula that is not solved counts as slower than all
that are.
"""

from __future__ import annotations

import argparse
import gzip
import json
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import median
from typing import Final

from record import Figures
from rich.console import Console
from rich.progress import track
from rich.table import Table

from rewardmachines.core.equivalence import difference
from rewardmachines.core.errors import ContradictionError, RewardMachineError, TooLargeError
from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.traversal import Verdict, verdict
from rewardmachines.exchange import from_dot
from rewardmachines.language.ltlf import Limits, compile_ltlf, holds
from rewardmachines.language.ltlf.diagrams import Allowance, long_computation
from rewardmachines.language.ltlf.syntax import Next, parse_ltlf
from rewardmachines.language.ltlf.translation import ltlf_automaton

figures = Figures("ltlf", on_cpu=True)
console = Console(width=140, highlight=False)

TEMPLATES: Final = Path(__file__).parents[1] / "docs" / "ltlf" / "templates.toml"
END: Final = "the end"
MEMORY: Final = 3
"""GiB for one process."""
SECONDS: Final = (1.0, 10.0, 60.0)
TARGETS: Final = {
    "Random/Syft": (10.0, "99.5 %"),
    "Random/Lydia": (60.0, "79 %"),
    "Two-player-Game/Nim": (60.0, "20 % of the whole set"),
    "all": (10.0, "72 % of the whole set"),
}


@dataclass(frozen=True)
class Problem:
    """A formula, and the family that it belongs to."""

    name: str
    formula: str

    @property
    def family(self) -> str:
        """The first two parts of the name."""
        return "/".join(self.name.split("/")[:2])


@dataclass(frozen=True)
class Solved:
    """Seconds until the automaton and the machine were there; None if they were not, within the limit."""

    automaton: float | None = None
    machine: float | None = None
    states: int = 0
    why: str = ""


def problems_in(path: Path, half: str) -> list[Problem]:
    """The formulas of a file: those to report, those for tuning, or all."""
    text = gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text()
    lines = text.splitlines()
    chosen = {"report": lines[1::2], "tuning": lines[::2], "all": lines}[half]
    return [Problem(*line.split("\t")) for line in chosen]


# -- ours


def solve(job: tuple[Problem, float, bool]) -> Solved:
    """What comes of a formula within the limit, in seconds of this process; the machine only where it is asked for."""
    problem, limit, with_machine = job
    limits = Limits(states=10**7, edges=10**7, nodes=10**8, seconds=limit)
    began = time.thread_time()
    try:
        parsed = parse_ltlf(problem.formula)
        atoms = {name: level for level, name in enumerate(parsed.names)}
        with long_computation():
            states = ltlf_automaton(parsed, atoms, Next.WEAK, Allowance(limits)).size
    except (TooLargeError, MemoryError) as error:
        return Solved(why=str(error) or "memory")
    automaton = time.thread_time() - began
    if automaton > limit:
        return Solved(why="seconds")
    if not with_machine:
        return Solved(automaton, states=states)
    began = time.thread_time()
    try:
        compile_ltlf(problem.formula, next="weak", end=END, limits=limits)
    except ContradictionError:
        pass
    except (TooLargeError, MemoryError) as error:
        return Solved(automaton, states=states, why=str(error) or "memory")
    machine = time.thread_time() - began
    return Solved(automaton, machine if machine <= limit else None, states)


def _begin_process(gibibytes: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (gibibytes << 30,) * 2)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def solved_by_us(problems: list[Problem], asked: argparse.Namespace) -> list[Solved]:
    """All formulas, side by side."""
    jobs = [(problem, asked.limit, not asked.automata) for problem in problems]
    context = multiprocessing.get_context("fork")
    with context.Pool(asked.processes, _begin_process, (asked.memory,), maxtasksperchild=8) as pool:
        results = pool.imap(solve, jobs)
        return list(track(results, "ours", len(jobs), console=Console(stderr=True)))


# -- LTLf2DFA

LTLF2DFA: Final = """
import json, os, resource, sys
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]),) * 2)
os.setsid = lambda: None  # MONA ends with this process
from ltlf2dfa.parser.ltlf import LTLfParser
def seconds():
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
formula = sys.stdin.read()
began = seconds()
dot = LTLfParser()(formula).to_dfa()
print(json.dumps([seconds() - began, dot]))
"""


def for_ltlf2dfa(formula: str) -> str:
    """A formula with weak X in the grammar of LTLf2DFA, where X is strong."""
    return formula.replace("X[!]", "\0").replace("WX", "X").replace("X", "WX").replace("\0", "X")


def ltlf2dfa(formula: str, asked: argparse.Namespace) -> tuple[float, str] | None:
    """Seconds of the processor, MONA's among them, and the graph; None if there is none within the limit."""
    command, limit = [asked.ltlf2dfa, "-c", LTLF2DFA, str(asked.memory << 30)], asked.limit
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    try:
        # The import of its libraries does not count, nor do other programs on the machine.
        output, _ = process.communicate(for_ltlf2dfa(formula), timeout=2 * limit + 2)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return None
    if process.returncode != 0:
        return None
    seconds, dot = json.loads(output.splitlines()[-1])
    is_empty = dot.count("->") < 2  # where MONA fails, there is nothing but the arrow to the initial state
    return (seconds, dot) if seconds <= limit and not is_empty else None


# -- by family


def compare(problems: list[Problem], asked: argparse.Namespace) -> None:
    """Rows for families, and for all of several: what is solved within 1, 10 and 60 s, and LTLf2DFA beside it."""
    ours, limit, with_machines = solved_by_us(problems, asked), asked.limit, not asked.automata
    families = sorted({problem.family for problem in problems})
    table = Table()
    columns = ["family", "formulas", *(f"automaton in {s:g} s" for s in SECONDS if s <= limit), "machine", "median s"]
    for column in (*columns, "asked"):
        table.add_column(column, justify="left" if column == "family" else "right")
    for family in [*families, "all"] if len(families) > 1 else families:
        of_family = [each for p, each in zip(problems, ours, strict=True) if family in (p.family, "all")]
        cells = []
        for seconds in SECONDS:
            if seconds <= limit:
                share = sum(_is_within(each.automaton, seconds) for each in of_family) / len(of_family)
                figures.add("families", family, f"automaton in {seconds:g} s", f"{share:.1%}")
                cells.append(f"{share:.1%}")
        share = sum(_is_within(each.machine, limit) for each in of_family) / len(of_family)
        if with_machines:
            figures.add("families", family, f"machine in {limit:g} s", f"{share:.1%}")
        times = [each.automaton if each.automaton is not None else limit for each in of_family]
        target = f"{TARGETS[family][1]} in {TARGETS[family][0]:g} s" if family in TARGETS else ""
        table.add_row(
            family, str(len(of_family)), *cells, f"{share:.1%}" if with_machines else "", f"{median(times):.3f}", target
        )
    console.print(table)
    if asked.ltlf2dfa is not None:
        _compare_with_ltlf2dfa(problems, ours, asked)


def _is_within(seconds: float | None, limit: float) -> bool:
    return seconds is not None and seconds <= limit


def _compare_with_ltlf2dfa(problems: list[Problem], ours: list[Solved], asked: argparse.Namespace) -> None:
    theirs = [ltlf2dfa(problem.formula, asked) for problem in track(problems, "LTLf2DFA", console=Console(stderr=True))]
    both = [
        (mine.machine, other[0])
        for mine, other in zip(ours, theirs, strict=True)
        if mine.machine is not None and other is not None
    ]
    faster, found = sum(mine < other for mine, other in both), sum(other is not None for other in theirs)
    console.print(
        f"LTLf2DFA with MONA solves {found} of {len(problems)} in {asked.limit:g} s, "
        f"ours (machine) {sum(each.machine is not None for each in ours)}; both {len(both)}"
    )
    if both:
        ratio = median(other / mine for mine, other in both)
        console.print(
            f"ours is faster on {faster} of them ({faster / len(both):.1%}; asked 95 %), median {ratio:.1f} x"
        )
        figures.add("beside LTLf2DFA", "solved by both", "ours faster", f"{faster} of {len(both)}")
        figures.add("beside LTLf2DFA", "solved by both", "median ratio", f"{ratio:.1f} x")


# -- templates


def templates() -> None:
    """The time of each template, from text to machine, the best of five."""
    rows = []
    for template in tomllib.loads(TEMPLATES.read_text())["template"]:
        times = []
        for _ in range(5):
            began = time.perf_counter()
            try:
                compile_ltlf(template["formula"])
            except RewardMachineError:  # it asks for nothing: it is judged at the end
                began = time.perf_counter()
                compile_ltlf(template["formula"], end="done")
            times.append(time.perf_counter() - began)
        rows.append((min(times), template["name"]))
    slowest, name = max(rows)
    milliseconds = median(seconds for seconds, _ in rows) * 1e3
    console.print(
        f"{len(rows)} templates: median {milliseconds:.2f} ms, slowest {slowest * 1e3:.2f} ms ({name}); asked 5 ms"
    )
    figures.add("templates", f"{len(rows)} templates", "median", milliseconds / 1e3, "s")
    figures.add("templates", f"{len(rows)} templates", "slowest", slowest, "s")


# -- beside the definition, and beside MONA

ATOMS: Final = ("a", "b", "c")


def random_formula(random: Random, depth: int = 4) -> str:
    """A formula of all future operators that both grammars have."""
    if depth == 0 or random.random() < 0.15:
        return random.choice((*ATOMS, "true", "false", "last"))
    if random.random() < 0.45:
        operator = random.choice(("!", "X[!] ", "WX ", "F ", "G "))
        return f"{operator}({random_formula(random, depth - 1)})"
    operator = random.choice(("&", "|", "->", "<->", "U", "R"))
    return f"(({random_formula(random, depth - 1)}) {operator} ({random_formula(random, depth - 1)}))"


def random_traces(random: Random, count: int) -> Iterator[list[Label]]:
    """Traces of up to eight labels."""
    for _ in range(count):
        yield [frozenset(p for p in ATOMS if random.random() < 0.5) for _ in range(random.randint(0, 8))]


def machine_at_end(formula: str) -> Hierarchy | None:
    """The machine that is judged at the end, None where no trace satisfies the formula."""
    try:
        return compile_ltlf(formula, end="done", propositions=[*ATOMS, "done"])
    except ContradictionError:
        return None


def exact(count: int) -> int:
    """The number of random formulas on which a machine and the definition differ."""
    wrong, judged = 0, 0
    for seed in track(range(count), "formulas", console=Console(stderr=True)):
        random = Random(seed)
        formula = random_formula(random)
        machine = machine_at_end(formula)
        for trace in random_traces(random, 60):
            judged += 1
            found = Verdict.REJECT if machine is None else verdict(machine, [*trace, frozenset({"done"})])
            if (found is Verdict.ACCEPT) != holds(formula, trace):
                wrong += 1
                console.print(f"{formula} on {trace}: {found}")
                break
    console.print(f"{count:,} formulas, {judged:,} traces: {wrong} differ from the definition")
    figures.add("exactness", f"{count:,} random formulas", "differences", f"{wrong}")
    return wrong


def same(asked: argparse.Namespace) -> int:
    """The number of random formulas whose machine differs from MONA's automaton, where no reason is known."""
    counts = {"equal": 0, "equal but for the empty trace": 0, "no automaton": 0, "unsatisfiable": 0, "different": 0}
    for seed in track(range(asked.same), "formulas", console=Console(stderr=True)):
        formula = random_formula(Random(f"same {seed}"))
        agreement, word = _agreement(formula, asked)
        # MONA has no first or last position to speak of in an empty trace.
        if word == [frozenset({"done"})] and _agreement(f"(F (true)) & ({formula})", asked)[0] == "equal":
            agreement = "equal but for the empty trace"
        if agreement == "different":
            console.print(f"{formula}: {word}")
        counts[agreement] += 1
    console.print(f"{asked.same} formulas beside MONA: {', '.join(f'{n} {what}' for what, n in counts.items() if n)}")
    figures.add("beside MONA", f"{asked.same} random formulas", "differences", f"{counts['different']}")
    return counts["different"]


def _agreement(formula: str, asked: argparse.Namespace) -> tuple[str, list[Label] | None]:
    """Whether a machine and MONA's automaton are the same, and a shortest trace on which they are not."""
    found = ltlf2dfa(formula, asked)
    if found is None:
        return "no automaton", None
    ours = machine_at_end(formula)
    if ours is None:
        return "unsatisfiable", None  # MONA's automaton of no trace is one of the empty trace
    try:
        word = difference(ours, from_dot(found[1], end="done"))
    except RewardMachineError:
        return "different", None
    return ("equal", None) if word is None else ("different", list(word))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", type=Path, help="files of formulas")
    parser.add_argument(
        "--half", choices=["report", "tuning", "all"], default="report", help="the lines that are taken"
    )
    parser.add_argument("--family", help="only families whose name has this in it")
    parser.add_argument("--automata", action="store_true", help="automata only, no machines")
    parser.add_argument("--limit", type=float, default=10, help="seconds for each formula")
    parser.add_argument("--memory", type=int, default=MEMORY, metavar="GIB", help="memory of each process")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="formulas side by side, ours alone")
    parser.add_argument(
        "--ltlf2dfa", metavar="PYTHON", help="a Python with the package ltlf2dfa; MONA must be installed"
    )
    parser.add_argument("--templates", action="store_true", help="times of the templates")
    parser.add_argument(
        "--exact", type=int, default=0, metavar="FORMULAS", help="random formulas beside the definition"
    )
    parser.add_argument("--same", type=int, default=0, metavar="FORMULAS", help="random formulas beside MONA")
    asked = parser.parse_args()
    if asked.same and asked.ltlf2dfa is None:
        parser.error("--same takes --ltlf2dfa PYTHON")
    if asked.automata and asked.ltlf2dfa is not None and asked.paths:
        parser.error("LTLf2DFA makes formulas on edges: it is compared with machines, without --automata")
    problems = [problem for path in asked.paths for problem in problems_in(path, asked.half)]
    problems = [problem for problem in problems if asked.family is None or asked.family in problem.family]
    if asked.templates:
        templates()
    if problems:
        compare(problems, asked)
    wrong = exact(asked.exact) if asked.exact else 0
    wrong += same(asked) if asked.same else 0
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
