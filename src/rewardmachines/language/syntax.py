"""The syntax tree of a task.

task    =  steps [ "avoid" name { "," name } ]
steps   =  either { ";" either }             one after the other
either  =  any { "|" any }                   one of them: the one that starts first
any     =  step { "&" step }                 all of them, in any order, one at a time
step    =  name | "[" formula "]" | "(" steps ")"
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from rewardmachines.core.formula import Formula
from rewardmachines.core.text import Scanner, read_formula


@dataclass(frozen=True, slots=True)
class Name:
    """A proposition to observe, or another task to do; which of them, the compiler knows."""

    name: str
    position: int


@dataclass(frozen=True, slots=True)
class Event:
    """A formula that one label must satisfy."""

    formula: Formula
    position: int


@dataclass(frozen=True, slots=True)
class Then:
    """Steps that are done one after the other."""

    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class AnyOrder:
    """Steps that are all done, in any order, one at a time."""

    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Either:
    """Steps of which one is done: the one that starts first."""

    steps: tuple[Step, ...]


Step: TypeAlias = Name | Event | Then | AnyOrder | Either


@dataclass(frozen=True, slots=True)
class ParsedTask:
    """A task, and the propositions that end it in a dead end."""

    body: Step
    avoid: tuple[Name, ...]
    text: str


def parse_task(text: str, description: str = "task") -> ParsedTask:
    """The tree of a text; `description` says in messages whose text it is."""
    scanner = Scanner(text, description, frozenset({"avoid"}))
    body = _read_steps(scanner)
    avoid: list[Name] = []
    if scanner.take("avoid"):
        avoid.append(_read_name(scanner))
        while scanner.take(","):
            avoid.append(_read_name(scanner))
    if scanner.token.kind != "end":
        wanted = "',' or the end ('avoid' comes last)" if avoid else "';', '&', '|', 'avoid' or the end"
        raise scanner.unexpected(wanted)
    return ParsedTask(body, tuple(avoid), text)


def _read_steps(scanner: Scanner) -> Step:
    steps = [_read_either(scanner)]
    while scanner.take(";"):
        steps.append(_read_either(scanner))
    return steps[0] if len(steps) == 1 else Then(tuple(steps))


def _read_either(scanner: Scanner) -> Step:
    steps = [_read_any_order(scanner)]
    while scanner.take("|"):
        steps.append(_read_any_order(scanner))
    return steps[0] if len(steps) == 1 else Either(tuple(steps))


def _read_any_order(scanner: Scanner) -> Step:
    steps = [_read_step(scanner)]
    while scanner.take("&"):
        steps.append(_read_step(scanner))
    return steps[0] if len(steps) == 1 else AnyOrder(tuple(steps))


def _read_step(scanner: Scanner) -> Step:
    if name := scanner.take("name"):
        return Name(name.text, name.position)
    if bracket := scanner.take("["):
        formula = read_formula(scanner)
        scanner.expect("]", "'&', '|' or ']'")
        return Event(formula, bracket.position)
    if scanner.take("("):
        scanner.enter()
        steps = _read_steps(scanner)
        if scanner.token.kind == "avoid":
            raise scanner.problem("'avoid' goes at the end of the whole task", scanner.token.position)
        scanner.expect(")", "';', '&', '|' or ')'")
        scanner.leave()
        return steps
    if scanner.token.kind == "!":
        raise scanner.problem("a step is something that happens; for a formula write [!a]", scanner.token.position)
    raise scanner.unexpected("a proposition, a task, '[' or '('")


def _read_name(scanner: Scanner) -> Name:
    token = scanner.expect("name", "a proposition to avoid")
    return Name(token.text, token.position)
