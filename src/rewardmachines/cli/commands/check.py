"""The command `hrm check`: is a hierarchy deterministic, and can all of it be reached?"""

from __future__ import annotations

from dataclasses import dataclass

from rewardmachines.cli.shared import (
    Command,
    File,
    Flag,
    LabelChoice,
    describe_labels,
    read_hierarchy,
    read_labels,
    say,
    write_json,
)
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.labelsets import Labels, with_label_sets
from rewardmachines.core.reachability import Conflict, Reachability, check_determinism


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
            write_json(
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
            say(f"not deterministic on {describe_labels(labels)}:")
            for conflict in conflicts:
                say(f"  {conflict}")
            say("add a context to one of the two, such as the negation of what starts the other")
        else:
            count = "1 machine" if machines == 1 else f"{machines} machines"
            say(f"deterministic on {describe_labels(labels)}: {count}, height {hierarchy.height}")
        for remark in remarks:
            say(f"  remark: {remark}")


def _plain_conflict(conflict: Conflict) -> dict[str, object]:
    return {
        "machine": conflict.machine,
        "state": conflict.state,
        "edges": [str(conflict.first), str(conflict.second)],
        "label": sorted(conflict.label),
    }


def _remarks(hierarchy: Hierarchy, labels: Labels) -> list[str]:
    """Finds what is allowed but hardly meant: machines, states and edges that no trace can reach."""
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
