from __future__ import annotations

import re

import pytest
from hypothesis import given

from paper import GOLDEN, drawn, recorded, recorded_hierarchy
from rewardmachines.core.errors import NondeterminismError, UnknownStateError
from rewardmachines.core.formula import BOT, TRUE, Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.text import parse_formula
from rewardmachines.core.traversal import (
    HierarchyState,
    Verdict,
    can_start,
    derivation,
    exit_condition,
    initial_state,
    step,
    traverse,
    verdict,
    verdict_of,
)
from strategies import hierarchies, labels, words

BOOK = drawn("craftworld_book_nonflat")


@pytest.mark.parametrize(
    ("trace", "said"),
    [
        ("sugarcane workbench rabbit workbench table", Verdict.ACCEPT),
        ("rabbit workbench sugarcane workbench table", Verdict.ACCEPT),
        ("rabbit workbench", Verdict.NEITHER),
        ("chicken", Verdict.NEITHER),
        ("", Verdict.NEITHER),
    ],
)
@pytest.mark.parametrize("identifier", ["craftworld_book_nonflat", "craftworld_book_flat"])
def test_book_gives_the_printed_verdicts(identifier: str, trace: str, said: Verdict) -> None:
    assert verdict(drawn(identifier), [{p} for p in trace.split()]) is said


@pytest.mark.parametrize(
    ("machine", "state", "context", "expected"),
    [
        ("M0", "u0_0", "true", "(!rabbit & sugarcane) | rabbit"),
        ("M0", "u1_0", "true", "rabbit"),
        ("M0", "u2_0", "true", "sugarcane"),
        ("M0", "u3_0", "true", "table"),
        ("M1", "u0_1", "!rabbit", "!rabbit & sugarcane"),
    ],
)
def test_book_has_the_printed_exit_conditions(machine: str, state: str, context: str, expected: str) -> None:
    assert exit_condition(BOOK, machine, state, parse_formula(context)) == parse_formula(expected)


def _printed_derivation() -> list[list[str]]:
    """For each label of the example, the applications of δ as the paper prints them, and the result."""
    steps: list[list[str]] = []
    for line in (GOLDEN / "book_derivation.txt").read_text().splitlines():
        parts = line.split(" = ")
        if line.startswith("v") and not line.startswith("v0"):
            steps.append([])
            parts = parts[2:]
        if steps:
            steps[-1] += [part.strip() for part in parts if part.strip(" =")]
    return [[re.sub(r"^= ", "", part) for part in parts] for parts in steps]


def _show(observation: object) -> str:
    if observation is BOT:
        return "BOT"
    assert isinstance(observation, frozenset)
    return "{" + ", ".join(sorted(observation)) + "}"


def test_every_application_of_the_transition_function_is_as_printed() -> None:
    word: list[set[str]] = [{"sugarcane"}, {"workbench"}, set(), {"rabbit"}, {"workbench"}, {"table"}]
    state = initial_state(BOOK)
    assert str(state) == "<M0, u0_0, true, []>"
    expressions = 0
    for label, printed in zip(word, _printed_derivation(), strict=True):
        applications = list(derivation(BOOK, state, frozenset(label)))
        state = applications[-1][0]
        ours = [f"delta({s}, {_show(o)})" for s, o in applications] + [str(state)]
        # The leaf's only state is printed as u0_top, and the first context before what the callee adds to it.
        theirs = [p.replace("u0_top", "u0").replace("!rabbit & sugarcane", "sugarcane & !rabbit") for p in printed]
        assert theirs
        assert ours == theirs
        expressions += len(theirs)
    assert expressions == 26, "all that follow the first delta(v, label) of each of the six lines"


@pytest.mark.parametrize("name", ["traversal.json.gz", "traversal_extra.json.gz"])
def test_recorded_traversals_are_reproduced_label_by_label(name: str) -> None:
    raised = 0
    for entry in recorded(name):
        hierarchy = recorded_hierarchy(entry)
        for trace in entry["traces"]:
            states = traverse(hierarchy, trace["labels"])
            assert _plain(next(states)) == entry["states"][entry["initial_state"]]
            for said, index in zip(trace["verdicts"], trace["states"], strict=True):
                if said == "error":
                    with pytest.raises(NondeterminismError):
                        next(states)
                    raised += 1
                    break
                state = next(states)
                assert _plain(state) == entry["states"][index]
                assert verdict_of(hierarchy, state).value.replace("neither", "none") == said
    assert raised == (10 if "extra" in name else 0)


def _plain(state: HierarchyState) -> list[object]:
    return [state.machine, state.state, [[c.source, c.target, c.caller, c.callee] for c in state.stack]]


def test_a_context_is_checked_on_the_first_transition_only() -> None:
    word = [{"a"}, {"b"}, {"a", "c"}, {"c"}]
    assert verdict(drawn("transformation_a"), word) is Verdict.ACCEPT
    assert verdict(drawn("transformation_d"), word) is Verdict.ACCEPT
    assert verdict(drawn("transformation_b"), word) is Verdict.NEITHER


def test_two_calls_that_could_start_are_named_with_the_label() -> None:
    edges = [e if e.callee != "M1" else type(e)(e.source, e.target, TRUE, e.callee) for e in BOOK["M0"].edges]
    root = type(BOOK["M0"])("M0", BOOK["M0"].states, tuple(edges), "u0_0", frozenset({"uA_0"}))
    broken = Hierarchy("M0", (root, BOOK["M1"], BOOK["M2"]))
    with pytest.raises(NondeterminismError, match=r"\{rabbit, sugarcane\} starts both u0_0 .* and u0_0"):
        verdict(broken, [{"rabbit", "sugarcane"}])
    assert verdict(broken, [{"rabbit"}]) is Verdict.NEITHER


def test_an_unknown_state_is_an_error() -> None:
    with pytest.raises(UnknownStateError, match="'M0' has no state 'u9'"):
        exit_condition(BOOK, "M0", "u9")


@given(hierarchies(), labels)
def test_a_state_is_left_exactly_on_its_exit_condition(hierarchy: Hierarchy, label: Label) -> None:
    for machine in hierarchy.machines:
        for state in machine.states:
            condition = exit_condition(hierarchy, machine.name, state)
            assert condition.holds(label) == can_start(hierarchy, machine.name, state, label)


@given(hierarchies(), words)
def test_stable_states_have_no_context_and_their_stack_is_a_path_of_calls(
    hierarchy: Hierarchy, word: list[Label]
) -> None:
    for state in traverse(hierarchy, word):
        assert state.context == TRUE
        callers = [hierarchy.root, *(call.callee for call in state.stack)]
        assert callers[-1] == state.machine
        for caller, call in zip(callers, state.stack, strict=False):
            assert call.caller == caller
            assert call.formula.disjuncts
        heights = [hierarchy.heights[name] for name in callers]
        assert heights == sorted(set(heights), reverse=True), "no machine appears twice"


@given(hierarchies(), words, words)
def test_terminal_states_are_absorbing(hierarchy: Hierarchy, word: list[Label], more: list[Label]) -> None:
    said = verdict(hierarchy, word)
    if said is not Verdict.NEITHER:
        assert verdict(hierarchy, [*word, *more]) is said


@given(hierarchies(), words)
def test_remembered_steps_are_the_derived_ones(hierarchy: Hierarchy, word: list[Label]) -> None:
    state = initial_state(hierarchy)
    for label, seen in zip(word, list(traverse(hierarchy, word))[1:], strict=True):
        assert step(hierarchy, state, label) == seen
        *_, (state, _) = derivation(hierarchy, state, label)
        assert state == seen


@given(hierarchies(), words)
def test_propositions_that_no_formula_mentions_change_nothing(hierarchy: Hierarchy, word: list[Label]) -> None:
    noisy = [x | {"unheard-of"} for x in word]
    assert list(traverse(hierarchy, word)) == list(traverse(hierarchy, noisy))


def test_the_memory_of_a_hierarchy_stays_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    from rewardmachines.core import traversal

    monkeypatch.setattr(traversal, "_MAX_ENTRIES", 50)
    hierarchy = drawn("craftworld_book_nonflat")
    word = [{f"p{i}"} for i in range(500)] + [{"sugarcane"}, {"workbench"}, {"rabbit"}, {"workbench"}, {"table"}]
    assert verdict(hierarchy, word * 2) is Verdict.ACCEPT
    assert traversal._automaton(hierarchy).entries <= 52
