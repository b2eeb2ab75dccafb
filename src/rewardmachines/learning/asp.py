"""A root from traces by clingo: the executable specification of learning.

The encodings say what a solution is; nothing here does. Called machines are run by the paper's own rules, so that no
other code of the learner is trusted. Slow beside the engine that it judges.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Final

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.machine import RewardMachine
from rewardmachines.learning.asp_facts import encoding, task_facts
from rewardmachines.learning.asp_reading import machine_of
from rewardmachines.learning.limits import Limits
from rewardmachines.learning.solvers import Solvers
from rewardmachines.learning.task import LearningTask

if TYPE_CHECKING:
    import clingo

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
    solvers: Solvers, task: LearningTask, states: int, limits: Limits, tick: Callable[[], None]
) -> RewardMachine | None:
    """The same as `solve` with `minimize`, within limits: clingo runs in a process that can be killed.

    Raises:
        BudgetExceeded: if a limit is reached.
    """
    clingo = _clingo()
    program = _program(task, states, minimize=True, limits=limits)
    atoms = solvers.run_program(program, _arguments(minimize=True), limits, tick)
    return None if atoms is None else machine_of(map(clingo.parse_term, atoms), task, states)


def _program(task: LearningTask, states: int, *, minimize: bool, limits: Limits | None = None) -> str:
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
