"""Option selection in plain Python (Appendix C.2), as a judge of faster implementations.

It follows the paper's pseudo-code, with errata E10 and E11 corrected, and knows nothing of networks: whoever calls it
chooses. Options are stacked shallowest first, like calls.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeAlias

from agents.reference_options import TRUE, Candidate, Option, available, conjoined
from rewardmachines.core.formula import Conjunction, Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import LEAF, Edge
from rewardmachines.core.traversal import Call, CallStack, HierarchyState, derivation, initial_state, step


@dataclass(frozen=True)
class Running:
    """An option on the stack, where it began, and for how many steps it has run."""

    option: Option
    start: object
    steps: int = 0

    def __str__(self) -> str:
        return f"{self.option} since {self.start}, {self.steps} steps"


OptionStack: TypeAlias = tuple[Running, ...]
Choose: TypeAlias = Callable[[str, str, Conjunction, list[Candidate]], int | None]
ChooseDisjunct: TypeAlias = Callable[[Call, list[Conjunction]], int]


@dataclass(frozen=True)
class Experience:
    """What the Q-function of `machine` learns from an option that achieved its goal."""

    machine: str
    state: str
    context: Conjunction
    choice: Candidate
    start: object
    steps: int
    next_state: str
    next_context: Conjunction
    is_accepting: bool
    is_terminal: bool


# Filling the stack ------------------------------------------------------------------------------------------------


def has_formula_option(stack: OptionStack) -> bool:
    """Whether the stack says how to act: its last option is then a formula option."""
    return bool(stack) and not stack[-1].option.is_call


def fill(
    hierarchy: Hierarchy,
    labels: Collection[Label],
    state: HierarchyState,
    stack: OptionStack,
    choose: Choose,
    now: object,
) -> OptionStack:
    """Chooses options, from the hierarchy state down, until one is a formula option or there is none to choose."""
    machine, place, context = state.machine, state.state, TRUE
    while not has_formula_option(stack):
        candidates = available(hierarchy, labels, machine, place, context)
        index = choose(machine, place, context, candidates)
        if index is None:
            break
        callee, disjunct = candidates[index]
        stack = (*stack, Running(Option(callee, disjunct, machine, place, context), now))
        if callee != LEAF:
            machine, place, context = callee, hierarchy[callee].initial, _under(context, disjunct)
    return stack


def _under(context: Conjunction, disjunct: Conjunction) -> Conjunction:
    """The context of a call. Options that are available never contradict theirs."""
    joint = conjoined(context, disjunct)
    assert joint is not None, f"{disjunct} contradicts its context {context}"
    return joint


# Termination ------------------------------------------------------------------------------------------------------


def is_call_of(option: Option, call: Call) -> bool:
    """Whether the call is the one that the option chose, under formulas that contain the option's."""
    return (
        (option.state, option.machine, option.callee) == (call.source, call.caller, call.callee)
        and option.formula in call.formula.disjuncts
        and option.context in call.context.disjuncts
    )


def position(option: Option, calls: CallStack) -> int | None:
    """Where on the call stack the option is."""
    return next((index for index, call in enumerate(calls) if is_call_of(option, call)), None)


def terminate(
    hierarchy: Hierarchy, stack: OptionStack, before: HierarchyState, after: HierarchyState, ended: bool
) -> tuple[OptionStack, OptionStack]:
    """The options that terminate, the deepest first, and those that remain.

    All do when the episode has ended. A formula option does when the hierarchy state changes, a call option when its
    call is not on the call stack; above the first that does not, none does.
    """
    remaining = len(stack)
    while remaining and (ended or _terminates(stack[remaining - 1].option, before, after)):
        remaining -= 1
    return stack[remaining:][::-1], stack[:remaining]


def _terminates(option: Option, before: HierarchyState, after: HierarchyState) -> bool:
    return position(option, after.stack) is None if option.is_call else before != after


# What was achieved ------------------------------------------------------------------------------------------------


def returned(hierarchy: Hierarchy, before: HierarchyState, label: Label) -> Iterator[Call]:
    """The calls that return while the label is processed, also those it has just started; calls to the leaf too."""
    states = [state for state, _ in derivation(hierarchy, before, label)]
    for state, following in pairwise(states):
        if len(following.stack) < len(state.stack):
            yield state.stack[-1]


def achieved(
    hierarchy: Hierarchy, running: Running, before: HierarchyState, after: HierarchyState, label: Label, event: bool
) -> bool:
    """Whether the option reached its goal in this step.

    A formula option: a new label satisfies its formula and context. A call option: its call has returned.
    """
    assert after == (step(hierarchy, before, label) if event else before)
    option = running.option
    if not event:
        return False
    if option.is_call:
        return any(is_call_of(option, call) for call in returned(hierarchy, before, label))
    return option.formula.holds(label) and option.context.holds(label)


def experience(hierarchy: Hierarchy, running: Running) -> Experience:
    """What is learnt from an option that achieved its goal: its edge was taken."""
    option = running.option
    machine = hierarchy[option.machine]
    target = _edge(hierarchy, option).target
    return Experience(
        machine=option.machine,
        state=option.state,
        context=option.context,
        choice=(option.callee, option.formula),
        start=running.start,
        steps=running.steps,
        next_state=target,
        next_context=option.context if target == option.state else TRUE,
        is_accepting=target in machine.accepting,
        is_terminal=machine.is_terminal(target),
    )


def _edge(hierarchy: Hierarchy, option: Option) -> Edge:
    """The one edge that the option takes.

    With two of them, a label that satisfies the option would start both: the machine would not be deterministic.
    """
    (edge,) = [
        edge
        for edge in hierarchy[option.machine].outgoing(option.state)
        if edge.callee == option.callee and option.formula in edge.formula.disjuncts
    ]
    return edge


# Following the traversal ------------------------------------------------------------------------------------------


def begin(
    hierarchy: Hierarchy, label: Label, choose_disjunct: ChooseDisjunct, now: object
) -> tuple[HierarchyState, OptionStack]:
    """The beginning of an episode: its first label may start calls, which have options that begin now."""
    before = initial_state(hierarchy)
    after = step(hierarchy, before, label)
    return after, align(hierarchy, (), before, after, (), choose_disjunct, now, steps=0)


def align(
    hierarchy: Hierarchy,
    stack: OptionStack,
    before: HierarchyState,
    after: HierarchyState,
    terminated: OptionStack,
    choose_disjunct: ChooseDisjunct,
    now: object = None,
    steps: int = 1,
) -> OptionStack:
    """Adds an option for each call that has just begun but was not chosen.

    They take the start, the steps and the context of the shallowest option that terminated. Where none did, nobody
    had chosen an option for this step, and they began so many steps ago, at `now`.
    """
    first = _first_call_to_add(stack, before.stack, after.stack)
    origin = terminated[-1] if terminated else Running(Option(LEAF, TRUE, after.machine, after.state), now, steps)
    context = origin.option.context
    for call in after.stack[first:]:
        disjuncts = call.formula.ordered()
        disjunct = disjuncts[choose_disjunct(call, disjuncts)]
        option = Option(call.callee, disjunct, call.caller, call.source, context)
        stack = (*stack, replace(origin, option=option))
        context = _under(context, disjunct)
    return stack


def _first_call_to_add(stack: OptionStack, before: CallStack, calls: CallStack) -> int:
    """Calls that were going on before have an option already, or were begun by nobody and get none."""
    if not stack:
        return len(before)
    index = position(stack[-1].option, calls)
    return len(calls) if index is None else max(index + 1, len(before))


# A step -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Step:
    """One environment step: the options that acted, what became of them, and the stack for the next step."""

    acting: OptionStack
    after: HierarchyState
    terminated: OptionStack
    experiences: tuple[Experience, ...]
    stack: OptionStack


def agent_step(
    hierarchy: Hierarchy,
    labels: Collection[Label],
    state: HierarchyState,
    stack: OptionStack,
    label: Label,
    *,
    choose: Choose,
    choose_disjunct: ChooseDisjunct,
    now: object,
    event: bool = True,
    ended: bool = False,
) -> Step:
    """Fills the stack, lets its last option act, and follows the label that the action led to.

    `labels` are those seen before the step. A label that is no event leaves the hierarchy state as it is.
    """
    acting = fill(hierarchy, labels, state, stack, choose, now)
    after = step(hierarchy, state, label) if event else state
    grown = tuple(replace(running, steps=running.steps + 1) for running in acting)
    terminated, remaining = terminate(hierarchy, grown, state, after, ended)
    experiences = tuple(
        experience(hierarchy, running)
        for running in terminated
        if achieved(hierarchy, running, state, after, label, event)
    )
    if not ended:
        remaining = align(hierarchy, remaining, state, after, terminated, choose_disjunct, now)
    return Step(acting, after, terminated, experiences, remaining)
