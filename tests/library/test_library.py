from __future__ import annotations

import csv
import json

import pytest

from paper import GOLDEN, drawn, in_colours
from rewardmachines.core.equivalence import equivalent
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.reachability import check_determinism
from rewardmachines.library import DOMAINS, domain, exponential_family, figure, figure_names, find, names, task


def test_all_tasks_of_the_paper_are_there_as_written() -> None:
    rows = list(csv.DictReader((GOLDEN / "tasks.csv").read_text().splitlines()))
    assert len(rows) == sum(len(domain(name).tasks) for name in DOMAINS) == 22
    for row in rows:
        known = domain(row["domain"])
        ours = known.tasks[known.task_name(row["task"])]
        words = row["description"]
        for name, title in sorted(known.titles.items(), key=lambda item: -len(item[1])):
            words = words.replace(title, name)
        colours = {c[0]: c for c in known.propositions} if known.name == "waterworld" else {}
        assert ours == " ".join(colours.get(word, word) for word in words.split())


DRAWINGS = {
    "book": "craftworld_book_nonflat",
    "book-flat": "craftworld_book_flat",
    "book-flattened": "flattening_without_compression",
    "book-compressed": "flattening_with_compression",
    "transformation-a": "transformation_a",
    "transformation-b": "transformation_b",
    "transformation-c": "transformation_c",
    "transformation-d": "transformation_d",
    "craftworld": "craftworld_roots",
    "waterworld": "waterworld_roots",
}


def test_all_drawings_are_there() -> None:
    assert set(figure_names()) == set(DRAWINGS)


@pytest.mark.parametrize("name", sorted(DRAWINGS))
def test_figures_are_the_drawn_machines(name: str) -> None:
    assert figure(name) == drawn(DRAWINGS[name], corrected=True)
    assert check_determinism(figure(name)) == []


@pytest.mark.parametrize("shelf", DOMAINS)
def test_tasks_agree_with_the_drawn_roots_where_labels_can_occur(shelf: str) -> None:
    (entry,) = [h for h in json.loads((GOLDEN / "machines.json").read_text())["hrms"] if h["id"] == f"{shelf}_roots"]
    known = domain(shelf)
    roots = drawn(f"{shelf}_roots", corrected=True)
    roots = in_colours(roots) if shelf == "waterworld" else roots
    assert len(entry["machines"]) == len(known.tasks)
    for m in entry["machines"]:
        assert equivalent(task(shelf, m["task"]), roots.rooted(m["machine"]), labels=known.labels())


def test_the_drawn_rgb_cannot_be_meant() -> None:
    assert not equivalent(
        drawn("waterworld_roots").rooted("M6"), drawn("waterworld_roots", corrected=True).rooted("M6")
    )


def test_everything_has_a_name() -> None:
    # Ours, the authors' and the authors' flat ones, without and with dead ends; those of the office, without and with
    # decorations, and of the craft world; figures; the exponential family.
    assert len(names()) == 3 * 2 * 22 + 2 * 4 + 10 + 10 + 1
    for name in names():
        assert find(name)
    assert find("exponential/5") == exponential_family(5)
    assert find("CraftWorld/MilkB.Sugar+lava") == task("craftworld", "milk-bucket-sugar", dead_ends=True)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("craftworld/bok", "CraftWorld has no task 'bok'; did you mean 'book'"),
        ("craftworld/zzz", "there are batter, bucket"),
        ("figures/bok", "there is no figure 'bok'; did you mean"),
        ("minecraft/book", "the library has nothing called 'minecraft/book'"),
        ("exponential/0", "at least 1 high"),
        ("exponential/99999", "nothing called"),
    ],
)
def test_unknown_names_get_a_hint(name: str, message: str) -> None:
    with pytest.raises(RewardMachineError, match=message):
        find(name)
