from __future__ import annotations

import clingo

from rewardmachines.learning.asp import encoding


def best(program: str) -> tuple[list[int], set[str]]:
    """The optimum: edges, then literals; and its atoms."""
    control = clingo.Control(["--opt-mode=opt", "0"])
    control.add("base", [], program + encoding("minimal"))
    control.ground([("base", [])])
    found: list[tuple[list[int], set[str]]] = []
    control.solve(on_model=lambda model: found.append((list(model.cost), set(map(str, model.symbols(atoms=True))))))
    return found[-1]


def test_edges_and_literals_are_counted_apart() -> None:
    root = "ed(u0,u1,1,mr). ed(u0,u1,2,mr). ed(u1,ua,1,mr). pos(u0,u1,1,mr,p). pos(u0,u1,2,mr,p). neg(u1,ua,1,mr,p). "
    assert best(root)[0] == [3, 3]


def test_known_machines_do_not_count() -> None:
    root = "ed(u0,ua,1,mr). pos(u0,ua,1,mr,p). "
    assert best(root + "ed(u0,ua,1,m1). pos(u0,ua,1,m1,p). neg(u0,ua,1,m1,q).")[0] == [1, 1]


def test_fewer_edges_are_better_than_any_number_of_literals() -> None:
    few = "pos(u0,ua,1,mr,(p;q;r;s)) :- short."
    cost, atoms = best("{short}. ed(u0,ua,1,mr). ed(u0,u1,1,mr) :- not short. " + few)
    assert "short" in atoms
    assert cost == [1, 4]


def test_of_two_roots_with_as_many_edges_the_one_with_fewer_literals_wins() -> None:
    cost, atoms = best("{long}. ed(u0,ua,1,mr). pos(u0,ua,1,mr,p). neg(u0,ua,1,mr,q) :- long.")
    assert "long" not in atoms
    assert cost == [1, 1]
