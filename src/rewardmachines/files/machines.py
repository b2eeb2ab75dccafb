"""Machine files (YAML or JSON).

propositions: [sugarcane, workbench]     # optional: those mentioned
root: paper                              # optional: the only machine, or the one that no other calls
machines:
paper:
initial: u0                          # the defaults
accepting: [uA]
rejecting: [uR]
states: [u9]                         # only those that no edge mentions
edges:
- {from: u0, to: u1, when: sugarcane}
- {from: u1, to: uA, call: other, when: "!lava"}
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.formula import TRUE
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import LEAF, Edge, RewardMachine, machine
from rewardmachines.core.text import parse_formula
from rewardmachines.files.document import parse_document, read_text
from rewardmachines.files.nodes import Node, check_text
from rewardmachines.files.writing import write_aside

_EDGE_KEYS: Final = ("from", "to", "when", "call")
_MACHINE_KEYS: Final = ("initial", "accepting", "rejecting", "states", "edges")
_FILE_KEYS: Final = ("propositions", "root", "machines")


def load(path: str | Path) -> Hierarchy:
    """The hierarchy of a machine file.

    Args:
        path: A YAML or JSON file.

    Raises:
        RewardMachineError: The file cannot be read, or what it says makes no sense; the message says where.
    """
    return loads(read_text(path), source=str(path))


def loads(text: str, source: str = "machine file") -> Hierarchy:
    """The hierarchy of a YAML or JSON text.

    Args:
        text: The text of a machine file.
        source: The name of the text in messages.

    Raises:
        RewardMachineError: The text makes no sense; the message says where.

    >>> from rewardmachines import loads
    >>> loads("{root: m, machines: {m: {edges: [{from: u0, to: uA, when: a}]}}}").root
    'm'
    """
    document = parse_document(text, source)
    entries = document.mapping("a machine file", _FILE_KEYS)
    if "machines" not in entries:
        document.fail("there are no 'machines'")
    reader = _MachineReader()
    machines = tuple(reader.machine(name, node) for name, node in entries["machines"].mapping("'machines'").items())
    if not machines:
        document.fail("there are no 'machines'")
    propositions = tuple(entries["propositions"].texts("'propositions'")) if "propositions" in entries else ()
    root = entries["root"].text("'root'") if "root" in entries else _only_root(machines, document)
    try:
        return Hierarchy(root, machines, propositions)
    except RewardMachineError as problem:
        raise reader.located(problem, document) from None


def save(hierarchy: Hierarchy, path: str | Path) -> None:
    """Writes a machine file: JSON if the name ends in .json, YAML otherwise.

    Args:
        hierarchy: The hierarchy.
        path: The file. It appears whole or not at all.
    """
    text = json.dumps(plain(hierarchy), indent=2) + "\n" if Path(path).suffix == ".json" else dumps(hierarchy)
    write_aside(path, text)


def dumps(hierarchy: Hierarchy) -> str:
    """The hierarchy as YAML; `loads` gives it back exactly.

    Args:
        hierarchy: The hierarchy.
    """
    content = plain(hierarchy)
    lines = [f"propositions: {_flow_list(content['propositions'])}", f"root: {_scalar(content['root'])}", "machines:"]
    for name, description in content["machines"].items():
        lines.append(f"  {_scalar(name)}:")
        lines += [f"    {key}: {_in_flow(value)}" for key, value in description.items() if key != "edges"]
        if not description["edges"]:
            lines.append("    edges: []")
            continue
        lines.append("    edges:")
        lines += [f"      - {_flow_mapping(edge)}" for edge in description["edges"]]
    return "\n".join(lines) + "\n"


def plain(hierarchy: Hierarchy) -> dict[str, Any]:
    """The hierarchy as plain lists, mappings and texts, as a machine file spells it.

    Raises:
        SyntaxProblem: A name holds half a character, so that no file can hold the name.
    """
    for name in (*hierarchy.propositions, *(name for m in hierarchy.machines for name in (m.name, *m.states))):
        check_text(name, f"the name {name!a}")
    return {
        "propositions": list(hierarchy.propositions),
        "root": hierarchy.root,
        "machines": {m.name: _plain_machine(m) for m in hierarchy.machines},
    }


def _plain_machine(described: RewardMachine) -> dict[str, Any]:
    order = {state: i for i, state in enumerate(described.states)}
    full: dict[str, Any] = {
        "initial": described.initial,
        "accepting": sorted(described.accepting, key=order.__getitem__),
        "rejecting": sorted(described.rejecting, key=order.__getitem__),
        "states": list(described.states),
    }
    for key in reversed(list(full)):
        shorter = {k: v for k, v in full.items() if k != key}
        if _reads_as(described, shorter):
            full = shorter
    return {**full, "edges": [_plain_edge(edge) for edge in described.edges]}


def _reads_as(described: RewardMachine, options: dict[str, Any]) -> bool:
    """Whether these options suffice, because a reader assumes the others."""
    try:
        return machine(described.name, described.edges, **options) == described
    except RewardMachineError:
        return False


def _plain_edge(edge: Edge) -> dict[str, str]:
    description = {"from": edge.source, "to": edge.target}
    if not edge.calls_leaf:
        description["call"] = edge.callee
    if edge.calls_leaf or edge.formula != TRUE:
        description["when"] = str(edge.formula)
    return description


class _MachineReader:
    """Builds machines, and remembers where each edge stands, for messages."""

    def __init__(self) -> None:
        self._nodes: dict[tuple[str, str, str, str], Node] = {}

    def machine(self, name: str, node: Node) -> RewardMachine:
        description = f"machine '{name}'"
        entries = node.mapping(description, _MACHINE_KEYS)
        if "edges" not in entries:
            node.fail(f"{description} has no 'edges' (write 'edges: []' if that is meant)")
        edges = [self._edge(name, item) for item in entries["edges"].items("'edges'")]
        options: dict[str, Any] = {
            key: tuple(entries[key].texts(f"'{key}'")) for key in ("accepting", "rejecting", "states") if key in entries
        }
        if "initial" in entries:
            options["initial"] = entries["initial"].text("'initial'")
        try:
            return machine(name, edges, **options)
        except RewardMachineError as problem:
            subject = (name, problem.subject) if problem.subject else None
            raise self.located(problem, node, subject) from None

    def _edge(self, name: str, node: Node) -> Edge:
        entries = node.mapping(f"an edge of machine '{name}'", _EDGE_KEYS)
        for key in ("from", "to"):
            if key not in entries:
                node.fail(f"an edge of machine '{name}' has no '{key}'; write {{from: u0, to: u1, when: a}}")
        if "when" not in entries and "call" not in entries:
            node.fail(f"an edge of machine '{name}' needs 'when', 'call' or both (when: true for every label)")
        source, target = (entries[key].text(f"'{key}'") for key in ("from", "to"))
        callee = entries["call"].text("'call'") if "call" in entries else LEAF
        for key, value in (("from", source), ("to", target), ("call", callee)):
            if not value:
                node.fail(f"'{key}' of an edge of machine '{name}' is empty")
        formula = TRUE
        if "when" in entries:
            try:
                formula = parse_formula(entries["when"].text("'when'"))
            except RewardMachineError as problem:
                entries["when"].fail(str(problem))
        self._nodes[name, source, target, callee] = node
        return Edge(source, target, formula, callee)

    def located(self, problem: RewardMachineError, whole: Node, subject: object = None) -> RewardMachineError:
        """The same problem, with the location of the edge if it is about one."""
        node = whole
        match subject or problem.subject:
            case (str() as name, Edge() as edge):
                node = self._nodes.get((name, edge.source, edge.target, edge.callee), whole)
        return type(problem)(f"{node.where}: {problem}", problem.subject)


def _only_root(machines: tuple[RewardMachine, ...], document: Node) -> str:
    called = {callee for m in machines for callee in m.callees}
    roots = [m.name for m in machines if m.name not in called]
    if not roots:  # they call each other in a circle, whichever is the root
        return machines[0].name
    if len(roots) > 1:
        document.fail("say which machine is the 'root'")
    return roots[0]


_PLAIN: Final = re.compile(r"[A-Za-z_][\w./>\-]*", re.ASCII)
_NOT_TEXT: Final = frozenset({"null", "yes", "no", "on", "off", "false", "y", "n"})


def _scalar(text: str) -> str:
    """Bare if every YAML reader takes it for a text, in double quotes otherwise."""
    if _PLAIN.fullmatch(text) and text.lower() not in _NOT_TEXT:
        return text
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    code = ord(character)
    if character.isprintable() and not 0xD800 <= code <= 0xDFFF:
        return character
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _flow_list(items: list[str]) -> str:
    return f"[{', '.join(map(_scalar, items))}]"


def _flow_mapping(entries: dict[str, str]) -> str:
    return "{" + ", ".join(f"{key}: {_scalar(value)}" for key, value in entries.items()) + "}"


def _in_flow(value: str | list[str]) -> str:
    return _scalar(value) if isinstance(value, str) else _flow_list(value)
