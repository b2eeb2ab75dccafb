"""A learning task as facts for the encodings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from importlib.resources import files

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.formula import TRUE, Conjunction, Formula, absorbed
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import ACCEPTING, INITIAL, LEAF, REJECTING, Edge, RewardMachine
from rewardmachines.core.traversal import exit_condition
from rewardmachines.exchange import asp_names
from rewardmachines.exchange.asp_names import ROOT, TOP, Constants, proposition
from rewardmachines.learning.limits import Limits
from rewardmachines.learning.task import LearningTask, state_names
from rewardmachines.traces import Trace

TERMINAL = {ACCEPTING: asp_names.ACCEPTING, REJECTING: asp_names.REJECTING}


def encoding(name: str) -> str:
    """The text of one of the encodings."""
    return files("rewardmachines.learning").joinpath("encodings", f"{name}.lp").read_text(encoding="utf-8")


def constants_of(task: LearningTask) -> Constants:
    """The constants of the machines that can be called: those of a root that calls them all."""
    calls = tuple(Edge(INITIAL, ACCEPTING, TRUE, callee) for callee in task.callees)
    return Constants.of(task.hierarchy(RewardMachine(task.name, (INITIAL, ACCEPTING), calls)))


def root_states(task: LearningTask, states: int) -> dict[str, str]:
    """ASP constants for the non-rejecting states of a root machine with `states` states."""
    if states < 2:
        raise RewardMachineError(f"a machine has an initial and an accepting state: it cannot have {states} in all")
    names = state_names(states - 1, rejecting=task.has_dead_ends)
    return {name: TERMINAL.get(name, name) for name in names}


def task_facts(task: LearningTask, states: int, limits: Limits | None = None) -> str:
    """All that the encodings need to know of a task."""
    limits = limits or Limits()
    constants = constants_of(task)
    lines = [
        *space_facts(task, root_states(task, states).values(), constants),
        *option_facts(task),
        *(line for machine in task.background for line in machine_facts(machine, constants)),
        *start_facts(task.callees, constants),
        *(line for number, trace in enumerate(limits.checked(task.traces)) for line in trace_facts(number, trace)),
    ]
    return "\n".join(lines) + "\n"


def space_facts(task: LearningTask, states: Iterable[str], constants: Constants) -> Iterator[str]:
    """The states and edges that a root may have."""
    states = tuple(states)
    yield " ".join(f"state({state},{ROOT})." for state in states)
    yield " ".join(f"inner({s},{i})." for i, s in enumerate(s for s in states if s not in TERMINAL.values()))
    yield " ".join(f"id({number})." for number in range(1, task.options.disjuncts + 1))
    yield " ".join(f"callee({constants.machines[callee]})." for callee in (LEAF, *task.callees))
    yield " ".join(f"proposition({proposition(p)})." for p in task.propositions)


def option_facts(task: LearningTask) -> Iterator[str]:
    """The options that are on."""
    yield from (
        f"{name}." for name in ("acyclic", "negative_formulas", "prefix_knowledge") if getattr(task.options, name)
    )


def machine_facts(machine: RewardMachine, constants: Constants) -> Iterator[str]:
    """A known machine. Edges are numbered between two states, one for each disjunct."""
    name, states = constants.machines[machine.name], constants.states[machine.name]
    yield " ".join(f"state({state},{name})." for state in dict.fromkeys(states.values()))
    numbers: dict[tuple[str, str], int] = {}
    for edge in machine.edges:
        for disjunct in edge.formula.ordered():
            ends = states[edge.source], states[edge.target]
            number = numbers[ends] = numbers.get(ends, 0) + 1
            where = f"{ends[0]},{ends[1]},{number},{name}"
            yield " ".join(
                [f"call({where},{constants.machines[edge.callee]}).", *literal_facts(where, disjunct, ("pos", "neg"))]
            )


def start_facts(callees: Mapping[str, Hierarchy], constants: Constants) -> Iterator[str]:
    """The exit conditions of what can be called; their disjuncts are numbered through."""
    conditions: dict[str, Formula] = {TOP: TRUE}
    for name, hierarchy in callees.items():
        condition = exit_condition(hierarchy, name, hierarchy[name].initial)
        conditions[constants.machines[name]] = absorbed(condition)
    disjuncts = [(callee, d) for callee, condition in conditions.items() for d in condition.ordered()]
    for number, (callee, disjunct) in enumerate(disjuncts):
        literals = literal_facts(str(number), disjunct, ("requires", "forbids"))
        yield " ".join([f"starts({callee},{number}).", *literals])


def literal_facts(owner: str, conjunction: Conjunction, predicates: tuple[str, str]) -> Iterator[str]:
    """The literals of a conjunction: a fact for each, with the arguments of what owns it."""
    for predicate, literals in zip(predicates, (conjunction.required, conjunction.forbidden), strict=True):
        yield from (f"{predicate}({owner},{p})." for p in sorted(map(proposition, literals)))


def trace_facts(number: int, trace: Trace) -> Iterator[str]:
    """A trace and its labels."""
    yield f"trace({number},{trace.outcome.value})."
    for time, label in enumerate(trace.labels):
        observed = sorted(map(proposition, label))
        yield " ".join([f"step({number},{time}).", *(f"label({number},{p},{time})." for p in observed)])
    if trace.labels:
        yield f"last({number},{len(trace) - 1})."
