"""What goes right and wrong on a Ray cluster, and what is left of it afterwards."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
import ray
from ray.cluster_utils import Cluster

from cli.commands import Hrm
from cluster.planned import Deadly, OftenSaved, OnSeemingGpu, like
from cluster.studies import FLAT, SIZES, locally, policies, runs_of, timeless
from rewardmachines.files.version import package_version
from rewardmachines.studies.execution import RESULT, Outcome, SweepWatcher, Unit
from rewardmachines.studies.plan import PlannedRun
from rewardmachines.studies.results import Result
from rewardmachines.studies.sweep import cluster as cluster_module
from rewardmachines.studies.sweep import ray as ray_sweep
from rewardmachines.studies.sweep.ray import Resources, sweep_on_ray
from rewardmachines.studies.sweep.worker import Assignment

pytestmark = pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")  # see test_lost_node.py

LEARNED = f"""
[[runs]]
name = "learned"
command = "learn"
settings = ["op"]
tasks = ["bucket"]
preset = "table"
seeds = 2
steps = 2000
{SIZES.replace("set = [", 'set = ["goals=[2]", "examples=1", ')}
"""


@pytest.fixture(scope="module")
def connection() -> Iterator[None]:
    """A cluster of two nodes, one of which says that it has a GPU, to which this process is connected."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(sys.path))  # workers import what tests import
        made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
        made.add_node(num_cpus=1, num_gpus=1)
        ray.init(address=made.address, log_to_driver=False, logging_level="error")
        yield
        ray.shutdown()
        made.shutdown()


@pytest.fixture
def hrm(capsys: pytest.CaptureFixture[str]) -> Hrm:
    return Hrm(capsys)


class Listener(SweepWatcher):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.advances: set[str] = set()
        self.losses: list[str] = []
        self.words: list[str] = []

    def advanced(self, run: PlannedRun, steps: int) -> None:
        self.advances.add(run.key)

    def lost(self, run: PlannedRun, reason: str) -> None:
        self.losses.append(run.key)

    def say(self, message: str) -> None:
        self.words.append(message)


def _time_is_up_when(condition: Callable[[], bool], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_module, "deadline", lambda _: condition)


@pytest.mark.usefixtures("connection")
def test_failures_do_not_end_a_study_and_nothing_stays_behind(tmp_path: Path) -> None:
    good, foreign, deadly = (*runs_of(policies(400)), runs_of(policies(600))[0])
    (tmp_path / foreign.key).mkdir()
    (tmp_path / foreign.key / "thesis.tex").touch()
    runs = [like(Deadly, deadly), foreign, good]
    listener, outcomes = Listener(), dict[str, Outcome]()
    for run, outcome in sweep_on_ray(runs, tmp_path, resources=Resources(gpus=0), watcher=listener):
        outcomes[run.key] = outcome
    assert "it holds 'thesis.tex'" in str(outcomes[foreign.key])
    assert "its worker was lost 4 times" in str(outcomes[deadly.key])
    assert isinstance(outcomes[good.key], Result)
    assert listener.losses == [deadly.key] * 3
    assert list(tmp_path.glob(".*")) == []
    assert ray.is_initialized()  # what was connected before stays connected


@pytest.mark.usefixtures("connection")
def test_nodes_must_have_the_version_that_we_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_module, "package_version", lambda: "99")
    ((_, problem),) = sweep_on_ray(runs_of(FLAT), tmp_path)
    assert f"rewardmachines {package_version()} is installed there, and 99 here" in str(problem)


@pytest.mark.usefixtures("connection")
def test_time_that_is_up_leaves_checkpoints_where_the_folder_is_shared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [like(OftenSaved, run) for run in runs_of(policies(40000) + FLAT)]
    listener, resources = Listener(), Resources(gpus=0)
    _time_is_up_when(lambda: bool(listener.advances), monkeypatch)
    swept = sweep_on_ray(runs, tmp_path, resources=resources, watcher=listener)
    outcomes = {run.key: outcome for run, outcome in swept}
    assert listener.advances <= set(outcomes) <= {run.key for run in runs[:2]}  # the third waits for a node
    assert set(outcomes.values()) == {None}
    for key in listener.advances:
        assert (tmp_path / key / "checkpoint.safetensors").exists()
        assert not (tmp_path / key / RESULT).exists()
    assert list(tmp_path.glob(".*")) == []

    descriptor = os.open(tmp_path, os.O_RDONLY)  # a name of the folder that means nothing to other processes
    again = Listener()
    _time_is_up_when(lambda: bool(again.advances), monkeypatch)
    elsewhere = sweep_on_ray(runs[:1], Path(f"/proc/self/fd/{descriptor}"), resources=resources, watcher=again)
    assert ["so it starts anew" in str(outcome) for _, outcome in elsewhere] == [True]
    os.close(descriptor)


@pytest.mark.usefixtures("connection")
def test_a_task_waits_for_a_node_that_is_large_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listener = Listener()
    _time_is_up_when(lambda: bool(listener.words), monkeypatch)
    swept = sweep_on_ray(runs_of(policies(400)), tmp_path, resources=Resources(cpus=64), watcher=listener)
    assert list(swept) == []
    assert listener.words == ["no node of the cluster has CPU 64, GPU 1; waiting for one"]


@pytest.mark.usefixtures("connection")
def test_runs_that_share_a_gpu_are_one_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = runs_of(LEARNED)
    expected = locally(runs, tmp_path / "local")
    blind = {run.key: outcome for run, outcome in sweep_on_ray(runs, tmp_path / "blind")}
    assert ["JAX sees none" in str(outcome) for outcome in blind.values()] == [True, True]

    submit, submitted = ray_sweep.RayCluster.submit, list[int]()

    def counted(cluster: ray_sweep.RayCluster, unit: Unit, assignment: Assignment) -> object:
        submitted.append(len(unit))
        return submit(cluster, unit, assignment)

    monkeypatch.setattr(ray_sweep.RayCluster, "submit", counted)
    seeming = [like(OnSeemingGpu, run) for run in runs]
    found = {run.key: outcome for run, outcome in sweep_on_ray(seeming, tmp_path / "gpu")}
    assert submitted == [2]
    assert timeless(found) == expected


def test_mistakes_are_one_line_each(hrm: Hrm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(ray_sweep, "_CONNECT", 0.5)
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    Path("tiny.toml").write_text(policies(400))
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        for where, message in (
            (address, "the cluster cannot be reached (timed out)"),
            ("127.0.0.1:1", "the cluster cannot be reached"),
            ("nowhere.invalid:6379", "the cluster cannot be reached"),
            ("there", "write HOST:PORT, ray://HOST:PORT, or auto"),
            ("there:port", "write HOST:PORT, ray://HOST:PORT, or auto"),
        ):
            assert hrm("study", "run", "tiny.toml", "--on", "ray", "--address", where) == 2
            assert message in hrm.err
            assert len(hrm.err.strip().splitlines()) == 1


def test_a_cluster_of_this_machine_ends_with_the_command(tmp_path: Path) -> None:
    (tmp_path / "tiny.toml").write_text(policies(1_000_000))
    command = [sys.executable, "-m", "rewardmachines", "study", "run", "tiny.toml", "--on", "ray", "--runs", "runs"]
    environment = {**os.environ, "MADE_BY": str(tmp_path)}
    process = subprocess.Popen(command, cwd=tmp_path, env=environment, start_new_session=True)
    try:
        _wait_until(lambda: any(path.stat().st_size for path in tmp_path.glob("runs/*/metrics.jsonl")), 150)
        assert len(_processes_of(tmp_path)) > 3
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        assert process.wait(timeout=90) == 130
    finally:
        process.kill()
    _wait_until(lambda: not _processes_of(tmp_path), 60)
    begun = list(tmp_path.glob("runs/*/metrics.jsonl"))
    assert [
        path for path in begun if path.stat().st_size and not path.with_name("checkpoint.safetensors").exists()
    ] == []
    assert list(tmp_path.glob("runs/.*")) == []


def _processes_of(folder: Path) -> list[str]:
    """The processes that the command has started, itself among them, by what it wrote to their environment."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if f"MADE_BY={folder}\0".encode() in (path / "environ").read_bytes():
                found.append((path / "cmdline").read_text())
        except OSError:  # it has ended meanwhile
            continue
    return found


def _wait_until(is_true: Callable[[], bool], seconds: float) -> None:
    end = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.2)
