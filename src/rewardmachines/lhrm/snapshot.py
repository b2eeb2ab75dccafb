"""Snapshots of LHRM: all of its state that is not on the device, as a record that JSON can hold, and how to restore it.

The arrays of `Knowledge` are not part of a snapshot. They are computed again from the machines, and from the labels and
formulas that the registry of options has received. In the same order, these give the same arrays.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

import numpy as np

from rewardmachines.agents.options.tables import OptionCapacity
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.formula import Conjunction, Label
from rewardmachines.files import dump_traces, loads, loads_traces, plain
from rewardmachines.learning.oracles import trace_order
from rewardmachines.lhrm.algorithm import Lhrm
from rewardmachines.lhrm.chunk_metrics import Tally
from rewardmachines.lhrm.examples import Examples
from rewardmachines.lhrm.induction import Learning
from rewardmachines.lhrm.machine_pool import Pool
from rewardmachines.lhrm.option_registry import OptionRegistry
from rewardmachines.lhrm.setbacks import Setback
from rewardmachines.lowered import Capacity
from rewardmachines.runs.random_state import set_state, state_text
from rewardmachines.runs.records import added


@dataclass(frozen=True)
class ChangeRecord:
    """A change of the registry of options: a formula or a label that it has received."""

    required: tuple[str, ...]
    """The propositions that the formula requires, or those of the label."""
    forbidden: tuple[str, ...] | None
    """The propositions that the formula forbids; None for a label."""


@dataclass(frozen=True)
class SetbackRecord:
    """The `Setback` of a task, with traces in the format of trace files."""

    message: str
    traces: str
    is_final: bool
    attempts: int
    fresh: str


@dataclass(frozen=True)
class LearningRecord:
    """The `Learning` of a task, with traces in the format of trace files, and without what is a setting of the run."""

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
    """Episodes from the beginning of the task's level to its first machine, if there is one."""
    tried: int = added(0)
    """Episodes of the task that have ended since its machine was learned."""


@dataclass(frozen=True)
class Snapshot:
    """All of the state of a run of LHRM that is not on the device."""

    tally: Tally
    """The counts of the run."""
    recent: tuple[tuple[tuple[float, ...], ...], ...]
    """The returns of the last evaluations, by task and instance."""
    activated: tuple[int, ...]
    """The number of episodes after which each level began, from the first level."""
    level: int
    """The present level of the curriculum."""
    running: tuple[tuple[float, ...], ...]
    """The running returns of the curriculum, by task and instance."""
    dropped: tuple[int, ...]
    """The indices of tasks that were given up, for which levels do not wait."""
    revisited: tuple[int, ...]
    """The indices of tasks that were given up but may be learned from new examples."""
    learned: tuple[str, ...]
    """The names of the tasks that have a learned machine."""
    machines: str
    """A machine file with the machines of all tasks, learned or not."""
    learnings: tuple[LearningRecord, ...]
    """How the machine of each task was learned."""
    changes: tuple[ChangeRecord, ...]
    """The labels and formulas that the registry of options has received, in order."""
    fatal: tuple[tuple[str, ...], ...]
    """The labels at which episodes have ended in dead ends."""
    contexts: tuple[ChangeRecord, ...]
    """The contexts of calls, in the order of their numbers."""
    room: Capacity
    """The sizes of the arrays of machines."""
    option_room: OptionCapacity
    """The sizes of the arrays of options."""
    chance: str
    """The state of the random generator, as JSON."""


# -- taking a snapshot


def take_snapshot(run: Lhrm) -> Snapshot:
    """Takes a snapshot of a run between two chunks."""
    return Snapshot(
        tally=replace(run.tally),
        recent=tuple(tuple(tuple(map(float, row)) for row in returns) for returns in run.recent),
        activated=tuple(run.activated[level] for level in sorted(run.activated)),
        level=run.curriculum.level,
        running=run.curriculum.running,
        dropped=run.curriculum.dropped,
        revisited=run.curriculum.revisited,
        learned=tuple(run.pool.learned),
        machines=json.dumps(plain(run.pool.hierarchy(run.tasks[0]))),
        learnings=tuple(_record(name, learning, run.first.get(name)) for name, learning in run.learnings.items()),
        changes=tuple(map(_change_record, run.registry.changes)),
        fatal=tuple(sorted(tuple(sorted(label)) for label in run.registry.fatal)),
        contexts=tuple(map(_change_record, run.registry.contexts)),
        room=run.registry.room,
        option_room=run.registry.option_room,
        chance=state_text(run.chance),
    )


def _record(name: str, learning: Learning, first: int | None) -> LearningRecord:
    goals = sorted(learning.examples.goals, key=trace_order)
    return LearningRecord(
        task=name,
        goals=dump_traces(goals),
        vain=learning.examples.vain,
        traces=dump_traces(learning.examples.traces),
        calls=learning.calls,
        seconds=learning.seconds,
        learned=learning.learned,
        refuted=learning.refuted,
        space=learning.space,
        setback=None if learning.setback is None else _setback_record(learning.setback),
        first=first,
        tried=learning.tried,
    )


def _setback_record(setback: Setback) -> SetbackRecord:
    fresh = sorted(setback.fresh, key=trace_order)
    return SetbackRecord(
        message=setback.message,
        traces=dump_traces(setback.traces),
        is_final=setback.is_final,
        attempts=setback.attempts,
        fresh=dump_traces(fresh),
    )


def _change_record(change: Label | Conjunction) -> ChangeRecord:
    if isinstance(change, Conjunction):
        return ChangeRecord(tuple(sorted(change.required)), tuple(sorted(change.forbidden)))
    return ChangeRecord(tuple(sorted(change)), None)


# -- restoring a snapshot


def restore(run: Lhrm, snapshot: Snapshot, where: str) -> None:
    """Restores the state of a snapshot, except for the arrays on the device.

    Args:
        run: The algorithm with the settings of the run, which has just begun.
        snapshot: The snapshot.
        where: The text with which error messages begin.

    Raises:
        RewardMachineError: The snapshot is damaged, or belongs to another run.
    """
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
    set_state(run.chance, snapshot.chance, where)


def _check(run: Lhrm, snapshot: Snapshot, where: str) -> None:
    """Checks that a snapshot has the tasks and instances of the run."""
    tasks = tuple(record.task for record in snapshot.learnings)
    evaluated, trained = ([count] * len(run.tasks) for count in (run.worlds.instances, run.worlds.curriculum_instances))
    if (
        tasks != run.tasks
        or any([len(row) for row in returns] != evaluated for returns in snapshot.recent)
        or [len(row) for row in snapshot.running] != trained
        or not {*snapshot.dropped, *snapshot.revisited} <= set(range(len(tasks)))
        or not set(snapshot.learned) <= set(tasks)
    ):
        raise RewardMachineError(f"{where}: damaged, it speaks of other tasks or instances than the run")


def _pool(empty: Pool, snapshot: Snapshot, where: str) -> Pool:
    hierarchy = loads(snapshot.machines, f"{where}, machines")
    if missing := set(snapshot.learned) - {machine.name for machine in hierarchy.machines}:
        raise RewardMachineError(f"{where}: damaged, it lacks the machine '{min(missing)}'")
    return replace(empty, learned={name: hierarchy[name] for name in snapshot.learned})


def _learning(record: LearningRecord, empty: Examples, where: str) -> Learning:
    location = f"{where}, examples of '{record.task}'"
    examples = replace(
        empty,
        goals=frozenset(loads_traces(record.goals, location)),
        vain=record.vain,
        traces=tuple(loads_traces(record.traces, location)),
    )
    return Learning(
        examples=examples,
        calls=record.calls,
        seconds=record.seconds,
        learned=record.learned,
        refuted=record.refuted,
        space=record.space,
        setback=None if record.setback is None else _setback(record.setback, location),
        tried=record.tried,
    )


def _setback(record: SetbackRecord, location: str) -> Setback:
    return Setback(
        message=record.message,
        traces=tuple(loads_traces(record.traces, location)),
        is_final=record.is_final,
        attempts=record.attempts,
        fresh=frozenset(loads_traces(record.fresh, location)),
    )


def _registry(snapshot: Snapshot) -> OptionRegistry:
    contexts = tuple(
        context for context in map(_restored_change, snapshot.contexts) if isinstance(context, Conjunction)
    )
    fatal = frozenset(map(frozenset, snapshot.fatal))
    registry = OptionRegistry(room=snapshot.room, option_room=snapshot.option_room, contexts=contexts, fatal=fatal)
    registry.tell_again(map(_restored_change, snapshot.changes))
    return registry


def _restored_change(change: ChangeRecord) -> Label | Conjunction:
    required = frozenset(change.required)
    return required if change.forbidden is None else Conjunction(required, frozenset(change.forbidden))
