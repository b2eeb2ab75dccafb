"""The search for the smallest automaton that agrees with labelled words: clauses that grow with the number of states.

It runs in a solver process, which loads nothing but the solver, so this file knows the standard library and python-sat
alone. A request holds the graph of the words (`WordGraph`):

    {"symbols": k, "outputs": k, "after": [[[symbol, node], ...], ...], "output": [number or -1, ...],
     "single": [bool, ...], "pairs": [[node, node], ...], "clique": [node, ...],
     "symmetry": "order" or "clique", "first": n, "last": n, "solver": name, "proof": path or null}

Messages, in their order:

    {"refuted": n, "seconds": s}      no automaton of n states agrees with the words
    {"proof": path, "proved": n, "lemmas": k}           the clauses of n states and their refutation are in two files
    {"model": [[next state, ...] for each symbol, [output, ...], initial state]}
    {"done": true}                                     without a model: no automaton of up to `last` states does

Variables: `goes[a][i][j]`, state i leads to state j with symbol a; `gives[i][o]`, state i has output o; `at[v][i]`,
some prefix of node v leads to state i. A size is switched on by a literal of its own, so that the clauses of smaller
sizes stay: n + 1 states need clauses about the new state only.
"""

from __future__ import annotations

import gc
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final, TypeAlias

Say: TypeAlias = Callable[[dict[str, Any]], None]

Clause: TypeAlias = Sequence[int]

ORDER: Final = "order"
"""Symmetry is broken by numbering states breadth-first."""
CLIQUE: Final = "clique"
"""Symmetry is broken by giving the nodes of the clique their states."""


class SearchEncoding:
    """Clauses that are satisfiable, with the literal of a size, if and only if an automaton of that size agrees."""

    def __init__(self, request: dict[str, Any]) -> None:
        self._after: list[list[list[int]]] = request["after"]
        self._output: list[int] = request["output"]
        self._single: list[bool] = request["single"]
        self._pairs: list[list[int]] = request["pairs"]
        self._clique: list[int] = request["clique"]
        self._by_clique = request["symmetry"] == CLIQUE
        self._outputs: int = request["outputs"]
        self._entries = Counter((symbol, target) for steps in self._after for symbol, target in steps)
        self.variables = 0
        self.states = 0
        self.size = 0
        """The literal that switches on the present size."""
        self.goes: list[list[list[int]]] = [[] for _ in range(request["symbols"])]
        self.gives: list[list[int]] = []
        self.at: list[list[int]] = [[] for _ in self._after]
        self._into: dict[tuple[int, int], list[int]] = {}
        self._enters: dict[tuple[int, int], int] = {}
        self._parent: dict[tuple[int, int], int] = {}
        self._first: dict[tuple[int, int], list[int]] = {}

    def _new(self) -> int:
        self.variables += 1
        return self.variables

    def _many(self, count: int) -> list[int]:
        first = self.variables + 1
        self.variables += count
        return list(range(first, first + count))

    def grow(self) -> list[Clause]:
        """The clauses for one state more."""
        self.clauses: list[Clause] = []
        new = self.states
        self.states += 1
        if self.size:
            self.clauses.append([-self.size])
        self.size = self._new()
        self._automaton(new)
        self._words(new)
        for first, second in self._pairs:
            self.clauses.append((-self.at[first][new], -self.at[second][new]))
        if self._by_clique:
            self._fix_clique(new)
        else:
            self._number_breadth_first(new)
        return self.clauses

    def _at_least_one(self, literals: Iterable[int]) -> None:
        """At least one of the literals, at this size: a state more may make another one true."""
        self.clauses.append([-self.size, *literals])

    def _automaton(self, new: int) -> None:
        for rows in self.goes:
            for targets in rows:
                targets.append(self._new())
                self.clauses += _not_with_others(targets)
            rows.append(self._many(self.states))
            self.clauses += combinations([-target for target in rows[new]], 2)
            for targets in rows:
                self._at_least_one(targets)
        self.gives.append(self._output_literals())
        if self._outputs > 2:
            self.clauses += combinations([-output for output in self.gives[new]], 2)

    def _output_literals(self) -> list[int]:
        if self._outputs == 2:
            is_second = self._new()
            return [-is_second, is_second]
        return self._many(self._outputs)

    def _words(self, new: int) -> None:
        for node, states in enumerate(self.at):
            states.append(self._new())
            if self._output[node] >= 0:
                self.clauses.append((-states[new], self.gives[new][self._output[node]]))
            if self._single[node]:
                self.clauses += _not_with_others(states)
            if self._single[node] or node in self._clique:
                self._at_least_one(states)
        if not self._by_clique:
            self.clauses.append([self.at[0][0]] if new == 0 else [-self.at[0][new]])
        for source, steps in enumerate(self._after):
            for symbol, target in steps:
                if self._single[target]:
                    self._step(self.at[source], symbol, self.at[target], backward=True)
                elif self._entries[symbol, target] > 1:
                    self._step_to_shared(self.at[source], symbol, target)
                else:
                    self._step(self.at[source], symbol, self.at[target])

    def _step(self, here: list[int], symbol: int, there: list[int], *, backward: bool = False) -> None:
        """Clauses for a step of a word: here in state i, and i leads to j with the symbol, so there in state j.

        Those without the new state are there already; here it is i, j or both.

        Args:
            here: The variables of the states before the step.
            symbol: The symbol of the step.
            there: The variables of the states after it.
            backward: Whether there are clauses for the converse: there in j only if i leads to j.
        """
        goes, new = self.goes[symbol], self.states - 1
        is_new, from_new = here[new], goes[new]
        self.clauses += [(-is_new, -leads, then) for leads, then in zip(from_new, there, strict=True)]
        self.clauses += [(-i, -row[new], there[new]) for i, row in zip(here[:new], goes, strict=False)]
        if backward:
            self.clauses += [(-is_new, leads, -then) for leads, then in zip(from_new, there, strict=True)]
            self.clauses += [(-i, row[new], -there[new]) for i, row in zip(here[:new], goes, strict=False)]

    def _step_to_shared(self, here: list[int], symbol: int, target: int) -> None:
        """A node that several nodes lead to by one symbol is entered by way of one variable for each state."""
        into = self._into.setdefault((symbol, target), [])
        if len(into) < self.states:
            into.append(self._new())
            self._step(into, symbol, self.at[target])
        self.clauses.append((-here[-1], into[-1]))

    def _fix_clique(self, new: int) -> None:
        """The nodes of the clique need a state each: the first the first, and so on."""
        if new < len(self._clique):
            self.clauses.append([self.at[self._clique[new]][new]])
            self.clauses += [[-self.at[node][new]] for node in self._clique[new + 1 :]]

    def _number_breadth_first(self, new: int) -> None:
        """The new state is entered, for the first time from its parent; parents do not fall as states rise."""
        if new == 0:
            return
        add = self.clauses.append
        for i in range(new):
            enters = self._enters[i, new] = self._new()
            steps = [rows[i][new] for rows in self.goes]
            add([-enters, *steps])
            self.clauses += [(-step, enters) for step in steps]
        parents = self._many(new)
        self._parent |= {(new, i): parent for i, parent in enumerate(parents)}
        add(parents)
        self.clauses += combinations([-parent for parent in parents], 2)
        for i, parent in enumerate(parents):
            entered_before = [self._enters[k, new] for k in range(i)]
            add((-parent, self._enters[i, new]))
            self.clauses += [(-parent, -enters) for enters in entered_before]
            add([parent, -self._enters[i, new], *entered_before])
        for i in range(new - 1):
            self.clauses += [(-self._parent[new - 1, i], -parents[k]) for k in range(i)]
        self._order_siblings(new)

    def _order_siblings(self, new: int) -> None:
        """States with one parent are numbered by the first symbol that leads to them from there."""
        for i in range(new):
            first = self._first[new, i] = self._many(len(self.goes))
            self.clauses.append([-self._parent[new, i], *first])
            for a, is_first in enumerate(first):
                self.clauses.append((-is_first, self.goes[a][i][new]))
                self.clauses += [(-is_first, -self.goes[b][i][new]) for b in range(a)]
        for i in range(new - 1):
            siblings = (-self._parent[new - 1, i], -self._parent[new, i])
            for a, b in combinations(range(len(self.goes)), 2):
                self.clauses.append((*siblings, -self._first[new - 1, i][b], -self._first[new, i][a]))

    def automaton(self, model: Sequence[int]) -> list[Any]:
        """The automaton of a solution: the next states by symbol, the outputs, and the initial state."""
        true = {literal for literal in model if literal > 0}

        def is_true(literal: int) -> bool:
            return literal in true if literal > 0 else -literal not in true

        goes = [[next(j for j, to in enumerate(row) if is_true(to)) for row in rows] for rows in self.goes]
        gives = [next((o for o, has in enumerate(row) if is_true(has)), 0) for row in self.gives]
        return [goes, gives, next(i for i, here in enumerate(self.at[0]) if is_true(here))]


def _not_with_others(variables: list[int]) -> list[Clause]:
    """The last of the variables excludes the others."""
    last = -variables[-1]
    return [(-other, last) for other in variables[:-1]]


Solve: TypeAlias = Callable[[Any, list[int]], bool]
"""Decides with a solver and assumptions."""


def search(request: dict[str, Any], say: Say, solve: Solve) -> None:
    """Tries one size after the other, and says what comes of each.

    Args:
        request: The question, as above.
        say: Takes the messages.
        solve: Decides each size.
    """
    if request["proof"]:
        _search_with_proof(request, say, solve)
        return
    from pysat.solvers import Solver

    encoding = SearchEncoding(request)
    with Solver(name=request["solver"]) as solver:
        while encoding.states < request["last"]:
            began = time.process_time()
            _grow(encoding, max(encoding.states + 1, request["first"]), solver.solver.add_clause)
            if solve(solver, [encoding.size]):
                say({"model": encoding.automaton(solver.get_model())})
                break
            say({"refuted": encoding.states, "seconds": time.process_time() - began})
    say({"done": True})


def _grow(encoding: SearchEncoding, states: int, add: Callable[[Clause], object]) -> None:
    gc.disable()  # clauses are many, and none of them garbage
    while encoding.states < states:
        for clause in encoding.grow():
            add(clause)
    gc.enable()


def _search_with_proof(request: dict[str, Any], say: Say, solve: Solve) -> None:
    """Asks for each size anew, since a proof is one of clauses without assumptions, and writes the last refutation."""
    last: Refuted | None = None
    for states in range(request["first"], request["last"] + 1):
        began = time.process_time()
        answer = _ask_alone(request, states, solve)
        if not isinstance(answer, Refuted):
            if last is None and states > 1:
                # The clique alone needs as many states: with its nodes fixed, unit propagation refutes one less.
                smaller = _ask_alone({**request, "symmetry": CLIQUE}, states - 1, solve)
                assert isinstance(smaller, Refuted)
                last = smaller
            if last is not None:
                last.write(request["proof"])
                say({"proof": request["proof"], "proved": last.states, "lemmas": len(last.proof)})
            say({"model": answer})
            break
        last = answer
        say({"refuted": states, "seconds": time.process_time() - began})
    say({"done": True})


@dataclass(frozen=True)
class Refuted:
    """A size that does not suffice: the clauses, and the lines of a proof that they have no solution."""

    states: int
    variables: int
    symmetry: str
    clauses: list[Clause]
    proof: list[str]

    def write(self, path: str) -> None:
        """Writes the clauses (DIMACS) to PATH.cnf, and the proof (DRAT) to PATH.drat."""
        with open(f"{path}.cnf", "w", encoding="ascii") as file:
            file.write(f"c Is there an automaton of {self.states} states? Symmetry is broken by: {self.symmetry}.\n")
            file.write(f"p cnf {self.variables} {len(self.clauses)}\n")
            file.writelines(" ".join(map(str, (*clause, 0))) + "\n" for clause in self.clauses)
        with open(f"{path}.drat", "w", encoding="ascii") as file:
            file.writelines(f"{line}\n" for line in self.proof)


def _ask_alone(request: dict[str, Any], states: int, solve: Solve) -> Refuted | list[Any]:
    """The automaton of that size, or the refutation."""
    from pysat.solvers import Solver

    encoding = SearchEncoding(request)
    clauses: list[Clause] = []
    _grow(encoding, states, clauses.append)
    clauses.append([encoding.size])
    with Solver(name=request["solver"], bootstrap_with=clauses, with_proof=True) as solver:
        if solve(solver, []):
            return encoding.automaton(solver.get_model())
        proof: list[str] = solver.get_proof()
    return Refuted(states, encoding.variables, request["symmetry"], clauses, proof)
