"""The runs of a study on a Ray cluster: what is carried out together is one task with its resources.

Where the nodes see the same folder of runs, a run whose worker was lost goes on from its checkpoint. Elsewhere it
starts anew. Results come back to the machine that asked for them, whatever the nodes can see.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.experiments.execution import RESULT, Unit, Workplace, deadline, units
from rewardmachines.experiments.plan import PlannedRun
from rewardmachines.experiments.results import line_of, read_line
from rewardmachines.experiments.study import Command
from rewardmachines.experiments.sweep.attempt import Outcome, SweepWatcher
from rewardmachines.experiments.sweep.cluster import connected, first_sentence
from rewardmachines.experiments.sweep.ray_task import Answer, Assignment, Board, Note, work
from rewardmachines.files import write_aside
from rewardmachines.files.version import package_version

RETRIES: Final = 3
"""How often a run is begun again after its worker was lost."""
_LOOK: Final = 1.0
"""Seconds between two looks at the cluster."""
_GRACE: Final = 60.0
"""How long workers may take to write checkpoints before they are killed, in seconds."""


@dataclass(frozen=True)
class Resources:
    """What a task is given. Flat baselines search on a CPU, and are never given a GPU."""

    cpus: float = 1.0
    gpus: float | None = None
    """A number of GPUs, or a share of one, such as 0.5; a whole one if not given and the cluster has any."""

    def __post_init__(self) -> None:
        if not 0 < self.cpus < math.inf:
            raise RewardMachineError(f"--cpus {self.cpus:g}: a task needs a number of cores, or a part of one")
        if self.gpus is not None and not (0 <= self.gpus <= 1 or self.gpus.is_integer()):
            raise RewardMachineError(f"--gpus {self.gpus:g}: write a share of a GPU, such as 0.5, or a whole number")


def sweep_on_ray(
    runs: Sequence[PlannedRun],
    root: Path,
    *,
    address: str | None = None,
    seconds: float | None = None,
    resources: Resources | None = None,
    watcher: SweepWatcher | None = None,
) -> Generator[tuple[PlannedRun, Outcome]]:
    """Carries runs out on a cluster, and yields each with its result.

    Args:
        runs: Those that have no result yet.
        root: Where the folders of runs are. Nodes that see the same folder write there.
        address: The address of the cluster; if not given, that of RAY_ADDRESS, or a cluster of this machine.
        seconds: How long all of this may take. Runs that have not ended by then are left with a checkpoint.
        resources: What each task is given.
        watcher: Is told what happens meanwhile.

    Yields:
        Each run that has ended with its result, or with what went wrong; None if time was up.

    Raises:
        RewardMachineError: Ray is not installed, or the cluster cannot be reached, or has not what a task needs.
    """
    is_late = deadline(seconds)
    with connected(address) as ray, _mark(root) as mark:
        tasks = _Tasks(ray, root.absolute(), mark, resources or Resources(), watcher or SweepWatcher())
        try:
            tasks.submit(runs)
            yield from tasks.outcomes(is_late)
        finally:
            tasks.close()


@contextmanager
def _mark(root: Path) -> Iterator[str]:
    """The name of a file in the folder of runs by which nodes see whether it is this one."""
    root.mkdir(parents=True, exist_ok=True)
    path = root / f".seen-{uuid.uuid4().hex}"
    path.touch()
    try:
        yield path.name
    finally:
        path.unlink(missing_ok=True)


class _Tasks:
    """The tasks of a study that are waiting or running on the cluster."""

    def __init__(self, ray: Any, root: Path, mark: str, resources: Resources, watcher: SweepWatcher) -> None:
        self._ray, self._root, self._mark, self._watcher = ray, root, mark, watcher
        self._resources = resources
        has_gpu = ray.cluster_resources().get("GPU", 0) > 0
        self._gpus = resources.gpus if resources.gpus is not None else float(has_gpu)
        here = ray.get_runtime_context().get_node_id()  # where nothing is lost before we are
        strategy = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(here, soft=False)
        self._board = ray.remote(num_cpus=0, max_restarts=-1, scheduling_strategy=strategy)(Board).remote()
        self._running: dict[Any, tuple[Unit, int]] = {}
        self._notes: dict[str, Note] = {}
        self._runs: dict[str, PlannedRun] = {}

    def submit(self, runs: Sequence[PlannedRun]) -> None:
        """Hands all runs to the cluster: it starts tasks when there is room for them."""
        self._runs = {run.key: run for run in runs}
        todo = units(runs, together=self._gpus > 0)
        for gpus in sorted({self._gpus_of(unit) for unit in todo}):
            self._check_room(gpus)
        for unit in todo:
            self._submit(unit, 1)

    def _gpus_of(self, unit: Unit) -> float:
        return 0.0 if unit[0].command is Command.FLAT else self._gpus

    def _check_room(self, gpus: float) -> None:
        """Says so if no node can ever carry a task out. A cluster that grows may get such a node later."""
        needs = {"CPU": self._resources.cpus, "GPU": gpus}
        nodes = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        if not any(all(node.get(kind, 0) >= need for kind, need in needs.items()) for node in nodes):
            wanted = ", ".join(f"{kind} {need:g}" for kind, need in needs.items() if need)
            self._watcher.say(f"no node of the cluster has {wanted}; waiting for one")

    def _submit(self, unit: Unit, attempt: int) -> None:
        gpus = self._gpus_of(unit)
        task = self._ray.remote(
            num_cpus=self._resources.cpus,
            num_gpus=gpus,
            max_retries=0,  # lost tasks are submitted again below, where it can be told
            # JAX keeps the device that it began with, so where there are two kinds, each task has a process of its own.
            max_calls=1 if self._gpus else 0,
        )(work)
        assignment = Assignment(
            root=str(self._root),
            mark=self._mark,
            attempt=attempt,
            uses_gpu=gpus > 0,
            version=package_version(),
        )
        self._running[task.remote(unit, assignment, self._board)] = unit, attempt

    def outcomes(self, is_late: Callable[[], bool]) -> Iterator[tuple[PlannedRun, Outcome]]:
        """Yields runs as they end, until time is up."""
        while self._running and not is_late():
            done, _ = self._ray.wait(list(self._running), num_returns=1, timeout=_LOOK)
            self._look()
            for reference in done:
                unit, attempt = self._running.pop(reference)
                yield from self._ended(reference, unit, attempt)
        for reference, unit in self.stop():
            yield from self._stopped(reference, unit)

    def _look(self) -> None:
        """Reads the board, and tells the watcher what is new."""
        with suppress(self._ray.exceptions.RayError):  # nobody's run depends on it
            notes: dict[str, Note] = self._ray.get(self._board.read.remote(), timeout=5)
            for key, note in notes.items():
                before = self._notes.get(key)
                if before is None or before.attempt < note.attempt:
                    self._watcher.began(self._runs[key])
                if note.steps is not None and note != before:
                    self._watcher.advanced(self._runs[key], note.steps)
            self._notes |= notes  # a board that was begun again has forgotten some
        self._watcher.look()

    def _ended(self, reference: Any, unit: Unit, attempt: int) -> Iterator[tuple[PlannedRun, Outcome]]:
        errors = self._ray.exceptions
        try:
            answers: Sequence[Answer] = self._ray.get(reference)
        except (
            errors.WorkerCrashedError,
            errors.NodeDiedError,
            errors.LocalRayletDiedError,
            errors.OutOfMemoryError,
            errors.ObjectLostError,
        ) as problem:
            yield from self._lost(unit, attempt, first_sentence(problem))
        except errors.RayTaskError as problem:  # of the program, or of what is installed there
            message = f"{type(problem.cause).__name__}: {first_sentence(problem.cause)}"
            if "No module named" in message:
                message += "; what is installed here must be installed on all nodes"
            yield from ((run, RewardMachineError(message)) for run in unit)
        except errors.RayError as problem:
            yield from ((run, RewardMachineError(f"Ray: {first_sentence(problem)}")) for run in unit)
        else:
            yield from ((run, self._outcome(run, answer)) for run, answer in zip(unit, answers, strict=True))

    def _lost(self, unit: Unit, attempt: int, reason: str) -> Iterator[tuple[PlannedRun, Outcome]]:
        if attempt > RETRIES:
            problem = RewardMachineError(f"its worker was lost {attempt} times; the last time: {reason}")
            yield from ((run, problem) for run in unit)
            return
        for run in unit:
            self._watcher.lost(run, reason)
        self._submit(unit, attempt + 1)

    def _outcome(self, run: PlannedRun, answer: Answer) -> Outcome:
        """The result of a run, which is written here, too, if the node could not see our folder."""
        kind, text = answer
        if kind == "problem":
            return RewardMachineError(text)
        result = read_line(text, f"the result of '{run.title}'")
        path = self._root / run.key / RESULT
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            write_aside(path, line_of(result))
        return result

    def stop(self) -> list[tuple[Any, Unit]]:
        """Ends all tasks, as Ctrl-C would: those that run write checkpoints. Those that take too long are killed.

        Returns:
            The tasks that were waiting or running.
        """
        ray, stopped = self._ray, [(reference, unit) for reference, (unit, _) in self._running.items()]
        self._running.clear()
        waiting = [reference for reference, _ in stopped]
        for reference in waiting:
            ray.cancel(reference)
        try:
            if waiting:
                _, waiting = ray.wait(waiting, num_returns=len(waiting), timeout=_GRACE)
        finally:  # also if Ctrl-C is pressed a second time
            for reference in waiting:
                ray.cancel(reference, force=True)
        return stopped

    def close(self) -> None:
        """Leaves nothing behind on the cluster, which may go on without us."""
        try:
            self.stop()
        finally:
            self._ray.kill(self._board)

    def _stopped(self, reference: Any, unit: Unit) -> Iterator[tuple[PlannedRun, Outcome]]:
        """What is to be said of runs for which time was up. Of those that had not begun, nothing."""
        try:
            answers: Sequence[Answer] = self._ray.get(reference, timeout=_LOOK)
        except self._ray.exceptions.RayError:
            elsewhere = RewardMachineError("time is up; its folder was on another machine, so it starts anew")
            for run in unit:
                if (note := self._notes.get(run.key)) is not None:
                    # One of several that are carried out together may have ended before the others.
                    yield run, Workplace(self._root).result(run) if note.is_shared else elsewhere
        else:
            yield from ((run, self._outcome(run, answer)) for run, answer in zip(unit, answers, strict=True))
