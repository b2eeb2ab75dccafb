"""Claims about learning hierarchies: what dead ends, callables and exploration change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Final

from rewardmachines.core.flattening import flatten
from rewardmachines.core.sizes import Size, size
from rewardmachines.library.figures import exponential_family
from rewardmachines.library.published import RUNS, PublishedTable
from rewardmachines.studies.evidence import (
    CRAFTWORLD,
    WATERWORLD,
    Evidence,
    Late,
    Relearned,
    evidence_of_paper,
    missing_experiments,
    some_of,
)
from rewardmachines.studies.verdicts import (
    FAILS,
    HOLDS,
    OPEN,
    WEAKER,
    Judgement,
    Ratio,
    limit_verdict,
    order_verdict,
    size_verdict,
    worst,
)

_DEFAULT: Final = (PublishedTable.DEFAULT,)
_EXPLORATION: Final = (PublishedTable.DEFAULT, PublishedTable.PRIMITIVE)
_CALLABLES: Final = (PublishedTable.DEFAULT, PublishedTable.RESTRICTED)
_HEIGHTS: Final = range(1, 9)


# -- restricted callables


def restricted(evidence: Evidence, settings: Sequence[str], column: str, stated: float) -> Judgement:
    """The ratio of the default's cost to that of restricted callables.

    Args:
        evidence: The evidence.
        settings: The settings in which the claim is made.
        column: `time_s` or `calls`.
        stated: The least ratio, as the paper states it.
    """
    ratios: dict[str, Ratio] = {}
    for setting in settings:
        default, fewer = (evidence.total(table, setting, column) for table in _CALLABLES)
        if default is not None and fewer is not None and fewer.value:
            ratios[setting] = Ratio.of(default, fewer)
    whole = [setting for setting in ratios if not missing_experiments(evidence, _CALLABLES, [setting])]
    verdict = size_verdict(ratios.values(), stated)
    return Judgement(
        shown=", ".join(f"{setting.upper()} {_saving(column, ratio)}" for setting, ratio in ratios.items()),
        verdict=verdict,
        why=_little_to_save(evidence, ratios, column) if verdict in (WEAKER, FAILS) else "",
        missing=tuple(missing_experiments(evidence, _CALLABLES, settings)),
        is_refuted=any(ratios[setting].value <= 1 for setting in whole),
    )


def _saving(column: str, ratio: Ratio) -> str:
    return str(ratio) if column == "time_s" else f"{100 * (1 - 1 / ratio.value):.0f} %"


def _little_to_save(evidence: Evidence, ratios: Mapping[str, Ratio], column: str) -> str:
    """By how much our learner is ahead of the paper's before anything is restricted, where restrictions help least."""
    setting = min(ratios, key=lambda name: ratios[name].value)
    ours, paper = (each.total(PublishedTable.DEFAULT, setting, column) for each in (evidence, evidence_of_paper()))
    if ours is None or paper is None:
        return ""
    if column == "time_s":
        return (
            f"Our learner takes {ours.value:.1f} s for all machines of {setting.upper()} without restrictions, the "
            f"paper's {paper.value:,.0f} s: searches that are short anyway gain little from fewer callables."
        )
    return (
        f"Our learner needs {ours.value:.0f} calls for all machines of {setting.upper()} without restrictions, the "
        f"paper's {paper.value:.0f}: there are fewer to save."
    )


# -- what makes learning take longer


def dead_ends_take_longer(evidence: Evidence) -> Judgement:
    """Whether every setting with dead ends takes longer than the same without."""
    pairs = (("op", "opl"), ("fr", "frl"), ("wod", "wd"))
    settings = [setting for pair in pairs for setting in pair]
    times = {s: mean for s in settings if (mean := evidence.total(PublishedTable.DEFAULT, s, "time_s")) is not None}
    known = [(without, dead) for without, dead in pairs if without in times and dead in times]
    verdicts = {dead: order_verdict(times[without], times[dead]) for without, dead in known}
    wrong = [dead.upper() for dead, verdict in verdicts.items() if verdict != HOLDS]
    return Judgement(
        shown=", ".join(f"{s.upper()} {times[s].value:,.1f} s" for pair in known for s in pair),
        verdict=worst(verdicts.values()),
        why=f"No longer in {', '.join(wrong)}." if wrong else "",
        missing=tuple(missing_experiments(evidence, _DEFAULT, settings)),
    )


def alike(evidence: Evidence, first: str, second: str, limit: float) -> Judgement:
    """Whether two settings take about as long, neither more than some times as long as the other."""
    means = [evidence.total(PublishedTable.DEFAULT, setting, "time_s") for setting in (first, second)]
    missing = tuple(missing_experiments(evidence, _DEFAULT, (first, second)))
    known = sorted((mean for mean in means if mean is not None), key=lambda mean: mean.value)
    if len(known) < len(means) or not known[0].value:
        return Judgement("", OPEN, missing=missing)
    ratio = Ratio.of(known[1], known[0])
    verdict = limit_verdict(ratio, limit)
    why = "" if verdict == HOLDS else f"One takes {ratio.value:.1f} times as long as the other."
    names = zip((first, second), means, strict=True)
    shown = ", ".join(f"{setting.upper()} {mean.value:,.1f} s" for setting, mean in names if mean is not None)
    return Judgement(shown, verdict, why, missing)


def waterworld_is_faster(evidence: Evidence) -> Judgement:
    """Whether all settings of WaterWorld take less time than any of CraftWorld."""
    settings = (*WATERWORLD, *CRAFTWORLD)
    times = {s: mean for s in settings if (mean := evidence.total(PublishedTable.DEFAULT, s, "time_s")) is not None}
    pairs = [(water, craft) for water in WATERWORLD for craft in CRAFTWORLD if water in times and craft in times]
    verdicts = {pair: order_verdict(*(times[setting] for setting in pair)) for pair in pairs}
    wrong = [f"{water.upper()} and {craft.upper()}" for (water, craft), v in verdicts.items() if v != HOLDS]
    return Judgement(
        shown=", ".join(f"{setting.upper()} {mean.value:,.1f} s" for setting, mean in times.items()),
        verdict=worst(verdicts.values()),
        why=f"Not so for {'; '.join(wrong)}." if wrong else "",
        missing=tuple(missing_experiments(evidence, _DEFAULT, settings)),
    )


# -- exploration with options


def options_help(evidence: Evidence, setting: str, stated: float, only: str | None = None) -> Judgement:
    """The ratio of episodes until the first machine, primitive actions to options, above level 1.

    Args:
        evidence: The evidence.
        setting: A setting.
        stated: The ratio, as the paper states it.
        only: The only task that is looked at; the mean over all tasks, if not given.
    """
    ratios, never = _episode_ratios(evidence, setting, only)
    missing = missing_experiments(evidence, _EXPLORATION, [setting])
    if not ratios:
        without = [f"a machine with primitive actions of {', '.join(never)}"] if never and not missing else []
        return Judgement("", OPEN, missing=(*missing, *without))
    mean = Ratio.mean(list(ratios.values()))
    verdict = size_verdict([mean], stated)
    why = _episodes_needed(evidence, setting, list(ratios)) + _without_ratio(never)
    shown = f"{mean} ({len(ratios)} task{'' if len(ratios) == 1 else 's'})"
    return Judgement(shown, verdict, "" if verdict == HOLDS else why, tuple(missing))


def options_help_little(evidence: Evidence, settings: Sequence[str], limit: float) -> Judgement:
    """Whether primitive actions need only a few times as many episodes, in the mean over tasks above level 1."""
    means: dict[str, Ratio] = {}
    for setting in settings:
        ratios, _ = _episode_ratios(evidence, setting, None)
        means |= {setting: Ratio.mean(list(ratios.values()))} if ratios else {}
    verdicts = {setting: limit_verdict(mean, limit) for setting, mean in means.items()}
    large = [setting.upper() for setting, verdict in verdicts.items() if verdict == FAILS]
    return Judgement(
        shown=", ".join(f"{setting.upper()} {mean}" for setting, mean in means.items()),
        verdict=worst(verdicts.values()),
        why=f"They help much in {', '.join(large)}." if large else "",
        missing=tuple(missing_experiments(evidence, _EXPLORATION, settings)),
    )


def only_found(evidence: Evidence, setting: str, level: int, task: str) -> Judgement:
    """Whether primitive actions find goal traces enough of no other task of a level."""
    tasks = evidence.experiment(PublishedTable.PRIMITIVE, setting).tasks
    learned = {name: each.learned for name, each in tasks.items() if each.level == level and each.learned}
    others = [name for name in learned if name != task]
    missing = missing_experiments(evidence, (PublishedTable.PRIMITIVE,), [setting])
    never = [] if task in learned else [f"No run found {task}."]
    why = " ".join([f"Found, too: {', '.join(others)}."] if others else never)
    verdict = OPEN if not tasks else HOLDS if list(learned) == [task] else FAILS
    shown = ", ".join(f"{name} in {some_of(count).strip(' ()')}" for name, count in learned.items())
    return Judgement(shown, verdict, why, tuple(missing), is_refuted=bool(others))


def _episode_ratios(evidence: Evidence, setting: str, only: str | None) -> tuple[dict[str, Ratio], list[str]]:
    """By task above level 1, how many times more episodes actions need; and tasks of which they find no machine."""
    options, actions = (evidence.experiment(table, setting).tasks for table in _EXPLORATION)
    column = "first_hrm_episodes"
    ratios, never = {}, []
    for name, task in options.items():
        first = task.numbers.get(column)
        if task.level > 1 and only in (None, name) and first is not None and first.value:
            slow = actions[name].numbers.get(column) if name in actions else None
            if slow is None:
                never.append(name)
            else:
                ratios[name] = Ratio.of(slow, first)
    return ratios, never if actions else []


def _episodes_needed(evidence: Evidence, setting: str, tasks: Sequence[str]) -> str:
    """The episodes to the first machine, ours and the paper's, in the mean over tasks."""

    def mean(source: Evidence, table: PublishedTable) -> str:
        known = source.experiment(table, setting).tasks
        numbers = [known[task].numbers.get("first_hrm_episodes") for task in tasks if task in known]
        values = [number.value for number in numbers if number is not None]
        return f"{fmean(values):,.0f}" if values else "none"

    parts = [
        f"{name} {mean(evidence, table)} (paper {mean(evidence_of_paper(), table)})"
        for name, table in zip(("options", "actions"), _EXPLORATION, strict=True)
    ]
    return f"Episodes to the first machine, mean over tasks: {', '.join(parts)}."


def _without_ratio(never: Sequence[str]) -> str:
    return f" Actions led to no machine of {', '.join(never)}, which do not count." if never else ""


# -- a single trace, machines that are learned again, and the sizes of flat machines


def single_trace(evidence: Evidence) -> Judgement:
    """Whether runs from a single goal trace run out of time in every setting of CraftWorld."""
    late = {setting: evidence.late.get(setting, Late()) for setting in CRAFTWORLD}
    begun = {setting: each for setting, each in late.items() if each.runs}
    in_time = [setting.upper() for setting, each in begun.items() if each.runs >= RUNS and not each.late]
    return Judgement(
        shown=", ".join(f"{setting.upper()} {each.late} of {each.runs}" for setting, each in begun.items()),
        verdict=OPEN if not begun else FAILS if in_time else HOLDS,
        why=f"No run ran out of time in {', '.join(in_time)}." if in_time else "",
        missing=tuple(f"{s.upper()}{some_of(each.runs)}" for s, each in late.items() if each.runs < RUNS),
        is_refuted=bool(in_time),
    )


def decays(evidence: Evidence, setting: str, task: str) -> Judgement:
    """Whether the return of a task falls when a machine of a lower level is learned again."""
    seen = evidence.relearned.get((setting, task), Relearned())
    missing = [f"where machines were learned, {setting.upper()}{some_of(seen.runs)}"] if seen.runs < RUNS else []
    if not seen.events:
        never = ["a machine that is learned again while the task is active"] if not missing else []
        return Judgement("", OPEN, missing=(*missing, *never))
    verdict = HOLDS if seen.decays == seen.events else WEAKER if seen.decays else FAILS
    why = "" if verdict == HOLDS else f"It stayed in {seen.events - seen.decays} of {seen.events} cases."
    return Judgement(f"{seen.decays} of {seen.events} times", verdict, why, tuple(missing))


def exponential_sizes(evidence: Evidence) -> Judgement:
    """Whether flat machines of Theorem 2's family have 2^h + 1 states and 2^h edges, hierarchies 3h and 2h."""
    del evidence  # it is computed
    families = {height: exponential_family(height) for height in _HEIGHTS}
    sizes = {height: (size(family), size(flatten(family))) for height, family in families.items()}
    wrong = [
        str(height)
        for height, found in sizes.items()
        if found != (Size(3 * height, 2 * height), Size(2**height + 1, 2**height))
    ]
    shown = ", ".join(str(flat.states) for _, flat in sizes.values())
    why = f"Otherwise with height {', '.join(wrong)}." if wrong else ""
    return Judgement(f"flat {shown} states with heights up to {max(sizes)}", FAILS if wrong else HOLDS, why)
