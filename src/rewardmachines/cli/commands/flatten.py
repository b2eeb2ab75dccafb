"""The command `hrm flatten`: a hierarchy becomes one machine without calls."""

from __future__ import annotations

from dataclasses import dataclass

from rewardmachines.cli.shared import Command, File, Flag, Output, read_hierarchy, tell_sizes, write_hierarchy
from rewardmachines.core.flattening import flatten
from rewardmachines.core.minimization import minimize
from rewardmachines.core.sizes import size


@dataclass(frozen=True)
class Flatten(Command):
    """Write a hierarchy as one machine without calls (Theorem 1)."""

    file: File
    """A machine file or a name from the library."""
    minimize: Flag = False
    """Minimize the flat machine, too."""
    output: Output = None
    """The file to write; standard output if not given."""
    json: Flag = False
    """Print JSON instead of YAML."""

    def run(self) -> int:
        hierarchy = read_hierarchy(self.file)
        flat = flatten(hierarchy)
        result = minimize(flat) if self.minimize else flat
        tell_sizes(size(hierarchy), size(result))
        write_hierarchy(result, self.output, as_json=self.json)
        return 0
