"""Programs, and what clingo makes of them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import clingo

from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.traversal import Verdict
from rewardmachines.exchange import to_asp

GOLDEN = Path(__file__).parent


def statements(program: str) -> set[str]:
    """The statements of a program, without comments and white space."""
    code = "\n".join(line for line in program.splitlines() if not line.startswith("%"))
    return {re.sub(r"\s+", " ", statement).strip() + "." for statement in code.split(".") if statement.strip()}


def golden(name: str) -> set[str]:
    return statements((GOLDEN / name).read_text(encoding="utf-8"))


def answer_set(program: str) -> set[str]:
    """The only answer set; clingo must have nothing to remark."""
    remarks: list[str] = []
    control = clingo.Control(["0"], logger=lambda _, message: remarks.append(message))
    control.add("base", [], program)
    control.ground([("base", [])])
    models: list[set[str]] = []
    control.solve(on_model=lambda model: models.append({f"{atom}." for atom in model.symbols(atoms=True)}))
    assert remarks == []
    (model,) = models
    return model


def verdict_by_clingo(hierarchy: Hierarchy, trace: Iterable[Iterable[str]]) -> Verdict:
    model = answer_set(to_asp(hierarchy, trace))
    said = [v for v, atom in ((Verdict.ACCEPT, "accept."), (Verdict.REJECT, "reject.")) if atom in model]
    assert len(said) <= 1
    return said[0] if said else Verdict.NEITHER
