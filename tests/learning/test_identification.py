from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learning.drat import is_refutation, read_formula
from learning.plain_identification import Sample, plain_size, random_sample, some_automaton_of
from rewardmachines import RewardMachineError
from rewardmachines.core.moore import MooreMachine
from rewardmachines.core.traversal import Verdict, verdict
from rewardmachines.exchange.abbadingo import AbbadingoSample, read_abbadingo, write_abbadingo
from rewardmachines.exchange.moore import label_of, moore_to_dot, moore_to_hierarchy, moore_to_hoa
from rewardmachines.files import parse_word
from rewardmachines.learning import Identified, Progress, TimedOut, Unsatisfiable, identification, identify
from rewardmachines.learning.identification_search import CLIQUE, ORDER
from rewardmachines.learning.limits import BudgetExceeded
from rewardmachines.learning.solvers import Answer, Solvers
from rewardmachines.learning.words import ContradictoryWordsError, WordGraph, clique, incompatible_pairs
from rewardmachines.traces import Outcome, Trace


def found(words: Sample, **options: object) -> Identified:
    result = identify(words, **options)  # type: ignore[arg-type]
    assert isinstance(result, Identified)
    return result


@given(st.dictionaries(st.lists(st.integers(0, 1), max_size=4).map(tuple), st.integers(0, 2), min_size=1, max_size=7))
@settings(max_examples=30, deadline=None)
def test_the_size_is_that_of_brute_force(words: Sample) -> None:
    smallest = next((size for size in (1, 2, 3) if some_automaton_of(words, size)), 4)
    assert min(found(words).states, 4) == smallest


@given(st.integers(0, 10_000), st.integers(2, 5), st.integers(1, 3), st.integers(2, 4))
@settings(max_examples=25, deadline=None)
def test_the_size_is_that_of_a_plain_encoding_and_every_word_is_right(
    seed: int, states: int, symbols: int, outputs: int
) -> None:
    words = random_sample(seed, states=states, words=25, symbols=symbols, outputs=outputs)
    result = found(words)
    assert result.states == plain_size(words)
    assert {word: result.automaton.output(word) for word in words} == words
    assert len(result.clique) + len(result.refuted) == result.states


@pytest.mark.parametrize("symmetry", [ORDER, CLIQUE])
@pytest.mark.parametrize("seed", range(4))
def test_both_ways_to_break_symmetry_find_the_same_size(
    symmetry: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = random_sample(seed, states=5, words=50, symbols=1 + seed % 3)
    expected = plain_size(words)
    monkeypatch.setattr(identification, "ORDER", symmetry)
    assert found(words).states == expected


def test_a_larger_sample_goes_to_processes_of_which_none_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[Solvers] = []
    close = Solvers.close

    def close_and_note(solvers: Solvers) -> None:
        close(solvers)
        ended.append(solvers)

    monkeypatch.setattr(Solvers, "close", close_and_note)
    monkeypatch.setattr(identification, "FEW_NODES", 0)
    words = random_sample(1, states=5, words=60)
    told: list[Progress] = []
    assert found(words, watch=told.append).states == plain_size(words)
    assert [solvers._processes for solvers in ended] == [[]]
    assert told[-1].traces == len(words)


# -- the graph of words


def futures(words: Sample, prefix: tuple[int, ...]) -> Sample:
    return {word[len(prefix) :]: output for word, output in words.items() if word[: len(prefix)] == prefix}


@given(st.integers(0, 10_000))
@settings(max_examples=30, deadline=None)
def test_nodes_are_prefixes_with_equal_futures(seed: int) -> None:
    words = random_sample(seed, states=4, words=20)
    graph = WordGraph(words.items())
    reached: dict[int, list[tuple[int, ...]]] = {}
    for prefix in sorted({word[:end] for word in words for end in range(len(word) + 1)}):
        node = 0
        for symbol in prefix:
            node = graph.after[node][graph.alphabet.index(symbol)]
        reached.setdefault(node, []).append(prefix)
    every = {tuple(sorted(futures(words, prefixes[0]).items())) for prefixes in reached.values()}
    assert len(every) == len(reached) == len(graph.after)
    for node, prefixes in reached.items():
        assert len({tuple(sorted(futures(words, prefix).items())) for prefix in prefixes}) == 1
        assert graph.is_single[node] == (len(prefixes) == 1)
        assert graph.word_to(node) in prefixes


@given(st.integers(0, 10_000))
@settings(max_examples=30, deadline=None)
def test_nodes_are_incompatible_if_a_continuation_has_two_outputs(seed: int) -> None:
    words = random_sample(seed, states=4, words=20, outputs=3)
    graph = WordGraph(words.items())
    after = [futures(words, tuple(int(str(s)) for s in graph.word_to(node))) for node in range(len(graph.after))]
    expected = [
        (v, w) for w in range(len(after)) for v in range(w) if any(after[w].get(u, o) != o for u, o in after[v].items())
    ]
    incompatible = graph.incompatible()
    assert incompatible_pairs(incompatible) == expected
    assert set(combinations(sorted(clique(incompatible)), 2)) <= set(expected)


# -- proofs


@pytest.mark.parametrize("seed", range(6))
def test_a_plain_checker_accepts_the_proof(seed: int, tmp_path: Path) -> None:
    words = random_sample(seed, states=4, words=30)
    result = found(words, proof=tmp_path / "words.drat")
    if result.states == 1:
        assert result.proof is None
        return
    assert result.proof is not None
    assert result.proof.states == result.states - 1
    clauses, proof = read_formula(result.proof.formula.read_text()), result.proof.proof.read_text()
    assert is_refutation(clauses, proof)
    assert not is_refutation(clauses[:-1], proof)  # the last clause switches the size on


def test_the_checker_refuses_lines_that_do_not_follow() -> None:
    clauses = read_formula("p cnf 2 3\n1 2 0\n-1 2 0\n1 -2 0\n")
    assert not is_refutation(clauses, "2 0\n0\n")
    assert is_refutation([*clauses, frozenset({-1, -2})], "2 0\n0\n")
    assert not is_refutation([*clauses, frozenset({-1, -2})], "0\n")


def test_a_proof_needs_a_folder(tmp_path: Path) -> None:
    with pytest.raises(RewardMachineError, match="no folder"):
        identify({"a": True}, proof=tmp_path / "nowhere" / "words.drat")


# -- limits and mistakes


def test_a_limit_ends_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identification, "FEW_NODES", 0)
    result = identify(random_sample(3, states=9, words=300), timeout=0.02)
    assert isinstance(result, TimedOut)
    assert result.reason == "time"


def test_a_limit_leaves_the_bound_that_was_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    def spend(_: Solvers, requests: Sequence[dict[str, int]], new_answer: Callable[[], Answer], *rest: object) -> None:
        new_answer().take({"refuted": requests[0]["first"], "seconds": 0.0})
        raise BudgetExceeded("time")

    words = random_sample(3, states=5, words=60)
    first = len(found(words).clique)
    monkeypatch.setattr(identification, "FEW_NODES", 0)
    monkeypatch.setattr(Solvers, "identify", spend)
    result = identify(words)
    assert isinstance(result, TimedOut)
    assert (result.bound, result.refuted) == (first + 1, (first,))


def test_too_few_states_are_refuted() -> None:
    words = {"": 0, "a": 1, "aa": 2, "aaa": 3}
    result = identify(words, max_states=3)
    assert isinstance(result, Unsatisfiable)
    assert result.max_states == 3
    assert isinstance(identify(words, max_states=4), Identified)


def test_words_with_two_outputs_are_named() -> None:
    with pytest.raises(ContradictoryWordsError, match="<a b>"):
        identify([("ab", True), ("ab", False)])


@pytest.mark.parametrize(
    ("words", "options", "key"),
    [({}, {}, "no labelled words"), ({"c": 1}, {"alphabet": "ab"}, "c"), ({"a": 1}, {"max_states": 0}, "1 state")],
)
def test_mistakes(words: Sample, options: dict[str, object], key: str) -> None:
    with pytest.raises(RewardMachineError, match=key):
        identify(words, **options)  # type: ignore[arg-type]


# -- traces, and other formats


def test_traces_give_a_machine_that_explains_them() -> None:
    goal, dead_end = Outcome.GOAL, Outcome.DEAD_END
    traces = [
        Trace(parse_word("iron {} table"), goal),
        Trace(parse_word("cow iron table"), goal),
        Trace(parse_word("table iron")),
        Trace(parse_word("iron lava"), dead_end),
    ]
    result = identify(traces)
    assert isinstance(result, Identified)
    hierarchy = moore_to_hierarchy(result.automaton, {goal.value}, {dead_end.value})
    assert [verdict(hierarchy, trace.labels) for trace in traces] == [trace.outcome.verdict for trace in traces]


@given(st.integers(0, 10_000))
@settings(max_examples=20, deadline=None)
def test_with_an_end_any_dfa_is_a_machine(seed: int) -> None:
    words = random_sample(seed, states=4, words=20)
    automaton = found(words).automaton
    hierarchy = moore_to_hierarchy(automaton, {1}, {0}, end="end")
    for word, output in words.items():
        labels = [*map(label_of, word), frozenset({"end"})]
        assert verdict(hierarchy, labels) is (Verdict.ACCEPT if output else Verdict.REJECT)
        assert verdict(hierarchy, labels[:-1]) is Verdict.NEITHER


def test_states_that_are_left_are_no_ends_of_a_machine() -> None:
    automaton = MooreMachine(("a",), (0, 1), ((1,), (0,)))
    with pytest.raises(RewardMachineError, match="state 1"):
        moore_to_hierarchy(automaton)
    with pytest.raises(RewardMachineError, match="another label"):
        moore_to_hierarchy(automaton, end="a")


def test_automata_files_name_every_state_and_step() -> None:
    automaton = MooreMachine((0, 1), ("x", "y", "z"), ((1, 0), (2, 0), (2, 2)))
    hoa, dot = moore_to_hoa(automaton), moore_to_dot(automaton)
    assert "Acceptance: 3 t" in hoa
    assert hoa.count("State: ") == 3
    assert hoa.count("  [") == 6
    assert "1 -> 2" in dot
    assert "Acceptance: 1 Inf(0)" in moore_to_hoa(MooreMachine(("a",), (0, 1), ((1,), (1,))))


def test_unused_steps_are_self_loops_and_states_are_numbered_from_the_start() -> None:
    automaton = MooreMachine(("a", "b"), ("x", "y", "z"), ((0, 1), (2, 0), (0, 1)), initial=2)
    assert automaton.trimmed(["ab"]) == MooreMachine(("a", "b"), ("z", "x", "y"), ((1, 0), (1, 2), (2, 2)))


@given(st.lists(st.tuples(st.lists(st.integers(0, 2), max_size=5).map(tuple), st.integers(-1, 3)), max_size=8))
def test_samples_come_back_from_the_abbadingo_format(pairs: list[tuple[tuple[int, ...], int]]) -> None:
    sample = AbbadingoSample(tuple(word for word, _ in pairs), tuple(number for _, number in pairs), (0, 1, 2))
    assert read_abbadingo(write_abbadingo(sample)) == sample
    assert list(sample.labelled()) == [pair for pair in pairs if pair[1] != -1]


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("", "empty"),
        ("2\n", "line 1"),
        ("1 2\n\n1 2 0 x\n", "line 3"),
        ("1 2\n1 3 0 1\n", "line 2"),
        ("1 2\n1 1 2\n", "line 2"),
        ("1 2\n-2 0\n", "line 2"),
        ("3 2\n1 0\n", "line 1"),
        ("1 0\n1 0\n", "line 1"),
    ],
)
def test_a_text_in_another_format_is_refused_with_the_line(text: str, key: str) -> None:
    with pytest.raises(RewardMachineError, match=key):
        read_abbadingo(text)
