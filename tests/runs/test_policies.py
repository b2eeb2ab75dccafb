"""Policies of runs of each kind: they do in episodes what evaluations say, and act where their makers are not known."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lhrm import yards
from lhrm.toy import SMALL, TREES
from lhrm.yards import STARTS, Yard
from rewardmachines.agents.registry import CRM
from rewardmachines.agents.tensors import named, read_arrays
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.traversal import Verdict
from rewardmachines.envs import HierarchyWrapper
from rewardmachines.runs.checkpoint import read_host_state
from rewardmachines.runs.journal import Chunk
from rewardmachines.runs.run import Run, open_run, play
from runs.conftest import Wholes
from runs.kinds import GYM, LEARN_DOMAIN, LEARN_GYM, LHRM, TRAIN_DOMAIN, TRAIN_GYM, Kind

DOMAINS = [TRAIN_DOMAIN, LEARN_DOMAIN]


@pytest.mark.parametrize("kind", DOMAINS, ids=str)
def test_policies_do_what_the_last_evaluation_says(kind: Kind, whole: Run) -> None:
    last = whole.rows[-1]
    assert last.returns is not None
    assert last.lengths is not None
    evaluations = whole.evaluate()
    assert [one.task for one in evaluations] == [*whole.machines]
    assert [(one.returns, one.lengths) for one in evaluations] == [*zip(last.returns, last.lengths, strict=True)]
    for one in evaluations:
        env = whole.environment(one.task, 0)
        assert env.get_wrapper_attr("hierarchy") == TREES[one.task]
        assert play(env, whole.policy(one.task)) == (one.returns[0], one.lengths[0])


@pytest.mark.parametrize("kind", GYM, ids=str)
def test_policies_do_what_evaluations_say_in_gymnasium_environments(kind: Kind, whole: Run) -> None:
    evaluations = {one.task: one for one in whole.evaluate()}
    assert set(evaluations) == set(whole.machines)
    env = whole.environment(kind.task)
    env = env if kind.learns else HierarchyWrapper(env, yards.TASK)
    policy = whole.policy(kind.task)
    played = [play(env, policy, seed=seed, steps=60) for seed in range(3)]
    assert [returned for returned, _ in played] == [*evaluations[kind.task].returns]
    assert [length for _, length in played] == [*evaluations[kind.task].lengths]
    assert {length for one in evaluations.values() for length in one.lengths if length < 1} == set()
    env.close()
    assert Yard.open == 0


def test_a_policy_acts_from_the_folder_as_in_memory(kind: Kind, tmp_path: Path) -> None:
    """Without an environment: at each place that can be observed."""
    chunks: list[Chunk] = []
    run = kind.run(tmp_path / "run", steps=14 * kind.chunk, callbacks=[chunks.append])
    session = chunks[-1].session
    task = next(iter(run.machines))
    mine, theirs = session.policy(task, session.trained.state.agent), open_run(run.folder).policy(task)
    places: list[Any] = list(STARTS) if kind.is_gym else list(np.eye(20, dtype=np.float32))
    for policy in (mine, theirs):
        policy.reset()
    actions = [(mine.act(place, ()), theirs.act(place, ())) for place in places]
    assert [one for one, _ in actions] == [other for _, other in actions]
    assert (theirs.options, theirs.state) == (mine.options, mine.state)
    assert {one for one, _ in actions} <= (set(range(1, 5)) if kind.is_gym else set(range(4)))


@pytest.mark.parametrize("kind", [TRAIN_DOMAIN, TRAIN_GYM], ids=str)
def test_crm_is_trained_resumed_and_acts(kind: Kind, tmp_path: Path) -> None:
    options: dict[str, Any] = {"agent": "crm", "settings": CRM.settings(kind.arguments["settings"])}
    whole = kind.run(tmp_path / "whole", steps=4 * kind.chunk, **options)
    kind.run(tmp_path / "broken", steps=2 * kind.chunk, **options)
    assert kind.resume(tmp_path / "broken", steps=4 * kind.chunk).rows == whole.rows
    policy = open_run(tmp_path / "broken").policy()
    policy.reset()
    policy.act(3 if kind.is_gym else np.eye(20)[3], ())
    assert policy.options == ()
    assert policy.hierarchy.height == 1
    assert len(whole.evaluate()[0].returns) == kind.instances


@pytest.mark.parametrize("kind", GYM, ids=str)
def test_the_best_policies_are_those_of_the_best_evaluation(kind: Kind, whole: Run) -> None:
    judged = [row for row in whole.rows if row.mean_return is not None and not row.learned]
    best = max(row.mean_return or 0 for row in judged)
    last = [row.chunk for row in judged if row.mean_return == best][-1]
    state = read_host_state(whole.files.best_policies)
    assert state.algorithm["counters"]["chunks"] == last
    assert state.best == best > 0
    evaluations = whole.evaluate(best=True)
    if not kind.learns:
        assert np.mean(evaluations[0].returns) == pytest.approx(best)
    assert whole.policy(kind.task, best=True) is not None
    assert Yard.open == 0


def test_domains_keep_no_best_policies(wholes: Wholes) -> None:
    with pytest.raises(RewardMachineError, match="only runs in Gymnasium environments keep their best policies"):
        wholes[TRAIN_DOMAIN].policy(best=True)


_STRANGER = """
import sys
from rewardmachines.runs.run import open_run
policy = open_run(sys.argv[1]).policy(sys.argv[2], best=sys.argv[3] == "best")
policy.reset(set())
print(policy.act(3, set()))
assert not [name for name in sys.modules if "yards" in name]
"""


@pytest.mark.parametrize("best", [False, True])
@pytest.mark.parametrize("kind", GYM, ids=str)
def test_a_policy_needs_no_code_of_its_makers(kind: Kind, whole: Run, tmp_path: Path, best: bool) -> None:
    arguments = [str(whole.folder), kind.task, "best" if best else "last"]
    done = subprocess.run(
        [sys.executable, "-c", _STRANGER, *arguments], check=False, cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "importing" not in done.stderr
    assert int(done.stdout) in range(1, 5)


def test_a_policy_says_what_it_cannot_do(kind: Kind, whole: Run) -> None:
    with pytest.raises(RewardMachineError, match=f"there is no task '{kind.task}x' in this run; did you mean"):
        whole.policy(f"{kind.task}x")
    policy = whole.policy(kind.task)
    place: Any = 3 if kind.is_gym else np.eye(20)[3]
    with pytest.raises(RewardMachineError, match="reset the policy"):
        policy.act(place, ())
    policy.reset()
    with pytest.raises(RewardMachineError, match="observation"):
        policy.act(np.zeros(3), ())
    with pytest.raises(RewardMachineError, match="'gold'"):
        policy.reset({"gold"})
    assert set(policy.propositions) == ({"a", "b", "c", "pit"} if kind.is_gym else {"k", "b", "g"})


@pytest.mark.parametrize("kind", [LEARN_DOMAIN, LEARN_GYM], ids=str)
def test_a_run_of_several_tasks_is_asked_for_one_that_has_a_machine(kind: Kind, tmp_path: Path) -> None:
    run = kind.run(tmp_path / "run", steps=kind.chunk)
    with pytest.raises(RewardMachineError, match=f"say which task: there are {', '.join(run.tasks)}"):
        run.policy()
    with pytest.raises(RewardMachineError, match="nothing can be done about 'all' yet: there is no machine"):
        run.policy("all")
    with pytest.raises(RewardMachineError, match="there is no machine of 'all' yet"):
        run.hierarchy("all")
    if kind.is_gym:
        with pytest.raises(RewardMachineError, match="no evaluation has judged policies yet"):
            run.policy("ab", best=True)


def test_a_policy_follows_the_hierarchy_on_label_events(wholes: Wholes) -> None:
    policy, place = wholes[LEARN_DOMAIN].policy("fetch"), np.eye(20)[3]
    policy.reset({"k"})
    assert policy.state.state != policy.hierarchy["fetch"].initial
    policy.act(place, {"k"})
    assert policy.options == ("fetch: b",)
    policy.act(place, {"k"})
    assert policy.verdict == Verdict.NEITHER
    with pytest.raises(RewardMachineError, match="the task is over"):
        policy.act(place, {"b"})
    assert policy.verdict.value == Verdict.ACCEPT.value
    policy.reset()
    assert policy.state.state == policy.hierarchy["fetch"].initial


def test_instances_that_do_not_exist_are_refused(wholes: Wholes) -> None:
    assert [len(one.returns) for one in wholes[TRAIN_DOMAIN].evaluate(instances=2, instance_seed=5)] == [2]
    with pytest.raises(RewardMachineError, match="at least one instance"):
        wholes[TRAIN_DOMAIN].evaluate(instances=0)
    with pytest.raises(RewardMachineError, match="have the instances that they were trained in"):
        wholes[TRAIN_GYM].evaluate(instances=2)


@pytest.mark.parametrize("kind", GYM, ids=str)
def test_encoded_observations_need_their_function_again(kind: Kind, whole: Run, tmp_path: Path) -> None:
    run = kind.run(tmp_path / "run", steps=6 * kind.chunk, encode=yards.encode)
    observations = run.config.gym.interface.observations  # type: ignore[union-attr]
    assert (observations.is_encoded, observations.encoder) == (True, "lhrm.yards:encode")
    task = next(iter(run.machines))
    assert run.policy(task) is not None, "the object knows it"
    opened = open_run(tmp_path / "run")
    with pytest.raises(RewardMachineError, match=r"observations were encoded by lhrm.yards:encode: pass it again"):
        opened.policy(task)
    for policy in (opened.policy(task, encode=yards.encode), open_run(run.folder, encode=yards.encode).policy(task)):
        policy.reset(set())
        assert policy.act(3, set()) in range(1, 5)
    assert opened.evaluate(), "there, the function is imported by its name"
    rows = run.rows
    assert kind.resume(tmp_path / "run", steps=7 * kind.chunk).rows[: len(rows)] == rows
    assert len(run.rows) > len(rows)
    with pytest.raises(RewardMachineError, match="observations were not encoded: leave out encode="):
        whole.policy(kind.task, encode=yards.encode)
    nameless = kind.run(tmp_path / "nameless", steps=kind.chunk, encode=lambda cell: np.eye(9)[cell])
    assert nameless.rows == rows[: len(nameless.rows)]
    for use in (kind.resume, lambda folder: open_run(folder).evaluate()):
        with pytest.raises(RewardMachineError, match="encode was given as a function that cannot be found again"):
            use(tmp_path / "nameless")
    assert (
        kind.resume(tmp_path / "nameless", encode=yards.encode, steps=2 * kind.chunk).rows == rows[: len(nameless.rows)]
    )
    assert Yard.open == 0


def test_policies_are_kept_that_were_judged(tmp_path: Path) -> None:
    """Where greedy policies are moving averages, these are kept, and not the networks that learn."""
    settings = replace(LHRM, agent=replace(SMALL.agent, target=0.02))
    run = LEARN_DOMAIN.run(tmp_path / "run", settings=settings, steps=15 * LEARN_DOMAIN.chunk)
    arrays, _ = read_arrays(run.files.policies)
    every = {name[name.find("agent/") :]: array for name, array in read_arrays(run.files.checkpoint)[0].items()}
    networks = {name: array for name, array in arrays.items() if "/formulas/online/" in name}
    assert networks
    averages = {name: every[name.replace("/online/", "/target/")] for name in networks}
    assert all(np.array_equal(array, averages[name]) for name, array in networks.items())
    assert any((averages[name] != every[name]).any() for name in networks)
    _, learned = run.learned()
    for name, array in named(learned.formulas.target, "agent/formulas/online").items():
        assert np.array_equal(array, arrays[name])
