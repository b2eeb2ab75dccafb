"""Results are shared between studies, runs are carried out seed by seed, and some can be chosen by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.studies.execution import RESULT, Workplace, unfinished, units
from rewardmachines.studies.plan import PlannedRun, chosen_runs, planned_runs
from rewardmachines.studies.results import line_of, read_results, result_files, write_results
from rewardmachines.studies.store import Store
from rewardmachines.studies.study import RunKind, load_study, read_study
from studies.made_up import made_up

TWO = """
[[runs]]
name = "flat"
command = "learn"
settings = ["op"]
tasks = ["bucket", "cake"]
each_task = true
seeds = 3
set = ["callables=none"]

[[runs]]
name = "all"
command = "learn"
settings = ["op", "wod"]
seeds = 3
"""


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "results", tmp_path / "runs")


def runs_of(name: str) -> tuple[PlannedRun, ...]:
    return planned_runs(load_study(name))


# -- never run twice, not even in two studies


def test_a_study_has_the_results_of_equal_runs_that_another_study_has_kept(store: Store) -> None:
    default, op = runs_of("paper/default"), runs_of("paper/op")
    write_results(store.file("paper/default"), [made_up(run) for run in default])
    known = store.keep(op)
    assert list(known) == [run.key for run in op if run.block.name == "default"]
    assert {run.block.name for run in unfinished(op, store.workplace, tuple(known))} == {"restricted"}
    assert not store.file("paper/op").exists(), "a result is kept once"

    write_results(store.file("paper/op"), [made_up(op[0], end="Our own comes first.")])
    assert store.known(op)[op[0].key].end == "Our own comes first."
    assert store.known(default)[op[0].key].end == "It was made up."


def test_what_has_ended_here_is_kept_beside_what_was_kept_before(store: Store) -> None:
    op = runs_of("paper/op")
    other = made_up(runs_of("smoke")[0])
    write_results(store.file("paper/op"), [other])
    folder = store.workplace.folder(op[3])
    folder.mkdir(parents=True)
    (folder / RESULT).write_text(line_of(made_up(op[3])))
    assert list(store.keep(op)) == [op[3].key]
    assert set(read_results(store.file("paper/op"))) == {other.key, op[3].key}


def test_files_of_other_programs_are_nobodys_business_and_damaged_ones_are_named(store: Store) -> None:
    write_results(store.file("paper/default"), [made_up(runs_of("paper/default")[0])])
    foreign = store.results / "claim" / "other.jsonl"
    foreign.parent.mkdir()
    foreign.write_text('{"a": 1}\n')
    assert result_files(store.results) == [store.file("paper/default")]
    with store.file("paper/default").open("a") as file:
        file.write('{"format": 1, "ke\n')
    before = store.file("paper/default").read_text()
    with pytest.raises(RewardMachineError, match=r"default\.jsonl, line 2: damaged, this is not JSON"):
        store.keep(runs_of("paper/op"))
    assert store.file("paper/default").read_text() == before


# -- in which order


def test_runs_are_carried_out_seed_by_seed_and_begun_ones_first(tmp_path: Path) -> None:
    runs = planned_runs(read_study(TWO, "two", "two.toml"))
    workplace = Workplace(tmp_path)
    assert [run.seed for run in unfinished(runs, workplace, ())] == [0] * 4 + [1] * 4 + [2] * 4
    (begun,) = [run for run in runs if run.block.name == "all" and run.setting == "wod" and run.seed == 2]
    workplace.folder(begun).mkdir()
    (workplace.folder(begun) / "config.json").touch()
    todo = unfinished(runs, workplace, [runs[0].key])
    assert todo[0] is begun
    assert [run.seed for run in todo[1:]] == [0] * 3 + [1] * 4 + [2] * 3
    assert [[run.seed for run in unit] for unit in units(todo, together=False)] == [[run.seed] for run in todo]

    on_gpu = units(todo, together=True)
    assert sorted(len(unit) for unit in on_gpu) == [2, 3, 3, 3], "runs that differ in their seeds only are one unit"
    assert begun in on_gpu[0]
    for unit in on_gpu:
        assert len({(run.block.name, run.setting, run.tasks) for run in unit}) == 1


def test_each_task_can_be_learned_alone() -> None:
    runs = [run for run in planned_runs(read_study(TWO, "two", "two.toml")) if run.block.name == "flat"]
    assert [(run.tasks, run.seed) for run in runs] == [((task,), s) for task in ("bucket", "cake") for s in range(3)]
    assert runs[0].title == "flat: op bucket, lhrm, seed 0"
    with pytest.raises(RewardMachineError, match="say which tasks"):
        planned_runs(read_study(TWO.replace('tasks = ["bucket", "cake"]\n', ""), "two", "two.toml"))


# -- which


@pytest.mark.parametrize(
    ("names", "blocks", "count"),
    [
        ((), {"nested", "flat op", "flat wod", "baselines op", "baselines wod"}, 150),
        (("baselines op",), {"baselines op"}, 60),
        (("wod",), {"nested", "flat wod", "baselines wod"}, 65),
        (("jirp", "lrm"), {"baselines op", "baselines wod"}, 70),
        (("jirp", "op"), {"baselines op"}, 20),
        (("Cake", "flat op"), {"flat op"}, 5),
    ],
)
def test_runs_are_chosen_by_block_setting_task_or_method(names: tuple[str, ...], blocks: set[str], count: int) -> None:
    chosen = chosen_runs(runs_of("paper/flat"), names)
    assert {run.block.name for run in chosen} == blocks
    assert len(chosen) == count


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("baseline op",), "--only baseline op: .* of that name; did you mean 'baselines op'?"),
        (("frl",), r"--only frl: the study has no runs, setting, task or algorithm of that name"),
        (("cake", "wod"), "no run of the study is all of cake, wod"),
    ],
)
def test_wrong_names_are_refused(names: tuple[str, ...], message: str) -> None:
    with pytest.raises(RewardMachineError, match=message):
        chosen_runs(runs_of("paper/flat"), names)


def test_the_flat_study_learns_hierarchies_of_the_default_study() -> None:
    default = {run.key for run in runs_of("paper/default")}
    nested = [run.key for run in runs_of("paper/flat") if run.block.name == "nested"]
    assert len(nested) == 10
    assert set(nested) <= default
    assert all(run.command is not RunKind.TRAIN for run in runs_of("paper/flat"))
