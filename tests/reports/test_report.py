"""A report says what was counted, beside what the paper says, of whatever run it is given."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from reports.made_up import (
    MadeUpRun,
    cells,
    changed,
    checked,
    event,
    finished,
    made_up,
    made_up_gym,
    made_up_training,
    row,
    word,
)  # fmt: skip
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import hierarchy
from rewardmachines.core.machine import machine
from rewardmachines.lhrm.examples import Examples
from rewardmachines.lhrm.induction import FailedSearch, TaskProgress
from rewardmachines.library import task
from rewardmachines.reports import write_report
from rewardmachines.reports.charts import moving_mean
from rewardmachines.reports.hardest_task import hardest_task, record_film
from rewardmachines.reports.learning_curves import curve_data
from rewardmachines.rollout.rows import Trigger
from rewardmachines.runs.diagnosis import Diagnosis, Finding
from rewardmachines.traces import Outcome, Trace


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    page = write_report(finished(), tmp_path_factory.mktemp("report") / "deep" / "down")
    assert page.name == "index.html"
    return page.parent


# -- numbers


def test_the_table_holds_what_was_counted_beside_what_the_paper_says(report: Path) -> None:
    bucket, paper, milk, total = cells(report / "table.csv")
    ours = [bucket[c] for c in ("task", "level", "goal", "hrm", "time_s", "calls", "states", "edges")]
    assert ours == ["bucket", "1", "1", "1", "0.25", "4", "3", "2"]
    assert [bucket[c] for c in ("first_hrm_episodes", "examples_goal", "examples_deadend", "examples_incomplete")] == [
        "10", "2", "0", "1",
    ]  # fmt: skip
    assert [bucket[c] for c in ("length_goal", "length_deadend", "length_incomplete")] == ["3.5", "", "2.0"]
    assert [paper[c] for c in ("goal", "hrm", "time_s", "states", "first_hrm_episodes", "examples_goal")] == [
        "0", "0", "0.125", "", "", "",
    ]  # fmt: skip
    said = ("goal_runs", "hrm_runs", "time_s", "time_s_se", "calls", "states", "edges", "first_hrm_episodes",
            "first_hrm_episodes_se", "examples_incomplete", "examples_deadend", "length_incomplete_se")  # fmt: skip
    assert [milk[f"paper_{c}"] for c in said] == [
        "5", "5", "1.5", "0.2", "4.6", "3.0", "2.0", "680.0", "50.0", "2.6", "", "4.3",
    ]  # fmt: skip
    assert [total[c] for c in ("task", "time_s", "calls", "paper_time_s", "states")] == ["total", "0.875", "11", "", ""]


def test_every_event_is_listed(report: Path) -> None:
    told = cells(report / "events.csv")
    assert [(one["chunk"], one["task"], one["cause"]) for one in told] == [
        ("1", "bucket", "goals"), ("2", "paper", "problem"), ("4", "bucket", "counterexample"),
        ("6", "milk-bucket", "goals"),
    ]  # fmt: skip
    assert (told[0]["steps"], told[0]["episodes"], told[0]["examples"]) == ("1000", "10", "11")
    assert told[1]["message"] == "paper: no machine was found in 1 s"


# -- curves


def test_a_curve_is_drawn_while_its_level_is_active_with_the_moments_of_learning() -> None:
    bucket, paper, milk = curve_data(finished()).tasks
    assert (bucket.first, bucket.later, bucket.given_up, bucket.idle) == (1000, (4000,), None, ())
    assert bucket.returns.tolist() == [0, 0.75, 1, 1, 1]
    assert (paper.machines, paper.given_up) == (0, 2000)
    assert np.isnan(paper.returns).tolist() == [False, True, True, True, True]
    assert list(milk.idle) == [(0, 3000), (4000, 5000)]
    assert np.isnan(milk.returns).tolist() == [True, False, False, False, False]
    assert curve_data(finished()).levels == ((2, 3000),)


def test_a_moving_mean_looks_back_and_over_gaps() -> None:
    values = np.array([0.0, 1.0, np.nan, 1.0, 0.0])
    assert moving_mean(values, 2).tolist()[:2] == [0, 0.5]
    assert np.isnan(moving_mean(values, 2)[2])
    assert moving_mean(values, 2).tolist()[3:] == [1, 0.5]
    assert moving_mean(np.ones(3), 20).tolist() == [1, 1, 1]


@pytest.mark.parametrize("name", ["curves", "overview"])
def test_curves_are_drawn(report: Path, name: str) -> None:
    with Image.open(report / f"{name}.png") as picture:
        colours = picture.convert("RGB").getcolors(1 << 24)
        assert min(picture.size) > 400
    assert colours is not None
    assert {(24, 100, 171), (217, 72, 15)} <= {colour for _, colour in colours}  # those of levels 1 and 2
    assert "</svg>" in (report / f"{name}.svg").read_text()


def test_a_run_of_many_evaluations_and_tasks_is_drawn_too(tmp_path: Path) -> None:
    names = ["bucket", "paper", "leather", "sugar"]  # no panel is free for the legend
    told = [row(n, returns=[(n % 2, 0)] * 4, goals=(0,) * 4) for n in range(1, 140)]
    write_report(made_up(names=names, rows=told), tmp_path)
    assert (tmp_path / "curves.png").stat().st_size > 20_000


# -- machines and films


def test_every_learned_hierarchy_is_drawn(report: Path) -> None:
    assert {path.name for path in (report / "machines").iterdir()} == {"bucket.svg", "milk-bucket.svg"}
    drawn = (report / "machines" / "milk-bucket.svg").read_text()
    assert all(word in drawn for word in ("milk-bucket", "bucket", "iron", "table", "cow"))


def test_the_hardest_task_is_the_largest_of_the_highest_level() -> None:
    names = ("book", "map", "milk-bucket")
    run = made_up(names=names, machines={name: task("craftworld", name) for name in names})
    failed = TaskProgress(Examples(25), failure=FailedSearch("map: no", ()))
    assert hardest_task(run) == "map"
    assert hardest_task(replace(run, machines={"book": task("craftworld", "book")})) == "book"
    assert hardest_task(replace(run, progress={**run.progress, "map": failed})) == "book"
    assert hardest_task(made_up()) is None
    assert hardest_task(made_up_training()) == "milk-bucket"


def test_a_film_shows_an_instance_in_which_the_agent_succeeds(report: Path) -> None:
    with Image.open(report / "hardest.gif") as film:
        assert getattr(film, "n_frames", 1) == 4  # three steps and the end
    text = (report / "index.html").read_text()
    assert "milk-bucket in instance 1: GOAL, 3 steps." in text
    assert "did not succeed" not in text


def test_instances_that_went_well_when_last_evaluated_are_filmed_first() -> None:
    run, tried = finished(), list[str]()
    run.rows = [*run.rows, row(8, 3, returns=[(1, 1), (0, 0), (0, 1)])]
    record_film(run, tried.append)
    assert tried == ["hardest.gif: milk-bucket, instance 1"]


def test_a_film_without_success_says_so(tmp_path: Path) -> None:
    text = write_report(finished(goal_in=frozenset()), tmp_path).read_text()
    assert "milk-bucket did not succeed within the length of a film in any of 2 instances; this is instance 0" in text
    assert (tmp_path / "hardest.gif").exists()


def test_without_policies_there_is_no_film_but_a_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(self: MadeUpRun, task: str, **_: Any) -> Any:
        raise RewardMachineError("there are no policies yet")

    monkeypatch.setattr(MadeUpRun, "record_film", none)
    assert "There is no film: there are no policies yet." in write_report(finished(), tmp_path).read_text()
    assert not (tmp_path / "hardest.gif").exists()


# -- the page


def test_the_page_is_well_formed_and_every_link_leads_to_a_file_of_the_report(report: Path) -> None:
    found = checked(report / "index.html")
    pictures = {"hardest.gif", "hardest.html", "curves.svg", "overview.svg", "curves.png", "machines/milk-bucket.svg"}
    assert pictures | {"table.csv", "difference.csv", "events.csv"} <= set(found.links)
    text = " ".join(found.text)
    assert "CraftWorld OP" in text
    assert "given up: no machine was found in 1 s" in text
    assert "4.6 (0.4)" in text
    assert not [path for path in report.rglob("*") if path.name.startswith(".")], "nothing is left aside"


def test_names_do_no_harm(tmp_path: Path) -> None:
    evil = '<u>&"$x^/$y'
    tree = hierarchy(machine(evil, [("u0", "uA", "left")]), propositions=["left", "right"])
    failed = TaskProgress(Examples(25), failure=FailedSearch(f"{evil}: <script>", ()))
    told = [row(1, learned=[event(evil, Trigger.PROBLEM, "<script>")], returns=[(1,)], goals=(1,))]
    run = made_up_gym([evil], machines={evil: tree}, progress={evil: failed}, missing={evil: "<i>"}, rows=told)
    page = write_report(run, tmp_path)
    found = checked(page)
    assert [harm for harm in ("<u>", "<script>", "<i>") if harm in page.read_text()] == []
    assert evil in found.text
    assert len(list((tmp_path / "machines").iterdir())) == 1


def test_a_run_that_has_hardly_begun_can_be_reported(tmp_path: Path) -> None:
    nothing = checked(write_report(made_up(), tmp_path / "nothing"))
    assert "Nothing has happened yet." in nothing.text
    assert "There has been no evaluation yet." in nothing.text
    assert not list((tmp_path / "nothing").glob("*.png"))
    missing = {"bucket": "3 evaluations say whether it is learned, and there were 0"}
    learned = {"bucket": task("craftworld", "bucket")}
    begun = made_up(rows=[row(1, learned=[event("bucket")])], machines=learned, missing=missing)
    found = checked(write_report(begun, tmp_path / "begun"))
    assert "It was stopped, or has not ended yet." in found.text
    assert ": 3 evaluations say whether it is learned, and there were 0" in found.text
    assert [one["hrm"] for one in cells(tmp_path / "begun" / "table.csv")] == ["1", "0", "0", ""]


def test_a_single_task_in_waterworld_can_be_reported(tmp_path: Path) -> None:
    learned = {"rg&bc": task("waterworld", "rg&bc", dead_ends=True)}
    traces = {"rg&bc": (Trace(word("- red black"), Outcome.DEAD_END), Trace(word("- red+blue"), Outcome.INCOMPLETE))}
    told = [row(1, 2, learned=[event("rg&bc")], returns=[(1, 1)], goals=(1,))]
    run = made_up("waterworld", "wd", ["rg&bc"], machines=learned, examples=traces, rows=told, goal_in=frozenset({1}))
    found = checked(write_report(run, tmp_path))
    assert "machines/rg%26bc.svg" in found.links
    assert "one task" in " ".join(found.text)
    assert "rg&bc in instance 1: GOAL" in " ".join(found.text)
    (mine, _) = cells(tmp_path / "table.csv")
    assert [mine[c] for c in ("examples_deadend", "length_deadend", "paper_examples_deadend", "paper_states")] == [
        "1", "3.0", "6.2", "4.8",
    ]  # fmt: skip


def test_a_report_can_be_written_anew(report: Path, tmp_path: Path) -> None:
    write_report(made_up(), tmp_path)
    told: list[str] = []
    write_report(finished(), tmp_path, progress=told.append)
    before = {path.name: path.read_bytes() for path in report.iterdir() if path.is_file()}
    assert before == {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    assert {"curves", "tables", "hardest.gif: milk-bucket, instance 0"} <= set(told)


# -- training


def test_a_run_of_training_has_its_curve_its_hierarchy_and_its_evaluations(tmp_path: Path) -> None:
    told = [row(n, returns=[(n % 2, 1)] if n % 2 else None, goals=(1,)) for n in range(1, 100)]
    found = checked(write_report(made_up_training(told), tmp_path))
    assert {path.name for path in tmp_path.iterdir()} == {
        "index.html", "evaluations.csv", "curve.svg", "curve.png", "hierarchy.svg",
    }  # fmt: skip
    text = " ".join(found.text)
    assert "milk-bucket in CraftWorld OP" in text
    assert "it calls bucket" in text
    assert "The last 40 of 50" in text
    assert "done" in found.text
    lines = cells(tmp_path / "evaluations.csv")
    assert len(lines) == 50
    assert list(lines[1].values()) == ["7", "3000", "30", "1.000", "12.0", "50", "0.50"]
    assert "settings.replay_size" in found.text


def test_training_that_has_hardly_begun_or_had_nothing_to_learn_can_be_reported(tmp_path: Path) -> None:
    found = checked(write_report(made_up_training(), tmp_path / "begun"))
    assert "There has been no evaluation yet." in found.text
    assert "Nothing has happened yet." in found.text
    whole = checked(write_report(made_up_training(is_zero_shot=True), tmp_path / "whole"))
    assert "There was nothing to learn: it is all in the bank." in whole.text


def test_a_diagnosis_is_told_of_both_kinds_of_runs(tmp_path: Path) -> None:
    said = Diagnosis((Finding("'<left>' was never observed", "look at the labels"),))
    told = [row(1, returns=[(0, 0)], goals=(0,))]
    for name, run in (
        ("train", made_up_training(told, diagnosis=said)),
        ("learn", made_up(names=["bucket"], rows=told, diagnosis=said, missing={"bucket": "no goal trace"})),
    ):
        found = checked(write_report(run, tmp_path / name))
        assert "Why it is not learned" in found.text
        text = found.text
        assert text[text.index("'<left>' was never observed") + 1] == ": look at the labels"
    learned = made_up(names=["bucket"], rows=told, diagnosis=said)  # it was written before the task was learned
    assert "Why it is not learned" not in checked(write_report(learned, tmp_path / "learned")).text


def test_a_run_that_was_asked_for_no_return_ends_and_is_not_done(tmp_path: Path) -> None:
    run = changed(made_up_training([row(9, returns=[(0, 0)], goals=(0,))]), stop_at=0.0)
    assert "ended" in checked(write_report(run, tmp_path / "one")).text
    assert "not done" in checked(write_report(changed(run, stop_at=0.9), tmp_path / "other")).text
