"""What is to be trained, for how long, and how that is written to `config.json`."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from rewardmachines.agents.config import Algorithm
from rewardmachines.agents.presets import Preset, preset
from rewardmachines.agents.records import from_plain, to_plain
from rewardmachines.agents.session import Spec
from rewardmachines.core.errors import RewardMachineError, SyntaxProblem
from rewardmachines.envs.scenario import check_setting
from rewardmachines.files import write_aside
from rewardmachines.files.document import read_text
from rewardmachines.library import domain

FORMAT: Final = 1


@dataclass(frozen=True)
class Order:
    """A complete order to train."""

    spec: Spec
    steps: int
    """Of each seed."""
    stop_at: float | None = None
    """The mean return, over three evaluations, that is good enough."""

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise RewardMachineError(f"at least one step is needed, not {self.steps}")


def standard_spec(
    domain_name: str,
    setting: str,
    task: str,
    algorithm: Algorithm | str = Algorithm.HRL,
    *,
    settings: Preset | str = Preset.FAST,
    **changes: Any,
) -> Spec:
    """A task with the settings of a preset; `changes` are other fields of the spec, such as `seeds=5`.

    >>> standard_spec("craftworld", "op", "cake", seeds=5).config.environments
    16
    """
    name = domain(domain_name).name
    setting, algorithm = check_setting(name, setting), Algorithm(algorithm)
    return replace(Spec(name, setting, task, algorithm, preset(settings, name, setting, algorithm)), **changes)


def save_order(order: Order, path: Path) -> None:
    write_aside(path, json.dumps({"format": FORMAT, **to_plain(order)}, indent=2) + "\n")


def load_order(path: Path) -> Order:
    where = str(path)
    try:
        content = json.loads(read_text(path))
    except (json.JSONDecodeError, RecursionError) as problem:
        reason = problem.msg if isinstance(problem, json.JSONDecodeError) else "nested too deep"
        raise SyntaxProblem(f"{where}: damaged, this is not JSON ({reason})") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise SyntaxProblem(f"{where}: not the settings of a run as this version writes them (format {FORMAT})")
    del content["format"]
    order: Order = from_plain(Order, content, where)
    return order


def difference(one: Spec, other: Spec) -> str | None:
    """The first thing in which they differ, in words."""
    ours, theirs = flat(one), flat(other)
    return next(
        (f"{name} is {theirs.get(name)}, not {ours[name]}" for name in ours if ours[name] != theirs.get(name)), None
    )


def flat(spec: Spec) -> dict[str, Any]:
    """Every setting by its full name, such as `config.network.hidden`."""
    found: dict[str, Any] = {}

    def visit(value: Any, name: str) -> None:
        if isinstance(value, dict):
            for key, item in value.items():
                visit(item, f"{name}.{key}" if name else key)
        else:
            found[name] = value

    visit(to_plain(spec), "")
    return found
