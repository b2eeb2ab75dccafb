"""YAML as a tree of nodes, read in one pass.

Anchors and aliases are refused, so that a small file cannot unfold into a large one, and so are tags: nothing that is
read decides what becomes of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, TypeAlias

from rewardmachines.core.errors import SyntaxProblem
from rewardmachines.files.nodes import MAX_DEPTH, Counter, Line, Node, check_text, shown

if TYPE_CHECKING:
    import yaml

    Start: TypeAlias = yaml.ScalarEvent | yaml.CollectionStartEvent

_STANDARD: Final = "tag:yaml.org,2002:"


def parse_yaml(text: str, source: str) -> Node:
    """The tree of a YAML text; `source` names it in messages."""
    import yaml  # here, because training runs where it is not installed

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return _TreeReader(yaml.parse(text, Loader=loader), source).read()
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        where = f"{source}, line {mark.line + 1}, column {mark.column + 1}" if mark else source
        raise SyntaxProblem(f"{where}: this is not YAML: {problem.problem or problem.context}") from None
    except yaml.YAMLError as problem:
        raise SyntaxProblem(f"{source}: this is not YAML: {str(problem).splitlines()[0]}") from None


class _TreeReader:
    """Makes nodes of the events of one text, from left to right."""

    def __init__(self, events: Iterator[yaml.Event], source: str) -> None:
        self._events = events
        self._counter = Counter(source)
        self._depth = 0
        self._keys: dict[str, str] = {}
        self._line = Line(source, 1)

    def read(self) -> Node:
        import yaml

        root: Node | None = None
        for event in self._events:
            if isinstance(event, (yaml.ScalarEvent, yaml.CollectionStartEvent, yaml.AliasEvent)):
                root = self._node(event)
            elif isinstance(event, yaml.DocumentStartEvent) and root is not None:
                raise SyntaxProblem(f"{self._location(event)}: a second document begins; there may be one only")
        if root is None:
            raise SyntaxProblem(f"{self._line.source}: the file is empty")
        return root

    def _node(self, event: yaml.Event) -> Node:
        import yaml

        self._check(event)
        self._counter.add()
        location = self._location(event)
        if isinstance(event, yaml.ScalarEvent):
            return Node(self._text(event, location), location)
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise SyntaxProblem(f"{location}: nested more than {MAX_DEPTH} deep")
        children = self._entries() if isinstance(event, yaml.MappingStartEvent) else self._items()
        self._depth -= 1
        return Node(children, location)

    def _check(self, event: yaml.Event) -> None:
        """Refuses what could unfold without end, and what asks to be more than text."""
        import yaml

        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise SyntaxProblem(
                f"{self._location(event)}: anchors (&) and aliases (*) are not allowed; a formula "
                "that begins with such a character goes in quotes"
            )
        tag = getattr(event, "tag", None) or "!"
        if tag != "!" and (not tag.startswith(_STANDARD) or "python" in tag):
            # Quoted formulas that begin with ! are texts; a bare !rabbit is a tag to YAML.
            message = f"'{shown(tag)}' is read as a YAML tag; put formulas with ! in quotes"
            raise SyntaxProblem(f"{self._location(event)}: {message}")

    def _text(self, event: yaml.ScalarEvent, location: Line) -> str:
        value = str(event.value)
        if value == "~" and (event.implicit[0] or event.tag == f"{_STANDARD}null"):
            return ""
        check_text(value, location)
        return value

    def _items(self) -> list[Node]:
        import yaml

        items: list[Node] = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            items.append(self._node(event))
        return items

    def _entries(self) -> dict[str, Node]:
        import yaml

        entries: dict[str, Node] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            key = self._node(event)
            name = key.text("a key")
            if name in entries:
                key.fail(f"'{shown(name)}' is given twice")
            # Files repeat a few keys very often.
            entries[self._keys.setdefault(name, name)] = self._node(next(self._events))
        return entries

    def _location(self, event: yaml.Event) -> Line:
        """The line of an event; all that stands on one line shares it."""
        number = event.start_mark.line + 1 if event.start_mark else 1
        if number != self._line.number:
            self._line = Line(self._line.source, number)
        return self._line
