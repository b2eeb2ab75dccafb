"""Tasks compiled to machines: those of the paper, the operators one by one, and what is refused."""

from __future__ import annotations

import csv
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from language.book import BOOK
from paper import GOLDEN, recorded, recorded_hierarchy
from rewardmachines.core.equivalence import difference, equivalent
from rewardmachines.core.errors import (
    CircularCallError,
    ContradictionError,
    RewardMachineError,
    SyntaxProblem,
    TooLargeError,
    UnknownPropositionError,
)
from rewardmachines.core.minimization import minimize
from rewardmachines.core.reachability import check_determinism
from rewardmachines.core.sizes import Size, size
from rewardmachines.core.traversal import Verdict, verdict
from rewardmachines.language import Ignored, Note, Tie, compile_task, compiler, tie_of
from rewardmachines.library import domain, task

AUTHORS_NAMES = {"book-and-quill": "book-quill", "milk-bucket-and-sugar": "milk-bucket-sugar"}


def test_book_comes_out_as_drawn() -> None:
    book = compile_task("(paper & leather) ; table", BOOK, name="book")
    assert {str(e) for e in book["book"].edges} == {
        "u0 --[leather | !sugarcane]--> u1",
        "u0 --[paper | !rabbit]--> u2",
        "u1 --[paper | true]--> u3",
        "u2 --[leather | true]--> u3",
        "u3 --[table]--> uA",
    }
    assert book.height == 2


@pytest.mark.parametrize(
    "entry", recorded("traversal.json.gz"), ids=lambda e: f"{e['task']}-{e['dead_ends']}-{e['flat']}"
)
def test_every_task_of_the_paper_agrees_with_the_authors_machines(entry: dict[str, object]) -> None:
    known = domain(str(entry["domain"]))
    dead_ends = bool(entry["dead_ends"])
    name = str(entry["task"])
    ours = task(known.name, AUTHORS_NAMES.get(name, name), dead_ends=dead_ends)
    assert difference(ours, recorded_hierarchy(entry), labels=known.labels(dead_ends=dead_ends)) is None
    assert check_determinism(ours) == []


@pytest.mark.parametrize(
    "row", list(csv.DictReader((GOLDEN / "tasks.csv").read_text().splitlines())), ids=lambda row: row["task"]
)
def test_heights_are_the_levels_of_the_paper(row: dict[str, str]) -> None:
    for dead_ends in (False, True):
        assert task(row["domain"], row["task"], dead_ends=dead_ends).height == int(row["level"])


@pytest.mark.parametrize(
    ("tie", "first", "accepted"),
    [
        (Tie.NEITHER, [{"a", "b"}, {"b"}], False),
        (Tie.NEITHER, [{"a", "b"}, {"b"}, {"a"}], True),
        (Tie.LEFT, [{"a", "b"}, {"b"}], True),
        (Tie.LEFT, [{"a", "b"}, {"a"}], False),
        ("right", [{"a", "b"}, {"a"}], True),
        ("right", [{"a", "b"}, {"b"}], False),
    ],
)
def test_ties_are_broken_as_asked(tie: Tie, first: list[set[str]], accepted: bool) -> None:
    assert (verdict(compile_task("a & b", tie=tie), first) is Verdict.ACCEPT) == accepted


@pytest.mark.parametrize("tie", list(Tie))
def test_alternatives_that_one_label_ends_are_no_tie(tie: Tie) -> None:
    either = compile_task("a | b", tie=tie)
    assert [str(edge) for edge in either["task"].edges] == ["u0 --[a | b]--> uA"]
    assert verdict(compile_task("(a | b) ; c", tie=tie), [{"a", "b"}, {"c"}]) is Verdict.ACCEPT
    assert equivalent(compile_task("a | a", tie=tie), compile_task("a"))


@pytest.mark.parametrize("tie", list(Tie))
@pytest.mark.parametrize(
    ("task", "same"),
    [
        ("(a ; c) | (b ; c)", "(a | b) ; c"),
        ("(a ; c) | (a ; c)", "a ; c"),
        ("(a ; b ; c) | (d ; (b ; c))", "(a | d) ; b ; c"),
        ("(a ; (c | d)) | (b ; (d | c))", "(a | b) ; (c | d)"),
        ("(a ; paper) | (b ; paper)", "(a | b) ; paper"),
    ],
)
def test_alternatives_that_go_on_alike_are_no_tie(task: str, same: str, tie: Tie) -> None:
    found: list[Note] = []
    assert equivalent(compile_task(task, BOOK, tie=tie, watch=found.append), compile_task(same, BOOK, tie=tie))
    assert found == []


def test_of_several_alternatives_only_those_that_go_on_differently_are_a_tie() -> None:
    task = "(a ; c) | (b ; d) | (e ; c)"
    assert verdict(compile_task(task), [{"a", "e"}, {"c"}]) is Verdict.ACCEPT
    assert verdict(compile_task(task), [{"a", "b", "e"}, {"c"}]) is Verdict.NEITHER
    assert verdict(compile_task(task, tie="left"), [{"a", "b", "e"}, {"c"}]) is Verdict.ACCEPT
    assert verdict(compile_task(task, tie="right"), [{"b", "e"}, {"c"}]) is Verdict.ACCEPT
    called = compile_task("(x ; c) | (b ; c)", {"x": "a"})
    assert verdict(called, [{"a", "b"}, {"c"}]) is Verdict.NEITHER, "only one of them is a call"


def test_alternatives_that_go_on_differently_are_a_tie() -> None:
    task = "(a ; c) | b"
    assert verdict(compile_task(task), [{"a", "b"}]) is Verdict.NEITHER
    assert verdict(compile_task(task), [{"a", "b"}, {"b"}]) is Verdict.ACCEPT
    assert verdict(compile_task(task, tie="left"), [{"a", "b"}, {"c"}]) is Verdict.ACCEPT
    assert verdict(compile_task(task, tie="right"), [{"a", "b"}]) is Verdict.ACCEPT


@pytest.mark.parametrize(
    ("expression", "tie", "ignored"),
    [
        ("a | b", "neither", []),
        ("a ; b", "neither", []),
        ("a & b", "neither", [("a", "b", "a & b")]),
        ("a & b", "left", []),
        ("(a ; c) | b", "neither", [("(a ; c)", "b", "a & b")]),
        ("paper & leather", "neither", [("leather", "paper", "rabbit & sugarcane")]),
    ],
)
def test_labels_that_a_tie_leaves_without_effect_are_reported(
    expression: str, tie: str, ignored: list[tuple[str, str, str]]
) -> None:
    noted: list[Note] = []
    compile_task(expression, BOOK, tie=tie_of(tie), watch=noted.append)
    found = [each for each in noted if isinstance(each, Ignored)]
    assert len(found) == len(noted)
    assert [(*sorted(each.sides), str(each.labels)) for each in found] == ignored
    assert {each.task for each in found} <= {"task"}


def test_any_order_of_three_means_all_six_orders_unless_grouped() -> None:
    three, grouped = compile_task("a & b & c"), compile_task("(a & b) & c")
    for order in ("abc", "acb", "bac", "bca", "cab", "cba"):
        assert verdict(three, [{x} for x in order]) is Verdict.ACCEPT
    assert verdict(grouped, [{x} for x in "acb"]) is Verdict.NEITHER


def test_the_side_that_starts_first_runs_to_its_end() -> None:
    task = compile_task("(a ; b) & (c ; d)")
    assert verdict(task, [{x} for x in "abcd"]) is Verdict.ACCEPT
    assert verdict(task, [{x} for x in "acbd"]) is Verdict.NEITHER
    assert verdict(task, [{x} for x in "acbcd"]) is Verdict.ACCEPT


def test_what_one_task_avoids_all_avoid() -> None:
    tasks = {"paper": "sugarcane ; workbench avoid lava", "leather": "rabbit ; workbench"}
    book = compile_task("paper & leather", tasks)
    assert verdict(book, [{"lava"}]) is Verdict.REJECT
    assert verdict(book, [{"rabbit"}, {"lava"}]) is Verdict.REJECT
    assert verdict(book, [{"rabbit", "lava"}]) is Verdict.REJECT
    same = compile_task("paper & leather avoid lava", BOOK)
    assert difference(book, same) is None
    assert difference(book, compile_task("paper & leather", BOOK, avoid=["lava"])) is None


def test_events_are_formulas_that_one_label_satisfies() -> None:
    task = compile_task("[a & !b | c] ; d")
    assert verdict(task, [{"a", "b"}, {"d"}]) is Verdict.NEITHER
    assert verdict(task, [{"a"}, {"d"}]) is Verdict.ACCEPT
    assert verdict(task, [{"c"}, {"d"}]) is Verdict.ACCEPT


def test_a_name_alone_is_that_task() -> None:
    alone = compile_task("book", {**BOOK, "book": "(paper & leather) ; table"})
    assert (alone.root, alone.height) == ("book", 2)
    assert {m.name for m in alone} == {"book", "paper", "leather"}


def test_quoted_names_may_hold_anything() -> None:
    tasks = {"rg&bc": '"odd name!" ; b'}
    assert verdict(compile_task('"rg&bc" ; c', tasks), [{"odd name!"}, {"b"}, {"c"}]) is Verdict.ACCEPT


@pytest.mark.parametrize(
    ("expression", "error", "message"),
    [
        ("", SyntaxProblem, "task, character 1: expected a proposition, a task"),
        ("a ;", SyntaxProblem, "character 4: expected a proposition"),
        ("a & (b ; c", SyntaxProblem, "character 11: expected ';', '&', '|' or ')', but the text ends"),
        ("a b", SyntaxProblem, "character 3: expected ';', '&', '|', 'avoid' or the end"),
        ("a avoid", SyntaxProblem, "expected a proposition to avoid"),
        ("a avoid b ; c", SyntaxProblem, "'avoid' comes last"),
        ("(a avoid b) ; c", SyntaxProblem, "'avoid' goes at the end of the whole task"),
        ("!a", SyntaxProblem, "for a formula write [!a]"),
        ("[a", SyntaxProblem, "expected '&', '|' or ']'"),
        ("(" * 10_000, SyntaxProblem, "nested more than 60 deep"),
        ("a;" * 100_000, TooLargeError, "too long"),
        (" & ".join(f"p{i}" for i in range(30)), TooLargeError, "2^30 states"),
        (" & ".join(f"p{i}" for i in range(13)), TooLargeError, "2^13 states and 53,248 edges"),
        ("a & a", ContradictionError, "'a' and 'a' can only ever start together"),
        ("a | (a ; b)", ContradictionError, "can only ever start together"),
        ("[a | b] | (a ; c)", ContradictionError, "'(a ; c)' can never be the side that starts"),
        ("[a & !a] ; b", ContradictionError, "the step 'false' can never happen, no label satisfies it"),
        ("a ; lava avoid lava", ContradictionError, "the step 'lava' can never happen, it is to be avoided"),
        ("paper avoid leather", RewardMachineError, "'leather' is a task: only propositions can be avoided"),
    ],
)
def test_malformed_tasks_say_what_is_wrong(expression: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        compile_task(expression, BOOK)


def test_tasks_that_use_each_other_in_a_circle_are_refused() -> None:
    with pytest.raises(CircularCallError, match="x -> y -> x"):
        compile_task("x", {"x": "a ; y", "y": "b ; x"})


def test_chains_of_tasks_thousands_long_are_refused() -> None:
    tasks = {f"t{i}": f"a ; t{i + 1}" for i in range(5000)} | {"t5000": "b"}
    with pytest.raises(TooLargeError, match="deep"):
        compile_task("t0", tasks)


def test_the_edges_of_all_tasks_together_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "MAX_EDGES", 40)
    tasks = {"x": "a & b & c & d", "y": "e & f"}
    assert len(compile_task("x ; y", tasks)) == 3
    with pytest.raises(TooLargeError, match="more than 40 edges"):
        compile_task("x ; y", tasks, avoid=["lava"])


def test_eleven_steps_in_any_order_are_compiled_and_twelve_refused_before_they_take_long() -> None:
    assert size(compile_task(" & ".join("abcdefghijk"))) == Size(2**11, 11 * 2**10)
    began = time.process_time()
    with pytest.raises(TooLargeError, match=r"24,576|20,000"):
        compile_task(" & ".join("abcdefghijkl"))
    assert time.process_time() - began < 5


def test_a_long_chain_of_tasks_is_minimized_quickly() -> None:
    tasks = {f"t{i}": f"t{i + 1} ; t{i + 1}" for i in range(140)} | {"t140": "a"}
    task = compile_task("t0", tasks)
    began = time.process_time()
    smaller = minimize(task)
    assert time.process_time() - began < 5
    assert len(smaller) == 141
    assert equivalent(task, smaller)


def test_undeclared_names_are_refused_with_a_suggestion() -> None:
    with pytest.raises(
        UnknownPropositionError, match="'tabel' is neither a declared proposition nor a task; did you mean 'table'"
    ):
        compile_task("paper ; tabel", BOOK, propositions=["sugarcane", "rabbit", "workbench", "table"])
    with pytest.raises(UnknownPropositionError, match="task 'leather': 'rabbit'"):
        compile_task("leather", BOOK, propositions=["workbench"])


def test_names_that_mean_two_things_are_refused() -> None:
    with pytest.raises(RewardMachineError, match="'paper' is both a proposition and a task"):
        compile_task("paper", BOOK, propositions=["paper", "sugarcane", "workbench"])
    with pytest.raises(RewardMachineError, match="the root cannot be called 'paper'"):
        compile_task("paper ; x", BOOK, name="paper")
    with pytest.raises(RewardMachineError, match="tie is one of 'neither', 'left', 'right'"):
        compile_task("a & b", tie="both")  # type: ignore[arg-type]


@given(st.text(max_size=30) | st.text(alphabet="ab;&|()[]! avoid,", max_size=40))
def test_any_text_compiles_or_is_refused_with_one_kind_of_error(text: str) -> None:
    try:
        compile_task(text)
    except RewardMachineError as problem:
        assert str(problem)
