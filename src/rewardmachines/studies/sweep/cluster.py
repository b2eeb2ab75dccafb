"""The runs of a study on any cluster: what is carried out together is one task.

Where the nodes see the same folder of runs, a run whose worker was lost goes on from its checkpoint. Elsewhere it
starts anew. Results come back to the machine that asked for them, whatever the nodes can see.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Protocol

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.files import write_aside
from rewardmachines.files.version import package_version
from rewardmachines.studies.execution import RESULT, Outcome, SweepWatcher, Unit, Workplace, deadline, units
from rewardmachines.studies.plan import PlannedRun
from rewardmachines.studies.results import line_of, read_line
from rewardmachines.studies.sweep.worker import Answer, Assignment, Note

RETRIES: Final = 3
"""The number of times that a run is begun again after its worker was lost."""
_LOOK: Final = 1.0
"""Seconds between two looks at the cluster."""
_GRACE: Final = 60.0
"""Seconds that workers may take to write checkpoints before they are killed."""


class WorkerLost(Exception):
    """The worker of a task, or its node, was lost. The task can be submitted again."""


class Cluster(Protocol):
    """The interface of engines such as Ray: each task is a call of `worker.work` on one of its nodes."""

    @property
    def has_gpus(self) -> bool:
        """Whether tasks are given GPUs."""

    def lacking(self, units: Sequence[Unit]) -> list[str]:
        """The resources that some units need and no node has, in words. A growing cluster may get such a node later."""

    def submit(self, unit: Unit, assignment: Assignment) -> Any:
        """Hands a task over, which is started when there is room for it.

        Returns:
            A ticket, by which the task is known.
        """

    def wait(self, tickets: Sequence[Any], seconds: float, count: int = 1) -> Sequence[Any]:
        """Waits for some tasks to end, for as many seconds at most.

        Returns:
            The tickets of those that have ended.
        """

    def answers(self, ticket: Any, seconds: float | None = None) -> Sequence[Answer]:
        """The value that a task has returned.

        Raises:
            WorkerLost: Its worker was lost.
            RewardMachineError: It failed, or was cancelled, or has not ended after as many seconds.
        """

    def notes(self) -> Mapping[str, Note]:
        """The last notes of runs, by key, as far as they are known."""

    def cancel(self, ticket: Any, *, force: bool) -> None:
        """Ends a task as Ctrl-C would, or kills it."""

    def close(self) -> None:
        """Leaves nothing of this study behind on the cluster."""


def sweep_on(
    cluster: Cluster,
    runs: Sequence[PlannedRun],
    root: Path,
    *,
    seconds: float | None = None,
    watcher: SweepWatcher | None = None,
) -> Generator[tuple[PlannedRun, Outcome]]:
    """Carries runs out on a cluster, and yields each with its result.

    Args:
        cluster: The cluster, which is closed at the end.
        runs: The runs without a result.
        root: The folder of runs. Nodes that see the same folder write there.
        seconds: The time that all of this may take. Runs that have not ended by then are left with a checkpoint.
        watcher: Receives events as they happen.

    Yields:
        Each run that has ended with its result, or with what went wrong; None if time was up.
    """
    is_late = deadline(seconds)
    with _mark(root) as mark:
        tasks = _Tasks(cluster, root.absolute(), mark, watcher or SweepWatcher())
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

    def __init__(self, cluster: Cluster, root: Path, mark: str, watcher: SweepWatcher) -> None:
        self._cluster, self._root, self._mark, self._watcher = cluster, root, mark, watcher
        self._running: dict[Any, tuple[Unit, int]] = {}
        self._notes: dict[str, Note] = {}
        self._runs: dict[str, PlannedRun] = {}

    def submit(self, runs: Sequence[PlannedRun]) -> None:
        """Hands all runs to the cluster."""
        self._runs = {run.key: run for run in runs}
        todo = units(runs, together=self._cluster.has_gpus)
        for needs in self._cluster.lacking(todo):
            self._watcher.say(f"no node of the cluster has {needs}; waiting for one")
        for unit in todo:
            self._submit(unit, 1)

    def _submit(self, unit: Unit, attempt: int) -> None:
        assignment = Assignment(str(self._root), self._mark, attempt, package_version())
        self._running[self._cluster.submit(unit, assignment)] = unit, attempt

    def outcomes(self, is_late: Callable[[], bool]) -> Iterator[tuple[PlannedRun, Outcome]]:
        """Yields runs as they end, until time is up."""
        while self._running and not is_late():
            done = self._cluster.wait(list(self._running), _LOOK)
            self._look()
            for ticket in done:
                unit, attempt = self._running.pop(ticket)
                yield from self._ended(ticket, unit, attempt)
        for ticket, unit in self.stop():
            yield from self._stopped(ticket, unit)

    def _look(self) -> None:
        """Reads the notes, and reports new ones to the watcher."""
        notes = self._cluster.notes()
        for key, note in notes.items():
            before = self._notes.get(key)
            if before is None or before.attempt < note.attempt:
                self._watcher.began(self._runs[key])
            if note.steps is not None and note != before:
                self._watcher.advanced(self._runs[key], note.steps)
        self._notes |= notes  # a board that was begun again has forgotten some
        self._watcher.look()

    def _ended(self, ticket: Any, unit: Unit, attempt: int) -> Iterator[tuple[PlannedRun, Outcome]]:
        try:
            yield from self._outcomes(unit, self._cluster.answers(ticket))
        except WorkerLost as problem:
            yield from self._lost(unit, attempt, str(problem))
        except RewardMachineError as problem:
            yield from ((run, problem) for run in unit)

    def _lost(self, unit: Unit, attempt: int, reason: str) -> Iterator[tuple[PlannedRun, Outcome]]:
        if attempt > RETRIES:
            problem = RewardMachineError(f"its worker was lost {attempt} times; the last time: {reason}")
            yield from ((run, problem) for run in unit)
            return
        for run in unit:
            self._watcher.lost(run, reason)
        self._submit(unit, attempt + 1)

    def _outcomes(self, unit: Unit, answers: Sequence[Answer]) -> list[tuple[PlannedRun, Outcome]]:
        return [(run, self._outcome(run, answer)) for run, answer in zip(unit, answers, strict=True)]

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
        """Ends all tasks: those that run write checkpoints. Those that take too long are killed.

        Returns:
            The tasks that were waiting or running.
        """
        stopped = [(ticket, unit) for ticket, (unit, _) in self._running.items()]
        self._running.clear()
        waiting = [ticket for ticket, _ in stopped]
        for ticket in waiting:
            self._cluster.cancel(ticket, force=False)
        try:
            if waiting:
                done = self._cluster.wait(waiting, _GRACE, len(waiting))
                waiting = [ticket for ticket in waiting if ticket not in done]
        finally:  # also if Ctrl-C is pressed a second time
            for ticket in waiting:
                self._cluster.cancel(ticket, force=True)
        return stopped

    def close(self) -> None:
        """Leaves nothing behind on the cluster, which may go on without us."""
        try:
            self.stop()
        finally:
            self._cluster.close()

    def _stopped(self, ticket: Any, unit: Unit) -> Iterator[tuple[PlannedRun, Outcome]]:
        """The outcomes of runs for which time was up. Of those that had not begun, there is nothing to say."""
        try:
            yield from self._outcomes(unit, self._cluster.answers(ticket, _LOOK))
        except (WorkerLost, RewardMachineError):
            lost = RewardMachineError("time is up; its folder was on another machine, so it starts anew")
            for run in unit:
                if (note := self._notes.get(run.key)) is not None:
                    # One of several that are carried out together may have ended before the others.
                    yield run, Workplace(self._root).result(run) if note.is_shared else lost
