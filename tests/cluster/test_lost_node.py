"""A node of a real cluster is killed while it carries out a run: all results arrive, and they are those of one machine.

All nodes are on this machine. The first has no cores to give, so that it is known on which one a run is computed.
Where they must not see the folder of whoever asks, it goes by a name that means something in this process only.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from ray.cluster_utils import Cluster

from cluster.planned import OftenSaved, like
from cluster.studies import CHUNK, FLAT, locally, policies, runs_of, timeless
from rewardmachines.studies.execution import RESULT, SweepWatcher
from rewardmachines.studies.plan import PlannedRun
from rewardmachines.studies.results import Result
from rewardmachines.studies.sweep import cluster as cluster_module
from rewardmachines.studies.sweep.ray import sweep_on_ray

# Ray starts the processes of its nodes by fork and exec; JAX warns of the first, and is not there after the second.
pytestmark = pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")

RUNS = tuple(like(OftenSaved, run) for run in runs_of(policies(80 * CHUNK) + FLAT))
ENOUGH = 40 * CHUNK
"""Steps after which the node is killed."""
NODE = {"num_cpus": 1, "include_dashboard": False}


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))  # workers import what tests import
    monkeypatch.setattr(cluster_module, "_LOOK", 0.1)
    made = Cluster(initialize_head=True, head_node_args={**NODE, "num_cpus": 0})
    yield made
    made.shutdown()


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Result], Path]:
    root = tmp_path_factory.mktemp("local")
    return locally(RUNS, root), root


@dataclass
class Killer(SweepWatcher):
    """Kills the node that computes when a run has advanced, brings another one, and keeps what it is told."""

    cluster: Any
    node: Any
    steps: dict[str, list[list[int]]] = field(default_factory=dict)
    """By run, for each time that it was begun: its steps as they were told."""
    losses: list[str] = field(default_factory=list)
    is_killed: bool = False

    def began(self, run: PlannedRun) -> None:
        self.steps.setdefault(run.key, []).append([])

    def advanced(self, run: PlannedRun, steps: int) -> None:
        self.steps[run.key][-1].append(steps)
        if not self.is_killed and steps >= ENOUGH:
            self.cluster.remove_node(self.node, allow_graceful=False)
            self.cluster.add_node(**NODE)
            self.is_killed = True

    def lost(self, run: PlannedRun, reason: str) -> None:
        self.losses.append(run.key)


def _swept(cluster: Cluster, root: Path) -> tuple[Killer, dict[str, Result]]:
    killer = Killer(cluster, cluster.add_node(**NODE))
    swept = sweep_on_ray(RUNS, root, address=cluster.address, watcher=killer)
    outcomes = {run.key: outcome for run, outcome in swept}
    assert killer.is_killed, outcomes
    assert list(root.glob(".*")) == []
    return killer, timeless(outcomes)


def _both_attempts(killer: Killer) -> tuple[str, list[int], list[int]]:
    (lost,) = killer.losses
    first, second = killer.steps[lost]
    return lost, first, second


def test_a_lost_run_goes_on_from_its_checkpoint_where_the_folder_is_shared(
    cluster: Cluster, expected: tuple[dict[str, Result], Path], tmp_path: Path
) -> None:
    results, local = expected
    killer, found = _swept(cluster, tmp_path)
    assert found == results
    lost, first, second = _both_attempts(killer)
    assert first[-1] >= ENOUGH
    assert second[0] > ENOUGH  # not from its beginning, but from the last checkpoint of the node that was killed
    assert len(json.loads((tmp_path / lost / "config.json").read_text())["made_by"]) == 2
    for run in RUNS:
        assert (tmp_path / run.key / "metrics.jsonl").read_bytes() == (local / run.key / "metrics.jsonl").read_bytes()


def test_a_lost_run_starts_anew_where_the_folder_is_not_shared(
    cluster: Cluster, expected: tuple[dict[str, Result], Path], tmp_path: Path
) -> None:
    results, _ = expected
    descriptor = os.open(tmp_path, os.O_RDONLY)
    try:
        killer, found = _swept(cluster, Path(f"/proc/self/fd/{descriptor}"))
    finally:
        os.close(descriptor)
    assert found == results
    _, first, second = _both_attempts(killer)
    assert first[-1] >= ENOUGH
    assert second[0] < ENOUGH
    for run in RUNS:  # the result came back, and nothing else
        assert [path.name for path in (tmp_path / run.key).iterdir()] == [RESULT]
