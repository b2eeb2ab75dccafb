"""What a machine or hierarchy refuses to be."""

from __future__ import annotations

import pytest

from rewardmachines.core import errors
from rewardmachines.core.hierarchy import Hierarchy, hierarchy
from rewardmachines.core.machine import Edge, RewardMachine, machine
from rewardmachines.core.text import parse_formula

PAPER = machine("paper", [("u0", "u1", "sugarcane"), ("u1", "uA", "workbench")])


def test_states_come_from_the_edges_in_order_with_terminal_ones_last() -> None:
    built = machine("m", [("u0", "uA", "a"), ("u0", "uR", "b & !a"), ("u1", "u0", "a")])
    assert built.states == ("u0", "u1", "uA", "uR")
    assert built.rejecting == {"uR"}


def test_edges_between_the_same_states_with_the_same_callee_are_one() -> None:
    built = machine("m", [("u0", "uA", "a"), ("u0", "uA", "b")])
    assert [str(e) for e in built.edges] == ["u0 --[a | b]--> uA"]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda: RewardMachine("m", ("u0", "uA"), (Edge("u0", "u1", parse_formula("a")),)),
            errors.UnknownStateError,
            "machine 'm', edge u0 --\\[a\\]--> u1: the state 'u1' is not among its states",
        ),
        (
            lambda: RewardMachine("m", ("u0", "uA"), (), initial="u9"),
            errors.UnknownStateError,
            "the initial state 'u9'",
        ),
        (
            lambda: RewardMachine("m", ("u0", "u0", "uA"), ()),
            errors.DuplicateNameError,
            "'u0' is listed twice",
        ),
        (
            lambda: RewardMachine("m", ("u0",), (), accepting=frozenset()),
            errors.NoAcceptingStateError,
            "no accepting state",
        ),
        (
            lambda: machine("m", [("uA", "u0", "a")]),
            errors.TerminalEdgeError,
            "no edge may leave the accepting state 'uA'",
        ),
        (
            lambda: machine("m", [("u0", "uA", "a"), ("uR", "u0", "a")]),
            errors.TerminalEdgeError,
            "no edge may leave the rejecting state 'uR'",
        ),
        (
            lambda: machine("m", [("u0", "uA", "a & !a")]),
            errors.ContradictionError,
            "no label can satisfy this formula",
        ),
        (
            lambda: machine("m", [("u0", "uA", "a")], rejecting=["uA"]),
            errors.RewardMachineError,
            "both accepting and rejecting",
        ),
        (lambda: machine("", []), errors.RewardMachineError, "cannot be the name of a machine"),
        (hierarchy, errors.UnknownMachineError, "at least one machine"),
        (lambda: hierarchy(PAPER, root="papr"), errors.UnknownMachineError, "did you mean 'paper'"),
        (lambda: hierarchy(PAPER, PAPER), errors.DuplicateNameError, "two machines are called 'paper'"),
        (
            lambda: hierarchy(machine("m", [("u0", "uA", "true", "papr")]), PAPER),
            errors.UnknownMachineError,
            "there is no machine 'papr'; did you mean 'paper'",
        ),
        (
            lambda: hierarchy(PAPER, propositions=["sugarcane", "workbech"]),
            errors.UnknownPropositionError,
            "the proposition 'workbench' is not declared; did you mean 'workbech'",
        ),
        (
            lambda: hierarchy(PAPER, propositions=["sugarcane", "workbench", "workbench"]),
            errors.DuplicateNameError,
            "'workbench' is declared twice",
        ),
        (
            lambda: hierarchy(machine("m", [("u0", "uA", "a", "m")])),
            errors.CircularCallError,
            "m -> m",
        ),
        (
            lambda: hierarchy(
                machine("m", [("u0", "uA", "a", "n")]),
                machine("n", [("u0", "uA", "a", "o")]),
                machine("o", [("u0", "uA", "a", "n")]),
            ),
            errors.CircularCallError,
            "n -> o -> n",
        ),
        (
            lambda: hierarchy(machine("m", [("u0", "uA", "a", "n")]), machine("n", [], initial="uA", accepting=["uA"])),
            errors.TerminalInitialError,
            "cannot be called",
        ),
    ],
)
def test_broken_rules_are_named(make: object, error: type[Exception], message: str) -> None:
    assert callable(make)
    with pytest.raises(error, match=message) as caught:
        make()
    assert type(caught.value) is error


def test_a_root_may_be_done_from_the_start() -> None:
    done = machine("m", [], initial="uA", accepting=["uA"])
    assert hierarchy(done).height == 1


def test_heights_count_nested_calls() -> None:
    machines = [machine("m0", [("u0", "uA", "a")])]
    machines += [machine(f"m{i}", [("u0", "uA", "true", f"m{i - 1}"), ("u0", "u1", "b & !a")]) for i in range(1, 150)]
    assert hierarchy(*machines, root="m149").height == 150
    assert hierarchy(*machines, root="m149").rooted("m3").height == 4


def test_calls_nested_thousands_deep_are_refused() -> None:
    machines = [machine("m0", [("u0", "uA", "a")])]
    machines += [machine(f"m{i}", [("u0", "uA", "true", f"m{i - 1}")]) for i in range(1, 10_000)]
    with pytest.raises(errors.TooLargeError, match="nested 10000 deep"):
        hierarchy(*machines, root="m9999")


def test_machines_that_are_not_called_do_not_count_as_reachable() -> None:
    book = hierarchy(machine("book", [("u0", "uA", "true", "paper")]), PAPER, machine("map", [("u0", "uA", "x")]))
    assert [m.name for m in book.reachable()] == ["book", "paper"]
    assert isinstance(book["map"], RewardMachine)
    assert isinstance(book, Hierarchy)


def test_propositions_of_machines_that_are_not_called_are_not_used() -> None:
    root, spare = machine("root", [("u0", "uA", "b & !a")]), machine("spare", [("u0", "uA", "c")])
    assert hierarchy(root, spare, propositions="dcba").used_propositions == ("b", "a")
