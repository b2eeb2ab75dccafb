"""All of a run that is not on the device, as a record that JSON can hold, and a run put back where it was.

The arrays of `Knowledge` are not among it: they are written again, from the machines, the labels and the formulas that
the registry was told, in the same order, and come out the same.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rewardmachines.agents.options.tables import OptionCapacity
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.formula import Conjunction, Label
from rewardmachines.files import dump_traces, loads, loads_traces, plain
from rewardmachines.learning.oracles import trace_order
from rewardmachines.lhrm.algorithm import Lhrm
from rewardmachines.lhrm.chunk_metrics import Tally
from rewardmachines.lhrm.examples import Examples
from rewardmachines.lhrm.induction import Learning, Setback
from rewardmachines.lhrm.machine_pool import Pool
from rewardmachines.lhrm.option_registry import OptionRegistry
from rewardmachines.lowered import Capacity


@dataclass(frozen=True)
class Change:
    """What the registry was told: a formula, or a label, for which `forbidden` is None."""

    required: tuple[str, ...]
    forbidden: tuple[str, ...] | None


@dataclass(frozen=True)
class SetbackRecord:
    """A task's `Setback`; traces are as trace files have them."""

    message: str
    traces: str
    is_final: bool
    attempts: int
    fresh: str


@dataclass(frozen=True)
class LearningRecord:
    """A task's `Learning`; how many traces it wants is a setting, and traces are as trace files have them."""

    task: str
    goals: str
    vain: int
    traces: str
    calls: int
    seconds: float
    learned: int
    refuted: tuple[int, ...]
    space: str
    setback: SetbackRecord | None
    first: int | None
    """Episodes from the beginning of its level to the first machine."""


@dataclass(frozen=True)
class Snapshot:
    tally: Tally
    recent: tuple[tuple[tuple[float, ...], ...], ...]
    activated: tuple[int, ...]
    """By level: each begins after the one before it."""
    level: int
    running: tuple[tuple[float, ...], ...]
    dropped: tuple[int, ...]
    revisited: tuple[int, ...]
    learned: tuple[str, ...]
    machines: str
    """A machine file with those of all tasks, learned or not."""
    learnings: tuple[LearningRecord, ...]
    changes: tuple[Change, ...]
    fatal: tuple[tuple[str, ...], ...]
    """Labels."""
    contexts: tuple[Change, ...]
    """By number."""
    room: Capacity
    option_room: OptionCapacity
    chance: str
    """The state of the generator."""


# -- taken


def take_snapshot(run: Lhrm) -> Snapshot:
    """Between two chunks."""
    return Snapshot(
        replace(run.tally),
        tuple(tuple(tuple(map(float, row)) for row in returns) for returns in run.recent),
        tuple(run.activated[level] for level in sorted(run.activated)),
        run.curriculum.level,
        run.curriculum.running,
        run.curriculum.dropped,
        run.curriculum.revisited,
        tuple(run.pool.learned),
        json.dumps(plain(run.pool.hierarchy(run.tasks[0]))),
        tuple(_record(name, learning, run.first.get(name)) for name, learning in run.learnings.items()),
        tuple(map(_change, run.registry.changes)),
        tuple(sorted(tuple(sorted(label)) for label in run.registry.fatal)),
        tuple(map(_change, run.registry.contexts)),
        run.registry.room,
        run.registry.option_room,
        json.dumps(run.chance.bit_generator.state),
    )


def _record(name: str, learning: Learning, first: int | None) -> LearningRecord:
    goals = sorted(learning.examples.goals, key=trace_order)
    return LearningRecord(
        name,
        dump_traces(goals),
        learning.examples.vain,
        dump_traces(learning.examples.traces),
        learning.calls,
        learning.seconds,
        learning.learned,
        learning.refuted,
        learning.space,
        None if learning.setback is None else _setback_record(learning.setback),
        first,
    )


def _setback_record(setback: Setback) -> SetbackRecord:
    fresh = sorted(setback.fresh, key=trace_order)
    return SetbackRecord(
        setback.message, dump_traces(setback.traces), setback.is_final, setback.attempts, dump_traces(fresh)
    )


def _change(change: Label | Conjunction) -> Change:
    if isinstance(change, Conjunction):
        return Change(tuple(sorted(change.required)), tuple(sorted(change.forbidden)))
    return Change(tuple(sorted(change)), None)


# -- restored


def restore(run: Lhrm, snapshot: Snapshot, where: str) -> None:
    """Puts a run that has just begun where the snapshot was taken, but for its arrays."""
    _check(run, snapshot, where)
    run.tally = replace(snapshot.tally)
    run.recent = [np.array(returns) for returns in snapshot.recent]
    run.activated = dict(enumerate(snapshot.activated, start=1))
    run.first = {record.task: record.first for record in snapshot.learnings if record.first is not None}
    run.curriculum = replace(
        run.curriculum,
        level=snapshot.level,
        running=snapshot.running,
        dropped=snapshot.dropped,
        revisited=snapshot.revisited,
    )
    run.machines.pool = _pool(run.pool, snapshot, where)
    run.machines.learnings = {
        record.task: _learning(record, run.learnings[record.task].examples, where) for record in snapshot.learnings
    }
    run.registry = _registry(snapshot)
    run.chance.bit_generator.state = _generator(snapshot.chance, where)


def _check(run: Lhrm, snapshot: Snapshot, where: str) -> None:
    tasks = tuple(record.task for record in snapshot.learnings)
    instances = [run.worlds.instances] * len(run.tasks)
    if (
        tasks != run.tasks
        or any([len(row) for row in returns] != instances for returns in (*snapshot.recent, snapshot.running))
        or not {*snapshot.dropped, *snapshot.revisited} <= set(range(len(tasks)))
        or not set(snapshot.learned) <= set(tasks)
    ):
        raise RewardMachineError(f"{where}: damaged, it speaks of other tasks or instances than the run")


def _pool(empty: Pool, snapshot: Snapshot, where: str) -> Pool:
    found = loads(snapshot.machines, f"{where}, machines")
    if missing := set(snapshot.learned) - {machine.name for machine in found.machines}:
        raise RewardMachineError(f"{where}: damaged, it lacks the machine '{min(missing)}'")
    return replace(empty, learned={name: found[name] for name in snapshot.learned})


def _learning(record: LearningRecord, empty: Examples, where: str) -> Learning:
    place = f"{where}, examples of '{record.task}'"
    examples = replace(
        empty,
        goals=frozenset(loads_traces(record.goals, place)),
        vain=record.vain,
        traces=tuple(loads_traces(record.traces, place)),
    )
    return Learning(
        examples,
        record.calls,
        record.seconds,
        record.learned,
        record.refuted,
        record.space,
        None if record.setback is None else _setback(record.setback, place),
    )


def _setback(record: SetbackRecord, place: str) -> Setback:
    return Setback(
        record.message,
        tuple(loads_traces(record.traces, place)),
        record.is_final,
        record.attempts,
        frozenset(loads_traces(record.fresh, place)),
    )


def _registry(snapshot: Snapshot) -> OptionRegistry:
    contexts = tuple(context for context in map(_told, snapshot.contexts) if isinstance(context, Conjunction))
    fatal = frozenset(map(frozenset, snapshot.fatal))
    registry = OptionRegistry(room=snapshot.room, option_room=snapshot.option_room, contexts=contexts, fatal=fatal)
    registry.tell_again(map(_told, snapshot.changes))
    return registry


def _told(change: Change) -> Label | Conjunction:
    required = frozenset(change.required)
    return required if change.forbidden is None else Conjunction(required, frozenset(change.forbidden))


def _generator(text: str, where: str) -> Any:
    try:
        state = json.loads(text)
        np.random.PCG64().state = state
    except (ValueError, TypeError, KeyError):
        raise RewardMachineError(f"{where}: damaged, the state of its chance cannot be read") from None
    return state
