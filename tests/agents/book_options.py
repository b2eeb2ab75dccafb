"""Options written as text, and those of the paper's example, Book."""

from __future__ import annotations

from agents.reference import Choose, OptionStack, Step, agent_step
from agents.reference_options import Candidate, Option
from paper import drawn
from rewardmachines.core.formula import Conjunction, Label
from rewardmachines.core.machine import LEAF
from rewardmachines.core.text import parse_formula
from rewardmachines.core.traversal import Call, HierarchyState, initial_state


def formula(text: str) -> Conjunction:
    (disjunct,) = parse_formula(text).disjuncts
    return disjunct


def label(*propositions: str) -> Label:
    return frozenset(propositions)


def option(callee: str, what: str, machine: str, state: str, context: str = "true") -> Option:
    return Option(callee, formula(what), machine, state, formula(context))


def choosing(*preferred: Option) -> Choose:
    """Chooses the first candidate that makes one of these options."""

    def choose(machine: str, state: str, context: Conjunction, candidates: list[Candidate]) -> int | None:
        options = [Option(callee, disjunct, machine, state, context) for callee, disjunct in candidates]
        return next((index for index, o in enumerate(options) if o in preferred), 0 if options else None)

    return choose


def first(call: Call, disjuncts: list[Conjunction]) -> int:
    return 0


def options(stack: OptionStack) -> list[Option]:
    return [running.option for running in stack]


BOOK = drawn("craftworld_book_nonflat")
BOOK_LABELS = frozenset({label(), *map(label, BOOK.propositions)})
START = initial_state(BOOK)

CALL_1 = option("M1", "!rabbit", "M0", "u0_0")
CALL_2 = option("M2", "true", "M0", "u0_0")
SUGARCANE = option(LEAF, "sugarcane", "M1", "u0_1", "!rabbit")
RABBIT = option(LEAF, "rabbit", "M2", "u0_2")
WORKBENCH = option(LEAF, "workbench", "M1", "u1_1")


def book_step(state: HierarchyState, stack: OptionStack, *seen: str, now: int, prefer: Option = CALL_1) -> Step:
    choose = choosing(prefer)
    return agent_step(BOOK, BOOK_LABELS, state, stack, label(*seen), choose=choose, choose_disjunct=first, now=now)
