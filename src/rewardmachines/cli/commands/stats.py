"""The command `hrm stats`: the sizes of a hierarchy and of its flat machine."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from rich.table import Table

from rewardmachines.cli.shared import Command, File, Flag, console, read_hierarchy, write_json
from rewardmachines.core.sizes import flat_size, size


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
            write_json(
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
