"""Machine files: what is written is read back, whoever has written it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from files.book_file import BOOK
from rewardmachines.core.errors import SyntaxProblem
from rewardmachines.core.formula import conjunction
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import Edge, RewardMachine
from rewardmachines.files import dumps, load, loads, plain, save, write_aside
from rewardmachines.library import find, names
from strategies import hierarchies


def test_the_documented_example_is_read() -> None:
    book = loads(BOOK)
    assert (book.root, book.height, len(book)) == ("book", 2, 3)
    assert book.propositions == ("iron", "sugarcane", "rabbit", "workbench", "table")
    assert book["book"].rejecting == {"uR"}
    assert loads(dumps(book)) == book


def test_json_says_the_same() -> None:
    book = loads(BOOK)
    assert loads(json.dumps(plain(book))) == book
    assert loads(json.dumps(plain(book), indent="\t")) == book


def test_yaml_that_others_write_says_the_same() -> None:
    book = loads(BOOK)
    assert loads(yaml.safe_dump(plain(book), sort_keys=False)) == book


def test_a_root_that_knows_nothing_yet_has_no_edges() -> None:
    empty = loads("machines: {m: {states: [u0, uA, uR], edges: []}}")
    assert empty["m"].states == ("u0", "uA", "uR")
    assert loads(dumps(empty)) == empty


def test_the_root_may_be_left_out_where_there_is_only_one() -> None:
    text = BOOK.replace("root: book\n", "")
    assert loads(text).root == "book"
    with pytest.raises(SyntaxProblem, match="say which machine is the 'root'"):
        loads("machines: {a: {edges: []}, b: {edges: []}}")


def test_words_that_yaml_would_turn_into_values_stay_words() -> None:
    text = "machines: {m: {edges: [{from: u0, to: no, when: yes & null}, {from: no, to: uA, when: true}]}}"
    machine = loads(text)["m"]
    assert machine.states == ("u0", "no", "uA")
    assert str(machine.edges[0].formula) == "null & yes"
    assert machine.edges[1].formula.is_true
    assert loads(dumps(loads(text))) == loads(text)


@pytest.mark.parametrize("name", names())
def test_the_library_survives_writing_and_reading(name: str) -> None:
    assert loads(dumps(find(name))) == find(name)


@given(hierarchies(deterministic=False))
def test_a_hierarchy_read_back_is_the_same(tree: Hierarchy) -> None:
    assert loads(dumps(tree)) == tree
    assert loads(json.dumps(plain(tree))) == tree


any_name = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6).filter(lambda t: t != "⊤")


@given(st.lists(any_name, min_size=3, max_size=3, unique=True), any_name, any_name)
def test_any_names_survive_in_files(states: list[str], machine: str, proposition: str) -> None:
    start, middle, end = states
    edges = (Edge(start, middle, conjunction({proposition})), Edge(middle, end, conjunction((), {proposition})))
    built = RewardMachine(machine, (middle, end, start), edges, start, frozenset({end}))
    tree = Hierarchy(machine, (built,))
    assert loads(dumps(tree)) == tree
    assert loads(json.dumps(plain(tree))) == tree


def test_files_are_read_and_written(tmp_path: Path) -> None:
    book = loads(BOOK)
    for name in ("book.yaml", "book.json"):
        save(book, tmp_path / name)
        assert load(tmp_path / name) == book
    assert json.loads((tmp_path / "book.json").read_text())["root"] == "book"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["book.json", "book.yaml"]


def test_a_failed_write_leaves_the_old_file_and_no_litter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "book.yaml"
    path.write_text("old")

    def broken(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", broken)
    with pytest.raises(OSError, match="disk full"):
        write_aside(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_pair_of_halves_is_a_character() -> None:
    assert loads('{"machines": {"\\ud83d\\ude00": {"edges": []}}}').root == "😀"
