"""The rules for many traces against the traversal of the core."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from exchange.answers import statements
from learning.test_asp_answers import answer_sets
from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.traversal import Verdict, traverse, verdict, verdict_of
from rewardmachines.exchange.asp import general_rules
from rewardmachines.exchange.asp_names import Constants
from rewardmachines.learning.asp import encoding, machine_facts, trace_facts
from rewardmachines.library import find
from rewardmachines.traces import Outcome, Trace
from strategies import hierarchies, words

Word = list[Label]


def run(hierarchy: Hierarchy, words: list[Word]) -> frozenset[str]:
    constants = Constants.of(hierarchy)
    lines = [line for machine in hierarchy.reachable() for line in machine_facts(machine, constants)]
    for number, word in enumerate(words):
        lines += trace_facts(number, Trace(tuple(word), Outcome.INCOMPLETE))
    (model,) = answer_sets("\n".join(lines), "run")
    return model


def said(model: frozenset[str], accepting: str, rejecting: str) -> Verdict:
    verdicts = [v for v, atom in ((Verdict.ACCEPT, accepting), (Verdict.REJECT, rejecting)) if atom in model]
    assert len(verdicts) <= 1
    return verdicts[0] if verdicts else Verdict.NEITHER


@settings(deadline=None, max_examples=60)
@given(hierarchy=hierarchies(max_height=3), traces=st.lists(words, max_size=4))
def test_every_trace_gets_the_verdict_of_the_core(hierarchy: Hierarchy, traces: list[Word]) -> None:
    model = run(hierarchy, traces)
    for number, trace in enumerate(traces):
        assert said(model, f"accept({number})", f"reject({number})") is verdict(hierarchy, trace)


@settings(deadline=None, max_examples=40)
@given(hierarchy=hierarchies(max_height=3), word=words)
def test_every_prefix_gets_the_verdict_of_the_core(hierarchy: Hierarchy, word: Word) -> None:
    model = run(hierarchy, [word])
    for end in range(len(word) + 1):
        expected = verdict(hierarchy, word[:end])
        assert said(model, f"satisfied(0,mr,0,{end})", f"failed(0,mr,0,{end})") is expected


@settings(deadline=None, max_examples=60)
@given(hierarchy=hierarchies(max_height=3), word=words)
def test_the_root_is_where_the_core_says_and_nowhere_while_a_call_runs(hierarchy: Hierarchy, word: Word) -> None:
    model = run(hierarchy, [word])
    constants = Constants.of(hierarchy).states[hierarchy.root]
    for time, there in enumerate(traverse(hierarchy, word)):
        expected = {constants[there.state]} if not there.stack else set()
        if verdict_of(hierarchy, there) is Verdict.REJECT:
            expected = {"ur"}
        assert {
            state for state in {*constants.values(), "ur"} if f"reachable(0,{state},mr,0,{time})" in model
        } == expected


def test_of_an_empty_trace_nothing_is_said() -> None:
    model = run(find("craftworld/book"), [[]])
    assert {"accept(0)", "reject(0)"}.isdisjoint(model)
    assert "trace(0,incomplete)" in model


def test_the_rules_are_the_papers_with_a_trace_as_first_argument() -> None:
    plain = {rule for rule in statements(general_rules()) if not rule.startswith("#")}
    several = {rule for rule in statements(encoding("run")) if not rule.startswith(("#", "nphi"))}
    without = {rule.replace("(L,", "(").replace("(L)", "").replace(" :- trace(_)", "") for rule in several}
    assert without == plain
