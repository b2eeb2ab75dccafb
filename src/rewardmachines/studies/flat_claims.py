"""Claims about learning machines without calls, by LHRM and by other learners."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rewardmachines.library.published import RUNS
from rewardmachines.studies.aggregate import Mean
from rewardmachines.studies.evidence import Evidence, FlatEvidence, some_of
from rewardmachines.studies.tables import METHODS, WITH_CALLS, WITHOUT_CALLS
from rewardmachines.studies.verdicts import (
    FAILS,
    HOLDS,
    OPEN,
    Judgement,
    Ratio,
    limit_verdict,
    order_verdict,
    size_verdict,
    worst,
)


def never_learned(evidence: Evidence, methods: Sequence[str], tasks: Sequence[str]) -> Judgement:
    """Whether learners without calls fail in all runs of some tasks."""
    cells = {(task, method): evidence.flat(task, method) for task in tasks for method in methods}
    runs, learned = (sum(getattr(cell, name) for cell in cells.values()) for name in ("runs", "learned"))
    wanted = RUNS * len(cells)
    missing = [f"{wanted - runs} of {wanted} runs"] if runs < wanted else []
    stopped = sum(cell.stopped for cell in cells.values())
    missing += [f"{stopped} of them ended early with a wrong machine"] if stopped and missing else []
    return Judgement(
        shown=f"{learned} of {runs} runs learned one" if runs else "",
        verdict=OPEN if not runs else FAILS if learned else HOLDS,
        why=_learned_by(cells) if learned else "",
        missing=tuple(missing),
        is_refuted=learned > 0,
    )


def _learned_by(cells: Mapping[tuple[str, str], FlatEvidence]) -> str:
    """The tasks that each learner learned, in how many runs, and in what time."""
    by_task: dict[str, list[str]] = {}
    for (task, method), cell in cells.items():
        if cell.learned:
            time = f", {cell.numbers['time_s'].value:,.1f} s" if "time_s" in cell.numbers else ""
            runs = f"{cell.learned} run{'' if cell.learned == 1 else 's'}"
            by_task.setdefault(task, []).append(f"{METHODS[method]} ({runs}{time})")
    which = "; ".join(f"{task} by {' and '.join(names)}" for task, names in by_task.items())
    ours = WITHOUT_CALLS[0] in {method for (_, method), cell in cells.items() if cell.learned}
    ilasp = " Our LHRM has another learner than the paper's, which is ILASP." if ours else ""
    return f"Learned: {which}.{ilasp}"


def faster_with_calls(evidence: Evidence, task: str) -> Judgement:
    """Whether LHRM with calls learns a task in less time than every learner without."""
    cells = {method: evidence.flat(task, method) for method in METHODS}
    times = {method: cell.numbers["time_s"] for method, cell in cells.items() if "time_s" in cell.numbers}
    with_calls = times.get(WITH_CALLS)
    others = {} if with_calls is None else {name: time for name, time in times.items() if name != WITH_CALLS}
    verdicts = {name: order_verdict(with_calls, time) for name, time in others.items() if with_calls is not None}
    faster = [METHODS[name] for name, verdict in verdicts.items() if verdict != HOLDS]
    return Judgement(
        shown=", ".join(f"{METHODS[method]} {time.value:.3g} s" for method, time in times.items()),
        verdict=worst(verdicts.values()),
        why=f"As fast, or faster: {', '.join(faster)}." if faster else "",
        missing=_missing(cells),
    )


def same_machine(evidence: Evidence, task: str, methods: Sequence[str], states: int) -> Judgement:
    """Whether learners find a machine of as many states as the minimal one, and of edges that are nearly as many."""
    cells = {method: evidence.flat(task, method) for method in methods}
    known = {method: cell.numbers for method, cell in cells.items() if {"states", "edges"} <= cell.numbers.keys()}
    edges = [numbers["edges"].value for numbers in known.values()]
    wrong = [METHODS[m] for m, numbers in known.items() if _differs(numbers["states"], states)]
    differ = bool(edges) and max(edges) - min(edges) >= 1  # in most runs none is superfluous
    why = f"Not minimal: {', '.join(wrong)}." if wrong else "Edges differ." if differ else ""
    return Judgement(
        shown=", ".join(f"{METHODS[method]} {_sizes(numbers)}" for method, numbers in known.items()),
        verdict=OPEN if len(known) < len(methods) else FAILS if why else HOLDS,
        why=why,
        missing=_missing(cells),
        is_refuted=bool(wrong),
    )


def large_machines(
    evidence: Evidence, task: str, method: str, minimal: Mapping[str, int], stated: Mapping[str, float]
) -> Judgement:
    """Whether the machines of a learner are far larger than needed.

    Args:
        evidence: The evidence.
        task: A task.
        method: The learner.
        minimal: The minimal numbers of states and edges, by column.
        stated: The numbers that the paper states, by column.
    """
    cell = evidence.flat(task, method)
    known = {column: cell.numbers[column] for column in minimal if column in cell.numbers}
    verdicts = {
        column: size_verdict([Ratio.of(mean, Mean(minimal[column], 0.0, RUNS))], stated[column] / minimal[column])
        for column, mean in known.items()
    }
    small = [column for column, verdict in verdicts.items() if verdict != HOLDS]
    return Judgement(
        shown=_sizes(known),
        verdict=worst(verdicts.values()),
        why=f"There are fewer {' and '.join(small)}." if small else "",
        missing=_missing({method: cell}),
    )


def in_time(evidence: Evidence, limits: Mapping[str, float]) -> Judgement:
    """Whether LHRM with calls learns tasks within some seconds each."""
    cells = {task: evidence.flat(task, WITH_CALLS) for task in limits}
    times = {task: cell.numbers["time_s"] for task, cell in cells.items() if "time_s" in cell.numbers}
    late = [task for task, time in times.items() if limit_verdict(time, limits[task]) == FAILS]
    never = [task for task, cell in cells.items() if cell.learned < cell.runs]
    why = [f"Longer: {', '.join(late)}."] if late else []
    why += [f"Not learned in every run: {', '.join(never)}."] if never else []
    return Judgement(
        shown=", ".join(f"{task} {time.value:.3g} s" for task, time in times.items()),
        verdict=OPEN if not times else FAILS if why else HOLDS,
        why=" ".join(why),
        missing=tuple(f"{task}{some_of(cell.runs)}" for task, cell in cells.items() if cell.runs < RUNS),
    )


def _differs(mean: Mean, wanted: int) -> bool:
    return abs(mean.value - wanted) > mean.error


def _sizes(numbers: Mapping[str, Mean]) -> str:
    return " and ".join(f"{numbers[c].value:.1f} {c}" for c in ("states", "edges") if c in numbers)


def _missing(cells: Mapping[str, FlatEvidence]) -> tuple[str, ...]:
    return tuple(f"{METHODS[method]}{some_of(cell.runs)}" for method, cell in cells.items() if cell.runs < RUNS)
