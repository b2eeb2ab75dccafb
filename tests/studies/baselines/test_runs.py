"""Baselines are runs like all others: in a folder, with rows and checkpoints, and they go on exactly as they were."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from itertools import islice, pairwise
from pathlib import Path

import pytest

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.sizes import Size
from rewardmachines.envs.scenarios import instance_seed_of
from rewardmachines.rollout.rows import Trigger
from rewardmachines.runs.checkpoint import read_checkpoint
from rewardmachines.runs.config import DomainPlace
from rewardmachines.runs.folder import RunFolder
from rewardmachines.runs.orders import RunOrder, carry_out
from rewardmachines.runs.run import Run
from rewardmachines.runs.stopping import RunBudget
from rewardmachines.studies.baselines.algorithm import METHODS, OUT_OF_TIME, FlatLearning, flat_order
from rewardmachines.studies.baselines.deepsynth.learner import DeepSynthConfig
from rewardmachines.studies.baselines.jirp import JirpConfig
from rewardmachines.studies.baselines.lrm.learner import LrmConfig
from rewardmachines.studies.baselines.protocol import LEARNER_SECONDS, FlatConfig
from rewardmachines.studies.plan import planned_runs
from rewardmachines.studies.study import RunKind, load_study
from studies.baselines.worlds import DOMAIN, corridor_registered, episodes_of

EPISODES = 350
PLACE = DomainPlace(DOMAIN.name, "short", instances=3, max_steps=60)
SETTINGS: dict[str, FlatConfig] = {
    "deepsynth": DeepSynthConfig(first_call=3_000),
    "jirp": JirpConfig(),
    "lrm": LrmConfig(first_episodes=5, steps=10),
}


@pytest.fixture(autouse=True)
def corridor() -> Iterator[None]:
    with corridor_registered():
        yield


def order(
    folder: Path, method: str, *, resume: bool = False, seconds: float = LEARNER_SECONDS, place: DomainPlace = PLACE
) -> RunOrder:
    settings = replace(SETTINGS[method], learner_seconds=seconds)
    files = RunFolder(folder)
    return flat_order(files, place, "return", method, settings=settings, episodes=EPISODES, resume=resume)


def carried_out(asked: RunOrder) -> Run:
    for _ in carry_out([asked]):
        pass
    return Run(asked.folder.path)


@pytest.fixture(scope="module", params=METHODS)
def whole(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run without interruptions."""
    with corridor_registered():
        return carried_out(order(tmp_path_factory.mktemp("whole") / "run", request.param))


def method_of(run: Run) -> str:
    return str(run.config.learner)


def last(run: Run) -> FlatLearning:
    learning = run.last.algorithm
    assert isinstance(learning, FlatLearning)
    return learning


def files(folder: Path) -> dict[str, bytes]:
    """What must be the same in equal runs."""
    machines = sorted((folder / "machines").iterdir())
    return {path.name: path.read_bytes() for path in (folder / "metrics.jsonl", *machines)}


def deepsynth_size() -> Size:
    """The size of DeepSynth's automaton: no label is entered by all that enters another one.

    So there is a state for each, one after the start, and the initial one. An edge leads from one to another where
    labels follow each other in some episode.
    """
    episodes = [episode.without_first_state() for episode in islice(episodes_of("return").after(0), EPISODES)]
    pairs = {pair for episode in episodes for pair in pairwise(["start", *episode.labels])}
    return Size(2 + len({label for _, label in pairs}), 1 + len(pairs))


def test_a_run_takes_all_episodes_and_learns_a_machine(whole: Run) -> None:
    rows, learning, method = whole.rows, last(whole), method_of(whole)
    assert [row.episodes for row in rows] == [100, 200, 300, EPISODES]
    assert [row.ended for row in rows] == [(100,), (100,), (100,), (50,)]
    assert 0 < sum(row.goals[0] for row in rows) == learning.outcomes["goal"]
    assert sum(learning.outcomes.values()) == EPISODES
    assert learning.problem is None
    updates = [update for row in rows for update in row.learned]
    assert [update.cause for update in updates] == [Trigger.GOALS, *[Trigger.COUNTEREXAMPLE] * (len(updates) - 1)]
    assert learning.searches.calls >= updates[-1].calls >= len(updates)
    size = learning.learner.size
    assert size is not None
    assert size == Size(updates[-1].states, updates[-1].edges)
    assert 0 < whole.timing[-1].learner_seconds < LEARNER_SECONDS
    assert set(whole.machines) == ({"return"} if method == "jirp" else set())
    assert whole.config.title == f"Corridor SHORT · return · {method} · seed 0"
    with pytest.raises(RewardMachineError, match="there are no policies"):
        whole.policy()
    if method == "deepsynth":
        assert size == deepsynth_size()
    else:  # what is seen next in a corridor hardly depends on the past: LRM's has the states that its search began with
        assert size.states == 4


def test_a_run_that_is_closed_goes_on_as_if_nothing_had_happened(whole: Run, tmp_path: Path) -> None:
    folder, method = tmp_path / "run", method_of(whole)
    with closing(carry_out([order(folder, method)])) as chunks:
        assert [chunk.row for _, chunk in islice(chunks, 2)] == whole.rows[:2]
    assert carried_out(order(folder, method, resume=True)).rows == whole.rows
    assert files(folder) == files(whole.folder)
    assert last(Run(folder)).host_state().learner == last(whole).host_state().learner


def test_a_run_without_a_checkpoint_begins_anew(whole: Run, tmp_path: Path) -> None:
    folder, method = tmp_path / "run", method_of(whole)
    with closing(carry_out([order(folder, method)])) as chunks:
        next(chunks)
    (folder / "checkpoint.safetensors").unlink()
    carried_out(order(folder, method, resume=True))
    assert files(folder) == files(whole.folder)


def test_a_run_whose_searches_take_too_long_is_interrupted_and_goes_on_with_more_time(
    whole: Run, tmp_path: Path
) -> None:
    folder, method = tmp_path / "run", method_of(whole)
    short = carried_out(order(folder, method, seconds=1e-6))
    *before, interrupted = short.rows
    assert before == whole.rows[: len(before)]
    assert (interrupted.ended, interrupted.learned[-1].message) == ((0,), OUT_OF_TIME)
    assert carried_out(order(folder, method, resume=True, seconds=1e-6)).rows == short.rows
    longer = carried_out(order(folder, method, resume=True, seconds=100))
    assert last(longer).problem is None
    assert (longer.rows[-1].steps, longer.rows[-1].episodes) == (whole.rows[-1].steps, EPISODES)
    assert last(longer).learner.snapshot() == last(whole).learner.snapshot()


def test_a_run_is_not_resumed_with_other_settings(whole: Run, tmp_path: Path) -> None:
    method = method_of(whole)
    with pytest.raises(RewardMachineError, match=r"instances is 3, not 10"):
        order(whole.folder, method, resume=True, place=replace(PLACE, instances=10))
    with pytest.raises(RewardMachineError, match="there is a run already"):
        carried_out(order(whole.folder, method))
    state = read_checkpoint(whole.files.checkpoint).state
    for key, value in (("learner", "{}"), ("learner", "1"), ("outcomes", {})):
        damaged = replace(state, algorithm={**state.algorithm, key: value})
        with pytest.raises(RewardMachineError, match="damaged"):
            Run(whole.folder)._begun().restore_algorithm(damaged, "here")


def test_a_method_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RewardMachineError, match="there is no baseline 'jrp'; did you mean 'jirp'"):
        flat_order(RunFolder(tmp_path), PLACE, "leave", "jrp")
    with pytest.raises(RewardMachineError, match="more than 0 seconds are needed"):
        JirpConfig(learner_seconds=0)


def test_runs_of_the_paper_have_its_numbers() -> None:
    runs = [run for run in planned_runs(load_study("paper/flat")) if run.command is RunKind.FLAT]
    assert len(runs) == 5 * 3 * (4 + 3)  # seeds, methods, tasks of OP and of WOD
    configs = [run.order(Path("nowhere")).config for run in runs]
    for config in configs:
        assert config.budget == RunBudget(episodes=150_000)
        assert config.domain is not None
        assert (config.domain.instances, config.domain.max_steps) == (10, 1_000)
        assert config.domain.instance_seed == instance_seed_of(config.seed)
    assert {str(config.learner): config.settings for config in configs} == {
        "deepsynth": DeepSynthConfig(600, first_call=50_000),
        "jirp": JirpConfig(600, solver="glucose4", period=20),
        "lrm": LrmConfig(600, first_episodes=1_000, steps=100, tabu=10_000),
    }
    assert FlatConfig().learner_seconds == 2 * 60 * 60
