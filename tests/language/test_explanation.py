"""Machines in words, and the task expressions that they are."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewardmachines.core.equivalence import equivalent
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import Hierarchy, hierarchy
from rewardmachines.core.machine import machine
from rewardmachines.language import compile_task, explain, task_expression
from rewardmachines.language.ltlf import compile_ltlf
from strategies import hierarchies

steps = st.recursive(
    st.sampled_from(("a", "b", "c", "[a & !b]", "t")),
    lambda inner: st.tuples(st.sampled_from((" ; ", " | ", " & ")), st.lists(inner, min_size=2, max_size=3)).map(
        lambda pair: f"({pair[0].join(pair[1])})"
    ),
    max_leaves=5,
)


@settings(deadline=None, max_examples=40)
@given(text=steps, avoid=st.sampled_from(("", " avoid lava")))
def test_what_a_task_expression_becomes_is_found_to_be_one(text: str, avoid: str) -> None:
    try:
        compiled = compile_task(text + avoid, {"t": "d ; e"}, name="root")
    except RewardMachineError:  # such as sides that can only start together
        return
    found = task_expression(compiled)
    if found is None:
        # Contexts of calls that no tie makes, and cycles, which the language has not.
        assert any(not edge.calls_leaf for edge in compiled[compiled.root].edges)
        return
    assert equivalent(found.compile(compiled.root, compiled.propositions), compiled)


@pytest.mark.parametrize(
    "text", ["a ; b", "a & b", "(a & b & c) ; d avoid lava", "(a | b) ; c", "((a ; b) | (c ; d)) ; e", "t ; (t | a)"]
)
def test_plain_expressions_come_back_as_they_were(text: str) -> None:
    found = task_expression(compile_task(text, {"t": "d ; e"}, name="root"))
    assert found is not None
    sides = sorted(found.expression.replace("(", "").replace(")", ""))
    assert sides == sorted(text.replace("(", "").replace(")", ""))


@settings(deadline=None, max_examples=25)
@given(tree=hierarchies(max_height=2))
def test_every_state_of_every_machine_is_explained(tree: Hierarchy) -> None:
    lines = explain(tree).splitlines()
    for each in tree.reachable():
        inner = [state for state in each.states if not each.is_terminal(state)]
        start = lines.index(each.name)
        assert [line.split()[0].rstrip(",:") for line in lines[start + 1 : start + 1 + len(inner)]] == inner


def test_cycles_and_failures_that_depend_on_the_state_are_no_task_expressions() -> None:
    cycle = hierarchy(machine("m", [("u0", "u1", "a"), ("u1", "u0", "!b & !a"), ("u1", "uA", "b")]))
    for tree in (cycle, compile_ltlf("!lava U goal"), compile_ltlf("(!door U key) & F door")):
        assert task_expression(tree) is None
        assert "no task expression" in explain(tree)
