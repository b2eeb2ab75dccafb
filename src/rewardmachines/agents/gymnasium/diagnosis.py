"""Says in words why nothing is learned, and what to change: read off what the agent has seen and tried."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import jax
import numpy as np

from rewardmachines.agents.gymnasium.training import Setup
from rewardmachines.agents.hierarchical_dqn.state import AgentState
from rewardmachines.agents.options.menu import TRUE, joined
from rewardmachines.agents.replay import size_of
from rewardmachines.agents.setup import OptionPlan
from rewardmachines.core.formula import Conjunction, Label
from rewardmachines.files import write_aside
from rewardmachines.files.document import parse_json, read_text
from rewardmachines.runs.records import from_plain, to_plain

LEAST_STEPS: Final = 20_000
"""Before so many steps nothing is said: whatever is missing may still come."""
LEAST_TRIES: Final = 20
"""Before so many tries nothing is said about an option."""
LARGE_NUMBER: Final = 100.0
"""Observations with greater numbers than this are hard for a network."""
GOOD: Final = 0.8
"""The mean return with which there is nothing to say, if no other is asked for."""


class NotLearnedWarning(UserWarning):
    """Training has ended, or is getting nowhere, and something can be said about why."""


@dataclass(frozen=True)
class Finding:
    """Something that may keep an agent from learning."""

    what: str
    """What was seen."""
    advice: str
    """What to change."""

    def __str__(self) -> str:
        return f"{self.what}: {self.advice}"


@dataclass(frozen=True)
class Diagnosis:
    """Why a task is not learned, the most likely reason first. It is false if there is nothing to say."""

    findings: tuple[Finding, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.findings)

    def __str__(self) -> str:
        return "\n".join(f"- {finding}" for finding in self.findings) or "nothing to say"


NOTHING: Final = Diagnosis()
"""The diagnosis where there is nothing to say."""


@dataclass(frozen=True)
class Course:
    """How training went so far."""

    steps: int
    episodes: int
    goals: int
    """Episodes that reached the goal."""
    returned: float | None
    """The mean return of the last greedy episodes; None if there were none."""
    wanted: float = GOOD
    """The return that is good enough."""
    best: float | None = None
    """The highest mean return of greedy episodes so far; None if there were none."""
    cut_off: int = 0
    """Episodes that were cut off by a limit of steps: only these could have been longer."""

    @property
    def is_learned(self) -> bool:
        """Whether greedy episodes are good enough or, if there were none, most episodes reach the goal."""
        returned = self.goals / max(self.episodes, 1) if self.returned is None else self.returned
        return returned >= self.wanted


def write_diagnosis(path: Path, diagnosis: Diagnosis) -> None:
    """Writes what was found to a file of JSON; if there is nothing to say, the file says so."""
    write_aside(path, json.dumps(to_plain(diagnosis), indent=2) + "\n")


def read_diagnosis(path: Path) -> Diagnosis | None:
    """Reads what was written about a run; None if nothing was.

    Raises:
        SyntaxProblem: The file is damaged.
    """
    if not path.exists():
        return None
    found: Diagnosis = from_plain(Diagnosis, parse_json(read_text(path), str(path)), str(path))
    return found


def diagnose(setup: Setup, agent_state: Any, course: Course) -> Diagnosis:
    """Looks for reasons why a task is not learned.

    Args:
        setup: What does not change during training.
        agent_state: What the agent has learned and remembers.
        course: How training went so far.

    Returns:
        What was found; nothing if the task is learned, or if it is too early to tell.
    """
    if course.is_learned or course.steps < LEAST_STEPS:
        return NOTHING
    if findings := [*_numbers(agent_state), *_episodes(course)]:
        return Diagnosis(tuple(findings))
    seen = labels_in_memory(setup, agent_state)
    findings = [*unseen(setup.plan.hierarchy.used_propositions, seen, course.steps, cut_off=course.cut_off)]
    if isinstance(setup.plan, OptionPlan) and isinstance(agent_state, AgentState):
        findings += _options(setup.plan, agent_state, seen, course)
    return Diagnosis(tuple(findings or [_rest(course, setup.config)]))


def _numbers(agent_state: Any) -> Iterator[Finding]:
    """What is wrong with numbers: weights that are not finite, and observations that are too large."""
    largest = max((float(np.abs(x).max(initial=0)) for x in _remembered(agent_state)), default=0.0)
    networks = agent_state.formulas.online if isinstance(agent_state, AgentState) else agent_state.online
    if not all(np.isfinite(x).all() for x in jax.tree.leaves(networks)):
        yield Finding("weights of networks are not finite", "lower learning_rate, and scale observations to about 1")
    if largest > LARGE_NUMBER:
        yield Finding(
            f"observations have numbers as large as {largest:.3g}",
            "scale them to about 1, with encode or gymnasium.wrappers.TransformObservation",
        )


def _remembered(agent_state: Any) -> list[np.ndarray[Any, Any]]:
    """The moments in the replay memory, if they are numbers that a network is shown."""
    filled = min(int(agent_state.replay.written[0]), size_of(agent_state.replay))
    moments = [np.asarray(x[:filled]) for x in jax.tree.leaves(agent_state.replay.rows.before)]
    return [x for x in moments if x.dtype.kind == "f"]


def _episodes(course: Course) -> Iterator[Finding]:
    if not course.episodes:
        yield Finding(f"no episode has ended in {course.steps:,} steps", "cut them off earlier, with max_steps")


def labels_in_memory(setup: Setup, agent_state: Any) -> frozenset[Label]:
    """The labels of the steps in the replay memory."""
    filled = min(int(agent_state.replay.written[0]), size_of(agent_state.replay))
    rows = np.unique(np.asarray(agent_state.replay.rows.label[:filled]), axis=0)
    return frozenset(setup.codes.bits.decode(row) for row in rows)


def longer_episodes(cut_off: int) -> str:
    """The advice to make episodes longer, as the beginning of a list; nothing where episodes end by themselves.

    Args:
        cut_off: Episodes that were cut off by a limit of steps.
    """
    return "make episodes longer, " if cut_off else ""


def unseen(propositions: Iterable[str], seen: Iterable[Label], steps: int, *, cut_off: int) -> Iterator[Finding]:
    """Findings for propositions that a task speaks of and that were never observed.

    Args:
        propositions: Those of the task.
        seen: The labels that were seen.
        steps: How many steps there were.
        cut_off: How many episodes were cut off by a limit of steps.
    """
    known = frozenset[str]().union(*seen)
    for proposition in propositions:
        if proposition not in known:
            yield Finding(
                f"'{proposition}' was never observed in {steps:,} steps",
                "look at the labelling function (hrm labels); if random actions do not lead there, "
                f"{longer_episodes(cut_off)}raise persistence, or begin some episodes nearer to it",
            )


def _options(plan: OptionPlan, state: AgentState, seen: frozenset[Label], course: Course) -> Iterator[Finding]:
    """Findings for formulas that were never true, and for options that were tried and never achieved."""
    size = size_of(state.call_replay)
    written, ended = np.asarray(state.call_replay.written), np.asarray(state.calls.ended)
    rows = jax.tree.map(np.asarray, state.call_replay.rows)
    for number, name in enumerate(plan.lowered.machines):
        machine, outputs = plan.hierarchy[name], list(plan.menu.outputs[name])
        mine = slice(number * size, number * size + min(int(written[number]), size))
        moved = (rows.next_state[mine] != rows.state[mine]) | rows.is_accepted[mine]
        for u, state_name in enumerate(machine.states):
            tried = int(ended[number, u].sum())
            aims = [joined(TRUE, d) for edge in machine.outgoing(state_name) for d in edge.formula.ordered()]
            achieved = {outputs[o] for o in rows.output[mine][moved & (rows.state[mine] == u)]}
            if tried >= LEAST_TRIES and not achieved:
                tries = f"in state {state_name} of '{name}', {tried:,} options were tried"
                yield _never_achieved(tries, aims, seen, course.cut_off)


def _never_achieved(tries: str, aims: Sequence[Conjunction], seen: frozenset[Label], cut_off: int) -> Finding:
    """The finding that no option of a state has ever achieved its goal."""
    shown = " or ".join(f"'{aim}'" for aim in dict.fromkeys(map(str, aims)))
    what = f"{tries} and none achieved {shown}"
    if not any(aim.holds(label) for aim in aims for label in seen):
        return Finding(what, "no label ever satisfied it; see hrm labels")
    return Finding(
        what,
        f"{longer_episodes(cut_off)}explore for longer (annealing_steps, persistence), or raise discount; if the "
        "option before it ends where this one cannot go on, set lookahead to 1",
    )


def _rest(course: Course, config: Any) -> Finding:
    """What can be said where everything that the task needs has happened."""
    if not course.goals:
        return Finding(
            f"every part of the task was achieved, but never all of it in one of {course.episodes:,} episodes",
            f"{longer_episodes(course.cut_off)}train for longer, or set lookahead to 1",
        )
    returned, share = course.returned or 0.0, course.goals / course.episodes
    reached = f"the goal was reached in {share:.0%} of all episodes, and greedy ones return {returned:.2f}"
    if course.best is not None and returned < course.best / 2:
        return Finding(
            f"{reached} where they returned {course.best:.2f} before",
            "lower learning_rate or raise target_period; in a folder, the best policy so far is kept",
        )
    return Finding(reached, f"train for longer, or with more updates per step (updates, now {config.updates})")
