"""A small study of every kind of run, from the command line: begun, stopped, gone on with, shown, never run twice."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import jax
import pytest

import rewardmachines as rm
from cli.commands import Hrm
from envs.corridor import CORRIDOR
from envs.test_third_domain import TINY
from rewardmachines.envs import registry
from rewardmachines.experiments import execution
from rewardmachines.experiments.execution import RESULT, Workplace, units
from rewardmachines.experiments.plan import planned_runs
from rewardmachines.experiments.results import read_results
from rewardmachines.experiments.study import load_study

SIZES = [f"{name}={value}" for name, value in TINY.items()]
CALLS = ("call_network", "call_replay_size", "call_replay_start")
STUDY = f"""
title = "Tiny"
claims = ["hierarchy-first", "restricted-time", "flat-infeasible"]

[[runs]]
name = "learned"
command = "learn"
settings = ["short"]
tasks = ["leave", "ring"]
preset = "table"
seeds = 2
instances = 2
max_steps = 30
steps = 2400
set = {json.dumps([*SIZES, "first_goals=2", "goals=2", "examples=1"])}

[[runs]]
name = "trained"
command = "train"
settings = ["short"]
tasks = ["leave"]
algorithms = ["hrl"]
seeds = 2
instances = 2
max_steps = 30
steps = 600
set = {json.dumps(SIZES)}

[[runs]]
name = "crm"
command = "train"
settings = ["short"]
tasks = ["leave"]
algorithms = ["crm"]
seeds = 1
instances = 2
max_steps = 30
steps = 600
set = {json.dumps([size for size in SIZES if not size.startswith(CALLS)])}

[[runs]]
name = "flat"
command = "flat"
settings = ["short"]
tasks = ["leave"]
methods = ["jirp"]
seeds = 1
instances = 2
max_steps = 30
episodes = 200

[[tables]]
kind = "lhrm"
title = "LHRM"
blocks = ["learned"]

[[tables]]
kind = "reach"
title = "Reach"
blocks = ["trained", "crm"]

[[tables]]
kind = "flat"
title = "Flat"
blocks = ["flat"]

[[figures]]
kind = "tasks"
title = "Learning curves"
blocks = ["learned"]

[[figures]]
kind = "algorithms"
title = "Policies"
blocks = ["trained", "crm"]
"""


@pytest.fixture
def hrm(capsys: pytest.CaptureFixture[str]) -> Hrm:
    return Hrm(capsys)


@pytest.fixture(scope="module", autouse=True)
def _corridor() -> Iterator[None]:
    rm.register_domain(CORRIDOR)
    yield
    registry.unregister_domain("corridor")


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "tiny.toml"
    path.write_text(STUDY)
    return path


def test_a_study_is_carried_out_shown_and_never_run_twice(
    hrm: Hrm, study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = planned_runs(load_study(str(study)))
    assert [len(unit) for unit in units(runs)] == [1] * 5
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    assert [len(unit) for unit in units(runs)] == [2, 1, 1, 1]
    Path("results/claim").mkdir(parents=True)
    Path("results/claim/other.jsonl").write_text('{"a": 1}\n')  # of a benchmark, and nobody's business here
    assert hrm("study", "status", study) == 1
    assert "5 missing" in hrm.err
    assert hrm("study", "show", study) == 1
    assert "there are no results yet" in hrm.err

    assert hrm("study", "run", study) == 0
    assert hrm("study", "status", study) == 0
    assert "done" in hrm.err
    results = read_results(Path("results/tiny.jsonl"))
    assert set(results) == {run.key for run in runs}
    learned = [result for result in results.values() if result.command == "learn"]
    assert [result.seed for result in learned] == [0, 1]
    assert all(result.made.commit and result.made.device for result in learned)
    assert {result.made.command for result in results.values()} == {"hrm study run tiny"}
    assert {task.task for task in learned[0].tasks} == {"leave", "ring"}
    (flat,) = [result for result in results.values() if result.command == "flat"]
    assert flat.what == "jirp"
    assert len(next(r for r in results.values() if r.what == "hrl").curves) == 2
    page = Path("results/tiny/README.md").read_text()
    for words in ("### LHRM: Corridor SHORT", "### Reach", "### Flat", "The claims of the paper", "Made on"):
        assert words in page
    for figure in ("learning-curves-episodes", "learning-curves-steps", "policies-episodes", "policies-steps"):
        assert Path(f"results/tiny/{figure}.png").stat().st_size > 5000
        assert f"({figure}.png)" in page

    monkeypatch.setattr(execution, "_ROWS", {})  # nothing can be run any more
    assert hrm("study", "run", study) == 0
    assert "all 5 runs are done" in hrm.err


def test_a_study_that_is_stopped_goes_on(hrm: Hrm, study: Path) -> None:
    begin, end = STUDY.index('[[runs]]\nname = "flat"'), STUDY.index('[[tables]]\nkind = "lhrm"')
    study.write_text(STUDY[begin:end])
    (run,) = planned_runs(load_study(str(study)))
    folder = Path("runs/studies") / run.key
    assert hrm("study", "run", study, "--budget", "0.001s") == 1
    assert "time is up; it goes on next time" in hrm.err
    assert ((folder / "config.json").exists(), (folder / RESULT).exists()) == (True, False)
    assert hrm("study", "status", study) == 1
    assert "1 begun" in hrm.err
    assert hrm("study", "run", study) == 0
    assert set(read_results(Path("results/tiny.jsonl"))) == {run.key}


def test_a_run_that_ends_before_those_beside_it_has_its_result_at_once(
    study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unit = planned_runs(load_study(str(study)))[:2]
    workplace = Workplace(Path("runs"))
    for run in unit:
        workplace.folder(run).mkdir(parents=True)

    def rows_of_many(*_: object, **__: object) -> Iterator[tuple[int, None]]:
        yield from ((number, None) for number in (0, 1, 0, 1, 1, 1, 1))

    def summed_up() -> list[bool]:
        return [(workplace.folder(run) / RESULT).exists() for run in unit]

    seen: list[list[bool]] = []

    def is_time_up() -> bool:
        seen.append(summed_up())
        return len(seen) == 6

    monkeypatch.setattr(execution, "learning_rows_of_many", rows_of_many)
    monkeypatch.setattr(execution, "summary", lambda run, _: run.seed)
    monkeypatch.setattr(execution, "line_of", str)
    monkeypatch.setattr(execution, "read_result", lambda path: path.read_text())
    ended: list[object] = [*execution.carry_out(unit, workplace, is_time_up)]
    assert seen == [[False, False]] * 5 + [[True, False]]
    assert ended == ["0", None]


def test_mistakes_are_one_line_each(hrm: Hrm, study: Path) -> None:
    Path("results").mkdir()
    Path("results/tiny.jsonl").write_text('{"format": 99}\n')
    for words, message in (
        (("study", "run", study), "a result of another version (format 99)"),
        (("study", "run"), "say which study to run: "),
        (("study", "run", "smok"), "there is no study 'smok'; did you mean 'smoke'"),
        (("study", "run", "smoke", "--budget", "5000"), "a study is limited by time, such as 10m or 2h"),
        (("study", "walk"), "is one of list, run, show, status, not 'walk'"),
        (("study", "run", "smoke", "--jobs", "0"), "at least one job is needed"),
    ):
        assert hrm(*words) == 2
        assert message in hrm.err
        assert len(hrm.err.strip().splitlines()) == 1
