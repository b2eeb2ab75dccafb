"""DeepSynth as a baseline: when it learns, and from which traces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.sizes import Size
from rewardmachines.studies.baselines.deepsynth.automaton import INITIAL, START, Symbol, Trace
from rewardmachines.studies.baselines.deepsynth.determinize import DeterministicAutomaton
from rewardmachines.studies.baselines.deepsynth.search import Learned, search
from rewardmachines.studies.baselines.protocol import Ask, Attempt, FlatConfig, FlatEpisode, FlatTask, Plain

FIRST: Final = ord("a")
"""The code of the character that stands for the label observed first; the next ones follow it."""


@dataclass(frozen=True)
class DeepSynthConfig(FlatConfig):
    """The settings of DeepSynth."""

    first_call: int = 50_000
    """The number of steps after which an automaton is learned first."""


class DeepSynth:
    """Learns when the running trace has no successor in the automaton: a `FlatLearner`."""

    def __init__(self, task: FlatTask, config: DeepSynthConfig, seed: int, ask: Ask) -> None:  # noqa: ARG002
        """Has no automaton yet.

        Args:
            task: Not used: DeepSynth knows nothing of its task.
            config: The settings.
            seed: Decides the order of traces, and where prefixes of them are cut.
            ask: Has searches done.
        """
        self._config, self._seed, self._ask = config, seed, ask
        self._learned = Learned()
        self._symbols: dict[Label, Symbol] = {}
        self._waiting: dict[Trace, None] = {}
        """The traces of the next call, in the order in which they were seen."""
        self._given: dict[Trace, None] = {}
        """The traces of all calls before."""
        self._steps = 0
        self._calls = 0

    @property
    def size(self) -> Size | None:
        """The states and transitions of the deterministic automaton."""
        automaton = self._learned.deterministic
        return None if automaton is None else Size(len(automaton.states), len(automaton.transitions))

    @property
    def machine(self) -> Hierarchy | None:
        """None: the automaton predicts labels, and has no accepting states."""
        return None

    def take(self, episode: FlatEpisode) -> Attempt | None:
        """Follows an episode label by label, and learns at each label that was not to be expected."""
        calls, heard = self._calls, episode.without_first_state()
        trace = START + "".join(map(self._symbol, heard.labels))
        due = self._config.first_call - self._steps
        if self._learned.deterministic is None and due <= episode.steps:
            self._learn(trace[: 1 + sum(time <= due for time in heard.times)])
        self._follow(trace)
        self._steps += episode.steps
        has_learned = self._calls > calls
        if episode.has_ended or has_learned:  # as published, a trace that was learned from waits, to its end
            self._waiting[trace] = None
        return Attempt.FOUND if has_learned else None

    def _symbol(self, label: Label) -> Symbol:
        """The character that stands for a whole label, the empty one included."""
        return self._symbols.setdefault(label, chr(FIRST + len(self._symbols)))

    def _follow(self, trace: Trace) -> None:
        """Reads a trace with the automaton, and learns wherever it has no successor."""
        if self._learned.deterministic is None:
            return
        state, successors = INITIAL, self._learned.deterministic.successors
        for place, symbol in enumerate(trace):
            target = successors[state].get(symbol)
            if target is None:
                automaton = self._learn(trace[: place + 1])
                target, successors = automaton.run(trace[: place + 1]), automaton.successors
                assert target is not None, "an automaton reads the traces from which it was learned"
            state = target

    def _learn(self, present: Trace) -> DeterministicAutomaton:
        """Learns from the traces that wait and the present one; then none waits."""
        self._waiting[present] = None
        problem = {
            "learned": self._learned.plain(),
            "traces": list(self._waiting),
            "earlier": list(self._given),
            "seed": f"{self._seed} {self._calls}",
        }
        self._learned = Learned.of(self._ask(search, problem))
        self._given |= self._waiting
        self._waiting = {}
        self._calls += 1
        assert self._learned.deterministic is not None, "every search determinizes"
        return self._learned.deterministic

    def snapshot(self) -> Mapping[str, Plain]:
        """All of its state, as values that JSON can hold."""
        return {
            "learned": self._learned.plain(),
            "labels": [sorted(label) for label in self._symbols],
            "waiting": list(self._waiting),
            "given": list(self._given),
            "steps": self._steps,
            "calls": self._calls,
        }

    def restore(self, state: Mapping[str, Plain]) -> None:
        """Restores the state of a snapshot."""
        self._learned = Learned.of(state["learned"])
        self._symbols = {}
        for label in state["labels"]:
            self._symbol(frozenset(label))
        self._waiting, self._given = dict.fromkeys(state["waiting"]), dict.fromkeys(state["given"])
        self._steps, self._calls = state["steps"], state["calls"]
