"""What compiled tasks mean: what an independent reading of them says, also with machines that there are already."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from language.independent_reading import DONE, LETTERS, Expression, advance, expressions, letter_sets, starts, write
from rewardmachines.core.equivalence import equivalent
from rewardmachines.core.errors import ContradictionError
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.reachability import check_determinism
from rewardmachines.core.traversal import Verdict, traverse, verdict_of
from rewardmachines.language import Tie, compile_task


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
