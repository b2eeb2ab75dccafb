"""When a run of LHRM ends."""

from __future__ import annotations

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.lhrm.algorithm import Lhrm
from rewardmachines.runs.budget import Budget


def check_ending(budget: Budget, stop_at: float) -> None:
    """Checks that a run would end.

    Args:
        budget: The limits of the run.
        stop_at: The mean return in three consecutive evaluations that is good enough for every task; 0 for never.

    Raises:
        RewardMachineError: It would not, or there is no such return.
    """
    if not 0 <= stop_at <= 1:
        raise RewardMachineError(f"a return that is good enough lies between 0 and 1, not {stop_at:g}")
    if not stop_at and not budget.is_limited:
        raise RewardMachineError(
            "it would never end: say how many steps, episodes or seconds it may take, or what to stop at"
        )


def is_over(run: Lhrm, budget: Budget, stop_at: float, seconds: float) -> bool:
    """Whether a run has ended: its budget is spent, all tasks are learned, or none of them can be.

    Args:
        run: The run, between two chunks.
        budget: Its limits.
        stop_at: As for `check_ending`.
        seconds: The time that it has taken.
    """
    is_spent = budget.is_spent(run.tally.steps, run.tally.episodes, seconds)
    is_solved = stop_at > 0 and run.is_done(stop_at)
    return is_spent or is_solved or run.is_stuck or run.machines.is_out_of_time
