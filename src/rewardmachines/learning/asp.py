"""A root from traces by clingo: the executable specification of learning.

The encodings say what a solution is; nothing here does. Called machines are run by the paper's own rules, so that no
other code of the learner is trusted. Slow beside the engine that it judges.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from importlib.resources import files
from typing import TYPE_CHECKING, TypeAlias

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.formula import TRUE, Conjunction, Formula, absorbed, conjunction
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import ACCEPTING, INITIAL, LEAF, REJECTING, Edge, RewardMachine
from rewardmachines.core.traversal import exit_condition
from rewardmachines.exchange import asp_names
from rewardmachines.exchange.asp_names import ROOT, TOP, Constants, proposition
from rewardmachines.learning.limits import SearchLimits
from rewardmachines.learning.task import LearningTask, state_names
from rewardmachines.traces import Trace

if TYPE_CHECKING:
    import clingo
import math
import time
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Final

from rewardmachines.learning.solvers import Solvers

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


def task_facts(task: LearningTask, states: int, limits: SearchLimits | None = None) -> str:
    """All that the encodings need to know of a task."""
    limits = limits or SearchLimits()
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
    for step, label in enumerate(trace.labels):
        observed = sorted(map(proposition, label))
        yield " ".join([f"step({number},{step}).", *(f"label({number},{p},{step})." for p in observed)])
    if trace.labels:
        yield f"last({number},{len(trace) - 1})."


EdgeKey: TypeAlias = tuple[str, str, int]
"""Source, target and number: what makes an edge of the root."""


def machine_of(atoms: Iterable[clingo.Symbol], task: LearningTask, states: int) -> RewardMachine:
    """The root whose edges are the atoms `call`, `pos` and `neg`, ordered by source, target and number."""
    names = {constant: name for name, constant in root_states(task, states).items()}
    edges = _Edges(task, names)
    for atom in atoms:
        source, target, number, _, constant = atom.arguments
        edges.add(atom.name, (str(source), str(target), number.number), str(constant))
    rejecting = frozenset({REJECTING} & set(names.values()))
    return RewardMachine(task.name, tuple(names.values()), edges.ordered(), rejecting=rejecting)


class _Edges:
    """Edges whose parts come one by one, in constants."""

    def __init__(self, task: LearningTask, states: dict[str, str]) -> None:
        self._states = states
        self._order = {constant: position for position, constant in enumerate(states)}
        self._machines = {constant: name for name, constant in constants_of(task).machines.items()}
        self._propositions = {proposition(p): p for p in task.propositions}
        self._callees: dict[EdgeKey, str] = {}
        self._literals: dict[str, dict[EdgeKey, set[str]]] = {"pos": {}, "neg": {}}

    def add(self, part: str, key: EdgeKey, constant: str) -> None:
        """Takes in an atom: `call` with a machine, `pos` or `neg` with a proposition."""
        if part == "call":
            self._callees[key] = self._machines[constant]
        else:
            self._literals[part].setdefault(key, set()).add(self._propositions[constant])

    def ordered(self) -> tuple[Edge, ...]:
        return tuple(map(self._edge, sorted(self._callees, key=self._rank)))

    def _rank(self, key: EdgeKey) -> tuple[int, int, int]:
        source, target, number = key
        return self._order[source], self._order[target], number

    def _edge(self, key: EdgeKey) -> Edge:
        formula = conjunction(*(self._literals[sign].get(key, ()) for sign in ("pos", "neg")))
        return Edge(self._states[key[0]], self._states[key[1]], formula, self._callees[key])


ENCODINGS: Final = ("machine", "structure", "determinism", "run", "examples")

_ARGUMENTS: Final = ("--seed=1", "--parallel-mode=1")
_MINIMIZING: Final = ("--models=0", "--opt-mode=opt", "--opt-strategy=usc")


class SolverTimeout(RewardMachineError):
    """The time was used up before the solver knew."""


def solve(
    task: LearningTask, states: int, *, minimize: bool = False, seconds: float | None = None
) -> RewardMachine | None:
    """A root with exactly `states` states, the rejecting one not counted; None if no root explains all traces.

    With `minimize`, one with the fewest edges, disjuncts counted apart, and then the fewest literals. Raises
    `SolverTimeout` after `seconds`; only the solver is interrupted, preparing its program is not.
    """
    deadline = math.inf if seconds is None else time.monotonic() + seconds
    control = _clingo().Control(_arguments(minimize=minimize))
    control.add("base", [], _program(task, states, minimize=minimize))
    control.ground([("base", [])])
    atoms = _last_model(control, deadline)
    return None if atoms is None else machine_of(atoms, task, states)


def solve_in_process(
    solvers: Solvers, task: LearningTask, states: int, limits: SearchLimits, tick: Callable[[], None]
) -> RewardMachine | None:
    """The same as `solve` with `minimize`, within limits: clingo runs in a process that can be killed.

    Raises:
        BudgetExceeded: if a limit is reached.
    """
    clingo = _clingo()
    program = _program(task, states, minimize=True, limits=limits)
    atoms = solvers.run_program(program, _arguments(minimize=True), limits, tick)
    return None if atoms is None else machine_of(map(clingo.parse_term, atoms), task, states)


def _program(task: LearningTask, states: int, *, minimize: bool, limits: SearchLimits | None = None) -> str:
    names = (*ENCODINGS, "minimal") if minimize else ENCODINGS
    return "\n".join([task_facts(task, states, limits), *map(encoding, names)])


def _arguments(*, minimize: bool) -> list[str]:
    return [*_ARGUMENTS, *(_MINIMIZING if minimize else ())]


def _clingo() -> ModuleType:
    try:
        import clingo
    except ImportError as missing:
        raise RewardMachineError("this engine needs clingo: pip install clingo") from missing
    return clingo


def _last_model(control: clingo.Control, deadline: float) -> Sequence[clingo.Symbol] | None:
    """The atoms shown of the last model, the best one where there are several; None if there is none."""
    models: list[Sequence[clingo.Symbol]] = []
    with control.solve(on_model=lambda model: models.append(model.symbols(shown=True)), async_=True) as handle:
        while not handle.wait(min(_PATIENCE, max(0.0, deadline - time.monotonic()))):
            if time.monotonic() >= deadline:
                handle.cancel()
                raise SolverTimeout("clingo did not finish in time")
        if handle.get().interrupted:
            raise SolverTimeout("clingo was interrupted")
    return models[-1] if models else None


_PATIENCE: Final = 0.1
"""Seconds between two looks at the clock; without them, Ctrl-C would have to wait for the solver."""
