"""Random samples of labelled words, and the smallest size: by the plainest encoding that there is, by brute force."""

from __future__ import annotations

from itertools import combinations, product
from random import Random

from pysat.solvers import Solver

from rewardmachines.core.moore import MooreMachine

Sample = dict[tuple[int, ...], int]


def random_sample(seed: int, *, states: int, words: int, symbols: int = 2, outputs: int = 2) -> Sample:
    """Words as a random automaton labels them."""
    rng = Random(seed)
    target = MooreMachine(
        tuple(range(symbols)),
        tuple(rng.randrange(outputs) for _ in range(states)),
        tuple(tuple(rng.randrange(states) for _ in range(symbols)) for _ in range(states)),
    )
    some = [tuple(rng.randrange(symbols) for _ in range(rng.randrange(8))) for _ in range(words)]
    return {word: int(str(target.output(word))) for word in some}


def plain_size(words: Sample) -> int:
    """The smallest size by the plainest encoding: no merged prefixes, no symmetry breaking, no clique."""
    prefixes = sorted({word[:end] for word in words for end in range(len(word) + 1)})
    symbols = sorted({symbol for word in words for symbol in word})
    outputs = sorted(set(words.values()))
    size = 1
    while not _has_automaton(words, prefixes, symbols, outputs, size):
        size += 1
    return size


def _has_automaton(
    words: Sample, prefixes: list[tuple[int, ...]], symbols: list[int], outputs: list[int], size: int
) -> bool:  # fmt: skip
    numbers: dict[object, int] = {}

    def variable(*key: object) -> int:
        return numbers.setdefault(key, len(numbers) + 1)

    states = range(size)
    clauses = [[variable("at", prefix, i) for i in states] for prefix in prefixes]
    for prefix, (i, j) in product(prefixes, combinations(states, 2)):
        clauses.append([-variable("at", prefix, i), -variable("at", prefix, j)])
    for i, a, (j, k) in product(states, symbols, combinations(states, 2)):
        clauses.append([-variable("goes", i, a, j), -variable("goes", i, a, k)])
    for prefix, i, j in product(filter(None, prefixes), states, states):
        here, there = variable("at", prefix[:-1], i), variable("at", prefix, j)
        clauses.append([-here, -there, variable("goes", i, prefix[-1], j)])
    for i, (a, b) in product(states, combinations(outputs, 2)):
        clauses.append([-variable("gives", i, a), -variable("gives", i, b)])
    clauses += [[-variable("at", word, i), variable("gives", i, words[word])] for word in words for i in states]
    with Solver(name="glucose42", bootstrap_with=clauses) as solver:
        return bool(solver.solve())


def some_automaton_of(words: Sample, size: int) -> bool:
    """Whether any automaton of that size agrees: all of them are tried."""
    symbols = tuple(sorted({symbol for word in words for symbol in word}))
    for targets in product(range(size), repeat=size * len(symbols)):
        rows = tuple(targets[i * len(symbols) : (i + 1) * len(symbols)] for i in range(size))
        automaton = MooreMachine(symbols, tuple(range(size)), rows)
        outputs: dict[int, int] = {}
        if all(outputs.setdefault(automaton.state_after(word), output) == output for word, output in words.items()):
            return True
    return False
