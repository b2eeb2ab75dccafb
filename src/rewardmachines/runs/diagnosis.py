"""Says in words why tasks are not learned, and what to change: read off what the agent has seen and tried."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

import jax
import numpy as np

from rewardmachines.agents.hierarchical_dqn.state import AgentState
from rewardmachines.agents.options.option_set import TRUE, joined
from rewardmachines.agents.replay import Rings, size_of, without_memories
from rewardmachines.agents.setup import OptionPlan
from rewardmachines.core.formula import Conjunction, Label
from rewardmachines.files import write_aside
from rewardmachines.files.document import parse_json, read_text
from rewardmachines.files.records import from_plain, to_plain
from rewardmachines.lhrm.algorithm import Lhrm
from rewardmachines.lhrm.config import LhrmConfig
from rewardmachines.lhrm.curriculum import Curriculum
from rewardmachines.lhrm.induction import TaskProgress
from rewardmachines.lowered import LabelBits
from rewardmachines.rollout.algorithm import EVALUATIONS
from rewardmachines.rollout.dead_ends import DeadEndWarning
from rewardmachines.rollout.gym_driver import GymSuite
from rewardmachines.rollout.rows import Row
from rewardmachines.rollout.training import Training
from rewardmachines.runs.journal import Chunk, RunInFolder, read_records
from rewardmachines.runs.messages import warn_user

LEAST_STEPS: Final = 20_000
"""Steps before which nothing is said: what is missing may still come."""
LEAST_TRIES: Final = 20
"""Tries of an option before which nothing is said about it."""
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
    """The symptom, in words."""
    advice: str
    """The advice, in words."""

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
    """The course of training so far."""

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


def diagnosis_of_run(path: Path) -> Diagnosis:
    """Reads what was written about a run.

    Raises:
        SyntaxProblem: The file is damaged.
    """
    if not path.exists():
        return NOTHING
    found: Diagnosis = from_plain(Diagnosis, parse_json(read_text(path), str(path)), str(path))
    return found


def diagnose(run: Training, course: Course) -> Diagnosis:
    """Looks for reasons why a task is not learned.

    Args:
        run: The training.
        course: The course of training so far.

    Returns:
        The findings; none if the task is learned, or if it is too early for a diagnosis.
    """
    if course.is_learned or course.steps < LEAST_STEPS:
        return NOTHING
    agent_state = run.state.agent
    if findings := [*_numbers(agent_state), *_episodes(course)]:
        return Diagnosis(tuple(findings))
    seen = labels_in_memory(run)
    if seen is not None:
        findings = [*unseen(run.plan.hierarchy.used_propositions, seen, course.steps, cut_off=course.cut_off)]
    if seen is not None and isinstance(run.plan, OptionPlan) and isinstance(agent_state, AgentState):
        findings += _options(run.plan, agent_state, seen, course)
    return Diagnosis(tuple(findings or [_rest(course, run.config)]))


def _numbers(agent_state: Any) -> Iterator[Finding]:
    """Findings about numbers: weights that are not finite, and observations that are too large."""
    largest = max((float(np.abs(x).max(initial=0)) for x in _remembered(agent_state)), default=0.0)
    networks = agent_state.formulas.online if isinstance(agent_state, AgentState) else without_memories(agent_state)
    if not all(np.isfinite(x).all() for x in jax.tree.leaves(networks)):
        yield Finding("weights of networks are not finite", "lower learning_rate, and scale observations to about 1")
    if largest > LARGE_NUMBER:
        yield Finding(
            f"observations have numbers as large as {largest:.3g}",
            "scale them to about 1, with encode or gymnasium.wrappers.TransformObservation",
        )


def _memory(agent_state: Any, name: str) -> Any:
    """A field of the steps in the replay memory, as arrays of the host; None for an agent that has none."""
    rings = getattr(agent_state, "replay", None)
    if not isinstance(rings, Rings) or not hasattr(rings.rows, name):
        return None
    filled = min(int(rings.written[0]), size_of(rings))
    return jax.tree.map(lambda x: np.asarray(x[:filled]), getattr(rings.rows, name))


def _remembered(agent_state: Any) -> list[np.ndarray[Any, Any]]:
    """The moments in the replay memory, if they are numbers that a network is shown."""
    return [x for x in jax.tree.leaves(_memory(agent_state, "before")) if x.dtype.kind == "f"]


def _episodes(course: Course) -> Iterator[Finding]:
    if not course.episodes:
        yield Finding(f"no episode has ended in {course.steps:,} steps", "cut them off earlier, with max_steps")


def labels_in_memory(run: Training) -> frozenset[Label] | None:
    """The labels of the steps in the replay memory; None for an agent that does not keep them."""
    labels, bits = _memory(run.state.agent, "label"), LabelBits(run.suite.propositions)
    return None if labels is None else frozenset(bits.decode(row) for row in np.unique(labels, axis=0))


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
        machine, outputs = plan.hierarchy[name], list(plan.option_set.outputs[name])
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
        f"{longer_episodes(cut_off)}explore for longer (exploration.steps, persistence), or raise discount; if the "
        "option before it ends where this one cannot go on, set lookahead to 1",
    )


def _rest(course: Course, config: Any) -> Finding:
    """Findings for a task for which every necessary event has occurred."""
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
            "lower learning_rate or raise target; in a folder, the best policy so far is kept",
        )
    return Finding(reached, f"train for longer, or with more updates per step (updates, now {config.updates})")


# -- LHRM


class LearningState(Protocol):
    """The progress of LHRM: the algorithm itself, or its written state."""

    @property
    def progress(self) -> Mapping[str, TaskProgress]:
        """The progress of learning the machine of each task, in the order of the tasks."""

    @property
    def curriculum(self) -> Curriculum:
        """The present level, and the levels of tasks."""

    @property
    def recent(self) -> Sequence[Any]:
        """The returns of the last evaluations, by task and instance."""


def mean_returns(tasks: Collection[str], recent: Sequence[Any]) -> dict[str, float]:
    """The mean return of every task in the last evaluations, each by task and instance; 0 before the first."""
    means = np.mean(recent, axis=(0, 2)) if len(recent) else np.zeros(len(tasks))
    return dict(zip(tasks, map(float, means), strict=True))


def diagnosis_of(
    lacks: Mapping[str, Finding], propositions: Iterable[str], labels: Iterable[Label], steps: int, *, cut_off: int
) -> Diagnosis:  # fmt: skip
    """The obstacles to learning the tasks, with advice.

    Args:
        lacks: What each task lacks.
        propositions: Those that the environments can observe.
        labels: The labels that were seen.
        steps: The number of steps so far.
        cut_off: The number of episodes that were cut off by a limit of steps. Only then longer ones are advised.

    Returns:
        A finding for each task, and before them one for each proposition that was never observed.
    """
    if not lacks:
        return NOTHING
    named = [
        Finding(f"{name}: {lack.what}", lack.advice.format(longer=longer_episodes(cut_off)))
        for name, lack in lacks.items()
    ]
    return Diagnosis((*unseen(propositions, labels, steps, cut_off=cut_off), *named))


def what_is_missing(
    state: LearningState, config: LhrmConfig, episodes: Mapping[str, int], stop_at: float
) -> dict[str, Finding]:  # fmt: skip
    """The shortcoming of each task that is not learned yet.

    Args:
        state: The progress of LHRM.
        config: Its settings.
        episodes: The number of episodes of each task that have ended.
        stop_at: The mean return with which a task is learned; 0 if no return is asked for.
    """
    returns, found = mean_returns(state.progress, state.recent), dict[str, Finding | None]()
    for number, (name, progress) in enumerate(state.progress.items()):
        found[name] = _lack(state.curriculum, number, name, progress, episodes[name])
        if found[name] is None and stop_at:
            is_judged = len(state.recent) >= EVALUATIONS
            found[name] = _shortfall(returns[name], stop_at) if is_judged else _few_evaluations(len(state.recent))
        if found[name] is None and stop_at and progress.episodes_since < config.confirm_episodes:
            stood = f"its machine has stood {progress.episodes_since:,} episodes, of {config.confirm_episodes:,}"
            found[name] = Finding(stood, "learn for longer, or ask for fewer episodes (confirm_episodes)")
        if found[name] is None and stop_at and config.tests and not progress.tests.is_complete:
            advice = "learn for longer, or ask for fewer tries of each (tests)"
            found[name] = Finding(f"its machine was tested on {progress.tests}", advice)
    return {name: lack for name, lack in found.items() if lack is not None}


def _lack(
    curriculum: Curriculum, number: int, name: str, progress: TaskProgress, episodes: int
) -> Finding | None:  # fmt: skip
    """Why a task has no machine that explains what was seen; None if it has one."""
    level, examples = curriculum.levels[number], progress.examples
    if progress.problem is not None:
        return Finding(
            f"given up: {progress.problem.removeprefix(f'{name}: ')}",
            "labels must tell when the goal is reached; or give the learner more time (learner_seconds)",
        )
    if level > curriculum.level:
        waits = f"level {level} has to wait: level {curriculum.level} is not mastered"
        return Finding(waits, "see what the tasks of that level lack")
    if examples.has_begun:
        return None
    if not examples.goals:
        return Finding(
            f"no goal trace of {name} was seen in {episodes:,} episodes",
            "random actions do not get there: {longer}begin with an easier task, or raise agent.persistence",
        )
    few = len(examples.goals)
    seen = f"{few} distinct goal trace{' was' if few == 1 else 's were'} seen in {episodes:,} episodes"
    return Finding(
        f"{seen}: the first machine waits for {examples.wanted}",
        "learn for longer, or ask for fewer (goals)",
    )


def _few_evaluations(count: int) -> Finding:
    judged = f"{EVALUATIONS} evaluations say whether it is learned, and there were {count}"
    return Finding(judged, "learn for longer")


def _shortfall(returned: float, stop_at: float) -> Finding | None:
    """The shortfall of a task's returns, in words; None if they suffice."""
    if returned >= stop_at:
        return None
    returns = f"returns {returned:.2f} on average: {stop_at:g} is asked for"
    return Finding(returns, "learn for longer, or change the settings of the agent")


# -- runs that get nowhere

STALLED: Final = 5
"""The number of evaluations in a row without any return after which a run is getting nowhere."""


class Watch:
    """Remembers the last evaluations of a run."""

    def __init__(self, wanted: float | None, rows: Iterable[Row] = ()) -> None:
        """Begins to watch.

        Args:
            wanted: The mean return that is good enough, if one was asked for.
            rows: Chunks that there were already.
        """
        self._wanted = wanted or GOOD
        self._last = deque[float](maxlen=STALLED)
        self.best: float | None = None
        """The highest mean return of an evaluation so far."""
        self._has_warned, self._goals = False, 0
        for row in rows:
            self.note(row)

    @property
    def returned(self) -> float | None:
        """The mean return of the evaluations that also decide whether a run ends early; None if there was none."""
        last = list(self._last)[-EVALUATIONS:]
        return sum(last) / len(last) if last else None

    def note(self, row: Row) -> None:
        """Takes the evaluation of a chunk into account, if there was one."""
        self._goals += sum(row.goals)
        if row.mean_return is not None:
            self._last.append(row.mean_return)
            self.best = row.mean_return if self.best is None else max(self.best, row.mean_return)

    def is_stalled(self, row: Row) -> bool:
        """Records a chunk. Reports, once, that evaluations have returned nothing for a while."""
        self.note(row)
        is_full = len(self._last) == STALLED
        if self._has_warned or row.steps < LEAST_STEPS or not is_full or max(self._last) > 0:
            return False
        self._has_warned = True
        return True

    def diagnose(self, run: Training, row: Row, *, cut_off: int) -> Diagnosis:
        """Looks for reasons why the task is not learned yet.

        Args:
            run: The training.
            row: Its last chunk.
            cut_off: Episodes that were truncated by a limit of steps.
        """
        course = Course(
            steps=row.steps,
            episodes=row.episodes,
            goals=self._goals,
            returned=self.returned,
            wanted=self._wanted,
            best=self.best,
            cut_off=cut_off,
        )
        return diagnose(run, course)


class RunWatch:
    """Watches a run in Gymnasium environments, and says in warnings and in its folder why it gets nowhere."""

    def __init__(self, run: RunInFolder) -> None:
        """Watches a run, which has not begun in this process."""
        self._folder, self._session = run.folder, run.session
        suite = run.session.suite
        assert isinstance(suite, GymSuite), "only these are watched"
        self._suite = suite
        self._watch: Watch | None = None
        self._last: Row | None = None

    def note(self, chunk: Chunk) -> None:
        """Takes a chunk into account, and warns of dead ends and of training that stalls."""
        if self._watch is None:  # by now, the file has been cut back to the checkpoint, and has this chunk's row
            before = [row for row in self._rows() if row.chunk < chunk.row.chunk]
            self._watch = Watch(self._session.config.stop_at, before)
        self._last = chunk.row
        for finding in self._suite.dead_ends.news():
            warn_user(str(finding), DeadEndWarning)
        if self._watch.is_stalled(chunk.row) and isinstance(run := self._session.algorithm, Training):
            found = self._watch.diagnose(run, chunk.row, cut_off=self._suite.cut_off)
            self._tell(found, "training is getting nowhere")

    def conclude(self) -> None:
        """Says why tasks are not learned, if they are not, once there were steps enough to learn something."""
        row, run, config = self._last, self._session.algorithm, self._session.config
        if row is None or self._watch is None:
            return
        if isinstance(run, Training):
            self._tell(self._watch.diagnose(run, row, cut_off=self._suite.cut_off), "the task is not learned")
        elif isinstance(run, Lhrm) and row.steps >= LEAST_STEPS:
            lacks = what_is_missing(run, config.settings, ended_episodes(run.tasks, self._rows()), config.stop_at)
            propositions, labels = run.suite.propositions, run.registry.labels
            found = diagnosis_of(lacks, propositions, labels, row.steps, cut_off=self._suite.cut_off)
            self._tell(found, "not all is learned")

    def _rows(self) -> list[Row]:
        return list(read_records(Row, self._folder.metrics))

    def _tell(self, diagnosis: Diagnosis, what: str) -> None:
        if diagnosis or self._folder.diagnosis.exists():
            write_diagnosis(self._folder.diagnosis, diagnosis)
        if diagnosis:
            warn_user(f"{what}\n{diagnosis}\nMore in docs/tuning.md.", NotLearnedWarning)


def ended_episodes(tasks: Sequence[str], rows: Iterable[Row]) -> dict[str, int]:
    """The number of episodes of each task that have ended."""
    totals = np.sum([row.ended for row in rows], axis=0, dtype=int)
    return dict.fromkeys(tasks, 0) if totals.ndim == 0 else dict(zip(tasks, totals.tolist(), strict=True))
