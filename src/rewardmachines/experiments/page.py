"""A page of a study in Markdown: its tables and figures, and what is missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from rewardmachines.experiments.figures import write_figures
from rewardmachines.experiments.plan import PlannedRun
from rewardmachines.experiments.results import Result
from rewardmachines.experiments.study import Study
from rewardmachines.experiments.tables import Table
from rewardmachines.files import write_aside

PAGE: Final = "README.md"


def write_page(
    study: Study, tables: Sequence[Table], runs: Sequence[PlannedRun], results: Mapping[str, Result], folder: Path
) -> Path:
    """Writes the page of a study and its figures.

    Args:
        study: The study.
        tables: Its tables.
        runs: All its runs.
        results: The results that there are, by key.
        folder: Where the page is written.

    Returns:
        The path of the page.
    """
    folder.mkdir(parents=True, exist_ok=True)
    figures = write_figures(study, runs, results, folder)
    parts = [f"# {study.title}", "", f"Made by `hrm study run {study.name}` and `hrm study show {study.name}`."]
    if study.note:
        parts += ["", study.note]
    missing = [run.title for run in runs if run.key not in results]
    if missing:
        parts += ["", f"{len(missing)} of {len(runs)} runs are missing:", "", *(f"- {title}" for title in missing)]
    for title, paths in figures.items():
        parts += ["", f"### {title}", "", *(f"![{title}, {path.stem}]({path.name})" for path in paths)]
    for table in tables:
        parts += ["", table.markdown().rstrip()]
    write_aside(folder / PAGE, "\n".join(parts) + "\n")
    return folder / PAGE
