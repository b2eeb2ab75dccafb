"""Several runs of LHRM side by side: one program acts for all of them, and each learns its machines on its own."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.lhrm.algorithm import Lhrm
from rewardmachines.lhrm.chunk_metrics import Row
from rewardmachines.lhrm.chunk_traces import Findings
from rewardmachines.lhrm.worlds.compiled import CompiledDriver, CompiledWorlds
from rewardmachines.lhrm.worlds.together import Acting, Judging, Lanes

Q = TypeVar("Q")
T = TypeVar("T")


class RunsSideBySide:
    """Runs with the same tasks and settings, and with seeds and instances of their own.

    Each run does what it would do alone, but for the last digits of sums, which a program for many runs may compute in
    another order. Runs whose arrays have the same sizes share a program. One that has outgrown its arrays is moved by
    itself until others have grown likewise: to give all of them the largest arrays would change what they do, because
    the Q-functions of machines begin afresh in larger arrays.
    """

    def __init__(self, runs: Sequence[Lhrm]) -> None:
        """Takes runs together, of which none, some or all may have begun.

        Raises:
            RewardMachineError: They have different tasks or settings, or their worlds are not compiled.
        """
        self.runs = tuple(runs)
        for run in self.runs:
            if not isinstance(run.worlds, CompiledWorlds):
                raise RewardMachineError("only runs in compiled environments can go side by side")
            if _kind(run) != _kind(self.runs[0]):
                raise RewardMachineError("runs side by side have the same tasks and settings; only seeds differ")
        self._lanes = Lanes(len(self.runs))

    def advance(self, numbers: Sequence[int] | None = None) -> list[Row]:
        """Runs one chunk of some of the runs. Nothing happens to the others.

        Args:
            numbers: The numbers of the runs that go on; all, if not given.

        Returns:
            What the chunk brought to each of them, in this order.
        """
        runs = self.runs if numbers is None else [self.runs[number] for number in numbers]
        asked = [Acting(run.knowledge, run.state, learns=run.learns, most=run.most_episodes) for run in runs]
        acted = _in_groups(runs, asked, self._lanes.act)
        # A search waits for its solvers, which are processes, so that the searches of several runs go on at a time.
        findings = _in_threads([partial(run.learn_machines, *done) for run, done in zip(runs, acted, strict=True)])
        due = [i for i, run in enumerate(runs) if run.is_due]
        returns = _in_groups(
            [runs[i] for i in due], [_judging(runs[i], findings[i]) for i in due], self._lanes.evaluate
        )
        judged = dict(zip(due, returns, strict=True))
        return [run.conclude(findings[i], judged.get(i)) for i, run in enumerate(runs)]


def _judging(run: Lhrm, findings: Findings) -> Judging:
    return Judging(run.knowledge, run.state.agent, findings.evaluated, run.tally.chunks)


def _in_groups(
    runs: Sequence[Lhrm], asked: Sequence[Q], work: Callable[[CompiledDriver, Sequence[Q]], list[T]]
) -> list[T]:  # fmt: skip
    """Does what is asked for each group of runs whose arrays have the same sizes; the results in the order of runs."""
    groups: dict[Hashable, list[int]] = {}
    for i, run in enumerate(runs):
        groups.setdefault(run.registry.sizes, []).append(i)
    done: dict[int, T] = {}
    for group in groups.values():
        driver = runs[group[0]].driver
        assert isinstance(driver, CompiledDriver)
        done.update(zip(group, work(driver, [asked[i] for i in group]), strict=True))
    return [done[i] for i in range(len(runs))]


def _kind(run: Lhrm) -> Hashable:
    """What runs side by side must have in common."""
    worlds: Any = run.worlds
    scenario = worlds.scenario
    where = scenario.domain.name, scenario.setting, scenario.max_steps, scenario.fresh
    return run.config, worlds.tasks, where, worlds.instances


def _in_threads(calls: Sequence[Callable[[], T]]) -> list[T]:
    """Calls functions at the same time; their results in the order given."""
    if len(calls) <= 1:
        return [call() for call in calls]
    pool = ThreadPoolExecutor(len(calls), thread_name_prefix="run")
    try:
        return list(pool.map(lambda call: call(), calls))
    finally:
        pool.shutdown(wait=False, cancel_futures=True)  # after Ctrl-C, nobody waits for searches
