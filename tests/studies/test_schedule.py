"""Which runs come next in a limited time, and studies that consist of studies."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from cli.commands import Hrm
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.studies.execution import Schedule, Workplace, known_durations, unfinished
from rewardmachines.studies.plan import PlannedRun, planned_runs
from rewardmachines.studies.results import Made, read_results, write_results
from rewardmachines.studies.store import Store
from rewardmachines.studies.study import load_study, parts_of, read_study
from rewardmachines.studies.sweep.local import _shares
from studies.made_up import made_up

HERE = Made("", "", "here", "", "", "")


def runs_of(study: str, setting: str) -> list[PlannedRun]:
    return [run for run in planned_runs(load_study(study)) if run.setting == setting]


def test_runs_come_next_that_can_be_expected_to_end_in_the_time_that_is_left(tmp_path: Path) -> None:
    long, short, unknown = (
        runs_of("paper/default", "frl"),
        runs_of("paper/default", "op"),
        runs_of("paper/default", "wd"),
    )
    durations = {long[0].key_without_seed: 900.0, short[0].key_without_seed: 100.0}
    schedule = Schedule(Workplace(tmp_path), durations)
    waiting = [[long[1]], [short[1]], [unknown[0]]]
    assert schedule.next_unit(waiting, None) == 0
    assert schedule.next_unit(waiting, 1_000.0) == 0
    assert schedule.next_unit(waiting, 200.0) == 1
    assert schedule.next_unit(waiting, 50.0) == 2, "nothing is known of it, so it is tried"
    assert schedule.next_unit(waiting[:2], 50.0) == 0, "nothing fits: what can be saved goes on"
    assert schedule.next_unit([], 50.0) is None


def test_what_a_run_has_taken_already_counts_and_searches_that_save_nothing_wait(tmp_path: Path) -> None:
    (run, other), flat = runs_of("paper/default", "frl")[:2], runs_of("paper/flat", "op")[-1]
    schedule = Schedule(Workplace(tmp_path), {run.key_without_seed: 900.0, flat.key_without_seed: 500.0})
    folder = schedule.workplace.folder(other)
    folder.mkdir()
    (folder / "timing.jsonl").write_text(json.dumps({"steps": 1, "seconds": 850.0}) + "\n")
    assert schedule.next_unit([[run], [other]], 100.0) == 1
    assert schedule.next_unit([[run, other]], 100.0) == 0, "the last run of a unit decides, and it can be saved"
    assert schedule.next_unit([[flat]], 100.0) is None
    assert schedule.next_unit([[flat]], 600.0) == 0


def test_durations_are_means_of_equal_runs_on_the_same_device() -> None:
    runs = runs_of("paper/default", "op")
    results = {
        run.key: made_up(run, seconds=seconds, made=replace(HERE, device=device))
        for run, seconds, device in zip(runs, (10.0, 30.0, 500.0), ("here", "here", "there"), strict=False)
    }
    assert known_durations(runs, results, "here") == {runs[0].key_without_seed: 20.0}
    assert known_durations(runs, results, "elsewhere") == {}


def test_processes_share_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(10)))
    assert _shares(1) == [frozenset()]
    assert [sorted(share) for share in _shares(3)] == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
    assert [len(share) for share in _shares(20)] == [1] * 20


# -- studies of studies


def test_the_paper_is_a_study_of_all_its_studies_in_their_order(tmp_path: Path) -> None:
    paper = load_study("paper")
    runs = planned_runs(paper)
    assert [part.name for part in parts_of(paper)] == list(dict.fromkeys(run.study for run in runs))
    assert runs[: len(planned_runs(load_study("paper/default")))] == planned_runs(load_study("paper/default"))
    order = [run.study for run in unfinished(runs, Workplace(tmp_path), ())]
    assert order == sorted(order, key=paper.studies.index)


def test_results_go_to_the_files_of_the_studies_that_asked_for_them(tmp_path: Path) -> None:
    store = Store(tmp_path / "results", tmp_path / "runs")
    runs = planned_runs(load_study("paper"))
    first = {name: next(run for run in runs if run.study == name) for name in ("paper/default", "paper/figure4")}
    for run in first.values():
        store.workplace.folder(run).mkdir(parents=True)
        write_results(store.workplace.folder(run) / "result.json", [made_up(run)])
    assert set(store.keep(runs)) == {run.key for run in first.values()}
    for name, run in first.items():
        assert set(read_results(store.file(name))) == {run.key}
    assert set(store.known(runs)) == {run.key for run in first.values()}


def test_a_study_of_studies_has_nothing_else_and_no_studies_of_studies() -> None:
    with pytest.raises(RewardMachineError, match="has nothing else"):
        read_study('studies = ["smoke"]\n[[runs]]\nname = "a"\ncommand = "learn"\nsettings = ["op"]', "x", "x.toml")
    with pytest.raises(RewardMachineError, match="'paper' consists of other studies"):
        planned_runs(read_study('studies = ["paper"]', "x", "x.toml"))
    with pytest.raises(RewardMachineError, match="no study 'smok'"):
        planned_runs(read_study('studies = ["smok"]', "x", "x.toml"))


def test_a_study_of_studies_is_counted_and_not_shown(hrm: Hrm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert hrm("study", "status", "paper", "--only", "anchor") == 1
    assert "1 missing" in hrm.err
    assert hrm("study", "show", "paper") == 2
    assert "consists of studies" in hrm.err
