"""The page of the paper's evaluation: its claims, and every table and figure of its studies, from results alone."""

from __future__ import annotations

import os
import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from rewardmachines.studies.claims import CLAIMS, claims_table
from rewardmachines.studies.figures import FigureFiles, drawings
from rewardmachines.studies.plan import PlannedRun, planned_runs
from rewardmachines.studies.results import Result
from rewardmachines.studies.store import Store
from rewardmachines.studies.study import Study, load_study, parts_of
from rewardmachines.studies.tables import Table, make_tables
from rewardmachines.studies.verdicts import FAILS, HOLDS, OPEN, WEAKER, WITHIN

WIDTH: Final = 120
"""The longest line of text. Rows of tables may be longer."""


def study_page(
    study: Study,
    runs: Sequence[PlannedRun],
    results: Mapping[str, Result],
    tables: Iterable[Table],
    drawn: Iterable[FigureFiles],
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


def _pictures(drawing: FigureFiles, base: Path) -> str:
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


PAPER: Final = "paper"
"""The study that consists of all studies of the paper's evaluation. Others repeat some of their runs."""
_COMMAND: Final = "hrm study report -o docs/results.md"
_INTRODUCTION: Final = (
    f"This page is written by `make results` (`{_COMMAND}`) from [results]({{results}}), and never by hand. "
    "It sets what we measured beside what the paper reports. Cells read ours / paper; means have their standard error "
    "in parentheses. Times are of other machines than the paper's. Every study says by which rules its numbers "
    "came about, and [studies]({studies}) how to run it."
)
_STUDIES: Final = Path("docs") / "studies.md"
_COUNTED: Final = {
    HOLDS: "holds",
    WEAKER: "holds in direction only",
    WITHIN: "is undecided within errors",
    FAILS: "does not hold",
    OPEN: "is open",
}
_COUNTED_MANY: Final = {
    HOLDS: "hold",
    WEAKER: "hold in direction only",
    WITHIN: "are undecided within errors",
    FAILS: "do not hold",
    OPEN: "are open",
}
_RULES: Final = (
    "Our results and the paper's tables are judged by the same rules. A difference of less than one standard error is "
    "none: an effect holds if no setting is farther below what the paper's text says. A claim is open until "
    "there are all runs that could change the answer."
)


class Part(NamedTuple):
    """A study, its runs and their results."""

    study: Study
    runs: tuple[PlannedRun, ...]
    results: Mapping[str, Result]

    def drawings(self, store: Store) -> list[FigureFiles]:
        """Its figures."""
        return drawings(self.study, self.runs, self.results, store.folder(self.study.name))


def paper_parts(store: Store) -> list[Part]:
    """The studies of the paper with the results that there are.

    Args:
        store: The store of results.
    """
    parts = []
    for study in parts_of(load_study(PAPER)):
        runs = planned_runs(study)
        parts.append(Part(study, runs, store.known(runs)))
    return parts


def paper_results(parts: Sequence[Part]) -> dict[str, Result]:
    """All results of the paper's studies, by key."""
    return {key: result for part in parts for key, result in part.results.items()}


def report(parts: Sequence[Part], store: Store, base: Path) -> str:
    """The page in Markdown. Equal results give equal texts.

    Args:
        parts: The studies of the paper.
        store: The store of results and figures.
        base: The folder of the page, to which links are relative.
    """
    shown = [part for part in parts if part.results]
    sections = [
        "# Results",
        wrapped(_INTRODUCTION.format(results=link(store.results, base), studies=link(_STUDIES, base))),
        _contents(shown),
        _claims(list(paper_results(parts).values())),
    ]
    for part in shown:
        tables = make_tables(part.study, part.runs, part.results)
        page = study_page(part.study, part.runs, part.results, tables, part.drawings(store), base, level=2)
        sections.append(page.rstrip())
    sections += _waiting([part for part in parts if not part.results])
    return "\n\n".join(sections) + "\n"


def _contents(shown: Sequence[Part]) -> str:
    titles = ["The claims of the paper", *(part.study.title for part in shown)]
    return "\n".join(f"- [{title}](#{anchor(title)})" for title in titles)


def anchor(heading: str) -> str:
    """The name by which a link leads to a heading.

    >>> anchor("LHRM: all, and more")
    'lhrm-all-and-more'
    """
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _claims(results: Sequence[Result]) -> str:
    table = claims_table(tuple(CLAIMS), results)
    verdicts = Counter(row[table.header.index("verdict")] for row in table.rows)
    counted = [
        f"{verdicts[verdict]} {(_COUNTED if verdicts[verdict] == 1 else _COUNTED_MANY)[verdict]}"
        for verdict in _COUNTED if verdicts[verdict]
    ]  # fmt: skip
    words = f"Of {len(table.rows)} claims, {', '.join(counted)}."
    return f"## {table.title}\n\n{wrapped(f'{words} {_RULES}')}\n\n{table.markdown()}"


def _waiting(parts: Sequence[Part]) -> list[str]:
    """The studies of which there is no result yet."""
    if not parts:
        return []
    lines = [f"- {part.study.title}: `hrm study run {part.study.name}`" for part in parts]
    return ["## Not run yet", "\n".join(lines)]
