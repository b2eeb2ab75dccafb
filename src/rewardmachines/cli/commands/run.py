"""The command `hrm run`: traces go through a hierarchy, one label at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import tyro
from rich.table import Table

from rewardmachines.cli.shared import (
    Command,
    File,
    Flag,
    check_propositions,
    console,
    is_trace_file,
    read_hierarchy,
    say,
    write_json,
)
from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.traversal import HierarchyState, show_label, traverse, verdict, verdict_of
from rewardmachines.files import load_traces, parse_word
from rewardmachines.traces import Trace


@dataclass(frozen=True)
class Run(Command):
    """Run traces through a hierarchy and show where each label leads.

    Exit status 1 if a trace of a file ended differently from what the hierarchy says.
    """

    file: File
    """A machine file or a name from the library."""
    trace: Annotated[str, tyro.conf.arg(metavar="TRACE")]
    """Labels such as "iron {} table,cow" ({} is the empty label), or a trace file (JSON lines)."""
    ignore_unknown: Flag = False
    """Accept propositions that the hierarchy does not declare; no formula mentions them, so they change nothing."""
    events: Flag = False
    """Only labels that differ from the one before move the hierarchy, as in environments; without it, every label."""
    json: Flag = False
    """Print JSON."""

    def run(self) -> int:
        hierarchy = read_hierarchy(self.file)
        from_file = is_trace_file(self.trace)
        traces = load_traces(self.trace) if from_file else [Trace(parse_word(self.trace))]
        if not self.ignore_unknown:
            check_propositions(hierarchy, traces, self.trace if from_file else "", "; --ignore-unknown lets it pass")
        runs = [list(traverse(hierarchy, trace.labels, events=self.events)) for trace in traces]
        explained = [verdict_of(hierarchy, r[-1]) is t.outcome.verdict for r, t in zip(runs, traces, strict=True)]
        if self.json:
            rows = [_plain_run(hierarchy, t, r) for t, r in zip(traces, runs, strict=True)]
            write_json([{**row, "events": self.events} for row in rows])
        elif len(traces) == 1:
            _print_steps(hierarchy, traces[0].labels, runs[0])
            self._print_what_moved()
            say(f"verdict: {verdict_of(hierarchy, runs[0][-1]).value}")
            self._print_other_verdict(hierarchy, traces[0].labels)
        else:
            _print_summary(hierarchy, traces, runs, explained)
            self._print_what_moved()
            say(f"{sum(explained)} of {len(traces)} traces explained")
        return 1 if from_file and not all(explained) else 0

    def _print_what_moved(self) -> None:
        say("moved by events: labels that differ from the one before" if self.events else "moved by every label")

    def _print_other_verdict(self, hierarchy: Hierarchy, labels: tuple[Label, ...]) -> None:
        """Says what the hierarchy would have said had the other labels moved it, if that is something else."""
        ours, other = (verdict(hierarchy, labels, events=events) for events in (self.events, not self.events))
        if other is not ours:
            how = "without --events" if self.events else "as in environments, with --events"
            say(f"{how}: {other.value}")


def _plain_run(hierarchy: Hierarchy, trace: Trace, states: list[HierarchyState]) -> dict[str, Any]:
    return {
        "labels": [sorted(label) for label in trace.labels],
        "states": [
            {
                "machine": s.machine,
                "state": s.state,
                "stack": [{"from": c.source, "to": c.target, "caller": c.caller, "callee": c.callee} for c in s.stack],
                "verdict": verdict_of(hierarchy, s).value,
            }
            for s in states
        ],
        "verdict": verdict_of(hierarchy, states[-1]).value,
    }


def _print_steps(hierarchy: Hierarchy, labels: tuple[Label, ...], states: list[HierarchyState]) -> None:
    table = Table("step", "label", "machine", "state", "stack (innermost last)", "verdict")
    for i, state in enumerate(states):
        stack = "  ".join(f"{c.caller}: {c.source} -> {c.target} by {c.callee}" for c in state.stack)
        label = show_label(labels[i - 1]) if i else ""
        said = verdict_of(hierarchy, state).value
        table.add_row(str(i) if i else "start", label, state.machine, state.state, stack, said)
    console().print(table)


def _print_summary(
    hierarchy: Hierarchy, traces: list[Trace], runs: list[list[HierarchyState]], explained: list[bool]
) -> None:
    table = Table("trace", "labels", "outcome", "verdict", "ends in", "explained")
    for i, (trace, states, fits) in enumerate(zip(traces, runs, explained, strict=True), start=1):
        last = states[-1]
        row = (len(trace), trace.outcome.value, verdict_of(hierarchy, last).value, f"{last.machine} {last.state}")
        table.add_row(str(i), *map(str, row), "yes" if fits else "no")
    console().print(table)
