"""Tasks in LTLf and as regular expressions, which use task expressions by name and are used by them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewardmachines.core.equivalence import equivalent
from rewardmachines.core.errors import CircularCallError, RewardMachineError
from rewardmachines.core.flattening import flatten
from rewardmachines.core.reachability import check_determinism
from rewardmachines.core.traversal import Verdict, verdict
from rewardmachines.files import loads_tasks
from rewardmachines.language import FormalTask, compile_task, read_task
from rewardmachines.language.ltlf import CountsSteps, compile_ltlf, compile_regex

# Tasks that mean the same in both languages, wherever they stand: each step is a label of its own.
PAIRS = {"paper": ("s ; w", "ltlf: F(s & X[!] F w)"), "leather": ("r ; w", "regex: [!r]* ; r ; [!w]* ; w")}
EXPRESSIONS = ("paper ; t", "(paper & leather) ; t", "paper | leather", "t ; paper", "paper ; paper")


@settings(deadline=None, max_examples=20)
@given(
    expression=st.sampled_from(EXPRESSIONS),
    chosen=st.tuples(st.booleans(), st.booleans()),
    avoid=st.sampled_from(((), ("lava",))),
)
def test_a_task_is_the_same_in_whatever_language_its_parts_are(
    expression: str, chosen: tuple[bool, bool], avoid: tuple[str, ...]
) -> None:
    plain = compile_task(expression, {name: pair[0] for name, pair in PAIRS.items()}, avoid=avoid)
    parts = {name: pair[number] for (name, pair), number in zip(PAIRS.items(), chosen, strict=True)}
    mixed = compile_task(expression, parts, avoid=avoid)
    assert not check_determinism(mixed)
    assert equivalent(plain, mixed)


def test_a_formula_calls_tasks_and_what_it_forbids_they_avoid() -> None:
    tasks = {"paper": "s ; w", "two": "ltlf: F(paper & X[!] F paper)"}
    tree = compile_task("ltlf: F(two & F t) & G !lava", tasks, name="root")
    assert [machine.name for machine in tree.reachable()] == ["root", "two", "paper"]
    assert not check_determinism(tree)
    done = [{"s"}, {"w"}, {"s"}, {"w"}, {"t"}]
    assert verdict(tree, done) is Verdict.ACCEPT
    for step in range(len(done)):
        assert verdict(tree, [*done[:step], {"lava"}]) is Verdict.REJECT
    assert equivalent(flatten(tree), compile_task("s ; w ; s ; w ; t avoid lava"))


def test_the_name_of_a_formula_is_the_task_itself() -> None:
    assert compile_task("two", {"two": "ltlf: F(a & X[!] F b)"}) == compile_ltlf("F(a & X[!] F b)", name="two")
    assert compile_task("regex: a ; b") == compile_regex("a ; b")


def test_choices_stand_in_parentheses_or_in_the_keys_of_a_file() -> None:
    wanted = FormalTask("ltlf", "G(a -> X b)", end="done", next="weak")
    assert read_task(" LTLf (end = done, next=weak) :  G(a -> X b)") == wanted
    file = loads_tasks("tasks: {t: {ltlf: G(a -> X b), end: done, next: weak}, u: 'regex: a ; t', v: t ; c}")
    assert file.tasks["t"] == wanted
    assert file.tasks["u"] == FormalTask("regex", "a ; t")
    assert verdict(file.compile("t"), [{"a"}, {"b"}, {"done"}]) is Verdict.ACCEPT
    assert verdict(file.compile("v"), [{"a"}, {"done"}, {"c"}]) is Verdict.ACCEPT
    assert read_task("a ; b") == "a ; b"


def test_a_formula_that_counts_steps_is_told_once() -> None:
    notes: list[object] = []
    compile_task("ltlf: F(two & F t) & G !lava", {"two": "ltlf: F(a & X[!] b)"}, watch=notes.append)
    assert [type(note) for note in notes].count(CountsSteps) == len(set(map(str, notes)))
    assert any(isinstance(note, CountsSteps) for note in notes)


@pytest.mark.parametrize(
    ("tasks", "message"),
    [
        ({"root": "ltlf: F (a &"}, "task .root., character 7"),
        ({"root": "a ; t", "t": "ltlf: G !a"}, "asks for nothing"),
        ({"root": "ltlf(when=x): a"}, "when=x"),
        ({"root": "regex(next=weak): a"}, "has no X"),
        ({"root": "ltlf(accept=never): a"}, "never"),
        ({"root": "ltlf: F t", "t": "root ; a"}, "in a circle: root -> t -> root"),
        ({"root": "ltlf: F(a & X b) | G(c -> X d) & F a"}, "X"),
    ],
)
def test_what_is_wrong_is_told(tasks: dict[str, str], message: str) -> None:
    with pytest.raises(RewardMachineError, match=message):
        compile_task("root", tasks)


def test_tasks_in_a_circle_are_refused() -> None:
    with pytest.raises(CircularCallError):
        compile_task("t", {"t": "ltlf: F t"})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tasks:\n  t: {ltlf: F a, regex: a}", "line 2: task 't': give one of"),
        ("tasks:\n  t: {accept: first}", "line 2: task 't': give one of"),
        ("tasks:\n  t: {ltlf: F a, wenn: x}", "'wenn' means nothing in task 't'"),
        ("tasks:\n  a: b\n  t: {regex: a, next: weak}", "line 3: .*has no X"),
        ("tasks:\n  t: [a]", "line 2"),
    ],
)
def test_problems_in_files_are_told_with_their_line(text: str, message: str) -> None:
    with pytest.raises(RewardMachineError, match=message):
        loads_tasks(text)
