"""Commands that answer a question about hierarchies."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated

import tyro
from rich.table import Table

from rewardmachines.cli.command import (
    Command,
    File,
    Flag,
    LabelChoice,
    console,
    describe_labels,
    put_json,
    read_hierarchy,
    read_labels,
)
from rewardmachines.core.equivalence import difference
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.labelsets import Labels, with_label_sets
from rewardmachines.core.reachability import Conflict, Reachability, check_determinism
from rewardmachines.core.sizes import flat_size, size
from rewardmachines.core.traversal import show_label, verdict


@dataclass(frozen=True)
class Check(Command):
    """Check that a hierarchy is deterministic, and look for parts that can never be reached.

    Whether names, calls and formulas are sound is checked whenever a file is read. Exit status 1 if some label could
    start two calls at once.
    """

    file: File
    """A machine file or a name from the library."""
    labels: LabelChoice = "all"
    """The labels that can occur: all of them, those of at most one proposition, or those that satisfy a formula."""
    json: Flag = False
    """Print JSON."""

    def run(self) -> int:
        hierarchy = read_hierarchy(self.file)
        labels = read_labels(self.labels, hierarchy)
        conflicts = check_determinism(hierarchy, labels)
        remarks = [] if conflicts else _remarks(hierarchy, labels)
        if self.json:
            put_json(
                {
                    "deterministic": not conflicts,
                    "conflicts": [_plain_conflict(c) for c in conflicts],
                    "remarks": remarks,
                }
            )
        else:
            self._print(hierarchy, labels, conflicts, remarks)
        return 1 if conflicts else 0

    def _print(self, hierarchy: Hierarchy, labels: Labels, conflicts: list[Conflict], remarks: list[str]) -> None:
        machines = len(hierarchy.reachable())
        if conflicts:
            print(f"not deterministic on {describe_labels(labels)}:")
            for conflict in conflicts:
                print(f"  {conflict}")
            print("add a context to one of the two, such as the negation of what starts the other")
        else:
            what = "1 machine" if machines == 1 else f"{machines} machines"
            print(f"deterministic on {describe_labels(labels)}: {what}, height {hierarchy.height}")
        for remark in remarks:
            print(f"  remark: {remark}")


def _plain_conflict(conflict: Conflict) -> dict[str, object]:
    return {
        "machine": conflict.machine,
        "state": conflict.state,
        "edges": [str(conflict.first), str(conflict.second)],
        "label": sorted(conflict.label),
    }


def _remarks(hierarchy: Hierarchy, labels: Labels) -> list[str]:
    """What is allowed but hardly meant."""
    reach = with_label_sets([hierarchy], labels, lambda sets, allowed: Reachability(hierarchy, sets, allowed))
    remarks = []
    for machine in hierarchy.machines:
        reached = reach.states.get(machine.name)
        if reached is None:
            remarks.append(f"machine '{machine.name}' is never called")
            continue
        if not reached & machine.accepting:
            remarks.append(f"machine '{machine.name}' can never accept")
        remarks += [
            f"machine '{machine.name}': no trace reaches the state '{state}'"
            for state in machine.states
            if state not in reached and state not in machine.accepting
        ]
        remarks += [
            f"machine '{machine.name}': the edge {edge} can never start"
            for edge in machine.edges
            if edge.source in reached and (machine.name, edge) not in reach.edges
        ]
    return remarks


@dataclass(frozen=True)
class Equivalent(Command):
    """Compare two hierarchies: do they give the same verdict on every trace?

    Exit status 0 if they do, 1 if they do not; then a shortest trace that tells them apart is printed.
    """

    a: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="A")]
    """A machine file or a name from the library."""
    b: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="B")]
    """The other one."""
    labels: LabelChoice = "all"
    """The labels that can occur: all of them, those of at most one proposition, or those that satisfy a formula."""
    events: Flag = False
    """Only traces in which no two neighbouring labels are equal, as recorded in episodes."""
    json: Flag = False
    """Print JSON."""

    def run(self) -> int:
        a, b = read_hierarchy(self.a), read_hierarchy(self.b)
        labels = read_labels(self.labels, a, b)
        word = difference(a, b, labels=labels, events=self.events)
        verdicts = None if word is None else {self.a: verdict(a, word).value, self.b: verdict(b, word).value}
        if self.json:
            trace = None if word is None else [sorted(label) for label in word]
            pair = None if word is None else [verdict(a, word).value, verdict(b, word).value]
            put_json({"equivalent": word is None, "trace": trace, "verdicts": pair})
        elif word is None:
            print(f"equivalent on {describe_labels(labels)}")
        else:
            print(f"different: {' '.join(map(show_label, word)) or 'the empty trace'}")
            for name, said in (verdicts or {}).items():
                print(f"  {name}: {said}")
        return 0 if word is None else 1


@dataclass(frozen=True)
class Stats(Command):
    """Count machines, states and edges, and how many it would take without calls.

    The flat size is computed, not built: the recurrences of Theorem 2, for the machines at hand.
    """

    file: File
    """A machine file or a name from the library."""
    json: Flag = False
    """Print JSON."""

    def run(self) -> int:
        hierarchy = read_hierarchy(self.file)
        machines = hierarchy.reachable()
        whole, flat = size(hierarchy), flat_size(hierarchy)
        if self.json:
            put_json(
                {
                    "root": hierarchy.root,
                    "height": hierarchy.height,
                    "propositions": len(hierarchy.propositions),
                    "machines": {
                        m.name: {
                            "height": hierarchy.heights[m.name],
                            "states": len(m.states),
                            "edges": len(m.edges),
                            "disjuncts": sum(len(e.formula.disjuncts) for e in m.edges),
                        }
                        for m in machines
                    },
                    "hierarchy": asdict(whole),
                    "flat": asdict(flat),
                }
            )
            return 0
        table = Table("machine", "height", "states", "edges", "calls")
        for m in machines:
            row = (hierarchy.heights[m.name], len(m.states), len(m.edges))
            table.add_row(m.name, *map(str, row), ", ".join(sorted(m.callees)))
        table.add_section()
        table.add_row("together", str(hierarchy.height), str(whole.states), str(whole.edges), "")
        table.add_row("flat", "1", f"{flat.states:,}", f"{flat.edges:,}", "")
        console().print(table)
        return 0
