"""The runs of a study on this machine, one after the other or in processes side by side."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from multiprocessing.connection import wait as wait_for_any
from pathlib import Path
from typing import Final, NamedTuple

import jax

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.runs.compiled_cache import keep_compiled
from rewardmachines.studies.execution import Outcome, Schedule, SweepWatcher, Unit, Workplace, attempt, units
from rewardmachines.studies.plan import PlannedRun

_PATIENCE: Final = 0.5
"""Seconds between two looks at processes."""

_MERCY: Final = 10.0
"""Seconds that a process has to end before it is killed."""

_GRACE: Final = 15.0
"""Seconds after the end of a budget in which runs write checkpoints; then their processes are ended."""


def sweep(
    runs: Sequence[PlannedRun],
    root: Path,
    *,
    jobs: int = 1,
    seconds: float | None = None,
    watcher: SweepWatcher | None = None,
    schedule: Schedule | None = None,
) -> Generator[tuple[PlannedRun, Outcome]]:
    """Carries runs out, and yields each with its result.

    Args:
        runs: The runs without a result.
        root: The folder of the folders of runs.
        jobs: The number of runs side by side, each in a process of its own, which has its share of the cores.
            A single one without a limit of time is carried out in this process.
        seconds: The time budget. Runs that have not ended by then are left with a checkpoint; one that
            writes none within `_GRACE` seconds, as in a long search, is ended, and goes on from its last checkpoint.
        watcher: Receives events as they happen.
        schedule: Chooses the next runs by the time that is left; without one, they come in their order.

    Yields:
        Each run that has ended with its result, or with what went wrong; None if time was up.

    Raises:
        RewardMachineError: The number of jobs is below 1.
    """
    if jobs < 1:
        raise RewardMachineError(f"at least one job is needed, not {jobs}")
    waiting = units(runs, together=jax.default_backend() != "cpu")
    watcher = watcher or SweepWatcher()
    if jobs == 1 and seconds is None:
        yield from _one_by_one(waiting, root, watcher)
    else:
        yield from _side_by_side(waiting, root, jobs, seconds, watcher, schedule or Schedule(Workplace(root)))


def _one_by_one(
    waiting: Sequence[Unit], root: Path, watcher: SweepWatcher
) -> Iterator[tuple[PlannedRun, Outcome]]:  # fmt: skip
    def is_time_up() -> bool:
        watcher.look()
        return False

    for unit in waiting:
        for run in unit:
            watcher.began(run)
        yield from zip(unit, attempt(unit, root, is_time_up), strict=True)


def _side_by_side(
    todo: Sequence[Unit], root: Path, jobs: int, seconds: float | None, watcher: SweepWatcher, schedule: Schedule
) -> Iterator[tuple[PlannedRun, Outcome]]:
    """Every process has a pool of its own, so that one that is killed takes no other run with it."""
    end = None if seconds is None else time.time() + seconds
    waiting, free = list(todo), [_process(share) for share in _shares(jobs)]
    working: dict[Future[list[Outcome]], tuple[Unit, _Room]] = {}
    try:
        while True:
            while free and (number := _next(schedule, waiting, end, is_first=len(waiting) == len(todo))) is not None:
                unit, room = waiting.pop(number), free.pop()
                for run in unit:
                    watcher.began(run)
                working[room.pool.submit(_work, unit, root, end)] = unit, room
            if not working:
                return
            done, _ = wait(working, timeout=_PATIENCE, return_when=FIRST_COMPLETED)
            watcher.look()
            for future in done:
                unit, room = working.pop(future)
                if future.exception() is not None:  # its process is lost
                    _stop([room.pool])
                    room = _process(room.cores)
                free.append(room)
                yield from zip(unit, _outcomes(future, len(unit)), strict=True)
            if end is not None and time.time() > end + _GRACE:
                for unit, _ in working.values():
                    yield from ((run, None) for run in unit)
                return
    finally:
        _stop([room.pool for room in (*free, *(room for _, room in working.values()))])


def _next(schedule: Schedule, waiting: Sequence[Unit], end: float | None, *, is_first: bool) -> int | None:
    """The number of the unit that comes next. Something is begun, however little time there is."""
    left = None if end is None else max(0.0, end - time.time())
    if left == 0.0 and not is_first:
        return None
    return schedule.next_unit(waiting, left)


class _Room(NamedTuple):
    """Room for one process."""

    pool: ProcessPoolExecutor
    cores: frozenset[int]
    """The cores that it may use; all, if empty."""


def _shares(jobs: int) -> list[frozenset[int]]:
    """The cores of each of several processes. JAX starts a thread for every core that its process may use."""
    if not hasattr(os, "sched_getaffinity") or jobs == 1:
        return [frozenset()] * jobs
    cores = sorted(os.sched_getaffinity(0))
    share = max(1, len(cores) // jobs)
    return [frozenset(cores[(job * share + i) % len(cores)] for i in range(share)) for job in range(jobs)]


def _process(cores: frozenset[int]) -> _Room:
    """Room for one process. It is made anew, not copied: JAX does not survive a copy of its process."""
    pool = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), initializer=_settle, initargs=(cores,))
    return _Room(pool, cores)


def _settle(cores: frozenset[int]) -> None:
    """Keeps this process to its cores, and ends it with the one that began it.

    The latter may be killed and cannot stop it then. The run has a checkpoint, and the process that searches for its
    machines watches this one in turn.
    """
    if cores:
        os.sched_setaffinity(0, cores)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_wait_for_end, args=(parent.sentinel,), daemon=True).start()


def _wait_for_end(sentinel: int) -> None:
    wait_for_any([sentinel])
    os._exit(1)


def _work(unit: Unit, root: Path, end: float | None) -> list[Outcome]:
    """The main function of a process. The wall clock is the same in all processes."""
    keep_compiled()
    return attempt(unit, root, lambda: end is not None and time.time() >= end)


def _outcomes(future: Future[list[Outcome]], runs: int) -> list[Outcome]:
    try:
        return future.result()
    except Exception as problem:  # as when the process was killed; its run goes on from its checkpoint
        name = type(problem).__name__
        return [RewardMachineError(f"its process ended ({name}); run the study again to go on")] * runs


def _stop(pools: Sequence[ProcessPoolExecutor]) -> None:
    """Leaves no process behind, nor a thread that still waits for one."""
    processes = [process for pool in pools for process in (getattr(pool, "_processes", None) or {}).values()]
    for process in processes:
        process.terminate()
    for process in processes:
        process.join(timeout=_MERCY)
        process.kill()  # nothing happens to one that has ended
    for pool in pools:
        pool.shutdown(cancel_futures=True)
