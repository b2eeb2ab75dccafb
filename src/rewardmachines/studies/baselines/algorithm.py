"""A run of a baseline, in a folder like all others: random episodes, of which a method learns a flat machine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import Hierarchy, suggestion
from rewardmachines.envs.scenarios import Scenario
from rewardmachines.files.document import parse_json
from rewardmachines.rollout.rows import Counters, MachineUpdate, Row, Trigger
from rewardmachines.runs.config import DomainPlace, RunConfig
from rewardmachines.runs.config_file import check_same
from rewardmachines.runs.folder import RunFolder
from rewardmachines.runs.kinds import AlgorithmKind, register_algorithm
from rewardmachines.runs.orders import RunOrder
from rewardmachines.runs.session import Given
from rewardmachines.runs.stopping import RunBudget
from rewardmachines.studies.baselines.deepsynth.learner import DeepSynth, DeepSynthConfig
from rewardmachines.studies.baselines.jirp import JirpConfig, JirpLearner
from rewardmachines.studies.baselines.lrm.learner import LrmConfig, LrmLearner
from rewardmachines.studies.baselines.protocol import Attempt, FlatConfig, FlatEpisode, Make, OutOfTime, flat_task
from rewardmachines.studies.baselines.random_episodes import RandomEpisodes
from rewardmachines.studies.baselines.search_process import Searches
from rewardmachines.traces import Outcome, Trace

RANDOM: Final = "random"
"""The name of the agent in configs: its actions are random."""
EPISODES: Final = 150_000
"""The number of episodes of a published run."""
CHUNK: Final = 100
"""The number of episodes of a chunk."""
OUT_OF_TIME: Final = "The time for searches was up."
OUT_OF_BOUNDS: Final = "No machine within the bounds explains the episodes."


@dataclass(frozen=True)
class Method:
    """A method that learns flat machines."""

    config: type[FlatConfig]
    """The dataclass of its settings, whose defaults are the published ones."""
    make: Make
    """Makes a learner, given the task, the settings, a seed, and the function that does its searches."""


METHODS: Final[dict[str, Method]] = {
    "deepsynth": Method(DeepSynthConfig, DeepSynth),
    "jirp": Method(JirpConfig, JirpLearner),
    "lrm": Method(LrmConfig, LrmLearner),
}
"""All methods, by the name that configs give."""


def method_named(name: str) -> Method:
    """The method of a name.

    Raises:
        RewardMachineError: There is none.
    """
    if name not in METHODS:
        hint = suggestion(name, METHODS) or f"; there are {', '.join(METHODS)}"
        raise RewardMachineError(f"there is no baseline '{name}'{hint}")
    return METHODS[name]


@dataclass(frozen=True)
class FlatState:
    """All of the state of such a run."""

    counters: Counters
    outcomes: dict[str, int]
    """The number of episodes so far, by their outcomes."""
    calls: int
    """Searches that were done."""
    seconds: float
    """The seconds that they took."""
    problem: str | None
    """Why the run ended before its budget was spent, if it did."""
    learner: str
    """The state of the learner, as JSON."""


class FlatLearning:
    """A run in memory that learns a flat machine: a `ChunkedRun`."""

    state_type = FlatState

    def __init__(self, config: RunConfig, scenario: Scenario) -> None:
        """Makes the learner, which has not begun."""
        settings = config.settings
        task = flat_task(scenario, config.task)
        self.config, self.tasks = config, config.tasks
        self.counters = Counters()
        self.recent: tuple[Any, ...] = ()
        self.lowest_return: float | None = None
        """None: there are no policies that could return anything."""
        self.learned_from: dict[str, tuple[Trace, ...]] = {}
        """Nothing: episodes without repetitions are no examples of ours."""
        self.outcomes = {outcome.value: 0 for outcome in Outcome}
        self.problem: str | None = None
        """Why the run ended before its budget was spent, if it did."""
        self.searches = Searches(settings.learner_seconds)
        self.learner = method_named(str(config.learner)).make(task, settings, config.seed, self.searches)
        self._source = RandomEpisodes(scenario, task, config.seed)
        self._upcoming: Iterator[FlatEpisode] | None = None

    @property
    def learner_seconds(self) -> float:
        """The time that searches have taken."""
        return self.searches.seconds

    @property
    def learned_machines(self) -> dict[str, Hierarchy]:
        """The present machine, if it can be written as a hierarchy."""
        return {} if self.learner.machine is None else {self.config.task: self.learner.machine}

    @property
    def is_exhausted(self) -> bool:
        """Whether the method has failed, or the time for its searches is up."""
        return self.problem is not None

    # -- a chunk

    def advance(self) -> Row:
        """Takes the episodes of one chunk; none, if the time for searches was up meanwhile.

        Then everything is as before the chunk: what a chunk brings depends on the clock in no other way.
        """
        learner, counters, outcomes = self.learner.snapshot(), replace(self.counters), dict(self.outcomes)
        try:
            updates = self._chunk()
        except OutOfTime:
            self.learner.restore(learner)
            self.counters, self.outcomes, self._upcoming = counters, outcomes, None
            self.problem = OUT_OF_TIME
            updates = [self._update(Trigger.PROBLEM, self.problem)]
        self.counters.chunks += 1
        return self._row(counters, outcomes, updates)

    def _chunk(self) -> list[MachineUpdate]:
        counters, limit, updates = self.counters, self.config.budget.episodes, list[MachineUpdate]()
        if self._upcoming is None:
            self._upcoming = self._source.after(counters.episodes)
        for _ in range(CHUNK if limit is None else min(CHUNK, limit - counters.episodes)):
            episode, is_first = next(self._upcoming), self.learner.size is None
            attempt = self.learner.take(episode)
            counters.steps, counters.episodes = counters.steps + episode.steps, episode.number
            self.outcomes[episode.outcome.value] += 1
            if attempt is Attempt.FOUND:
                updates.append(self._update(Trigger.GOALS if is_first else Trigger.COUNTEREXAMPLE))
            elif attempt is Attempt.FAILED:
                self.problem = OUT_OF_BOUNDS
                return [*updates, self._update(Trigger.PROBLEM, self.problem)]
        return updates

    def _update(self, trigger: Trigger, message: str | None = None) -> MachineUpdate:
        size = self.learner.size
        return MachineUpdate(
            task=self.config.task,
            cause=trigger,
            states=0 if size is None else size.states,
            edges=0 if size is None else size.edges,
            calls=self.searches.calls,
            goals=self.outcomes[Outcome.GOAL.value],
            dead_ends=self.outcomes[Outcome.DEAD_END.value],
            incompletes=self.outcomes[Outcome.INCOMPLETE.value],
            message=message,
        )

    def _row(self, before: Counters, outcomes: dict[str, int], updates: list[MachineUpdate]) -> Row:
        counters, goal = self.counters, Outcome.GOAL.value
        return Row(
            chunk=counters.chunks,
            steps=counters.steps,
            episodes=counters.episodes,
            level=1,
            goals=(self.outcomes[goal] - outcomes[goal],),
            ended=(counters.episodes - before.episodes,),
            collected=(counters.episodes,),
            running=(0.0,),
            formula_loss=0.0,
            call_loss=0.0,
            exploration=1.0,
            learned=tuple(updates),
            returns=None,
            lengths=None,
        )

    # -- the state

    def host_state(self) -> FlatState:
        """The state between two chunks."""
        learner, searches = json.dumps(self.learner.snapshot()), self.searches
        counters, outcomes = replace(self.counters), dict(self.outcomes)
        return FlatState(counters, outcomes, searches.calls, searches.seconds, self.problem, learner)

    def restore(self, state: FlatState, where: str) -> None:
        """Goes back to a state. The run has just begun.

        Raises:
            RewardMachineError: It is damaged, or belongs to another run.
        """
        try:
            self.learner.restore(parse_json(state.learner, where))
        except (ValueError, KeyError, TypeError, IndexError):
            raise RewardMachineError(f"{where}: damaged, this is not the state of such a learner") from None
        if set(state.outcomes) != set(self.outcomes):
            raise RewardMachineError(f"{where}: damaged, it counts other outcomes")
        self.counters, self.outcomes = replace(state.counters), dict(state.outcomes)
        has_more_time = state.problem == OUT_OF_TIME and state.seconds < self.searches.limit
        self.problem = None if has_more_time else state.problem
        self.searches.seconds, self.searches.calls = state.seconds, state.calls
        self._upcoming = None

    def close(self) -> None:
        """Ends the process that searches."""
        self.searches.close()


register_algorithm(AlgorithmKind(RANDOM, lambda learner: method_named(learner).config, FlatLearning))


def flat_order(
    folder: RunFolder,
    place: DomainPlace,
    task: str,
    method: str,
    *,
    settings: Any = None,
    seed: int = 0,
    episodes: int | None = None,
    resume: bool = False,
) -> RunOrder:
    """The order to run a baseline, in a new folder or in one that holds a run, which may be given more time.

    Args:
        folder: The folder of the run.
        place: The domain in its setting, with its instances, which episodes visit one after the other.
        task: The name of the task.
        method: The name of the method.
        settings: The settings of the method; the published ones, if not given.
        seed: The seed of the random actions, and of the random choices of the method.
        episodes: The episodes that the run may take; as many as in the paper, if not given.
        resume: Whether to go on with the run in the folder.

    Raises:
        RewardMachineError: There is no such method, or the run in the folder was begun with something else.
    """
    config = RunConfig(
        tasks=(task,),
        domain=place,
        gym=None,
        learner=method,
        agent=RANDOM,
        settings=method_named(method).config() if settings is None else settings,
        seed=seed,
        budget=RunBudget(episodes=EPISODES if episodes is None else episodes),
    )
    if resume:
        begun, _ = folder.read_config()
        if isinstance(begun.settings, FlatConfig):
            begun = replace(begun, settings=replace(begun.settings, learner_seconds=config.settings.learner_seconds))
        check_same(config, begun, str(folder.path))
    return RunOrder(folder, config, {}, Given(), resume=resume)
