"""The headline claims of the paper, each confirmed or refuted by results of ours. A claim is a function."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean
from typing import Final

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import suggestion
from rewardmachines.envs.registry import domain_of
from rewardmachines.experiments.aggregate import mean_of
from rewardmachines.experiments.cells import Table
from rewardmachines.experiments.evidence import first_episodes, missing_experiments, some_of, total
from rewardmachines.experiments.findings import FAILS, HOLDS, OPEN, Finding, judged, verdict_of
from rewardmachines.experiments.policy_claims import hierarchy_first
from rewardmachines.experiments.results import Result
from rewardmachines.experiments.study import RUNS
from rewardmachines.experiments.tables import (
    METHODS,
    WITH_CALLS,
    WITHOUT_CALLS,
    method_of,
    published_table_of,
)
from rewardmachines.library.published import PublishedTable, published_flat, published_tasks, published_totals

_CRAFTWORLD: Final = ("op", "opl", "fr", "frl")
_WATERWORLD: Final = ("wod", "wd")
_OF_FLAT_TABLE: Final = (PublishedTable.DEFAULT, PublishedTable.FLAT)
"""The experiments of LHRM that the paper's table of flat machines shows."""


Claim = Callable[[Sequence[Result]], Finding]


def findings(names: Sequence[str], results: Sequence[Result]) -> list[Finding]:
    """What the results say of some claims.

    Args:
        names: Names in `CLAIMS`.
        results: All results that there are.

    Raises:
        RewardMachineError: There is no such claim.
    """
    check_claims(names)
    return [CLAIMS[name](results) for name in names]


def check_claims(names: Iterable[str]) -> None:
    """Says which claim does not exist, if one of them does not.

    Raises:
        RewardMachineError: There is no such claim.
    """
    for name in names:
        if name not in CLAIMS:
            hint = suggestion(name, CLAIMS) or f"; there are {', '.join(CLAIMS)}"
            raise RewardMachineError(f"there is no claim '{name}'{hint}")


def claims_table(names: Sequence[str], results: Sequence[Result]) -> Table:
    """The same as a table."""
    rows = tuple((f.claim, f.paper, f.ours, f.verdict, f.remark) for f in findings(names, results))
    return Table("The claims of the paper", ("claim", "paper", "ours", "verdict", "why, or what is missing"), rows)


# -- restricted callables


def _restricted(claim: str, paper: str, settings: Sequence[str], column: str, published: float) -> Claim:
    """How much more the default takes than restricted callables, in time or in calls."""

    def judge(results: Sequence[Result]) -> Finding:
        ratios: dict[str, float] = {}
        for setting in settings:
            default = total(results, PublishedTable.DEFAULT, setting, column)
            restricted = total(results, PublishedTable.RESTRICTED, setting, column)
            if default is not None and restricted:
                ratios[setting] = default / restricted
        ours = ", ".join(f"{setting.upper()} {_effect(column, ratio)}" for setting, ratio in ratios.items())
        tables = (PublishedTable.DEFAULT, PublishedTable.RESTRICTED)
        missing = missing_experiments(results, tables, settings)
        why = _little_to_save(results, min(ratios, key=lambda s: ratios[s]), column) if ratios else ""
        whole = [s for s in ratios if not missing_experiments(results, tables, [s])]
        refuted = any(ratios[setting] <= 1 for setting in whole)
        verdict = verdict_of(ratios.values(), published)
        return judged(claim, paper, ours, verdict, missing=missing, why=why, refuted=refuted)

    return judge


def _effect(column: str, ratio: float) -> str:
    return f"{ratio:.1f} ×" if column == "time_s" else f"{100 * (1 - 1 / ratio):.0f} %"


def _little_to_save(results: Sequence[Result], setting: str, column: str) -> str:
    """By how much our learner is ahead of the paper's before anything is restricted."""
    ours = total(results, PublishedTable.DEFAULT, setting, column)
    paper = published_totals(PublishedTable.DEFAULT, domain_of(setting), setting)
    assert ours is not None
    assert paper is not None
    if column == "time_s":
        return (
            f"Our learner takes {ours:.1f} s for all machines of {setting.upper()} without restrictions, the paper's "
            f"{paper.time_s.value:,.0f} s: searches that are short anyway gain little from fewer callables."
        )
    return (
        f"Our learner needs {ours:.0f} calls for all machines of {setting.upper()} without restrictions, the paper's "
        f"{paper.calls.value:.0f}: there are fewer to save."
    )


# -- exploration with options


def _options_in(setting: str, published: float, only: str | None = None) -> Claim:
    """How many times more episodes primitive actions need until the first machine, above level 1."""

    def judge(results: Sequence[Result]) -> Finding:
        options = first_episodes(results, PublishedTable.DEFAULT, setting, only)
        actions = first_episodes(results, PublishedTable.PRIMITIVE, setting, only)
        ratios = {name: actions[name] / first for name, first in options.items() if name in actions and first}
        where = f"{setting.upper()} {only}" if only else setting.upper()
        words = f"Options find goal traces above level 1 in far fewer episodes than primitive actions ({where})"
        mean = fmean(ratios.values()) if ratios else None
        ours = f"{mean:.1f} × ({len(ratios)} task{'' if len(ratios) == 1 else 's'})" if mean is not None else ""
        never = [name for name in options if name not in actions]
        why = _episodes_needed(setting, options, actions, list(ratios)) + _without_ratio(never) if ratios else ""
        missing = missing_experiments(results, (PublishedTable.DEFAULT, PublishedTable.PRIMITIVE), [setting])
        if not ratios and never and not missing:
            missing = [f"a machine with primitive actions of {', '.join(never)}"]
        verdict = verdict_of([] if mean is None else [mean], published)
        return judged(words, f"{published} ×", ours, verdict, missing=missing, why=why)

    return judge


def _episodes_needed(
    setting: str, options: Mapping[str, float], actions: Mapping[str, float], tasks: Sequence[str]
) -> str:
    """The episodes to the first machine, ours and the paper's, in the mean over tasks."""

    def words(name: str, ours: Mapping[str, float], table: PublishedTable) -> str:
        paper = published_tasks(table, domain_of(setting), setting)
        numbers = [paper[task].numbers["first_hrm_episodes"].value for task in tasks if paper[task].learned]
        theirs = f"{fmean(numbers):,.0f}" if numbers else "none"
        return f"{name} {fmean(ours[task] for task in tasks):,.0f} (paper {theirs})"

    parts = words("options", options, PublishedTable.DEFAULT), words("actions", actions, PublishedTable.PRIMITIVE)
    return f"Episodes to the first machine, mean over tasks: {', '.join(parts)}."


def _without_ratio(never: Sequence[str]) -> str:
    return f" Actions led to no machine of {', '.join(never)}, which do not count." if never else ""


# -- machines without calls


def _never_flat(claim: str, methods: Sequence[str], tasks: Sequence[str]) -> Claim:
    """Whether learners without calls fail in all runs of some tasks."""

    def judge(results: Sequence[Result]) -> Finding:
        ended = [r for r in results if method_of(r) in methods and r.tasks[0].task in tasks and len(r.tasks) == 1]
        runs = [result for result in ended if result.command != "train"]
        learned = [run for run in runs if run.is_complete and run.tasks[0].has_machine]
        wanted = RUNS * len(methods) * len(tasks)
        by_task = {task: [_times(learned, task, method) for method in methods] for task in tasks}
        which = [f"{task} by {' and '.join(filter(None, times))}" for task, times in by_task.items() if any(times)]
        ours = f"{len(learned)} of {len(runs)} runs learned one" if runs else ""
        missing = [f"{wanted - len(runs)} of {wanted} runs"] if len(runs) < wanted else []
        verdict = OPEN if not runs else FAILS if learned else HOLDS
        ilasp = " Our LHRM has another learner than the paper's, which is ILASP." if WITHOUT_CALLS[0] in methods else ""
        why = f"Learned: {'; '.join(which)}.{ilasp}"
        paper = f"0 of {wanted} runs"
        return judged(claim, paper, ours, verdict, missing=missing, why=why, refuted=bool(learned))

    return judge


def _times(learned: Sequence[Result], task: str, method: str) -> str:
    """In how many runs a method learned a task, and how long that took; nothing, if it never did."""
    mine = [r for r in learned if r.tasks[0].task == task and method_of(r) == method]
    mean = mean_of(run.learner_seconds for run in mine)
    return "" if mean is None else f"{METHODS[method]} ({len(mine)} runs, {mean.value:,.1f} s)"


def _faster_with_calls(results: Sequence[Result]) -> Finding:
    task = "milk-bucket"
    times: dict[str, float] = {}
    missing = []
    for method in METHODS:
        runs = [r for r in results if r.setting == "op" and r.command != "train" and method_of(r) == method]
        mine = [t for r in runs if published_table_of(r) in _OF_FLAT_TABLE for t in r.tasks if t.task == task]
        mean = mean_of(t.number("time_s") for t in mine if t.has_machine)
        times |= {} if mean is None else {method: mean.value}
        missing += [f"{METHODS[method]}{some_of(len(mine), RUNS)}"] if len(mine) < RUNS else []
    published = {method: published_flat("craftworld", task, method) for method in METHODS}
    paper = ", ".join(
        f"{METHODS[name]} {row.numbers['time_s'].value:g} s" for name, row in published.items() if row is not None
    )
    ours = ", ".join(f"{METHODS[method]} {value:.2g} s" for method, value in times.items())
    with_calls = times.get(WITH_CALLS)
    faster = [method for method, value in times.items() if with_calls is not None and value < with_calls]
    verdict = OPEN if with_calls is None or len(times) == 1 else FAILS if faster else HOLDS
    claim = "A machine with calls is learned faster than a flat one by any learner (OP milk-bucket)"
    why = f"Faster: {', '.join(METHODS[method] for method in faster)}."
    return judged(claim, paper, ours, verdict, missing=missing, why=why)


# -- a single trace


def _single_trace(results: Sequence[Result]) -> Finding:
    late: dict[str, str] = {}
    missing, in_time = [], []
    for setting in _CRAFTWORLD:
        runs = [r for r in results if r.command == "learn" and "goals=1" in r.settings and r.setting == setting]
        interrupted = sum(not run.is_complete for run in runs)
        late |= {setting: f"{setting.upper()} {interrupted} of {len(runs)}"} if runs else {}
        missing += [f"{setting.upper()}{some_of(len(runs), RUNS)}"] if len(runs) < RUNS else []
        in_time += [setting.upper()] if len(runs) >= RUNS and not interrupted else []
    verdict = OPEN if not late else FAILS if in_time else HOLDS
    claim = "Learning the first machines from a single goal trace runs out of time in CraftWorld"
    why = f"No run ran out of time in {', '.join(in_time)}."
    ours = ", ".join(late.values())
    return judged(claim, "in all settings", ours, verdict, missing=missing, why=why, refuted=bool(in_time))


CLAIMS: Final[dict[str, Claim]] = {
    "restricted-time": _restricted(
        "Restricted callables make learning machines 5 to 7 times faster in CraftWorld",
        "5 to 7 ×", _CRAFTWORLD, "time_s", 5.0,
    ),
    "restricted-calls": _restricted(
        "Restricted callables need 20 % fewer calls of the learner in CraftWorld",
        "20 % fewer", _CRAFTWORLD, "calls", 1 / (1 - 0.2),
    ),
    "restricted-time-waterworld": _restricted(
        "Restricted callables make learning machines 1.5 times faster in WaterWorld",
        "1.5 ×", _WATERWORLD, "time_s", 1.5,
    ),
    "options-frl": _options_in("frl", 128.1, "milk-bucket"),
    "options-opl": _options_in("opl", 53.1),
    "options-wd": _options_in("wd", 10.1),
    "hierarchy-first": hierarchy_first("our", ""),
    "published-hierarchy-first": hierarchy_first("the authors'", "@published"),
    "flat-infeasible": _never_flat(
        "LHRM cannot learn flat machines of composed tasks in time",
        WITHOUT_CALLS[:1], ("book", "book-quill", "cake", "rg&bc", "rgb&cmy"),
    ),
    "flat-learners": _never_flat(
        "No flat learner learns rg&bc or rgb&cmy in time", WITHOUT_CALLS, ("rg&bc", "rgb&cmy")
    ),
    "faster-with-calls": _faster_with_calls,
    "single-trace": _single_trace,
}  # fmt: skip
"""Claims by the names that studies use."""
