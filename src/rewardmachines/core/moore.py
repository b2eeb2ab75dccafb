"""Moore machines: deterministic automata whose states have outputs. A DFA is one with two."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from rewardmachines.core.errors import RewardMachineError

Symbol: TypeAlias = Hashable
Output: TypeAlias = Hashable


@dataclass(frozen=True)
class MooreMachine:
    """States 0, 1, …, an output for each, and the next state for each symbol of the alphabet.

    >>> even = MooreMachine(("a", "b"), (True, False), ((1, 0), (0, 1)))
    >>> even.output("aba"), even.output("ab")
    (True, False)
    """

    alphabet: tuple[Symbol, ...]
    outputs: tuple[Output, ...]
    """The output of each state."""
    next_states: tuple[tuple[int, ...], ...]
    """For each state, the next one by the position of the symbol in the alphabet."""
    initial: int = 0
    _positions: Mapping[Symbol, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        states = range(len(self.outputs))
        if len(set(self.alphabet)) != len(self.alphabet):
            raise RewardMachineError("the alphabet has a symbol twice")
        if self.initial not in states:
            raise RewardMachineError(f"there is no initial state {self.initial}")
        if len(self.next_states) != len(states) or any(len(row) != len(self.alphabet) for row in self.next_states):
            raise RewardMachineError("every state has a next state for every symbol")
        if any(target not in states for row in self.next_states for target in row):
            raise RewardMachineError("a symbol leads to a state that there is not")
        object.__setattr__(self, "_positions", {symbol: i for i, symbol in enumerate(self.alphabet)})

    @property
    def states(self) -> int:
        """The number of states."""
        return len(self.outputs)

    def state_after(self, word: Iterable[Symbol]) -> int:
        """The state to which a word leads.

        Raises:
            RewardMachineError: if a symbol is not in the alphabet.
        """
        state = self.initial
        for symbol in word:
            if symbol not in self._positions:
                raise RewardMachineError(f"the symbol {symbol} is not in the alphabet")
            state = self.next_states[state][self._positions[symbol]]
        return state

    def output(self, word: Iterable[Symbol]) -> Output:
        """The output of a word."""
        return self.outputs[self.state_after(word)]

    def trimmed(self, words: Iterable[Iterable[Symbol]]) -> MooreMachine:
        """The states on the ways of the words, numbered breadth-first; a step that no word takes is a self-loop."""
        used: list[set[int]] = [set() for _ in self.outputs]
        for word in words:
            state = self.initial
            for symbol in word:
                position = self._positions[symbol]
                used[state].add(position)
                state = self.next_states[state][position]
        order = [self.initial]
        for state in order:
            for position in sorted(used[state]):
                if (target := self.next_states[state][position]) not in order:
                    order.append(target)
        numbers = {state: number for number, state in enumerate(order)}
        positions = range(len(self.alphabet))
        return MooreMachine(
            self.alphabet,
            tuple(self.outputs[state] for state in order),
            tuple(tuple(numbers[self.next_states[s][p] if p in used[s] else s] for p in positions) for s in order),
        )
