from __future__ import annotations

import csv
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
from rewardmachines.core.hierarchy import Hierarchy, hierarchy
from rewardmachines.core.machine import machine
from rewardmachines.core.minimization import minimize
from rewardmachines.core.reachability import check_determinism
from rewardmachines.core.sizes import Size, size
from rewardmachines.core.traversal import Verdict, traverse, verdict, verdict_of
from rewardmachines.language import Tie, compile_task, compiler
from rewardmachines.library import domain, task

BOOK = {"paper": "sugarcane ; workbench", "leather": "rabbit ; workbench"}
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
        ("[a | b] | a", ContradictionError, "'a' can never be the side that starts"),
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


# -- an independent reading: what is left to do, rewritten label by label


@dataclass(frozen=True)
class Do:
    name: str


@dataclass(frozen=True)
class Op:
    kind: str
    sides: tuple[Expression, ...]


Expression = Do | Op
DONE = Op(";", ())


def write(e: Expression) -> str:
    return e.name if isinstance(e, Do) else "(" + f" {e.kind} ".join(map(write, e.sides)) + ")"


def starts(e: Expression, label: frozenset[str], tasks: Mapping[str, Expression], tie: Tie) -> bool:
    if isinstance(e, Do):
        return starts(tasks[e.name], label, tasks, tie) if e.name in tasks else e.name in label
    if e.kind == ";":
        return starts(e.sides[0], label, tasks, tie)
    return chosen(e, label, tasks, tie) is not None


def chosen(e: Op, label: frozenset[str], tasks: Mapping[str, Expression], tie: Tie) -> int | None:
    able = [i for i, side in enumerate(e.sides) if starts(side, label, tasks, tie)]
    if not able or (len(able) > 1 and tie is Tie.NEITHER):
        return None
    return able[-1] if tie is Tie.RIGHT else able[0]


def then(first: Expression, rest: tuple[Expression, ...]) -> Expression:
    if first == DONE:
        return rest[0] if len(rest) == 1 else Op(";", rest)
    return Op(";", (first, *rest)) if rest else first


def advance(e: Expression, label: frozenset[str], tasks: Mapping[str, Expression], tie: Tie) -> Expression:
    """What is left to do of a step that the label starts."""
    if isinstance(e, Do):
        return advance(tasks[e.name], label, tasks, tie) if e.name in tasks else DONE
    if e.kind == ";":
        return then(advance(e.sides[0], label, tasks, tie), e.sides[1:])
    i = chosen(e, label, tasks, tie)
    assert i is not None
    rest = e.sides[:i] + e.sides[i + 1 :]
    left = advance(e.sides[i], label, tasks, tie)
    if e.kind == "|" or not rest:
        return left
    return then(left, (rest[0] if len(rest) == 1 else Op("&", rest),))


@st.composite
def expressions(draw: st.DrawFn, names: tuple[str, ...]) -> Expression:
    leaves: st.SearchStrategy[Expression] = st.sampled_from(names).map(Do)
    return draw(
        st.recursive(
            leaves,
            lambda inner: st.builds(
                Op, st.sampled_from([";", "&", "|"]), st.lists(inner, min_size=2, max_size=3).map(tuple)
            ),
            max_leaves=6,
        )
    )


LETTERS = ("a", "b", "c", "d")
letter_sets = st.frozensets(st.sampled_from((*LETTERS, "x")), max_size=3)


@given(
    expressions((*LETTERS, "t1", "t2")),
    expressions((*LETTERS, "t2")),
    expressions(LETTERS),
    st.sampled_from(Tie),
    st.booleans(),
    st.lists(st.sampled_from(LETTERS).map(lambda p: frozenset({p})) | letter_sets, max_size=15),
)
def test_compiled_tasks_do_what_an_independent_reading_says(
    expression: Expression, t1: Expression, t2: Expression, tie: Tie, avoid: bool, word: list[frozenset[str]]
) -> None:
    tasks = {"t1": t1, "t2": t2}
    try:
        compiled = compile_task(
            write(expression), {n: write(e) for n, e in tasks.items()}, tie=tie, avoid=["x"] if avoid else []
        )
    except ContradictionError:
        return
    assert check_determinism(compiled) == []
    left: Expression = expression
    said = Verdict.NEITHER
    for label, state in zip(word, list(traverse(compiled, word))[1:], strict=True):
        if said is Verdict.NEITHER:
            if avoid and "x" in label:
                said = Verdict.REJECT
            elif starts(left, label, tasks, tie):
                left = advance(left, label, tasks, tie)
                said = Verdict.ACCEPT if left == DONE else Verdict.NEITHER
        assert verdict_of(compiled, state) is said


# -- machines that there are already


@given(expressions((*LETTERS, "t1", "t2")), expressions((*LETTERS, "t2")), expressions(LETTERS), st.sampled_from(Tie))
def test_machines_that_are_given_mean_what_their_texts_mean(
    expression: Expression, t1: Expression, t2: Expression, tie: Tie
) -> None:
    texts = {"t1": write(t1), "t2": write(t2)}
    try:
        whole = compile_task(write(expression), texts, tie=tie)
        there = compile_task("t1 ; t2", texts, tie=tie, name="both")
    except ContradictionError:
        return
    machines = Hierarchy("t1", tuple(m for m in there if m.name != "both"), LETTERS)
    task = compile_task(write(expression), machines=machines, tie=tie)
    assert check_determinism(task) == []
    assert equivalent(task, whole)
    assert all(m == machines[m.name] for m in task if m.name != "task")


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
