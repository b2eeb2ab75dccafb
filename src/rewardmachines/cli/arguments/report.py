"""What `hrm report` is told."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro


@dataclass(frozen=True)
class ReportArguments:
    """Write the report of a run, finished or not: a page with curves, machines and tables.

    hrm learn and hrm train --env do so when they end. Other runs, such as those of rm.learn_gymnasium and
    rm.train_gymnasium, have no report before this command.

    Of several runs that differ in nothing but their seeds, it also writes a page with the mean of all, and tables by
    seed. They are named one by one, by their common name without the seed, or by the folder that holds them.

    Try:
      hrm report runs/learn-craftworld-op-0
      hrm report runs/learn-craftworld-op
      hrm report runs/cake-0 runs/cake-1 runs/cake-2 -o cake
    """

    folders: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """Folders of runs."""
    output: Annotated[Path | None, tyro.conf.arg(aliases=["-o"], metavar="FOLDER")] = None
    """Where to write the page; in the folder of a single run, or beside several, if not given."""
