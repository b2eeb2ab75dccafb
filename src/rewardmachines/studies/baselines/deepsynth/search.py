"""One call of DeepSynth: automata from traces, as a function that a process of its own computes."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from rewardmachines.studies.baselines.deepsynth.automaton import Automaton, Trace, Transition
from rewardmachines.studies.baselines.deepsynth.determinize import DeterministicAutomaton, determinize
from rewardmachines.studies.baselines.deepsynth.synthesis import extended_by

SMALLEST: Final = Automaton(2)
"""The automaton from which every run begins: two states, and nothing that can be read."""


@dataclass(frozen=True)
class Learned:
    """The automata after a call: the one that grows, and the deterministic one that follows from it."""

    automaton: Automaton = SMALLEST
    deterministic: DeterministicAutomaton | None = None

    def next_automaton(self) -> Automaton:
        """The automaton with which a call begins: with as many states as the deterministic one has, or those in use."""
        if self.deterministic is None:
            return self.automaton
        used = max(target for _, _, target in self.automaton.transitions)
        return Automaton(max(used, len(self.deterministic.states)), self.automaton.transitions)

    def plain(self) -> dict[str, Any]:
        """The two automata as values that JSON can hold."""
        deterministic = self.deterministic
        return {
            "states": self.automaton.states,
            "transitions": sorted(map(list, self.automaton.transitions)),
            "deterministic": None if deterministic is None else list(map(list, deterministic.transitions)),
        }

    @staticmethod
    def of(plain: dict[str, Any]) -> Learned:
        """The automata that were made plain."""
        transitions = frozenset(Transition(*transition) for transition in plain["transitions"])
        deterministic = plain["deterministic"]
        return Learned(
            Automaton(plain["states"], transitions),
            None
            if deterministic is None
            else DeterministicAutomaton(tuple(Transition(*transition) for transition in deterministic)),
        )


def learn(learned: Learned, traces: Iterable[Trace], earlier: Iterable[Trace], seed: str) -> Learned:
    """Extends the automaton until it can read all traces, and determinizes it.

    Args:
        learned: What is known so far.
        traces: The traces of the call, which begin with `START`.
        earlier: The traces of all calls before.
        seed: Decides the order of traces, and where prefixes of them are cut.
    """
    generator, distinct = random.Random(seed), sorted(set(traces))  # noqa: S311
    generator.shuffle(distinct)
    automaton = learned.next_automaton()
    for trace in distinct:
        automaton = extended_by(automaton, trace, generator)
    every = [*distinct, *set(earlier).difference(distinct)]
    return Learned(automaton, determinize(automaton, every, learned.deterministic))


def search(problem: dict[str, Any]) -> dict[str, Any]:
    """`learn`, with arguments and result as JSON can hold them."""
    return learn(Learned.of(problem["learned"]), problem["traces"], problem["earlier"], problem["seed"]).plain()
