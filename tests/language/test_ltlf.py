"""LTLf: what a formula means, and that its machine says the same, step by step."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rewardmachines.core.equivalence import difference, equivalent
from rewardmachines.core.errors import ContradictionError, RewardMachineError, SyntaxProblem, TooLargeError
from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.minimization import minimize
from rewardmachines.core.traversal import Verdict, verdict
from rewardmachines.language import compile_task
from rewardmachines.language.ltlf import CountsSteps, Limits, compile_ltlf, compile_regex, holds

from .ltlf_texts import LABELS, PROPOSITIONS, formulas, future, traces

Trace = list[Label]
DONE = frozenset({"done"})
ASKS_NOTHING = "asks for nothing"


def compiled(text: str, accept: str = "first", end: str | None = None) -> Hierarchy | None:
    """The machine of a formula, if there is one."""
    try:
        return compile_ltlf(text, accept=accept, end=end, propositions=[*PROPOSITIONS, "done"])  # type: ignore[arg-type]
    except ContradictionError:
        assert end is not None or not any(holds(text, [label]) for label in LABELS)
    except RewardMachineError as error:
        assert ASKS_NOTHING in str(error)
    return None


# -- the definition


@pytest.mark.parametrize(
    ("text", "trace", "expected"),
    [
        ("X[!] a", [[], ["a"]], True),
        ("X[!] a", [["a"]], False),
        ("WX a", [["a"]], True),
        ("a U b", [["a"], ["a"], ["b"]], True),
        ("a U b", [["a"], [], ["b"]], False),
        ("a W b", [["a"], ["a"]], True),
        ("a R b", [["b"], ["a", "b"], []], True),
        ("a R b", [["b"], ["a"]], False),
        ("a M b", [["b"], ["b"]], False),
        ("F(last & a)", [[], ["a"]], True),
        ("a U b & c", [["b"], ["c"]], False),
        ("Y a", [["a"], []], True),
        ("Y a", [["a"]], False),
        ("a S b", [["b"], ["a"], ["a"]], True),
        ("H a", [["a"], [], ["a"]], False),
        ("O a", [["a"], []], True),
        ("G(b -> O a)", [["b"], ["a"]], False),
        ("G a", [], True),
        ("F a", [], False),
        ("!a", [], True),
    ],
)
def test_meaning_of_operators(text: str, trace: Sequence[Sequence[str]], expected: bool) -> None:
    assert holds(text, trace) is expected


@given(future, future, traces)
def test_laws_of_the_definition(f: str, g: str, trace: Trace) -> None:
    def same(left: str, right: str) -> bool:
        return holds(left, trace) == holds(right, trace)

    f, g = f"({f})", f"({g})"
    assert same(f"!({f} U {g})", f"!{f} R !{g}")
    assert same(f"F {f}", f"true U {f}")
    assert same(f"G {f}", f"!F !{f}")
    assert same(f"WX {f}", f"!X[!] !{f}")
    assert same(f"{f} W {g}", f"!(!{g} U (!{f} & !{g}))")
    assert same(f"{f} M {g}", f"!(!{f} W !{g})")
    if trace:
        assert same(f"{f} U {g}", f"{g} | ({f} & X[!]({f} U {g}))")
        assert same(f"X[!] {f}", f"!last & WX {f}")


# -- machines


@given(formulas, traces)
def test_machine_judges_at_the_end_as_the_definition(text: str, trace: Trace) -> None:
    machine = compiled(text, end="done")
    satisfied = holds(text, trace)
    if machine is None:
        assert not satisfied
        return
    expected = Verdict.ACCEPT if satisfied else Verdict.REJECT
    assert verdict(machine, [*trace, DONE]) is expected
    before = verdict(machine, trace)
    assert before is not Verdict.ACCEPT
    if before is Verdict.REJECT:
        assert not any(holds(text, [*trace, label]) for label in LABELS)
    _check_shape(machine)


@given(formulas, traces)
def test_machine_accepts_when_the_trace_first_satisfies_the_formula(text: str, trace: Trace) -> None:
    machine = compiled(text)
    assume(machine is not None)
    assert machine is not None
    satisfied = any(holds(text, trace[:length]) for length in range(1, len(trace) + 1))
    found = verdict(machine, trace)
    assert (found is Verdict.ACCEPT) == satisfied
    if found is Verdict.REJECT:
        assert not any(holds(text, [*trace, *more]) for more in product(LABELS, repeat=2))
    _check_shape(machine)


@given(future, st.lists(st.sampled_from(LABELS), min_size=1, max_size=5))
def test_machine_that_decides_is_the_mirror_of_that_of_the_negation(text: str, trace: Trace) -> None:
    machine, opposite = compiled(text, "decided"), compiled(f"!({text})", "decided")
    assert (machine is None) == (opposite is None)
    if machine is None or opposite is None:
        return
    found, other = verdict(machine, trace), verdict(opposite, trace)
    assert (found is Verdict.ACCEPT) == (other is Verdict.REJECT)
    assert (found is Verdict.REJECT) == (other is Verdict.ACCEPT)
    if found is Verdict.ACCEPT:
        assert all(holds(text, [*trace, *more]) for size in (0, 1) for more in product(LABELS, repeat=size))
    elif found is not Verdict.REJECT:  # both are still possible
        for formula in (text, f"!({text})"):
            at_end = compiled(formula, end="done")
            assert at_end is not None
            assert verdict(at_end, trace) is not Verdict.REJECT
    assert minimize(machine) == machine


def _check_shape(machine: Hierarchy) -> None:
    """The machine is the smallest one, and can still accept wherever it has not rejected."""
    assert minimize(machine) == machine
    root = machine[machine.root]
    reaching = set(root.accepting)
    while True:
        more = {edge.source for edge in root.edges if edge.target in reaching} - reaching
        if not more:
            break
        reaching |= more
    assert reaching >= set(root.states) - root.rejecting


@given(future, future)
def test_equal_formulas_are_the_same_machine(f: str, g: str) -> None:
    left = compiled(f"({f}) R ({g})", end="done")
    right = compiled(f"!(!({f}) U !({g}))", end="done")
    assert left == right


@given(st.lists(st.sampled_from(PROPOSITIONS), min_size=1, max_size=3, unique=True), st.integers(1, 3))
def test_chains_of_next_are_counted(names: list[str], steps: int) -> None:
    text = " & ".join(f"{'X[!] ' * steps}{name}" for name in names)
    root = compile_ltlf(text)["task"]
    assert len(root.states) == steps + 3


def test_as_long_as_it_is_not_judged_the_end_is_no_position() -> None:
    machine = compile_ltlf("G(a -> done)", end="done")
    assert verdict(machine, [frozenset(), DONE]) is Verdict.ACCEPT
    assert verdict(machine, [frozenset({"a"})]) is Verdict.REJECT
    assert verdict(machine, [frozenset({"a", "done"})]) is Verdict.ACCEPT


@pytest.mark.parametrize("text", ["F(a & X b)", "X a", "G(a -> X b) & F c"])
def test_reading_of_next_is_chosen_where_it_matters(text: str) -> None:
    with pytest.raises(RewardMachineError, match="X\\[!\\]"):
        compile_ltlf(text)
    with pytest.raises(RewardMachineError, match="X\\[!\\]"):
        holds(text, [{"a", "c"}])
    assert compile_ltlf(text, next="strong") == compile_ltlf(text.replace("X", "X[!]"))


def test_reading_of_next_is_free_where_it_does_not_matter() -> None:
    assert compile_ltlf("F(a & X F b & !last)") == compile_ltlf("F(a & X[!] F b)")


@pytest.mark.parametrize(
    ("text", "counts"),
    [("F(a & F b)", False), ("a & X[!] b", True), ("F a & G !b", False), ("F(a & X[!] F a)", True), ("!a U b", False)],
)
def test_formulas_that_count_steps_are_told(text: str, counts: bool) -> None:
    told: list[CountsSteps] = []
    machine = compile_ltlf(text, watch=told.append)
    assert bool(told) == counts
    if told:
        assert str(told[0])
    # It counts if some trace and the same one with a label repeated have different verdicts.
    words = [list(word) for size in range(1, 4) for word in product(LABELS[:2] + LABELS[4:5], repeat=size)]
    found = any(
        verdict(machine, word) is not verdict(machine, [*word[:i], word[i], *word[i:]])
        for word in words
        for i in range(len(word))
    )
    assert found <= counts


@pytest.mark.parametrize("text", ["G !a", "!a", "a -> b", "a W b", "true", "WX a", "a | G b"])
def test_formulas_that_ask_for_nothing_are_refused(text: str) -> None:
    with pytest.raises(RewardMachineError, match=ASKS_NOTHING):
        compile_ltlf(text)
    assert compile_ltlf(text, end="done")


# -- tasks


TASKS = {"t": "a ; b", "u": "c ; a"}


@pytest.mark.parametrize(
    ("formula", "task"),
    [("F(t & X[!] F u)", "t ; u"), ("F t & F u", "t & u"), ("F t | F u", "t | u"), ("F(a & X[!] F t)", "a ; t")],
)
def test_names_of_tasks_are_calls(formula: str, task: str) -> None:
    machine = compile_ltlf(formula, TASKS)
    assert {edge.callee for edge in machine["task"].edges} >= {"t"}
    assert equivalent(machine, compile_task(task, TASKS))
    given = {name: compile_task(name, TASKS) for name in TASKS}
    assert compile_ltlf(formula, given) == machine


def test_completion_of_a_task_is_nothing_but_its_name() -> None:
    """A label of the formula is never a task together with anything else."""
    with pytest.raises(ContradictionError):
        compile_ltlf("F(t & u)", TASKS)
    with pytest.raises(ContradictionError):
        compile_ltlf("F(t & c)", TASKS)


def test_what_fails_goes_before_calls_and_ties_follow_the_rule() -> None:
    tasks = {"t": "(a | e) ; b", "u": "(a | d) ; c", "same": "a"}
    machine = compile_ltlf("F t & G !c", tasks)
    assert verdict(machine, [{"a", "c"}]) is Verdict.REJECT
    with pytest.raises(ContradictionError, match="alone"):
        compile_ltlf("F t | F same", tasks, tie="left")
    neither = compile_ltlf("F t | F u", tasks)
    assert verdict(neither, [{"a"}, {"b", "c"}]) is Verdict.NEITHER
    left = compile_ltlf("F t | F u", tasks, tie="left")
    assert verdict(left, [{"a"}, {"b"}]) is Verdict.ACCEPT
    right = compile_ltlf("F t | F u", tasks, tie="right")
    assert verdict(right, [{"a"}, {"c"}]) is Verdict.ACCEPT


# -- bad input


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("(F a", "not closed"),
        ("F a)", "closes nothing"),
        ("F a % b", "'%'"),
        ("", "the text ends"),
        ("a U", "the text ends"),
        ("a b", "operator"),
        ("X[a] b", "'!'"),
        ("O a & F b", "past"),
        ("O F a", "past"),
        ("X " * 1000 + "a", "deep"),
        ("a U (" * 1000 + "a" + ")" * 1000, "deep"),
        ("a & " * 250_000 + "a", "too long"),
    ],
)
def test_bad_formulas_are_one_line(text: str, word: str) -> None:
    with pytest.raises((SyntaxProblem, TooLargeError), match=re.escape(word)) as caught:
        compile_ltlf(text)
    assert "\n" not in str(caught.value)


def test_limits_are_told() -> None:
    many = " & ".join(f"F p{i}" for i in range(300))
    with pytest.raises(TooLargeError, match="nodes"):
        compile_ltlf(many, limits=Limits(nodes=3_000))
    with pytest.raises(TooLargeError, match="states"):
        compile_ltlf(many, limits=Limits(states=50))
    with pytest.raises(TooLargeError, match="edges"):
        compile_ltlf("F a & F b & F c", limits=Limits(edges=5))
    with pytest.raises(TooLargeError, match=" s:"):
        compile_ltlf(many, limits=Limits(seconds=0))


def test_wrong_choices_are_told() -> None:
    wrong: list[dict[str, Any]] = [{"accept": "later"}, {"next": "maybe"}, {"tie": "both"}, {"propositions": ["b"]}]
    for options in [*wrong, {"end": "t"}]:
        with pytest.raises(RewardMachineError):
            compile_ltlf("F a & F t", TASKS | {"t": "b"}, **options)
    with pytest.raises(RewardMachineError, match="called"):
        compile_ltlf("F t", TASKS, name="t")
    with pytest.raises(ContradictionError):
        compile_ltlf("F a & G !a")
    assert difference(compile_ltlf("F true1"), compile_ltlf('F "true1"')) is None


# -- regular expressions


_letters = st.sampled_from(["a", "b", "[!a]", "[a & !b]", "[a | b]", "."])
_CHARACTERS = {"a": "[13]", "b": "[23]", "[!a]": "[02]", "[a & !b]": "1", "[a | b]": "[123]", ".": "."}
_regexes: st.SearchStrategy[tuple[str, str]] = st.recursive(
    _letters.map(lambda letter: (letter, _CHARACTERS[letter])),
    lambda inner: (
        st.builds(lambda x, y: (f"({x[0]} ; {y[0]})", f"(?:{x[1]}{y[1]})"), inner, inner)
        | st.builds(lambda x, y: (f"({x[0]} | {y[0]})", f"(?:{x[1]}|{y[1]})"), inner, inner)
        | st.builds(
            lambda x, times: (f"({x[0]}){times}", f"(?:{x[1]}){times}"),
            inner,
            st.sampled_from(["*", "+", "?", "{2}", "{1,2}", "{0,2}", "{1,}"]),
        )
    ),
    max_leaves=5,
)


@given(_regexes, st.lists(st.sampled_from("0123"), max_size=6).map("".join))
def test_regular_expressions_match_as_those_of_python(texts: tuple[str, str], word: str) -> None:
    ours, theirs = texts
    labels = [frozenset(p for p, bit in (("a", 1), ("b", 2)) if int(c) & bit) for c in word]
    machine = compile_regex(ours, end="done", propositions=["a", "b", "done"])
    expected = Verdict.ACCEPT if re.fullmatch(theirs, word) else Verdict.REJECT
    assert verdict(machine, [*labels, DONE]) is expected
    assert minimize(machine) == machine


def test_regular_expressions_call_tasks_and_agree_with_formulas() -> None:
    assert equivalent(compile_regex(".* ; t ; .* ; u", TASKS), compile_task("t ; u", TASKS))
    assert compile_regex("a+ ; b") == compile_ltlf("a & X[!](a U b)")


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("a ; ", "the text ends"),
        ("(a", "')'"),
        ("a ** b", "end"),
        ("!a", "brackets"),
        ("a{3,2}", "order"),
        ("a{x}", "number"),
        ("[a & !a]", "no trace"),
        ("a*", ASKS_NOTHING),
        ("a" + "*" * 100, "repeated"),
        ("a{2000} ; b{2000}", "letters"),
        ("(" * 1000 + "a" + ")" * 1000, "deep"),
    ],
)
def test_bad_regular_expressions_are_one_line(text: str, word: str) -> None:
    with pytest.raises(RewardMachineError, match=re.escape(word)) as caught:
        compile_regex(text)
    assert "\n" not in str(caught.value)
