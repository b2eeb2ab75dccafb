"""Machines that may be wrong: their tasks are drawn more often.

When a task keeps refuting its machines, those that it calls come under doubt.

A machine of a lower level that is wrong where nobody went makes trouble further up: no small machine that calls it can
be right, every counterexample leads to a larger one, and searches take longer and longer. The traces of the higher task
cannot tell who is to blame. Episodes of the lower tasks can, if the agent digresses in them.

So the next level waits until the machines of a level are confirmed: until so many episodes have not refuted them that
errors must be rare. If one episode in 1,000 shows an error, 3,000 episodes miss it with a chance of 5 %. Until then,
machines whose policies return enough are in doubt.
"""

from __future__ import annotations

from typing import Final

from rewardmachines.lhrm.config import LhrmConfig
from rewardmachines.lhrm.curriculum import Curriculum
from rewardmachines.lhrm.induction import Machines

MANY_CALLS: Final = 30
"""More calls of the solver than this for one task cast doubt on what its machine calls."""


def doubted_tasks(machines: Machines, curriculum: Curriculum, config: LhrmConfig) -> tuple[int, ...]:
    """The numbers of the tasks whose machines may be wrong: those that are not confirmed yet, and those to blame.

    Args:
        machines: The machines of all tasks, and how they came about.
        curriculum: Which tasks are trained on, and what they return.
        config: All settings. Where agents do not digress, as in the paper, nobody is blamed: they would only do again
            what the machines say.
    """
    names = [task.name for task in machines.pool.tasks]
    passed = {name for name, is_passed in zip(names, curriculum.is_passed, strict=True) if is_passed}
    doubted = {name for name in passed & machines.pool.learned.keys() if not machines.is_confirmed(name)}
    if config.digressions:
        doubted |= _blamed_tasks(machines, curriculum)
    return tuple(number for number, name in enumerate(names) if name in doubted)


def _blamed_tasks(machines: Machines, curriculum: Curriculum) -> set[str]:
    """The tasks that are called by machines for which solvers were called too often."""
    names = [task.name for task in machines.pool.tasks]
    doubted: set[str] = set()
    for name, is_active, returns in zip(names, curriculum.is_active, curriculum.returns, strict=True):
        is_searching = is_active and (returns <= curriculum.threshold).any() and name in machines.pool.learned
        if is_searching and machines.learnings[name].calls > MANY_CALLS:
            doubted |= machines.pool.needed_by(name) - {name}
    return doubted
