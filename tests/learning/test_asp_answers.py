"""Programs made of encodings, and what clingo makes of them; what all encodings have in common."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

import clingo
import pytest

from rewardmachines.learning.asp import encoding

ROOT = Path(__file__).parents[2]
NAMES = sorted(
    path.name.removesuffix(".lp") for path in files("rewardmachines.learning").joinpath("encodings").iterdir()
)


def answer_sets(facts: str, *names: str, shown: bool = False) -> list[frozenset[str]]:
    """All answer sets of the facts and these encodings; clingo must have nothing to remark."""
    remarks: list[str] = []
    control = clingo.Control(["0"], logger=lambda _, message: remarks.append(message))
    control.add("base", [], "\n".join([facts, *map(encoding, names)]))
    control.ground([("base", [])])
    found: list[frozenset[str]] = []
    control.solve(on_model=lambda m: found.append(frozenset(map(str, m.symbols(atoms=not shown, shown=shown)))))
    assert remarks == []
    return found


def holds(facts: str, *names: str) -> bool:
    return bool(answer_sets(facts, *names))


def test_the_encodings_are_those_that_the_learner_names() -> None:
    assert NAMES == [
        "determinism",
        "examples",
        "hypothesis",
        "machine",
        "minimal",
        "run",
        "saturation",
        "structure",
    ]


@pytest.mark.parametrize("name", NAMES)
def test_the_header_of_an_encoding_is_its_contract(name: str) -> None:
    header = encoding(name).split("\n\n")[0]
    assert header.startswith(f"% {name}.lp -- ")
    assert all(re.search(rf"^% {word} ", header, re.MULTILINE) for word in ("Needs", "Mirrors", "Tests"))
    (tests,) = re.findall(r"^% Tests\s+(\S+)$", header, re.MULTILINE)
    assert (ROOT / tests).is_file()


@pytest.mark.parametrize("name", NAMES)
def test_what_an_encoding_does_not_define_is_declared_in_its_header(name: str) -> None:
    header, code = encoding(name).split("\n\n", 1)
    for predicate in re.findall(r"^#defined (\w+)/", code, re.MULTILINE):
        assert re.search(rf"\b{predicate}\b", header)
