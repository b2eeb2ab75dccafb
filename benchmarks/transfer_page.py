"""The page on policies in unseen instances, from the lines that `transfer.py --json` has kept.

python benchmarks/transfer_page.py                   docs/transfer.md and its figure, from results/transfer.jsonl
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from rewardmachines.studies.report import wrapped

ROOT: Final = Path(__file__).resolve().parents[1]
RESULTS: Final = ROOT / "results" / "transfer.jsonl"
PAGE: Final = ROOT / "docs" / "transfer.md"
FIGURE: Final = ROOT / "docs" / "images" / "transfer.png"
TITLES: Final = {
    "op": "CraftWorld, open plan",
    "opl": "CraftWorld, open plan with lava",
    "fr": "CraftWorld, four rooms",
    "frl": "CraftWorld, four rooms with lava",
    "wod": "WaterWorld",
    "wd": "WaterWorld with dead ends",
}
MARKERS: Final = "os^vDP"
"""One marker for each line, so that lines differ in more than their colours."""
INTRODUCTION: Final = """# Unseen instances

Like the paper's, policies that are trained in ten instances know them by heart, and fail in all others. With
`--instances fresh`, every episode takes place in one of thousands of instances that are drawn on the device, and
policies are evaluated in others that are held out ([learning.md](learning.md#fresh-instances)). Machines and policies
are learned together, from labelled interaction only.

Numbers below are greedy returns in 1,000 instances of the published generators, with seeds that no run has trained on
or was evaluated with. Columns say how many instances are drawn to be trained on; *the paper's ten* is its protocol,
trained and evaluated in ten. A machine is right if no sequence of labels separates it from the true one: of all labels
that can occur in CraftWorld, of those in the examples of the run in WaterWorld. A task without a machine belongs to a
level that never began, because returns of the level below stayed low in the instances that are held out; in the figure
its return counts as 0. Where several runs have the same number of instances, the figure shows the latest.
*Detour rate* is the probability, at every step, to leave what the machine suggests, *confirm episodes* the number of
episodes that must not refute a machine before a run ends; runs that are marked `-` are older than this rule.
"""
FILM: Final = """## A film

![Cake, the hardest task, in four rooms with lava that the policy has never seen](images/unseen-rooms.gif)

<!-- not run: takes five minutes on a GPU -->
```sh
python benchmarks/transfer.py frl --minutes 4.9 -o runs/frl
hrm evaluate runs/frl --task cake --gif unseen-rooms.gif --instances 10 --instance-seed 910000000
```
"""
Line = dict[str, Any]


def read_lines(path: Path) -> list[Line]:
    """The results that are kept, one for each run."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def column(line: Line) -> str:
    """The instances that a run was trained in."""
    seed = f", seed {line['seed']}" if line["seed"] else ""
    return (f"{line['drawn']:,}" if line["drawn"] else "the paper's ten") + seed


def section(setting: str, lines: Sequence[Line]) -> str:
    """The runs of a setting side by side: the fewer instances, the further left."""
    ordered = sorted(lines, key=lambda line: (line["drawn"], line["seed"]))
    heads = ["task", *map(column, ordered)]
    rows = [[task, *(_return(line["unseen"].get(task)) for line in ordered)] for task in ordered[0]["unseen"]]
    rows.append(["**lowest**", *(_return(min(value or 0.0 for value in one["unseen"].values())) for one in ordered)])
    rows.append(["machines right", *(f"{sum(one['right'].values())} of {len(one['right'])}" for one in ordered)])
    if any("confirm_episodes" in one for one in ordered):
        rows.append(["detour rate", *(f"{one.get('detour_rate', '-')}" for one in ordered)])
        rows.append(["confirm episodes", *(f"{one.get('confirm_episodes', '-')}" for one in ordered)])
    rows.append(["steps", *(f"{one['steps']:,}" for one in ordered)])
    rows.append(["minutes", *(f"{one['seconds'] / 60:.1f}" for one in ordered)])
    rows.append(["made on", *(one["made"]["device"] for one in ordered)])
    table = "\n".join("| " + " | ".join(cells) + " |" for cells in (heads, ["---"] * len(heads), *rows))
    commands = "\n".join(_broken(one["made"]["command"]) for one in ordered)
    return f"## {TITLES[setting]}\n\n{table}\n\n{_made(ordered)}\n\n```sh\n{commands}\n```\n"


def _broken(command: str) -> str:
    """A command in lines that are not too long, each of which says that it goes on."""
    return " \\\n    ".join(textwrap.wrap(command, 112, break_long_words=False, break_on_hyphens=False))


def _return(value: float | None) -> str:
    return "no machine" if value is None else f"{value:.3f}"


def _made(lines: Sequence[Line]) -> str:
    commits = sorted({f"{line['made']['commit'][:7]} (JAX {line['made']['jax']})" for line in lines})
    notes = [line["note"] for line in lines if "note" in line]
    return wrapped(" ".join([f"Commit {', '.join(commits)}. Minutes include compilation.", *notes]))


def page(lines: Sequence[Line]) -> str:
    """The whole page. Equal results give equal texts."""
    settings = [setting for setting in TITLES if any(line["setting"] == setting for line in lines)]
    sections = [section(setting, [line for line in lines if line["setting"] == setting]) for setting in settings]
    figure = "![Lowest and mean return against the number of training instances](images/transfer.png)\n"
    return "\n".join([INTRODUCTION, figure, *sections, FILM])


def latest(lines: Sequence[Line], setting: str) -> dict[int, list[float]]:
    """The returns of all tasks by the number of instances that were drawn, of the run that was made last with it."""
    mine = [line for line in lines if line["setting"] == setting and line["drawn"]]
    by_date = sorted(mine, key=lambda line: str(line["made"]["date"]))
    returns = {int(line["drawn"]): [value or 0.0 for value in line["unseen"].values()] for line in by_date}
    return dict(sorted(returns.items()))


def draw(lines: Sequence[Line], path: Path) -> None:
    """Draws returns against the number of instances, for each setting that was trained in several numbers of them."""
    from matplotlib.figure import Figure  # draws, which the text does not need

    picture = Figure(figsize=(8, 3.6), layout="constrained")
    means, lowest = picture.subplots(1, 2, sharey=True)
    for number, setting in enumerate(TITLES):
        returns = latest(lines, setting)
        if len(returns) < 2:
            continue
        style = {"color": f"C{number}", "marker": MARKERS[number], "label": setting.upper()}
        means.plot(list(returns), [sum(one) / len(one) for one in returns.values()], **style)
        lowest.plot(list(returns), [min(one) for one in returns.values()], **style)
    for axes, title in ((means, "mean of all tasks"), (lowest, "lowest of all tasks")):
        axes.set_title(title, fontsize="medium")
        axes.set_xscale("log")
        axes.set_xlim(7, 25_000)
        axes.set_xticks([10, 100, 1_000, 10_000], ["10", "100", "1,000", "10,000"])
        axes.set_xlabel("instances to train in")
        axes.grid(alpha=0.3)
    means.set_ylim(-0.03, 1.03)
    means.set_ylabel("return in 1,000 unseen instances")
    picture.legend(*means.get_legend_handles_labels(), loc="outside right center", frameon=False)
    picture.savefig(path, dpi=150)


def main() -> None:
    """Writes the page and the figure."""
    lines = read_lines(RESULTS)
    PAGE.write_text(page(lines))
    draw(lines, FIGURE)
    print(f"wrote {PAGE.relative_to(ROOT)} and {FIGURE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
