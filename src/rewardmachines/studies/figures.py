"""Figures of a study: the mean greedy return over runs, with a band of one standard error.

Dotted vertical lines in the colour of a task show where its machines were learned, in any of the runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import ceil
from pathlib import Path
from typing import Any, Final, NamedTuple

from rewardmachines.envs.registry import domain
from rewardmachines.files.writing import file_name
from rewardmachines.reports.charts import COLOURS, INK, SOFT, dress, new_figure, save_figure, verbatim
from rewardmachines.studies.aggregate import mean_curve
from rewardmachines.studies.plan import PlannedRun
from rewardmachines.studies.results import Result, ReturnCurve
from rewardmachines.studies.study import Study
from rewardmachines.studies.tables import ALGORITHMS, policy_of

AXES: Final = {"episodes": "episodes", "steps": "environment steps"}
COLUMNS: Final = 3
"""Panels side by side, at most."""
_STYLES: Final = ("-", (0, (4, 1.5)), (0, (1, 1.2)))


class PlotLine(NamedTuple):
    """A curve of a panel, of all runs that it is the mean of."""

    name: str
    curves: tuple[ReturnCurve, ...]


class FigurePanel(NamedTuple):
    """A part of a figure."""

    title: str
    lines: tuple[PlotLine, ...]


class FigureFiles(NamedTuple):
    """A figure of which there are results, and the files that show it."""

    title: str
    panels: tuple[FigurePanel, ...]
    files: Mapping[str, Path]
    """The PNG file by what returns are drawn against."""


def drawings(
    study: Study, runs: Sequence[PlannedRun], results: Mapping[str, Result], folder: Path
) -> list[FigureFiles]:
    """Every figure of a study that there are results for. Nothing is written.

    Args:
        study: The study.
        runs: Its runs.
        results: Results by key.
        folder: The folder of the files.
    """
    found = []
    for spec in study.figures:
        mine = [results[run.key] for run in runs if run.block.name in spec.blocks and run.key in results]
        shown = [result for result in mine if not spec.settings or result.setting in spec.settings]
        stem = file_name(spec.title.lower().replace(":", "").replace(" ", "-"))
        files = {axis: folder / f"{stem}-{axis}.png" for axis in AXES}
        found.append(FigureFiles(spec.title, tuple(PANELS[spec.kind](shown)), files))
    return [drawing for drawing in found if drawing.panels]


def write_figures(drawn: Iterable[FigureFiles]) -> None:
    """Writes figures, against episodes and against steps, as PNG and SVG."""
    for drawing in drawn:
        for axis, path in drawing.files.items():
            _draw(drawing.panels, axis, drawing.title, path)


def _panels_of_settings(results: Sequence[Result]) -> list[FigurePanel]:
    panels = []
    for name, setting in dict.fromkeys((result.domain, result.setting) for result in results):
        curves = [c for r in results if (r.domain, r.setting) == (name, setting) for c in r.curves]
        tasks = dict.fromkeys(curve.task for curve in curves)
        lines = tuple(PlotLine(task, tuple(c for c in curves if c.task == task and c.returns)) for task in tasks)
        panels.append(
            FigurePanel(f"{domain(name).title} {setting.upper()}", tuple(line for line in lines if line.curves))
        )
    return [panel for panel in panels if panel.lines]


def _panels_of_tasks(results: Sequence[Result]) -> list[FigurePanel]:
    panels = []
    for setting, task in dict.fromkeys((result.setting, policy_of(result)[0]) for result in results):
        lines: dict[str, list[ReturnCurve]] = {}
        for result in results:
            name, algorithm, origin = policy_of(result)
            if (result.setting, name) == (setting, task) and result.curves:
                source = "authors' " if origin == "authors" else ""
                curves = [curve for curve in result.curves if curve.returns]
                lines.setdefault(f"{source}{ALGORITHMS.get(algorithm, algorithm)}", []).extend(curves)
        panels.append(FigurePanel(f"{setting.upper()} {task}", tuple(PlotLine(n, tuple(c)) for n, c in lines.items())))
    return [panel for panel in panels if panel.lines]


def _draw(panels: Sequence[FigurePanel], axis: str, title: str, path: Path) -> None:
    columns = min(COLUMNS, len(panels))
    rows = ceil(len(panels) / columns)
    figure = new_figure(max(4.9 * columns, 6.2), 3.1 * rows + 0.5)
    grid = figure.subplots(rows, columns, squeeze=False).flatten().tolist()
    is_shared = len({tuple(line.name for line in panel.lines) for panel in panels}) == 1
    for number, (axes, panel) in enumerate(zip(grid, panels, strict=False)):
        draw_panel(axes, panel, axis)
        if not is_shared or number == columns - 1:  # panels with the same lines share the legend of the first row
            axes.legend(frameon=False, fontsize=7, labelcolor=SOFT, loc="center left", bbox_to_anchor=(1.0, 0.5))
    for axes in grid[len(panels) :]:
        axes.set_axis_off()
    figure.suptitle(verbatim(title), fontsize=11, fontweight="bold", color=INK)
    figure.supxlabel(AXES[axis], fontsize=9.5, color=SOFT)
    figure.supylabel("greedy return, mean over instances", fontsize=9.5, color=SOFT)
    path.parent.mkdir(parents=True, exist_ok=True)
    for suffix in (".png", ".svg"):
        save_figure(figure, path.with_suffix(suffix))


def draw_panel(axes: Any, panel: FigurePanel, axis: str) -> None:
    """Draws the mean curves of a panel, with bands, and a dotted line wherever a machine was learned."""
    dress(axes)
    for number, line in enumerate(panel.lines):
        curve = mean_curve(line.curves, axis)
        colour, style = COLOURS[number % len(COLOURS)], _STYLES[number // len(COLOURS) % len(_STYLES)]
        axes.fill_between(curve.x, curve.low, curve.high, color=colour, alpha=0.15, linewidth=0)
        learned = [at for each in line.curves for at in getattr(each, f"learned_{axis}")]
        axes.vlines(learned, 0, 1, colors=colour, linestyles="dotted", linewidth=0.6, alpha=0.5)
        axes.plot(curve.x, curve.mean, color=colour, linestyle=style, linewidth=1.5, label=verbatim(line.name))
    axes.set_title(verbatim(panel.title), loc="left", fontsize=9.5, fontweight="bold", color=INK)
    runs = max(len(line.curves) for line in panel.lines)
    axes.set_title(f"{runs} run{'' if runs == 1 else 's'}", loc="right", fontsize=8, color=SOFT)
    axes.set_xlim(left=0)


PANELS: Final = {"tasks": _panels_of_settings, "algorithms": _panels_of_tasks}
"""The panels of a figure of each kind, from results."""
