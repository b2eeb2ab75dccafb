"""The command `hrm minimize`: whatever adds nothing to a hierarchy is removed."""

from __future__ import annotations

from dataclasses import dataclass

from rewardmachines.cli.shared import (
    Command,
    File,
    Flag,
    LabelChoice,
    Output,
    read_hierarchy,
    read_labels,
    tell_sizes,
    write_hierarchy,
)
from rewardmachines.core.minimization import minimize
from rewardmachines.core.sizes import size


@dataclass(frozen=True)
class Minimize(Command):
    """Remove states, edges, literals and machines that add nothing.

    A flat machine becomes the smallest one; a hierarchy is minimized machine by machine.
    """

    file: File
    """A machine file or a name from the library."""
    labels: LabelChoice = "all"
    """The labels that can occur: all of them, those of at most one proposition, or those that satisfy a formula."""
    output: Output = None
    """The file to write; standard output if not given."""
    json: Flag = False
    """Print JSON instead of YAML."""

    def run(self) -> int:
        hierarchy = read_hierarchy(self.file)
        result = minimize(hierarchy, read_labels(self.labels, hierarchy))
        tell_sizes(size(hierarchy), size(result))
        write_hierarchy(result, self.output, as_json=self.json)
        return 0
