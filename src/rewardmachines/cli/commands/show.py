"""The command `hrm show`: what a run is, how far it is, what it has learned, and what is missing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import tyro

from rewardmachines.cli.displays import clock
from rewardmachines.cli.opened_runs import open_runs
from rewardmachines.cli.shared import Command, Flag, console, plain_table, say, write_json

if TYPE_CHECKING:
    from rewardmachines.core.hierarchy import Hierarchy
    from rewardmachines.runs.run import Run


@dataclass(frozen=True)
class Show(Command):
    """Show what a run is, how far it is, its machines and returns, what is missing, and where to look.

    Nothing is computed, and the run may be under way. Runs of several seeds are named by their common name.

    Try:
      hrm show runs/learn-craftworld-op-0
      hrm show runs/learn-craftworld-op
    """

    loads: ClassVar[tuple[str, ...]] = ("rewardmachines.runs.run",)

    folder: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """The folder of the run."""
    json: Flag = False
    """Print JSON."""

    def run(self) -> int:
        shown = [(run, _described(run)) for run in open_runs(self.folder, have_policies=False)]
        if self.json:
            write_json([content for _, content in shown])
            return 0
        for run, content in shown:
            _print(run, content)
        return 0


def _described(run: Run) -> dict[str, Any]:
    """The summary of a run, as JSON can hold it."""
    from rewardmachines.lhrm.config import LhrmConfig

    rows, timing, machines, returns, missing = run.rows, run.timing, run.machines, run.returns, run.missing
    has_judged = any(row.returns is not None for row in rows)
    config = run.config
    is_tested = isinstance(config.settings, LhrmConfig) and config.settings.tests > 0
    steps, episodes = (rows[-1].steps, rows[-1].episodes) if rows else (0, 0)
    seconds = timing[-1].seconds if timing else 0.0
    return {
        "run": config.title,
        "folder": str(run.folder),
        "steps": steps,
        "episodes": episodes,
        "seconds": seconds,
        "budget": {name: limit for name, limit in vars(config.budget).items() if limit is not None},
        "stop_at": config.stop_at,
        "has_ended": run.end is not None,
        "tasks": [
            {
                "task": name,
                "level": run.levels[name],
                **(_size(machines[name]) if name in machines else {}),
                **({"return": returns[name]} if has_judged else {}),
                **({"tested": str(run.progress[name].tests)} if is_tested and name in machines else {}),
                **({"missing": missing[name]} if name in missing else {}),
            }
            for name in run.tasks
        ],
        "diagnosis": [str(finding) for finding in run.diagnosis.findings],
    }


def _size(tree: Hierarchy) -> dict[str, int]:
    root = tree[tree.root]
    return {"height": tree.height, "states": len(root.states), "edges": len(root.edges)}


def _print(run: Run, content: dict[str, Any]) -> None:
    """Prints the summary of a run."""
    config, command = run.config, "learn" if run.config.learns_machines else "train"
    folder, machines = quote(str(run.folder)), run.machines
    limits = [f"after {limit:,.0f} {name}" for name, limit in content["budget"].items()]
    limits += [f"at a return of {config.stop_at:g}"] if config.stop_at else []
    counts = f"{content['steps']:,} steps, {content['episodes']:,} episodes, {clock(content['seconds'])}"
    state = "it has ended" if content["has_ended"] else f"hrm {command} --resume -o {folder} goes on"
    say(f"{content['run']}; {run.folder}\n{counts}; it ends {' or '.join(limits)}: {state}")
    names = ["task", "level", "height", "states", "edges", "return", "tested", "missing"]
    if not any("tested" in task for task in content["tasks"]):
        names.remove("tested")
    rows = ([_cell(task.get(name, "" if name == "missing" else "–")) for name in names] for task in content["tasks"])
    if config.domain is not None and config.domain.fresh:
        say(f"Returns are those of greedy episodes in {config.domain.instances} instances never trained in.")
    console().print(plain_table(names, rows, left=("task", "tested", "missing")))
    for finding in content["diagnosis"]:
        say(f"- {finding}")
    if drawn := [name for name in run.tasks if name in machines]:
        say(f"machines: hrm draw {quote(str(run.files.machine(drawn[-1])))} -o machine.svg")
    if config.trains_policies:
        page = run.files.report / "index.html"
        say(f"policies: hrm evaluate {folder} -o film.html")
        say(f"report: {page if page.exists() else f'hrm report {folder}'}")
        for what, name in (("every hierarchy drawn", "machines"), ("a film of the hardest task", "hardest.html")):
            if (path := run.files.report / name).exists():
                say(f"  {what}: {path}")


def _cell(value: Any) -> str:
    return f"{value:.2f}" if isinstance(value, float) else str(value)
