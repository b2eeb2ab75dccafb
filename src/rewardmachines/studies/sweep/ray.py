"""Ray as the cluster that the runs of a study are carried out on.

Ray is an extra, and takes long to load, so it is imported when it is needed.
"""

from __future__ import annotations

import logging
import math
import os
import socket
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.files.extras import to_install
from rewardmachines.studies.execution import Outcome, SweepWatcher, Unit
from rewardmachines.studies.plan import PlannedRun
from rewardmachines.studies.study import RunKind
from rewardmachines.studies.sweep.cluster import WorkerLost, sweep_on
from rewardmachines.studies.sweep.worker import Answer, Assignment, Board, Note, work

LOCAL: Final = "local"
"""The address that stands for a cluster of this machine, to be started."""
_FOUND: Final = (LOCAL, "auto")
"""Addresses that are not places."""
_CLIENT: Final = "ray://"
_CLIENT_PORT: Final = 10001
_CONNECT: Final = 10.0
"""Seconds that a cluster may take to answer."""
_GREETING: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
"""The first bytes of a client of HTTP/2: a fixed text and empty settings."""
_FRAME: Final = 9
"""Bytes of the head of a frame of HTTP/2; the fourth is its kind."""
_SETTINGS: Final = 4
"""The kind of the frame with which a server of HTTP/2 begins."""
_STORE: Final = 128 << 20
"""Bytes for objects in a cluster of this machine. Ray would take a third of the memory, and results are small."""


@dataclass(frozen=True)
class Resources:
    """The resources of a task. Flat baselines search on a CPU, and are never given a GPU."""

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
    """Carries runs out on a Ray cluster, and yields each with its result.

    Args:
        runs: The runs without a result.
        root: The folder of runs. Nodes that see the same folder write there.
        address: The address of the cluster; if not given, that of RAY_ADDRESS, or a cluster of this machine.
        seconds: The time that all of this may take. Runs that have not ended by then are left with a checkpoint.
        resources: The resources of each task.
        watcher: Receives events as they happen.

    Yields:
        Each run that has ended with its result, or with what went wrong; None if time was up.

    Raises:
        RewardMachineError: Ray is not installed, or the cluster cannot be reached, or has not what a task needs.
    """
    with connected(address) as ray:
        yield from sweep_on(RayCluster(ray, resources or Resources()), runs, root, seconds=seconds, watcher=watcher)


class RayCluster:
    """A Ray cluster to which this process is connected: a `Cluster`."""

    def __init__(self, ray: Any, resources: Resources) -> None:
        """Starts the actor that keeps the notes of workers, on this node.

        Args:
            ray: The module of Ray.
            resources: The resources of each task.
        """
        self._ray, self._cpus = ray, resources.cpus
        has_gpu = ray.cluster_resources().get("GPU", 0) > 0
        self._gpus = resources.gpus if resources.gpus is not None else float(has_gpu)
        here = ray.get_runtime_context().get_node_id()  # where nothing is lost before we are
        strategy = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(here, soft=False)
        self._board = ray.remote(num_cpus=0, max_restarts=-1, scheduling_strategy=strategy)(Board).remote()

    @property
    def has_gpus(self) -> bool:
        """Whether tasks are given GPUs."""
        return self._gpus > 0

    def _gpus_of(self, unit: Unit) -> float:
        return 0.0 if unit[0].command is RunKind.FLAT else self._gpus

    def lacking(self, units: Sequence[Unit]) -> list[str]:
        """The resources that some units need and no node has, in words."""
        nodes = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        found = []
        for gpus in sorted({self._gpus_of(unit) for unit in units}):
            needs = {"CPU": self._cpus, "GPU": gpus}
            if not any(all(node.get(kind, 0) >= need for kind, need in needs.items()) for node in nodes):
                found.append(", ".join(f"{kind} {need:g}" for kind, need in needs.items() if need))
        return found

    def submit(self, unit: Unit, assignment: Assignment) -> Any:
        """Hands a task over, which is started when there is room for it."""
        gpus = self._gpus_of(unit)
        task = self._ray.remote(
            num_cpus=self._cpus,
            num_gpus=gpus,
            max_retries=0,  # `Sweep` submits lost tasks again and reports the loss
            # JAX keeps the device that it began with, so where there are two kinds, each task has a process of its own.
            max_calls=1 if self._gpus else 0,
        )(_work)
        return task.remote(unit, assignment, gpus > 0, self._board)

    def wait(self, tickets: Sequence[Any], seconds: float, count: int = 1) -> Sequence[Any]:
        """Waits for some tasks to end, for as many seconds at most."""
        done: Sequence[Any] = self._ray.wait(list(tickets), num_returns=count, timeout=seconds)[0]
        return done

    def answers(self, ticket: Any, seconds: float | None = None) -> Sequence[Answer]:
        """The value that a task has returned.

        Raises:
            WorkerLost: Its worker was lost.
            RewardMachineError: It failed, or was cancelled, or has not ended after as many seconds.
        """
        errors = self._ray.exceptions
        try:
            answers: Sequence[Answer] = self._ray.get(ticket, timeout=seconds)
        except (
            errors.WorkerCrashedError,
            errors.NodeDiedError,
            errors.LocalRayletDiedError,
            errors.OutOfMemoryError,
            errors.ObjectLostError,
        ) as problem:
            raise WorkerLost(first_sentence(problem)) from None
        except errors.RayTaskError as problem:  # of the program, or of what is installed there
            message = f"{type(problem.cause).__name__}: {first_sentence(problem.cause)}"
            if "No module named" in message:
                message += "; what is installed here must be installed on all nodes"
            raise RewardMachineError(message) from None
        except errors.RayError as problem:
            raise RewardMachineError(f"Ray: {first_sentence(problem)}") from None
        return answers

    def notes(self) -> Mapping[str, Note]:
        """The last notes of runs, by key; none, if the board does not answer, on which no run depends."""
        try:
            notes: dict[str, Note] = self._ray.get(self._board.read.remote(), timeout=5)
        except self._ray.exceptions.RayError:
            return {}
        return notes

    def cancel(self, ticket: Any, *, force: bool) -> None:
        """Ends a task as Ctrl-C would, or kills it."""
        self._ray.cancel(ticket, force=force)

    def close(self) -> None:
        """Ends the actor."""
        self._ray.kill(self._board)


def _work(unit: Unit, assignment: Assignment, uses_gpu: bool, board: Any) -> Sequence[Answer]:
    """The task of a worker."""
    return work(unit, assignment, board.write.remote, uses_gpu=uses_gpu)


# -- the connection


@contextmanager
def connected(address: str | None) -> Iterator[Any]:
    """Yields Ray, connected to a cluster. What was started or connected for it is ended after the block.

    Args:
        address: The address of a cluster; if not given, that of the environment variable RAY_ADDRESS, and if there is
            none, a cluster of this machine is started.

    Raises:
        RewardMachineError: Ray is not installed, or the cluster cannot be reached or started.
    """
    ray = load_ray()
    if ray.is_initialized():  # by the caller, which ends it
        yield ray
        return
    where = address or os.environ.get("RAY_ADDRESS") or LOCAL
    _check_address(where)
    try:
        _connect(ray, where)
        yield ray
    finally:
        ray.shutdown()


def load_ray() -> Any:
    """The module of Ray.

    Raises:
        RewardMachineError: It is not installed.
    """
    try:
        import ray
    except ImportError:
        raise RewardMachineError(f"Ray is not installed: {to_install('ray')}; or leave out --on ray") from None
    return ray


def _check_address(address: str) -> None:
    """Knocks before Ray does, which would wait for minutes where nothing listens."""
    if address in _FOUND:
        return
    try:
        parts = urlsplit(address if address.startswith(_CLIENT) else f"//{address}")
        port = parts.port or (_CLIENT_PORT if parts.scheme else None)
    except ValueError:
        port = None
    if port is None or parts.hostname is None:
        raise RewardMachineError(f"--address {address}: write HOST:PORT, ray://HOST:PORT, or auto")
    try:
        is_there = _speaks_grpc(parts.hostname, port)
    except (OSError, UnicodeError) as problem:
        raise RewardMachineError(f"--address {address}: the cluster cannot be reached ({problem})") from None
    if not is_there:
        raise RewardMachineError(f"--address {address}: something answers there, but it is no Ray cluster")


def _speaks_grpc(host: str, port: int) -> bool:
    """Whether a server there greets as servers of gRPC do, which all parts of Ray are."""
    with socket.create_connection((host, port), timeout=_CONNECT) as connection:
        if os.environ.get("RAY_USE_TLS", "0") not in ("", "0"):
            return True  # Ray knows the certificates
        connection.sendall(_GREETING)
        answer = connection.recv(_FRAME)
    return len(answer) == _FRAME and answer[3] == _SETTINGS


def _connect(ray: Any, address: str) -> None:
    if address == LOCAL:  # a cluster that is already running has its own settings
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent anywhere
        settings: dict[str, Any] = {"include_dashboard": False, "object_store_memory": _STORE}
    else:
        settings = {}
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, **settings)
    except Exception as problem:  # Ray's own, gRPC's, and whatever else goes wrong inside
        where = "a cluster on this machine cannot be started" if address == LOCAL else f"no connection to {address}"
        raise RewardMachineError(f"Ray: {where} ({first_sentence(problem)})") from None
    worker: Any = getattr(getattr(ray, "_private", None), "worker", None)
    if hasattr(worker, "_worker_logs_enabled"):
        # Paragraphs on lost workers would go to standard output, among tables; we say it in a line.
        worker._worker_logs_enabled = False


def first_sentence(problem: BaseException) -> str:
    """The first sentence of what an exception says."""
    lines = str(problem).strip().splitlines()
    return lines[0].partition(". ")[0] if lines else type(problem).__name__
