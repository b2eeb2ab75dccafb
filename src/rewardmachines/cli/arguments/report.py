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

    Try:
      hrm report runs/learn-craftworld-op-0
    """

    folder: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """The folder of the run."""
