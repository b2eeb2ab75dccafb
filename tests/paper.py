"""The recorded and drawn machines of the paper, as hierarchies."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from rewardmachines.core.formula import Conjunction, Formula
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import LEAF, RewardMachine, machine

COLOURS = {"r": "red", "g": "green", "b": "blue", "c": "cyan", "m": "magenta", "y": "yellow"}
GOLDEN = Path(__file__).parent / "golden"


@cache
def recorded(name: str) -> list[dict[str, Any]]:
    """The entries of traversal.json.gz or traversal_extra.json.gz."""
    entries: list[dict[str, Any]] = json.loads(gzip.decompress((GOLDEN / name).read_bytes()))
    return entries


def recorded_hierarchy(entry: dict[str, Any]) -> Hierarchy:
    machines = tuple(_recorded_machine(name, m) for name, m in entry["hrm"]["machines"].items())
    mentioned = {p for m in machines for p in m.propositions}
    return Hierarchy(entry["hrm"]["root"], machines, tuple(sorted(mentioned | set(entry["propositions"]))))


def _recorded_machine(name: str, description: dict[str, Any]) -> RewardMachine:
    return machine(
        name,
        [(e["from"], e["to"], e["formula"], e["call"] or LEAF) for e in description["edges"]],
        states=description["states"],
        initial=description["initial"],
        accepting=[description["accepting"]],
        rejecting=[description["rejecting"]] if description["rejecting"] else [],
    )


def drawn(identifier: str, *, corrected: bool = False) -> Hierarchy:
    """A hierarchy of machines.json; `corrected` reads the misprinted edge of rgb as it is meant."""
    (entry,) = [h for h in json.loads((GOLDEN / "machines.json").read_text())["hrms"] if h["id"] == identifier]
    machines = []
    for m in entry["machines"]:
        edges = m.get("edges_corrected", m["edges"]) if corrected else m["edges"]
        machines.append(
            machine(
                m["machine"],
                [(e["from"], e["to"], e["formula"], LEAF if e["call"] == "leaf" else e["call"]) for e in edges],
                states=m["states"],
                initial=m["initial"],
                accepting=m["accepting"],
                rejecting=m["rejecting"],
            )
        )
    return Hierarchy(entry["root"] or machines[-1].name, tuple(machines))


def in_colours(tree: Hierarchy) -> Hierarchy:
    """With the colours' names in place of the letters that the paper draws."""

    def formula(old: Formula) -> Formula:
        return Formula(
            frozenset(
                Conjunction(frozenset(COLOURS[p] for p in d.required), frozenset(COLOURS[p] for p in d.forbidden))
                for d in old.disjuncts
            )
        )

    machines = [replace(m, edges=tuple(replace(e, formula=formula(e.formula)) for e in m.edges)) for m in tree.machines]
    return Hierarchy(tree.root, tuple(machines), tuple(COLOURS.values()))
