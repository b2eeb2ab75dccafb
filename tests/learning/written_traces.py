"""Traces written as text, and the edges of what was learned from them."""

from __future__ import annotations

from rewardmachines.files import parse_word
from rewardmachines.learning import (
    Learned,
    Result,
)
from rewardmachines.library import domain
from rewardmachines.traces import Outcome, Trace

SINGLE = domain("craftworld").labels()
NAMES = domain("craftworld").propositions


def goal(text: str) -> Trace:
    return Trace(parse_word(text), Outcome.GOAL)


def dead_end(text: str) -> Trace:
    return Trace(parse_word(text), Outcome.DEAD_END)


def incomplete(text: str) -> Trace:
    return Trace(parse_word(text))


def edges(result: Result) -> list[str]:
    assert isinstance(result, Learned)
    return [str(edge) for edge in result.machine.edges]
