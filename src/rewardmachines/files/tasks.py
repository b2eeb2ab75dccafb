"""Task files (YAML or JSON): named task expressions that use each other.

propositions: [sugarcane, workbench, rabbit, table]    # optional: with it, other propositions are errors
avoid: [lava]                                          # optional
tie: neither                                           # optional: neither, left or right
tasks:
paper: sugarcane ; workbench
leather: "ltlf: F(rabbit & X[!] F workbench)"
book: (paper & leather) ; table
map: {ltlf: F(paper & F table) & G !lava, accept: first}    # beside ltlf or regex: accept, end, next
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from rewardmachines.core.errors import RewardMachineError, SyntaxProblem
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.files.document import parse_document, read_text
from rewardmachines.files.nodes import Node
from rewardmachines.language import FormalTask, Note, Tie, compile_task, read_task
from rewardmachines.language.tasks import LANGUAGES, OPTIONS


@dataclass(frozen=True)
class TaskFile:
    """The content of a task file: tasks by name, and how to compile them."""

    tasks: Mapping[str, str | FormalTask]
    propositions: tuple[str, ...] | None = None
    avoid: tuple[str, ...] = ()
    tie: Tie = Tie.NEITHER

    def compile(
        self, expression: str | FormalTask, *, name: str = "task", watch: Callable[[Note], None] | None = None
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
        path: A YAML or JSON file of tasks, as `loads_tasks` reads them.

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
        {name: _task(name, node) for name, node in tasks.items()},
        tuple(entries["propositions"].texts("'propositions'")) if "propositions" in entries else None,
        tuple(entries["avoid"].texts("'avoid'")) if "avoid" in entries else (),
        tie,
    )


def _task(name: str, node: Node) -> str | FormalTask:
    """A task of a file: a text, or a mapping with a formula or a regular expression."""
    what = f"task '{name}'"
    try:
        if not isinstance(node.value, dict):
            return read_task(node.text(what))
        entries = {key: each.text(f"'{key}'") for key, each in node.mapping(what, (*LANGUAGES, *OPTIONS)).items()}
        languages = [language for language in LANGUAGES if language in entries]
        if len(languages) != 1:
            raise RewardMachineError(f"give one of {' and '.join(LANGUAGES)}, as in {{ltlf: F goal}}")
        return FormalTask(languages[0], entries.pop(languages[0]), **entries)
    except SyntaxProblem:
        raise
    except RewardMachineError as problem:
        node.fail(f"{what}: {problem}")
