"""What `hrm study` is told."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from rewardmachines.cli.arguments.of_runs import Device
from rewardmachines.cli.shared import Output, Quiet


@dataclass(frozen=True)
class StudyArguments:
    """Carry out many runs, and make tables, figures and claims of them.

    A study is data: the studies of the paper come with the package, and a TOML file is a study of your own
    (docs/studies.md). Every run has a folder of its own and can be interrupted; what has been run is never run again.

    Try:
      hrm study list
      hrm study run smoke
      hrm study run paper/op --jobs 2 --budget 2h
      hrm study run paper --budget 9m
      hrm study run paper/default --only frl --only wd --device gpu
      hrm study show paper/op
      hrm study status mine.toml
      hrm study report -o docs/results.md
    """

    action: Annotated[Literal["list", "run", "show", "status", "report"], tyro.conf.Positional]
    """What to do: list studies, run one, show what came of it, say how far it is, or write the page of all studies of
    the paper."""
    study: Annotated[str | None, tyro.conf.Positional, tyro.conf.arg(metavar="STUDY")] = None
    """The name of a study, such as smoke, or a TOML file."""
    seeds: int | None = None
    """How many runs of each kind; what the study says if not given."""
    jobs: int | None = None
    """How many runs are carried out side by side on this machine, each in a process of its own; 1 if not given."""
    on: Literal["local", "ray"] = "local"
    """Where runs are carried out: on this machine, or on a Ray cluster."""
    address: Annotated[str | None, tyro.conf.arg(metavar="ADDRESS")] = None
    """The address of the Ray cluster, HOST:PORT, or auto for one that runs on this machine; RAY_ADDRESS if not given,
    and without that, one is started on this machine."""
    cpus: float | None = None
    """How many cores a task on the Ray cluster is given; 1 if not given."""
    gpus: float | None = None
    """How many GPUs a task on the Ray cluster is given, or which share of one; 1 if not given and there are any."""
    budget: Annotated[str | None, tyro.conf.arg(metavar="TIME")] = None
    """How long it may take, such as 10m or 2h. Runs that can be expected to end in that time come first; what is not
    done by then goes on next time."""
    only: Annotated[tuple[str, ...], tyro.conf.UseAppendAction, tyro.conf.arg(metavar="NAME")] = ()
    """Carry out, or look at, some runs only: by block, setting, task or algorithm, such as frl; repeat for more."""
    device: Device | None = None
    """Where to compute; a GPU if there is one, if not given."""
    runs: Annotated[Path, tyro.conf.arg(metavar="FOLDER")] = Path("runs") / "studies"
    """Where the folders of runs are."""
    results: Annotated[Path, tyro.conf.arg(metavar="FOLDER")] = Path("results")
    """Where results are kept, figures among them."""
    output: Output = None
    """The file to which run, show and report write their page; if not given, report prints it, others write none."""
    quiet: Quiet = False
