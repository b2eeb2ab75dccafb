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
from typing import Final

import jax

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.experiments.execution import Unit, deadline, units
from rewardmachines.experiments.plan import PlannedRun
from rewardmachines.experiments.sweep.attempt import Outcome, SweepWatcher, attempt
from rewardmachines.runs.compiled_cache import keep_compiled

_PATIENCE: Final = 0.5
"""Seconds between two looks at processes."""

_MERCY: Final = 10.0
"""Seconds that a process has to end before it is killed."""


def sweep(
    runs: Sequence[PlannedRun],
    root: Path,
    *,
    jobs: int = 1,
    seconds: float | None = None,
    watcher: SweepWatcher | None = None,
) -> Generator[tuple[PlannedRun, Outcome]]:
    """Carries runs out, and yields each with its result.

    Args:
        runs: Those that have no result yet.
        root: Where the folders of runs are.
        jobs: How many are carried out side by side, each in a process of its own; with 1, in this process.
        seconds: How long all of this may take. Runs that have not ended by then are left with a checkpoint.
        watcher: Is told what happens meanwhile.

    Yields:
        Each run that has ended with its result, or with what went wrong; None if time was up.

    Raises:
        RewardMachineError: The number of jobs is below 1.
    """
    if jobs < 1:
        raise RewardMachineError(f"at least one job is needed, not {jobs}")
    waiting = units(runs, together=jax.default_backend() != "cpu")
    watcher = watcher or SweepWatcher()
    if jobs == 1:
        yield from _one_by_one(waiting, root, seconds, watcher)
    else:
        yield from _side_by_side(waiting, root, jobs, seconds, watcher)


def _one_by_one(
    waiting: Sequence[Unit], root: Path, seconds: float | None, watcher: SweepWatcher
) -> Iterator[tuple[PlannedRun, Outcome]]:
    is_late = deadline(seconds)

    def is_time_up() -> bool:
        watcher.look()
        return is_late()

    for number, unit in enumerate(waiting):
        if number and is_late():  # something is begun, however little time there is
            return
        for run in unit:
            watcher.began(run)
        yield from zip(unit, attempt(unit, root, is_time_up), strict=True)


def _side_by_side(
    todo: Sequence[Unit], root: Path, jobs: int, seconds: float | None, watcher: SweepWatcher
) -> Iterator[tuple[PlannedRun, Outcome]]:
    """Every process has a pool of its own, so that one that is killed takes no other run with it."""
    end = None if seconds is None else time.time() + seconds
    is_late, waiting = deadline(seconds), list(todo)
    free = [_process() for _ in range(jobs)]
    working: dict[Future[list[Outcome]], tuple[Unit, ProcessPoolExecutor]] = {}
    try:
        while working or (waiting and not is_late()):
            while waiting and free and not is_late():
                unit, pool = waiting.pop(0), free.pop()
                for run in unit:
                    watcher.began(run)
                working[pool.submit(_work, unit, root, end)] = unit, pool
            done, _ = wait(working, timeout=_PATIENCE, return_when=FIRST_COMPLETED)
            watcher.look()
            for future in done:
                unit, pool = working.pop(future)
                if future.exception() is not None:  # its process is lost
                    _stop([pool])
                    pool = _process()
                free.append(pool)
                yield from zip(unit, _outcomes(future, len(unit)), strict=True)
    finally:
        _stop([*free, *(pool for _, pool in working.values())])


def _process() -> ProcessPoolExecutor:
    """Room for one process. It is made anew, not copied: JAX does not survive a copy of its process."""
    return ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), initializer=_end_with_parent)


def _end_with_parent() -> None:
    """Ends this process when the one that began it has ended, which may be killed and cannot stop it then.

    The run has a checkpoint, and whoever searches for its machines watches this process in turn.
    """
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_wait_for_end, args=(parent.sentinel,), daemon=True).start()


def _wait_for_end(sentinel: int) -> None:
    wait_for_any([sentinel])
    os._exit(1)


def _work(unit: Unit, root: Path, end: float | None) -> list[Outcome]:
    """What a process does. The clock of the wall is the same in all processes."""
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
