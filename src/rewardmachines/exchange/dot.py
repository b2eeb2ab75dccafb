"""Automata in Graphviz's DOT, as LTLf2DFA, AALpy and many others write them, and flat machines as we draw them.

What is read of the language: one directed graph with nodes, edges, attributes and subgraphs. Double circles accept. The
initial state is that to which an edge leads from a node without a shape (`point`, `plaintext`, `none` or invisible).
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, NamedTuple

from rewardmachines.core.errors import RewardMachineError, SyntaxProblem, TooLargeError
from rewardmachines.core.formula import PLAIN_NAME, RESERVED, Formula, conjunction
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.labelsets import LabelSets
from rewardmachines.core.machine import Edge, machine
from rewardmachines.core.text import parse_formula
from rewardmachines.exchange.finite_automaton import AutomatonTransition, FiniteAutomaton, machine_of

MAX_CHARACTERS: Final = 2_000_000
MAX_STATES: Final = 100_000
MAX_LETTERS: Final = 200
_MAX_DEPTH: Final = 20

_TOKEN: Final = re.compile(
    r"""
        (?P<blank>\s++|//[^\n]*+|/\*(?:[^*]|\*(?!/))*+\*/|^\#[^\n]*+)
      | (?P<string>"(?:[^"\\]|\\.)*+")
      | (?P<id>-?(?:\.\d++|\d++(?:\.\d*+)?)|[A-Za-z_\u0080-\U0010ffff][\w\u0080-\U0010ffff]*+)
      | (?P<html><(?:[^<>]|<[^<>]*+>)*+>)
      | (?P<symbol>->|--|[{}\[\]=;,:])
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_CONSTANT: Final = re.compile(r'"(?:[^"\\]|\\.)*+"|[⊤⊥]|^[01]$', re.DOTALL)
_CONSTANTS: Final = {"⊤": "true", "⊥": "false", "1": "true", "0": "false"}
_PSEUDO: Final = frozenset({"point", "plaintext", "none", "plain"})


class _Token(NamedTuple):
    """`kind` is "id" for names and strings, "html", "end", or the symbol itself."""

    kind: str
    text: str
    line: int


@dataclass(slots=True)
class _Node:
    attributes: dict[str, str]
    line: int
    cluster: str | None


@dataclass(frozen=True, slots=True)
class _Arrow:
    source: str
    target: str
    attributes: dict[str, str]
    line: int


@dataclass(slots=True)
class _Graph:
    name: str = ""
    nodes: dict[str, _Node] = field(default_factory=dict)
    arrows: list[_Arrow] = field(default_factory=list)
    clusters: dict[str, str] = field(default_factory=dict)
    """The labels of clusters, each of which is a machine of ours."""


def from_dot(text: str, *, name: str | None = None, accept: str = "first", end: str | None = None) -> Hierarchy:
    """The flat hierarchy of a deterministic automaton in DOT.

    A graph with a cluster is a drawing of ours: it is read back as it was, a state staying where no edge fires. Any
    other is an automaton of finite traces. Where every label is a single name, labels are letters, as in AALpy's files:
    the letter `a` stands for the label with `a` alone, and labels that are no letters change nothing. Otherwise labels
    are formulas, as in those of LTLf2DFA.

    Args:
        text: A graph in DOT.
        name: The name of the machine; that of the graph, if not given.
        accept: When an automaton accepts: "first", as soon as it accepts the trace so far, or "decided", once it
            accepts every continuation.
        end: The proposition that says that the trace has ended, at which an automaton is judged.

    Raises:
        RewardMachineError: The text is no such automaton; the message names the line.
    """
    if len(text) > MAX_CHARACTERS:
        raise TooLargeError(f"a text of {len(text):,} characters is too long: at most {MAX_CHARACTERS:,} are read")
    graph = _Reader(text).graph()
    if graph.clusters:
        return _drawn_machine(graph, name)
    return machine_of(_automaton(graph, name), accept, end)


# -- the graph


class _Reader:
    def __init__(self, text: str) -> None:
        self._tokens = list(_scanned(text))
        self._next = 0
        self._graph = _Graph()

    @property
    def _token(self) -> _Token:
        return self._tokens[self._next]

    def _take(self, *kinds: str) -> _Token | None:
        if self._token.kind not in kinds:
            return None
        self._next += 1
        return self._tokens[self._next - 1]

    def _expect(self, kind: str, wanted: str) -> _Token:
        token = self._take(kind)
        if token is None:
            found = "the text ends" if self._token.kind == "end" else f"found '{self._token.text[:40]}'"
            raise _problem(f"expected {wanted}, but {found}", self._token.line)
        return token

    def graph(self) -> _Graph:
        word = self._expect("id", "'digraph'")
        if word.text.lower() == "strict":
            word = self._expect("id", "'digraph'")
        if word.text.lower() != "digraph":
            raise _problem("the text must begin with 'digraph': edges of an automaton have directions", word.line)
        if given := self._take("id"):
            self._graph.name = given.text
        self._expect("{", "'{'")
        self._statements({}, {}, None, 0)
        if self._token.kind != "end":
            raise _problem("only one graph is read: end the text after its '}'", self._token.line)
        return self._graph

    def _statements(self, node: dict[str, str], edge: dict[str, str], cluster: str | None, depth: int) -> None:
        """All up to the closing brace, which is taken. What is set for all nodes and edges holds from there on."""
        if depth > _MAX_DEPTH:
            raise _problem(f"subgraphs are nested more than {_MAX_DEPTH} deep", self._token.line)
        while not self._take("}"):
            if self._take(";"):
                continue
            if self._token.kind == "{":
                self._subgraph(node, edge, cluster, depth)
                continue
            word = self._expect("id", "a node, or '}'")
            match word.text.lower():
                case "graph" | "node" | "edge" as kind if self._token.kind == "[":
                    given = self._attributes()
                    if kind != "graph":
                        (node if kind == "node" else edge).update(given)
                case "subgraph":
                    own = self._take("id")
                    inner = own.text if own is not None and own.text.startswith("cluster") else cluster
                    self._subgraph(node, edge, inner, depth)
                case _:
                    self._node_or_edge(word, node, edge, cluster)

    def _subgraph(self, node: dict[str, str], edge: dict[str, str], cluster: str | None, depth: int) -> None:
        self._expect("{", "'{'")
        if cluster is not None:
            self._graph.clusters.setdefault(cluster, "")
        self._statements(dict(node), dict(edge), cluster, depth + 1)

    def _node_or_edge(
        self, word: _Token, node: dict[str, str], edge: dict[str, str], cluster: str | None
    ) -> None:  # fmt: skip
        if self._take("="):
            value = self._expect("id", "a value")
            if cluster is not None and word.text == "label":
                self._graph.clusters[cluster] = value.text
            return
        path = [self._node(word, node, cluster)]
        while self._take("->"):
            if self._token.kind == "{":
                raise _problem("an edge leads to one state: write an edge for each", self._token.line)
            path.append(self._node(self._expect("id", "a node after '->'"), node, cluster))
        if self._token.kind == "--":
            raise _problem("edges of an automaton have directions: write '->'", self._token.line)
        given = self._attributes()
        if len(path) == 1:
            self._graph.nodes[path[0]].attributes.update(given)
        for source, target in pairwise(path):
            self._graph.arrows.append(_Arrow(source, target, {**edge, **given}, word.line))

    def _node(self, word: _Token, defaults: dict[str, str], cluster: str | None) -> str:
        while self._take(":"):  # a port
            self._expect("id", "a port")
        if word.text not in self._graph.nodes:
            if len(self._graph.nodes) >= MAX_STATES:
                raise TooLargeError(f"DOT, line {word.line}: more than {MAX_STATES:,} states")
            self._graph.nodes[word.text] = _Node(dict(defaults), word.line, cluster)
        return word.text

    def _attributes(self) -> dict[str, str]:
        found: dict[str, str] = {}
        while self._take("["):
            while not self._take("]"):
                key = self._expect("id", "an attribute, or ']'")
                if self._take("="):
                    if self._token.kind == "html":
                        raise _problem("labels in HTML are not read: write them in double quotes", self._token.line)
                    found[key.text.lower()] = self._expect("id", "a value").text
                self._take(",", ";")
        return found


def _scanned(text: str) -> Iterator[_Token]:
    position, line = 0, 1
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            if text[position] == '"':
                raise _problem("this string is not closed", line)
            if text.startswith("/*", position):
                raise _problem("a comment is not closed: write '*/'", line)
            raise _problem(f"{text[position]!r} means nothing here; names go in double quotes", line)
        found = match.group()
        if match.lastgroup == "string":
            yield _Token("id", found[1:-1].replace('\\"', '"').replace("\\\n", ""), line)
        elif match.lastgroup != "blank":
            yield _Token(found if match.lastgroup == "symbol" else str(match.lastgroup), found, line)
        line += found.count("\n")
        position = match.end()
    yield _Token("end", "", line)


# -- what it means


def _automaton(graph: _Graph, name: str | None) -> FiniteAutomaton:
    pseudo, initial = _initial(graph)
    states = [state for state in graph.nodes if state != pseudo]
    numbers = {state: number for number, state in enumerate(states)}
    arrows = [arrow for arrow in graph.arrows if arrow.source != pseudo]
    labels = [_label(arrow.attributes.get("label", ""), arrow.line) for arrow in arrows]
    read = _formulas(labels, arrows)
    accepting = {state for state in states if _is_accepting(graph.nodes[state])}
    if not accepting:
        raise _problem("no state is accepting: draw it as a double circle (shape=doublecircle)", 1)
    transitions: list[list[AutomatonTransition]] = [[] for _ in states]
    for arrow, formula in zip(arrows, read.formulas, strict=True):
        if arrow.target == pseudo:
            raise _problem(f"an edge leads to '{pseudo}', which is no state", arrow.line)
        accepts = arrow.target in accepting
        transitions[numbers[arrow.source]].append(
            AutomatonTransition(numbers[arrow.target], formula, accepts, arrow.line)
        )
    if read.others is not None:
        for state, number in numbers.items():
            transitions[number].append(
                AutomatonTransition(number, read.others, state in accepting, graph.nodes[state].line)
            )
    return FiniteAutomaton(
        name=name or graph.name or "machine",
        propositions=read.propositions,
        states=tuple(states),
        initial=numbers[initial],
        accepts_empty=initial in accepting,
        transitions=tuple(map(tuple, transitions)),
        format="DOT",
    )


def _initial(graph: _Graph) -> tuple[str, str]:
    """The node that is no state, and the state to which it points."""
    pseudo = [name for name, node in graph.nodes.items() if _is_pseudo(node)]
    starts = [arrow for arrow in graph.arrows if arrow.source in pseudo]
    if not starts:
        advice = 'write start [shape=point, label=""]; start -> s0;'
        raise _problem(f"no initial state is marked: {advice}", 1)
    if len(starts) > 1:
        raise _problem("a machine has one initial state: keep one of the edges that mark it", starts[1].line)
    return starts[0].source, starts[0].target


def _is_pseudo(node: _Node) -> bool:
    return node.attributes.get("shape", "").lower() in _PSEUDO or "invis" in node.attributes.get("style", "")


def _is_accepting(node: _Node) -> bool:
    return node.attributes.get("shape") == "doublecircle" or node.attributes.get("peripheries") == "2"


class _Labels(NamedTuple):
    formulas: list[Formula]
    propositions: tuple[str, ...]
    others: Formula | None
    """The labels that are no letters, if labels are letters."""


def _formulas(labels: list[str], arrows: list[_Arrow]) -> _Labels:
    if labels and all(_is_letter(label) for label in labels):
        return _letters(labels)
    formulas = [_formula(label, arrow.line) for label, arrow in zip(labels, arrows, strict=True)]
    mentioned = frozenset().union(*(formula.propositions for formula in formulas))
    return _Labels(formulas, tuple(sorted(mentioned)), None)


def _is_letter(label: str) -> bool:
    return PLAIN_NAME.fullmatch(label) is not None and label.lower() not in RESERVED


def _letters(labels: list[str]) -> _Labels:
    alphabet = tuple(sorted(set(labels)))
    if len(alphabet) > MAX_LETTERS:
        raise TooLargeError(f"DOT: an alphabet of {len(alphabet)} letters: at most {MAX_LETTERS} are read")
    only = {letter: conjunction({letter}, set(alphabet) - {letter}) for letter in alphabet}
    sets = LabelSets(alphabet)
    known = sets.of_labels([letter] for letter in alphabet)
    return _Labels([only[label] for label in labels], alphabet, sets.cover(sets.complement(known)))


def _label(text: str, line: int) -> str:
    """The label as it is shown, its lines joined."""
    if "⓿" in text or re.search(r"\{\d", text):
        raise _problem("acceptance on edges is read from HOA only: write the automaton in that format", line)
    shown = re.sub(r"\\(.)", lambda found: " " if found[1] in "nlr" else found[1], text, flags=re.DOTALL)
    return html.unescape(shown).strip()


def _formula(label: str, line: int) -> Formula:
    if not label:
        raise _problem('this edge has no label: write the formula, as in [label="a & !b"]', line)
    if re.fullmatch(r"[01X]( ?,? ?[01X])*", label) and not re.fullmatch("[01]", label):
        raise _problem(
            f"'{label[:40]}' gives values to propositions without names, as MONA writes them: use LTLf2DFA's output, "
            "which names them",
            line,
        )
    try:
        return parse_formula(_CONSTANT.sub(lambda found: _CONSTANTS.get(found[0], found[0]), label))
    except RewardMachineError as problem:
        raise _problem(str(problem), line) from None


def _drawn_machine(graph: _Graph, name: str | None) -> Hierarchy:
    """The machine of one of our drawings."""
    if len(graph.clusters) > 1:
        raise _problem(
            f"there are {len(graph.clusters)} machines: calls are not read from DOT; flatten the hierarchy first", 1
        )
    pseudo, initial = _initial(graph)
    shown = {
        state: _label(node.attributes.get("label", state), node.line)
        for state, node in graph.nodes.items()
        if state != pseudo
    }
    edges: list[Edge] = []
    for arrow in graph.arrows:
        if arrow.source == pseudo:
            continue
        label = _label(arrow.attributes.get("label", ""), arrow.line)
        edges.append(Edge(shown[arrow.source], shown[arrow.target], _formula(label, arrow.line)))
    return Hierarchy(
        root := name or next(iter(graph.clusters.values())) or graph.name or "machine",
        (
            machine(
                root,
                edges,
                states=shown.values(),
                initial=shown[initial],
                accepting=[shown[state] for state in shown if _is_accepting(graph.nodes[state])],
                rejecting=[shown[s] for s in shown if graph.nodes[s].attributes.get("shape") == "octagon"],
            ),
        ),
    )


def _problem(message: str, line: int) -> SyntaxProblem:
    """An error that names the line."""
    return SyntaxProblem(f"DOT, line {line}: {message}")
