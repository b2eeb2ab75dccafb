"""The file for ILASP, read back and solved by clingo: hypotheses as choices, examples as contexts."""

from __future__ import annotations

import re
from dataclasses import dataclass

import clingo
import pytest

from learning.test_asp import IRON_TABLE, trace
from rewardmachines.core.machine import RewardMachine, machine
from rewardmachines.exchange.asp_names import Constants
from rewardmachines.learning.asp import constants_of, machine_facts, solve
from rewardmachines.learning.ilasp import to_ilasp
from rewardmachines.learning.task import LearningTask, Options, learning_task

CALLEE = machine("m1", [("u0", "u1", "a"), ("u1", "uA", "b"), ("u1", "uR", "c & !b")])
CALLS = [
    trace("goal", "a", "b", "c"),
    trace("incomplete", "a", "b"),
    trace("incomplete", "b", "c"),
    trace("dead_end", "a", "c"),
]


@dataclass(frozen=True)
class File:
    """The parts of a task for ILASP."""

    background: str
    space: frozenset[str]
    examples: tuple[tuple[str, frozenset[str], frozenset[str], str], ...]


def read(text: str) -> File:
    code = re.sub(r"^%.*\n", "", text, flags=re.MULTILINE)
    space = re.findall(r"^2 ~ (.*\.)$", code, re.MULTILINE)
    examples = re.findall(r"^#pos\((\w+), \{(.*)\}, \{(.*)\}, \{\n((?:  .*\n)*)\}\)\.$", code, re.MULTILINE)
    background = code.split("2 ~ ")[0]
    assert len(space) == len(set(space)) == code.count("~")
    assert len(examples) == code.count("#pos")
    assert "#" not in background
    atoms = (
        (name, frozenset(re.findall(r"\w+", inc)), frozenset(re.findall(r"\w+", exc)), context)
        for name, inc, exc, context in examples
    )
    return File(background, frozenset(space), tuple(atoms))


def covered(file: File, hypothesis: set[str]) -> set[str]:
    """The examples that a hypothesis covers."""
    assert hypothesis <= file.space
    return {
        name
        for name, included, excluded, context in file.examples
        if any(
            included <= model and excluded.isdisjoint(model)
            for model in models("\n".join([file.background, *sorted(hypothesis), context]))
        )
    }


def models(program: str) -> list[set[str]]:
    control = clingo.Control(["0"], logger=lambda code, message: None)
    control.add("base", [], program)
    control.ground([("base", [])])
    found: list[set[str]] = []
    control.solve(on_model=lambda model: found.append(set(map(str, model.symbols(atoms=True)))))
    return found


def hypothesis_of(task: LearningTask, root: RewardMachine | None) -> set[str]:
    assert root is not None
    whole, constants = Constants.of(task.hierarchy(root)), constants_of(task)
    known = Constants(whole.machines | constants.machines, whole.states)
    facts = " ".join(machine_facts(root, known))
    return {f"{fact}." for fact in re.findall(r"(?:call|pos|neg)\(.*?\)(?=\.)", facts)}


def names(file: File) -> set[str]:
    return {name for name, *_ in file.examples}


@pytest.mark.parametrize(
    ("task", "states"),
    [
        (learning_task(IRON_TABLE), 3),
        (learning_task(IRON_TABLE), 4),
        (learning_task(CALLS, callables=[CALLEE]), 3),
        (learning_task(CALLS, callables=[CALLEE], options=Options(2, False, True, False)), 3),
        (learning_task([trace("goal", "Iron not"), trace("incomplete", "not", "")]), 2),
    ],
)
def test_what_clingo_learns_is_in_the_space_and_covers_all_examples(task: LearningTask, states: int) -> None:
    file = read(to_ilasp(task, states))
    assert covered(file, hypothesis_of(task, solve(task, states))) == names(file)


@pytest.mark.parametrize(
    ("root", "missed"),
    [
        ([("u0", "u1", "iron"), ("u1", "uA", "table")], 0),
        ([("u0", "u1", "table"), ("u1", "uA", "iron")], 3),  # the goals
        ([("u0", "u1", "iron"), ("u0", "uA", "table"), ("u1", "uA", "table")], 5),  # not deterministic
        ([("u0", "u1", "iron"), ("u1", "uA", "!iron")], 5),  # nothing positive
        ([("u0", "u1", "iron"), ("u0", "uA", "table & !iron")], 5),  # u1 is not left
        ([("u0", "u1", "iron"), ("u1", "u0", "table"), ("u1", "uA", "iron & !table")], 5),  # a cycle
    ],
)
def test_wrong_hypotheses_do_not_cover_all_examples(root: list[tuple[str, str, str]], missed: int) -> None:
    task = learning_task(IRON_TABLE)
    file = read(to_ilasp(task, 3))
    wrong = hypothesis_of(task, machine("root", root))
    assert len(names(file) - covered(file, wrong)) == missed


def test_the_background_leaves_the_roots_of_the_space_and_no_other_facts() -> None:
    file = read(to_ilasp(learning_task([trace("goal", "a")]), 2))
    choices = " ".join(f"{{{fact.removesuffix('.')}}}." for fact in sorted(file.space))
    learned = [{atom for atom in model if f"{atom}." in file.space} for model in models(file.background + choices)]
    assert learned == [{"call(u0,ua,1,mr,mtop)", "pos(u0,ua,1,mr,a)"}]


def test_an_edge_has_one_callee_and_no_literal_with_both_signs() -> None:
    file = read(to_ilasp(learning_task([trace("incomplete", "b")], callables=[CALLEE]), 2))
    calls = [{f"call(u0,ua,1,mr,{callee}).", "pos(u0,ua,1,mr,a)."} for callee in ("m1", "mtop")]
    assert [covered(file, call) for call in calls] == [{"incomplete_0"}] * 2
    assert covered(file, calls[0] | calls[1]) == set()
    assert covered(file, calls[0] | {"neg(u0,ua,1,mr,a)."}) == set()


@pytest.mark.parametrize("sign", ["pos", "neg"])
def test_literals_without_an_edge_are_no_hypothesis(sign: str) -> None:
    file = read(to_ilasp(learning_task([trace("incomplete", "a")]), 3))
    parts = (("call", "mtop"), ("pos", "a"))
    chain = {f"{part}({ends},1,mr,{what})." for ends in ("u0,u1", "u1,ua") for part, what in parts}
    assert covered(file, chain) == {"incomplete_0"}
    assert covered(file, chain | {f"{sign}(u0,ua,1,mr,a)."}) == set()


def test_a_negative_literal_holds_an_edge_back() -> None:
    file = read(to_ilasp(learning_task([trace("incomplete", "a b"), trace("goal", "a")]), 2))
    edge = {"call(u0,ua,1,mr,mtop).", "pos(u0,ua,1,mr,a)."}
    assert covered(file, edge) == {"goal_0"}
    assert covered(file, edge | {"neg(u0,ua,1,mr,b)."}) == {"goal_0", "incomplete_1"}


@pytest.mark.parametrize("prefix_knowledge", [False, True])
def test_examples_carry_their_outcomes(prefix_knowledge: bool) -> None:
    task = learning_task(CALLS, callables=[CALLEE], options=Options(prefix_knowledge=prefix_knowledge))
    early = {"ended_early"} if prefix_knowledge else set()
    examples = {name.rpartition("_")[0]: (set(i), set(e)) for name, i, e, _ in read(to_ilasp(task, 3)).examples}
    assert examples == {
        "goal": ({"accept"}, {"reject"} | early),
        "dead_end": ({"reject"}, {"accept"} | early),
        "incomplete": (set(), {"accept", "reject"} | early),
    }


@pytest.mark.parametrize(("outcome", "state"), [("goal", "ua"), ("dead_end", "ur")])
def test_an_example_that_ends_early_is_not_covered(outcome: str, state: str) -> None:
    traces = [trace(outcome, "a", "b"), trace("incomplete", "b")]
    early = {f"call(u0,{state},1,mr,mtop).", f"pos(u0,{state},1,mr,a)."}
    loose = learning_task(traces, options=Options(prefix_knowledge=False))
    assert covered(read(to_ilasp(learning_task(traces), 2)), early) == {"incomplete_0"}
    assert covered(read(to_ilasp(loose, 2)), early) == {"incomplete_0", f"{outcome}_1"}


def test_the_header_says_how_to_run_it_and_what_the_constants_mean() -> None:
    callee = machine("Wood & glue", [("u0", "uA", '"Iron ore"')])
    header = to_ilasp(learning_task([trace("goal", "a")], None, [callee], name="My root"), 2).split("\n\n")[0]
    assert all(line.startswith("%") for line in header.splitlines())
    assert "--version=2 --strict-types -nc -ml=1 --simple" in header
    assert re.search(r"mr +My root$", header, re.MULTILINE)
    assert re.search(r"wood_glue +Wood & glue$", header, re.MULTILINE)
    assert re.search(r'"Iron ore" +Iron ore$', header, re.MULTILINE)


def test_the_space_of_the_paper_has_a_call_for_each_callee_and_two_literals_for_each_proposition() -> None:
    task = learning_task(CALLS, callables=[CALLEE], options=Options(disjuncts=2))
    edges = 2 * 3 * 2  # inner states, other states, disjuncts
    assert len(read(to_ilasp(task, 3)).space) == edges * (2 + 2 * 3)
