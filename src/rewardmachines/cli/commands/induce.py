"""The command `hrm induce`: the smallest machine that explains traces."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import Annotated, Any, Final

import tyro
from rich.live import Live
from rich.text import Text

from rewardmachines.cli.shared import (
    Command,
    Flag,
    Output,
    SafeConsole,
    log,
    naming_lines,
    read_callables,
    write_hierarchy,
    write_json,
)
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.files import plain, read_traces, save
from rewardmachines.learning import Engine, Learned, Progress, Result, TimedOut, induce
from rewardmachines.learning.learner import MAX_STATES, Watch
from rewardmachines.learning.limits import SearchLimits
from rewardmachines.learning.results import GivenUp, Noise
from rewardmachines.learning.task import show_word

Files = Annotated[tuple[str, ...], tyro.conf.UseAppendAction, tyro.conf.arg(metavar="FILE")]


@dataclass(frozen=True)
class Induce(Command):
    """Learn the smallest machine that explains traces: fewest states, then fewest edges, then fewest literals.

    The machine may call others, given with --callable. Exit status 1 if there is no such machine within the limits.
    Some trace must have reached the goal or a dead end; from incomplete ones alone nothing can be learned.
    """

    traces: Files
    """A trace file (JSON lines), such as `hrm traces` records; repeat for more."""
    callable: Files = ()
    """A machine that may be called: a file, a pattern such as 'lib/*.yaml', or a library name; repeat for more."""
    max_states: int = MAX_STATES
    """The largest size to try; the rejecting state is not counted."""
    disjuncts: int = 1
    """The largest number of disjuncts between two states."""
    cyclic: Flag = False
    """Let machines return to states that they left."""
    negative: Flag = False
    """Let edges do without a positive literal."""
    no_prefix: Flag = False
    """The traces were not stopped at their end: do not conclude that their prefixes are incomplete."""
    propositions: Annotated[tuple[str, ...], tyro.conf.arg(metavar="P")] = ()
    """The propositions that formulas may mention; all that occur, if not given."""
    noise: Annotated[float | None, tyro.conf.arg(metavar="RATE")] = None
    """The share of the traces that may be wrong, such as 0.05: find a machine that explains the others."""
    certify: Flag = False
    """With --noise, search for the proof that every machine with fewer states makes more mistakes."""
    timeout: Annotated[float | None, tyro.conf.arg(metavar="SECONDS")] = None
    """The time budget; reading the traces counts."""
    memory: Annotated[float | None, tyro.conf.arg(metavar="GIB")] = None
    """The memory limit of each process: this one, and every solver."""
    engine: Annotated[Engine, tyro.conf.EnumChoicesFromValues] = Engine.SAT
    """The solver: sat is fast, clingo runs the paper's own rules."""
    name: Annotated[str, tyro.conf.arg(metavar="NAME")] = "root"
    """The name of the machine."""
    output: Output = None
    """The file to write; standard output if not given."""
    json: Flag = False
    """Print the machine, the sizes that were refuted, and the time, as JSON."""

    def run(self) -> int:
        memory = None if self.memory is None else memory_bytes(self.memory)
        limits = SearchLimits(self.timeout, memory)
        with naming_lines(self.traces), display() as watch:
            result = induce(
                chain.from_iterable(map(read_traces, self.traces)),
                self.propositions or None,
                read_callables(self.callable),
                noise=self.noise,
                certify=self.certify,
                max_states=self.max_states,
                timeout=self.timeout,
                memory=memory,
                disjuncts=self.disjuncts,
                acyclic=not self.cyclic,
                negative_formulas=self.negative,
                prefix_knowledge=not self.no_prefix,
                engine=self.engine,
                name=self.name,
                watch=watch,
                limits=limits,
            )
        self._report(result)
        return status(result)

    def _report(self, result: Result) -> None:
        if self.json:
            write_json(plain_result(result))
        log(result_summary(result))
        if isinstance(result, Learned):
            if result.noise is not None and not self.json:
                for given_up in result.noise.given_up:
                    log(f"given up: {_given_up(given_up)}")
            if self.output is not None:
                save(result.hierarchy, self.output)
                log(f"wrote {self.output}")
            elif not self.json:
                write_hierarchy(result.hierarchy, None, as_json=False)


def memory_bytes(gibibytes: float) -> int:
    """The bytes of a number of GiB."""
    if not 0 < gibibytes * 2**30 < math.inf:
        raise RewardMachineError(f"--memory is a number of GiB above 0, not {gibibytes:g}")
    return math.ceil(gibibytes * 2**30)


def status(result: Result) -> int:
    """A solver that was killed from outside is not an answer, unlike a budget that is spent."""
    if isinstance(result, TimedOut) and result.reason == "killed":
        return 2
    if isinstance(result, Learned):
        return 0 if result.noise is None or result.noise.is_plausible else 1
    return 1


ENDS: Final = {
    "time": "out of time",
    "memory": "out of memory",
    "killed": "a solver was killed, perhaps because the system ran out of memory (see --memory)",
}


def result_summary(result: Result) -> str:
    """The result of a search in a line."""
    refuted = f"; refuted: {', '.join(map(str, result.refuted))} states" if result.refuted else ""
    spent = f"{result.seconds:.2f} s, {result.calls} calls"
    if isinstance(result, Learned) and result.noise is not None:
        return f"{result.states} states, {len(result.machine.edges)} edges; {_noise(result.noise)}; {spent}{refuted}"
    if isinstance(result, Learned):
        exact = (
            "" if result.certificate.edges_minimal else " (not proved to have the fewest edges: a limit was reached)"
        )
        return f"{result.states} states, {len(result.machine.edges)} edges{exact}; {spent}{refuted}"
    if isinstance(result, TimedOut):
        return f"{ENDS[result.reason]}: a machine has at least {result.bound} states; {spent}{refuted}"
    return (
        f"no machine of up to {result.max_states} states explains the traces; {spent}; try more --max-states, "
        "--disjuncts, --cyclic or --negative"
    )


def _noise(noise: Noise) -> str:
    """The mistakes of a machine, beside those that the rate allows."""
    allowed = f"{noise.mistakes} of {noise.traces} traces given up, {noise.allowed} allowed"
    if not noise.is_plausible:
        return f"{allowed}: not a likely machine; record more episodes, or give a higher --noise"
    return f"{allowed}; {_proved(noise)}"


def _proved(noise: Noise) -> str:
    """The size of a machine, as far as it is proved."""
    if noise.is_certified:
        return "proved to be the smallest with so few mistakes"
    missing = next((bound for bound in noise.bounds if bound.mistakes <= noise.mistakes), None)
    if missing is None:
        return "not proved to be the smallest"
    end = f" ({ENDS[missing.reason]})" if missing.reason is not None else ""
    return (
        f"not proved to be the smallest{end}: one of {missing.states} states makes at least {missing.mistakes} mistakes"
    )


def _given_up(given_up: GivenUp) -> str:
    """A trace that was given up, as far as the machine explains it and one label more."""
    times = f"{given_up.weight} times " if given_up.weight > 1 else ""
    error, trace = given_up.error, given_up.trace
    end = trace.outcome.value if len(error) == len(trace) else "the episode went on"
    return f"{times}{show_word(error.labels)} {end}"


def plain_result(result: Result) -> dict[str, Any]:
    """The result of a search as JSON shows it."""
    content: dict[str, Any] = {
        "result": {"Learned": "learned", "TimedOut": "timed_out"}.get(type(result).__name__, "unsatisfiable"),
        "refuted": list(result.refuted),
        "seconds": result.seconds,
        "calls": result.calls,
    }
    if isinstance(result, Learned):
        proof = result.certificate
        content |= {"states": result.states, "edges": len(result.machine.edges), "machine": plain(result.hierarchy)}
        if result.noise is not None:
            content["noise"] = _plain_noise(result.noise)
        content |= {"edges_minimal": proof.edges_minimal, "literals_minimal": proof.literals_minimal}
    elif isinstance(result, TimedOut):
        content |= {"bound": result.bound, "reason": result.reason}
    return content


def _plain_noise(noise: Noise) -> dict[str, Any]:
    return {
        "rate": noise.rate,
        "traces": noise.traces,
        "mistakes": noise.mistakes,
        "allowed": noise.allowed,
        "plausible": noise.is_plausible,
        "certified": noise.is_certified,
        "bounds": [
            {"states": b.states, "mistakes": b.mistakes, "traces": b.told, "seconds": b.seconds, "reason": b.reason}
            for b in noise.bounds
        ],
        "given_up": [
            {
                "labels": [sorted(label) for label in given_up.trace.labels],
                "outcome": given_up.trace.outcome.value,
                "times": given_up.weight,
                "wrong_at": len(given_up.error),
            }
            for given_up in noise.given_up
        ],
    }


@contextmanager
def display() -> Iterator[Watch]:
    """The progress of the search in a line, on a terminal only."""
    console = SafeConsole(stderr=True)
    if not console.is_terminal:
        yield lambda _: None
        return
    with Live(console=console, refresh_per_second=8, transient=True) as live:

        def watch(progress: Progress) -> None:
            line = (
                f"{progress.states} states · {progress.traces} traces · {progress.seconds:.1f} s · {progress.activity}"
            )
            live.update(Text(line))

        yield watch
