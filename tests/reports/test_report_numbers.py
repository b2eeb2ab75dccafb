"""The numbers of a report: sizes, differences from the true machines, and the run in short."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reports.made_up import cells, changed, finished, made_up, made_up_gym, made_up_training, row, word
from rewardmachines.core.errors import TooLargeError
from rewardmachines.core.hierarchy import hierarchy
from rewardmachines.core.machine import machine
from rewardmachines.core.traversal import Verdict
from rewardmachines.envs.scenarios import scenario
from rewardmachines.lhrm.config import Callables, Exploration
from rewardmachines.lhrm.presets import lhrm_preset
from rewardmachines.library import task
from rewardmachines.library.published import PublishedTable, published_totals
from rewardmachines.reports import differences as comparing
from rewardmachines.reports import write_report
from rewardmachines.reports.differences import differences
from rewardmachines.reports.results_table import RootSize, other_rules, result_table, root_size, table_csv
from rewardmachines.reports.summary import evaluated_in, nearest_preset, summarize, trained_in
from rewardmachines.runs.stopping import RunBudget
from rewardmachines.traces import Outcome, Trace


def test_the_totals_of_the_paper_are_those_of_all_tasks() -> None:
    every = made_up(names=list(scenario("craftworld", "op", instances=1).domain.tasks))
    *tasks, total = csv.DictReader(table_csv(result_table(every)).splitlines())
    assert len(tasks) == 13
    assert [total[f"paper_{c}"] for c in ("time_s", "time_s_se")] == ["1009.8", "122.3"]
    assert [total[f"paper_{c}"] for c in ("calls", "calls_se")] == ["189.4", "4.1"]
    assert published_totals(PublishedTable.PRIMITIVE, "craftworld", "fr") is None


@pytest.mark.parametrize(
    ("name", "dead_ends", "size"),
    [
        ("bucket", False, RootSize(3, 2)),
        ("bucket", True, RootSize(4, 4)),
        ("batter", False, RootSize(5, 5)),
        ("batter", True, RootSize(6, 9)),
    ],
)
def test_states_and_edges_are_counted_as_in_the_paper(name: str, dead_ends: bool, size: RootSize) -> None:
    assert root_size(task("craftworld", name, dead_ends=dead_ends)[name]) == size


def test_a_state_that_no_edge_mentions_does_not_count_and_every_disjunct_is_an_edge() -> None:
    idle = machine("m", [("u0", "uA", "a | b")], states=("u0", "uA", "uR"), rejecting=("uR",))
    assert len(idle.states) == 3
    assert root_size(idle) == RootSize(2, 2)


@pytest.mark.parametrize(
    ("domain", "setting", "name", "changes", "calls", "source"),
    [
        ("craftworld", "op", "milk-bucket", {}, 4.6, "default"),
        ("craftworld", "opl", "bucket", {"callables": Callables.RESTRICTED}, 7.2, "only the machines that are needed"),
        ("craftworld", "opl", "milk-bucket", {"explores_with": Exploration.ACTIONS}, 8.2, "primitive exploration"),
        ("waterworld", "wd", "rgb&cmy", {}, 31.4, "WaterWorld WD"),
        ("waterworld", "wd", "rgb&cmy", {"callables": Callables.RESTRICTED}, 20.6, "WaterWorld WD"),
        ("craftworld", "fr", "bucket", {"explores_with": Exploration.ACTIONS}, None, "no table for CraftWorld FR"),
        ("craftworld", "op", "bucket", {"goals": (1,), "examples": 1}, None, "single goal trace"),
        (
            "craftworld", "op", "bucket", {"callables": Callables.RESTRICTED, "explores_with": Exploration.ACTIONS},
            None, "restricted callables together with primitive",
        ),
    ],
)  # fmt: skip
def test_the_run_is_compared_with_the_table_of_its_ablation(
    domain: str, setting: str, name: str, changes: dict[str, Any], calls: float | None, source: str
) -> None:
    config = replace(lhrm_preset("fast", domain, setting), **changes)
    table = result_table(made_up(domain, setting, [name], settings=config))
    said = table.rows[0].published("calls")
    assert (None if said is None else said.value) == calls
    assert source in table.source


def test_a_flat_run_is_compared_with_flat_learning_where_the_paper_timed_out_there_is_nothing() -> None:
    config = replace(lhrm_preset("fast", "craftworld", "op"), callables=Callables.NONE)
    milk, cake = result_table(made_up(names=["milk-bucket", "cake"], settings=config)).rows
    assert (milk.published("time_s"), milk.published("calls")) == ((3.2, 0.6), None)
    assert milk.paper is not None
    assert cake.paper is not None
    assert (milk.paper.learned, cake.paper.learned, cake.published("time_s")) == (5, 0, None)


# -- differences


def test_the_shortest_trace_that_tells_a_machine_from_the_true_one_is_shown() -> None:
    hasty = machine("bucket", [("u0", "uA", "iron")])
    propositions = task("craftworld", "bucket").propositions
    wrong = made_up(names=["bucket"], machines={"bucket": hierarchy(hasty, propositions=propositions)})
    (found,) = differences(wrong).tasks
    assert (found.shown, found.learned, found.true) == ("{iron}", Verdict.ACCEPT, Verdict.NEITHER)
    right = made_up(names=["bucket"], machines={"bucket": task("craftworld", "bucket")})
    assert differences(right).tasks[0].answer == "none"


def test_where_any_label_can_occur_only_those_that_did_are_compared() -> None:
    picky = machine("rg", [("u0", "u1", "red & !blue"), ("u1", "uA", "green")])
    learned = {"rg": hierarchy(picky, propositions=task("waterworld", "rg").propositions)}
    plain = {"rg": (Trace(word("- red green"), Outcome.GOAL),)}
    mixed = {"rg": (Trace(word("- red+blue green"), Outcome.GOAL),)}
    seen, unseen = (made_up("waterworld", "wod", ["rg"], machines=learned, examples=t) for t in (mixed, plain))
    assert differences(unseen).tasks[0].answer == "none"
    assert differences(seen).tasks[0].shown == "{blue, red} {green}"


def test_what_is_too_large_to_be_compared_is_said_to_be(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise TooLargeError("far too entangled")

    monkeypatch.setattr(comparing, "difference", refuse)
    run = made_up(names=["bucket"], machines={"bucket": task("craftworld", "bucket")})
    page = write_report(run, tmp_path).read_text()
    assert "far too entangled" in page
    assert cells(tmp_path / "difference.csv")[0]["difference"] == "unknown"


# -- the run in short


def test_a_run_is_done_when_nothing_is_missing_but_what_was_given_up() -> None:
    assert summarize(finished()).is_done
    assert not summarize(finished(missing={"milk-bucket": "returns 0.30 on average"})).is_done
    assert not summarize(changed(finished(), stop_at=0.0, budget=RunBudget(1))).is_done
    late = summarize(changed(finished(missing={"bucket": "x"}), budget=RunBudget(7000)))
    assert late.why == "It ended after the 7,000 steps that it was given."


@pytest.mark.parametrize(
    ("returns", "is_done"), [((1, 1, 1), True), ((0, 1, 1, 1), True), ((1, 1), False), ((1, 0.8, 1), False)]
)
def test_training_is_done_when_three_evaluations_returned_enough(returns: tuple[float, ...], is_done: bool) -> None:
    rows = [row(n, returns=[(each, each)], goals=(0,)) for n, each in enumerate(returns)]
    said = summarize(made_up_training(rows))
    assert said.is_done == is_done
    assert (said.last, said.best) == (returns[-1], 1)


def test_the_summary_adds_up() -> None:
    said = summarize(finished())
    assert (said.steps, said.episodes, said.calls, said.learned, said.level) == (7000, 70, 11, 3, 3)
    assert said.machines == {"bucket", "milk-bucket"}
    assert said.learner_share == pytest.approx(0.04)
    assert said.returns["bucket"] == 1
    assert said.returns["milk-bucket"] == pytest.approx((0 + 0.75 + 1) / 3)


def test_fresh_instances_are_told() -> None:
    run = made_up(settings=lhrm_preset("fast", "craftworld", "op", fresh=True))
    assert run.config.domain is not None
    place = replace(run.config.domain, fresh=300)
    run = changed(run, domain=place)
    assert nearest_preset(run.config) == ("fast", ())
    assert trained_in(run.config) == "300 fresh instances to train in and 2 that are held out"
    assert "fresh instances (paper: ten)" in other_rules(place, run.config.settings)
    assert trained_in(made_up().config) == "2 instances"


def test_returns_are_means_of_instances_or_of_episodes() -> None:
    assert evaluated_in(made_up().config) == "2 instances"
    run = made_up_gym(["ab"])
    assert (evaluated_in(run.config), trained_in(run.config)) == ("10 episodes", "any beginnings")
    assert run.config.gym is not None
    place = replace(run.config.gym, environments=(replace(run.config.gym.environments[0], instances=3),))
    assert trained_in(replace(run.config, gym=place)) == "3 instances"


def test_settings_that_differ_from_the_nearest_preset_are_named() -> None:
    fast = lhrm_preset("fast", "craftworld", "op")
    assert nearest_preset(made_up(settings=fast).config) == ("fast", ())
    assert nearest_preset(made_up(settings=lhrm_preset("paper", "craftworld", "op")).config)[0] == "paper"
    other = replace(fast, agent=replace(fast.agent, batch=77), goals=(99,))
    name, changes = nearest_preset(made_up(settings=other).config)
    assert name == "fast"
    assert {(c.name, c.value) for c in changes} == {("agent.batch", "77"), ("goals", "[99]")}


@pytest.mark.parametrize("agent", ["hrl", "crm"])
def test_training_is_compared_with_the_presets_of_its_agent(agent: str) -> None:
    run = made_up_training(agent=agent)
    assert nearest_preset(run.config) == ("fast", ())
    (change,) = nearest_preset(replace(run.config, settings=replace(run.config.settings, batch=77)))[1]
    assert (change.name, change.value) == ("batch", "77")
