"""The runs of a study on a Ray cluster: one run is one task with its resources.

Where all nodes see the same folder of runs, a run whose worker was lost goes on from its checkpoint. Elsewhere it
starts anew. Results come back to the machine that asked for them, whatever the nodes can see.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.experiments.execution import RESULT, Workplace, carry_out
from rewardmachines.experiments.plan import PlannedRun
from rewardmachines.experiments.results import Result, line_of
from rewardmachines.files import write_aside

RETRIES: Final = 3
"""How often a run is begun again after its worker was lost."""
_LOOK: Final = 1.0
"""Seconds between two looks at the cluster."""


@dataclass(frozen=True)
class Resources:
    """What a run is given."""

    cpus: float = 1.0
    gpus: float = 0.0
    """A share of a GPU, such as 0.2 for five runs on one."""


def sweep_on_ray(
    runs: Sequence[PlannedRun],
    root: Path,
    *,
    address: str | None = None,
    seconds: float | None = None,
    resources: Resources | None = None,
    on_start: Callable[[PlannedRun], object] = lambda _: None,
) -> Iterator[tuple[PlannedRun, Result | RewardMachineError | None]]:
    """Carries runs out on a cluster, and yields each with its result.

    Args:
        runs: Those that have no result yet.
        root: Where the folders of runs are, here and on every node.
        address: The address of the cluster; a cluster of this machine alone is started if not given.
        seconds: How long all of this may take. Runs that have not ended by then are left with a checkpoint.
        resources: What each run is given; a core, and a share of a GPU where there is one, if not given.
        on_start: Called when a run is handed to the cluster.

    Yields:
        Each run that has ended with its result, or with what went wrong; None if time was up.

    Raises:
        RewardMachineError: Ray is not installed, or the cluster cannot be reached.
    """
    ray = _ray()
    own = _connect(ray, address)
    try:
        yield from _swept(ray, runs, root.absolute(), seconds, resources or _usual(ray), on_start)
    finally:
        if own:
            ray.shutdown()


def _ray() -> Any:
    try:
        import ray
    except ImportError:
        raise RewardMachineError(
            "Ray is not installed: pip install 'rewardmachines[ray]', or leave out --on ray"
        ) from None
    return ray


def _connect(ray: Any, address: str | None) -> bool:
    """Whether a connection was made here, and so has to be closed here."""
    if ray.is_initialized():
        return False
    try:
        ray.init(address=address, log_to_driver=False, include_dashboard=False)
    except (ConnectionError, ValueError, RuntimeError) as problem:
        where = "a cluster on this machine cannot be started" if address is None else f"{address} cannot be reached"
        raise RewardMachineError(f"Ray: {where} ({str(problem).splitlines()[0]})") from None
    return True


def _usual(ray: Any) -> Resources:
    """Five runs share a GPU, as the paper's five seeds do; without a GPU, every run has a core."""
    gpus = ray.cluster_resources().get("GPU", 0)
    return Resources(1.0, 0.2) if gpus else Resources()


def _swept(
    ray: Any,
    runs: Sequence[PlannedRun],
    root: Path,
    seconds: float | None,
    resources: Resources,
    on_start: Callable[[PlannedRun], object],
) -> Iterator[tuple[PlannedRun, Result | RewardMachineError | None]]:
    end = None if seconds is None else time.time() + seconds
    work = ray.remote(
        num_cpus=resources.cpus,
        num_gpus=resources.gpus,
        max_retries=RETRIES,
        runtime_env={"env_vars": {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}},
    )(_work)
    waiting: dict[Any, PlannedRun] = {}
    for run in runs:
        on_start(run)
        waiting[work.remote(run, str(root), end)] = run
    try:
        while waiting:
            done, _ = ray.wait(list(waiting), num_returns=1, timeout=_LOOK)
            for reference in done:
                run = waiting.pop(reference)
                yield run, _outcome(ray, reference, run, root)
    finally:
        for reference in waiting:
            ray.cancel(reference, force=True)


def _work(run: PlannedRun, root: str, end: float | None) -> Mapping[str, Any]:
    """What a worker does. Results travel as plain values, so that versions that differ are noticed."""
    try:
        (result,) = carry_out([run], Workplace(Path(root)), lambda: end is not None and time.time() >= end)
    except RewardMachineError as problem:
        return {"problem": str(problem)}
    return {"result": result}


def _outcome(ray: Any, reference: Any, run: PlannedRun, root: Path) -> Result | RewardMachineError | None:
    """The result of a run, which is written here, too, if the node could not see our folder."""
    try:
        answer = ray.get(reference)
    except Exception as problem:  # workers are lost in many ways
        lines = str(problem).strip().splitlines()
        return RewardMachineError(f"its worker was lost {RETRIES + 1} times ({lines[0] if lines else problem!r})")
    if "problem" in answer:
        return RewardMachineError(answer["problem"])
    result: Result | None = answer["result"]
    path = root / run.key / RESULT
    if result is not None and not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_aside(path, line_of(result))
    return result
