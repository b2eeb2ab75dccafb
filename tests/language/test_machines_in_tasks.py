"""Tasks that call machines which there are already: they stay as they are."""

from __future__ import annotations

from typing import Any

import pytest

from language.book import BOOK
from rewardmachines.core.equivalence import equivalent
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import hierarchy
from rewardmachines.core.machine import machine
from rewardmachines.core.reachability import check_determinism
from rewardmachines.core.traversal import Verdict, verdict
from rewardmachines.language import compile_task


def test_machines_that_are_given_are_called_as_they_are() -> None:
    given = compile_task("paper", BOOK)
    book = compile_task("(paper & leather) ; table", {"leather": BOOK["leather"]}, machines=given, name="book")
    assert book["paper"] == given["paper"]
    assert equivalent(book, compile_task("(paper & leather) ; table", BOOK, name="book"))
    assert compile_task("paper", machines=given) == given
    assert not check_determinism(compile_task("paper ; paper ; lava", machines=given, avoid=["chicken"]))


def test_a_machine_that_is_larger_than_it_need_be_stays_so() -> None:
    given = hierarchy(machine("m", [("u0", "u1", "a"), ("u1", "u2", "b"), ("u0", "u3", "!a & c"), ("u3", "u2", "b"),
                                    ("u2", "uA", "a")]))  # fmt: skip
    task = compile_task("m ; b", machines=given)
    assert task["m"] == given["m"]
    assert verdict(task, [{"c"}, {"b"}, {"a"}, {"b"}]) is Verdict.ACCEPT


@pytest.mark.parametrize(
    ("expression", "arguments", "message"),
    [
        ("m ; a", {"tasks": {"m": "a"}}, "'m' is both a task and a machine"),
        ("m ; a", {"propositions": ("a", "m")}, "'m' is both a proposition and a task"),
        ("m ; a", {"name": "m"}, "the root cannot be called 'm'"),
        ("n ; a", {"propositions": ("a",)}, "'n' is neither a declared proposition nor a task"),
        ("a", {"avoid": ["m"]}, "'m' is a task: only propositions can be avoided"),
    ],
)
def test_names_of_machines_are_no_other_names(expression: str, arguments: dict[str, Any], message: str) -> None:
    given = hierarchy(machine("m", [("u0", "uA", "a")]))
    with pytest.raises(RewardMachineError, match=message):
        compile_task(expression, machines=given, **arguments)
