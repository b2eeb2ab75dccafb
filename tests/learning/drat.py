"""A checker of refutations in the DRAT format: plain, slow, and independent of the solvers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator


def read_formula(text: str) -> list[frozenset[int]]:
    """The clauses of a text in the DIMACS format."""
    lines = (line for line in text.splitlines() if line[:1] not in ("c", "p"))
    return [frozenset(map(int, line.split()[:-1])) for line in lines]


def is_refutation(clauses: Iterable[frozenset[int]], proof: str) -> bool:
    """Whether every line follows, and the last one is the empty clause.

    A line follows if unit propagation refutes its negation (RUP), or that of all its resolvents on its first literal
    (RAT).
    """
    checker = _Checker(clauses)
    for line in proof.splitlines():
        words = line.split()
        is_deletion = words[0] == "d"
        literals = [int(word) for word in words[is_deletion:-1]]
        if is_deletion:
            checker.delete(frozenset(literals))
        elif not checker.follows(literals):
            return False
        else:
            checker.add(frozenset(literals))
        if not literals and not is_deletion:
            return True
    return False


class _Checker:
    def __init__(self, clauses: Iterable[frozenset[int]]) -> None:
        self._count: dict[frozenset[int], int] = {}
        self._with: dict[int, set[frozenset[int]]] = {}
        for clause in clauses:
            self.add(clause)

    def add(self, clause: frozenset[int]) -> None:
        self._count[clause] = self._count.get(clause, 0) + 1
        for literal in clause:
            self._with.setdefault(literal, set()).add(clause)

    def delete(self, clause: frozenset[int]) -> None:
        """Units stay, as in other checkers: solvers delete clauses that are satisfied for good."""
        if len(clause) == 1 or clause not in self._count:
            return
        self._count[clause] -= 1
        if not self._count[clause]:
            del self._count[clause]
            for literal in clause:
                self._with[literal].discard(clause)

    def follows(self, literals: list[int]) -> bool:
        if self._is_refuted([-literal for literal in literals]):
            return True
        return bool(literals) and all(
            self._is_refuted([-literal for literal in {*literals, *resolvent}])
            for resolvent in self._resolvents(literals[0])
        )

    def _resolvents(self, pivot: int) -> Iterator[frozenset[int]]:
        for clause in self._with.get(-pivot, ()):
            yield clause - {-pivot}

    def _is_refuted(self, assumed: list[int]) -> bool:
        """Whether unit propagation finds a conflict."""
        true = set(assumed)
        if any(-literal in true for literal in true) or frozenset() in self._count:
            return True
        waiting = list(assumed)
        for clause in [clause for clause in self._count if len(clause) == 1]:
            (literal,) = clause
            if -literal in true:
                return True
            if literal not in true:
                true.add(literal)
                waiting.append(literal)
        for literal in waiting:
            for clause in self._with.get(-literal, ()):
                if not clause.isdisjoint(true):
                    continue
                left = [other for other in clause if -other not in true]
                if not left:
                    return True
                if len(left) == 1:
                    true.add(left[0])
                    waiting.append(left[0])
        return False
