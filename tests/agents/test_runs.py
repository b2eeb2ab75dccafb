"""Runs that are folders: equal when they should be, whatever happens in between, and plain about what is wrong."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rewardmachines as rm
from agents.tiny import CHUNK, shared_programs, tiny_spec
from rewardmachines.agents.config import Algorithm
from rewardmachines.agents.presets import Preset
from rewardmachines.agents.training.folder import TrainFolder
from rewardmachines.agents.training.policy_file import read_policy, write_policy
from rewardmachines.agents.training.resumable import ResumableTraining, TrainSnapshot
from rewardmachines.agents.training.rows import Row
from rewardmachines.agents.training.run import TrainRun, load_run
from rewardmachines.agents.training.session import Session
from rewardmachines.agents.training.spec import TrainOrder, load_order, save_order, standard_spec
from rewardmachines.agents.training.train import train, training_rows
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.traversal import Verdict
from rewardmachines.envs.registry import BUILT_IN
from rewardmachines.runs.budget import Budget
from rewardmachines.runs.checkpoint import Marks, read_checkpoint, read_snapshot, write_checkpoint
from rewardmachines.runs.tensors import read_arrays, write_arrays

STEPS = 10 * CHUNK


@pytest.fixture(scope="module", autouse=True)
def _shared_programs() -> Iterator[None]:
    yield from shared_programs()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> TrainRun:
    """Trained without a break."""
    return train(tmp_path_factory.mktemp("runs") / "whole", tiny_spec(), None, STEPS)


@pytest.fixture
def copy(whole: TrainRun, tmp_path: Path) -> Path:
    """To be damaged."""
    shutil.copytree(whole.folder, tmp_path / "copy")
    return tmp_path / "copy"


def metrics(folder: Path) -> bytes:
    return (folder / "metrics.jsonl").read_bytes()


def resumed(folder: Path, **options: Any) -> TrainRun:
    return train(folder, resume=True, **options)


# -- what a run is


def test_a_run_is_told_chunk_by_chunk_and_kept_in_files(whole: TrainRun) -> None:
    rows = whole.rows()
    assert [row.steps for row in rows] == [CHUNK * (i + 1) for i in range(10)]
    assert [row.returns is not None for row in rows] == [False, True] * 5
    assert [moment.steps for moment in whole.moments()] == [row.steps for row in rows]
    assert b"second" not in metrics(whole.folder)
    assert whole.hierarchy == tiny_spec().scenario().task("bucket")
    assert any((whole.folder / "events").iterdir())


def test_equal_seeds_give_equal_metrics_and_others_differ(whole: TrainRun, tmp_path: Path) -> None:
    seen: list[Sequence[Row]] = []
    again = train(tmp_path / "again", tiny_spec(), None, STEPS, callbacks=[seen.append])
    assert metrics(again.folder) == metrics(whole.folder)
    assert [row for rows in seen for row in rows] == whole.rows()
    policies = "policies/bucket-0.safetensors"
    assert (again.folder / policies).read_bytes() == (whole.folder / policies).read_bytes()
    other = train(tmp_path / "other", tiny_spec(seed=1), None, 4 * CHUNK)
    assert [row.formula_loss for row in other.rows()] != [row.formula_loss for row in whole.rows()[:4]]


def test_who_stops_asking_can_go_on_later(whole: TrainRun, tmp_path: Path) -> None:
    with closing(training_rows(tmp_path / "broken", tiny_spec(), None, STEPS)) as chunks:
        assert len(list(islice(chunks, 5))) == 5
    run = resumed(tmp_path / "broken")
    assert metrics(run.folder) == metrics(whole.folder)
    assert [m.steps for m in run.moments()] == [m.steps for m in whole.moments()]


_CHILD = """
import sys, time
from agents.tiny import tiny_spec
from rewardmachines.runs import journal
from rewardmachines.agents.training.train import train
journal.CHECKPOINT_SECONDS = 0
train(sys.argv[1], tiny_spec(), None, int(sys.argv[2]), callbacks=[lambda rows: time.sleep(0.2)])
"""


def test_a_run_that_was_killed_goes_on_as_if_nothing_had_happened(whole: TrainRun, tmp_path: Path) -> None:
    folder = tmp_path / "killed"
    place = {
        **os.environ,
        "PYTHONPATH": f"{Path(__file__).parents[1]}:{os.environ.get('PYTHONPATH', '')}",
    }
    child = subprocess.Popen([sys.executable, "-c", _CHILD, str(folder), str(STEPS)], env=place)
    try:
        _wait(lambda: (folder / "metrics.jsonl").exists() and metrics(folder).count(b"\n") >= 5, child)
        with pytest.raises(RewardMachineError, match="another process is training there"):
            resumed(folder)
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()
    before = metrics(folder)
    assert (folder / "checkpoint.safetensors").exists()
    assert len(before) < len(metrics(whole.folder))
    (folder / "metrics.jsonl").write_bytes(before + b'{"seed": 0, "chu')  # killed while writing
    assert load_run(folder).rows() == whole.rows()[: before.count(b"\n")]
    resumed(folder)
    assert metrics(folder) == metrics(whole.folder)


def _wait(condition: Callable[[], bool], child: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 120
    while not condition():
        assert child.poll() is None, "it ended by itself"
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.02)


def test_without_a_checkpoint_a_run_starts_again(whole: TrainRun, copy: Path) -> None:
    (copy / "checkpoint.safetensors").unlink()
    resumed(copy)
    assert metrics(copy) == metrics(whole.folder)


def test_a_finished_run_has_nothing_left_to_do_until_more_is_asked_for(whole: TrainRun, copy: Path) -> None:
    resumed(copy)
    assert metrics(copy) == metrics(whole.folder)
    assert resumed(copy, steps=STEPS + CHUNK).rows()[-1].steps == STEPS + CHUNK
    assert load_run(copy).order.budget.steps == STEPS + CHUNK


def test_a_run_ends_early_when_it_is_good_enough(tmp_path: Path) -> None:
    run = train(tmp_path / "run", tiny_spec(), None, STEPS, stop_at=-1)  # that, everybody achieves
    assert sum(row.returns is not None for row in run.rows()) == 3
    assert run.rows()[-1].returns is not None


def test_training_needs_no_tensorboard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    run = train(tmp_path / "run", tiny_spec(), None, CHUNK)
    assert len(run.rows()) == 1
    assert not (run.folder / "events").exists()


def test_checkpoints_hold_all_seeds_and_policies_one(tmp_path: Path) -> None:
    spec = tiny_spec(seeds=2)
    session = Session(spec, spec.scenario().task("bucket"))
    session.tally.episodes += [3, 4]
    session.tally.returns += 0.1
    run, other = (
        ResumableTraining(each, TrainFolder(tmp_path)) for each in (session, Session(spec, session.hierarchy))
    )
    write_checkpoint(tmp_path / "all", run.device_state(), run.snapshot(), Marks(5, 6, 0.7))
    checkpoint = read_checkpoint(tmp_path / "all", TrainSnapshot)
    assert checkpoint.marks == Marks(5, 6, 0.7)
    other.restore(checkpoint)
    assert other.session.tally.episodes.tolist() == [3, 4]
    assert (other.session.tally.returns == session.tally.returns).all()
    alone = Session(tiny_spec(), session.hierarchy)
    for number in range(2):
        write_policy(tmp_path / "one", spec.config, session.state.agent, 7, number)
        agent, _ = read_policy(tmp_path / "one", alone.state.agent)
        weight = session.state.agent.formulas.online.head.layers[0].weight[number]
        assert np.array_equal(agent.formulas.online.head.layers[0].weight, weight)


# -- what was learned


def test_the_policies_do_what_the_last_evaluation_says(whole: TrainRun) -> None:
    last = whole.rows()[-1]
    (found,) = whole.evaluate()
    assert (found.returns, found.lengths) == (last.returns, last.lengths)
    policy = whole.policy("bucket", seed=0)
    for instance in range(2):
        assert _played(whole, policy, instance) == (found.returns[instance], found.lengths[instance])


def _played(run: TrainRun, policy: Any, instance: int) -> tuple[float, int]:
    env = run.environment(instance)
    observation, info = env.reset()
    policy.reset(info["label"])
    steps, total, over = 0, 0.0, False
    while not over:
        observation, reward, terminated, truncated, info = env.step(policy.act(observation, info["label"]))
        steps, total, over = steps + 1, total + reward, terminated or truncated
    return total, steps


def test_a_policy_follows_the_hierarchy_on_label_events(whole: TrainRun) -> None:
    policy = whole.policy("bucket")
    observation, _ = whole.environment(0).reset()
    policy.reset({"iron"})
    assert policy.state.state == "u1"
    policy.act(observation, {"iron"})
    assert policy.options == ("bucket: table",)
    policy.act(observation, {"iron"})
    with pytest.raises(RewardMachineError, match="the task is over"):
        policy.act(observation, {"table"})
    assert policy.verdict is Verdict.ACCEPT
    policy.reset()
    assert policy.state.state == "u0"


def test_a_policy_says_what_it_cannot_do(whole: TrainRun) -> None:
    with pytest.raises(RewardMachineError, match="no policy for 'cake'; it has learned 'bucket'"):
        whole.policy("cake")
    with pytest.raises(RewardMachineError, match="no seed 7; there are 0"):
        whole.policy("bucket", seed=7)
    policy = whole.policy("bucket")
    with pytest.raises(RewardMachineError, match="reset the policy"):
        policy.act(np.zeros(3), ())
    policy.reset()
    with pytest.raises(RewardMachineError, match="observations of shape"):
        policy.act(np.zeros(3), ())
    with pytest.raises(RewardMachineError, match="'gold'"):
        policy.reset({"gold"})


def test_runs_are_loaded_by_their_lazy_names(whole: TrainRun) -> None:
    assert rm.load_run(whole.folder).spec == whole.spec
    code = "import sys, rewardmachines; assert 'jax' not in sys.modules; rewardmachines.load_run"
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        rm.nothing  # noqa: B018


# -- settings


@pytest.mark.parametrize("algorithm", Algorithm)
@pytest.mark.parametrize("preset", Preset)
def test_settings_are_read_as_they_were_written(tmp_path: Path, preset: Preset, algorithm: Algorithm) -> None:
    for domain, settings in ((name, known.settings) for name, known in BUILT_IN.items()):
        for setting in settings:
            spec = standard_spec(domain, setting, "a task", algorithm, settings=preset, seed=3, seeds=2)
            order = TrainOrder(spec, Budget(1000), 0.1 + 0.2)
            save_order(order, tmp_path / "config.json")
            assert load_order(tmp_path / "config.json") == order


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c.update(format=99), "written by a later version .*, in format 99; this is version"),
        (lambda c: c.update(colour="red"), "'colour' means nothing there"),
        (lambda c: c["spec"]["config"].update(bach=3), "'bach' means nothing there; did you mean 'batch'"),
        (lambda c: c["spec"]["config"].pop("batch"), "spec, config: 'batch' is missing"),
        (lambda c: c["spec"]["config"].update(batch="many"), "config, batch: must be a whole number, not many"),
        (lambda c: c["spec"]["config"].update(batch=True), "must be a whole number, not True"),
        (lambda c: c["spec"]["config"].update(discount=None), "must be a number, not None"),
        (lambda c: c["spec"]["config"].update(network=[]), "must be a mapping of keys to values"),
        (lambda c: c["spec"]["config"]["network"].update(hidden=[1, "x"]), r"hidden\[1\]: must be a whole number"),
        (lambda c: c["spec"]["config"]["network"].update(hidden=1), "hidden: must be a list, not 1"),
        (lambda c: c["spec"]["config"].update(optimizer="sgd"), "must be one of adam, rmsprop, not sgd"),
        (lambda c: c["spec"].update(algorithm="ppo"), "must be one of hrl, flat-hrl, crm, not ppo"),
        (lambda c: c["spec"].update(algorithm=["crm"]), "must be one of hrl, flat-hrl, crm, not"),
        (lambda c: c["spec"].update(algorithm="crm"), "spec, config: 'formulas' means nothing there"),
        (lambda c: c["spec"].pop("algorithm"), "spec: 'algorithm' is missing"),
        (lambda c: c["budget"].update(steps=0), "at least one step"),
    ],
)
def test_damaged_settings_are_named(copy: Path, change: Callable[[Any], object], message: str) -> None:
    content = json.loads((copy / "config.json").read_text())
    change(content)
    (copy / "config.json").write_text(json.dumps(content))
    with pytest.raises(RewardMachineError, match=message):
        load_run(copy)


# -- what can be wrong


def test_a_folder_holds_one_run(whole: TrainRun, tmp_path: Path) -> None:
    with pytest.raises(RewardMachineError, match="there is a run already; choose another folder, or --resume it"):
        train(whole.folder, tiny_spec(), None, STEPS)
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(RewardMachineError, match="the folder is not empty"):
        train(tmp_path, tiny_spec(), None, STEPS)
    with pytest.raises(RewardMachineError, match=r"no run \(no config.json\), so nothing to resume"):
        resumed(tmp_path)


def test_nothing_is_written_for_what_cannot_be_trained(tmp_path: Path) -> None:
    gold = rm.compile_task("iron ; gold", name="bucket")
    for spec, tree, message in (
        (tiny_spec(task="bukket"), None, "no task 'bukket'; did you mean 'bucket'"),
        (tiny_spec(setting="opp"), None, "no setting 'opp'"),
        (tiny_spec(), gold, "speaks of 'gold', which CraftWorld OP does not have"),
    ):
        with pytest.raises(RewardMachineError, match=message):
            train(tmp_path / "run", spec, tree, STEPS)
    assert not (tmp_path / "run").exists()


def test_a_folder_that_cannot_be_written_to_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RewardMachineError, match="file/run: cannot be written to"):
        train(tmp_path / "file" / "run", tiny_spec(), None, STEPS)


def test_only_one_process_trains_in_a_folder(copy: Path) -> None:
    with TrainFolder(copy).lock.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(RewardMachineError, match="another process is training there"):
            resumed(copy, steps=2 * STEPS)
    assert load_run(copy).order.budget.steps == STEPS


def test_a_run_goes_on_with_its_own_settings_only(whole: TrainRun) -> None:
    with pytest.raises(RewardMachineError, match="begun with other settings: seed is 0, not 1"):
        resumed(whole.folder, spec=tiny_spec(seed=1))
    with pytest.raises(RewardMachineError, match="begun with another hierarchy"):
        resumed(whole.folder, hierarchy=rm.compile_task("iron", name="bucket"))


def _lose(path: Path) -> None:
    arrays, notes = read_arrays(path)
    arrays.popitem()
    write_arrays(path, arrays, notes)


def _misshape(path: Path) -> None:
    arrays, notes = read_arrays(path)
    write_arrays(path, {name: array[None] for name, array in arrays.items()}, notes)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda path: path.write_bytes(path.read_bytes()[:-100]), "damaged, this is not a whole safetensors file"),
        (lambda path: path.write_bytes(b""), "damaged, this is not a whole safetensors file"),
        (lambda path: path.write_bytes(b"hello " * 1000), "damaged, this is not a whole safetensors file"),
        (lambda path: write_arrays(path, {}, read_arrays(path)[1]), "is missing"),
        (lambda path: write_arrays(path, read_arrays(path)[0], {}), "another version|does not tell 'chunks'"),
        (_lose, "is missing"),
        (_misshape, "misshapen|is .*, not "),
    ],
)
def test_damaged_checkpoints_and_policies_are_named(copy: Path, damage: Callable[[Path], None], message: str) -> None:
    damage(copy / "checkpoint.safetensors")
    with pytest.raises(RewardMachineError, match=f"checkpoint.safetensors: .*({message}).*without this file"):
        resumed(copy)
    damage(copy / "policies" / "bucket-0.safetensors")
    with pytest.raises(RewardMachineError, match=f"bucket-0.safetensors: .*({message})"):
        load_run(copy).evaluate()


def test_damaged_metrics_are_named(copy: Path) -> None:
    whole = metrics(copy)
    (copy / "metrics.jsonl").write_bytes(b"hello\n" + whole)
    with pytest.raises(RewardMachineError, match=r"metrics.jsonl, line 1: damaged, this is not JSON"):
        load_run(copy).rows()
    (copy / "metrics.jsonl").write_bytes(whole.replace(b'"goals"', b'"gaols"'))
    with pytest.raises(RewardMachineError, match=r"metrics.jsonl, line 1: 'gaols' means nothing there"):
        load_run(copy).rows()


def test_missing_parts_are_named(copy: Path) -> None:
    (copy / "policies" / "bucket-0.safetensors").unlink()
    with pytest.raises(RewardMachineError, match="no policy of seed 0 yet"):
        load_run(copy).evaluate()
    (copy / "machines" / "bucket.json").unlink()
    with pytest.raises(RewardMachineError, match="there must be one machine file, not 0"):
        load_run(copy)
    (copy / "config.json").write_text("{")
    with pytest.raises(RewardMachineError, match=r"config.json: damaged, this is not JSON"):
        load_run(copy)


# -- Ctrl-C


def test_ctrl_c_leaves_a_checkpoint(whole: TrainRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    advance = Session.advance

    def interrupted(session: Session) -> list[Row]:
        rows = advance(session)
        if session.tally.chunks == 3:
            os.kill(os.getpid(), signal.SIGINT)
        return rows

    monkeypatch.setattr(Session, "advance", interrupted)
    with pytest.raises(KeyboardInterrupt):
        train(tmp_path / "run", tiny_spec(), None, STEPS)
    assert load_run(tmp_path / "run").rows() == whole.rows()[:3]
    assert read_snapshot(tmp_path / "run" / "checkpoint.safetensors", TrainSnapshot).chunks == 3


def test_a_chunk_that_was_broken_off_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(session: Session) -> list[Row]:
        raise KeyboardInterrupt

    with closing(training_rows(tmp_path / "run", tiny_spec(), None, STEPS)) as chunks:
        next(chunks)
        monkeypatch.setattr(Session, "advance", broken)
        with pytest.raises(KeyboardInterrupt):
            next(chunks)
    assert not (tmp_path / "run" / "checkpoint.safetensors").exists()
