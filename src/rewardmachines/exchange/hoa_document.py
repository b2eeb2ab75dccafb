"""The grammar of the Hanoi Omega-Automata format, version 1, as far as reward machines can be written in it.

What they cannot be (several starts, universal branching, implicit labels, acceptance on edges) is refused by a message
that says what to write instead. Headers that start in lower case are free for anyone to use, and skipped.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rewardmachines.core.errors import TooLargeError
from rewardmachines.core.formula import Formula
from rewardmachines.exchange.hoa_labels import LabelExpressions
from rewardmachines.exchange.hoa_tokens import HoaToken, Tokens

ACCEPTING_SET: Final = 0
REJECTING_SET: Final = 1
ACCEPTANCE: Final = "2 Inf(0) & Fin(1)"
_ACCEPTANCE_ITEM: Final = f"Acceptance: {ACCEPTANCE}"
EDGE_ORDER: Final = "rewardmachines-edge-order:"
"""Our own header: where among the edges of the machine each edge of the body belongs."""

FINITE_ADVICE: Final = "or read an automaton of finite traces with accept='first' (hrm compile FILE --accept first)"
MAX_STATES: Final = 100_000
_READABLE_CONDITIONS: Final = {"1Inf(0)": 1, "2Inf(0)&Fin(1)": 2, "2Fin(1)&Inf(0)": 2}
_ACCEPTS_ALL: Final = "0t"
"""The condition of an automaton of finite traces that accepts whatever it can read."""


@dataclass(frozen=True, slots=True)
class WrittenEdge:
    """An edge as the text has it, and the line that it stands on."""

    target: int
    formula: Formula
    line: int
    accepts: bool = False
    """Whether the edge itself is in the accepting set."""


@dataclass(frozen=True, slots=True)
class HoaState:
    """A state as the body declares it; `name` is None where it has none."""

    name: str | None
    sets: frozenset[int]
    edges: tuple[WrittenEdge, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Document:
    """An automaton as it is written. `states` are by number, each from 0 to `size` - 1 that the body declares."""

    name: str
    start: int
    propositions: tuple[str, ...]
    size: int
    states: dict[int, HoaState]
    edge_order: tuple[int, ...]
    accepts_all: bool = False
    """Whether every finite trace is accepted that can be read."""


def read_document(text: str, *, finite: bool = False) -> Document:
    """Reads the text of one automaton, which may be one of finite traces: then edges can be in sets, too."""
    tokens = Tokens(text)
    header = _Header(tokens, finite=finite)
    header.read()
    labels = LabelExpressions(tokens, header.propositions)
    header.define_aliases(labels)
    return _Body(tokens, labels, header).read()


class _Header:
    """All up to `--BODY--`. Aliases are read last, since the propositions may be declared after them."""

    def __init__(self, tokens: Tokens, *, finite: bool) -> None:
        self._tokens = tokens
        self.finite = finite
        self.accepts_all = False
        self._seen: set[str] = set()
        self._aliases: list[HoaToken] = []
        self._end = tokens.token
        self.name = ""
        self.size: int | None = None
        self.start: int | None = None
        self.start_item: HoaToken | None = None
        self.sets: int | None = None
        self.propositions: tuple[str, ...] = ()
        self.edge_order: tuple[int, ...] = ()

    def read(self) -> None:
        if (first := self._tokens.expect("header", "'HOA: v1' at the beginning")).text != "HOA:":
            raise self._tokens.problem("the text must begin with 'HOA: v1'", first)
        if (version := self._tokens.expect("identifier", "the version 'v1'")).text != "v1":
            raise self._tokens.problem(f"version '{version.text[:9]}' is not read: write 'HOA: v1'", version)
        while item := self._tokens.take("header"):
            self._item(item)
        self._end = self._tokens.token
        self._tokens.expect("--BODY--", "a header such as 'Start:', or '--BODY--'")
        if self.start is None:
            raise self._tokens.problem("no initial state is named: write 'Start: 0' above '--BODY--'", self._end)
        if self.sets is None:
            raise self._tokens.problem(f"acceptance is missing: write '{_ACCEPTANCE_ITEM}' above '--BODY--'", self._end)

    def define_aliases(self, labels: LabelExpressions) -> None:
        for alias in self._aliases:
            self._tokens.go_back(alias)
            self._tokens.take("alias")
            labels.define(alias)
            if self._tokens.token.kind not in ("header", "--BODY--"):
                raise self._tokens.unexpected("'&', '|' or the next header")
        self._tokens.go_back(self._end)
        self._tokens.take("--BODY--")

    def _item(self, item: HoaToken) -> None:
        self._check_repetition(item)
        match item.text:
            case "States:":
                self.size = self._size()
            case "Start:":
                self.start, self.start_item = _single_state(self._tokens), item
            case "AP:":
                self.propositions = self._read_propositions(item)
            case "Alias:":
                self._aliases.append(self._tokens.expect("alias", "the name of an alias, such as '@a'"))
                self._skip()
            case "Acceptance:":
                self.sets = self._read_acceptance(item)
            case "name:":
                self.name = self._tokens.string("the name in double quotes")
            case _ if item.text == EDGE_ORDER:
                self.edge_order = self._numbers()
            case _ if item.text[0].isupper():
                raise self._tokens.problem(f"the header '{item.text}' would change the meaning, but is not known", item)
            case _:
                self._skip()

    def _check_repetition(self, item: HoaToken) -> None:
        if item.text == "Start:" and self.start is not None:
            raise self._tokens.problem("a machine has one initial state: keep one 'Start:' header", item)
        if item.text in self._seen and item.text not in ("Alias:", "properties:"):
            raise self._tokens.problem(f"the header '{item.text}' is written twice: keep one", item)
        self._seen.add(item.text)

    def _size(self) -> int:
        size = self._tokens.number("the number of states")
        if size > MAX_STATES:
            raise TooLargeError(f"{size:,} states are too many: at most {MAX_STATES:,} are read")
        return size

    def _read_propositions(self, item: HoaToken) -> tuple[str, ...]:
        count = self._tokens.number("the number of propositions")
        names: list[str] = []
        while self._tokens.token.kind == "string":
            names.append(self._tokens.string("a proposition"))
        if len(names) != count:
            raise self._tokens.problem(f"{count} propositions are announced, but {len(names)} are listed", item)
        if len(set(names)) != count:
            raise self._tokens.problem("a proposition is listed twice", item)
        return tuple(names)

    def _read_acceptance(self, item: HoaToken) -> int:
        """Conditions other than ours have no counterpart in a reward machine."""
        words = [token.text for token in self._skip(limit=20)]
        if words[1:2] == ["("] and words[-1] == ")" and words[2:3] != ["("]:
            words = [words[0], *words[2:-1]]
        self.accepts_all = self.finite and "".join(words) == _ACCEPTS_ALL
        count = 0 if self.accepts_all else _READABLE_CONDITIONS.get("".join(words))
        if count is None:
            sets = "put accepting states in set 0, rejecting ones in set 1"
            raise self._tokens.problem(
                f"a machine has no such acceptance: {sets}, and write '{_ACCEPTANCE_ITEM}'", item
            )
        return count

    def _numbers(self) -> tuple[int, ...]:
        numbers: list[int] = []
        while self._tokens.token.kind == "int":
            numbers.append(self._tokens.number("a number"))
        return tuple(numbers)

    def _skip(self, limit: int = 0) -> list[HoaToken]:
        """Passes over the rest of an item; the first few of its tokens."""
        passed: list[HoaToken] = []
        while self._tokens.token.kind not in ("header", "--BODY--", "--END--", "--ABORT--", "end"):
            token = self._tokens.take(self._tokens.token.kind)
            if token is not None and len(passed) < limit:
                passed.append(token)
        return passed


class _Body:
    """All from `--BODY--` to `--END--`."""

    def __init__(self, tokens: Tokens, labels: LabelExpressions, header: _Header) -> None:
        self._tokens = tokens
        self._labels = labels
        self._header = header
        self._largest = 0

    def read(self) -> Document:
        header = self._header
        assert header.start is not None
        states: dict[int, HoaState] = {}
        while item := self._tokens.take("header"):
            if item.text != "State:":
                raise self._tokens.problem(f"expected 'State:' or '--END--', but found '{item.text}'", item)
            self._read_state(item, states)
        self._tokens.expect("--END--", "'State:' or '--END--'")
        if self._tokens.token.kind != "end":
            raise self._tokens.problem("only one automaton is read: end the text after '--END--'")
        self._check_number(header.start, "the initial state is state", header.start_item)
        size = header.size if header.size is not None else self._largest + 1
        return Document(
            name=header.name,
            start=header.start,
            propositions=header.propositions,
            size=size,
            states=states,
            edge_order=header.edge_order,
            accepts_all=header.accepts_all,
        )

    def _read_state(self, item: HoaToken, states: dict[int, HoaState]) -> None:
        label = self._read_label()
        number = self._tokens.number("the number of a state")
        self._check_number(number, "this is state", item)
        if number in states:
            raise self._tokens.problem(f"state {number} is declared twice: join the two", item)
        name = self._tokens.string("a name") if self._tokens.token.kind == "string" else None
        sets = self._read_sets(number)
        edges: list[WrittenEdge] = []
        while self._tokens.token.kind in ("[", "int"):
            edges.append(self._read_edge(label))
        states[number] = HoaState(name, sets, tuple(edges), item.line)

    def _read_edge(self, state_label: Formula | None) -> WrittenEdge:
        first = self._tokens.token
        label = self._read_label()
        if label is not None and state_label is not None:
            raise self._tokens.problem("the state has a label, so its edges cannot have any: keep one of them", first)
        formula = label if label is not None else state_label
        if formula is None:
            example = f"[0 & !1] {first.text[:9]}"
            raise self._tokens.problem(f"implicit labels are not read: write the label, as in '{example}'", first)
        target = _single_state(self._tokens)
        self._check_number(target, "the edge leads to state", first)
        if self._tokens.token.kind == "{" and not self._header.finite:
            raise self._tokens.problem(
                "acceptance is read from states, not from edges: write the set behind the state, as in 'State: 1 {0}', "
                f"{FINITE_ADVICE}"
            )
        accepts = ACCEPTING_SET in self._read_sets(target)
        return WrittenEdge(target, formula, first.line, accepts)

    def _read_label(self) -> Formula | None:
        if not self._tokens.take("["):
            return None
        formula = self._labels.read()
        self._tokens.expect("]", "'&', '|' or ']'")
        return formula

    def _read_sets(self, state: int) -> frozenset[int]:
        sets: set[int] = set()
        opening = self._tokens.take("{")
        while opening and not self._tokens.take("}"):
            number = self._tokens.number("the number of an acceptance set, or '}'")
            if number >= (self._header.sets or 0):
                raise self._tokens.problem(f"there is no acceptance set {number}: write {{0}} or {{1}}", opening)
            sets.add(number)
        if len(sets) > 1:
            raise self._tokens.problem(f"state {state} is both accepting (0) and rejecting (1): write one", opening)
        return frozenset(sets)

    def _check_number(self, state: int, what: str, token: HoaToken | None = None) -> None:
        size = self._header.size
        if size is not None and state >= size:
            raise self._tokens.problem(f"{what} {state}, but 'States: {size}' ends at {size - 1}", token)
        if state >= MAX_STATES:
            raise TooLargeError(f"state {state:,}: at most {MAX_STATES:,} states are read")
        self._largest = max(self._largest, state)


def _single_state(tokens: Tokens) -> int:
    number = tokens.number("the number of a state")
    if tokens.token.kind == "&":
        raise tokens.problem("a machine is in one state at a time: write one state, not several joined by '&'")
    return number
