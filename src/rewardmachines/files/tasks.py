"""Task files (YAML or JSON): named task expressions that use each other.

propositions: [sugarcane, workbench, rabbit, table]    # optional: with it, other propositions are errors
avoid: [lava]                                          # optional
tie: neither                                           # optional: neither, left or right
tasks:
paper: sugarcane ; workbench
leather: rabbit ; workbench
book: (paper & leather) ; table
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.files.document import parse_document, read_text
from rewardmachines.language import Ignored, Tie, compile_task


@dataclass(frozen=True)
class TaskFile:
    """The content of a task file: tasks by name, and how to compile them."""

    tasks: Mapping[str, str]
    propositions: tuple[str, ...] | None = None
    avoid: tuple[str, ...] = ()
    tie: Tie = Tie.NEITHER

    def compile(
        self, expression: str, *, name: str = "task", watch: Callable[[Ignored], None] | None = None
    ) -> Hierarchy:  # fmt: skip
        """The hierarchy of a task of the file, or of an expression with its tasks; `watch` as for `compile_task`."""
        return compile_task(
            expression,
            self.tasks,
            avoid=self.avoid,
            propositions=self.propositions,
            tie=self.tie,
            name=name,
            watch=watch,
        )


def load_tasks(path: str | Path) -> TaskFile:
    """The tasks of a task file.

    Args:
        path: A TOML or YAML file of task expressions, as `loads_tasks` reads them.

    Raises:
        RewardMachineError: The file cannot be read, or what it says makes no sense.
    """
    return loads_tasks(read_text(path), source=str(path))


def loads_tasks(text: str, source: str = "task file") -> TaskFile:
    """The tasks of a text.

    Args:
        text: The text of a task file.
        source: The name of the text in messages.

    Raises:
        RewardMachineError: The text makes no sense.
    """
    document = parse_document(text, source)
    entries = document.mapping("a task file", ("propositions", "avoid", "tie", "tasks"))
    if "tasks" not in entries:
        document.fail("there are no 'tasks'")
    tasks = entries["tasks"].mapping("'tasks'")
    tie = Tie.NEITHER
    if "tie" in entries:
        wanted = entries["tie"].text("'tie'")
        if wanted not in [t.value for t in Tie]:
            entries["tie"].fail(f"'tie' is one of {', '.join(t.value for t in Tie)}, not '{wanted}'")
        tie = Tie(wanted)
    return TaskFile(
        {name: node.text(f"task '{name}'") for name, node in tasks.items()},
        tuple(entries["propositions"].texts("'propositions'")) if "propositions" in entries else None,
        tuple(entries["avoid"].texts("'avoid'")) if "avoid" in entries else (),
        tie,
    )
