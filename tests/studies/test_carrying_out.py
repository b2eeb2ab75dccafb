"""A small study of every kind of run, from the command line: begun, stopped, gone on with, shown, never run twice."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import jax
import pytest

from cli.commands import Hrm
from cluster.studies import FLAT as IN_PROCESSES
from rewardmachines.reports.summary import summarize
from rewardmachines.runs import orders
from rewardmachines.runs.run import Run
from rewardmachines.studies import execution
from rewardmachines.studies.execution import RESULT, Outcome, Unit, Workplace, attempt, unfinished, units
from rewardmachines.studies.plan import planned_runs
from rewardmachines.studies.results import read_results
from rewardmachines.studies.study import load_study
from rewardmachines.studies.sweep import local
from studies.tiny import FLAT, STUDY


def counted_units(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A list that receives the number of runs of every unit that is carried out on this machine."""
    sizes: list[int] = []

    def counting(unit: Unit, root: Path, is_time_up: Callable[[], bool]) -> list[Outcome]:
        sizes.append(len(unit))
        return attempt(unit, root, is_time_up)

    monkeypatch.setattr(local, "attempt", counting)
    return sizes


def check_page(hrm: Hrm, study: Path) -> None:
    """The page of the study that has been carried out shows its tables, figures and claims."""
    assert hrm("study", "show", study, "-o", "pages/tiny.md") == 2
    assert hrm.err.splitlines()[-1].startswith("hrm: pages/tiny.md: ")
    Path("pages").mkdir()
    assert hrm("study", "show", study, "-o", "pages/tiny.md") == 0
    page = Path("pages/tiny.md").read_text()
    for words in ("## LHRM", "LHRM: Corridor SHORT", "## Reach", "## Flat", "The claims of the paper", "Made on"):
        assert words in page
    assert "All 6 runs are there." in page
    for figure in ("learning-curves-episodes", "learning-curves-steps", "policies-episodes", "policies-steps"):
        assert Path(f"results/tiny/{figure}.png").stat().st_size > 5000
        assert f"(../results/tiny/{figure}.png)" in page


def test_a_study_is_carried_out_shown_and_never_run_twice(
    hrm: Hrm, study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = planned_runs(load_study(str(study)))
    assert [len(unit) for unit in units(runs, together=False)] == [1] * 6
    assert [len(unit) for unit in units(runs, together=True)] == [2, 2, 1, 1]
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")  # so that runs that belong together are run together
    Path("results/claim").mkdir(parents=True)
    Path("results/claim/other.jsonl").write_text('{"a": 1}\n')  # of a benchmark, and nobody's business here
    assert hrm("study", "status", study) == 1
    assert "6 missing" in hrm.err
    assert hrm("study", "show", study) == 1
    assert "there are no results yet" in hrm.err

    sizes = counted_units(monkeypatch)
    assert hrm("study", "run", study) == 0
    assert sorted(sizes) == [1, 1, 2, 2]
    assert hrm("study", "status", study) == 0
    assert "done" in hrm.err
    results = read_results(Path("results/tiny.jsonl"))
    assert set(results) == {run.key for run in runs}
    learned = [result for result in results.values() if result.command == "learn"]
    assert [result.seed for result in learned] == [0, 1]
    assert all(result.made.commit for result in learned)
    assert all(re.fullmatch(r"\d+ CPU cores?", result.made.device) for result in learned)
    assert {result.made.command for result in results.values()} == {"hrm study run tiny"}
    assert {task.task for task in learned[0].tasks} == {"leave", "ring"}
    for result in learned:
        assert result.is_spent is (result.steps >= 2400)
        for task, curve in zip(result.tasks, result.curves, strict=True):
            assert bool(curve.learned_episodes) is task.has_machine
            assert len(curve.learned_episodes) == len(curve.learned_steps)
            assert all(step <= result.steps for step in curve.learned_steps)
            assert task.number("relearned_below") is not None
    assert any(task.has_machine for result in learned for task in result.tasks)
    (flat,) = [result for result in results.values() if result.command == "flat"]
    assert (flat.what, flat.is_spent, flat.is_complete, flat.end) == ("jirp", True, True, "All episodes were taken.")
    assert flat.tasks[0].numbers.keys() == {"time_s", "calls", "states", "edges"}
    trained = [result for result in results.values() if result.what == "hrl"]
    assert [result.seed for result in trained] == [0, 1], "every seed is a run"
    assert all(len(result.curves) == 1 and result.is_spent for result in trained)
    assert trained[0].curves != trained[1].curves
    check_page(hrm, study)

    monkeypatch.setattr(orders, "carry_out", None)  # nothing can be run any more
    assert hrm("study", "run", study) == 0
    assert "all 6 runs are done" in hrm.err


def test_a_study_that_is_stopped_goes_on(hrm: Hrm, study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "_GRACE", 300.0)
    study.write_text(IN_PROCESSES)
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

    monkeypatch.setattr(orders, "carry_out", rows_of_many)
    monkeypatch.setattr(execution, "summary", lambda run, _: run.seed)
    monkeypatch.setattr(execution, "line_of", str)
    monkeypatch.setattr(execution, "read_result", lambda path: path.read_text())
    ended: list[object] = [*execution.carry_out(unit, workplace, is_time_up)]
    assert seen == [[False, False]] * 5 + [[True, False]]
    assert ended == ["0", None]


def test_some_runs_of_a_study_can_be_carried_out(hrm: Hrm, study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAX_PLATFORMS", "")  # so that what the command writes there is taken back
    assert hrm("study", "run", study, "--only", "jirp", "--device", "cpu") == 0
    assert os.environ["JAX_PLATFORMS"] == "cpu", "processes that are started compute there, too"
    (result,) = read_results(Path("results/tiny.jsonl")).values()
    assert result.what == "jirp"
    assert hrm("study", "status", study, "--only", "flat") == 0
    assert hrm("study", "status", study) == 1
    assert "5 missing, 1 done" in hrm.err


def test_a_run_that_is_out_of_learner_time_says_so(hrm: Hrm, study: Path) -> None:
    learned = STUDY.split("[[runs]]")[1]
    study.write_text(f"[[runs]]{learned}".replace("seeds = 2", "seeds = 1\nlearner_seconds = 1e-6"))
    (run,) = planned_runs(load_study(str(study)))
    assert hrm("study", "run", study) == 0
    result = read_results(Path("results/tiny.jsonl"))[run.key]
    assert (result.is_complete, result.is_spent) == (False, False)
    assert "searches for machines" in result.end
    assert summarize(Run(Path("runs/studies") / run.key)).why == result.end


def test_a_run_that_two_blocks_ask_for_is_run_once(study: Path) -> None:
    study.write_text(FLAT + FLAT.replace('"flat"', '"again"', 1))
    first, second = planned_runs(load_study(str(study)))
    assert first.key == second.key
    assert [run.key for run in unfinished([first, second], Workplace(study.parent), ())] == [first.key]
