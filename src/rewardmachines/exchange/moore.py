"""Moore machines as automata files, for Graphviz, and as reward machines.

A symbol is a proposition of its own, and a word shows one at a time; a symbol that is a label already stays one.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from typing import Final

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.formula import Conjunction, Formula, Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import ACCEPTING, REJECTING, Edge, RewardMachine
from rewardmachines.core.moore import MooreMachine, Output, Symbol

HOA_OUTPUTS: Final = "rewardmachines-outputs:"
"""Our own header: the output that each acceptance set stands for."""


def label_of(symbol: Symbol) -> Label:
    """The label that stands for a symbol."""
    return frozenset(map(str, symbol)) if isinstance(symbol, frozenset) else frozenset({str(symbol)})


def moore_to_hierarchy(
    automaton: MooreMachine,
    accepting: Collection[Output] = (True, 1),
    rejecting: Collection[Output] = (),
    *,
    end: str | None = None,
    name: str = "root",
    short: bool = False,
) -> Hierarchy:
    """The automaton as a reward machine, whose traces end in a terminal state.

    Args:
        automaton: The automaton.
        accepting: The outputs that stand for the goal.
        rejecting: The outputs that stand for a dead end.
        end: A proposition that ends a word: it leads to the goal or the dead end for which the state stands. Without
            it, states with such an output are terminal themselves, so nothing may leave them.
        name: The name of the machine.
        short: Whether formulas leave out what must not be observed, as pictures do.

    Raises:
        RewardMachineError: A state that should be terminal is left, or `end` is a symbol.
    """
    propositions = sorted(frozenset().union(*map(label_of, automaton.alphabet)))
    if end in propositions:
        raise RewardMachineError(f"'{end}' is a symbol of the automaton: choose another label for the end")
    everything = frozenset(propositions) | ({end} if end is not None else set())
    goals, dead_ends = _states_with(automaton, accepting), _states_with(automaton, rejecting)
    if end is None:
        _check_terminal(automaton, goals | dead_ends)
    names = [f"u{state}" for state in range(automaton.states)]
    edges = [
        Edge(names[source], names[target], _formula(labels, everything, short=short))
        for source, target, labels in _steps(automaton)
    ]
    states = tuple(names)
    if end is not None:
        states = (*names, ACCEPTING, *([REJECTING] if dead_ends else []))
        at_end = _formula([frozenset({end})], everything, short=short)
        ends = [(goals, ACCEPTING), (dead_ends, REJECTING)]
        edges += [Edge(names[state], target, at_end) for some, target in ends for state in sorted(some)]
    machine = RewardMachine(
        name=name,
        states=states,
        edges=tuple(edges),
        initial=names[automaton.initial],
        accepting=frozenset({ACCEPTING}) if end is not None else frozenset(names[state] for state in goals),
        rejecting=frozenset({REJECTING} & set(states) if end is not None else {names[state] for state in dead_ends}),
    )
    return Hierarchy(name, (machine,), (*propositions, *([end] if end is not None else [])))


def _states_with(automaton: MooreMachine, outputs: Collection[Output]) -> set[int]:
    return {state for state, output in enumerate(automaton.outputs) if output in outputs}


def _check_terminal(automaton: MooreMachine, terminal: set[int]) -> None:
    for source, target, labels in _steps(automaton):
        if source in terminal:
            raise RewardMachineError(
                f"state {source} has the output {automaton.outputs[source]}, and goes on to state {target} with "
                f"{', '.join(sorted(min(labels, key=sorted)))}: a machine ends there, so choose a label that ends words"
            )


def _steps(automaton: MooreMachine) -> Iterator[tuple[int, int, list[Label]]]:
    """The steps to other states, with the labels that take them."""
    for source, row in enumerate(automaton.next_states):
        labels: dict[int, list[Label]] = {}
        for symbol, target in zip(automaton.alphabet, row, strict=True):
            if target != source:
                labels.setdefault(target, []).append(label_of(symbol))
        yield from ((source, target, some) for target, some in labels.items())


def _formula(labels: Collection[Label], everything: Label, *, short: bool = False) -> Formula:
    """Any of the labels, and nothing beside it."""
    return Formula(frozenset(Conjunction(label, frozenset() if short else everything - label) for label in labels))


def moore_to_hoa(automaton: MooreMachine, name: str = "root") -> str:
    """The automaton in the Hanoi Omega-Automata format, with an acceptance set for each output.

    A word is given the output of the state to which it leads. A DFA, whose outputs are truth values or 0 and 1, has one
    set, of its accepting states. Labels that stand for no symbol have no edge.
    """
    outputs = sorted(set(automaton.outputs), key=str)
    is_dfa = set(outputs) <= {0, 1}
    sets: dict[Output, int] = {1: 0} if is_dfa else {output: number for number, output in enumerate(outputs)}
    propositions = sorted(frozenset().union(*map(label_of, automaton.alphabet)))
    lines = [
        "HOA: v1",
        f"name: {_quoted(name)}",
        f"States: {automaton.states}",
        f"Start: {automaton.initial}",
        " ".join([f"AP: {len(propositions)}", *map(_quoted, propositions)]),
        *(["acc-name: Buchi"] if is_dfa else []),
        f"Acceptance: {'1 Inf(0)' if is_dfa else f'{len(sets)} t'}",
        *([] if is_dfa else [" ".join([HOA_OUTPUTS, *(_quoted(str(output)) for output in outputs)])]),
        "properties: trans-labels explicit-labels state-acc no-univ-branch deterministic",
        "--BODY--",
    ]
    for state, row in enumerate(automaton.next_states):
        output = automaton.outputs[state]
        lines.append(f"State: {state}" + (f" {{{sets[output]}}}" if output in sets else ""))
        for symbol, target in zip(automaton.alphabet, row, strict=True):
            label = label_of(symbol)
            literals = (f"{'' if p in label else '!'}{number}" for number, p in enumerate(propositions))
            lines.append(f"  [{'&'.join(literals) or 't'}] {target}")
    return "\n".join([*lines, "--END--"]) + "\n"


def moore_to_dot(automaton: MooreMachine, name: str = "root") -> str:
    """The automaton for Graphviz: accepting states of a DFA have two circles, other outputs are written."""
    is_dfa = set(automaton.outputs) <= {0, 1}
    lines = [f"digraph {_quoted(name)} {{", "  rankdir=LR;", "  start [shape=point];"]
    for state, output in enumerate(automaton.outputs):
        shape = "doublecircle" if is_dfa and output == 1 else "circle"
        label = str(state) if is_dfa else f"{state}: {output}"
        lines.append(f"  {state} [shape={shape}, label={_quoted(label)}];")
    lines.append(f"  start -> {automaton.initial};")
    for source, row in enumerate(automaton.next_states):
        for target in dict.fromkeys(row):
            symbols = [s for s, reached in zip(automaton.alphabet, row, strict=True) if reached == target]
            label = ", ".join(" & ".join(sorted(label_of(symbol))) or "{}" for symbol in symbols)
            lines.append(f"  {source} -> {target} [label={_quoted(label)}];")
    return "\n".join([*lines, "}"]) + "\n"


def _quoted(text: str) -> str:
    """A text in double quotes, as both formats read it."""
    printable = "".join(c if c.isprintable() else "?" for c in text)
    return json.dumps(printable, ensure_ascii=False)
