"""`induce`: a machine from traces, or from somebody who can be asked for counterexamples."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import RewardMachine
from rewardmachines.learning.learner import MAX_STATES, Budget, Engine, Learner, Watch
from rewardmachines.learning.oracles import FIRST_TRACES, Oracle, shortest, trace_order
from rewardmachines.learning.results import Learned, Result
from rewardmachines.learning.solvers import Solvers
from rewardmachines.learning.task import LearningTask, Options, learning_task
from rewardmachines.traces import Trace


def induce(
    source: Iterable[Trace] | Oracle,
    propositions: Iterable[str] | None = None,
    callables: Iterable[Hierarchy | RewardMachine] = (),
    *,
    max_states: int = MAX_STATES,
    timeout: float | None = None,
    memory: int | None = None,
    disjuncts: int = 1,
    acyclic: bool = True,
    negative_formulas: bool = False,
    prefix_knowledge: bool = True,
    engine: Engine | Literal["sat", "clingo"] = Engine.SAT,
    name: str = "root",
    cores: int | None = None,
    watch: Watch = lambda _: None,
) -> Result:
    """The smallest machine that explains the traces: fewest states, then edges, then literals.

    It may call the `callables`. From an oracle, the machine is learned from the shortest goal traces first, and again
    whenever the oracle knows a trace that it does not explain.

    >>> from rewardmachines.files import parse_word
    >>> from rewardmachines.traces import Outcome
    >>> goal = [Trace(parse_word("iron {} table"), Outcome.GOAL), Trace(parse_word("cow iron table"), Outcome.GOAL)]
    >>> [str(edge) for edge in induce([*goal, Trace(parse_word("table iron"))]).machine.edges]
    ['u0 --[iron]--> u1', 'u1 --[table]--> uA']
    """
    options = Options(disjuncts, acyclic, negative_formulas, prefix_knowledge)
    budget = Budget(timeout, memory, max_states)
    with Solvers(cores=cores, memory=memory) as solvers:
        learner = Learner(solvers, engine=_engine(engine), watch=watch)
        if isinstance(source, Oracle):
            first = shortest(source.goal_traces(), FIRST_TRACES)
            task = learning_task(first, propositions, callables, options=options, name=name)
            return ask_until_right(learner, task, source, budget).result
        task = learning_task(source, propositions, callables, options=options, name=name)
        return learner.learn(task, budget)


@dataclass(frozen=True)
class Induction:
    """How a machine was learned with an oracle's help."""

    result: Result
    task: LearningTask
    """With all traces that were needed."""
    attempts: tuple[Result, ...]


def ask_until_right(
    learner: Learner,
    task: LearningTask,
    oracle: Oracle,
    budget: Budget | None = None,
    told: Callable[[Result], None] = lambda _: None,
) -> Induction:
    """Learns, asks for counterexamples, adds them and learns again, until there are none or the budget is spent."""
    budget = budget or Budget()
    started = time.monotonic()
    attempts: list[Result] = []
    while True:
        result = learner.learn(task, _what_is_left(budget, started))
        attempts.append(result)
        told(result)
        wrong = oracle.counterexamples(result.hierarchy) if isinstance(result, Learned) else ()
        if not wrong:
            return Induction(_summed(result, attempts), task, tuple(attempts))
        task = _with_traces(task, wrong)


def _with_traces(task: LearningTask, wrong: Sequence[Trace]) -> LearningTask:
    if known := set(wrong) & set(task.traces):
        raise RewardMachineError(f"the oracle gave a trace that the machine explains: {min(known, key=trace_order)}")
    traces = (*task.traces, *wrong)
    return learning_task(traces, task.propositions, task.callables, options=task.options, name=task.name)


def _what_is_left(budget: Budget, started: float) -> Budget:
    if budget.seconds is None:
        return budget
    return replace(budget, seconds=max(1e-3, budget.seconds - (time.monotonic() - started)))


def _summed(result: Result, attempts: list[Result]) -> Result:
    """The last result, with the time and the calls of all."""
    return replace(result, seconds=sum(a.seconds for a in attempts), calls=sum(a.calls for a in attempts))


def _engine(engine: Engine | str) -> Engine:
    try:
        return Engine(engine)
    except ValueError:
        raise RewardMachineError(f"the engine is one of {', '.join(e.value for e in Engine)}, not {engine!r}") from None
