"""The search for a machine of a given size, which runs in a process of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rewardmachines.experiments.baselines.jirp.encoding import Encoding, MealyMachine, RewardTrace
from rewardmachines.experiments.baselines.protocol import Plain

SOLVER: Final = "glucose4"
"""The name that PySAT has for the solver that the published code uses."""


def machine_of_size(size: int, label_count: int, traces: Sequence[RewardTrace], solver: str) -> MealyMachine | None:
    """A machine that explains traces.

    Args:
        size: The number of its states, without the terminal one.
        label_count: The number of labels.
        traces: The traces, whose labels are numbers below that.
        solver: The name of a solver of PySAT.

    Returns:
        The machine that the solver finds; None if there is none.
    """
    # Loaded here, because only the process that searches needs it.
    from pysat.solvers import Solver

    encoding = Encoding(size, label_count, traces)
    with Solver(name=solver, bootstrap_with=encoding.clauses()) as sat:
        return encoding.machine(sat.get_model()) if sat.solve() else None


def search(problem: Plain) -> Plain:
    """The same as `machine_of_size`, with plain values for arguments and result."""
    traces = [RewardTrace(tuple(labels), tuple(rewards), ended) for labels, rewards, ended in problem["traces"]]
    machine = machine_of_size(problem["size"], problem["label_count"], traces, problem["solver"])
    return None if machine is None else [machine.targets, machine.rewards]
