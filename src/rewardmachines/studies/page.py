"""A page of a study in Markdown: its rules, figures and tables, what is missing, and what made it."""

from __future__ import annotations

import os
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from rewardmachines.studies.cells import Table
from rewardmachines.studies.figures import Drawing
from rewardmachines.studies.plan import PlannedRun
from rewardmachines.studies.results import Result
from rewardmachines.studies.study import Study

WIDTH: Final = 120
"""The longest line of text. Rows of tables may be longer."""


def study_page(
    study: Study,
    runs: Sequence[PlannedRun],
    results: Mapping[str, Result],
    tables: Iterable[Table],
    drawn: Iterable[Drawing],
    base: Path,
    level: int = 1,
) -> str:
    """The page of a study, in Markdown. Equal results give equal texts.

    Args:
        study: The study.
        runs: All its runs.
        results: The results that there are, by key.
        tables: Its tables.
        drawn: Its figures.
        base: The folder of the page, to which links are relative.
        level: The level of its heading.
    """
    parts = [f"{'#' * level} {study.title}", f"`hrm study run {study.name}`"]
    if study.note:
        parts.append(study.note.strip())
    parts.append(wrapped(f"{_counted(runs, results)} {_provenance(results.values())}".strip()))
    below = "#" * (level + 1)
    parts += [f"{below} {drawing.title}\n\n{_pictures(drawing, base)}" for drawing in drawn]
    parts += [_table_part(table, below) for table in tables]
    return "\n\n".join(parts) + "\n"


def _table_part(table: Table, heading: str) -> str:
    """A table under its heading; one that another table sums up is folded away."""
    wrapped_remarks = [wrapped(remark) for remark in table.remarks]
    text = "\n\n".join([table.markdown(), *wrapped_remarks])
    if table.is_detail:
        return f"<details><summary>{table.title}</summary>\n\n{text}\n\n</details>"
    return f"{heading} {table.title}\n\n{text}"


def link(path: Path, base: Path) -> str:
    """The target of a link to a file, on a page in a folder."""
    return Path(os.path.relpath(path, base)).as_posix()


def wrapped(text: str) -> str:
    """A paragraph in lines that are not too long."""
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def _pictures(drawing: Drawing, base: Path) -> str:
    """The picture against episodes, and a link to the one against steps."""
    first, *others = ((axis, link(path, base)) for axis, path in drawing.files.items())
    links = ", ".join(f"[against {axis}]({target})" for axis, target in others)
    return f"![{drawing.title}, against {first[0]}]({first[1]})\n\nThe same {links}."


def _counted(runs: Sequence[PlannedRun], results: Mapping[str, Result]) -> str:
    """The number of runs, and of those of each kind that are missing."""
    several = len({run.what for run in runs}) > 1
    missing: Counter[str] = Counter()
    for run in runs:
        if run.key not in results:
            missing[f"{run.setting.upper()} {run.what}" if several else run.setting.upper()] += 1
    if not missing:
        return f"All {len(runs)} runs are there."
    kinds = ", ".join(f"{count} of {kind}" for kind, count in missing.items())
    return f"{missing.total()} of {len(runs)} runs are missing: {kinds}."


def _provenance(results: Iterable[Result]) -> str:
    """The machines, commits and versions that made the results, and when."""
    groups: dict[tuple[str, str, str], list[Result]] = {}
    for result in results:
        made = result.made
        groups.setdefault((made.device, made.commit, made.jax), []).append(result)
    makers = []
    for (device, commit, jax), mine in sorted(groups.items()):
        days = sorted({result.made.date[:10] for result in mine})
        when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
        makers.append(f"{device} (commit {commit}, JAX {jax}, {when})")
    return f"Made on {'; '.join(makers)}." if makers else ""
