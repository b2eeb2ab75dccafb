"""A report says what was counted, beside what the paper says, of whatever run it is given."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import numpy as np
import pytest
from PIL import Image

from rewardmachines.core.errors import RewardMachineError, TooLargeError
from rewardmachines.core.hierarchy import Hierarchy, hierarchy
from rewardmachines.core.machine import machine
from rewardmachines.core.traversal import HierarchyState, Verdict
from rewardmachines.envs.scenario import Scenario, scenario
from rewardmachines.lhrm.chunk_metrics import Row
from rewardmachines.lhrm.config import Callables, Exploration, LhrmConfig
from rewardmachines.lhrm.examples import Examples
from rewardmachines.lhrm.induction import Learning
from rewardmachines.lhrm.machine_pool import TaskSpec
from rewardmachines.lhrm.presets import lhrm_preset
from rewardmachines.lhrm.setbacks import Cause, Event, Setback
from rewardmachines.library import task
from rewardmachines.library.published import PublishedTable, published_totals
from rewardmachines.reports import differences as comparing
from rewardmachines.reports import write_report
from rewardmachines.reports.curve_data import curve_data, moving_mean
from rewardmachines.reports.differences import differences
from rewardmachines.reports.hardest_task import HardestFilm, hardest_task, write_film
from rewardmachines.reports.results_table import Size, other_rules, result_table, root_size, table_csv
from rewardmachines.reports.summary import nearest_preset, summarize
from rewardmachines.runs.budget import Budget
from rewardmachines.traces import Outcome, Trace

if TYPE_CHECKING:
    from rewardmachines.lhrm.run import LearnRun
    from rewardmachines.reports.run_view import RunView

    def a_run_on_disk_can_be_reported(run: LearnRun) -> RunView:
        return run


# -- a run that never was


@dataclass
class TaskWorlds:
    tasks: tuple[TaskSpec, ...]
    scenario: Scenario
    trees: Mapping[str, Hierarchy]

    def tree(self, name: str) -> Hierarchy:
        return self.trees[name]


@dataclass
class FakeRun:
    spec: Any
    worlds: Any
    told: Sequence[Row] = ()
    learned: Mapping[str, Hierarchy] = field(default_factory=dict)
    traces: Mapping[str, tuple[Trace, ...]] = field(default_factory=dict)
    how: Mapping[str, Learning] = field(default_factory=dict)
    firsts: Mapping[str, int] = field(default_factory=dict)
    lacking: Mapping[str, str] = field(default_factory=dict)
    order: Any = field(default_factory=lambda: SimpleNamespace(stop_at=0.95, budget=Budget()))
    goal_in: frozenset[int] = frozenset()
    """Instances in which the policy succeeds."""

    def rows(self) -> Sequence[Row]:
        return self.told

    def moments(self) -> list[Any]:
        chunks = [one.chunk for one in self.told]
        return [SimpleNamespace(steps=1000 * n, seconds=0.05 * n, learner_seconds=0.002 * n) for n in chunks]

    def hierarchies(self) -> Mapping[str, Hierarchy]:
        return self.learned

    def examples(self) -> Mapping[str, tuple[Trace, ...]]:
        return self.traces

    def learnings(self) -> dict[str, Learning]:
        nothing = Learning(Examples(25))
        return {one.name: self.how.get(one.name, nothing) for one in self.worlds.tasks}

    def first(self) -> Mapping[str, int]:
        return self.firsts

    def missing(self) -> Mapping[str, str]:
        return self.lacking

    @property
    def in_domain(self) -> FakeRun:
        return self

    def policy(self, name: str) -> Any:
        return Policy(name, self.learned[name].rooted(name))

    def environment(self, name: str, instance: int) -> Any:
        return Episode(self.worlds.scenario, 3, "accept" if instance in self.goal_in else "neither")


@dataclass
class Policy:
    """Does nothing in particular."""

    task: str
    tree: Hierarchy
    verdict: Verdict = Verdict.NEITHER
    options: tuple[str, ...] = ("call bucket", "iron")

    def reset(self, label: Any = ()) -> None: ...

    def act(self, observation: Any, label: Any) -> int:
        return 0

    @property
    def hierarchy(self) -> Hierarchy:
        return self.tree

    @property
    def state(self) -> HierarchyState:
        return HierarchyState(self.task, "u0")


@dataclass
class Episode:
    """Ends after some steps, in a place where nothing moves."""

    scenario: Scenario
    length: int
    end: str
    steps: int = 0

    @property
    def episode(self) -> Any:
        return SimpleNamespace(state=self.scenario.environment.reset(self.scenario.world, 0))

    def reset(self) -> tuple[int, dict[str, Any]]:
        self.steps = 0
        return 0, {"label": frozenset()}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        self.steps += 1
        over, goal = self.steps == self.length, self.end == "accept"
        return 0, 0.0, over and goal, over and not goal, {"label": frozenset({"iron"}), "verdict": self.end}


def fake(
    domain: str = "craftworld",
    setting: str = "op",
    names: Sequence[str] = ("bucket", "paper", "milk-bucket"),
    *,
    config: LhrmConfig | None = None,
    **said: Any,
) -> FakeRun:
    chosen = scenario(domain, setting, instances=2, observation="one-hot")
    trees = {name: chosen.task(name) for name in names}
    tasks = tuple(TaskSpec(name, trees[name].height) for name in sorted(names, key=lambda n: trees[n].height))
    config = config or lhrm_preset("fast", domain, setting)
    spec = SimpleNamespace(domain=domain, setting=setting, config=config, seed=7, instances=2, fresh=0)
    return FakeRun(spec, TaskWorlds(tasks, chosen, trees), **said)


def row(
    chunk: int,
    level: int = 1,
    returns: Sequence[Sequence[float]] | None = None,
    learned: Sequence[Event] = (),
    goals: Sequence[int] = (1, 0, 0),
) -> Row:
    zeros = (0,) * len(goals)
    said = None if returns is None else tuple(map(tuple, returns))
    return Row(chunk, 1000 * chunk, 10 * chunk, level, tuple(goals), zeros, zeros, (0.0,) * len(goals), 0.0, 0.0,
               tuple(learned), said)  # fmt: skip


def event(name: str, cause: Cause = Cause.GOALS, message: str | None = None) -> Event:
    return Event(name, cause, 3, 2, 4, 10, 0, 1, message)


def word(text: str) -> tuple[frozenset[str], ...]:
    """`iron - table` is three labels, the middle one empty."""
    return tuple(frozenset() if part == "-" else frozenset(part.split("+")) for part in text.split())


def finished(**said: Any) -> FakeRun:
    """Bucket and milk-bucket have machines, paper was given up."""
    trees = {name: task("craftworld", name) for name in ("bucket", "milk-bucket")}
    how = {
        "bucket": Learning(Examples(25), calls=4, seconds=0.25, learned=2),
        "milk-bucket": Learning(Examples(150), calls=6, seconds=0.5, learned=1),
        "paper": Learning(
            Examples(25), calls=1, seconds=0.125, setback=Setback("paper: no machine was found in 1 s", ())
        ),
    }
    traces = {
        "bucket": (
            Trace(word("- iron - table"), Outcome.GOAL),
            Trace(word("- iron table"), Outcome.GOAL),
            Trace(word("- table"), Outcome.INCOMPLETE),
        ),
        "milk-bucket": (Trace(word("- iron table cow"), Outcome.GOAL),),
    }
    told = [
        row(1, learned=[event("bucket")], returns=[(0, 0), (0, 0), (0, 0)]),
        row(2, learned=[event("paper", Cause.PROBLEM, "paper: no machine was found in 1 s")]),
        row(3, 2, returns=[(1, 0.5), (0, 0), (0, 0)]),
        row(4, 1, learned=[event("bucket", Cause.COUNTEREXAMPLE)]),
        row(5, 2, returns=[(1, 1), (0, 0), (0, 0)], goals=(0, 0, 1)),
        row(6, 2, learned=[event("milk-bucket")], returns=[(1, 1), (0, 0), (1, 0.5)]),
        row(7, 3, returns=[(1, 1), (0, 0), (1, 1)]),
    ]
    made: dict[str, Any] = {"told": told, "learned": trees, "traces": traces, "how": how, "goal_in": frozenset({1})}
    made |= {"firsts": {"bucket": 10, "milk-bucket": 30}, "lacking": {"paper": "given up: no machine was found in 1 s"}}
    return fake(**(made | said))


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    page = write_report(finished(), tmp_path_factory.mktemp("report") / "deep" / "down")
    assert page.name == "index.html"
    return page.parent


def cells(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text().splitlines()))


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


def test_the_totals_of_the_paper_are_those_of_all_tasks() -> None:
    every = fake(names=list(scenario("craftworld", "op", instances=1).domain.tasks))
    *tasks, total = csv.DictReader(table_csv(result_table(every)).splitlines())
    assert len(tasks) == 13
    assert [total[f"paper_{c}"] for c in ("time_s", "time_s_se")] == ["1009.8", "122.3"]
    assert [total[f"paper_{c}"] for c in ("calls", "calls_se")] == ["189.4", "4.1"]
    assert published_totals(PublishedTable.PRIMITIVE, "craftworld", "fr") is None


@pytest.mark.parametrize(
    ("name", "dead_ends", "size"),
    [
        ("bucket", False, Size(3, 2)),
        ("bucket", True, Size(4, 4)),
        ("batter", False, Size(5, 5)),
        ("batter", True, Size(6, 9)),
    ],
)
def test_states_and_edges_are_counted_as_in_the_paper(name: str, dead_ends: bool, size: Size) -> None:
    assert root_size(task("craftworld", name, dead_ends=dead_ends)[name]) == size


def test_a_state_that_no_edge_mentions_does_not_count_and_every_disjunct_is_an_edge() -> None:
    idle = machine("m", [("u0", "uA", "a | b")], states=("u0", "uA", "uR"), rejecting=("uR",))
    assert len(idle.states) == 3
    assert root_size(idle) == Size(2, 2)


@pytest.mark.parametrize(
    ("domain", "setting", "name", "changes", "calls", "source"),
    [
        ("craftworld", "op", "milk-bucket", {}, 4.6, "default"),
        ("craftworld", "opl", "bucket", {"callables": Callables.RESTRICTED}, 7.2, "only the machines that are needed"),
        ("craftworld", "opl", "milk-bucket", {"explores_with": Exploration.ACTIONS}, 8.2, "primitive exploration"),
        ("waterworld", "wd", "rgb&cmy", {}, 31.4, "WaterWorld WD"),
        ("waterworld", "wd", "rgb&cmy", {"callables": Callables.RESTRICTED}, 20.6, "WaterWorld WD"),
        ("craftworld", "fr", "bucket", {"explores_with": Exploration.ACTIONS}, None, "no table for CraftWorld FR"),
        ("craftworld", "op", "bucket", {"first_goals": 1, "goals": 1, "examples": 1}, None, "single goal trace"),
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
    table = result_table(fake(domain, setting, [name], config=config))
    said = table.rows[0].published("calls")
    assert (None if said is None else said.value) == calls
    assert source in table.source


def test_a_flat_run_is_compared_with_flat_learning_where_the_paper_timed_out_there_is_nothing() -> None:
    config = replace(lhrm_preset("fast", "craftworld", "op"), callables=Callables.NONE)
    milk, cake = result_table(fake(names=["milk-bucket", "cake"], config=config)).rows
    assert (milk.published("time_s"), milk.published("calls")) == ((3.2, 0.6), None)
    assert milk.paper is not None
    assert cake.paper is not None
    assert (milk.paper.learned, cake.paper.learned, cake.published("time_s")) == (5, 0, None)


def test_every_event_is_listed(report: Path) -> None:
    told = cells(report / "events.csv")
    assert [(one["chunk"], one["task"], one["cause"]) for one in told] == [
        ("1", "bucket", "goals"), ("2", "paper", "problem"), ("4", "bucket", "counterexample"),
        ("6", "milk-bucket", "goals"),
    ]  # fmt: skip
    assert (told[0]["steps"], told[0]["episodes"], told[0]["examples"]) == ("1000", "10", "11")
    assert told[1]["message"] == "paper: no machine was found in 1 s"


# -- differences


def test_the_shortest_trace_that_tells_a_machine_from_the_true_one_is_shown() -> None:
    hasty = machine("bucket", [("u0", "uA", "iron")])
    propositions = task("craftworld", "bucket").propositions
    wrong = fake(names=["bucket"], learned={"bucket": hierarchy(hasty, propositions=propositions)})
    (found,) = differences(wrong).tasks
    assert (found.shown, found.learned, found.true) == ("{iron}", Verdict.ACCEPT, Verdict.NEITHER)
    right = fake(names=["bucket"], learned={"bucket": task("craftworld", "bucket")})
    assert differences(right).tasks[0].answer == "none"


def test_where_any_label_can_occur_only_those_that_did_are_compared() -> None:
    picky = machine("rg", [("u0", "u1", "red & !blue"), ("u1", "uA", "green")])
    learned = {"rg": hierarchy(picky, propositions=task("waterworld", "rg").propositions)}
    plain = {"rg": (Trace(word("- red green"), Outcome.GOAL),)}
    mixed = {"rg": (Trace(word("- red+blue green"), Outcome.GOAL),)}
    seen, unseen = (fake("waterworld", "wod", ["rg"], learned=learned, traces=t) for t in (mixed, plain))
    assert differences(unseen).tasks[0].answer == "none"
    assert differences(seen).tasks[0].shown == "{blue, red} {green}"


def test_what_is_too_large_to_be_compared_is_said_to_be(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise TooLargeError("far too entangled")

    monkeypatch.setattr(comparing, "difference", refuse)
    run = fake(names=["bucket"], learned={"bucket": task("craftworld", "bucket")})
    page = write_report(run, tmp_path).read_text()
    assert "far too entangled" in page
    assert cells(tmp_path / "difference.csv")[0]["difference"] == "unknown"


# -- the run in short


def test_a_run_is_done_when_nothing_is_missing_but_what_was_given_up() -> None:
    assert summarize(finished()).is_done
    assert not summarize(finished(lacking={"milk-bucket": "returns 0.30 on average"})).is_done
    assert not summarize(finished(order=SimpleNamespace(stop_at=0.0, budget=Budget(1)))).is_done
    late = summarize(finished(lacking={"bucket": "x"}, order=SimpleNamespace(stop_at=0.95, budget=Budget(7000))))
    assert late.why == "It ended after the 7,000 steps that it was given."


def test_the_summary_adds_up() -> None:
    said = summarize(finished())
    assert (said.steps, said.episodes, said.calls, said.machines, said.learned, said.level) == (7000, 70, 11, 2, 3, 3)
    assert said.learner_share == pytest.approx(0.04)
    assert said.returns["bucket"] == 1
    assert said.returns["milk-bucket"] == pytest.approx((0 + 0.75 + 1) / 3)


def test_fresh_instances_are_told() -> None:
    run = fake(config=lhrm_preset("fast", "craftworld", "op", fresh=True))
    run.spec.fresh = 300
    assert nearest_preset(run) == ("fast", ())
    assert summarize(run).instances == "300 fresh instances to train in and 2 that are held out"
    assert "fresh instances (paper: ten)" in other_rules(run.spec)
    assert summarize(fake()).instances == "2 instances"


def test_settings_that_differ_from_the_nearest_preset_are_named() -> None:
    fast = lhrm_preset("fast", "craftworld", "op")
    assert nearest_preset(fake(config=fast)) == ("fast", ())
    assert nearest_preset(fake(config=lhrm_preset("paper", "craftworld", "op")))[0] == "paper"
    name, changes = nearest_preset(fake(config=replace(fast, agent=replace(fast.agent, batch=77), goals=99)))
    assert name == "fast"
    assert {(c.name, c.value) for c in changes} == {("agent.batch", "77"), ("goals", "99")}


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
    write_report(fake(names=names, told=told), tmp_path)
    assert (tmp_path / "curves.png").stat().st_size > 20_000


# -- machines and films


def test_every_learned_hierarchy_is_drawn(report: Path) -> None:
    assert sorted(path.name for path in (report / "machines").iterdir()) == [
        "bucket.png", "bucket.svg", "milk-bucket.png", "milk-bucket.svg",
    ]  # fmt: skip
    drawn = (report / "machines" / "milk-bucket.svg").read_text()
    assert all(word in drawn for word in ("milk-bucket", "bucket", "iron", "table", "cow"))


def test_the_hardest_task_is_the_largest_of_the_highest_level() -> None:
    names = ("book", "map", "milk-bucket")
    run = fake(names=names, learned={name: task("craftworld", name) for name in names})
    assert hardest_task(run) == "map"
    assert hardest_task(replace(run, learned={"book": task("craftworld", "book")})) == "book"
    assert hardest_task(replace(run, how={"map": Learning(Examples(25), setback=Setback("map: no", ()))})) == "book"
    assert hardest_task(fake()) is None


def test_a_film_shows_an_instance_in_which_the_agent_succeeds(report: Path) -> None:
    with Image.open(report / "hardest.gif") as film:
        assert getattr(film, "n_frames", 1) == 4  # three steps and the end
    text = (report / "index.html").read_text()
    assert "milk-bucket in instance 1: GOAL, 3 steps." in text
    assert "did not succeed" not in text


def test_instances_that_went_well_when_last_evaluated_are_filmed_first(tmp_path: Path) -> None:
    run, tried = finished(), list[str]()
    run.told = [*run.told, row(8, 3, returns=[(1, 1), (0, 0), (0, 1)])]
    write_film(run, tmp_path, tried.append)
    assert tried == ["hardest.gif: milk-bucket, instance 1"]


def test_a_film_without_success_says_so(tmp_path: Path) -> None:
    text = write_report(finished(goal_in=frozenset()), tmp_path).read_text()
    assert "milk-bucket did not succeed within the length of a film in any of 2 instances; this is instance 0" in text
    assert (tmp_path / "hardest.gif").exists()


def test_a_machine_that_takes_the_task_for_over_ends_the_film(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def over(self: Policy, observation: Any, label: Any) -> int:
        self.verdict = Verdict.ACCEPT
        raise RewardMachineError("the task is over")

    monkeypatch.setattr(Policy, "act", over)
    film = write_film(finished(), tmp_path, lambda _: None)
    assert isinstance(film, HardestFilm)
    assert (film.succeeds, film.steps, film.end) == (False, 0, "its machine takes the task for over")


def test_without_policies_there_is_no_film_but_a_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(self: FakeRun, name: str) -> Any:
        raise RewardMachineError("there are no policies yet")

    monkeypatch.setattr(FakeRun, "policy", none)
    assert "There is no film: there are no policies yet." in write_report(finished(), tmp_path).read_text()
    assert not (tmp_path / "hardest.gif").exists()


# -- the page


class Checker(HTMLParser):
    """Every element is closed, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.links += [value for name, value in attrs if name in ("src", "href") and value]
        if tag not in ("meta", "img", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def checked(page: Path) -> Checker:
    checker = Checker()
    checker.feed(page.read_text())
    checker.close()
    assert not checker.open
    assert checker.links
    for link in checker.links:
        assert (page.parent / unquote(link)).is_file(), link
    return checker


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
    tree = hierarchy(machine(evil, [("u0", "uA", "iron")]), propositions=task("craftworld", "bucket").propositions)
    run = fake(
        names=["bucket"],
        how={evil: Learning(Examples(25), setback=Setback(f"{evil}: <script>", ()))},
        lacking={evil: "<i>"},
    )
    run.worlds = TaskWorlds((TaskSpec(evil, 1),), run.worlds.scenario, {evil: tree})
    run.learned = {evil: tree}
    run.told = [row(1, learned=[event(evil, Cause.PROBLEM, "<script>")], returns=[(1, 1)], goals=(1,))]
    page = write_report(run, tmp_path)
    found = checked(page)
    assert [harm for harm in ("<u>", "<script>", "<i>") if harm in page.read_text()] == []
    assert evil in found.text
    assert len(list((tmp_path / "machines").iterdir())) == 2


def test_a_run_that_has_hardly_begun_can_be_reported(tmp_path: Path) -> None:
    nothing = checked(write_report(fake(), tmp_path / "nothing"))
    assert "Nothing has happened yet." in nothing.text
    assert "There has been no evaluation yet." in nothing.text
    assert not list((tmp_path / "nothing").glob("*.png"))
    lacking = {"bucket": "3 evaluations say whether it is learned, and there were 0"}
    learned = {"bucket": task("craftworld", "bucket")}
    begun = fake(told=[row(1, learned=[event("bucket")])], learned=learned, lacking=lacking)
    found = checked(write_report(begun, tmp_path / "begun"))
    assert "It was stopped, or has not ended yet." in found.text
    assert ": 3 evaluations say whether it is learned, and there were 0" in found.text
    assert [one["hrm"] for one in cells(tmp_path / "begun" / "table.csv")] == ["1", "0", "0", ""]


def test_a_single_task_in_waterworld_can_be_reported(tmp_path: Path) -> None:
    learned = {"rg&bc": task("waterworld", "rg&bc", dead_ends=True)}
    traces = {"rg&bc": (Trace(word("- red black"), Outcome.DEAD_END), Trace(word("- red+blue"), Outcome.INCOMPLETE))}
    told = [row(1, 2, learned=[event("rg&bc")], returns=[(1, 1)], goals=(1,))]
    run = fake("waterworld", "wd", ["rg&bc"], learned=learned, traces=traces, told=told, goal_in=frozenset({1}))
    run.worlds = replace(run.worlds, tasks=(TaskSpec("rg&bc", 1),))
    found = checked(write_report(run, tmp_path))
    assert "machines/rg%26bc.svg" in found.links
    assert "one task" in " ".join(found.text)
    assert "rg&bc in instance 1: GOAL" in " ".join(found.text)
    (mine, _) = cells(tmp_path / "table.csv")
    assert [mine[c] for c in ("examples_deadend", "length_deadend", "paper_examples_deadend", "paper_states")] == [
        "1", "3.0", "6.2", "4.8",
    ]  # fmt: skip


def test_a_report_can_be_written_anew(report: Path, tmp_path: Path) -> None:
    write_report(fake(), tmp_path)
    told: list[str] = []
    write_report(finished(), tmp_path, progress=told.append)
    before = {path.name: path.read_bytes() for path in report.iterdir() if path.is_file()}
    assert before == {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    assert {"curves", "tables", "hardest.gif: milk-bucket, instance 0"} <= set(told)
