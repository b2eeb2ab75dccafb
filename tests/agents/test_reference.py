"""The readable reference of options on the paper's example, Book, and on small hierarchies."""

from __future__ import annotations

from agents.book_options import (
    BOOK,
    BOOK_LABELS,
    CALL_1,
    CALL_2,
    RABBIT,
    START,
    SUGARCANE,
    WORKBENCH,
    book_step,
    choosing,
    first,
    formula,
    label,
    option,
    options,
)
from agents.reference import Experience, OptionStack, Running, agent_step, align, fill, position, terminate
from agents.reference_options import TRUE, Option, available, conjoined
from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy, hierarchy
from rewardmachines.core.machine import LEAF, machine
from rewardmachines.core.traversal import initial_state, step

# The options of Book ----------------------------------------------------------------------------------------------


def all_options(hierarchy: Hierarchy, labels: frozenset[Label]) -> set[Option]:
    """The options of every state: entered by an edge the context is true, entered by a call it is the call's."""
    found: set[Option] = set()
    waiting = [(hierarchy.root, hierarchy[hierarchy.root].initial, TRUE)]
    visited = set(waiting)
    while waiting:
        name, state, context = waiting.pop()
        here = {Option(*c, name, state, context) for c in available(hierarchy, labels, name, state, context)}
        nexts = {(name, edge.target, TRUE) for edge in hierarchy[name].outgoing(state)}
        for o in here:
            joint = conjoined(o.context, o.formula)
            if o.is_call and joint is not None:
                nexts.add((o.callee, hierarchy[o.callee].initial, joint))
        found |= here
        waiting += nexts - visited
        visited |= nexts
    return found


def test_book_has_six_formula_options_and_four_call_options() -> None:
    found = all_options(BOOK, BOOK_LABELS)
    assert {o for o in found if not o.is_call} == {
        SUGARCANE,
        RABBIT,
        option(LEAF, "sugarcane", "M1", "u0_1"),
        WORKBENCH,
        option(LEAF, "workbench", "M2", "u1_2"),
        option(LEAF, "table", "M0", "u3_0"),
    }
    assert {o for o in found if o.is_call} == {
        CALL_1,
        CALL_2,
        option("M2", "true", "M0", "u1_0"),
        option("M1", "true", "M0", "u2_0"),
    }


def test_in_the_initial_state_of_book_the_first_two_outputs_are_available() -> None:
    assert available(BOOK, BOOK_LABELS, "M0", "u0_0") == [("M1", formula("!rabbit")), ("M2", TRUE)]


def test_an_option_that_contradicts_its_context_is_not_available() -> None:
    assert available(BOOK, BOOK_LABELS, "M2", "u0_2", formula("!rabbit")) == []


def test_a_call_whose_context_contradicts_the_first_edge_of_the_callee_is_not_available() -> None:
    outer = machine("outer", [("u0", "uA", "!rabbit", "inner"), ("u0", "uA", "rabbit", "inner")])
    inner = machine("inner", [("u0", "u1", "rabbit"), ("u1", "uA", "workbench")])
    tree = hierarchy(outer, inner)
    assert available(tree, BOOK_LABELS, "outer", "u0") == [("inner", formula("rabbit"))]


def test_the_context_of_a_call_binds_only_the_first_edge_of_the_callee() -> None:
    outer = machine("outer", [("u0", "uA", "!b", "inner")])
    inner = machine("inner", [("u0", "u1", "a"), ("u1", "uA", "b")])
    tree = hierarchy(outer, inner)
    assert available(tree, {label("a"), label("b")}, "outer", "u0") == [("inner", formula("!b"))]


def test_only_what_some_label_seen_satisfies_is_available() -> None:
    without_workbench = BOOK_LABELS - {label("workbench")}
    assert available(BOOK, without_workbench, "M0", "u0_0") == []
    assert available(BOOK, BOOK_LABELS - {label("sugarcane")}, "M1", "u0_1") == []


def test_an_edge_to_a_state_from_where_no_end_was_seen_is_not_available() -> None:
    tree = hierarchy(machine("m", [("u0", "u1", "a"), ("u1", "uA", "b"), ("u0", "uA", "c")]))
    assert available(tree, {label("a"), label("c")}, "m", "u0") == [(LEAF, formula("c"))]
    assert available(tree, {label("a"), label("b")}, "m", "u0") == [(LEAF, formula("a"))]


def test_an_edge_to_a_rejecting_state_is_available() -> None:
    tree = hierarchy(machine("m", [("u0", "uA", "table"), ("u0", "uR", "lava")]))
    labels = {label("table"), label("lava")}
    assert available(tree, labels, "m", "u0") == [(LEAF, formula("table")), (LEAF, formula("lava"))]


def test_a_callee_that_can_only_reject_is_not_available() -> None:
    outer = machine("outer", [("u0", "uA", "true", "inner")])
    tree = hierarchy(outer, machine("inner", [("u0", "uA", "table"), ("u0", "uR", "lava")]))
    assert available(tree, {label("lava")}, "outer", "u0") == []


def test_each_disjunct_is_an_option() -> None:
    tree = hierarchy(machine("m", [("u0", "uA", "(a & !c) | d")]))
    labels = {label("a"), label("d")}
    assert available(tree, labels, "m", "u0") == [(LEAF, formula("d")), (LEAF, formula("a & !c"))]


# The scenarios of the paper ---------------------------------------------------------------------------------------


def test_scenario_1_options_run_to_completion() -> None:
    turned = book_step(START, (), now=0)
    assert options(turned.acting) == [CALL_1, SUGARCANE]
    assert turned.after == START
    assert turned.terminated == ()
    assert turned.stack == (Running(CALL_1, 0, 1), Running(SUGARCANE, 0, 1))

    walked = book_step(START, turned.stack, now=1)
    there = book_step(START, walked.stack, "sugarcane", now=2)
    assert str(there.after) == "<M1, u1_1, true, [<u0_0, u1_0, M0, M1, !rabbit, true>]>"
    assert there.terminated == (Running(SUGARCANE, 0, 3),)
    assert there.experiences == (
        Experience(
            machine="M1",
            state="u0_1",
            context=formula("!rabbit"),
            choice=(LEAF, formula("sugarcane")),
            start=0,
            steps=3,
            next_state="u1_1",
            next_context=TRUE,
            is_accepting=False,
            is_terminal=False,
        ),
    )
    assert there.stack == (Running(CALL_1, 0, 3),)

    workbench = book_step(there.after, there.stack, "workbench", now=3)
    assert workbench.acting == (Running(CALL_1, 0, 3), Running(WORKBENCH, 3, 0))
    assert available(BOOK, BOOK_LABELS, "M1", "u1_1") == [(LEAF, formula("workbench"))]
    assert str(workbench.after) == "<M0, u1_0, true, []>"
    assert [(e.machine, e.next_state, e.steps, e.is_accepting) for e in workbench.experiences] == [
        ("M1", "uA_1", 1, True),
        ("M0", "u1_0", 4, False),
    ]
    assert workbench.stack == ()


def test_scenario_2_the_traversal_differs_from_the_choice() -> None:
    turned = book_step(START, (), now=0, prefer=CALL_2)
    assert options(turned.acting) == [CALL_2, RABBIT]
    other = book_step(START, turned.stack, "sugarcane", now=1)
    assert str(other.after) == "<M1, u1_1, true, [<u0_0, u1_0, M0, M1, !rabbit, true>]>"
    assert options(other.terminated) == [RABBIT, CALL_2]
    assert other.experiences == ()
    assert other.stack == (Running(CALL_1, 0, 2),)


def test_a_rabbit_interrupts_the_machine_that_looks_for_sugarcane() -> None:
    interrupted = book_step(START, (), "rabbit", now=0)
    assert options(interrupted.acting) == [CALL_1, SUGARCANE]
    assert options(interrupted.terminated) == [SUGARCANE, CALL_1]
    assert options(interrupted.stack) == [CALL_2]
    assert interrupted.experiences == ()
    kept = book_step(START, (), "sugarcane", now=0)
    assert options(kept.stack) == [CALL_1]
    later = book_step(kept.after, kept.stack, "rabbit", now=1)
    assert options(later.stack) == [CALL_1, WORKBENCH]


def test_book_is_run_to_its_end() -> None:
    state, machines = START, []
    stack: OptionStack = ()
    for now, seen in enumerate(("sugarcane", "workbench", "rabbit", "workbench", "table")):
        done = book_step(state, stack, seen, now=now)
        state, stack = done.after, done.stack
        machines += [(e.machine, e.next_state, e.steps) for e in done.experiences]
    assert str(state) == "<M0, uA_0, true, []>"
    assert machines == [
        ("M1", "u1_1", 1),
        ("M1", "uA_1", 1),
        ("M0", "u1_0", 2),
        ("M2", "u1_2", 1),
        ("M2", "uA_2", 1),
        ("M0", "u3_0", 2),
        ("M0", "uA_0", 1),
    ]


# Corners ----------------------------------------------------------------------------------------------------------


def test_at_the_end_of_an_episode_every_option_terminates() -> None:
    acting = fill(BOOK, BOOK_LABELS, START, (), choosing(CALL_1), now=0)
    assert terminate(BOOK, acting, START, START, ended=True) == (acting[::-1], ())


def test_an_option_is_on_the_call_stack_if_its_disjunct_was_satisfied() -> None:
    tree = hierarchy(
        machine("outer", [("u0", "uA", "(a & !c) | d", "inner")]),
        machine("inner", [("u0", "u1", "true"), ("u1", "uA", "b")]),
    )
    after = step(tree, initial_state(tree), label("a", "d"))
    for chosen in ("a & !c", "d"):
        assert position(option("inner", chosen, "outer", "u0"), after.stack) == 0
    only_d = step(tree, initial_state(tree), label("d"))
    assert position(option("inner", "a & !c", "outer", "u0"), only_d.stack) is None


def one_edge_callee() -> Hierarchy:
    return hierarchy(machine("outer", [("u0", "uA", "!b", "inner")]), machine("inner", [("u0", "uA", "a")]))


def test_a_call_that_one_label_starts_and_finishes_is_achieved() -> None:
    tree = one_edge_callee()
    done = agent_step(
        tree, {label("a")}, initial_state(tree), (), label("a"), choose=choosing(), choose_disjunct=first, now=0
    )
    assert [(e.machine, e.next_state, e.is_accepting) for e in done.experiences] == [
        ("inner", "uA", True),
        ("outer", "uA", True),
    ]


def test_a_label_that_is_no_event_achieves_nothing() -> None:
    tree = one_edge_callee()
    start = initial_state(tree)
    done = agent_step(
        tree, {label("a")}, start, (), label("a"), choose=choosing(), choose_disjunct=first, now=0, event=False
    )
    assert done.after == start
    assert done.terminated == ()
    assert options(done.stack) == options(done.acting)


def test_a_callee_that_rejects_achieves_its_formula_but_not_the_call() -> None:
    tree = hierarchy(
        machine("outer", [("u0", "uA", "true", "inner")]),
        machine("inner", [("u0", "uA", "a"), ("u0", "uR", "lava")]),
    )
    labels, lava = {label("a"), label("lava")}, option(LEAF, "lava", "inner", "u0")
    done = agent_step(
        tree,
        labels,
        initial_state(tree),
        (),
        label("lava"),
        choose=choosing(lava),
        choose_disjunct=first,
        now=0,
        ended=True,
    )
    assert options(done.terminated) == [lava, option("inner", "true", "outer", "u0")]
    (only,) = done.experiences
    assert (only.machine, only.next_state, only.is_accepting, only.is_terminal) == ("inner", "uR", False, True)


def test_where_nothing_is_available_filling_stops_and_calls_still_get_their_options() -> None:
    silent = agent_step(BOOK, (), START, (), label("rabbit"), choose=choosing(), choose_disjunct=first, now=7)
    assert silent.acting == ()
    assert silent.stack == (Running(CALL_2, 7, 1),)


def test_aligned_options_take_the_disjunct_that_is_chosen() -> None:
    tree = hierarchy(
        machine("outer", [("u0", "uA", "a | b", "inner")]),
        machine("inner", [("u0", "u1", "true"), ("u1", "uA", "c")]),
    )
    after = step(tree, initial_state(tree), label("a", "b"))
    start = initial_state(tree)
    (stack,) = align(tree, (), start, after, (), lambda call, disjuncts: disjuncts.index(formula("b")), now=0)
    assert stack.option == option("inner", "b", "outer", "u0")
