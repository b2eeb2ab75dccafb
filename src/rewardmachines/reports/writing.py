"""Writes the report of a run to a folder. Each file replaces the old one as a whole, and the page is written last."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rewardmachines.files import write_aside
from rewardmachines.reports.curve_data import curve_data
from rewardmachines.reports.differences import differences, differences_csv
from rewardmachines.reports.hardest_task import record_film
from rewardmachines.reports.learning_curves import draw_curves, draw_overview
from rewardmachines.reports.machine_drawings import write_pictures
from rewardmachines.reports.page import Contents, page
from rewardmachines.reports.page_parts import PAGE
from rewardmachines.reports.results_table import events_csv, result_table, table_csv
from rewardmachines.reports.run_view import Progress, RunView
from rewardmachines.reports.summary import summarize


def write_report(run: RunView, folder: Path, *, progress: Progress = lambda _: None) -> Path:
    """Writes the report of a run, finished or not.

    Beside the page lie `table.csv`, `difference.csv`, `events.csv`, `curves` and `overview` (PNG and SVG), the learned
    hierarchies in `machines/`, and the film `hardest` (HTML and GIF).

    Args:
        run: The run.
        folder: The folder of the report, which is made if there is none.
        progress: Called with the name of each part before it is made.

    Returns:
        The path of the page.
    """
    folder.mkdir(parents=True, exist_ok=True)
    progress("tables")
    table, compared = result_table(run), differences(run)
    write_aside(folder / "table.csv", table_csv(table))
    write_aside(folder / "difference.csv", differences_csv(compared))
    write_aside(folder / "events.csv", events_csv(run))
    with ThreadPoolExecutor(1) as background:
        # The policy that acts in the film is compiled meanwhile, which takes about as long as all drawings.
        recording = background.submit(record_film, run, progress)
        pictures, window = write_pictures(run, folder, progress), _write_curves(run, folder, progress)
        recorded = recording.result()
    contents = Contents(
        summary=summarize(run),
        table=table,
        differences=compared,
        hierarchies=run.hierarchies(),
        pictures=pictures,
        film=recorded if isinstance(recorded, str) else recorded.save(folder),
        window=window,
        events=[(row.steps, row.episodes, event) for row in run.rows() for event in row.learned],
    )
    write_aside(folder / PAGE, page(contents))
    return folder / PAGE


def _write_curves(run: RunView, folder: Path, progress: Progress) -> int | None:
    """Draws the learning curves, and returns how many evaluations they are moving means of; None without any."""
    data = curve_data(run)
    if not data.has_evaluations:
        return None
    progress("curves")
    draw_curves(data, folder)
    draw_overview(data, folder)
    return data.window
