from __future__ import annotations

import re
import time
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardmachines.core.errors import ContradictionError, RewardMachineError, SyntaxProblem, TooLargeError
from rewardmachines.core.formula import BOT, FALSE, TRUE, Conjunction, Formula, absorbed, conjunction
from rewardmachines.core.labelsets import EVERY, LabelSets
from rewardmachines.core.text import MAX_CHARACTERS, parse_formula
from strategies import ALL_LABELS, conjunctions, formulas, labels


def test_propositions_in_the_label_are_true_and_all_others_false() -> None:
    assert parse_formula("a & !b").holds(frozenset("a"))
    assert not parse_formula("a & !b").holds(frozenset("ab"))
    assert not parse_formula("a & !b").holds(frozenset())


def test_bottom_fails_every_formula_even_true() -> None:
    assert TRUE.holds(frozenset())
    assert not TRUE.holds(BOT)
    assert not parse_formula("!a").holds(BOT)
    assert TRUE.satisfied(BOT) == FALSE


def test_a_conjunction_cannot_contradict_itself() -> None:
    with pytest.raises(ContradictionError, match="a: both required and forbidden"):
        Conjunction(frozenset("a"), frozenset("a"))


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("a", "a"),
        ("!a", "!a"),
        ("b & a & !c", "a & b & !c"),
        ("(a | b) & !c", "(a & !c) | (b & !c)"),
        ("!(a & b)", "!a | !b"),
        ("a -> b", "b | !a"),
        ("a <-> b", "(a & b) | (!a & !b)"),
        ("a & !a", "false"),
        ("a & !a | b", "b"),
        ("true", "true"),
        ("true & a", "a"),
        ("false | a", "a"),
        ("not a and (b or c)", "(b & !a) | (c & !a)"),
        ("¬a ∧ (b ∨ c)", "(b & !a) | (c & !a)"),
        ("a && !!b || ~c", "!c | (a & b)"),
        ("a | a & b", "a | (a & b)"),
        ("milk-bucket & u.v_1", "milk-bucket & u.v_1"),
        ('"rg&bc" & "say \\"hi\\""', '"rg&bc" & "say \\"hi\\""'),
        ('"true" | "and"', '"and" | "true"'),
    ],
)
def test_formulas_print_in_disjunctive_normal_form(text: str, printed: str) -> None:
    assert str(parse_formula(text)) == printed
    assert parse_formula(printed) == parse_formula(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "formula, character 1: expected a proposition"),
        ("a &", "character 4: expected a proposition, 'true', '!' or '(', but the text ends"),
        ("a & & b", "character 5: expected a proposition, 'true', '!' or '(', but found '&'"),
        ("(a | b", "character 7: expected ')', but the text ends"),
        ("a b", "character 3: expected '&', '|' or the end, but found 'b'"),
        ("a $ b", "character 3: '$' means nothing here"),
        ('"a', "character 1: this quoted name is not closed"),
        ('""', "a name cannot be empty"),
        ("(" * 10_000 + "a" + ")" * 10_000, "nested more than 60 deep"),
        ("a -> " * 10_000 + "a", "a chain of more than 60 '->'"),
        ("a <-> " * 10_000 + "a", "a chain of more than 60 '<->'"),
    ],
)
def test_a_malformed_formula_says_where_and_what_was_expected(text: str, message: str) -> None:
    with pytest.raises(SyntaxProblem, match=re.escape(message)):
        parse_formula(text)


def test_formulas_that_would_explode_are_refused() -> None:
    with pytest.raises(TooLargeError, match="too long"):
        parse_formula("a" * (MAX_CHARACTERS + 1))
    with pytest.raises(TooLargeError, match="disjuncts"):
        parse_formula(" & ".join(f"(a{i} | b{i})" for i in range(30)))
    with pytest.raises(TooLargeError, match="disjuncts"):
        parse_formula(" <-> ".join(f"a{i}" for i in range(40)))


def test_chains_of_equivalences_are_worked_out_or_refused_quickly() -> None:
    began = time.process_time()
    assert LabelSets("a").of(parse_formula(" <-> ".join("a" * 20))) == EVERY
    assert len(parse_formula(" <-> ".join("abcdefghijkl")).disjuncts) == 2**11
    with pytest.raises(TooLargeError, match="more than 20,000 disjuncts"):
        parse_formula(" <-> ".join("abcdefghijklmnopqrst"))
    assert time.process_time() - began < 5


@pytest.mark.parametrize("names", ["abc", "aab", "abca", "abcb"])
def test_an_equivalence_of_equivalences_means_the_same_in_any_order(names: str) -> None:
    chain, reverse = parse_formula(" <-> ".join(names)), parse_formula(" <-> ".join(reversed(names)))
    for label in ALL_LABELS:
        holds = True
        for name in names:
            holds = holds == (name in label)
        assert chain.holds(label) == reverse.holds(label) == holds


def test_formulas_that_take_too_long_to_write_out_are_refused() -> None:
    began = time.process_time()
    minterms = [f"(x{i} | !x{i})" for i in range(14)]
    same_again = [f"(x{i} | !x{i} | x{j})" for i in range(14) for j in range(14) if i != j]
    with pytest.raises(TooLargeError, match="steps to write the formula"):
        parse_formula(" & ".join(minterms + same_again))
    deep = "a"
    for _ in range(55):
        deep = f"({deep}{' <-> a' * 58})"
    with pytest.raises(TooLargeError, match="nested too deeply"):
        parse_formula(deep)
    assert time.process_time() - began < 20


def test_long_flat_formulas_are_read_quickly() -> None:
    names = [f"p{i}" for i in range(5000)]
    assert len(parse_formula(" | ".join(names)).disjuncts) == 5000
    assert parse_formula(" & ".join(names)) == conjunction(names)
    assert parse_formula("!" * 10_000 + "a") == conjunction("a")


@given(formulas(min_size=0))
def test_a_formula_read_back_is_the_same(formula: Formula) -> None:
    assert parse_formula(str(formula)) == formula


names = st.text(min_size=1, max_size=5)


@given(st.frozensets(names, max_size=3), st.frozensets(names, max_size=3))
def test_any_names_survive_printing_and_reading(required: frozenset[str], forbidden: frozenset[str]) -> None:
    formula = conjunction(required - forbidden, forbidden)
    assert parse_formula(str(formula)) == formula


@given(st.text(max_size=40) | st.text(alphabet='ab!&|()->< "\\true', max_size=40))
def test_any_text_is_read_or_refused_with_one_kind_of_error(text: str) -> None:
    try:
        parse_formula(text)
    except RewardMachineError as problem:
        assert str(problem)


@given(formulas(), formulas(), labels)
def test_and_or_and_satisfied_mean_what_they_say(a: Formula, b: Formula, label: frozenset[str]) -> None:
    assert (a & b).holds(label) == (a.holds(label) and b.holds(label))
    assert (a | b).holds(label) == (a.holds(label) or b.holds(label))
    assert a.satisfied(label).disjuncts == {d for d in a.disjuncts if d.holds(label)}
    assert absorbed(a).holds(label) == a.holds(label)


_LETTERS = ("a", "b", "c")


@given(
    st.recursive(
        st.sampled_from(_LETTERS), lambda inner: st.tuples(st.sampled_from(["!", "&", "|", "->", "<->"]), inner, inner)
    )
)
def test_any_propositional_formula_keeps_its_truth_table(tree: object) -> None:
    formula = parse_formula(_write(tree))
    for label in ALL_LABELS:
        assert formula.holds(label) == _evaluate(tree, label)


def _write(tree: object) -> str:
    match tree:
        case str():
            return tree
        case ("!", operand, _):
            return f"!({_write(operand)})"
        case (operator, left, right):
            return f"({_write(left)}) {operator} ({_write(right)})"
    raise AssertionError(tree)


def _evaluate(tree: object, label: frozenset[str]) -> bool:
    match tree:
        case str():
            return tree in label
        case ("!", operand, _):
            return not _evaluate(operand, label)
        case ("&", left, right):
            return _evaluate(left, label) and _evaluate(right, label)
        case ("|", left, right):
            return _evaluate(left, label) or _evaluate(right, label)
        case ("->", left, right):
            return not _evaluate(left, label) or _evaluate(right, label)
        case ("<->", left, right):
            return _evaluate(left, label) == _evaluate(right, label)
    raise AssertionError(tree)


# -- label sets


@given(formulas(min_size=0), formulas(min_size=0))
def test_label_sets_are_the_sets_of_labels(a: Formula, b: Formula) -> None:
    sets = LabelSets("abc")

    def members(labels: int) -> set[frozenset[str]]:
        return {x for x in ALL_LABELS if sets.both(labels, sets.only(x)) != 0}  # type: ignore[arg-type]

    of_a, of_b = sets.of(a), sets.of(b)
    true_of_a = {x for x in ALL_LABELS if a.holds(x)}
    true_of_b = {x for x in ALL_LABELS if b.holds(x)}
    assert members(of_a) == true_of_a
    assert members(sets.both(of_a, of_b)) == true_of_a & true_of_b
    assert members(sets.either(of_a, of_b)) == true_of_a | true_of_b
    assert members(sets.complement(of_a)) == set(ALL_LABELS) - true_of_a
    assert (of_a == of_b) == (true_of_a == true_of_b)
    assert sets.of_labels(true_of_a) == of_a
    if true_of_a:
        smallest = sets.smallest(of_a)
        assert smallest in true_of_a
        assert len(smallest) == min(map(len, true_of_a))


@given(formulas(min_size=0), formulas(min_size=0))
def test_a_cover_lies_between_its_bounds_and_nothing_in_it_is_redundant(a: Formula, b: Formula) -> None:
    sets = LabelSets("abc")
    lower, upper = sets.of(a), sets.of(a | b)
    cover = sets.cover(lower, upper)
    covered = sets.of(cover)
    assert sets.minus(lower, covered) == 0
    assert sets.minus(covered, upper) == 0
    for disjunct in cover.disjuncts:
        without = Formula(cover.disjuncts - {disjunct})
        assert sets.minus(lower, sets.of(without)) != 0, "a disjunct could be left out"
        for p in disjunct.propositions:
            shorter = Formula(frozenset({Conjunction(disjunct.required - {p}, disjunct.forbidden - {p})}))
            assert sets.minus(sets.of(shorter), upper) != 0, "a literal could be left out"


@given(conjunctions(), conjunctions())
def test_contradiction_and_subsumption_agree_with_the_labels(a: Conjunction, b: Conjunction) -> None:
    true_of_a = {x for x in ALL_LABELS if a.holds(x)}
    true_of_b = {x for x in ALL_LABELS if b.holds(x)}
    assert a.contradicts(b) == (not true_of_a & true_of_b)
    assert a.subsumes(b) == (true_of_b <= true_of_a)


def test_label_sets_with_sixty_propositions_stay_small() -> None:
    names = [f"p{i:02}" for i in range(60)]
    sets = LabelSets(names)
    everything = sets.of(parse_formula(" | ".join(names)))
    assert sets.cover(everything) == parse_formula(" | ".join(names))
    pairs = " | ".join(f"({a} & {b})" for a, b in combinations(names[:12], 2))
    assert sets.of(parse_formula(pairs)) != everything


def test_a_condition_that_cannot_be_written_down_is_refused() -> None:
    names = [f"p{i:02}" for i in range(40)]
    sets = LabelSets(names)
    pairs = parse_formula(" | ".join(f"({a} & {b})" for a, b in zip(names[::2], names[1::2], strict=True)))
    with pytest.raises(TooLargeError, match="disjuncts to write down"):
        sets.cover(sets.complement(sets.of(pairs)))
