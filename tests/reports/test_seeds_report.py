"""The report of several seeds: means with bands, tables by seed, and nothing mixed that differs in more."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import pytest

from reports.made_up import MadeUpRun, changed, checked, finished, made_up, made_up_training, row
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.reports.page_parts import PAGE
from rewardmachines.reports.seeds_report import check_alike, seed_results, write_seeds_report


def seed_run(seed: int, folder: Path, run: MadeUpRun | None = None) -> MadeUpRun:
    return changed(replace(run or finished(), folder=folder / f"mine-{seed}"), seed=seed)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("seeds")
    first = folder / "mine-0" / "report"
    first.mkdir(parents=True)
    (first / PAGE).write_text("a report")
    unlearned = made_up(rows=finished().rows, missing={"bucket": "no machine yet"})
    return write_seeds_report([seed_run(3, folder, unlearned), seed_run(0, folder)], folder / "mine-report")


def test_every_seed_has_a_column_and_a_line(page: Path) -> None:
    found = checked(page)
    text = [part for part in found.text if part.strip()]
    assert "3 tasks in CraftWorld OP: 2 seeds" in text
    assert text.index("seed 0") < text.index("seed 3"), "seeds come in their order"
    assert {"curves.svg", "overview.svg", "seeds.csv"} <= set(found.links)
    assert text.count("right") == 2
    assert text.count("no machine") == 4
    assert "1 of 2" in text


def test_reports_of_single_runs_are_linked_where_there_are_any(page: Path) -> None:
    assert "../mine-0/report/index.html" in checked(page).links
    assert "mine-3" in checked(page).text


def test_all_numbers_are_in_a_file(page: Path) -> None:
    rows = list(csv.DictReader((page.parent / "seeds.csv").read_text().splitlines()))
    assert len(rows) == 6
    assert [row["machine"] for row in rows] == ["1", "0", "0", "0", "1", "0"]
    assert rows[0] | {"seconds": ""} == {
        "task": "bucket", "seed": "0", "return": "1.0", "machine": "1", "difference": "none", "steps": "7000",
        "episodes": "70", "seconds": "",
    }  # fmt: skip


def test_what_was_never_evaluated_counts_as_nothing(tmp_path: Path) -> None:
    (result,) = seed_results([seed_run(0, tmp_path, made_up())])
    assert result.summary.mean_return is None
    page = write_seeds_report([seed_run(0, tmp_path, made_up()), seed_run(1, tmp_path, made_up())], tmp_path / "report")
    assert "there is nothing to plot yet" in page.read_text()


def test_runs_that_differ_in_more_than_their_seeds_are_not_mixed(tmp_path: Path) -> None:
    one, other = seed_run(0, tmp_path), seed_run(1, tmp_path)
    check_alike([one, other])
    other = changed(other, settings=replace(other.config.settings, goals=(25, 99)))
    with pytest.raises(RewardMachineError, match=r"differ in more than their seeds, such as settings\.goals"):
        check_alike([one, other])
    with pytest.raises(RewardMachineError, match="the same run is named twice"):
        check_alike([one, one])
    with pytest.raises(RewardMachineError, match="say which runs"):
        check_alike([])


def test_names_do_no_harm(tmp_path: Path) -> None:
    runs = [seed_run(seed, tmp_path / "<b>") for seed in (0, 1)]
    page = write_seeds_report(runs, tmp_path / "report")
    assert "<b>mine" not in page.read_text()


def test_seeds_of_training_have_a_report_too(tmp_path: Path) -> None:
    runs = [seed_run(seed, tmp_path, made_up_training([row(1, returns=[(seed, seed)], goals=(1,))])) for seed in (0, 1)]
    text = checked(write_seeds_report(runs, tmp_path / "report")).text
    assert "milk-bucket in CraftWorld OP: 2 seeds" in text
    assert not {"right", "machine", "no machine"} & set(text)
    rows = list(csv.DictReader((tmp_path / "report" / "seeds.csv").read_text().splitlines()))
    assert [(one["return"], one["machine"], one["difference"]) for one in rows] == [("0.0", "", ""), ("1.0", "", "")]
