"""Suspect machines, which may be wrong: their tasks are sampled more often, with detours.

A machine of a lower level that is wrong where no policy goes makes trouble further up: no small machine that calls it
can be right, every counterexample leads to a larger one, and searches take longer and longer. Neither the traces of the
higher task nor its own machine, which soon calls other machines instead, show which machine is wrong. Episodes of the
lower tasks show it, if the agent mostly deviates from the options of their machines: a successful policy finds no
counterexamples. So a task that keeps refuting its machines makes those that it may call suspect.

The next level waits until the machines of a level are confirmed: until the episodes that have not refuted them are so
numerous that errors must be rare. If one episode in 1,000 shows an error, 3,000 episodes miss it with a probability of
5 %. Until then, machines whose policies return enough are checked, too.
"""

from __future__ import annotations

from typing import Final

from rewardmachines.lhrm.config import LhrmConfig
from rewardmachines.lhrm.curriculum import Curriculum
from rewardmachines.lhrm.induction import Machines

MANY_CALLS: Final = 30
"""Calls of the solver for one task above which the machines that it may call are suspect. Without knowledge of
prefixes, right machines take about twice as many calls, and so it is twice the number."""


def tasks_to_check(machines: Machines, curriculum: Curriculum, config: LhrmConfig) -> tuple[int, ...]:
    """The numbers of the tasks that are sampled more often: their machines are not confirmed yet, or suspect.

    Args:
        machines: The machines of all tasks, and the progress of learning them.
        curriculum: The tasks that are trained on, and their returns.
        config: All settings.
    """
    names, unconfirmed = [task.name for task in machines.pool.tasks], unconfirmed_tasks(machines, curriculum)
    return tuple(sorted({*map(names.index, unconfirmed), *suspect_tasks(machines, curriculum, config)}))


def unconfirmed_tasks(machines: Machines, curriculum: Curriculum) -> set[str]:
    """The names of the tasks whose policies return enough, and whose machines are not confirmed yet."""
    names = [task.name for task in machines.pool.tasks]
    passed = {name for name, is_passed in zip(names, curriculum.is_passed, strict=True) if is_passed}
    return {name for name in passed & machines.pool.learned.keys() if not machines.is_confirmed(name)}


def suspect_tasks(machines: Machines, curriculum: Curriculum, config: LhrmConfig) -> tuple[int, ...]:
    """The numbers of the tasks that may be called by machines for which solvers were called too often.

    Args:
        machines: The machines of all tasks, and the progress of learning them.
        curriculum: The tasks that are trained on, and their returns.
        config: All settings. Without detours, as in the paper, there are none: episodes would only repeat what the
            machines say.
    """
    if not config.detour_rate:
        return ()
    names, most = [task.name for task in machines.pool.tasks], MANY_CALLS if config.prefixes else 2 * MANY_CALLS
    suspect: set[str] = set()
    for name, is_active, returns in zip(names, curriculum.is_active, curriculum.returns, strict=True):
        is_searching = is_active and (returns <= curriculum.threshold).any() and name in machines.pool.learned
        if is_searching and machines.progress[name].calls > most:
            suspect |= {machine.name for tree in machines.callables(name) for machine in tree.machines}
    return tuple(number for number, name in enumerate(names) if name in suspect)
