"""One call of DeepSynth: automata from traces, as a function that a process of its own computes."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from rewardmachines.experiments.baselines.deepsynth.automaton import Automaton, Pair, Trace, Transition
from rewardmachines.experiments.baselines.deepsynth.determinize import DeterministicAutomaton, determinize
from rewardmachines.experiments.baselines.deepsynth.synthesis import extended_by
from rewardmachines.experiments.baselines.deepsynth.windows import traces_to_add

SMALLEST: Final = Automaton(2)
"""The automaton from which every run begins: two states, and nothing that can be read."""


@dataclass(frozen=True)
class Learned:
    """What is known after a call: the automaton that grows, and the deterministic one that follows from it."""

    automaton: Automaton = SMALLEST
    deterministic: DeterministicAutomaton | None = None

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


def learn(
    learned: Learned, traces: Iterable[Trace], observed: set[Pair], seed: str, *, merge_observed_only: bool = False
) -> Learned:
    """Extends the automaton until it can read all traces, and determinizes it.

    Args:
        learned: What is known so far.
        traces: The traces of the call, which begin with `START`.
        observed: All pairs of symbols that were ever seen, those of the traces included.
        seed: Decides where prefixes of traces are cut.
        merge_observed_only: Whether states are merged only if that makes observed pairs alone possible.
    """
    distinct = sorted(set(traces))
    automaton = learned.automaton
    for trace in traces_to_add(automaton, distinct, random.Random(seed)):  # noqa: S311
        automaton = extended_by(automaton, trace, observed)
    allowed = observed if merge_observed_only else None
    return Learned(automaton, determinize(automaton, distinct, learned.deterministic, allowed))


def search(problem: dict[str, Any]) -> dict[str, Any]:
    """`learn`, with arguments and result as JSON can hold them."""
    traces = [tuple(trace) for trace in problem["traces"]]
    observed = {(first, second) for first, second in problem["observed"]}
    return learn(
        Learned.of(problem["learned"]),
        traces,
        observed,
        problem["seed"],
        merge_observed_only=problem["merge_observed_only"],
    ).plain()
