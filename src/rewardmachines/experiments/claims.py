"""The headline claims of the paper, each confirmed or refuted by results of ours. A claim is a function."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final

from rewardmachines.experiments.aggregate import mean_of
from rewardmachines.experiments.results import Result
from rewardmachines.experiments.tables import Table, published_table_of
from rewardmachines.library.published import PublishedTable

OPEN: Final = "open"
HOLDS: Final = "holds"
WEAKER: Final = "in direction, but weaker"
FAILS: Final = "does not hold"
_CRAFTWORLD: Final = ("op", "opl", "fr", "frl")
_WATERWORLD: Final = ("wod", "wd")
_ORDER: Final = ("hrl", "flat-hrl", "crm")
_TASKS: Final = ("milk-bucket", "book-quill", "cake")


@dataclass(frozen=True)
class Finding:
    """A claim of the paper, and what our results say of it."""

    claim: str
    paper: str
    """The published number, or what the paper says."""
    ours: str
    verdict: str
    """Whether it holds; open, as long as results are missing."""


Claim = Callable[[Sequence[Result]], Finding]


def findings(names: Iterable[str], results: Sequence[Result]) -> list[Finding]:
    """What the results say of some claims.

    Args:
        names: Names in `CLAIMS`.
        results: All results that there are.

    Raises:
        KeyError: There is no such claim.
    """
    return [CLAIMS[name](results) for name in names]


def claims_table(names: Iterable[str], results: Sequence[Result]) -> Table:
    """The same as a table."""
    rows = tuple((f.claim, f.paper, f.ours, f.verdict) for f in findings(names, results))
    return Table("The claims of the paper", ("claim", "paper", "ours", "verdict"), rows)


# -- restricted callables


def _cheaper(results: Sequence[Result]) -> Finding:
    ratios = _ratios(results, _CRAFTWORLD, "time_s")
    return _ratio_finding(
        "Restricted callables make learning machines 5 to 7 times faster in CraftWorld", "5 to 7 ×", ratios, 5.0
    )


def _fewer_calls(results: Sequence[Result]) -> Finding:
    ratios = _ratios(results, _CRAFTWORLD, "calls")
    saved = {setting: 100 * (1 - 1 / ratio) for setting, ratio in ratios.items()}
    ours = ", ".join(f"{setting.upper()} {value:.0f} %" for setting, value in saved.items())
    verdict = _verdict(ratios.values(), 1 / (1 - 0.2))
    return Finding("Restricted callables need fewer calls of the learner in CraftWorld", "20 % fewer", ours, verdict)


def _cheaper_in_waterworld(results: Sequence[Result]) -> Finding:
    ratios = _ratios(results, _WATERWORLD, "time_s")
    return _ratio_finding(
        "Restricted callables make learning machines 1.5 times faster in WaterWorld", "1.5 ×", ratios, 1.5
    )


def _ratios(results: Sequence[Result], settings: Iterable[str], column: str) -> dict[str, float]:
    """By setting, how much more the default takes than restricted callables."""
    found: dict[str, float] = {}
    for setting in settings:
        default = _total(results, PublishedTable.DEFAULT, setting, column)
        restricted = _total(results, PublishedTable.RESTRICTED, setting, column)
        if default is not None and restricted:
            found[setting] = default / restricted
    return found


def _ratio_finding(claim: str, paper: str, ratios: dict[str, float], least: float) -> Finding:
    ours = ", ".join(f"{setting.upper()} {ratio:.1f} ×" for setting, ratio in ratios.items())
    return Finding(claim, paper, ours, _verdict(ratios.values(), least))


def _verdict(ratios: Iterable[float], published: float) -> str:
    """Whether an effect is as large as published everywhere, or at least goes the same way everywhere.

    >>> [_verdict(ratios, 5.0) for ratios in ((), (5.5, 7.0), (1.2, 7.0), (0.9, 7.0))]
    ['open', 'holds', 'in direction, but weaker', 'does not hold']
    """
    known = list(ratios)
    if not known:
        return OPEN
    if min(known) >= published:
        return HOLDS
    return WEAKER if min(known) > 1 else FAILS


def _total(results: Sequence[Result], table: PublishedTable, setting: str, column: str) -> float | None:
    runs = _runs(results, table, setting)
    mean = mean_of(sum(task.number(column) or 0 for task in run.tasks) for run in runs if run.is_complete)
    return None if mean is None else mean.value


def _runs(results: Sequence[Result], table: PublishedTable, setting: str) -> list[Result]:
    """Runs of LHRM by the paper's rules, of one of its experiments."""
    return [
        result for result in results
        if result.command == "learn" and result.preset in ("table", "paper") and result.setting == setting
        and published_table_of(result) is table
    ]  # fmt: skip


# -- exploration with options


def _options_in(setting: str, published: float, task: str | None = None) -> Claim:
    """How many times more episodes primitive actions need until the first machine, above level 1."""

    def claim(results: Sequence[Result]) -> Finding:
        options = _first_episodes(results, PublishedTable.DEFAULT, setting)
        actions = _first_episodes(results, PublishedTable.PRIMITIVE, setting)
        names = [name for name in options if name in actions and (task is None or name == task)]
        ratios = [actions[name] / options[name] for name in names if options[name]]
        where = f"{setting.upper()} {task}" if task else setting.upper()
        words = f"Options find goal traces above level 1 in far fewer episodes ({where})"
        ours = f"{fmean(ratios):.1f} × ({len(ratios)} task{'' if len(ratios) == 1 else 's'})" if ratios else ""
        return Finding(words, f"{published} ×", ours, _verdict([fmean(ratios)] if ratios else [], published))

    return claim


def _first_episodes(results: Sequence[Result], table: PublishedTable, setting: str) -> dict[str, float]:
    """By task above level 1, the mean number of episodes from the beginning of its level to its first machine."""
    found: dict[str, list[float]] = {}
    for run in _runs(results, table, setting):
        for task in run.tasks:
            first = task.number("first_hrm_episodes")
            if first is not None and (task.number("level") or 0) > 1:
                found.setdefault(task.task, []).append(first)
    return {name: fmean(values) for name, values in found.items()}


# -- hierarchies against flat machines against CRM


def _hierarchy_first(results: Sequence[Result]) -> Finding:
    claim, paper = "In FRL, the hierarchy learns before the flat machine, and that before CRM", "three of three tasks"
    orders: list[str] = []
    held = 0
    for task in _TASKS:
        means = [_steps_to(results, task, what) for what in _ORDER]
        if any(mean is None for mean in means):
            continue
        known = [mean for mean in means if mean is not None]
        orders.append(f"{task} {' < '.join(f'{mean:,.0f}' for mean in known)}")
        held += known == sorted(known)
    verdict = OPEN if len(orders) < len(_TASKS) else HOLDS if held == len(_TASKS) else FAILS
    return Finding(claim, paper, "; ".join(orders), verdict)


def _steps_to(results: Sequence[Result], task: str, what: str) -> float | None:
    """The mean number of steps to a return of 0.9; a run that never had it counts with all its steps."""
    for result in results:
        if result.command == "train" and (result.setting, result.what) == ("frl", what):
            (mine,) = result.tasks
            if mine.task == task:
                seeds = {curve.seed: curve.steps[-1] for curve in result.curves}
                reached = [mine.number(f"steps_to_0.9_seed_{seed}") or last for seed, last in seeds.items()]
                return fmean(reached) if reached else None
    return None


# -- flat machines, a single trace


def _flat_infeasible(results: Sequence[Result]) -> Finding:
    tasks = ("book", "book-quill", "cake", "rg&bc", "rgb&cmy")
    runs = [r for r in results if published_table_of(r) is PublishedTable.FLAT and r.tasks[0].task in tasks]
    learned = [r for r in runs if r.is_complete and r.tasks[0].has_machine]
    ours = f"{len(learned)} of {len(runs)} runs learned one" if runs else ""
    verdict = OPEN if not runs else HOLDS if not learned else FAILS
    return Finding("LHRM cannot learn flat machines of composed tasks in time", "0 of 25 runs", ours, verdict)


def _single_trace(results: Sequence[Result]) -> Finding:
    runs = [r for r in results if r.command == "learn" and "goals=1" in r.settings and r.domain == "craftworld"]
    late = [r for r in runs if not r.is_complete]
    ours = f"{len(late)} of {len(runs)} runs ran out of time" if runs else ""
    verdict = OPEN if not runs else HOLDS if len(late) == len(runs) else FAILS
    claim = "Learning the first machine from a single goal trace times out in CraftWorld"
    return Finding(claim, "all settings", ours, verdict)


CLAIMS: Final[dict[str, Claim]] = {
    "restricted-time": _cheaper,
    "restricted-calls": _fewer_calls,
    "restricted-time-waterworld": _cheaper_in_waterworld,
    "options-frl": _options_in("frl", 128.1, "milk-bucket"),
    "options-opl": _options_in("opl", 53.1),
    "options-wd": _options_in("wd", 10.1),
    "hierarchy-first": _hierarchy_first,
    "flat-infeasible": _flat_infeasible,
    "single-trace": _single_trace,
}
"""Claims by the names that studies use."""
