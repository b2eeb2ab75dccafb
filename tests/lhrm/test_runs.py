"""Runs of LHRM that are folders: equal when they should be, whatever happens in between, and plain about what is wrong.

All on the toy domain, in which everything is learned within seconds.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import rewardmachines as rm
from agents.tiny import tiny_spec
from lhrm.toy import LABELS, MAX_STEPS, TOY, TREES, TWO_ROOMS, quickly
from rewardmachines.agents.training.spec import TrainOrder, save_order
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.formula import Conjunction
from rewardmachines.core.traversal import Verdict
from rewardmachines.envs.episodes import advance, begin
from rewardmachines.learning import Solvers
from rewardmachines.lhrm.algorithm import Lhrm
from rewardmachines.lhrm.chunk_metrics import Row
from rewardmachines.lhrm.config import Exploration
from rewardmachines.lhrm.diagnosis import what_is_missing
from rewardmachines.lhrm.folder import LearnFolder
from rewardmachines.lhrm.learn import learn, learning_rows
from rewardmachines.lhrm.run import LearnRun, load_learning
from rewardmachines.lhrm.setbacks import Setback
from rewardmachines.lhrm.snapshot import Snapshot, restore, take_snapshot
from rewardmachines.lhrm.spec import LearnSpec, standard_learning
from rewardmachines.library import domain
from rewardmachines.lowered.traversal import VERDICTS, verdict
from rewardmachines.runs.budget import Budget
from rewardmachines.runs.checkpoint import HOST, read_snapshot
from rewardmachines.runs.tensors import read_arrays, write_arrays
from rewardmachines.runs.written import WrittenFiles

pytestmark = pytest.mark.usefixtures("two_rooms_domain")

CONFIG = quickly(explores_with=Exploration.PROPOSITIONS)
SPEC = LearnSpec(TWO_ROOMS.name, "plain", tuple(TREES), CONFIG, instances=1, max_steps=MAX_STEPS)
STEPS = CONFIG.agent.chunk * CONFIG.agent.environments
"""Of a chunk."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> LearnRun:
    """Learned without a break."""
    return learn(tmp_path_factory.mktemp("runs") / "whole", SPEC)


@pytest.fixture
def copy(whole: LearnRun, tmp_path: Path) -> Path:
    """To be damaged."""
    shutil.copytree(whole.folder, tmp_path / "copy")
    return tmp_path / "copy"


def kept(folder: Path) -> dict[str, bytes]:
    """What depends on the spec alone."""
    files = [folder / "metrics.jsonl", *(folder / "machines").iterdir(), *(folder / "examples").iterdir()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def fresh() -> Lhrm:
    return Lhrm(SPEC.worlds(), CONFIG, Solvers(), seed=SPEC.seed)


# -- what a run is


def test_the_package_offers_what_runs_are_made_with() -> None:
    assert (rm.learn, rm.learning_rows, rm.load_learning) == (learn, learning_rows, load_learning)
    assert rm.standard_learning is standard_learning


def test_a_run_ends_when_all_tasks_are_learned_and_is_kept_in_files(whole: LearnRun) -> None:
    rows = whole.rows()
    assert [row.chunk for row in rows] == [i + 1 for i in range(len(rows))]
    taken = np.diff([0, *(row.steps for row in rows)])  # an environment whose trace waits to be taken takes no steps
    assert (taken > 0).all()
    assert taken.max() == STEPS
    assert np.mean([row.returns for row in rows if row.returns is not None][-3:], axis=(0, 2)).min() >= 0.95
    assert whole.missing() == {}
    assert min(whole.returns().values()) >= 0.95
    assert (whole.tasks, whole.levels["all"], whole.level) == (tuple(TREES), 2, 3)
    assert any((whole.folder / "events").iterdir())
    assert b"second" not in kept(whole.folder)["metrics.jsonl"]


def test_moments_tell_what_the_learner_took(whole: LearnRun) -> None:
    moments = whole.moments()
    assert [moment.steps for moment in moments] == [row.steps for row in whole.rows()]
    spent = sum(learning.seconds for learning in whole.learnings().values())
    assert moments[0].learner_seconds == 0
    assert moments[-1].learner_seconds == pytest.approx(spent, abs=0.001)
    assert spent < moments[-1].seconds


def test_learned_hierarchies_are_those_of_the_tasks_and_hold_nothing_else(whole: LearnRun) -> None:
    found = whole.hierarchies()
    assert list(found) == list(TREES)
    for name, tree in TREES.items():
        assert found[name].root == name
        assert set(found[name].machines) == set(found[name].reachable())
        assert rm.difference(found[name], tree, labels=LABELS, events=True) is None


def test_examples_are_enough_to_learn_the_same_machine_again(whole: LearnRun) -> None:
    found, learnings = whole.hierarchies(), whole.learnings()
    for name, traces in whole.examples().items():
        assert traces == learnings[name].examples.traces
        callables = [found[other] for other in TREES if whole.levels[other] < whole.levels[name]]
        result = rm.induce(traces, found[name].propositions, callables, name=name)
        assert isinstance(result, rm.Learned)
        assert result.hierarchy == found[name]


def test_learnings_agree_with_what_was_told(whole: LearnRun) -> None:
    events = [event for row in whole.rows() for event in row.learned]
    for name, learning in whole.learnings().items():
        mine = [event for event in events if event.task == name]
        assert learning.learned == len(mine)
        assert learning.calls == mine[-1].calls
        assert learning.problem is None
    assert set(whole.first()) == set(TREES)
    assert whole.activated()[1] == 0 < whole.activated()[2]


def test_policies_follow_what_was_learned_to_the_goal(whole: LearnRun) -> None:
    scenario = TOY
    for name, tree in TREES.items():
        policy, truth = whole.policy(name), scenario.lower(tree)
        episode = begin(scenario.environment, scenario.world, truth.tables, 0, truth.root)
        label = scenario.environment.bits.decode(np.asarray(episode.label))
        policy.reset(label)
        for _ in range(scenario.max_steps):
            observation = scenario.environment.observe(scenario.world, episode.state)
            action = policy.act(observation, label)
            assert policy.state.machine in TREES
            assert policy.options[0].startswith(f"{name}: ")
            episode, outcome = advance(
                scenario.environment, scenario.world, truth.tables, episode, action, max_steps=scenario.max_steps
            )
            label = scenario.environment.bits.decode(np.asarray(episode.label))
            if bool(outcome.done):
                break
        assert VERDICTS[int(verdict(truth.tables, episode.task))] is Verdict.ACCEPT


def test_environments_have_the_true_hierarchy(whole: LearnRun) -> None:
    spec = standard_learning("craftworld", "op", ("bucket", "milk-bucket"), instances=2)
    run = replace(whole, order=replace(whole.order, spec=spec))
    env = run.environment("milk-bucket", 1)
    assert env.hierarchy == run.spec.scenario().task("milk-bucket")
    assert env.reset()[1]["instance"] == 1


def test_a_task_that_is_not_there_is_named(whole: LearnRun) -> None:
    with pytest.raises(RewardMachineError, match="there is no task 'fetsh' in this run; did you mean 'fetch'"):
        whole.policy("fetsh")


# -- the same again


def test_who_stops_asking_can_go_on_later(whole: LearnRun, tmp_path: Path) -> None:
    with closing(learning_rows(tmp_path / "broken", SPEC)) as chunks:
        assert len(list(islice(chunks, 9))) == 9
    before = load_learning(tmp_path / "broken")
    assert before.rows() == whole.rows()[:9]
    told: list[Row] = []
    learn(before.folder, resume=True, callbacks=[lambda chunk: told.append(chunk.row)])
    assert told == whole.rows()[9:]
    assert kept(before.folder) == kept(whole.folder)


_CHILD = """
import sys, time
from lhrm import test_runs
from lhrm.toy import TWO_ROOMS
from rewardmachines.envs.registry import register_domain
from rewardmachines.lhrm.learn import learn
from rewardmachines.runs import journal
register_domain(TWO_ROOMS)
journal.CHECKPOINT_SECONDS = 0
learn(sys.argv[1], test_runs.SPEC, callbacks=[lambda chunk: time.sleep(0.05)])
"""


def test_a_run_that_was_killed_goes_on_as_if_nothing_had_happened(whole: LearnRun, tmp_path: Path) -> None:
    folder, rows = tmp_path / "killed", whole.rows()
    enough = next(row.chunk for row in rows if row.level == 2) + 2  # there are machines, and guides to follow
    root = Path(__file__).parents[2]
    place = {
        **os.environ,
        "PYTHONPATH": f"{root}:{root / 'tests'}:{os.environ.get('PYTHONPATH', '')}",
        "PYTHONHASHSEED": "7",
    }
    child = subprocess.Popen([sys.executable, "-c", _CHILD, str(folder)], env=place)
    try:
        _wait(lambda: len(load_rows(folder)) >= enough, child)
        with pytest.raises(RewardMachineError, match="another process is training there"):
            learn(folder, resume=True)
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()
    before = load_rows(folder)
    assert enough <= len(before) < len(rows)
    assert before == rows[: len(before)]
    assert (folder / "checkpoint.safetensors").exists()
    with (folder / "metrics.jsonl").open("ab") as file:
        file.write(b'{"chunk": 7, "st')  # killed while writing
    fetch = (folder / "machines" / "fetch.json").read_text()
    WrittenFiles(folder).write(folder / "machines" / "all.json", fetch)  # learned, but after the checkpoint
    (folder / ".checkpoint.safetensors.x.part").write_bytes(b"half")
    learn(folder, resume=True)
    assert kept(folder) == kept(whole.folder)
    assert not list(folder.glob(".*"))


def load_rows(folder: Path) -> list[Row]:
    return load_learning(folder).rows() if (folder / "config.json").exists() else []


def _wait(condition: Callable[[], bool], child: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 240
    while not condition():
        assert child.poll() is None, "it ended by itself"
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.02)


def test_a_snapshot_holds_all_that_is_not_on_the_device(whole: LearnRun) -> None:
    path = whole.folder / "checkpoint.safetensors"
    snapshot, run = read_snapshot(path, Snapshot), fresh()
    restore(run, snapshot, str(path))
    assert take_snapshot(run) == snapshot
    assert run.chance.random() != fresh().chance.random()
    assert sorted(run.registry.slots.values()) == list(range(len(run.registry.slots)))
    assert take_snapshot(fresh()) != snapshot


def test_tables_that_have_grown_keep_their_room(whole: LearnRun) -> None:
    snapshot, run = read_snapshot(whole.folder / "checkpoint.safetensors", Snapshot), fresh()
    grown = replace(
        snapshot, room=replace(snapshot.room, edges=64), option_room=replace(snapshot.option_room, slots=128)
    )
    restore(run, grown, "there")
    assert run.knowledge.options.is_active.shape == (128,)
    assert run.knowledge.tables.edge_required.shape[2] == 64


@pytest.mark.parametrize("way", Exploration)
def test_what_is_known_is_written_the_same_whenever_it_is_written(way: Exploration) -> None:
    """A formula that a new machine brings may take in one that a guide was after: the guide must know at once."""
    run = fresh()
    special, general = Conjunction(frozenset({"k"}), frozenset({"b"})), Conjunction(frozenset({"k"}))
    fetch, press = (
        rm.machine(name, [rm.Edge("u0", "uA", rm.Formula(frozenset({formula})))])
        for name, formula in (("fetch", special), ("press", general))
    )
    run.registry.see(LABELS)
    run.machines.pool = run.pool.with_machine(fetch)
    run.registry.write(run.pool, ["fetch"], way)
    run.machines.pool = run.pool.with_machine(press)
    once = run.registry.write(run.pool, ["fetch"], way).arrays
    again = run.registry.write(run.pool, ["fetch"], way).arrays
    assert run.registry.tree.root_of(special) == general
    assert jax.tree.all(jax.tree.map(np.array_equal, once, again))


# -- how it ends


def test_what_is_missing_is_said_of_every_task() -> None:
    run, none = fresh(), dict.fromkeys(TREES, 7)
    goal = rm.Trace((frozenset("k"), frozenset("b")), rm.Outcome.GOAL)
    some = run.learnings["press"].examples.collected(goal)
    run.learnings["press"] = replace(run.learnings["press"], examples=some)
    assert what_is_missing(run, none, 0.95) == {
        "fetch": "no goal trace of fetch was seen in 7 episodes",
        "press": "1 distinct goal trace was seen in 7 episodes: the first machine waits for 8",
        "all": "level 2 has to wait: level 1 is not mastered",
    }
    run.curriculum = replace(run.curriculum, level=2)
    for name in TREES:
        run.learnings[name] = replace(run.learnings[name], examples=replace(some, traces=(goal,)))
    run.learnings["all"] = replace(run.learnings["all"], setback=Setback("all: nothing explains it", ()))
    assert what_is_missing(run, none, 0)["all"] == "given up: nothing explains it"
    assert set(what_is_missing(run, none, 0)) == {"all"}
    assert what_is_missing(run, none, 0.95)["fetch"] == "3 evaluations say whether it is learned, and there were 0"
    run.recent = [np.array([[0.9], [1.0], [0.0]])] * 3
    assert what_is_missing(run, none, 0.95)["fetch"] == "returns 0.90 on average: 0.95 is asked for"
    assert set(what_is_missing(run, none, 0.9)) == {"all"}


def test_it_ends_with_its_budget_and_goes_on_with_another(whole: LearnRun, tmp_path: Path) -> None:
    run = learn(tmp_path / "run", SPEC, steps=3 * STEPS)
    assert len(run.rows()) == 3
    assert run.missing()["all"] == "level 2 has to wait: level 1 is not mastered"
    assert "seen in" in run.missing()["fetch"]
    assert len(learn(run.folder, resume=True).rows()) == 3
    assert len(learn(run.folder, resume=True, seconds=0.001).rows()) == 3
    order = load_learning(run.folder).order
    assert (order.budget, order.stop_at) == (Budget(seconds=0.001), 0.95)
    again = learn(run.folder, resume=True, steps=5 * STEPS).rows()
    assert again == whole.rows()[: len(again)]
    assert again[-2].steps < 5 * STEPS <= again[-1].steps


def test_it_ends_when_every_task_was_given_up(tmp_path: Path) -> None:
    spec = replace(SPEC, config=replace(CONFIG, learner_seconds=1e-9))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rewardmachines.learning.solvers.quick", lambda *_: None)  # nothing is easy
        run = learn(tmp_path / "run", spec)
    assert all("given up: no machine was found in 1e-09 s" in message for message in run.missing().values())
    assert set(run.missing()) == set(TREES)
    assert run.hierarchies() == {}
    rows = run.rows()
    assert learn(run.folder, resume=True).rows() == rows
    with pytest.raises(RewardMachineError, match="nothing can be done about 'fetch' yet"):
        run.policy("fetch")


# -- what can be wrong


def test_a_folder_holds_one_run(whole: LearnRun, tmp_path: Path) -> None:
    with pytest.raises(RewardMachineError, match="there is a run already; choose another folder, or --resume it"):
        learn(whole.folder, SPEC)
    with pytest.raises(RewardMachineError, match=r"no run \(no config.json\), so nothing to resume"):
        learn(tmp_path, resume=True)


def test_runs_of_another_kind_are_told_apart(whole: LearnRun, tmp_path: Path) -> None:
    with pytest.raises(RewardMachineError, match="this is a run of 'hrm learn', not of 'hrm train'"):
        rm.load_run(whole.folder)
    save_order(TrainOrder(tiny_spec(), Budget(100)), tmp_path / "config.json")
    for load in (load_learning, lambda folder: learn(folder, resume=True)):
        with pytest.raises(RewardMachineError, match="this is a run of 'hrm train', not of 'hrm learn'"):
            load(tmp_path)


def test_only_one_process_learns_in_a_folder(copy: Path) -> None:
    with LearnFolder(copy).lock.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(RewardMachineError, match="another process is training there"):
            learn(copy, resume=True, steps=10**9)
    assert load_learning(copy).order.budget == Budget()


def test_a_run_goes_on_with_its_own_settings_only(whole: LearnRun) -> None:
    with pytest.raises(RewardMachineError, match="begun with other settings: seed is 0, not 1"):
        learn(whole.folder, replace(SPEC, seed=1), resume=True)
    with pytest.raises(RewardMachineError, match=r"begun with other settings: config.first_goals is 8, not 9"):
        learn(whole.folder, replace(SPEC, config=replace(CONFIG, first_goals=9)), resume=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"steps": 0}, "at least one step is needed, not 0"),
        ({"seconds": 0.0}, "more than 0 seconds are needed"),
        ({"stop_at": 1.5}, "lies between 0 and 1, not 1.5"),
        ({"stop_at": 0}, "it would never end"),
    ],
)
def test_nothing_is_written_for_what_cannot_be_learned(tmp_path: Path, options: Any, message: str) -> None:
    with pytest.raises(RewardMachineError, match=message):
        learn(tmp_path / "run", SPEC, **options)
    assert not (tmp_path / "run").exists()


def test_tasks_are_those_of_the_domain_and_each_is_there_once() -> None:
    assert set(standard_learning("craftworld", "OP").tasks) == set(domain("craftworld").tasks)
    assert standard_learning("craftworld", "op", ["MilkBucket"]).tasks == ("milk-bucket",)
    for tasks, message in (([], "no task to learn"), (["book", "Book"], "the task 'book' is there twice")):
        with pytest.raises(RewardMachineError, match=message):
            standard_learning("craftworld", "op", tasks)
    with pytest.raises(RewardMachineError, match="no task 'bukket'; did you mean 'bucket'"):
        standard_learning("craftworld", "op", ["bukket"])


def _host(change: Callable[[Any], object]) -> Callable[[Path], None]:
    """Damages the text of a checkpoint."""

    def damage(path: Path) -> None:
        arrays, notes = read_arrays(path)
        content = json.loads(arrays[HOST].tobytes())
        change(content)
        text = json.dumps(content).encode()
        write_arrays(path, {**arrays, HOST: np.frombuffer(text, np.uint8)}, notes)

    return damage


def _lose(name: str) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        arrays, notes = read_arrays(path, lambda found: not found.startswith(name))
        write_arrays(path, arrays, notes)

    return damage


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda path: path.write_bytes(path.read_bytes()[:-100]), "damaged, this is not a whole safetensors file"),
        (lambda path: path.write_bytes(b""), "damaged, this is not a whole safetensors file"),
        (_lose(HOST), "'host' is missing"),
        (_lose("state/agent/formulas"), "damaged, or of another version: 'state/agent/formulas/.*' is missing"),
        (_host(lambda c: c["snapshot"].pop("level")), "snapshot: 'level' is missing"),
        (_host(lambda c: c["snapshot"].update(running=[[0.0]])), "speaks of other tasks or instances"),
        (_host(lambda c: c["snapshot"].update(learnings=[])), "speaks of other tasks or instances"),
        (_host(lambda c: c["snapshot"].update(chance="{}")), "the state of its chance cannot be read"),
        (_host(lambda c: c["snapshot"]["learnings"][0].update(traces="{")), "examples of 'fetch', line 1: not JSON"),
        (_host(lambda c: c["snapshot"].update(machines="{")), "machines"),
        (_host(lambda c: c["snapshot"].update(learned=["cake"])), "speaks of other tasks or instances"),
    ],
)
def test_damaged_checkpoints_are_named(copy: Path, damage: Callable[[Path], None], message: str) -> None:
    damage(copy / "checkpoint.safetensors")
    with pytest.raises(RewardMachineError, match=f"checkpoint.safetensors.*({message}).*without this file"):
        learn(copy, resume=True)


def test_ctrl_c_leaves_a_checkpoint(whole: LearnRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    advance = Lhrm.advance

    def interrupted(run: Lhrm) -> Row:
        row = advance(run)
        if row.chunk == 3:
            os.kill(os.getpid(), signal.SIGINT)
        return row

    monkeypatch.setattr(Lhrm, "advance", interrupted)
    with pytest.raises(KeyboardInterrupt):
        learn(tmp_path / "run", SPEC)
    assert load_learning(tmp_path / "run").rows() == whole.rows()[:3]
    assert read_snapshot(tmp_path / "run" / "checkpoint.safetensors", Snapshot).tally.chunks == 3
